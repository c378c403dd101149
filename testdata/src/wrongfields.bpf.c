// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// wrongfields: the mistakes that look like the correct programs of ../falsealarms. Each line that ends in "wrong" reads a field at an offset
// that was compiled in, or through a pointer of another type than it means, and must be found; no other line.
#include "types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

/* Layouts as a careless author copies them: without preserve_access_index, and of some other kernel. */
struct fixed_upid {
	int nr;
	void *ns;
};

struct fixed_pid {
	int count;
	unsigned int level;
	char more[88];
	struct fixed_upid numbers[];
};

struct fixed_path {
	void *mnt;
	struct dentry *dentry;
};

struct fixed_file {
	char more[64];
	struct fixed_path f_path;
};

struct fixed_task {
	unsigned long first;
	char more[2424];
	int pid;
	int tgid;
};

struct fixed_skb {
	char more[112];
	unsigned int len;
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pid {
	unsigned int level;
};

struct list_head {
	struct list_head *next, *prev;
};

struct task_struct {
	int pid;
	int tgid;
	struct task_struct *real_parent;
	struct list_head sibling;
	struct pid *thread_pid;
	char comm[16];
};

struct inode {
	unsigned long i_ino;
	long long i_size;
};

struct dentry {
	struct dentry *d_parent;
	struct inode *d_inode;
};

struct path {
	struct dentry *dentry;
};

struct file {
	struct inode *f_inode;
	struct path f_path;
};

struct linux_binprm {
	struct file *file;
};

struct trace_event_raw_kfree_skb {
	void *skbaddr;
};

#pragma clang attribute pop


__u32 seen;
__u64 word;
char text[32];

/* Chains whose last link is not relocated. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(chains, struct task_struct *p, int old_pid, struct linux_binprm *bprm)
{
	struct fixed_task *parent = (void *)BPF_CORE_READ(p, real_parent);
	struct fixed_file *file = (void *)BPF_CORE_READ(bprm, file);
	struct dentry *d;

	bpf_probe_read_kernel(&seen, sizeof(seen), &parent->tgid); /* wrong */
	bpf_probe_read_kernel(&d, sizeof(d), &file->f_path.dentry); /* wrong */
	bpf_probe_read_kernel(&word, sizeof(word), &parent->first); /* wrong */
	seen = BPF_CORE_READ(p, pid);
	return 0;
}

/* Text at an offset from a struct, where the correct program reads where a pointer leads. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(names, struct task_struct *p, int old_pid, struct linux_binprm *bprm)
{
	struct dentry *d = BPF_CORE_READ(bprm, file, f_path.dentry);

	bpf_probe_read_kernel_str(text, sizeof(text), (const char *)d + 56); /* wrong */
	d = bprm->file->f_path.dentry;
	bpf_probe_read_kernel_str(text, sizeof(text), (const char *)d + 56); /* wrong */
	return 0;
}

/* A pointer without a type. */
SEC("tracepoint/skb/kfree_skb")
int untyped(struct trace_event_raw_kfree_skb *ctx)
{
	struct fixed_skb *skb = ctx->skbaddr;

	bpf_probe_read_kernel(&seen, sizeof(seen), &skb->len); /* wrong */
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(numbers, struct task_struct *p, int old_pid, struct linux_binprm *bprm)
{
	struct fixed_pid *pid = (void *)BPF_CORE_READ(p, thread_pid);
	unsigned int level = bpf_get_prandom_u32() & 1;

	bpf_probe_read_kernel(&seen, sizeof(seen), &pid->numbers[0].nr); /* wrong */
	bpf_probe_read_kernel(&seen, sizeof(seen), &pid->numbers[level].nr); /* wrong */
	bpf_probe_read_kernel(&seen, 1, (const char *)p + 2976); /* wrong */
	return 0;
}

/* Relocated, but the pointer is not what its type says. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(types, struct task_struct *p, int old_pid, struct linux_binprm *bprm)
{
	struct inode *inode = (void *)BPF_CORE_READ(bprm, file, f_path.dentry);
	struct file *file = (void *)p;

	word = BPF_CORE_READ(inode, i_size); /* wrong */
	word += (__u64)BPF_CORE_READ(file, f_path.dentry); /* wrong */
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(containers, struct task_struct *p, int old_pid, struct linux_binprm *bprm)
{
	const void *node = &p->sibling;
	struct fixed_task *same = (void *)node - bpf_core_field_offset(struct task_struct, sibling);

	bpf_probe_read_kernel(&seen, sizeof(seen), &same->pid); /* wrong */
	bpf_probe_read_kernel(&seen, sizeof(seen), node - 24); /* wrong */
	return 0;
}

static __noinline __u32 number_at(const void *at)
{
	__u32 v = 0;

	bpf_probe_read_kernel(&v, sizeof(v), at); /* wrong */
	return v;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(functions, struct task_struct *p, int old_pid, struct linux_binprm *bprm)
{
	seen = number_at((const char *)p + 2432);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(spilled, struct task_struct *p, int old_pid, struct linux_binprm *bprm)
{
	const char *volatile at = (const char *)p + 2436;

	bpf_probe_read_kernel(&seen, sizeof(seen), at); /* wrong */
	return 0;
}

static long each(__u32 i, void *ctx)
{
	struct fixed_task **at = ctx, *task = *at;

	bpf_probe_read_kernel(&seen, sizeof(seen), &task->tgid); /* wrong */
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(callbacks, struct task_struct *p, int old_pid, struct linux_binprm *bprm)
{
	struct fixed_task *at = (void *)p;

	bpf_loop(2, each, &at, 0);
	return 0;
}

int tail(struct bpf_raw_tracepoint_args *ctx);

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__array(values, int(struct bpf_raw_tracepoint_args *));
} steps SEC(".maps") = {
	.values = {[1] = (void *)&tail},
};

/* The read of the program that is tail called is at the instruction of a relocated one of the program that calls. */
SEC("raw_tracepoint/sched_process_exec")
int head(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *p = (void *)ctx->args[0];
	__u32 pid = 0;

	bpf_core_read(&pid, sizeof(pid), &p->pid);
	seen = pid;
	bpf_tail_call(ctx, &steps, 1);
	return 0;
}

SEC("raw_tracepoint/sched_process_exec")
int tail(struct bpf_raw_tracepoint_args *ctx)
{
	struct fixed_task *p = (void *)ctx->args[0];
	__u32 pid = 0;

	bpf_probe_read_kernel(&pid, sizeof(pid), &p->pid); /* wrong */
	seen = pid;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
