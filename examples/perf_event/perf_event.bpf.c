// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// perf_event: a profiler: what runs on a CPU when the clock ticks, with its stack.
#include "kernel.h"
#include <bpf/bpf_helpers.h>

struct bpf_perf_event_data {
	__u64 unused;
};

struct key {
	__u32 pid;
	int stack;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct key);
	__type(value, __u64);
} samples SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 128);
	__uint(key_size, 4);
	__uint(value_size, 127 * 8);
} stacks SEC(".maps");

SEC("perf_event")
int on_tick(struct bpf_perf_event_data *ctx)
{
	struct key key = {.pid = bpf_get_current_pid_tgid() >> 32};
	__u64 one = 1, *n;

	if (!key.pid)
		return 0; // idle
	key.stack = bpf_get_stackid(ctx, &stacks, 0);
	n = bpf_map_lookup_elem(&samples, &key);
	if (n)
		__sync_fetch_and_add(n, 1);
	else
		bpf_map_update_elem(&samples, &key, &one, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
