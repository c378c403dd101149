// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// intest_tc: tests inside an object, all passing: every combination of stages, shared and zeroed maps, context handed on, tail calls by
// values and by tags of static functions, a map of maps with a template, variables of .rodata.config, pinned maps, skips, both sets of codes.
#include "intest.h"
#include <bpf/bpf_endian.h>

#define TC_ACT_REDIRECT 7
#define ETH_P_802_2 4
#define PIN_REPLACE (1 << 4)	/* of one project's own: to be ignored */

enum { SLOT_NAT = 3, SLOT_MISSING = 4, LEN = 64 };

struct counters {
	__u64 forwarded, dropped;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(pinning, 1);
	__type(key, __u32);
	__type(value, struct counters);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} mock_skb_meta_map SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(key_size, 4);
	__uint(max_entries, 8);
	__uint(pinning, PIN_REPLACE);
	__array(values, int ());
} calls SEC(".maps");

struct backends {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u32);
} first_backends SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH_OF_MAPS);
	__uint(max_entries, 4);
	__type(key, __u32);
	__array(values, struct backends);
} services SEC(".maps") = {
	.values = {[1] = &first_backends},
};

CONFIG volatile const __u32 out_ifindex = 1;
CONFIG volatile const __u32 virtual_ip = 0x0a000001;	/* 10.0.0.1 */

static __always_inline struct counters *counted(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&counts, &zero);
}

/* What is tested: packets to the virtual address go to a backend. */
SEC("tc/tail")
TAIL(calls, 3)
static int nat(struct __sk_buff *ctx)
{
	__u32 service = 1, vip = bpf_htonl(virtual_ip), *backend, to;
	struct counters *c = counted();
	void *inner;

	inner = bpf_map_lookup_elem(&services, &service);
	backend = inner ? bpf_map_lookup_elem(inner, &service) : NULL;
	if (!backend || !c)
		return TC_ACT_SHOT;
	to = *backend;
	if (bpf_skb_store_bytes(ctx, 14 + 16, &to, 4, 0) ||
	    bpf_l3_csum_replace(ctx, 14 + 10, vip, to, 4) ||
	    bpf_l4_csum_replace(ctx, 14 + 20 + 6, vip, to, 4 | 0x10))
		return TC_ACT_SHOT;
	c->forwarded++;
	ctx->mark = 0x1234;
	ctx->cb[1] += 7;
	return bpf_redirect(out_ifindex, 0);
}

SEC("tc/entry")
int entry(struct __sk_buff *ctx)
{
	__u32 to = 0;
	struct counters *c = counted();

	bpf_skb_load_bytes(ctx, 14 + 16, &to, 4);
	if (to == bpf_htonl(virtual_ip)) {
		bpf_tail_call(ctx, &calls, SLOT_MISSING);
		bpf_tail_call(ctx, &calls, SLOT_NAT);
	}
	if (c)
		c->dropped++;
	return TC_ACT_SHOT;
}

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(key_size, 4);
	__uint(max_entries, 1);
	__array(values, int ());
} entries SEC(".maps") = {
	.values = {[0] = (void *)&entry},
};

static __always_inline int make_packet(struct __sk_buff *ctx, __u32 to)
{
	struct ethhdr *eth;
	struct iphdr *ip;
	struct udphdr *udp;
	void *end;

	if (bpf_skb_change_tail(ctx, LEN, 0))
		return TEST_ERROR;
	eth = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	ip = (void *)(eth + 1);
	udp = (void *)(ip + 1);
	if ((void *)(udp + 1) > end)
		return TEST_ERROR;
	eth->h_proto = bpf_htons(ETH_P_IP);
	ip->vhl = 0x45;
	ip->tot_len = bpf_htons(LEN - 14);
	ip->ttl = 64;
	ip->protocol = IPPROTO_UDP;
	ip->saddr = bpf_htonl(0xc0a80001);
	ip->daddr = to;
	ip->check = 0;
	__s64 sum = bpf_csum_diff(NULL, 0, (void *)ip, sizeof(*ip), 0);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	ip->check = ~sum;
	udp->source = bpf_htons(1000);
	udp->dest = bpf_htons(53);
	udp->len = bpf_htons(LEN - 34);
	udp->check = bpf_htons(1);
	return TC_ACT_OK;
}

/* The packet in the check: the return value of setup, then the packet. */
static __always_inline __u32 verdict(struct __sk_buff *ctx)
{
	__u32 v = ~0;

	bpf_skb_load_bytes(ctx, 0, &v, 4);
	return v;
}

PKTGEN("tc", "1_forward")
int forward_pktgen(struct __sk_buff *ctx)
{
	__u32 service = 1, to = bpf_htonl(0x0a000105);

	/* The first stage: zeros, as much as fits a page. */
	if (ctx->len != 3520 || ctx->mark || ctx->cb[0] || ctx->protocol != bpf_htons(ETH_P_802_2))
		return TEST_ERROR;
	ctx->cb[1] = 0x100;
	bpf_map_update_elem(&first_backends, &service, &to, BPF_ANY);
	return make_packet(ctx, bpf_htonl(virtual_ip));
}

SETUP("tc", "1_forward")
int forward_setup(struct __sk_buff *ctx)
{
	bpf_tail_call(ctx, &entries, 0);
	return TEST_ERROR;
}

CHECK("tc", "1_forward")
int forward_check(struct __sk_buff *ctx)
{
	struct counters *c = counted();
	struct report r;
	struct iphdr ip = {};
	__u64 mocked = 99;
	__u32 zero = 0;
	__u16 check = 0;

	if (!report_open(&r) || !c)
		return TEST_ERROR;
	PART(&r, "verdict");
	LOG(&r, "the verdict is %d, of %u bytes", verdict(ctx), ctx->len - 4);
	EXPECT(&r, verdict(ctx) == TC_ACT_REDIRECT, "verdict %d", verdict(ctx));
	EXPECT(&r, ctx->len == LEN + 4, "length %u", ctx->len);
	PART(&r, "packet");
	bpf_skb_load_bytes(ctx, 4 + 14, &ip, sizeof(ip));
	bpf_skb_load_bytes(ctx, 4 + 14 + 20 + 6, &check, sizeof(check));
	EXPECT(&r, ip.daddr == bpf_htonl(0x0a000105), "to %x", bpf_ntohl(ip.daddr));
	EXPECT(&r, ip.check != 0 && check == bpf_htons(0xfefc), "checksums %#x %#x", bpf_ntohs(ip.check), bpf_ntohs(check));
	PART(&r, "context");
	EXPECT(&r, ctx->mark == 0x1234, "mark %x", ctx->mark);
	EXPECT(&r, ctx->cb[1] == 0x107, "cb[1] %x", ctx->cb[1]);
	EXPECT(&r, c->forwarded == 1 && c->dropped == 0, "%lu forwarded, %lu dropped", c->forwarded, c->dropped);
	bpf_map_update_elem(&mock_skb_meta_map, &zero, &mocked, BPF_ANY);
	return report_close(&r);
}

/* Maps are shared with the tests before, but for the two that are cleared. */
SETUP("tc", "2_shared")
int shared_setup(struct __sk_buff *ctx)
{
	/* Shorter, or the next stage's packet were longer than the length on the wire, which the kernel refuses. */
	if (ctx->len != 3520 || bpf_skb_change_tail(ctx, 3516, 0))
		return TEST_ERROR;
	ctx->mark = 5;
	return TC_ACT_UNSPEC;
}

CHECK("tc", "2_shared")
int shared_check(struct __sk_buff *ctx)
{
	struct counters *c = counted();
	__u32 zero = 0;
	__u64 *mocked = bpf_map_lookup_elem(&mock_skb_meta_map, &zero);
	char *before = bpf_map_lookup_elem(&suite_result_map, &zero);
	__u8 was = before ? *before : 1;
	struct report r;

	if (!report_open(&r) || !c || !mocked)
		return TEST_ERROR;
	PART(&r, "shared");
	EXPECT(&r, c->forwarded == 1, "%lu forwarded", c->forwarded);
	EXPECT(&r, !*mocked && !was, "%lu in the mock, %d in the report", *mocked, was);
	EXPECT(&r, ctx->len == 3520 && ctx->mark == 5, "%u bytes, mark %u", ctx->len, ctx->mark);
	EXPECT(&r, verdict(ctx) == (__u32)TC_ACT_UNSPEC, "verdict %d", verdict(ctx));
	return report_close(&r);
}

PKTGEN("tc", "3_generated")
int generated_pktgen(struct __sk_buff *ctx)
{
	return make_packet(ctx, 0);
}

CHECK("tc", "3_generated")
int generated_check(struct __sk_buff *ctx)
{
	/* No setup: nothing is in front of the packet. The protocol is the packet's, the length on the wire the first stage's. */
	return ctx->len == LEN && ctx->protocol == bpf_htons(ETH_P_IP) ? TEST_PASS : TEST_FAIL;
}

CHECK("tc", "4_check_alone")
int alone_check(struct __sk_buff *ctx)
{
	return ctx->len == 3520;	/* 1 is a pass as well */
}

CHECK("tc", "5_skipped")
int skipped_check(struct __sk_buff *ctx)
{
	struct report r;

	if (!report_open(&r))
		return TEST_ERROR;
	LOG(&r, "not on these %d machines", 7);
	return TEST_SKIP;
}

CHECK("tc", "6_part_skipped")
int part_skipped_check(struct __sk_buff *ctx)
{
	struct report r;

	if (!report_open(&r))
		return TEST_ERROR;
	PART(&r, "left out");
	report_status(&r, TEST_SKIP);
	PART(&r, "done");
	return report_close(&r);
}

/* Two checks in one section are two tests. */
CHECK("tc", "7_twice")
int twice_a(struct __sk_buff *ctx)
{
	return 1;
}

CHECK("tc", "7_twice")
int twice_b(struct __sk_buff *ctx)
{
	return 101;
}

char LICENSE[] SEC("license") = "GPL";
