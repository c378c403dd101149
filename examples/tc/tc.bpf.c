// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// tc: marks IPv4 traffic by destination port, rewrites its DSCP and repairs the header checksum; drops expired TTLs.
#include "types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

#define IP_OFF sizeof(struct ethhdr)
#define TOS_OFF (IP_OFF + __builtin_offsetof(struct iphdr, tos))
#define CHECK_OFF (IP_OFF + __builtin_offsetof(struct iphdr, check))

struct class {
	__u32 mark;
	__u8 dscp;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, __u16);
	__type(value, struct class);
} classes SEC(".maps");

SEC("tc")
int classify(struct __sk_buff *skb)
{
	struct iphdr ip;
	struct class *c;
	__be16 ports[2];
	__u16 port;
	__u8 tos;

	if (skb->protocol != bpf_htons(ETH_P_IP))
		return TC_ACT_OK;
	if (bpf_skb_load_bytes(skb, IP_OFF, &ip, sizeof(ip)))
		return TC_ACT_SHOT;
	if (ip.ttl <= 1)
		return TC_ACT_SHOT;
	if (ip.protocol != IPPROTO_TCP && ip.protocol != IPPROTO_UDP)
		return TC_ACT_OK;
	if (bpf_skb_load_bytes(skb, IP_OFF + (ip.vhl & 0xf) * 4, ports, sizeof(ports)))
		return TC_ACT_SHOT;

	port = bpf_ntohs(ports[1]);
	c = bpf_map_lookup_elem(&classes, &port);
	if (!c)
		return TC_ACT_OK;
	skb->mark = c->mark;
	tos = c->dscp << 2 | (ip.tos & 3);
	if (tos != ip.tos) {
		bpf_l3_csum_replace(skb, CHECK_OFF, bpf_htons(ip.tos), bpf_htons(tos), sizeof(__be16));
		bpf_skb_store_bytes(skb, TOS_OFF, &tos, sizeof(tos), 0);
	}
	return TC_ACT_OK;
}

char LICENSE[] SEC("license") = "GPL";
