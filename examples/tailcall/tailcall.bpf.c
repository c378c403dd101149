// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// tailcall: a packet parser in stages: a prog array filled at load time, one stage per protocol, shared subprograms.
#include "types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

enum stage {
	STAGE_IPV4,
	STAGE_TCP,
	STAGE_UDP,
	STAGE_MISSING,	/* never filled: the tail call falls through */
	STAGES,
};

struct seen {
	__u64 packets;
	__u64 bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, STAGES);
	__type(key, __u32);
	__type(value, struct seen);
} seen SEC(".maps");

int ipv4(struct xdp_md *ctx);
int tcp(struct xdp_md *ctx);
int udp(struct xdp_md *ctx);

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, STAGES);
	__uint(key_size, sizeof(__u32));
	__array(values, int(struct xdp_md *));
} stages SEC(".maps") = {
	.values = {
		[STAGE_IPV4] = (void *)&ipv4,
		[STAGE_TCP] = (void *)&tcp,
		[STAGE_UDP] = (void *)&udp,
	},
};

// Called from every stage: static, so each main program gets a copy of its own.
static __attribute__((noinline)) void note(struct xdp_md *ctx, __u32 stage)
{
	struct seen *s = bpf_map_lookup_elem(&seen, &stage);

	if (s) {
		s->packets++;
		s->bytes += ctx->data_end - ctx->data;
	}
}

// Global: verified on its own, arguments are plain numbers.
__attribute__((noinline)) int well_known(__u32 port)
{
	return port == 22 || port == 53 || port == 80 || port == 443;
}

SEC("xdp")
int udp(struct xdp_md *ctx)
{
	note(ctx, STAGE_UDP);
	bpf_tail_call(ctx, &stages, STAGE_MISSING);
	return XDP_PASS;
}

SEC("xdp")
int tcp(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct tcphdr *th = data + sizeof(struct ethhdr) + sizeof(struct iphdr);

	note(ctx, STAGE_TCP);
	if ((void *)(th + 1) > end)
		return XDP_DROP;
	return well_known(bpf_ntohs(th->dest)) ? XDP_PASS : XDP_DROP;
}

SEC("xdp")
int ipv4(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct iphdr *ip = data + sizeof(struct ethhdr);

	note(ctx, STAGE_IPV4);
	if ((void *)(ip + 1) > end || ip->vhl != 0x45)
		return XDP_DROP;
	if (ip->protocol == IPPROTO_TCP)
		bpf_tail_call(ctx, &stages, STAGE_TCP);
	else if (ip->protocol == IPPROTO_UDP)
		bpf_tail_call(ctx, &stages, STAGE_UDP);
	return XDP_PASS;
}

SEC("xdp")
int entry(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;

	if ((void *)(eth + 1) > end)
		return XDP_DROP;
	if (eth->h_proto == bpf_htons(ETH_P_IP))
		bpf_tail_call(ctx, &stages, STAGE_IPV4);
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "GPL";
