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
} ring SEC(".maps");

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

char _license[] SEC("license") = "GPL";
