// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// gates: programs with a bug behind gates that a random input does not pass: the tests of package fuzz search it.
#include "types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

#define ETH_P_8021Q 0x8100

struct eth {
	__u8 dst[6], src[6];
	__be16 proto;
} __attribute__((packed));

struct vlan {
	__be16 tci, proto;
} __attribute__((packed));

struct ip {
	__u8 vihl, tos;
	__be16 len, id, frag;
	__u8 ttl, proto;
	__u16 csum;
	__be32 src, dst;
};

struct udp {
	__be16 src, dst, len;
	__u16 csum;
};

struct message {
	__be32 magic;
	__u8 version; // the upper four bits
	__u8 kind;
	__be16 session;
};

struct settings {
	__u32 mode;
	__u32 limit;
	__u64 flags;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct settings);
} config SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, __be32);
	__type(value, __u64);
} seen SEC(".maps");

const volatile __u32 strict = 0;

// layers changes the TTL behind five gates of a protocol and forgets the checksum.
SEC("xdp")
int layers(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct eth *eth = data;
	struct vlan *vlan = (void *)(eth + 1);
	struct ip *ip = (void *)(vlan + 1);
	struct udp *udp = (void *)(ip + 1);
	struct message *m = (void *)(udp + 1);

	if ((void *)(m + 1) > end)
		return XDP_PASS;
	if (eth->proto != bpf_htons(ETH_P_8021Q) || vlan->proto != bpf_htons(ETH_P_IP))
		return XDP_PASS;
	if (ip->vihl != 0x45 || ip->proto != 17)
		return XDP_PASS;
	if (udp->dst != bpf_htons(6081))
		return XDP_PASS;
	if (m->magic != bpf_htonl(0xfeedc0de))
		return XDP_PASS;
	if (m->version >> 4 != 9 || m->kind != 0x5a)
		return XDP_DROP;
	if (bpf_ntohs(m->session) + 7 != 40000)
		return XDP_DROP;
	ip->ttl--;
	return XDP_TX;
}

// settings does the same where user space has configured it.
SEC("xdp")
int settings(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct eth *eth = data;
	struct ip *ip = (void *)(eth + 1);
	__u32 zero = 0;
	struct settings *s = bpf_map_lookup_elem(&config, &zero);

	if (!s || (void *)(ip + 1) > end || eth->proto != bpf_htons(ETH_P_IP))
		return XDP_PASS;
	if (s->mode != 3 || !(s->flags & 0x100000))
		return XDP_PASS;
	if (strict && s->limit == 77777)
		ip->ttl--;
	return XDP_TX;
}

// again breaks the packet of a source that it has seen before.
SEC("xdp")
int again(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct eth *eth = data;
	struct ip *ip = (void *)(eth + 1);
	__u64 one = 1, *n;
	__be32 src;

	if ((void *)(ip + 1) > end || eth->proto != bpf_htons(ETH_P_IP))
		return XDP_PASS;
	src = ip->src;
	n = bpf_map_lookup_elem(&seen, &src);
	if (!n) {
		bpf_map_update_elem(&seen, &src, &one, BPF_ANY);
		return XDP_PASS;
	}
	if (++*n == 3)
		ip->tos |= 1;
	return XDP_PASS;
}

// right does what layers does, and mends the checksum.
SEC("xdp")
int right(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct eth *eth = data;
	struct ip *ip = (void *)(eth + 1);
	__u32 sum;

	if ((void *)(ip + 1) > end || eth->proto != bpf_htons(ETH_P_IP) || ip->ttl < 2)
		return XDP_PASS;
	ip->ttl--;
	sum = ip->csum + bpf_htons(0x0100);
	ip->csum = sum + (sum >> 16);
	return XDP_TX;
}

char LICENSE[] SEC("license") = "GPL";
