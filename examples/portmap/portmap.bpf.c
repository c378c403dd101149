// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// portmap: gives TCP connections another port, as user space says. It has a bug that ordinary packets do not meet: docs/find.md finds it.
#include "types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

struct rule {
	__be16 port; /* the new one */
	__u8 paused;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, __be16);
	__type(value, struct rule);
} rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} mapped SEC(".maps");

/* The checksum of a header in which one word changed (RFC 1624, equation 3). */
static __be16 updated(__be16 check, __be16 from, __be16 to)
{
	__u32 sum = (__u16)~check + (__u16)~from + to;

	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

SEC("xdp")
int portmap(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	struct iphdr *ip = (void *)(eth + 1);
	struct tcphdr *tcp = (void *)(ip + 1);
	struct rule *rule;
	__u32 zero = 0;
	__be16 port;
	__u64 *n;

	if ((void *)(tcp + 1) > end)
		return XDP_PASS;
	if (eth->h_proto != bpf_htons(ETH_P_IP) || ip->protocol != IPPROTO_TCP)
		return XDP_PASS;
	if (ip->frag_off & bpf_htons(0x1fff))
		return XDP_PASS; /* has no TCP header */
	port = tcp->dest;
	rule = bpf_map_lookup_elem(&rules, &port);
	if (!rule)
		return XDP_PASS;
	if (rule->paused)
		return XDP_DROP;
	tcp->check = updated(tcp->check, port, rule->port);
	tcp->dest = rule->port;
	n = bpf_map_lookup_elem(&mapped, &zero);
	if (n)
		++*n;
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "GPL";
