// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// nat: source address translation for tc. outbound gives TCP and UDP packets a public address and port and remembers whose they are; inbound
// undoes it. Checksums are brought up to date by the kernel's helpers, not computed anew.
#include "types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

#define BPF_F_PSEUDO_HDR (1 << 4)
#define BPF_F_MARK_MANGLED_0 (1 << 5)

#define IP_OFF sizeof(struct ethhdr)
#define IP_FIELD(f) (IP_OFF + __builtin_offsetof(struct iphdr, f))

struct endpoint {
	__be32 addr;
	__be16 port;
	__u16 protocol;
};

/* Inside endpoint -> public endpoint, and back. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct endpoint);
	__type(value, struct endpoint);
} bindings SEC(".maps"), owners SEC(".maps");

const volatile __be32 public_addr;	/* 0: nothing is translated */
__u16 next_port = 40000;

struct flow {
	struct endpoint from, to;
	__u32 l4, csum;	/* offsets of the ports and of the checksum */
	__u64 flags;	/* of the checksum */
};

/* Takes a TCP or UDP packet apart; 0 for what cannot be translated, negative for what is malformed. */
static __always_inline int parse(struct __sk_buff *skb, struct flow *f)
{
	struct iphdr ip;
	__be16 ports[2];

	if (skb->protocol != bpf_htons(ETH_P_IP))
		return 0;
	if (bpf_skb_load_bytes(skb, IP_OFF, &ip, sizeof(ip)))
		return -1;
	f->l4 = IP_OFF + (ip.vhl & 0xf) * 4;
	switch (ip.protocol) {
	case IPPROTO_TCP:
		f->csum = f->l4 + __builtin_offsetof(struct tcphdr, check);
		f->flags = 0;
		break;
	case IPPROTO_UDP:
		f->csum = f->l4 + __builtin_offsetof(struct udphdr, check);
		f->flags = BPF_F_MARK_MANGLED_0;
		break;
	default:
		return 0;
	}
	if (bpf_skb_load_bytes(skb, f->l4, ports, sizeof(ports)))
		return -1;
	f->from = (struct endpoint){ip.saddr, ports[0], ip.protocol};
	f->to = (struct endpoint){ip.daddr, ports[1], ip.protocol};
	return 1;
}

static __always_inline int rewrite(struct __sk_buff *skb, struct flow *f, const struct endpoint *was, const struct endpoint *is, __u32 addr_off, __u32 port_off)
{
	__be32 addr = is->addr;
	__be16 port = is->port;

	if (bpf_l4_csum_replace(skb, f->csum, was->addr, addr, f->flags | BPF_F_PSEUDO_HDR | sizeof(addr)) ||
	    bpf_l4_csum_replace(skb, f->csum, was->port, port, f->flags | sizeof(port)) ||
	    bpf_l3_csum_replace(skb, IP_FIELD(check), was->addr, addr, sizeof(addr)) ||
	    bpf_skb_store_bytes(skb, addr_off, &addr, sizeof(addr), 0) ||
	    bpf_skb_store_bytes(skb, port_off, &port, sizeof(port), 0))
		return TC_ACT_SHOT;
	return TC_ACT_OK;
}

SEC("tc")
int outbound(struct __sk_buff *skb)
{
	struct endpoint *bound, now = {};
	struct flow f = {};
	int ok = parse(skb, &f);

	if (ok <= 0 || !public_addr)
		return ok < 0 ? TC_ACT_SHOT : TC_ACT_OK;
	bound = bpf_map_lookup_elem(&bindings, &f.from);
	if (bound) {
		now = *bound;
	} else {
		now = (struct endpoint){public_addr, bpf_htons(next_port), f.from.protocol};
		if (bpf_map_update_elem(&owners, &now, &f.from, BPF_NOEXIST) || bpf_map_update_elem(&bindings, &f.from, &now, BPF_NOEXIST))
			return TC_ACT_SHOT;
		next_port = next_port == 65535 ? 40000 : next_port + 1;
	}
	return rewrite(skb, &f, &f.from, &now, IP_FIELD(saddr), f.l4);
}

SEC("tc")
int inbound(struct __sk_buff *skb)
{
	struct endpoint *owner;
	struct flow f = {};
	int ok = parse(skb, &f);

	if (ok <= 0 || f.to.addr != public_addr)
		return ok < 0 ? TC_ACT_SHOT : TC_ACT_OK;
	owner = bpf_map_lookup_elem(&owners, &f.to);
	if (!owner)
		return TC_ACT_SHOT;
	return rewrite(skb, &f, &f.to, owner, IP_FIELD(daddr), f.l4 + sizeof(__be16));
}

char LICENSE[] SEC("license") = "GPL";
