// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// skb: packet helpers of traffic control, socket filters and cgroup filters on the standard packet; the context.
#include "case.h"
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/tcp.h>

#define ETH 14
#define IP 20

u8 buf[128];

SEC("tc") int t_context(volatile struct __sk_buff *ctx)
{
	CHECK("len", ctx->len);
	CHECK("pkt_type", ctx->pkt_type);
	CHECK("mark", ctx->mark);
	CHECK("queue_mapping", ctx->queue_mapping);
	CHECK("protocol", ctx->protocol);
	CHECK("vlan_present", ctx->vlan_present);
	CHECK("vlan_tci", ctx->vlan_tci);
	CHECK("vlan_proto", ctx->vlan_proto);
	CHECK("priority", ctx->priority);
	CHECK("ingress_ifindex", ctx->ingress_ifindex);
	CHECK("ifindex", ctx->ifindex);
	CHECK("tc_index", ctx->tc_index);
	CHECK("hash", ctx->hash);
	CHECK("tc_classid", ctx->tc_classid);
	CHECK("napi_id", ctx->napi_id);
	CHECK("wire_len", ctx->wire_len);
	CHECK("gso_segs", ctx->gso_segs);
	CHECK("gso_size", ctx->gso_size);
	CHECK("tstamp", ctx->tstamp);
	CHECK("hwtstamp", ctx->hwtstamp);
	CHECK("cb 0", ctx->cb[0]);
	CHECK("data_end - data", ctx->data_end - ctx->data);
	CHECK("data - data_meta", ctx->data - ctx->data_meta);
	ctx->mark = 77;
	ctx->priority = 3;
	ctx->cb[1] = 4;
	ctx->tc_index = 5;
	ctx->tc_classid = 6;
	ctx->queue_mapping = 7;
	CHECK("mark set", ctx->mark);
	CHECK("cb set", ctx->cb[1]);
	CHECK("tc_index set", ctx->tc_index);
	CHECK("tc_classid set", ctx->tc_classid);
	CHECK("queue_mapping set", ctx->queue_mapping);
	return TC_ACT_SHOT;
}

SEC("tc") int t_context_in(struct __sk_buff *ctx)
{
	CHECK("in mark", ctx->mark);
	CHECK("in priority", ctx->priority);
	CHECK("in ifindex", ctx->ifindex);
	CHECK("in cb 0", ctx->cb[0]);
	CHECK("in cb 4", ctx->cb[4]);
	CHECK("in tstamp", ctx->tstamp);
	CHECK("in gso_size", ctx->gso_size);
	ctx->mark += 1;
	ctx->cb[2] = 0xabc;
	return 0;
}
CASE({"name": "t_context_in", "runs": [{"prog": "t_context_in",
	"ctx": "0000000000000000090000000000000000000000000000000000000000000000070000000000000001000000000000000b00000000000000000000000000000c000000"}]});
CASE({"name": "context_refused", "runs": [{"prog": "t_context_in",
	"ctx": "0100000000000000090000000000000000000000000000000000000000000000"}]});
CASE({"name": "packet_too_short", "runs": [{"prog": "t_context_in", "data": "00112233445566778899aabbcc"}]});
CASE({"name": "packet_of_a_header", "runs": [{"prog": "t_context_in", "data": "00112233445566778899aabb0800"}]});
CASE({"name": "packet_eth_15", "runs": [{"prog": "t_context_in", "data": "00112233445566778899aabb080045"}]});
CASE({"name": "packet_eth_unknown_14", "runs": [{"prog": "t_context_in", "data": "00112233445566778899aabb1234"}]});
CASE({"name": "packet_eth_unknown_15", "runs": [{"prog": "t_context_in", "data": "00112233445566778899aabb123401"}]});
CASE({"name": "packet_eth_ip_33", "runs": [{"prog": "t_context_in", "data": "00112233445566778899aabb080045000000000000000000000000000000000000"}]});
CASE({"name": "packet_eth_ip_34", "runs": [{"prog": "t_context_in", "data": "00112233445566778899aabb08004500000000000000000000000000000000000000"}]});
CASE({"name": "packet_eth_ip6_53", "runs": [{"prog": "t_context_in", "data": "00112233445566778899aabb86dd600000000000000000000000000000000000000000000000000000000000000000000000000000"}]});
CASE({"name": "packet_eth_ip6_54", "runs": [{"prog": "t_context_in", "data": "00112233445566778899aabb86dd60000000000000000000000000000000000000000000000000000000000000000000000000000000"}]});

SEC("tc") int t_load_bytes(struct __sk_buff *ctx)
{
	CHECK("load header", bpf_skb_load_bytes(ctx, 0, buf, 14));
	CHECK("load all", bpf_skb_load_bytes(ctx, 0, buf, 64));
	CHECK("load too much", bpf_skb_load_bytes(ctx, 1, buf, 64));
	CHECK("failed load zeroes", buf[12]);
	CHECK("load far", bpf_skb_load_bytes(ctx, 1000, buf, 4));
	CHECK("load offset > INT_MAX", bpf_skb_load_bytes(ctx, 0x80000000, buf, 4));
	CHECK("load relative net", bpf_skb_load_bytes_relative(ctx, 0, buf, 4, BPF_HDR_START_NET));
	CHECK("relative net byte", buf[0]);
	CHECK("load relative mac", bpf_skb_load_bytes_relative(ctx, 12, buf, 2, BPF_HDR_START_MAC));
	CHECK("relative mac byte", buf[0]);
	CHECK("load relative bad", bpf_skb_load_bytes_relative(ctx, 0, buf, 4, 2));
	CHECK("load relative far", bpf_skb_load_bytes_relative(ctx, 100, buf, 4, BPF_HDR_START_NET));
	return 0;
}

SEC("tc") int t_store_bytes(struct __sk_buff *ctx)
{
	u8 mac[6] = {2, 2, 3, 4, 5, 6};
	u16 port = bpf_htons(8080);

	CHECK("store mac", bpf_skb_store_bytes(ctx, 0, mac, 6, 0));
	CHECK("store flags 4", bpf_skb_store_bytes(ctx, 0, mac, 6, 4));
	CHECK("store behind", bpf_skb_store_bytes(ctx, 60, mac, 6, 0));
	CHECK("store invalidate", bpf_skb_store_bytes(ctx, 6, mac, 6, BPF_F_INVALIDATE_HASH));
	CHECK("store recompute", bpf_skb_store_bytes(ctx, 36, &port, 2, BPF_F_RECOMPUTE_CSUM));
	return 0;
}

SEC("tc") int t_csum(struct __sk_buff *ctx)
{
	u32 from = bpf_htonl(0xc0000201), to = bpf_htonl(0x0a000001);

	CHECK("l3 replace", bpf_l3_csum_replace(ctx, ETH + 10, from, to, 4));
	CHECK("l4 replace", bpf_l4_csum_replace(ctx, ETH + IP + 16, from, to, BPF_F_PSEUDO_HDR | 4));
	CHECK("store address", bpf_skb_store_bytes(ctx, ETH + 12, &to, 4, 0));
	CHECK("l3 replace 2 bytes", bpf_l3_csum_replace(ctx, ETH + 10, bpf_htons(1), bpf_htons(2), 2));
	CHECK("l3 replace diff", bpf_l3_csum_replace(ctx, ETH + 10, 0, 0x1234, 0));
	CHECK("l3 replace size 3", bpf_l3_csum_replace(ctx, ETH + 10, from, to, 3));
	CHECK("l3 replace from with size 0", bpf_l3_csum_replace(ctx, ETH + 10, 1, 2, 0));
	CHECK("l3 replace flags", bpf_l3_csum_replace(ctx, ETH + 10, from, to, 0x104));
	CHECK("l3 replace behind", bpf_l3_csum_replace(ctx, 100, from, to, 4));
	CHECK("l3 replace odd offset", bpf_l3_csum_replace(ctx, 25, from, to, 4));
	CHECK("l4 replace flags", bpf_l4_csum_replace(ctx, ETH + IP + 16, from, to, 0x1000 | 4));
	CHECK("l4 mangled 0", bpf_l4_csum_replace(ctx, ETH + IP + 16, from, to, BPF_F_MARK_MANGLED_0 | 4));
	CHECK("l4 enforce", bpf_l4_csum_replace(ctx, ETH + IP + 16, from, to, BPF_F_MARK_ENFORCE | 4));
	CHECK("csum_update", bpf_csum_update(ctx, 0x1234));
	CHECK("csum_level query", bpf_csum_level(ctx, BPF_CSUM_LEVEL_QUERY));
	CHECK("csum_level inc", bpf_csum_level(ctx, BPF_CSUM_LEVEL_INC));
	CHECK("csum_level 9", bpf_csum_level(ctx, 9));
	return 0;
}

SEC("tc") int t_change_tail(struct __sk_buff *ctx)
{
	CHECK("shrink", bpf_skb_change_tail(ctx, 50, 0));
	CHECK("len after shrink", ctx->len);
	CHECK("grow", bpf_skb_change_tail(ctx, 100, 0));
	CHECK("len after grow", ctx->len);
	CHECK("tail flags", bpf_skb_change_tail(ctx, 60, 1));
	CHECK("tail too short", bpf_skb_change_tail(ctx, 10, 0));
	CHECK("tail 14", bpf_skb_change_tail(ctx, 14, 0));
	CHECK("tail 34", bpf_skb_change_tail(ctx, 34, 0));
	CHECK("tail too long", bpf_skb_change_tail(ctx, 100000, 0));
	CHECK("final len", ctx->len);
	return 0;
}

SEC("tc") int t_change_head(struct __sk_buff *ctx)
{
	CHECK("head 14", bpf_skb_change_head(ctx, 14, 0));
	CHECK("len after head", ctx->len);
	CHECK("head flags", bpf_skb_change_head(ctx, 14, 1));
	CHECK("head 0", bpf_skb_change_head(ctx, 0, 0));
	CHECK("head huge", bpf_skb_change_head(ctx, 100000, 0));
	return 0;
}

SEC("tc") int t_adjust_room(struct __sk_buff *ctx)
{
	CHECK("room net +8", bpf_skb_adjust_room(ctx, 8, BPF_ADJ_ROOM_NET, 0));
	CHECK("len after +8", ctx->len);
	CHECK("room net -8", bpf_skb_adjust_room(ctx, -8, BPF_ADJ_ROOM_NET, 0));
	CHECK("len after -8", ctx->len);
	CHECK("room mac +4", bpf_skb_adjust_room(ctx, 4, BPF_ADJ_ROOM_MAC, 0));
	CHECK("len after mac", ctx->len);
	CHECK("room mode 2", bpf_skb_adjust_room(ctx, 4, 2, 0));
	CHECK("room flags", bpf_skb_adjust_room(ctx, 4, BPF_ADJ_ROOM_NET, 1 << 20));
	CHECK("room -100", bpf_skb_adjust_room(ctx, -100, BPF_ADJ_ROOM_NET, 0));
	CHECK("room 5000", bpf_skb_adjust_room(ctx, 5000, BPF_ADJ_ROOM_NET, 0));
	CHECK("room 0", bpf_skb_adjust_room(ctx, 0, BPF_ADJ_ROOM_NET, 0));
	CHECK("final len", ctx->len);
	return 0;
}

SEC("tc") int t_encap(struct __sk_buff *ctx)
{
	CHECK("encap ipv4", bpf_skb_adjust_room(ctx, 20, BPF_ADJ_ROOM_MAC, BPF_F_ADJ_ROOM_ENCAP_L3_IPV4));
	CHECK("encap gre", bpf_skb_adjust_room(ctx, 4, BPF_ADJ_ROOM_MAC, BPF_F_ADJ_ROOM_ENCAP_L3_IPV4 | BPF_F_ADJ_ROOM_ENCAP_L4_GRE));
	CHECK("encap both", bpf_skb_adjust_room(ctx, 20, BPF_ADJ_ROOM_MAC, BPF_F_ADJ_ROOM_ENCAP_L3_IPV4 | BPF_F_ADJ_ROOM_ENCAP_L3_IPV6));
	CHECK("len after encap", ctx->len);
	CHECK("protocol after encap", ctx->protocol);
	return 0;
}

SEC("tc") int t_vlan(struct __sk_buff *ctx)
{
	CHECK("pop none", bpf_skb_vlan_pop(ctx));
	CHECK("push", bpf_skb_vlan_push(ctx, bpf_htons(ETH_P_8021Q), 100));
	CHECK("present", ctx->vlan_present);
	CHECK("tci", ctx->vlan_tci);
	CHECK("proto", ctx->vlan_proto);
	CHECK("len with tag", ctx->len);
	CHECK("push second", bpf_skb_vlan_push(ctx, bpf_htons(ETH_P_8021AD), 200));
	CHECK("len with two", ctx->len);
	CHECK("tci second", ctx->vlan_tci);
	CHECK("pop", bpf_skb_vlan_pop(ctx));
	CHECK("tci after pop", ctx->vlan_tci);
	CHECK("len after pop", ctx->len);
	return 0;
}

SEC("tc") int t_change_proto(struct __sk_buff *ctx)
{
	CHECK("to ipv6 flags", bpf_skb_change_proto(ctx, bpf_htons(ETH_P_IPV6), 1));
	CHECK("to ipv6", bpf_skb_change_proto(ctx, bpf_htons(ETH_P_IPV6), 0));
	CHECK("len as ipv6", ctx->len);
	CHECK("protocol as ipv6", ctx->protocol);
	CHECK("to ipv4", bpf_skb_change_proto(ctx, bpf_htons(ETH_P_IP), 0));
	CHECK("len as ipv4", ctx->len);
	CHECK("to arp", bpf_skb_change_proto(ctx, bpf_htons(ETH_P_ARP), 0));
	return 0;
}

SEC("tc") int t_misc(struct __sk_buff *ctx)
{
	CHECK("change_type host", bpf_skb_change_type(ctx, 0));
	CHECK("change_type other", bpf_skb_change_type(ctx, 3));
	CHECK("pkt_type after", ctx->pkt_type);
	CHECK("change_type loopback", bpf_skb_change_type(ctx, 5));
	CHECK("pull 0", bpf_skb_pull_data(ctx, 0));
	CHECK("pull 64", bpf_skb_pull_data(ctx, 64));
	CHECK("pull 65", bpf_skb_pull_data(ctx, 65));
	CHECK("set_hash", bpf_set_hash(ctx, 0x1234));
	CHECK("hash after set", ctx->hash);
	CHECK("recalc keeps it", bpf_get_hash_recalc(ctx));
	bpf_set_hash_invalid(ctx);
	CHECK("hash after invalid", ctx->hash);
	CHECK("ecn", bpf_skb_ecn_set_ce(ctx));
	CHECK("route realm", bpf_get_route_realm(ctx));
	CHECK("classid", bpf_get_cgroup_classid(ctx));
	CHECK("set tstamp", bpf_skb_set_tstamp(ctx, 1000, BPF_SKB_TSTAMP_DELIVERY_MONO));
	CHECK("tstamp", ctx->tstamp);
	CHECK("tstamp type", ctx->tstamp_type);
	CHECK("set tstamp type 9", bpf_skb_set_tstamp(ctx, 1000, 9));
	CHECK("set tstamp real 0", bpf_skb_set_tstamp(ctx, 0, BPF_SKB_TSTAMP_UNSPEC));
	CHECK("set tstamp real 5", bpf_skb_set_tstamp(ctx, 5, BPF_SKB_TSTAMP_UNSPEC));
	return 0;
}

SEC("tc") int t_direct(struct __sk_buff *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	struct iphdr *ip = data + sizeof(*eth);
	struct tcphdr *tcp = (void *)ip + sizeof(*ip);

	if ((void *)(tcp + 1) > end)
		return 1;
	CHECK("h_proto", eth->h_proto);
	CHECK("ttl", ip->ttl);
	CHECK("saddr", ip->saddr);
	CHECK("check", ip->check);
	CHECK("ports", tcp->source | tcp->dest << 16);
	CHECK("tcp check", tcp->check);
	CHECK("tcp flags", tcp->syn | tcp->ack << 1 | tcp->fin << 2);
	ip->ttl = 7;
	eth->h_dest[5] = 0xee;
	return TC_ACT_PIPE;
}

SEC("tc") int t_mtu(struct __sk_buff *ctx)
{
	u32 len = 0;

	CHECK("mtu flags", bpf_check_mtu(ctx, 1, &len, 0, 8));
	CHECK("mtu ifindex -1", bpf_check_mtu(ctx, 0xffffff, &len, 0, 0));
	CHECK("mtu lo", bpf_check_mtu(ctx, 1, &len, 0, 0));
	CHECK("mtu lo value", len);
	len = 0;
	CHECK("mtu delta", bpf_check_mtu(ctx, 1, &len, 100000, 0));
	return 0;
}

SEC("socket") int t_socket_filter(struct __sk_buff *ctx)
{
	CHECK("sf len", ctx->len);
	CHECK("sf protocol", ctx->protocol);
	CHECK("sf load", bpf_skb_load_bytes(ctx, 0, buf, 20));
	CHECK("sf byte", buf[0]);
	CHECK("sf relative", bpf_skb_load_bytes_relative(ctx, 0, buf, 4, BPF_HDR_START_NET));
	ctx->cb[3] = 1;
	return ctx->len;
}

SEC("cgroup_skb/egress") int t_cgroup_skb(struct __sk_buff *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct iphdr *ip = data;

	CHECK("cg len", ctx->len);
	if ((void *)(ip + 1) > end)
		return 0;
	CHECK("cg version", ip->version);
	CHECK("cg load", bpf_skb_load_bytes(ctx, 9, buf, 1));
	CHECK("cg protocol", buf[0]);
	CHECK("cg family", ctx->family);
	ctx->mark = 9;
	return 1;
}

SEC("lwt_out") int t_lwt_out(struct __sk_buff *ctx)
{
	CHECK("lwt len", ctx->len);
	CHECK("lwt load", bpf_skb_load_bytes(ctx, 0, buf, 1));
	CHECK("lwt byte", buf[0]);
	return BPF_OK;
}

SEC("lwt_xmit") int t_lwt_xmit(struct __sk_buff *ctx)
{
	CHECK("xmit head", bpf_skb_change_head(ctx, 14, 0));
	CHECK("xmit len", ctx->len);
	return BPF_OK;
}

SEC("tc") int t_redirects(struct __sk_buff *ctx)
{
	CHECK("redirect_peer", bpf_redirect_peer(1, 0));
	CHECK("redirect_peer flags", bpf_redirect_peer(1, 1));
	CHECK("redirect_neigh", bpf_redirect_neigh(1, NULL, 0, 0));
	CHECK("redirect_neigh flags", bpf_redirect_neigh(1, NULL, 0, 1));
	return 0;
}

SEC("tc") int t_tunnel(struct __sk_buff *ctx)
{
	struct bpf_tunnel_key key = {.tunnel_id = 7, .remote_ipv4 = 0x01020304, .tunnel_ttl = 9};
	u8 opt[8] = {1, 2, 3, 4, 5, 6, 7, 8};

	CHECK("get key without", bpf_skb_get_tunnel_key(ctx, &key, sizeof(key), 0));
	key.tunnel_id = 7;
	key.tunnel_ext = 0;
	key.tunnel_label = 0;
	key.tunnel_ttl = 9;
	CHECK("set key", bpf_skb_set_tunnel_key(ctx, &key, sizeof(key), 0));
	CHECK("set key flags", bpf_skb_set_tunnel_key(ctx, &key, sizeof(key), 1 << 10));
	CHECK("set opt", bpf_skb_set_tunnel_opt(ctx, opt, 8));
	CHECK("get opt", bpf_skb_get_tunnel_opt(ctx, opt, 8));
	return 0;
}
