// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// skb_bytes: what programs read and change of a socket buffer in place: bytes, checksums, fields of the context, hash, time stamps, copies
// to perf buffers.
#include "case.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, 4);
	__uint(value_size, 4);
} events SEC(".maps");

/* Words of up to 16 bytes, as they are in memory. */
static u64 word(const void *p)
{
	return *(const u64 *)p;
}

SEC("tc")
int t_bytes(struct __sk_buff *skb)
{
	u8 b[64] = {};

	CHECK("load 0", bpf_skb_load_bytes(skb, 0, b, 16));
	CHECK("loaded 0", word(b));
	CHECK("loaded 8", word(b + 8));
	CHECK("load odd", bpf_skb_load_bytes(skb, 13, b, 3));
	CHECK("loaded odd", word(b));
	CHECK("load last", bpf_skb_load_bytes(skb, skb->len - 1, b, 1));
	CHECK("loaded last", b[0]);
	CHECK("load end", bpf_skb_load_bytes(skb, skb->len, b, 1));
	CHECK("cleared", b[0]);
	CHECK("load across", bpf_skb_load_bytes(skb, skb->len - 7, b, 8));
	CHECK("cleared across", word(b));
	CHECK("load -1", bpf_skb_load_bytes(skb, -1, b, 1));
	CHECK("load 64k", bpf_skb_load_bytes(skb, 65536, b, 1));
	__builtin_memcpy(b, "ABCDEFGHIJKLMNOP", 16);
	CHECK("store 0", bpf_skb_store_bytes(skb, 0, b, 6, 0));
	CHECK("store flags", bpf_skb_store_bytes(skb, 20, b, 2, BPF_F_RECOMPUTE_CSUM | BPF_F_INVALIDATE_HASH));
	CHECK("store bad flags", bpf_skb_store_bytes(skb, 20, b, 2, 4));
	CHECK("store end", bpf_skb_store_bytes(skb, skb->len - 4, b + 8, 4, 0));
	CHECK("store across", bpf_skb_store_bytes(skb, skb->len - 3, b + 8, 4, 0));
	CHECK("store 64k", bpf_skb_store_bytes(skb, 65536, b, 1, 0));
	CHECK("load back", bpf_skb_load_bytes(skb, 0, b + 16, 8));
	CHECK("loaded back", word(b + 16));
	CHECK("pull all", bpf_skb_pull_data(skb, 0));
	CHECK("pull len", bpf_skb_pull_data(skb, skb->len));
	CHECK("pull more", bpf_skb_pull_data(skb, skb->len + 1));
	u8 *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;

	CHECK("linear", end - data);
	CHECK("metadata", (long)skb->data - (long)skb->data_meta);
	if (data + 32 > end)
		return -1;
	data[30] = 0x5a;
	*(u16 *)(data + 16) = 0xbeef;
	CHECK("direct", word(data + 16));
	return 3;
}

SEC("tc")
int t_relative(struct __sk_buff *skb)
{
	u8 b[32] = {};

	CHECK("mac 0", bpf_skb_load_bytes_relative(skb, 0, b, 16, BPF_HDR_START_MAC));
	CHECK("mac 0 bytes", word(b + 8));
	CHECK("net 0", bpf_skb_load_bytes_relative(skb, 0, b, 16, BPF_HDR_START_NET));
	CHECK("net 0 bytes", word(b));
	CHECK("net 9", bpf_skb_load_bytes_relative(skb, 9, b, 8, BPF_HDR_START_NET));
	CHECK("net 9 bytes", word(b));
	CHECK("net end", bpf_skb_load_bytes_relative(skb, skb->len - 14, b, 1, BPF_HDR_START_NET));
	CHECK("net last", bpf_skb_load_bytes_relative(skb, skb->len - 15, b, 1, BPF_HDR_START_NET));
	CHECK("mac end", bpf_skb_load_bytes_relative(skb, skb->len, b, 1, BPF_HDR_START_MAC));
	CHECK("start 2", bpf_skb_load_bytes_relative(skb, 0, b, 1, 2));
	CHECK("offset 64k", bpf_skb_load_bytes_relative(skb, 65536, b, 1, 0));
	CHECK("cleared", b[0]);
	return 0;
}

SEC("tc")
int t_checksums(struct __sk_buff *skb)
{
	u32 from[4] = {0x01020304, 0xffffffff, 0, 0x80000001}, to[4] = {0xa0b0c0d0, 1, 0xfffe, 0};
	u64 b = 0;

	CHECK("diff both", bpf_csum_diff(from, 16, to, 16, 0));
	CHECK("diff to", bpf_csum_diff(NULL, 0, to, 8, 0));
	CHECK("diff from", bpf_csum_diff(from, 8, NULL, 0, 0));
	CHECK("diff seed", bpf_csum_diff(from, 4, to, 12, 0xffff1234));
	CHECK("diff nothing", bpf_csum_diff(NULL, 0, NULL, 0, 0x12345));
	CHECK("diff seed only to", bpf_csum_diff(NULL, 0, to, 16, 0xffffffff));
	CHECK("l3 2", bpf_l3_csum_replace(skb, 24, bpf_htons(1), bpf_htons(2), 2));
	CHECK("l3 4", bpf_l3_csum_replace(skb, 24, bpf_htonl(0x01020304), bpf_htonl(0xfffefdfc), 4));
	CHECK("l3 diff", bpf_l3_csum_replace(skb, 24, 0, 0x1ffff, 0));
	CHECK("l3 diff from", bpf_l3_csum_replace(skb, 24, 1, 0x1ffff, 0));
	CHECK("l3 3", bpf_l3_csum_replace(skb, 24, 0, 1, 3));
	CHECK("l3 8", bpf_l3_csum_replace(skb, 24, 0, 1, 8));
	CHECK("l3 flags", bpf_l3_csum_replace(skb, 24, 0, 1, 0x12));
	CHECK("l3 odd", bpf_l3_csum_replace(skb, 25, 0, 1, 2));
	CHECK("l3 end", bpf_l3_csum_replace(skb, skb->len - 2, 5, 6, 2));
	CHECK("l3 across", bpf_l3_csum_replace(skb, skb->len - 1, 5, 6, 2));
	CHECK("l3 64k", bpf_l3_csum_replace(skb, 65536, 5, 6, 2));
	CHECK("l4 2", bpf_l4_csum_replace(skb, 40, bpf_htons(80), bpf_htons(8080), 2));
	CHECK("l4 4 pseudo", bpf_l4_csum_replace(skb, 40, bpf_htonl(0x0a000001), bpf_htonl(0xc0a80001), 4 | BPF_F_PSEUDO_HDR));
	CHECK("l4 diff", bpf_l4_csum_replace(skb, 40, 0, 0xabcdef, 0));
	CHECK("l4 diff pseudo", bpf_l4_csum_replace(skb, 40, 0, 0xabcdef, BPF_F_PSEUDO_HDR));
	CHECK("l4 diff from", bpf_l4_csum_replace(skb, 40, 7, 0xabcdef, 0));
	CHECK("l4 v6", bpf_l4_csum_replace(skb, 40, 0, 0x1234, BPF_F_PSEUDO_HDR | BPF_F_IPV6));
	CHECK("l4 mangled", bpf_l4_csum_replace(skb, 42, 3, 4, 2 | BPF_F_MARK_MANGLED_0));
	CHECK("l4 enforce", bpf_l4_csum_replace(skb, 42, 3, 4, 2 | BPF_F_MARK_ENFORCE));
	CHECK("l4 mangled enforce", bpf_l4_csum_replace(skb, 44, 0, 0, 2 | BPF_F_MARK_MANGLED_0 | BPF_F_MARK_ENFORCE));
	CHECK("l4 bad flag", bpf_l4_csum_replace(skb, 40, 0, 1, 2 | 0x100));
	CHECK("l4 size 1", bpf_l4_csum_replace(skb, 40, 0, 1, 1));
	CHECK("load", bpf_skb_load_bytes(skb, 40, &b, 8));
	CHECK("loaded", b);
	CHECK("update", bpf_csum_update(skb, 0x1234));
	CHECK("level query", bpf_csum_level(skb, BPF_CSUM_LEVEL_QUERY));
	CHECK("level inc", bpf_csum_level(skb, BPF_CSUM_LEVEL_INC));
	CHECK("level dec", bpf_csum_level(skb, BPF_CSUM_LEVEL_DEC));
	CHECK("level reset", bpf_csum_level(skb, BPF_CSUM_LEVEL_RESET));
	CHECK("level unknown", bpf_csum_level(skb, 7));
	return 0;
}

SEC("tc")
int t_context(struct __sk_buff *skb)
{
	CHECK("len", skb->len);
	CHECK("pkt_type", skb->pkt_type);
	CHECK("mark", skb->mark);
	CHECK("queue_mapping", skb->queue_mapping);
	CHECK("protocol", skb->protocol);
	CHECK("vlan_present", skb->vlan_present);
	CHECK("vlan_tci", skb->vlan_tci);
	CHECK("vlan_proto", skb->vlan_proto);
	CHECK("priority", skb->priority);
	CHECK("ingress_ifindex", skb->ingress_ifindex);
	CHECK("ifindex", skb->ifindex);
	CHECK("tc_index", skb->tc_index);
	CHECK("cb 0", skb->cb[0]);
	CHECK("cb 4", skb->cb[4]);
	CHECK("tc_classid", skb->tc_classid);
	CHECK("napi_id", skb->napi_id);
	CHECK("tstamp", skb->tstamp);
	CHECK("tstamp_type", skb->tstamp_type);
	CHECK("wire_len", skb->wire_len);
	CHECK("gso_segs", skb->gso_segs);
	CHECK("gso_size", skb->gso_size);
	CHECK("hwtstamp", skb->hwtstamp);
	*(volatile u32 *)&skb->mark = 0xfedcba98; /* or two writes become one that no field has */
	skb->priority = 0x10001;
	skb->cb[0]++;
	skb->cb[2] = 0xc0ffee;
	skb->tc_index = 0x12345;
	skb->tc_classid = 0x10010;
	*(volatile u32 *)&skb->queue_mapping = 5;
	CHECK("written", skb->mark + skb->cb[2]);
	CHECK("written tc_index", skb->tc_index);
	CHECK("written tc_classid", skb->tc_classid);
	CHECK("written queue_mapping", skb->queue_mapping);
	CHECK("narrow mark", *((u8 *)&skb->mark + 1));
	CHECK("narrow cb", *((u16 *)&skb->cb[2] + 1));
	CHECK("hash", bpf_get_hash_recalc(skb) == skb->hash);
	CHECK("hash again", bpf_get_hash_recalc(skb) == bpf_get_hash_recalc(skb));
	bpf_set_hash_invalid(skb);
	CHECK("hash invalid", skb->hash);
	CHECK("set_hash", bpf_set_hash(skb, 0x12345678));
	CHECK("hash set", skb->hash);
	CHECK("hash recalc", bpf_get_hash_recalc(skb));
	skb->tstamp = 12345;
	CHECK("tstamp set", skb->tstamp);
	CHECK("set_tstamp", bpf_skb_set_tstamp(skb, 77, BPF_SKB_CLOCK_MONOTONIC));
	CHECK("tstamp mono", skb->tstamp);
	CHECK("tstamp type mono", skb->tstamp_type);
	CHECK("set_tstamp tai", bpf_skb_set_tstamp(skb, 78, BPF_SKB_CLOCK_TAI));
	CHECK("tstamp type tai", skb->tstamp_type);
	CHECK("set_tstamp real", bpf_skb_set_tstamp(skb, 0, BPF_SKB_CLOCK_REALTIME));
	CHECK("set_tstamp real value", bpf_skb_set_tstamp(skb, 5, BPF_SKB_CLOCK_REALTIME));
	CHECK("set_tstamp unknown", bpf_skb_set_tstamp(skb, 5, 9));
	CHECK("cgroup_classid", bpf_get_cgroup_classid(skb));
	CHECK("route_realm", bpf_get_route_realm(skb));
	CHECK("socket_uid", bpf_get_socket_uid(skb));
	return 0x1ff;
}

SEC("tc")
int t_perf(struct __sk_buff *skb)
{
	u64 head = 0x1122334455667788;

	CHECK("output", bpf_perf_event_output(skb, &events, BPF_F_CURRENT_CPU, &head, 8));
	CHECK("output packet", bpf_perf_event_output(skb, &events, BPF_F_CURRENT_CPU | (20ULL << 32), &head, 8));
	CHECK("output whole", bpf_perf_event_output(skb, &events, BPF_F_CURRENT_CPU | ((u64)skb->len << 32), &head, 4));
	CHECK("output more", bpf_perf_event_output(skb, &events, BPF_F_CURRENT_CPU | ((u64)(skb->len + 1) << 32), &head, 8));
	CHECK("output flags", bpf_perf_event_output(skb, &events, BPF_F_CURRENT_CPU | (1ULL << 52), &head, 8));
	CHECK("output nowhere", bpf_perf_event_output(skb, &events, 1000, &head, 8));
	return 0;
}

SEC("cgroup_skb/ingress")
int t_cgroup(struct __sk_buff *skb)
{
	u64 b[2] = {};

	CHECK("len", skb->len);
	CHECK("protocol", skb->protocol);
	CHECK("family", skb->family);
	CHECK("remote_ip4", skb->remote_ip4);
	CHECK("local_ip4", skb->local_ip4);
	CHECK("remote_ip6", skb->remote_ip6[3]);
	CHECK("local_ip6", skb->local_ip6[0]);
	CHECK("remote_port", skb->remote_port);
	CHECK("local_port", skb->local_port);
	CHECK("linear", (long)skb->data_end - (long)skb->data);
	CHECK("load", bpf_skb_load_bytes(skb, 0, b, 16));
	CHECK("loaded", b[0]);
	CHECK("relative mac", bpf_skb_load_bytes_relative(skb, 0, b, 16, BPF_HDR_START_MAC));
	CHECK("relative mac bytes", b[1]);
	CHECK("relative net", bpf_skb_load_bytes_relative(skb, 0, b, 16, BPF_HDR_START_NET));
	CHECK("relative net bytes", b[0]);
	CHECK("ecn", bpf_skb_ecn_set_ce(skb));
	CHECK("ecn again", bpf_skb_ecn_set_ce(skb));
	*(volatile u32 *)&skb->mark = 3;
	skb->priority = 4;
	skb->cb[1] = 5;
	struct bpf_sock *sk = skb->sk;

	if (!sk)
		return 1;
	CHECK("sock family", sk->family);
	CHECK("sock state", sk->state);
	sk = bpf_sk_fullsock(sk);
	CHECK("full", !!sk);
	if (!sk)
		return 1;
	CHECK("sock type", sk->type);
	CHECK("sock mark", sk->mark);
	CHECK("sock dst_port", sk->dst_port);
	CHECK("tcp", !!bpf_tcp_sock(sk));
	CHECK("listener", !!bpf_get_listener_sock(sk));
	return 1;
}

SEC("socket")
int t_socket_filter(struct __sk_buff *skb)
{
	u64 b[2] = {};

	CHECK("len", skb->len);
	CHECK("load", bpf_skb_load_bytes(skb, 0, b, 16));
	CHECK("loaded", b[0]);
	CHECK("relative", bpf_skb_load_bytes_relative(skb, 0, b, 16, BPF_HDR_START_NET));
	CHECK("relative bytes", b[0]);
	CHECK("relative mac", bpf_skb_load_bytes_relative(skb, 0, b, 16, BPF_HDR_START_MAC));
	CHECK("hash", skb->hash);
	CHECK("pkt_type", skb->pkt_type);
	skb->cb[3] = 9;
	CHECK("cb", skb->cb[3]);
	return skb->len;
}

/* Packets. */
CASE({"name": "bytes", "runs": [{"prog": "t_bytes"}]});
CASE({"name": "bytes udp4", "runs": [{"prog": "t_bytes", "data": "02000000000102000000000208004500002e0007000040118e81c0000201c63364020fa00035001a8d6568656c6c6f2c206e616d6520736572766572"}]});
CASE({"name": "bytes tcp6", "runs": [{"prog": "t_bytes", "data": "02000000000102000000000286dd60012345001c064020010db800000000000000000000000120010db80000000000000000000000020fa001bb000000010000000050122000916400006162636465666768"}]});
CASE({"name": "bytes vlan", "runs": [{"prog": "t_bytes", "data": "0200000000010200000000028100606408004500002e0001000040118e87c0000201c633640200010002001a9836746167676564207061636b65742064617461"}]});
CASE({"name": "bytes arp", "runs": [{"prog": "t_bytes", "data": "ffffffffffff02000000000208060001080006040001000000000000c0000201000000000000c0000202000000000000000000000000000000000000"}]});
CASE({"name": "relative", "runs": [{"prog": "t_relative"}]});
CASE({"name": "relative udp4", "runs": [{"prog": "t_relative", "data": "02000000000102000000000208004500002e0007000040118e81c0000201c63364020fa00035001a8d6568656c6c6f2c206e616d6520736572766572"}]});
CASE({"name": "relative tcp6", "runs": [{"prog": "t_relative", "data": "02000000000102000000000286dd60012345001c064020010db800000000000000000000000120010db80000000000000000000000020fa001bb000000010000000050122000916400006162636465666768"}]});
CASE({"name": "relative vlan", "runs": [{"prog": "t_relative", "data": "0200000000010200000000028100606408004500002e0001000040118e87c0000201c633640200010002001a9836746167676564207061636b65742064617461"}]});
CASE({"name": "relative arp", "runs": [{"prog": "t_relative", "data": "ffffffffffff02000000000208060001080006040001000000000000c0000201000000000000c0000202000000000000000000000000000000000000"}]});
CASE({"name": "checksums", "runs": [{"prog": "t_checksums"}]});
CASE({"name": "checksums udp4", "runs": [{"prog": "t_checksums", "data": "02000000000102000000000208004500002e0007000040118e81c0000201c63364020fa00035001a8d6568656c6c6f2c206e616d6520736572766572"}]});
CASE({"name": "checksums tcp6", "runs": [{"prog": "t_checksums", "data": "02000000000102000000000286dd60012345001c064020010db800000000000000000000000120010db80000000000000000000000020fa001bb000000010000000050122000916400006162636465666768"}]});
CASE({"name": "checksums vlan", "runs": [{"prog": "t_checksums", "data": "0200000000010200000000028100606408004500002e0001000040118e87c0000201c633640200010002001a9836746167676564207061636b65742064617461"}]});
CASE({"name": "checksums arp", "runs": [{"prog": "t_checksums", "data": "ffffffffffff02000000000208060001080006040001000000000000c0000201000000000000c0000202000000000000000000000000000000000000"}]});
CASE({"name": "context", "runs": [{"prog": "t_context"}]});
CASE({"name": "context udp4", "runs": [{"prog": "t_context", "data": "02000000000102000000000208004500002e0007000040118e81c0000201c63364020fa00035001a8d6568656c6c6f2c206e616d6520736572766572"}]});
CASE({"name": "context tcp6", "runs": [{"prog": "t_context", "data": "02000000000102000000000286dd60012345001c064020010db800000000000000000000000120010db80000000000000000000000020fa001bb000000010000000050122000916400006162636465666768"}]});
CASE({"name": "context vlan", "runs": [{"prog": "t_context", "data": "0200000000010200000000028100606408004500002e0001000040118e87c0000201c633640200010002001a9836746167676564207061636b65742064617461"}]});
CASE({"name": "context arp", "runs": [{"prog": "t_context", "data": "ffffffffffff02000000000208060001080006040001000000000000c0000201000000000000c0000202000000000000000000000000000000000000"}]});
CASE({"name": "context with a context", "runs": [{"prog": "t_context", "data": "02000000000102000000000208004500002e0007000040118e81c0000201c63364020fa00035001a8d6568656c6c6f2c206e616d6520736572766572", "ctx": "000000000000000001000000000000000000000000000000000000000000000002000000010000000100000000000000030000000400000005000000060000000700000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000088776655443322110000000002000000000000000000000064000000000000000900000000000000"}]});
CASE({"name": "context of segments", "runs": [{"prog": "t_context", "data": "02000000000102000000000208004500008c0001000040068e34c0000201c63364020fa001bb0000000000000000500220005f88000030313233343536373839303132333435363738393031323334353637383930313233343536373839303132333435363738393031323334353637383930313233343536373839303132333435363738393031323334353637383930313233343536373839", "ctx": "000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000003000000000000000000000028000000000000000000000000000000"}]});
CASE({"name": "cgroup v6", "runs": [{"prog": "t_cgroup", "data": "02000000000102000000000286dd60012345001c064020010db800000000000000000000000120010db80000000000000000000000020fa001bb000000010000000050122000916400006162636465666768"}]});
CASE({"name": "cgroup arp", "runs": [{"prog": "t_cgroup", "data": "ffffffffffff02000000000208060001080006040001000000000000c0000201000000000000c0000202000000000000000000000000000000000000"}]});
CASE({"name": "socket filter v6", "runs": [{"prog": "t_socket_filter", "data": "02000000000102000000000286dd60000000000b114020010db800000000000000000000000120010db80000000000000000000000020fa00035000bc1296f6464"}]});
CASE({"name": "context to many", "runs": [{"prog": "t_context", "data": "01005e00000102000000000208004500002300010000011117c7c0000201e000000100050006000fee76746f206d616e79"}]});
CASE({"name": "context zeros", "runs": [{"prog": "t_context", "data": "000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"}]});
CASE({"name": "context a length and ones", "runs": [{"prog": "t_context", "data": "0200000000010200000000020020ffff111111111111111111111111111111111111111111111111111111111111"}]});
CASE({"name": "context a length", "runs": [{"prog": "t_context", "data": "0200000000010200000000020020aaaa03111111111111111111111111111111111111111111111111111111111111"}]});
CASE({"name": "context header only", "runs": [{"prog": "t_context", "data": "0200000000010200000000020005"}]});
CASE({"name": "cgroup zeros", "runs": [{"prog": "t_cgroup", "data": "000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"}]});
CASE({"name": "socket filter a length", "runs": [{"prog": "t_socket_filter", "data": "0200000000010200000000020020aaaa03111111111111111111111111111111111111111111111111111111111111"}]});
CASE({"name": "context smallest type", "runs": [{"prog": "t_context", "data": "0200000000010200000000020600111111111111111111111111111111111111111111111111111111111111"}]});
CASE({"name": "context largest length", "runs": [{"prog": "t_context", "data": "02000000000102000000000205ff111111111111111111111111111111111111111111111111111111111111"}]});
CASE({"name": "bytes zeros", "runs": [{"prog": "t_bytes", "data": "000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"}]});
CASE({"name": "relative a length", "runs": [{"prog": "t_relative", "data": "0200000000010200000000020020aaaa03111111111111111111111111111111111111111111111111111111111111"}]});
