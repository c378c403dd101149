// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// A timer that starts itself again, at once.
#include "types.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

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

static int tick(void *map, __u32 *key, struct clockwork *c)
{
	c->ticks++;
	bpf_timer_start(&c->timer, 1, 0);
	return 0;
}

SEC("tc")
int start(void *ctx)
{
	__u32 zero = 0;
	struct clockwork *c = bpf_map_lookup_elem(&clocks, &zero);

	if (!c || bpf_timer_init(&c->timer, &clocks, 1 /* CLOCK_MONOTONIC */))
		return -1;
	bpf_timer_set_callback(&c->timer, tick);
	return bpf_timer_start(&c->timer, 1, 0);
}
