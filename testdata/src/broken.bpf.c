// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// broken: programs that forward a packet which they broke, and their correct neighbours.
#include "types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

static __always_inline struct iphdr *header(struct xdp_md *ctx)
{
	struct ethhdr *eth = (void *)(long)ctx->data;
	struct iphdr *ip = (void *)(eth + 1);

	if ((void *)(ip + 1) > (void *)(long)ctx->data_end || eth->h_proto != bpf_htons(0x800))
		return 0;
	return ip;
}

SEC("xdp")
int ttl_alone(struct xdp_md *ctx)
{
	struct iphdr *ip = header(ctx);

	if (!ip)
		return XDP_PASS;
	ip->ttl--;
	return XDP_TX;
}

SEC("xdp")
int ttl_and_sum(struct xdp_md *ctx)
{
	struct iphdr *ip = header(ctx);
	__u32 sum;

	if (!ip)
		return XDP_PASS;
	ip->ttl--;
	sum = ip->check + bpf_htons(0x100);
	ip->check = sum + (sum >= 0xffff);
	return XDP_TX;
}

SEC("xdp")
int ttl_and_drop(struct xdp_md *ctx)
{
	struct iphdr *ip = header(ctx);

	if (ip)
		ip->ttl--;
	return XDP_DROP;
}

SEC("xdp")
int tail_alone(struct xdp_md *ctx)
{
	return bpf_xdp_adjust_tail(ctx, 40) ? XDP_DROP : XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
