// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// balance: an XDP load balancer. A service's address is rewritten to that of a backend, which connections keep; checksums follow.
#include "types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

struct flow {
	__be32 saddr, daddr;
	__be16 sport, dport;
	__u32 proto;
};

struct backend {
	__be32 addr;
	__u32 pad;
	__u64 packets, bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct flow);
	__type(value, __u32);
} flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 8);
	__type(key, __u32);
	__type(value, struct backend);
} backends SEC(".maps");

const volatile __be32 service = bpf_htonl(0xc6336402);

static __always_inline __u16 fold(__u32 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

/* RFC 1624: the checksum after a 32-bit word of what it covers changed. */
static __always_inline __u16 update(__u16 check, __be32 from, __be32 to)
{
	__u32 sum = (__u16)~check;

	sum += (__u16)~(from & 0xffff) + (__u16)~(from >> 16);
	sum += (to & 0xffff) + (to >> 16);
	return ~fold(sum);
}

SEC("xdp")
int balance(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	struct iphdr *ip = (void *)(eth + 1);
	struct flow f = {};
	struct backend *b;
	__u32 hash, *chosen;
	__be16 *l4;
	__u16 *check;

	if ((void *)(ip + 1) > end)
		return XDP_PASS;
	if (eth->h_proto != bpf_htons(ETH_P_IP) || ip->vhl != 0x45 || ip->daddr != service)
		return XDP_PASS;
	l4 = (void *)(ip + 1);
	switch (ip->protocol) {
	case IPPROTO_TCP:
		check = (void *)l4 + 16;
		break;
	case IPPROTO_UDP:
		check = (void *)l4 + 6;
		break;
	default:
		return XDP_PASS;
	}
	if ((void *)(check + 1) > end)
		return XDP_DROP;
	f.saddr = ip->saddr;
	f.daddr = ip->daddr;
	f.sport = l4[0];
	f.dport = l4[1];
	f.proto = ip->protocol;
	chosen = bpf_map_lookup_elem(&flows, &f);
	if (chosen) {
		hash = *chosen;
	} else {
		hash = (f.saddr ^ f.sport * 2654435761U) >> 7 & 7;
		bpf_map_update_elem(&flows, &f, &hash, BPF_ANY);
	}
	b = bpf_map_lookup_elem(&backends, &hash);
	if (!b)
		return XDP_DROP;
	__sync_fetch_and_add(&b->packets, 1);
	__sync_fetch_and_add(&b->bytes, (__u64)(end - data));
	if (*check || ip->protocol == IPPROTO_TCP)
		*check = update(*check, ip->daddr, b->addr);
	ip->check = update(ip->check, ip->daddr, b->addr);
	ip->daddr = b->addr;
	return XDP_TX;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
