// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// xdp: drops IPv4 packets whose source is in a longest-prefix list or whose TCP/UDP port is blocked; counts verdicts.
#include "types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

struct lpm_key {
	__u32 prefixlen;
	__be32 addr;
};

struct verdicts {
	__u64 packets;
	__u64 bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 1024);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct lpm_key);
	__type(value, __u32);
} blocked_sources SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, __u16);
	__type(value, __u8);
} blocked_ports SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, XDP_REDIRECT + 1);
	__type(key, __u32);
	__type(value, struct verdicts);
} verdicts SEC(".maps");

static int verdict(struct xdp_md *ctx, __u32 action)
{
	struct verdicts *v = bpf_map_lookup_elem(&verdicts, &action);

	if (v) {
		v->packets++;
		v->bytes += ctx->data_end - ctx->data;
	}
	return action;
}

SEC("xdp")
int filter(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct lpm_key key = {.prefixlen = 32};
	struct ethhdr *eth = data;
	struct iphdr *ip = (void *)(eth + 1);
	__be16 *ports;
	__u32 hlen;
	__u16 port;

	if ((void *)(ip + 1) > end)
		return verdict(ctx, XDP_PASS);
	if (eth->h_proto != bpf_htons(ETH_P_IP))
		return verdict(ctx, XDP_PASS);
	hlen = (ip->vhl & 0xf) * 4;
	if (hlen < sizeof(*ip))
		return verdict(ctx, XDP_DROP);

	key.addr = ip->saddr;
	if (bpf_map_lookup_elem(&blocked_sources, &key))
		return verdict(ctx, XDP_DROP);

	if (ip->protocol != IPPROTO_TCP && ip->protocol != IPPROTO_UDP)
		return verdict(ctx, XDP_PASS);
	ports = (void *)ip + hlen;
	if ((void *)(ports + 2) > end)
		return verdict(ctx, XDP_PASS);
	port = bpf_ntohs(ports[1]);
	if (bpf_map_lookup_elem(&blocked_ports, &port))
		return verdict(ctx, XDP_DROP);
	return verdict(ctx, XDP_PASS);
}

char LICENSE[] SEC("license") = "GPL";
