// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// short: a parser that checks the Ethernet and IPv4 headers but not the ports it then reads, so that only some lengths of a packet fault.
#include "types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

SEC("xdp")
int err_ports(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	struct iphdr *ip = (void *)(eth + 1);
	__be16 *ports = (void *)(ip + 1);

	if ((void *)(ip + 1) > end)
		return XDP_DROP;
	if (ip->protocol != 6)
		return XDP_PASS;
	return ports[1] == bpf_htons(80) ? XDP_TX : XDP_PASS;
}

SEC("xdp")
int ports(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	struct iphdr *ip = (void *)(eth + 1);
	__be16 *ports = (void *)(ip + 1);

	if ((void *)(ip + 1) > end || (void *)(ports + 2) > end)
		return XDP_DROP;
	return ports[1] == bpf_htons(80) ? XDP_TX : XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
