// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// silent: mistakes without a symptom (err_...), each with a right twin (ok_...). The verifier refuses them; run without it, they must
// be stopped at the instruction that is wrong.
#include "types.h"
#include <bpf/bpf_helpers.h>

__u64 sink;

SEC("tc")
int err_store_after_clone(struct __sk_buff *ctx)
{
	__u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	if (data + 14 > end)
		return 2;
	bpf_clone_redirect(ctx, 1, 0);
	data[0] = 0xff;
	return 0;
}

SEC("tc")
int ok_store_after_clone(struct __sk_buff *ctx)
{
	__u8 *data, *end;

	bpf_clone_redirect(ctx, 1, 0);
	data = (void *)(long)ctx->data, end = (void *)(long)ctx->data_end;
	if (data + 14 > end)
		return 2;
	data[0] = 0xff;
	return 0;
}

SEC("xdp")
int err_load_after_tail(struct xdp_md *ctx)
{
	__u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	if (data + 14 > end)
		return 1;
	bpf_xdp_adjust_tail(ctx, 1 << 20);
	sink = data[13];
	return 2;
}

SEC("xdp")
int ok_load_after_tail(struct xdp_md *ctx)
{
	__u8 *data, *end;

	bpf_xdp_adjust_tail(ctx, 1 << 20);
	data = (void *)(long)ctx->data, end = (void *)(long)ctx->data_end;
	if (data + 14 > end)
		return 1;
	sink = data[13];
	return 2;
}

struct padded {
	__u32 a;
	__u8 b;
	__u64 c;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4);
	__type(key, struct padded);
	__type(value, __u64);
} by_padded SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ring SEC(".maps"), numbers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} values SEC(".maps");

SEC("xdp")
int warn_padding_in_key(struct xdp_md *ctx)
{
	__u64 one = 1;
	struct padded k;

	k.a = 1;
	k.b = 2;
	k.c = 3;
	bpf_map_update_elem(&by_padded, &k, &one, 0);
	return 2;
}

SEC("xdp")
int ok_no_padding_in_key(struct xdp_md *ctx)
{
	__u64 one = 1;
	struct padded k;

	__builtin_memset(&k, 0, sizeof(k));
	k.a = 1;
	k.b = 2;
	k.c = 3;
	bpf_map_update_elem(&by_padded, &k, &one, 0);
	return 2;
}

SEC("xdp")
int warn_padding_in_record(struct xdp_md *ctx)
{
	struct padded r;

	r.a = 1;
	r.b = 2;
	r.c = 3;
	bpf_ringbuf_output(&ring, &r, sizeof(r), 0);
	return 2;
}

// The only struct of eight bytes is no record: a number is sent.
struct pool {
	__u64 free;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct pool);
} pools SEC(".maps");

SEC("xdp")
int ok_sends_number(struct xdp_md *ctx)
{
	__u64 n = ctx->ingress_ifindex;

	bpf_ringbuf_output(&ring, &n, sizeof(n), 0);
	return 2;
}

SEC("xdp")
int ok_sends_value(struct xdp_md *ctx)
{
	__u32 zero = 0;
	struct pool *p = bpf_map_lookup_elem(&pools, &zero);

	if (p)
		bpf_perf_event_output(ctx, &values, 0xffffffffULL, p, sizeof(*p));
	return 2;
}

SEC("xdp")
int ok_sends_padded(struct xdp_md *ctx)
{
	struct padded *r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);

	if (!r)
		return 2;
	__builtin_memset(r, 0, sizeof(*r));
	r->a = ctx->ingress_ifindex;
	r->b = 2;
	r->c = 3;
	bpf_ringbuf_submit(r, 0);
	return 2;
}

// Two numbers are not a struct padded, which has their size.
SEC("xdp")
int ok_sends_numbers(struct xdp_md *ctx)
{
	__u64 *r = bpf_ringbuf_reserve(&numbers, 16, 0);

	if (!r)
		return 2;
	r[0] = ctx->ingress_ifindex;
	r[1] = 2;
	bpf_ringbuf_submit(r, 0);
	return 2;
}

static __attribute__((noinline)) int helped(struct xdp_md *ctx, int n)
{
	__u8 text[8];

	text[0] = n;
	return bpf_ringbuf_output(&ring, text, sizeof(text), 0);
}

SEC("xdp")
int warn_in_function(struct xdp_md *ctx)
{
	return helped(ctx, 1) + 2;
}

struct bpf_spin_lock {
	__u32 val;
};

struct bpf_timer {
	__u64 opaque[2];
};

struct owned {
	struct bpf_spin_lock lock;
	__u32 count;
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct owned);
} owned_array SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct owned);
} owned_hash SEC(".maps");

static struct owned *owned_value(void *map, __u32 key)
{
	return bpf_map_lookup_elem(map, &key);
}

SEC("tc")
int err_store_to_lock(struct __sk_buff *ctx)
{
	struct owned *v = owned_value(&owned_array, 1);

	if (v)
		*(volatile __u32 *)&v->lock.val = 0;
	return 0;
}

SEC("tc")
int err_store_over_lock(struct __sk_buff *ctx)
{
	struct owned *v = owned_value(&owned_array, 1);

	if (v)
		*(volatile __u64 *)&v->lock = 0;
	return 0;
}

SEC("tc")
int err_store_to_timer(struct __sk_buff *ctx)
{
	struct owned *v = owned_value(&owned_array, 0);

	if (v)
		*(volatile __u64 *)&v->timer.opaque[1] = 7;
	return 0;
}

SEC("tc")
int err_add_to_lock_of_hash(struct __sk_buff *ctx)
{
	char none[sizeof(struct owned)] = {};
	__u32 key = 1;
	struct owned *v;

	bpf_map_update_elem(&owned_hash, &key, none, 0);
	v = owned_value(&owned_hash, 1);
	if (v)
		__sync_fetch_and_add(&v->lock.val, 1);
	return 0;
}

SEC("tc")
int err_probe_read_into_timer(struct __sk_buff *ctx)
{
	struct owned *v = owned_value(&owned_array, 1);

	if (v)
		bpf_probe_read_kernel(&v->timer, sizeof(v->timer), ctx);
	return 0;
}

SEC("tc")
int ok_beside_lock(struct __sk_buff *ctx)
{
	struct owned *v = owned_value(&owned_array, 1);

	if (v) {
		bpf_spin_lock(&v->lock);
		v->count++;
		bpf_spin_unlock(&v->lock);
	}
	return 0;
}

char _license[] SEC("license") = "GPL";
