// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// taskstorage: how long and how often each task is in the kernel, in storage of the tasks themselves.
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define BPF_LOCAL_STORAGE_GET_F_CREATE 1

struct calls {
	__u64 since;
	__u64 ns;
	__u32 count;
	__u32 limit;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct calls);
} calls SEC(".maps");

__u32 over_limit;

SEC("tp_btf/sys_enter")
int BPF_PROG(on_enter, void *regs, long id)
{
	struct calls *n = bpf_task_storage_get(&calls, bpf_get_current_task_btf(), 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (n)
		n->since = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_exit, void *regs, long ret)
{
	struct calls *n = bpf_task_storage_get(&calls, bpf_get_current_task_btf(), 0, 0);

	if (!n || !n->since)
		return 0;
	n->ns += bpf_ktime_get_ns() - n->since;
	n->since = 0;
	n->count++;
	if (n->limit && n->count > n->limit)
		over_limit++;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
