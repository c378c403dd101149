// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// firewall: an XDP firewall whose rules are in maps: sources by longest prefix, then services by protocol and port, then a default. Its
// tests are in the object: bpfrun test firewall.bpf.o.
#include "intest.h"
#include <bpf/bpf_endian.h>

#define ETH_P_8021Q 0x8100

struct prefix {
	__u32 len;
	__be32 addr;
};

struct service {
	__u16 protocol;
	__u16 port;
};

enum reason {
	BY_SOURCE,
	BY_SERVICE,
	BY_DEFAULT,
	NOT_IPV4,
	MALFORMED,
	REASONS,
};

/* The verdict on packets from a prefix; XDP_TX is no verdict: services decide. */
struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 1024);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct prefix);
	__type(value, __u32);
} sources SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct service);
	__type(value, __u32);
} services SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, REASONS);
	__type(key, __u32);
	__type(value, __u64);
} decisions SEC(".maps");

const volatile __u32 otherwise = XDP_DROP;

static __always_inline int decide(__u32 reason, __u32 verdict)
{
	__u64 *n = bpf_map_lookup_elem(&decisions, &reason);

	if (n)
		++*n;
	return verdict;
}

/* The firewall is tested as a tail call: the tests know nothing of it but its slot. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, 4);
} under_test SEC(".maps");

SEC("xdp")
TAIL(under_test, 0)
int firewall(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	struct iphdr *ip = (void *)(eth + 1);
	struct prefix from = {.len = 32};
	struct service to = {};
	__be16 type, *ports;
	__u32 *verdict;
	__u32 len;

	if ((void *)(eth + 1) > end)
		return decide(MALFORMED, XDP_DROP);
	type = eth->h_proto;
	if (type == bpf_htons(ETH_P_8021Q)) {
		__be16 *tag = (void *)(eth + 1);

		if ((void *)(tag + 2) > end)
			return decide(MALFORMED, XDP_DROP);
		type = tag[1];
		ip = (void *)(tag + 2);
	}
	if (type != bpf_htons(ETH_P_IP))
		return decide(NOT_IPV4, XDP_PASS);
	if ((void *)(ip + 1) > end)
		return decide(MALFORMED, XDP_DROP);
	len = (ip->vhl & 0xf) * 4;
	if (len < sizeof(*ip))
		return decide(MALFORMED, XDP_DROP);

	from.addr = ip->saddr;
	verdict = bpf_map_lookup_elem(&sources, &from);
	if (verdict && *verdict != XDP_TX)
		return decide(BY_SOURCE, *verdict);

	to.protocol = ip->protocol;
	if (to.protocol == IPPROTO_TCP || to.protocol == IPPROTO_UDP) {
		ports = (void *)ip + len;
		if ((void *)(ports + 2) > end)
			return decide(MALFORMED, XDP_DROP);
		to.port = bpf_ntohs(ports[1]);
	}
	verdict = bpf_map_lookup_elem(&services, &to);
	if (verdict)
		return decide(BY_SERVICE, *verdict);
	return decide(BY_DEFAULT, otherwise);
}

/* Tests. */

struct frame {
	struct ethhdr eth;
	struct iphdr ip;
	struct tcphdr tcp;
} __attribute__((packed));

static __always_inline int make(struct xdp_md *ctx, __u32 from, __u16 port)
{
	struct frame *f;

	if (bpf_xdp_adjust_tail(ctx, (int)sizeof(*f) - (int)(ctx->data_end - ctx->data)))
		return TEST_ERROR;
	f = (void *)(long)ctx->data;
	if ((void *)(f + 1) > (void *)(long)ctx->data_end)
		return TEST_ERROR;
	f->eth.h_dest[0] = f->eth.h_source[0] = 2;
	f->eth.h_proto = bpf_htons(ETH_P_IP);
	f->ip.vhl = 0x45;
	f->ip.tot_len = bpf_htons(sizeof(*f) - sizeof(f->eth));
	f->ip.ttl = 64;
	f->ip.protocol = IPPROTO_TCP;
	f->ip.saddr = bpf_htonl(from);
	f->ip.daddr = bpf_htonl(0xc6336402);
	f->tcp.source = bpf_htons(40000);
	f->tcp.dest = bpf_htons(port);
	f->tcp.flags = bpf_htons(0x5002);
	return 0;
}

static __always_inline int run_firewall(struct xdp_md *ctx)
{
	bpf_tail_call(ctx, &under_test, 0);
	return XDP_ABORTED;
}

/* Checks the verdict, which is in front of the packet, and the number of decisions for a reason. */
static __attribute__((noinline)) int expect(struct xdp_md *ctx, __u32 want, __u32 reason)
{
	__u32 *verdict = (void *)(long)ctx->data;
	struct report r;
	__u64 *n;

	if (!report_open(&r))
		return TEST_ERROR;
	if ((void *)(verdict + 1) > (void *)(long)ctx->data_end)
		return TEST_ERROR;
	PART(&r, "verdict");
	EXPECT(&r, *verdict == want, "want %u, got %u", want, *verdict);
	n = bpf_map_lookup_elem(&decisions, &reason);
	PART(&r, "counted once");
	EXPECT(&r, n && *n == 1, "reason %u: %llu", reason, n ? *n : 0);
	if (n)
		*n = 0;
	return report_close(&r);
}

PKTGEN("xdp", "1_closed_port")
int closed_port_pktgen(struct xdp_md *ctx)
{
	return make(ctx, 0xc0000201, 23);
}

SETUP("xdp", "1_closed_port")
int closed_port_setup(struct xdp_md *ctx)
{
	return run_firewall(ctx);
}

CHECK("xdp", "1_closed_port")
int closed_port_check(struct xdp_md *ctx)
{
	return expect(ctx, XDP_DROP, BY_DEFAULT);
}

PKTGEN("xdp", "2_open_port")
int open_port_pktgen(struct xdp_md *ctx)
{
	return make(ctx, 0xc0000201, 443);
}

SETUP("xdp", "2_open_port")
int open_port_setup(struct xdp_md *ctx)
{
	struct service https = {.protocol = IPPROTO_TCP, .port = 443};
	__u32 pass = XDP_PASS;

	bpf_map_update_elem(&services, &https, &pass, BPF_ANY);
	return run_firewall(ctx);
}

CHECK("xdp", "2_open_port")
int open_port_check(struct xdp_md *ctx)
{
	return expect(ctx, XDP_PASS, BY_SERVICE);
}

/* The port is open since the test before: tests of an object share its maps. */
PKTGEN("xdp", "3_blocked_source")
int blocked_source_pktgen(struct xdp_md *ctx)
{
	return make(ctx, 0xcb007107, 443);
}

SETUP("xdp", "3_blocked_source")
int blocked_source_setup(struct xdp_md *ctx)
{
	struct prefix net = {.len = 24, .addr = bpf_htonl(0xcb007100)};
	__u32 drop = XDP_DROP;

	bpf_map_update_elem(&sources, &net, &drop, BPF_ANY);
	return run_firewall(ctx);
}

CHECK("xdp", "3_blocked_source")
int blocked_source_check(struct xdp_md *ctx)
{
	return expect(ctx, XDP_DROP, BY_SOURCE);
}

char LICENSE[] SEC("license") = "GPL";
