// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// pointers: records with bytes that were never stored, behind pointers: which object one leads to, whether it is null, and what is in user memory
// behind it. The tests of package fuzz search it.
#include "types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_core_read.h>

// Of x86.
struct pt_regs {
	unsigned long di, si, dx;
} __attribute__((preserve_access_index));

struct mm_struct {
	unsigned long arg_start;
} __attribute__((preserve_access_index));

struct task_struct {
	const void *real_cred;
	struct mm_struct *mm;
	struct task_struct *real_parent, *group_leader;
} __attribute__((preserve_access_index));

struct sock_common {
	__be16 skc_dport;
} __attribute__((preserve_access_index));

struct sock {
	struct sock_common __sk_common;
} __attribute__((preserve_access_index));

struct sk_buff {
	struct sock *sk;
	__u32 mark;
} __attribute__((preserve_access_index));

struct inode;

struct file {
	struct inode *f_inode;
} __attribute__((preserve_access_index));

struct trace_event_raw_sys_enter {
	unsigned long args[6];
} __attribute__((preserve_access_index));

struct note {
	__u32 what; // and a hole
	__u64 when;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} notes SEC(".maps");

static __always_inline void send(__u32 what)
{
	struct note *n = bpf_ringbuf_reserve(&notes, sizeof(*n), 0);

	if (!n)
		return;
	n->what = what;
	n->when = 0;
	bpf_ringbuf_submit(n, 0);
}

// The argument is the object that the task has.
SEC("kprobe/cap_capable")
int same(struct pt_regs *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	if ((void *)ctx->di == BPF_CORE_READ(task, real_cred))
		send(1);
	return 0;
}

// A packet has a socket, with a port.
SEC("kprobe/__kfree_skb")
int bound(struct pt_regs *ctx)
{
	struct sk_buff *skb = (void *)ctx->di;
	struct sock *sk = BPF_CORE_READ(skb, sk);

	if (!sk)
		return 0;
	if (BPF_CORE_READ(sk, __sk_common.skc_dport) == bpf_htons(4321))
		send(2);
	return 0;
}

// A thread of the kernel has no memory of its own.
SEC("kprobe/do_exit")
int orphan(struct pt_regs *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	if (!BPF_CORE_READ(task, mm))
		send(3);
	return 0;
}

// What a process writes.
SEC("tracepoint/syscalls/sys_enter_write")
int payload(struct trace_event_raw_sys_enter *ctx)
{
	char text[8] = {};

	if (ctx->args[2] < 64)
		return 0;
	bpf_probe_read_user(text, sizeof(text), (void *)ctx->args[1]);
	if (text[0] == 'P' && text[1] == 'U' && text[2] == 'T' && text[3] == ' ')
		send(4);
	return 0;
}

// A word among the arguments of a function.
SEC("uprobe//bin/bash:readline")
int word(struct pt_regs *ctx)
{
	char text[16] = {};

	bpf_probe_read_user_str(text, sizeof(text), (void *)ctx->di);
	if (!bpf_strncmp(text, 7, "secret"))
		send(5);
	return 0;
}

// A program with many arguments.
SEC("tracepoint/syscalls/sys_enter_execve")
int vector(struct trace_event_raw_sys_enter *ctx)
{
	const char **argv = (void *)ctx->args[1], *arg;

	for (int i = 0; i < 12; i++) {
		if (bpf_probe_read_user(&arg, sizeof(arg), &argv[i]) || !arg)
			return 0;
	}
	send(6);
	return 0;
}

// A thread whose process is also its parent.
SEC("kprobe/wake_up_new_task")
int leader(struct pt_regs *ctx)
{
	struct task_struct *task = (void *)ctx->di;
	struct task_struct *parent = BPF_CORE_READ(task, real_parent), *first = BPF_CORE_READ(task, group_leader);

	if (first != task && parent == first)
		send(7);
	return 0;
}

// An address compared as what it is not.
SEC("kprobe/vfs_fsync_range")
int right(struct pt_regs *ctx)
{
	struct file *file = (void *)ctx->di;
	struct task_struct *task = (void *)bpf_get_current_task();
	struct note n = {};

	if (!BPF_CORE_READ(file, f_inode) || (void *)file == BPF_CORE_READ(task, real_cred))
		n.what = 1;
	bpf_ringbuf_output(&notes, &n, sizeof(n), 0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
