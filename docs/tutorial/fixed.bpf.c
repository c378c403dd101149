// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// fixed: exits, for kernels from before and after 5.14. It remembers every process that ends: who it was, its parent, and its state.
typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
enum { BPF_MAP_TYPE_HASH = 1, BPF_ANY = 0 };

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

// Only the fields that are read. CO-RE finds them on each kernel, wherever they are.
struct task_struct {
	volatile long state;
	int pid, tgid;
	struct task_struct *real_parent;
	char comm[16];
} __attribute__((preserve_access_index));

// Since 5.14 the state has another name.
struct task_struct___new {
	unsigned int __state;
} __attribute__((preserve_access_index));

struct exit {
	__u32 ppid;
	__u64 state;
	char comm[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct exit);
} exits SEC(".maps");

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	struct exit e = {};
	__u32 pid = BPF_CORE_READ(task, pid);

	if (pid != (__u32)BPF_CORE_READ(task, tgid))
		return 0; // a thread
	e.ppid = BPF_CORE_READ(task, real_parent, tgid);
	if (bpf_core_field_exists(task->state))
		e.state = BPF_CORE_READ(task, state);
	else
		e.state = BPF_CORE_READ((struct task_struct___new *)task, __state);
	bpf_core_read_str(e.comm, sizeof(e.comm), &task->comm);
	bpf_map_update_elem(&exits, &pid, &e, BPF_ANY);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
