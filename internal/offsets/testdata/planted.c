// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Accesses of kernel types at fixed offsets, in all the ways programs make them. The structs are those of Linux 6.12 on amd64 as far as they are
// used; each line that reads one is marked, and must be found. `make -C offsets/testdata` builds planted.o.
typedef unsigned int u32;
typedef unsigned long long u64;
#define SEC(name) __attribute__((section(name), used))
static void *(*bpf_get_current_task)(void) = (void *)35;
static struct task_struct *(*bpf_get_current_task_btf)(void) = (void *)158;
static long (*bpf_probe_read_kernel)(void *, u32, const void *) = (void *)113;
static long (*bpf_probe_read_kernel_str)(void *, u32, const void *) = (void *)115;
static long (*bpf_probe_read)(void *, u32, const void *) = (void *)4;

struct task_struct {
	char before_pid[2432];
	int pid, tgid;
	char before_parent[8];
	struct task_struct *real_parent, *parent;
};
struct file {
	char before_mode[12];
	u32 f_mode;
};
struct moved {
	int pid;
} __attribute__((preserve_access_index));
struct task_struct___good {
	int pid;
	struct task_struct___good *real_parent;
} __attribute__((preserve_access_index));

u64 sum;
#define READ(dst, src) bpf_probe_read_kernel(&dst, sizeof(dst), src)

SEC("tracepoint/sched/sched_process_exit")
int by_helper0(void *ctx)
{
	struct task_struct *t = bpf_get_current_task();
	int pid = 0, tgid = 0;
	struct task_struct *p = 0;

	READ(pid, &t->pid); /* planted */
	READ(tgid, &t->tgid); /* planted */
	READ(p, &t->real_parent); /* planted */
	READ(pid, (char *)t + 2432 + 4); /* planted */
	sum += pid + tgid + (u64)p;
	return 0;
}

SEC("tracepoint/sched/sched_process_exit")
int by_helper1(void *ctx)
{
	struct task_struct *t = bpf_get_current_task();
	int pid = 0, tgid = 0;
	struct task_struct *p = 0;

	READ(pid, &t->pid); /* planted */
	READ(tgid, &t->tgid); /* planted */
	READ(p, &t->real_parent); /* planted */
	bpf_probe_read(&pid, 4, &t->pid); /* planted */
	sum += pid + tgid + (u64)p;
	return 0;
}

SEC("tracepoint/sched/sched_process_exit")
int by_helper2(void *ctx)
{
	struct task_struct *t = bpf_get_current_task();
	int pid = 0, tgid = 0;
	struct task_struct *p = 0;

	READ(pid, &t->pid); /* planted */
	READ(tgid, &t->tgid); /* planted */
	READ(p, &t->real_parent); /* planted */
	bpf_probe_read_kernel_str(&pid, 4, &t->pid); /* planted */
	sum += pid + tgid + (u64)p;
	return 0;
}

SEC("tracepoint/sched/sched_process_exit")
int by_helper3(void *ctx)
{
	struct task_struct *t = bpf_get_current_task();
	int pid = 0, tgid = 0;
	struct task_struct *p = 0;

	READ(pid, &t->pid); /* planted */
	READ(tgid, &t->tgid); /* planted */
	READ(p, &t->real_parent); /* planted */
	READ(pid, &p->pid); /* planted */
	sum += pid + tgid + (u64)p;
	return 0;
}

SEC("tp_btf/sched_process_exit")
int by_argument0(u64 *ctx)
{
	struct task_struct *t = (void *)ctx[0];
	struct task_struct *p;

	sum += t->pid; /* planted */
	p = t->real_parent; /* planted */
	sum += p->tgid; /* planted */
	if (sum & 1)
		sum += p->parent->pid + 1; /* planted */
	return 0;
}

SEC("tp_btf/sched_process_exit")
int by_argument1(u64 *ctx)
{
	struct task_struct *t = (void *)ctx[0];
	struct task_struct *p;

	sum += t->pid; /* planted */
	p = t->real_parent; /* planted */
	sum += p->tgid; /* planted */
	if (ctx[0] & 2)
		sum += p->parent->pid + 1; /* planted */
	return 0;
}

SEC("tp_btf/sched_process_exit")
int by_argument2(u64 *ctx)
{
	struct task_struct *t = (void *)ctx[0];
	struct task_struct *p;

	sum += t->pid; /* planted */
	p = t->real_parent; /* planted */
	sum += p->tgid; /* planted */
	if (sum > 7)
		sum += p->parent->pid + 1; /* planted */
	return 0;
}

SEC("tp_btf/sched_process_exit")
int by_argument3(u64 *ctx)
{
	struct task_struct *t = (void *)ctx[0];
	struct task_struct *p;

	sum += t->pid; /* planted */
	p = t->real_parent; /* planted */
	sum += p->tgid; /* planted */
	if (t != p)
		sum += p->parent->pid + 1; /* planted */
	return 0;
}

SEC("tp_btf/sched_process_exit")
int by_current(void *ctx)
{
	struct task_struct *t = bpf_get_current_task_btf();

	sum += t->pid; /* planted */
	if (sum & 4)
		sum += t->tgid; /* planted */
	return 0;
}

SEC("tp_btf/sched_process_exit")
int by_both(u64 *ctx)
{
	struct task_struct *t = sum ? (void *)ctx[0] : bpf_get_current_task_btf();
	int v = 0;

	sum += t->pid; /* planted */
	READ(v, &t->tgid); /* planted */
	sum += v;
	READ(v, &t->parent->tgid); /* planted */
	sum += v;
	READ(v, &t->real_parent->parent->pid); /* planted */
	sum += v;
	return 0;
}

SEC("fentry/vfs_open")
int by_entry(u64 *ctx)
{
	const struct file *f = (void *)ctx[1];
	u32 mode = 0;

	sum += f->f_mode; /* planted */
	READ(mode, &f->f_mode); /* planted */
	sum += mode;
	return 0;
}

SEC("tp_btf/sched_process_exit")
int good(u64 *ctx)
{
	struct task_struct___good *t = (void *)ctx[0];
	int pid = 0;

	sum += t->pid;
	sum += t->real_parent->pid;
	READ(pid, &t->pid);
	sum += pid;
	return 0;
}

/* sizeof and offsetof are constants of the build, too: a copy of the whole struct, an element of an array, the struct a member is part of. */
SEC("fentry/vfs_open")
int by_size(u64 *ctx)
{
	const struct file *f = (void *)ctx[1];
	struct task_struct *t = bpf_get_current_task(), *outer;
	struct file whole;
	u32 v = 0;

	READ(whole, f); /* planted */
	sum += whole.f_mode;
	READ(v, (char *)(t + 16) + __builtin_offsetof(struct task_struct, pid)); /* planted */
	sum += v;
	outer = (struct task_struct *)((char *)t - __builtin_offsetof(struct task_struct, real_parent));
	READ(v, (char *)outer + 8); /* planted */
	sum += v;
	return 0;
}

/* The registers of a probe hold the arguments of the function it is in, and after it the result. */
struct pt_regs {
	u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
};

SEC("kprobe/vfs_open")
int by_register(struct pt_regs *ctx)
{
	const struct file *f = (void *)ctx->si;
	u32 mode = 0;

	READ(mode, &f->f_mode); /* planted */
	sum += mode;
	return 0;
}

SEC("kretprobe/filp_open")
int by_result(struct pt_regs *ctx)
{
	const struct file *f = (void *)ctx->ax;
	u32 mode = 0;

	READ(mode, &f->f_mode); /* planted */
	sum += mode;
	READ(mode, &((struct file *)ctx->si)->f_mode); /* an argument is no longer in its register */
	return 0;
}

/* Functions of the kernel return types, too, and those of the object take them. */
struct task_struct *bpf_task_from_pid(int pid) __attribute__((section(".ksyms")));
void bpf_task_release(struct task_struct *t) __attribute__((section(".ksyms")));

static __attribute__((noinline)) int in_function(struct task_struct *t)
{
	int tgid = 0;

	READ(tgid, &t->tgid); /* planted */
	return tgid;
}

SEC("tp_btf/sched_process_exit")
int by_call(u64 *ctx)
{
	struct task_struct *t = bpf_task_from_pid(1);

	if (!t)
		return 0;
	sum += t->pid; /* planted */
	sum += in_function(t);
	bpf_task_release(t);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
