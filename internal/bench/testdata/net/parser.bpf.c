// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// parser: an XDP program without helpers that takes a packet apart: Ethernet, VLAN tags, IPv4 with its checksum, IPv6, TCP and UDP. It
// keeps a hash of the flow and drops what is malformed. About 80 instructions for TCP over IPv4.
#include "types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

__u32 flow;	/* hash of the last packet's flow */

static __always_inline __u32 mix(__u32 h, __u32 v)
{
	h ^= v;
	h *= 0x9e3779b1;
	return h ^ h >> 15;
}

SEC("xdp")
int parser(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	void *at = eth + 1;
	__u8 protocol;
	__u16 type;
	__u32 h = 0;

	if (at > end)
		return XDP_DROP;
	type = eth->h_proto;
#pragma unroll
	for (int i = 0; i < 2; i++) {
		if (type != bpf_htons(0x8100) && type != bpf_htons(0x88a8))
			break;
		if (at + 4 > end)
			return XDP_DROP;
		type = *(__u16 *)(at + 2);
		at += 4;
	}
	if (type == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = at;
		__u16 *words = at;
		__u32 sum = 0;

		if ((void *)(ip + 1) > end || (ip->vhl & 0xf) < 5)
			return XDP_DROP;
#pragma unroll
		for (int i = 0; i < 10; i++)
			sum += words[i];
		sum = (sum & 0xffff) + (sum >> 16);
		sum = (sum & 0xffff) + (sum >> 16);
		if (ip->vhl == 0x45 && sum != 0xffff)
			return XDP_DROP;
		h = mix(mix(h, ip->saddr), ip->daddr);
		protocol = ip->protocol;
		at += (ip->vhl & 0xf) * 4;
	} else if (type == bpf_htons(0x86dd)) {
		__u32 *words = at;

		if (at + 40 > end)
			return XDP_DROP;
#pragma unroll
		for (int i = 2; i < 10; i++)
			h = mix(h, words[i]);
		protocol = *((__u8 *)at + 6);
		at += 40;
	} else {
		return XDP_PASS;
	}
	if (protocol == IPPROTO_TCP) {
		struct tcphdr *tcp = at;

		if ((void *)(tcp + 1) > end)
			return XDP_DROP;
		h = mix(h, *(__u32 *)at);
	} else if (protocol == IPPROTO_UDP) {
		if (at + 8 > end)
			return XDP_DROP;
		h = mix(h, *(__u32 *)at);
	}
	flow = mix(h, protocol);
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "GPL";
