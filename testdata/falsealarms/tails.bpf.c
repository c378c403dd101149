// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// tails: programs that tail call each other. Each has other relocations at the same instructions, so that what one of them reads can only be
// explained by its own.
#include "types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct task_struct {
	int pid;
	int tgid;
	unsigned int flags;
	__u64 start_time;
	struct task_struct *real_parent;
	char comm[16];
};

struct inode {
	unsigned long i_ino;
	long long i_size;
};

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
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
	const char *filename;
};

#pragma clang attribute pop

struct found {
	__u32 pid, tgid, flags, parent;
	__u64 start, ino, size;
	char comm[16], file[32], name[32];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct found);
} scratch SEC(".maps");

int of_task(void *ctx);
int of_file(void *ctx);
int of_parent(void *ctx);

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__array(values, int(void *));
} steps SEC(".maps") = {
	.values = {[1] = (void *)&of_task, [2] = (void *)&of_file, [3] = (void *)&of_parent},
};

static __always_inline struct found *found(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&scratch, &zero);
}

SEC("raw_tracepoint/sched_process_exec")
int start(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *p = (void *)ctx->args[0];
	struct found *f = found();

	if (!f)
		return 0;
	f->pid = BPF_CORE_READ(p, pid);
	bpf_tail_call(ctx, &steps, 1);
	return 0;
}

SEC("raw_tracepoint/sched_process_exec")
int of_task(void *ctx)
{
	struct bpf_raw_tracepoint_args *args = ctx;
	struct task_struct *p = (void *)args->args[0];
	struct found *f = found();

	if (!f)
		return 0;
	f->tgid = BPF_CORE_READ(p, tgid);
	f->start = BPF_CORE_READ(p, start_time);
	BPF_CORE_READ_INTO(&f->comm, p, comm);
	bpf_tail_call(ctx, &steps, 2);
	return 0;
}

SEC("raw_tracepoint/sched_process_exec")
int of_file(void *ctx)
{
	struct bpf_raw_tracepoint_args *args = ctx;
	struct linux_binprm *bprm = (void *)args->args[2];
	struct found *f = found();

	if (!f)
		return 0;
	f->ino = BPF_CORE_READ(bprm, file, f_inode, i_ino);
	f->size = BPF_CORE_READ(bprm, file, f_inode, i_size);
	BPF_CORE_READ_STR_INTO(&f->file, bprm, filename);
	BPF_CORE_READ_STR_INTO(&f->name, bprm, file, f_path.dentry, d_name.name);
	bpf_tail_call(ctx, &steps, 3);
	return 0;
}

SEC("raw_tracepoint/sched_process_exec")
int of_parent(void *ctx)
{
	struct bpf_raw_tracepoint_args *args = ctx;
	struct task_struct *p = (void *)args->args[0];
	struct found *f = found();

	if (!f)
		return 0;
	f->parent = BPF_CORE_READ(p, real_parent, tgid);
	f->flags = BPF_CORE_READ(p, real_parent, flags);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
