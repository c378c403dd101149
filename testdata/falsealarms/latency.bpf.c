// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// latency: a histogram of how long softirqs take, by vector, in powers of two.
#include "kernel.h"
#include <bpf/bpf_helpers.h>

#define SLOTS 24
#define VECTORS 10

struct histogram {
	__u32 slots[SLOTS];
	__u32 pad;
	__u64 total;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} since SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, VECTORS);
	__type(key, __u32);
	__type(value, struct histogram);
} by_vector SEC(".maps");

static __attribute__((noinline)) __u32 log2l(__u64 v)
{
	__u32 n = 0, step;

	step = (v > 0xffffffff) << 5; v >>= step; n |= step;
	step = (v > 0xffff) << 4; v >>= step; n |= step;
	step = (v > 0xff) << 3; v >>= step; n |= step;
	step = (v > 0xf) << 2; v >>= step; n |= step;
	step = (v > 3) << 1; v >>= step; n |= step;
	return n | (v > 1);
}

SEC("tracepoint/irq/softirq_entry")
int entry(struct trace_event_raw_softirq *ctx)
{
	__u32 zero = 0;
	__u64 *t = bpf_map_lookup_elem(&since, &zero);

	if (t)
		*t = bpf_ktime_get_ns();
	return 0;
}

SEC("tracepoint/irq/softirq_exit")
int leave(struct trace_event_raw_softirq *ctx)
{
	__u32 zero = 0, vec = ctx->vec, slot;
	__u64 *t = bpf_map_lookup_elem(&since, &zero), took;
	struct histogram *h;

	if (!t || !*t || vec >= VECTORS)
		return 0;
	took = bpf_ktime_get_ns() - *t;
	*t = 0;
	h = bpf_map_lookup_elem(&by_vector, &vec);
	if (!h)
		return 0;
	slot = log2l(took);
	if (slot >= SLOTS)
		slot = SLOTS - 1;
	__sync_fetch_and_add(&h->slots[slot], 1);
	__sync_fetch_and_add(&h->total, took);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
