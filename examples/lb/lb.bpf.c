// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// lb: a load balancer in XDP. Packets to a service's address go to one of its backends, always the same for a connection: the destination is replaced,
// checksums are corrected, and the packet leaves by the interface it came from.
#include "types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

struct service {
	__be32 addr;
	__be16 port;
	__u16 protocol;
};

struct backends {
	__u32 first, count;	/* in the array */
};

struct backend {
	__be32 addr;
	__u8 mac[6];
	__u16 pad;
	__u64 packets;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, struct service);
	__type(value, struct backends);
} services SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 256);
	__type(key, __u32);
	__type(value, struct backend);
} backends SEC(".maps");

/* FNV-1a: the same backend for every packet of a connection. */
static __always_inline __u32 hash(__be32 addr, __be16 port)
{
	__u32 h = 2166136261u;

	for (int i = 0; i < 4; i++)
		h = (h ^ ((addr >> 8 * i) & 0xff)) * 16777619u;
	return (h ^ port) * 16777619u;
}

/* RFC 1624: the checksum after a word of what it covers has changed. */
static __always_inline __sum16 fixed(__sum16 check, __be32 from, __be32 to)
{
	__u32 sum = (__u16)~check + (~from & 0xffff) + (~from >> 16) + (to & 0xffff) + (to >> 16);

	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

SEC("xdp")
int balance(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	struct iphdr *ip = (void *)(eth + 1);
	struct tcphdr *tcp = (void *)(ip + 1);
	struct service to = {};
	struct backends *some;
	struct backend *b;
	__u32 index;

	if ((void *)(tcp + 1) > end || eth->h_proto != bpf_htons(ETH_P_IP) || ip->vhl != 0x45 || ip->protocol != IPPROTO_TCP)
		return XDP_PASS;
	to.addr = ip->daddr;
	to.port = tcp->dest;
	to.protocol = ip->protocol;
	some = bpf_map_lookup_elem(&services, &to);
	if (!some)
		return XDP_PASS;
	if (!some->count)
		return XDP_DROP;
	index = some->first + hash(ip->saddr, tcp->source) % some->count;
	b = bpf_map_lookup_elem(&backends, &index);
	if (!b)
		return XDP_ABORTED;

	tcp->check = fixed(tcp->check, ip->daddr, b->addr);
	ip->check = fixed(ip->check, ip->daddr, b->addr);
	ip->daddr = b->addr;
	__builtin_memcpy(eth->h_source, eth->h_dest, 6);
	__builtin_memcpy(eth->h_dest, b->mac, 6);
	__sync_fetch_and_add(&b->packets, 1);
	return XDP_TX;
}

char LICENSE[] SEC("license") = "GPL";
