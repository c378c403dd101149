// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// XDP programs of three places: packets in several buffers are cut and redirected, then seen where they leave, and on another CPU.
#include "types.h"
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u32);
} ports SEC(".maps");

__u32 total, direct, leaves;
__u8 tail[4];

SEC("xdp.frags")
int receive(struct xdp_md *ctx)
{
	__u64 (*buff_len)(void *) = (void *)188;
	long (*load)(void *, __u32, void *, __u32) = (void *)189;

	total = buff_len(ctx);
	direct = (__u32)((long)ctx->data_end - (long)ctx->data);
	if (total < 64 || load(ctx, total - sizeof(tail), tail, sizeof(tail)))
		return XDP_DROP;
	/* A trailer of four bytes is taken off. */
	if (tail[0] == 0xee && bpf_xdp_adjust_tail(ctx, -4))
		return XDP_ABORTED;
	return bpf_redirect_map(&ports, ctx->rx_queue_index, XDP_PASS);
}

SEC("xdp.frags/devmap")
int leave(struct xdp_md *ctx)
{
	leaves = ctx->egress_ifindex;
	return ctx->egress_ifindex == ctx->ingress_ifindex ? XDP_DROP : XDP_PASS;
}

SEC("xdp/cpumap")
int elsewhere(struct xdp_md *ctx)
{
	return (long)ctx->data_end - (long)ctx->data > 100 ? XDP_PASS : XDP_DROP;
}

char LICENSE[] SEC("license") = "GPL";
