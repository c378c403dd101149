// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// intest_xdp: tests of XDP inside an object, staged and plain, all passing.
#include "intest.h"
#include <bpf/bpf_endian.h>

static __always_inline __u32 length(struct xdp_md *ctx)
{
	return ctx->data_end - ctx->data;
}

PKTGEN("xdp", "encapsulated")
int encapsulated_pktgen(struct xdp_md *ctx)
{
	__u8 *p;

	if (length(ctx) != 3520 || ctx->data_meta != ctx->data)
		return TEST_ERROR;
	if (bpf_xdp_adjust_tail(ctx, 60 - 3520))
		return TEST_ERROR;
	p = (void *)(long)ctx->data;
	if ((void *)(p + 60) > (void *)(long)ctx->data_end)
		return TEST_ERROR;
	p[12] = 8;
	p[59] = 0xaa;
	return XDP_PASS;
}

SETUP("xdp", "encapsulated")
int encapsulated_setup(struct xdp_md *ctx)
{
	if (bpf_xdp_adjust_head(ctx, -20))
		return XDP_ABORTED;
	return XDP_TX;
}

CHECK("xdp", "encapsulated")
int encapsulated_check(struct xdp_md *ctx)
{
	__u8 *p = (void *)(long)ctx->data;
	struct report r;

	if (!report_open(&r))
		return TEST_ERROR;
	if ((void *)(p + 84) > (void *)(long)ctx->data_end)
		return TEST_FAIL;
	PART(&r, "packet");
	EXPECT(&r, length(ctx) == 84, "%u bytes", length(ctx));
	EXPECT(&r, p[0] == XDP_TX && !p[1], "verdict %d", p[0]);
	EXPECT(&r, p[4 + 20 + 12] == 8 && p[83] == 0xaa, "%#02x %#02x", p[36], p[83]);
	return report_close(&r);
}

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u32);
} seen SEC(".maps");

/* Plain tests start fresh: both find the map empty. */
PLAIN("xdp", "fresh_one")
int fresh_one(struct xdp_md *ctx)
{
	__u32 key = 1;

	REQUIRE(!bpf_map_update_elem(&seen, &key, &key, BPF_NOEXIST));
	REQUIRE(length(ctx) == 64);
	return 0;
}

PLAIN("syscall", "fresh_two")
int fresh_two(void *ctx)
{
	__u32 key = 1;

	REQUIRE(!bpf_map_update_elem(&seen, &key, &key, BPF_NOEXIST));
	REQUIRE(bpf_map_lookup_elem(&seen, &key));
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
