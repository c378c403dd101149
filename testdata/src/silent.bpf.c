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

char _license[] SEC("license") = "GPL";
