// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// tp_btf: histogram of the time tasks wait on a run queue, from BTF-typed tracepoints.
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define SLOTS 26

struct hist {
	__u32 slots[SLOTS];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 10240);
	__type(key, __u32);
	__type(value, __u64);
} woken SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct hist);
} waits SEC(".maps");

static __u32 log2_u64(__u64 v)
{
	__u32 r = 0;

#pragma unroll
	for (int s = 32; s; s >>= 1) {
		if (v >> s) {
			v >>= s;
			r += s;
		}
	}
	return r;
}

static int enqueue(struct task_struct *task)
{
	__u64 now = bpf_ktime_get_ns();
	__u32 pid = task->pid;

	if (pid)
		bpf_map_update_elem(&woken, &pid, &now, BPF_ANY);
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *task)
{
	return enqueue(task);
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_wakeup_new, struct task_struct *task)
{
	return enqueue(task);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u32 zero = 0, pid = next->pid, slot;
	struct hist *h;
	__u64 *since;

	if (preempt)
		enqueue(prev);
	since = bpf_map_lookup_elem(&woken, &pid);
	if (!since)
		return 0;
	slot = log2_u64((bpf_ktime_get_ns() - *since) / 1000);
	if (slot >= SLOTS)
		slot = SLOTS - 1;
	h = bpf_map_lookup_elem(&waits, &zero);
	if (h)
		__sync_fetch_and_add(&h->slots[slot], 1);
	bpf_map_delete_elem(&woken, &pid);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
