// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// callbacks: functions passed by address: bpf_loop (nested, stopped early), bpf_for_each_map_elem on a hash and an array,
// a timer, user ring buffer drain.
#include "types.h"
#include <bpf/bpf_helpers.h>

struct bpf_timer {
	__u64 opaque[2];
} __attribute__((aligned(8)));

struct bpf_dynptr;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16);
	__type(key, __u32);
	__type(value, __u64);
} table SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
} slots SEC(".maps");

struct timed {
	struct bpf_timer timer;
	__u64 fired;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct timed);
} timers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_USER_RINGBUF);
	__uint(max_entries, 4096);
} requests SEC(".maps");

__u64 visits, drained, sum;

struct grid {
	__u32 rows, cols, stop_row;
	__u64 cells;
};

static int col(__u32 i, void *ctx)
{
	struct grid *g = ctx;

	g->cells++;
	return i + 1 >= g->cols;
}

static int row(__u32 i, void *ctx)
{
	struct grid *g = ctx;

	if (i == g->stop_row)
		return 1;
	bpf_loop(100, col, ctx, 0);
	return 0;
}

static long sum_elem(void *map, void *key, void *value, void *ctx)
{
	*(__u64 *)ctx += *(__u64 *)value * (*(__u32 *)key + 1);
	return 0;
}

static long first_only(void *map, void *key, void *value, void *ctx)
{
	*(__u64 *)ctx += 1;
	return 1;
}

static int on_timer(void *map, __u32 *key, struct timed *t)
{
	t->fired++;
	return 0;
}

static long on_request(struct bpf_dynptr *d, void *ctx)
{
	drained++;
	return 0;
}

SEC("syscall")
int nested(__u64 *ctx)
{
	struct grid g = {.rows = ctx[0], .cols = 3, .stop_row = ctx[1]};

	ctx[2] = bpf_loop(g.rows, row, &g, 0);
	ctx[3] = g.cells;
	return 0;
}

SEC("syscall")
int each(__u64 *ctx)
{
	__u64 total = 0, seen = 0;

	for (__u32 i = 0; i < 4; i++) {
		__u64 v = ctx[0] + i;
		__u32 k = i;

		bpf_map_update_elem(&table, &k, &v, BPF_ANY);
		bpf_map_update_elem(&slots, &k, &v, BPF_ANY);
	}
	ctx[1] = bpf_for_each_map_elem(&table, sum_elem, &total, 0);
	ctx[2] = total;
	ctx[3] = bpf_for_each_map_elem(&slots, first_only, &seen, 0);
	ctx[4] = seen;
	return 0;
}

SEC("tc")
int timer(void *ctx)
{
	__u32 zero = 0;
	struct timed *t = bpf_map_lookup_elem(&timers, &zero);
	long err;

	if (!t)
		return -1;
	err = bpf_timer_init(&t->timer, &timers, 1 /* CLOCK_MONOTONIC */);
	if (err)
		return err;
	bpf_timer_set_callback(&t->timer, on_timer);
	return bpf_timer_start(&t->timer, 1000000, 0);
}

SEC("syscall")
int drain(__u64 *ctx)
{
	ctx[0] = bpf_user_ringbuf_drain(&requests, on_request, NULL, 0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
