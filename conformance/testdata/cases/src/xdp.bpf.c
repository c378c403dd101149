// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// xdp: helpers of XDP programs on the standard packet: bounds of head, tail and metadata; loads and stores.
#include "case.h"

u8 buf[128];

SEC("xdp") int t_context(struct xdp_md *ctx)
{
	CHECK("data_end - data", ctx->data_end - ctx->data);
	CHECK("data - data_meta", ctx->data - ctx->data_meta);
	CHECK("ingress_ifindex", ctx->ingress_ifindex);
	CHECK("rx_queue_index", ctx->rx_queue_index);
	CHECK("buff_len", bpf_xdp_get_buff_len(ctx));
	return XDP_DROP;
}

SEC("xdp") int t_adjust_head(struct xdp_md *ctx)
{
	CHECK("head -8", bpf_xdp_adjust_head(ctx, -8));
	CHECK("len", ctx->data_end - ctx->data);
	CHECK("head +8", bpf_xdp_adjust_head(ctx, 8));
	CHECK("head +50", bpf_xdp_adjust_head(ctx, 50));
	CHECK("len after +50", ctx->data_end - ctx->data);
	CHECK("head +1", bpf_xdp_adjust_head(ctx, 1));
	CHECK("head -50", bpf_xdp_adjust_head(ctx, -50));
	CHECK("head -217", bpf_xdp_adjust_head(ctx, -217));
	CHECK("head -216", bpf_xdp_adjust_head(ctx, -216));
	CHECK("final len", ctx->data_end - ctx->data);
	return XDP_PASS;
}

SEC("xdp") int t_adjust_tail(struct xdp_md *ctx)
{
	CHECK("tail -10", bpf_xdp_adjust_tail(ctx, -10));
	CHECK("len after -10", ctx->data_end - ctx->data);
	CHECK("tail +20", bpf_xdp_adjust_tail(ctx, 20));
	CHECK("len after +20", ctx->data_end - ctx->data);
	CHECK("tail -70", bpf_xdp_adjust_tail(ctx, -70));
	CHECK("tail -60", bpf_xdp_adjust_tail(ctx, -60));
	CHECK("tail to 14", bpf_xdp_adjust_tail(ctx, -59));
	CHECK("tail +4000", bpf_xdp_adjust_tail(ctx, 4000));
	CHECK("tail +3000", bpf_xdp_adjust_tail(ctx, 3000));
	CHECK("buff len", bpf_xdp_get_buff_len(ctx));
	return XDP_TX;
}
CASE({"name": "t_adjust_tail"});

SEC("xdp") int t_adjust_meta(struct xdp_md *ctx)
{
	CHECK("meta -4", bpf_xdp_adjust_meta(ctx, -4));
	CHECK("meta size", ctx->data - ctx->data_meta);
	CHECK("meta -3", bpf_xdp_adjust_meta(ctx, -3));
	CHECK("meta -28", bpf_xdp_adjust_meta(ctx, -28));
	CHECK("meta size 2", ctx->data - ctx->data_meta);
	CHECK("meta -220", bpf_xdp_adjust_meta(ctx, -220));
	CHECK("meta size 3", ctx->data - ctx->data_meta);
	CHECK("meta +8", bpf_xdp_adjust_meta(ctx, 8));
	CHECK("meta size 4", ctx->data - ctx->data_meta);
	CHECK("meta +1000", bpf_xdp_adjust_meta(ctx, 1000));
	CHECK("head with meta", bpf_xdp_adjust_head(ctx, -20));
	CHECK("meta after head", ctx->data - ctx->data_meta);
	return XDP_PASS;
}

SEC("xdp") int t_meta_small(struct xdp_md *ctx)
{
	u32 *meta;
	void *data;

	if (bpf_xdp_adjust_meta(ctx, -8))
		return XDP_ABORTED;
	meta = (void *)(long)ctx->data_meta;
	data = (void *)(long)ctx->data;
	if ((void *)(meta + 2) > data)
		return XDP_ABORTED;
	meta[0] = 0x1234;
	meta[1] = 0x5678;
	CHECK("meta head +8", bpf_xdp_adjust_head(ctx, 8));
	CHECK("meta kept", ctx->data - ctx->data_meta);
	return XDP_PASS;
}

SEC("xdp") int t_bytes(struct xdp_md *ctx)
{
	u8 mac[6] = {1, 2, 3, 4, 5, 6};

	CHECK("load", bpf_xdp_load_bytes(ctx, 12, buf, 2));
	CHECK("load value", buf[0]);
	CHECK("load all", bpf_xdp_load_bytes(ctx, 0, buf, 64));
	CHECK("load behind", bpf_xdp_load_bytes(ctx, 60, buf, 5));
	CHECK("load offset 0xffff", bpf_xdp_load_bytes(ctx, 0xffff, buf, 5));
	CHECK("load offset big", bpf_xdp_load_bytes(ctx, 0x10000, buf, 5));
	CHECK("store", bpf_xdp_store_bytes(ctx, 6, mac, 6));
	CHECK("store behind", bpf_xdp_store_bytes(ctx, 60, mac, 5));
	CHECK("store at the end", bpf_xdp_store_bytes(ctx, 58, mac, 6));
	return XDP_PASS;
}

SEC("xdp") int t_direct(struct xdp_md *ctx)
{
	u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	u64 sum = 0;

	for (int i = 0; i < 64; i++) {
		if (data + i + 1 > end)
			break;
		sum = sum * 3 + data[i];
	}
	CHECK("sum", sum);
	if (data + 20 > end)
		return XDP_ABORTED;
	data[0] = 0x42;
	*(u16 *)(data + 12) = 0xdd86;
	return 5;
}

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__type(key, u32);
	__type(value, u32);
	__uint(max_entries, 4);
} dev SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_CPUMAP);
	__type(key, u32);
	__type(value, u32);
	__uint(max_entries, 2);
} cpu SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__type(key, u32);
	__type(value, u32);
	__uint(max_entries, 4);
} xsk SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP_HASH);
	__type(key, u32);
	__type(value, u32);
	__uint(max_entries, 4);
} devh SEC(".maps");

SEC("xdp") int t_redirect_maps(struct xdp_md *ctx)
{
	u32 k = 1;

	CHECK("dev miss", bpf_redirect_map(&dev, 1, 0));
	CHECK("dev miss XDP_PASS", bpf_redirect_map(&dev, 1, XDP_PASS));
	CHECK("dev miss XDP_TX", bpf_redirect_map(&dev, 1, XDP_TX));
	CHECK("dev miss flags 4", bpf_redirect_map(&dev, 1, 4));
	CHECK("dev miss broadcast", bpf_redirect_map(&dev, 1, BPF_F_BROADCAST));
	CHECK("dev behind", bpf_redirect_map(&dev, 100, XDP_DROP));
	CHECK("devh miss", bpf_redirect_map(&devh, 7, XDP_PASS));
	CHECK("cpu miss", bpf_redirect_map(&cpu, 0, XDP_DROP));
	CHECK("xsk miss", bpf_redirect_map(&xsk, 2, XDP_PASS));
	CHECK("dev lookup", bpf_map_lookup_elem(&dev, &k) == NULL);
	CHECK("xsk lookup", bpf_map_lookup_elem(&xsk, &k) == NULL);
	CHECK("redirect", bpf_redirect(1, 0));
	CHECK("redirect flags", bpf_redirect(1, 8));
	return XDP_PASS;
}

SEC("xdp") int t_long(struct xdp_md *ctx)
{
	return ctx->data_end - ctx->data;
}
CASE({"name": "long_packet_14", "runs": [{"prog": "t_long", "data": "00112233445566778899aabb0800"}]});
CASE({"name": "short_packet_13", "runs": [{"prog": "t_long", "data": "00112233445566778899aabb08"}]});

SEC("xdp") int t_ctx_in(struct xdp_md *ctx)
{
	CHECK("meta in", ctx->data - ctx->data_meta);
	CHECK("len in", ctx->data_end - ctx->data);
	CHECK("meta adjust", bpf_xdp_adjust_meta(ctx, -4));
	return XDP_PASS;
}
CASE({"name": "ctx_meta_8", "runs": [{"prog": "t_ctx_in", "data": "aabbccddeeff0011000102030405060708090a0b0c0d0e0f1011121314",
	"ctx": "080000001d00000000000000000000000000000000000000"}]});
CASE({"name": "ctx_meta_6", "runs": [{"prog": "t_ctx_in", "data": "aabbccddeeff0011000102030405060708090a0b0c0d0e0f1011121314",
	"ctx": "060000001d00000000000000000000000000000000000000"}]});
CASE({"name": "ctx_no_meta", "runs": [{"prog": "t_ctx_in", "data": "aabbccddeeff0011000102030405060708090a0b0c0d0e0f1011121314",
	"ctx": "000000001d00000000000000000000000000000000000000"}]});

SEC("xdp") int t_csum_and_mtu(struct xdp_md *ctx)
{
	u32 a[2] = {1, 2}, b[2] = {3, 4}, len = 0;

	CHECK("csum_diff", bpf_csum_diff(a, 8, b, 8, 0));
	CHECK("csum_diff seed", bpf_csum_diff(NULL, 0, b, 8, 99));
	CHECK("csum_diff from only", bpf_csum_diff(a, 8, NULL, 0, 0));
	CHECK("mtu flags", bpf_check_mtu(ctx, 1, &len, 0, 1));
	CHECK("mtu lo", bpf_check_mtu(ctx, 1, &len, 0, 0));
	CHECK("mtu lo value", len);
	return XDP_PASS;
}
