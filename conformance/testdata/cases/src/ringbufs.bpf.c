// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// ringbufs: ring buffers and perf event arrays: records, sizes, flags, errors, queries, dynptrs over records.
#include "case.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} rb SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 8192);
} rb2 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, 4);
	__uint(value_size, 4);
} pb SEC(".maps");

struct event {
	u32 a;
	u64 b;
	char c[5];
};

SEC("tc") int t_output(struct __sk_buff *ctx)
{
	struct event e = {.a = 1, .b = 2, .c = "abc"};
	char big[100] = {};

	CHECK("output", bpf_ringbuf_output(&rb, &e, sizeof(e), 0));
	CHECK("output 1 byte", bpf_ringbuf_output(&rb, &e, 1, BPF_RB_NO_WAKEUP));
	CHECK("output 0 bytes", bpf_ringbuf_output(&rb, &e, 0, 0));
	CHECK("output force", bpf_ringbuf_output(&rb, &e, 8, BPF_RB_FORCE_WAKEUP));
	CHECK("output flags 3", bpf_ringbuf_output(&rb, &e, 8, 3));
	CHECK("output flags 4", bpf_ringbuf_output(&rb, &e, 8, 4));
	CHECK("output 100", bpf_ringbuf_output(&rb, big, 100, 0));
	return 0;
}

SEC("tc") int t_reserve(struct __sk_buff *ctx)
{
	struct event *e = bpf_ringbuf_reserve(&rb, sizeof(*e), 0);

	CHECK("reserve", e != NULL);
	if (!e)
		return 1;
	e->a = 5;
	e->b = 6;
	__builtin_memset(e->c, 'x', 5);
	CHECK("avail while reserved", bpf_ringbuf_query(&rb, BPF_RB_AVAIL_DATA));
	bpf_ringbuf_submit(e, 0);
	CHECK("avail after submit", bpf_ringbuf_query(&rb, BPF_RB_AVAIL_DATA));
	e = bpf_ringbuf_reserve(&rb, sizeof(*e), 0);
	if (!e)
		return 1;
	e->a = 7;
	bpf_ringbuf_discard(e, 0);
	CHECK("avail after discard", bpf_ringbuf_query(&rb, BPF_RB_AVAIL_DATA));
	e = bpf_ringbuf_reserve(&rb, sizeof(*e), 1);
	CHECK("reserve flags 1", e == NULL);
	if (e)
		bpf_ringbuf_discard(e, 0);
	e = bpf_ringbuf_reserve(&rb, 8192, 0);
	CHECK("reserve more than the ring", e == NULL);
	if (e)
		bpf_ringbuf_discard(e, 0);
	e = bpf_ringbuf_reserve(&rb, 4096 - 8, 0);
	CHECK("reserve all of a used ring", e == NULL);
	if (e)
		bpf_ringbuf_discard(e, 0);
	return 0;
}

SEC("tc") int t_reserve_order(struct __sk_buff *ctx)
{
	u64 *a = bpf_ringbuf_reserve(&rb, 8, 0), *b, *c;

	if (!a)
		return 1;
	b = bpf_ringbuf_reserve(&rb, 16, 0);
	if (!b) {
		bpf_ringbuf_discard(a, 0);
		return 1;
	}
	c = bpf_ringbuf_reserve(&rb, 24, 0);
	if (!c) {
		bpf_ringbuf_discard(a, 0);
		bpf_ringbuf_discard(b, 0);
		return 1;
	}
	*a = 1;
	b[0] = 2;
	b[1] = 22;
	c[0] = 3;
	c[1] = c[2] = 33;
	bpf_ringbuf_submit(c, BPF_RB_NO_WAKEUP);
	bpf_ringbuf_discard(b, BPF_RB_FORCE_WAKEUP);
	CHECK("positions", bpf_ringbuf_query(&rb, BPF_RB_PROD_POS));
	bpf_ringbuf_submit(a, 0);
	return 0;
}

SEC("tc") int t_query(struct __sk_buff *ctx)
{
	u64 v = 9;

	CHECK("ring size", bpf_ringbuf_query(&rb, BPF_RB_RING_SIZE));
	CHECK("ring size 2", bpf_ringbuf_query(&rb2, BPF_RB_RING_SIZE));
	CHECK("avail empty", bpf_ringbuf_query(&rb, BPF_RB_AVAIL_DATA));
	bpf_ringbuf_output(&rb, &v, 3, 0);
	CHECK("avail 3 bytes", bpf_ringbuf_query(&rb, BPF_RB_AVAIL_DATA));
	CHECK("prod pos", bpf_ringbuf_query(&rb, BPF_RB_PROD_POS));
	CHECK("cons pos", bpf_ringbuf_query(&rb, BPF_RB_CONS_POS));
	CHECK("query 9", bpf_ringbuf_query(&rb, 9));
	return 0;
}

char chunk[1000];

SEC("tc") int t_fill(struct __sk_buff *ctx)
{
	CHECK("fill 1", bpf_ringbuf_output(&rb, chunk, 1000, 0));
	CHECK("fill 2", bpf_ringbuf_output(&rb, chunk, 1000, 0));
	CHECK("fill 3", bpf_ringbuf_output(&rb, chunk, 1000, 0));
	CHECK("fill 4", bpf_ringbuf_output(&rb, chunk, 1000, 0));
	CHECK("fill 5", bpf_ringbuf_output(&rb, chunk, 1000, 0));
	CHECK("fill small", bpf_ringbuf_output(&rb, chunk, 48, 0));
	CHECK("fill last", bpf_ringbuf_output(&rb, chunk, 8, 0));
	CHECK("fill none", bpf_ringbuf_output(&rb, chunk, 1, 0));
	CHECK("fill avail", bpf_ringbuf_query(&rb, BPF_RB_AVAIL_DATA));
	return 0;
}

SEC("tc") int t_dynptr(struct __sk_buff *ctx)
{
	struct bpf_dynptr d;
	char buf[8] = "1234567";
	u32 *p;

	CHECK("dynptr reserve", bpf_ringbuf_reserve_dynptr(&rb, 32, 0, &d));
	CHECK("dynptr write", bpf_dynptr_write(&d, 4, buf, 8, 0));
	CHECK("dynptr write behind", bpf_dynptr_write(&d, 30, buf, 8, 0));
	CHECK("dynptr write flags", bpf_dynptr_write(&d, 0, buf, 8, 1));
	CHECK("dynptr read", bpf_dynptr_read(buf, 4, &d, 5, 0));
	CHECK("dynptr read first", buf[0]);
	p = bpf_dynptr_data(&d, 0, 4);
	CHECK("dynptr data", p != NULL);
	if (p)
		*p = 0x11223344;
	p = bpf_dynptr_data(&d, 32, 1);
	CHECK("dynptr data behind", p == NULL);
	bpf_ringbuf_submit_dynptr(&d, 0);
	CHECK("dynptr reserve too much", bpf_ringbuf_reserve_dynptr(&rb, 5000, 0, &d));
	CHECK("null dynptr write", bpf_dynptr_write(&d, 0, buf, 1, 0));
	bpf_ringbuf_discard_dynptr(&d, 0);
	CHECK("dynptr reserve flags", bpf_ringbuf_reserve_dynptr(&rb, 8, 1, &d));
	bpf_ringbuf_submit_dynptr(&d, 0);
	CHECK("dynptr discard", bpf_ringbuf_reserve_dynptr(&rb, 8, 0, &d));
	bpf_ringbuf_discard_dynptr(&d, 0);
	return 0;
}

SEC("tc") int t_perf(struct __sk_buff *ctx)
{
	struct event e = {.a = 1, .b = 2, .c = "abc"};

	CHECK("perf current cpu", bpf_perf_event_output(ctx, &pb, BPF_F_CURRENT_CPU, &e, sizeof(e)));
	CHECK("perf index 0", bpf_perf_event_output(ctx, &pb, 0, &e, 5));
	CHECK("perf index 1", bpf_perf_event_output(ctx, &pb, 1, &e, 5));
	CHECK("perf index 9", bpf_perf_event_output(ctx, &pb, 9, &e, 5));
	CHECK("perf packet", bpf_perf_event_output(ctx, &pb, BPF_F_CURRENT_CPU | (20ull << 32), &e, 4));
	CHECK("perf packet too long", bpf_perf_event_output(ctx, &pb, BPF_F_CURRENT_CPU | (2000ull << 32), &e, 4));
	CHECK("perf flags", bpf_perf_event_output(ctx, &pb, BPF_F_CURRENT_CPU | (1ull << 60), &e, 4));
	CHECK("perf 4 bytes", bpf_perf_event_output(ctx, &pb, BPF_F_CURRENT_CPU, &e, 4));
	return 0;
}

SEC("xdp") int t_perf_xdp(struct xdp_md *ctx)
{
	u32 v = 0xabcdef01;

	CHECK("xdp perf packet", bpf_perf_event_output(ctx, &pb, BPF_F_CURRENT_CPU | (64ull << 32), &v, 4));
	CHECK("xdp perf packet too long", bpf_perf_event_output(ctx, &pb, BPF_F_CURRENT_CPU | (65ull << 32), &v, 4));
	return XDP_PASS;
}

SEC("syscall") int t_sleepable(void *ctx)
{
	u64 v = 77;

	CHECK("sleepable output", bpf_ringbuf_output(&rb2, &v, 8, 0));
	return 0;
}

SEC("raw_tp") int t_raw_tp(struct bpf_raw_tracepoint_args *ctx)
{
	u64 v = ctx->args[0];

	CHECK("raw_tp arg 0", v);
	CHECK("raw_tp arg 1", ctx->args[1]);
	CHECK("raw_tp output", bpf_ringbuf_output(&rb2, &v, 8, 0));
	CHECK("raw_tp perf", bpf_perf_event_output(ctx, &pb, BPF_F_CURRENT_CPU, &v, 8));
	return 3;
}
CASE({"name": "t_raw_tp", "runs": [{"prog": "t_raw_tp", "ctx": "0100000000000000fffffffffeffffff"}]});
