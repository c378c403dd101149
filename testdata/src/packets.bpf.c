// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// packets: programs that change packets and send them elsewhere: adjust head, tail and meta, redirect through maps, checksums, VLAN, byte copies.
#include "types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u32);
} ports SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u32);
} sockets SEC(".maps");

// Puts an IPv4 header before the packet (IP in IP).
SEC("xdp")
int encapsulate(struct xdp_md *ctx)
{
	struct ethhdr *old, *eth;
	struct iphdr *ip;
	void *data, *end;
	__u32 sum = 0;
	__u16 len = ctx->data_end - ctx->data - sizeof(*eth) + sizeof(*ip);

	if (bpf_xdp_adjust_head(ctx, -(int)sizeof(*ip)))
		return XDP_DROP;
	data = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	old = data + sizeof(*ip);
	eth = data;
	ip = (void *)(eth + 1);
	if ((void *)(old + 1) > end || (void *)(ip + 1) > end)
		return XDP_DROP;
	__builtin_memmove(eth, old, sizeof(*eth));
	ip->vhl = 0x45;
	ip->tos = 0;
	ip->tot_len = bpf_htons(len);
	ip->id = 0;
	ip->frag_off = 0;
	ip->ttl = 64;
	ip->protocol = 4;
	ip->check = 0;
	ip->saddr = bpf_htonl(0xc0000201);
	ip->daddr = bpf_htonl(0xc6336401);
#pragma unroll
	for (int i = 0; i < 10; i++)
		sum += ((__u16 *)ip)[i];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	ip->check = ~sum;
	return XDP_TX;
}

SEC("xdp")
int truncate(struct xdp_md *ctx)
{
	long over = (long)(ctx->data_end - ctx->data) - 60;

	if (over > 0 && bpf_xdp_adjust_tail(ctx, -(int)over))
		return XDP_ABORTED;
	return XDP_PASS;
}

SEC("xdp")
int meta(struct xdp_md *ctx)
{
	__u32 *m;

	if (bpf_xdp_adjust_meta(ctx, -(int)sizeof(*m)))
		return XDP_ABORTED;
	m = (void *)(long)ctx->data_meta;
	if ((void *)(m + 1) > (void *)(long)ctx->data)
		return XDP_ABORTED;
	*m = ctx->rx_queue_index + 0x1000;
	return XDP_PASS;
}

SEC("xdp")
int redirect(struct xdp_md *ctx)
{
	if (ctx->ingress_ifindex == 1)
		return bpf_redirect_map(&ports, 2, XDP_PASS);
	return bpf_redirect_map(&sockets, ctx->rx_queue_index, XDP_DROP);
}

SEC("tc")
int vlan(struct __sk_buff *skb)
{
	if (skb->vlan_present)
		return bpf_skb_vlan_pop(skb) ? TC_ACT_SHOT : TC_ACT_OK;
	return bpf_skb_vlan_push(skb, bpf_htons(0x8100), 42) ? TC_ACT_SHOT : TC_ACT_OK;
}

SEC("tc")
int copies(struct __sk_buff *skb)
{
	__u8 bytes[16];
	__wsum sum;

	if (bpf_skb_load_bytes(skb, 0, bytes, sizeof(bytes)))
		return TC_ACT_SHOT;
	sum = bpf_csum_diff(NULL, 0, (__be32 *)bytes, sizeof(bytes), 0);
	bytes[0] = sum;
	bytes[1] = sum >> 8;
	bpf_skb_store_bytes(skb, 0, bytes, 6, 0);
	skb->cb[0] = sum;
	return TC_ACT_OK;
}

char LICENSE[] SEC("license") = "GPL";
