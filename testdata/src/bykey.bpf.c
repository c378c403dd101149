// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Kernel addresses as keys of maps, as block layer tools keep requests between two events.
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

struct woken {
	__u64 at;
	__u32 pid;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, struct task_struct *);
	__type(value, struct woken);
} waking SEC(".maps");

SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *task)
{
	struct woken w = {.at = bpf_ktime_get_ns()};

	bpf_map_update_elem(&waking, &task, &w, BPF_ANY);
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *task)
{
	struct woken w = {.at = bpf_ktime_get_ns(), .pid = task->pid};

	bpf_map_update_elem(&waking, &task, &w, BPF_ANY);
	return 0;
}

char _license[] SEC("license") = "GPL";
