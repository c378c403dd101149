// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// deferred: a timer's and a work item's callback, and what can go wrong in them.
#include "types.h"
#include <bpf/bpf_helpers.h>

struct bpf_timer {
	__u64 opaque[2];
} __attribute__((aligned(8)));

struct clockwork {
	struct bpf_timer timer;
	__u64 ticks;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct clockwork);
} clocks SEC(".maps");

__u64 fired, last;

static int note(void *map, __u32 *key, struct clockwork *c)
{
	c->ticks++;
	fired += 1;
	last = c->ticks;
	bpf_printk("fired %d", (int)fired);
	return 0;
}

static int crash(void *map, __u32 *key, struct clockwork *c)
{
	__u64 *gone = bpf_map_lookup_elem(&clocks, &(__u32){7});

	fired = *gone;
	return 0;
}

static __always_inline int arm(void *callback)
{
	__u32 zero = 0;
	struct clockwork *c = bpf_map_lookup_elem(&clocks, &zero);

	if (!c)
		return -1;
	bpf_timer_init(&c->timer, &clocks, 1 /* CLOCK_MONOTONIC */);
	bpf_timer_set_callback(&c->timer, callback);
	return bpf_timer_start(&c->timer, 1000, 0);
}

SEC("tc")
int first(void *ctx)
{
	return 0;
}

SEC("tc")
int start_note(void *ctx)
{
	return arm(note);
}

SEC("tc")
int start_crash(void *ctx)
{
	return arm(crash);
}

char LICENSE[] SEC("license") = "GPL";
