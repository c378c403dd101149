// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// loop: callbacks: climbs from a process to its ancestors with bpf_loop and sums a map with bpf_for_each_map_elem.
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#define MAX_DEPTH 8

struct lineage {
	__u32 depth;
	__u32 tgid[MAX_DEPTH];
};

struct climb {
	struct task_struct *task;
	struct lineage *out;
};

struct sum {
	__u64 entries;
	__u64 total;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 * 1024);
} lineages SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, __u64);
} exits_by_depth SEC(".maps");

struct sum all;

static int climb_one(__u32 i, struct climb *c)
{
	// In a variable first: BPF_CORE_READ(c->task, tgid) would have c->task relocated too, and no kernel has a struct climb.
	struct task_struct *task = c->task;
	__u32 tgid = BPF_CORE_READ(task, tgid);

	if (i >= MAX_DEPTH)
		return 1;
	c->out->tgid[i] = tgid;
	c->out->depth = i + 1;
	if (tgid <= 1)
		return 1;
	c->task = BPF_CORE_READ(task, real_parent);
	return 0;
}

static int add_one(void *map, __u32 *key, __u64 *value, struct sum *s)
{
	s->entries++;
	s->total += *value;
	return 0;
}

SEC("tracepoint/sched/sched_process_exit")
int on_exit(void *ctx)
{
	struct lineage l = {};
	struct climb c = {.task = (void *)bpf_get_current_task(), .out = &l};
	__u64 one = 1, *n;
	struct sum s = {};

	bpf_loop(MAX_DEPTH, climb_one, &c, 0);
	n = bpf_map_lookup_elem(&exits_by_depth, &l.depth);
	if (n)
		__sync_fetch_and_add(n, 1);
	else
		bpf_map_update_elem(&exits_by_depth, &l.depth, &one, BPF_ANY);
	bpf_for_each_map_elem(&exits_by_depth, add_one, &s, 0);
	all = s;
	bpf_ringbuf_output(&lineages, &l, sizeof(l), 0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
