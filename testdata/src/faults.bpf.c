// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// faults: what the kernel forbids, each program one sin (err_...), some with an innocent twin (ok_...). The verifier refuses the err_
// programs; run without it they must be stopped at the instruction that sins. It accepts the warn_ ones, which are wrong all the same.
#include "types.h"
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, __u64[4]);
} values SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, __u64);
} table SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ring SEC(".maps");

const volatile __u64 frozen = 5;
__u64 sink;

// Hides a value from the compiler.
#define opaque(x) asm volatile("" : "+r"(x))

static void *value(__u32 k)
{
	return bpf_map_lookup_elem(&values, &k);
}

SEC("syscall")
int err_map_value_end(void *ctx)
{
	__u64 *v = value(0), i = 4;

	opaque(i);
	if (v)
		sink = v[i];
	return 0;
}

SEC("syscall")
int ok_map_value_last(void *ctx)
{
	__u64 *v = value(0), i = 3;

	opaque(i);
	if (v)
		sink = v[i & 3];
	return 0;
}

SEC("syscall")
int err_map_value_before(void *ctx)
{
	__u64 *v = value(1);

	opaque(v);
	v[-1] = 1;
	return 0;
}

SEC("syscall")
int err_null_lookup(void *ctx)
{
	__u32 k = 77;
	__u64 *v = bpf_map_lookup_elem(&table, &k);

	sink = *v;
	return 0;
}

SEC("syscall")
int warn_deleted_value(void *ctx)
{
	__u32 k = 1;
	__u64 one = 1, *v;

	bpf_map_update_elem(&table, &k, &one, BPF_ANY);
	v = bpf_map_lookup_elem(&table, &k);
	if (!v)
		return 0;
	bpf_map_delete_elem(&table, &k);
	// Allowed by the verifier: the kernel frees the element after a grace period.
	sink = *v;
	return 0;
}

SEC("syscall")
int err_stack_overrun(void *ctx)
{
	__u64 buf[4] = {}, i = 600;

	opaque(i);
	*(volatile __u64 *)((void *)buf - i) = 1;
	return 0;
}

SEC("syscall")
int err_above_frame(void *ctx)
{
	__u64 r;

	asm volatile("r2 = r10; %0 = *(u64 *)(r2 + 8)" : "=r"(r)::"r2", "memory");
	sink = r;
	return 0;
}

SEC("syscall")
int warn_uninitialised_stack(void *ctx)
{
	__u64 r;

	asm volatile("%0 = *(u64 *)(r10 - 256)" : "=r"(r)::"memory");
	sink = r;
	return 0;
}

SEC("xdp")
int err_packet_end(struct xdp_md *ctx)
{
	__u8 *data = (void *)(long)ctx->data;
	__u64 n = ctx->data_end - ctx->data;

	opaque(n);
	return data[n];
}

SEC("xdp")
int ok_packet_last(struct xdp_md *ctx)
{
	__u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	if (data + 14 > end)
		return XDP_DROP;
	return data[13] ? XDP_PASS : XDP_TX;
}

SEC("xdp")
int err_packet_after_adjust(struct xdp_md *ctx)
{
	__u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	if (data + 14 > end)
		return XDP_DROP;
	if (bpf_xdp_adjust_head(ctx, 14))
		return XDP_DROP;
	return data[0];
}

SEC("xdp")
int err_context_end(struct xdp_md *ctx)
{
	__u32 r;

	asm volatile("%0 = *(u32 *)(%1 + 400)" : "=r"(r) : "r"(ctx) : "memory");
	return r;
}

SEC("syscall")
int err_write_rodata(void *ctx)
{
	*(volatile __u64 *)&frozen = 6;
	return 0;
}

SEC("syscall")
int err_endless_loop(void *ctx)
{
	__u64 i = 1;

	while (i) {
		opaque(i);
		sink += i;
	}
	return 0;
}

SEC("syscall")
int err_leaked_record(void *ctx)
{
	__u64 *r = bpf_ringbuf_reserve(&ring, 64, 0);

	if (r)
		*r = 1;
	return 0;
}

SEC("syscall")
int err_submitted_record(void *ctx)
{
	__u64 *r = bpf_ringbuf_reserve(&ring, 64, 0);

	if (!r)
		return 0;
	bpf_ringbuf_submit(r, 0);
	*r = 1;
	return 0;
}

SEC("syscall")
int err_record_end(void *ctx)
{
	__u64 *r = bpf_ringbuf_reserve(&ring, 64, 0), i = 8;

	if (!r)
		return 0;
	opaque(i);
	r[i] = 1;
	bpf_ringbuf_submit(r, 0);
	return 0;
}

SEC("syscall")
int err_wild_pointer(void *ctx)
{
	__u64 p = 0xdead000000000100;

	opaque(p);
	sink = *(volatile __u64 *)p;
	return 0;
}

SEC("syscall")
int err_unknown_helper(void *ctx)
{
	long (*helper)(void) = (void *)9999;

	return helper();
}

static __attribute__((noinline)) int down(int n)
{
	volatile char frame[64];

	frame[n & 63] = n;
	if (n <= 0)
		return frame[0];
	return down(n - 1) + frame[n & 63];
}

SEC("syscall")
int err_call_depth(__u64 *ctx)
{
	return down(20);
}

SEC("syscall")
int err_no_exit(void *ctx)
{
	asm volatile("r0 = 0; goto +32000");
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
