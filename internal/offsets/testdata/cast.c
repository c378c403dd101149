// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Addresses whose type only a cast in the source tells: the object keeps its DWARF. Each line that reads a kernel type at a fixed offset is marked.
typedef unsigned int u32;
typedef unsigned long long u64;
#define SEC(name) __attribute__((section(name), used))
static long (*bpf_probe_read_kernel)(void *, u32, const void *) = (void *)113;
static long (*bpf_probe_read)(void *, u32, const void *) = (void *)4;
#define READ(dst, src) bpf_probe_read_kernel(&dst, sizeof(dst), src)

struct file {
	char before_mode[12];
	u32 f_mode;
};
struct task_struct {
	int pid;
	struct task_struct *real_parent;
} __attribute__((preserve_access_index));
struct own {
	char a[12];
	u32 b;
};
struct msghdr {
	void *name;
	int namelen;
};
struct pt_regs {
	u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
};

u64 sum;

SEC("kprobe")
int by_cast(struct pt_regs *ctx)
{
	const struct file *f = (void *)ctx->si;
	u32 mode = 0;

	READ(mode, &f->f_mode); /* planted */
	sum += mode;
	return 0;
}

SEC("kprobe")
int good(struct pt_regs *ctx)
{
	struct task_struct *t = (void *)ctx->di, *parent = 0;
	const struct own *o = (void *)ctx->dx;
	int pid = 0;

	READ(pid, &t->pid);
	sum += pid;
	READ(parent, &t->real_parent);
	READ(pid, &parent->pid);
	sum += pid;
	READ(pid, &o->b); /* not a struct of the kernel */
	sum += pid;
	return 0;
}

/* bpf_probe_read also reads user memory, where a struct of the same name is another one. */
SEC("tracepoint/syscalls/sys_enter_sendmsg")
int of_user(u64 *ctx)
{
	const struct msghdr *m = (void *)ctx[3];
	int n = 0;

	bpf_probe_read(&n, sizeof(n), &m->namelen);
	sum += n;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
