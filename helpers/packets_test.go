package helpers

import (
	"testing"

	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// field keeps a 32-bit field of the context.
func field(off string) string { return "r8 = *(u32 *)(r6 + " + off + ")\nkeep r8" }

var (
	fLen, fType, fProto     = field("0"), field("4"), field("16")
	fVlan, fTCI, fVlanProto = field("20"), field("24"), field("28")
	fHash                   = field("68")
)

// ipv6Packet is an Ethernet frame with IPv6 and UDP.
func ipv6Packet() []byte {
	p := make([]byte, 14+40+8+18)
	copy(p, []byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x86, 0xdd, 0x60, 0, 0, 0, 0, 26, 17, 64})
	for i := 22; i < 54; i++ {
		p[i] = byte(i)
	}
	copy(p[54:], []byte{0x30, 0x39, 0, 80, 0, 26, 0x12, 0x34, 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o', 'p', 'q', 'r'})
	return p
}

// tagged is the default packet with VLAN tags in its bytes.
func tagged(tags ...uint16) []byte {
	p := net.DefaultPacket()
	out := append([]byte(nil), p[:12]...)
	for _, tag := range tags {
		out = append(out, 0x81, 0, byte(tag>>8), byte(tag))
	}
	return append(out, p[12:]...)
}

const tc = uapi.ProgTypeSchedCls

var packetCases = []recorded{
	{name: "load bytes", typ: tc, steps: []string{
		do("bpf_skb_load_bytes", ctx, 0, at(1024), 14), do("bpf_skb_load_bytes", ctx, 50, at(1040), 14), do("bpf_skb_load_bytes", ctx, 51, at(1056), 14),
		do("bpf_skb_load_bytes", ctx, 63, at(1072), 1), do("bpf_skb_load_bytes", ctx, 64, at(1074), 1), do("bpf_skb_load_bytes", ctx, 0x7fffffff, at(1080), 4),
		do("bpf_skb_load_bytes", ctx, uint64(0x80000000), at(1088), 4), do("bpf_skb_load_bytes", ctx, uint64(0xffffffff), at(1096), 4), do("bpf_skb_load_bytes", ctx, 0, at(1104), 64),
		do("bpf_skb_load_bytes", ctx, 0, at(1200), 65),
	}, init: "\x11\x22\x33\x44\x55\x66\x77\x88\x11\x22\x33\x44\x55\x66\x77\x88\x11\x22\x33\x44\x55\x66\x77\x88\x11\x22\x33\x44\x55\x66\x77\x88\x11\x22\x33\x44\x55\x66\x77\x88\x11\x22\x33\x44\x55\x66\x77\x88\x11\x22\x33\x44\x55\x66\x77\x88\x11\x22\x33\x44\x55\x66\x77\x88\x11\x22\x33\x44\x55\x66\x77\x88"},
	{name: "load bytes relative", typ: tc, steps: []string{
		do("bpf_skb_load_bytes_relative", ctx, 0, at(1024), 14, 0), do("bpf_skb_load_bytes_relative", ctx, 0, at(1040), 20, 1), do("bpf_skb_load_bytes_relative", ctx, 30, at(1060), 20, 1),
		do("bpf_skb_load_bytes_relative", ctx, 31, at(1080), 20, 1), do("bpf_skb_load_bytes_relative", ctx, 0, at(1100), 4, 2), do("bpf_skb_load_bytes_relative", ctx, 0x10000, at(1110), 4, 0),
		do("bpf_skb_load_bytes_relative", ctx, 0xffff, at(1116), 4, 0), do("bpf_skb_load_bytes_relative", ctx, 50, at(1120), 14, 0),
	}, init: "\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a"},
	{name: "load bytes relative at the network header", typ: uapi.ProgTypeCgroupSkb, steps: []string{
		do("bpf_skb_load_bytes_relative", ctx, 0, at(1024), 20, 0), do("bpf_skb_load_bytes_relative", ctx, 0, at(1044), 20, 1), do("bpf_skb_load_bytes", ctx, 0, at(1064), 20),
		do("bpf_skb_load_bytes_relative", ctx, 51, at(1084), 14, 0), do("bpf_skb_load_bytes_relative", ctx, 50, at(1100), 14, 0), fLen, fProto,
	}, ret: false},
	{name: "socket filter", typ: uapi.ProgTypeSocketFilter, steps: []string{
		do("bpf_skb_load_bytes", ctx, 0, at(1024), 20), do("bpf_skb_load_bytes_relative", ctx, 0, at(1044), 14, 0), do("bpf_skb_load_bytes_relative", ctx, 2, at(1060), 4, 1), fLen,
		do("bpf_get_socket_uid", ctx),
	}},
	{name: "store bytes", typ: tc, init: "ABCDEFGHIJ", steps: []string{
		do("bpf_skb_store_bytes", ctx, 0, at(1024), 6, 0), do("bpf_skb_store_bytes", ctx, 54, at(1024), 10, 0), do("bpf_skb_store_bytes", ctx, 55, at(1024), 10, 0),
		do("bpf_skb_store_bytes", ctx, 20, at(1024), 2, 1), do("bpf_skb_store_bytes", ctx, 22, at(1024), 2, 2), do("bpf_skb_store_bytes", ctx, 24, at(1024), 2, 3),
		do("bpf_skb_store_bytes", ctx, 26, at(1024), 2, 4), do("bpf_skb_store_bytes", ctx, 0x7fffffff, at(1024), 2, 0), do("bpf_skb_store_bytes", ctx, uint64(0x80000000), at(1024), 2, 0),
		do("bpf_skb_store_bytes", ctx, 64, at(1024), 2, 0),
	}},
	{name: "store clears the hash", typ: tc, init: "AB", steps: []string{
		do("bpf_set_hash", ctx, 0x1234), fHash, do("bpf_skb_store_bytes", ctx, 30, at(1024), 2, 0), fHash, do("bpf_get_hash_recalc", ctx),
		do("bpf_skb_store_bytes", ctx, 30, at(1024), 2, 2), fHash, do("bpf_set_hash", ctx, 0x55), do("bpf_get_hash_recalc", ctx), do("bpf_set_hash_invalid", ctx), fHash,
		do("bpf_set_hash", ctx, 0), do("bpf_get_hash_recalc", ctx),
	}},
	{name: "pull data", typ: tc, steps: []string{do("bpf_skb_pull_data", ctx, 0), do("bpf_skb_pull_data", ctx, 14), do("bpf_skb_pull_data", ctx, 64), do("bpf_skb_pull_data", ctx, 65), do("bpf_skb_pull_data", ctx, uint64(0x80000000)), do("bpf_skb_pull_data", ctx, uint64(0xffffffff))}},
	{name: "change type", typ: tc, steps: []string{fType, do("bpf_skb_change_type", ctx, 0), fType, do("bpf_skb_change_type", ctx, 3), fType, do("bpf_skb_change_type", ctx, 4), do("bpf_skb_change_type", ctx, uint64(0xffffffff)), fType, do("bpf_skb_change_type", ctx, 1), fType}},
	{name: "change head", typ: tc, steps: []string{
		do("bpf_skb_change_head", ctx, 14, 0), fLen, fProto, do("bpf_skb_load_bytes_relative", ctx, 0, at(1024), 20, 1), do("bpf_skb_load_bytes_relative", ctx, 0, at(1044), 20, 0),
		do("bpf_skb_change_head", ctx, 0, 0), do("bpf_skb_change_head", ctx, 1, 1), do("bpf_skb_change_head", ctx, -1, 0), do("bpf_skb_change_head", ctx, 20000, 0), do("bpf_skb_change_head", ctx, 500, 0), fLen,
		do("bpf_skb_adjust_room", ctx, 4, 1, 0), fLen,
	}},
	{name: "change head limit", typ: tc, steps: []string{do("bpf_skb_change_head", ctx, 16001, 0), fLen, do("bpf_skb_change_head", ctx, 16000, 0), fLen, do("bpf_skb_change_head", ctx, 1, 0)}},
	{name: "change tail shrinks", typ: tc, steps: []string{
		do("bpf_skb_change_tail", ctx, 54, 0), fLen, do("bpf_skb_change_tail", ctx, 14, 0), fLen, do("bpf_skb_change_tail", ctx, 13, 0), fLen, do("bpf_skb_change_tail", ctx, 40, 1), do("bpf_skb_change_tail", ctx, 0, 0),
		do("bpf_skb_load_bytes", ctx, 0, at(1024), 14),
	}},
	{name: "change tail grows", typ: tc, steps: []string{
		do("bpf_skb_change_tail", ctx, 70, 0), fLen, do("bpf_skb_change_tail", ctx, 50, 0), do("bpf_skb_change_tail", ctx, 1500, 0), fLen, do("bpf_skb_change_tail", ctx, 16065, 0), do("bpf_skb_change_tail", ctx, 80, 0),
	}},
	{name: "change tail limit", typ: tc, steps: []string{do("bpf_skb_change_tail", ctx, 16064, 0), fLen, do("bpf_skb_change_tail", ctx, 64, 0)}},
	{name: "change proto 4 to 6", typ: tc, steps: []string{
		do("bpf_set_hash", ctx, 7), do("bpf_skb_change_proto", ctx, 0xdd86, 0), fLen, fProto, fHash, do("bpf_skb_change_proto", ctx, 0xdd86, 0), do("bpf_skb_load_bytes_relative", ctx, 0, at(1024), 20, 1),
		do("bpf_skb_change_proto", ctx, 0x0008, 0), fLen, fProto,
	}},
	{name: "change proto errors", typ: tc, steps: []string{do("bpf_skb_change_proto", ctx, 0x0008, 0), do("bpf_skb_change_proto", ctx, 0x86dd, 0), do("bpf_skb_change_proto", ctx, 0xdd86, 1), do("bpf_skb_change_proto", ctx, 0x0081, 0)}},
	{name: "change proto 6 to 4", typ: tc, data: ipv6Packet(), steps: []string{do("bpf_skb_change_proto", ctx, 0x0008, 0), fLen, fProto, do("bpf_skb_change_proto", ctx, 0xdd86, 0), fLen}},
	{name: "adjust room mac", typ: tc, steps: []string{
		do("bpf_skb_adjust_room", ctx, 20, 1, 0), fLen, fProto, do("bpf_skb_load_bytes_relative", ctx, 0, at(1024), 20, 1), do("bpf_skb_adjust_room", ctx, -20, 1, 0), fLen,
		do("bpf_skb_adjust_room", ctx, -30, 1, 0), fLen, do("bpf_skb_adjust_room", ctx, -1, 1, 0), fLen,
	}},
	{name: "adjust room net", typ: tc, steps: []string{
		do("bpf_skb_adjust_room", ctx, 8, 0, 0), fLen, do("bpf_skb_adjust_room", ctx, -4, 0, 0), fLen, do("bpf_skb_adjust_room", ctx, 0, 0, 0), do("bpf_skb_adjust_room", ctx, -34, 0, 0), do("bpf_skb_adjust_room", ctx, -35, 0, 0), fLen,
	}},
	{name: "adjust room errors", typ: tc, steps: []string{
		do("bpf_skb_adjust_room", ctx, 4, 2, 0), do("bpf_skb_adjust_room", ctx, 4096, 1, 0), do("bpf_skb_adjust_room", ctx, 4095, 1, 0), do("bpf_skb_adjust_room", ctx, -4096, 1, 0), do("bpf_skb_adjust_room", ctx, -4095, 1, 0),
		do("bpf_skb_adjust_room", ctx, 4, 1, 1<<7), do("bpf_skb_adjust_room", ctx, 4, 1, 1<<8), do("bpf_skb_adjust_room", ctx, 4, 1, 1<<9), do("bpf_skb_adjust_room", ctx, 4, 1, 1<<10), do("bpf_skb_adjust_room", ctx, 4, 1, 1<<11), do("bpf_skb_adjust_room", ctx, 4, 1, 1<<12), do("bpf_skb_adjust_room", ctx, 4, 1, 1<<13), fLen,
	}},
	{name: "adjust room encap", typ: tc, steps: []string{
		do("bpf_skb_adjust_room", ctx, 20, 1, 2|4), do("bpf_skb_adjust_room", ctx, 28, 1, 2|8|16), do("bpf_skb_adjust_room", ctx, 28, 1, 2|16|64), do("bpf_skb_adjust_room", ctx, 8, 1, uint64(2|64|14<<56)),
		do("bpf_skb_adjust_room", ctx, 28, 1, 2|16), fLen, fProto, do("bpf_skb_adjust_room", ctx, 20, 1, 2), do("bpf_skb_adjust_room", ctx, 20, 1, 0), fLen, do("bpf_skb_change_tail", ctx, 60, 0),
		do("bpf_skb_load_bytes_relative", ctx, 0, at(1024), 20, 1), do("bpf_skb_adjust_room", ctx, -8, 1, 2), do("bpf_skb_adjust_room", ctx, -8, 1, 1|32), fLen,
	}},
	{name: "adjust room encap v6", typ: tc, steps: []string{do("bpf_skb_adjust_room", ctx, 40, 1, 4), fLen, fProto, do("bpf_skb_adjust_room", ctx, -40, 1, 1<<7), fProto, fLen}},
	{name: "adjust room decap", typ: tc, data: ipv6Packet(), steps: []string{
		do("bpf_skb_adjust_room", ctx, -20, 1, 1<<7|1<<8), do("bpf_skb_adjust_room", ctx, 20, 1, 1<<7), do("bpf_skb_adjust_room", ctx, -20, 1, 1<<7), fProto, fLen, do("bpf_skb_adjust_room", ctx, -30, 1, 1<<8), do("bpf_skb_adjust_room", ctx, -20, 0, 0), fLen, fProto,
	}},
	{name: "vlan push", typ: tc, steps: []string{
		fVlan, do("bpf_skb_vlan_push", ctx, 0x0081, 0x123), fVlan, fTCI, fVlanProto, fLen, fProto, do("bpf_skb_vlan_push", ctx, 0xa888, 0x456), fVlan, fTCI, fVlanProto, fLen, fProto,
		do("bpf_skb_vlan_push", ctx, 0x1234, 0x1789), fTCI, fVlanProto, fLen, fProto, do("bpf_skb_load_bytes_relative", ctx, 0, at(1024), 20, 1), do("bpf_skb_adjust_room", ctx, 4, 1, 0),
		do("bpf_skb_vlan_pop", ctx), fVlan, fTCI, fVlanProto, fLen, fProto, do("bpf_skb_load_bytes_relative", ctx, 0, at(1044), 20, 1),
	}},
	{name: "vlan pop all", typ: tc, steps: []string{
		do("bpf_skb_vlan_push", ctx, 0x0081, 0x123), do("bpf_skb_vlan_push", ctx, 0xa888, 0x456), do("bpf_skb_vlan_pop", ctx), fVlan, fTCI, fVlanProto, fLen, fProto,
		do("bpf_skb_vlan_pop", ctx), fVlan, fTCI, fVlanProto, fLen, fProto, do("bpf_skb_vlan_pop", ctx), fLen, fProto, do("bpf_skb_load_bytes_relative", ctx, 0, at(1044), 20, 1),
	}},
	{name: "vlan pop of bytes", typ: tc, data: tagged(0x2064, 0x65), steps: []string{
		fVlan, fProto, do("bpf_skb_load_bytes_relative", ctx, 0, at(1024), 20, 1), do("bpf_skb_vlan_pop", ctx), fVlan, fTCI, fVlanProto, fLen, fProto, do("bpf_skb_load_bytes_relative", ctx, 0, at(1044), 20, 1),
		do("bpf_skb_vlan_push", ctx, 0x0081, 5), fVlan, fTCI, fLen, do("bpf_skb_vlan_pop", ctx), fTCI, do("bpf_skb_vlan_pop", ctx), fVlan, fTCI, fLen, fProto,
	}},
	{name: "vlan pop without tag", typ: tc, steps: []string{do("bpf_skb_vlan_pop", ctx), fVlan, fProto, fLen}},
	{name: "set tstamp", typ: tc, steps: []string{
		do("bpf_skb_set_tstamp", ctx, 1000, 1), "r8 = *(u64 *)(r6 + 152)\nkeep r8", "r8 = *(u8 *)(r6 + 180)\nkeep r8", do("bpf_skb_set_tstamp", ctx, 0, 1), do("bpf_skb_set_tstamp", ctx, 0, 0), "r8 = *(u8 *)(r6 + 180)\nkeep r8",
		do("bpf_skb_set_tstamp", ctx, 5, 0), "r8 = *(u64 *)(r6 + 152)\nkeep r8", do("bpf_skb_set_tstamp", ctx, 5, 2), "r8 = *(u8 *)(r6 + 180)\nkeep r8", do("bpf_skb_set_tstamp", ctx, 5, 3),
	}},
	{name: "ecn", typ: uapi.ProgTypeCgroupSkb, steps: []string{do("bpf_skb_ecn_set_ce", ctx), do("bpf_skb_load_bytes", ctx, 0, at(1024), 20)}},
	{name: "ecn capable", typ: uapi.ProgTypeCgroupSkb, data: func() []byte { p := net.DefaultPacket(); p[15] = 2; return p }(), steps: []string{do("bpf_skb_ecn_set_ce", ctx), do("bpf_skb_load_bytes", ctx, 0, at(1024), 20), do("bpf_skb_ecn_set_ce", ctx)}},
	{name: "ecn capable v6", typ: uapi.ProgTypeCgroupSkb, data: func() []byte { p := ipv6Packet(); p[15] = 0x10; return p }(), steps: []string{do("bpf_skb_ecn_set_ce", ctx), do("bpf_skb_load_bytes", ctx, 0, at(1024), 20), do("bpf_skb_ecn_set_ce", ctx)}},
	{name: "cookies", typ: tc, steps: []string{do("bpf_get_socket_cookie", ctx), "r0 = r0\nif r0 != 0 goto +1\nr0 = 0\n", do("bpf_get_netns_cookie", ctx), do("bpf_get_socket_uid", ctx), do("bpf_get_cgroup_classid", ctx), do("bpf_get_route_realm", ctx)}, ignore: []int{0, 1}},
	{name: "l3 csum", typ: tc, steps: []string{
		do("bpf_l3_csum_replace", ctx, 24, 0x3412, 0x7856, 2), do("bpf_l3_csum_replace", ctx, 24, 0x12345678, uint64(0x9abcdef0), 4), do("bpf_l3_csum_replace", ctx, 24, 0, 0x12345678, 0), do("bpf_l3_csum_replace", ctx, 24, 1, 0x12345678, 0),
		do("bpf_l3_csum_replace", ctx, 24, 1, 2, 3), do("bpf_l3_csum_replace", ctx, 25, 1, 2, 2), do("bpf_l3_csum_replace", ctx, 24, 1, 2, 16), do("bpf_l3_csum_replace", ctx, 62, uint64(0x1234567890), uint64(0xffff0000ffff), 2), do("bpf_l3_csum_replace", ctx, 64, 1, 2, 2),
		do("bpf_l3_csum_replace", ctx, 0x10000, 1, 2, 2), do("bpf_l3_csum_replace", ctx, 0xfffe, 1, 2, 2), do("bpf_l3_csum_replace", ctx, 60, uint64(0xffffffffffff), uint64(0x100000000), 4), do("bpf_l3_csum_replace", ctx, 58, 0, uint64(0xffffffffffffffff>>1), 0),
	}},
	{name: "l4 csum", typ: tc, steps: []string{
		do("bpf_l4_csum_replace", ctx, 50, 0x3412, 0x7856, 2), do("bpf_l4_csum_replace", ctx, 50, 0x3412, 0x7856, 2|16), do("bpf_l4_csum_replace", ctx, 50, 0x12345678, uint64(0x9abcdef0), 4|16), do("bpf_l4_csum_replace", ctx, 50, 0, 0x12345678, 0|16),
		do("bpf_l4_csum_replace", ctx, 50, 1, 0x12345678, 0), do("bpf_l4_csum_replace", ctx, 50, 1, 2, 3), do("bpf_l4_csum_replace", ctx, 51, 1, 2, 2), do("bpf_l4_csum_replace", ctx, 50, 1, 2, 256), do("bpf_l4_csum_replace", ctx, 50, 0, 0x55, 128),
		do("bpf_l4_csum_replace", ctx, 52, 1, 2, 2|32), do("bpf_l4_csum_replace", ctx, 52, 1, 2, 2|32|64), do("bpf_l4_csum_replace", ctx, 64, 1, 2, 2), do("bpf_l4_csum_replace", ctx, 62, 0x1ffff, 0x2fffe, 2),
	}},
	{name: "l4 csum mangled", typ: tc, steps: []string{do("bpf_l4_csum_replace", ctx, 52, 0, 0xffff, 2|32|64), do("bpf_l4_csum_replace", ctx, 0, 0, 0, 4|32), do("bpf_skb_load_bytes", ctx, 52, at(1024), 2)}},
	{name: "csum level", typ: tc, steps: []string{
		do("bpf_csum_level", ctx, 0), do("bpf_csum_level", ctx, 2), do("bpf_csum_level", ctx, 1), do("bpf_csum_level", ctx, 0), do("bpf_csum_level", ctx, 1), do("bpf_csum_level", ctx, 0), do("bpf_csum_level", ctx, 1), do("bpf_csum_level", ctx, 1), do("bpf_csum_level", ctx, 1),
		do("bpf_csum_level", ctx, 0), do("bpf_csum_level", ctx, 2), do("bpf_csum_level", ctx, 0), do("bpf_csum_level", ctx, 3), do("bpf_csum_level", ctx, 0), do("bpf_csum_level", ctx, 4), do("bpf_csum_level", ctx, 1), do("bpf_skb_adjust_room", ctx, 4, 1, 32), do("bpf_csum_level", ctx, 0),
		do("bpf_skb_adjust_room", ctx, 4, 1, 0), do("bpf_csum_level", ctx, 0), do("bpf_csum_update", ctx, 5),
	}},
	{name: "csum diff", typ: tc, init: "0123456789abcdefghijklmnopqrstuvwxyz\xff\xff\xff\xff\xff\xff\xff\xff", steps: []string{
		do("bpf_csum_diff", at(1024), 16, at(1040), 16, 0), do("bpf_csum_diff", at(1024), 16, 0, 0, 0), do("bpf_csum_diff", 0, 0, at(1024), 16, 0), do("bpf_csum_diff", 0, 0, 0, 0, 0x12345678), do("bpf_csum_diff", at(1024), 3, at(1024), 5, uint64(0xffffffff)),
		do("bpf_csum_diff", at(1025), 7, at(1030), 9, 77), do("bpf_csum_diff", at(1024), 16, 0, 0, uint64(0xffffffff)), do("bpf_csum_diff", at(1060), 8, at(1060), 8, 0), do("bpf_csum_diff", 0, 0, at(1060), 8, 0), do("bpf_csum_diff", at(1060), 8, 0, 0, 1), do("bpf_csum_diff", 0, 0, at(1024), 512, 0),
		do("bpf_csum_diff", at(1024), 600, 0, 0, 9), do("bpf_csum_diff", 0, 0, 0, 0, 0),
	}},
	{name: "tunnel key", typ: tc, init: "\x2a\x00\x00\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x22\x40\x00\x00\x00\x00\x00\x00\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f\x20\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a", steps: []string{
		do("bpf_skb_get_tunnel_key", ctx, at(1068), 44, 0), do("bpf_skb_set_tunnel_opt", ctx, at(1024), 4), do("bpf_skb_set_tunnel_key", ctx, at(1024), 44, 32), do("bpf_skb_set_tunnel_key", ctx, at(1024), 43, 0), do("bpf_skb_set_tunnel_key", ctx, at(1024), 44, 0),
		do("bpf_skb_get_tunnel_key", ctx, at(1068), 44, 0), do("bpf_skb_get_tunnel_key", ctx, at(1112), 44, 16), do("bpf_skb_get_tunnel_key", ctx, at(1156), 44, 1), do("bpf_skb_get_tunnel_key", ctx, at(1200), 28, 0), do("bpf_skb_get_tunnel_key", ctx, at(1228), 30, 0), do("bpf_skb_get_tunnel_key", ctx, at(1260), 44, 32),
		do("bpf_skb_get_tunnel_key", ctx, at(1304), 8, 0), do("bpf_skb_get_tunnel_key", ctx, at(1312), 24, 0), do("bpf_skb_get_tunnel_key", ctx, at(1340), 22, 0),
		do("bpf_skb_get_tunnel_opt", ctx, at(1400), 8), do("bpf_skb_set_tunnel_opt", ctx, at(1024), 6), do("bpf_skb_set_tunnel_opt", ctx, at(1024), 8), do("bpf_skb_get_tunnel_opt", ctx, at(1408), 12), do("bpf_skb_get_tunnel_opt", ctx, at(1420), 4), do("bpf_skb_get_tunnel_key", ctx, at(1430), 44, 16),
	}},
	{name: "tunnel key flags", typ: tc, init: "\x2a\x00\x00\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x22\x40\x00\x00\x00\x00\x00\x00\x11\x12\x13\x14", steps: []string{
		do("bpf_skb_set_tunnel_key", ctx, at(1024), 44, 2), do("bpf_skb_get_tunnel_key", ctx, at(1100), 44, 16), do("bpf_skb_set_tunnel_key", ctx, at(1024), 44, 4), do("bpf_skb_get_tunnel_key", ctx, at(1144), 44, 16),
		do("bpf_skb_set_tunnel_key", ctx, at(1024), 44, 8), do("bpf_skb_get_tunnel_key", ctx, at(1188), 44, 16), do("bpf_skb_set_tunnel_key", ctx, at(1024), 44, 16), do("bpf_skb_get_tunnel_key", ctx, at(1232), 44, 16),
		do("bpf_skb_set_tunnel_key", ctx, at(1024), 44, 1), do("bpf_skb_get_tunnel_key", ctx, at(1276), 44, 17), do("bpf_skb_set_tunnel_key", ctx, at(1024), 28, 0), do("bpf_skb_get_tunnel_key", ctx, at(1320), 44, 16), do("bpf_skb_set_tunnel_key", ctx, at(1024), 22, 0), do("bpf_skb_set_tunnel_key", ctx, at(1024), 8, 0), do("bpf_skb_set_tunnel_key", ctx, at(1024), 24, 0),
	}},
	{name: "check mtu", typ: tc, init: "\x00\x00\x00\x00\xdc\x05\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x07\x00\x00\x00", steps: []string{
		do("bpf_check_mtu", ctx, 0, at(1024), 0, 0), do("bpf_check_mtu", ctx, 1, at(1028), 0, 0), do("bpf_check_mtu", ctx, 1, at(1032), 0, 0), do("bpf_check_mtu", ctx, 0, at(1032), 1, 0), do("bpf_check_mtu", ctx, 0, at(1032), -1, 0),
		do("bpf_check_mtu", ctx, 9999, at(1036), 0, 0), do("bpf_check_mtu", ctx, 0, at(1040), 0, 1), do("bpf_check_mtu", ctx, 0, at(1040), 0, 2), do("bpf_check_mtu", ctx, 0, at(1036), 70000, 0), do("bpf_check_mtu", ctx, 0, at(1036), -100, 0),
	}},
	{name: "fib lookup errors", typ: tc, init: "\x02\x00\x00\x00", steps: []string{
		do("bpf_fib_lookup", ctx, at(1024), 63, 0), do("bpf_fib_lookup", ctx, at(1024), 64, 64), do("bpf_fib_lookup", ctx, at(1024), 64, 0), do("bpf_fib_lookup", ctx, at(1100), 64, 0), do("bpf_fib_lookup", ctx, at(1024), 100, 32),
	}},
	{name: "clone redirect", typ: tc, steps: []string{do("bpf_clone_redirect", ctx, 9999, 0), do("bpf_clone_redirect", ctx, 1, 2), do("bpf_clone_redirect", ctx, 0, 0), do("bpf_clone_redirect", ctx, 1, 1)}},
	{name: "redirect", typ: tc, init: "\x02", steps: []string{
		do("bpf_redirect", 1, 0), do("bpf_redirect", 1, 1), do("bpf_redirect", 1, 2), do("bpf_redirect", 9999, 0), do("bpf_redirect_neigh", 1, 0, 0, 0), do("bpf_redirect_neigh", 1, at(1024), 19, 0), do("bpf_redirect_neigh", 1, at(1024), 20, 0), do("bpf_redirect_neigh", 1, 0, 0, 1),
		do("bpf_redirect_peer", 1, 0), do("bpf_redirect_peer", 1, 1), do("bpf_redirect_peer", 1, 2),
	}},
}

const xdp = uapi.ProgTypeXDP

var xdpCases = []recorded{
	{name: "adjust head", typ: xdp, steps: []string{
		do("bpf_xdp_adjust_head", ctx, 14), do("bpf_xdp_get_buff_len", ctx), do("bpf_xdp_adjust_head", ctx, -30), do("bpf_xdp_get_buff_len", ctx), do("bpf_xdp_adjust_head", ctx, -300), do("bpf_xdp_adjust_head", ctx, -200), do("bpf_xdp_adjust_head", ctx, -1),
		do("bpf_xdp_get_buff_len", ctx), do("bpf_xdp_adjust_head", ctx, 266), do("bpf_xdp_adjust_head", ctx, 267), do("bpf_xdp_adjust_head", ctx, 250), do("bpf_xdp_adjust_head", ctx, 0x7fffffff), do("bpf_xdp_get_buff_len", ctx),
	}},
	{name: "adjust tail", typ: xdp, steps: []string{
		do("bpf_xdp_adjust_tail", ctx, -10), do("bpf_xdp_get_buff_len", ctx), do("bpf_xdp_adjust_tail", ctx, 20), do("bpf_xdp_adjust_tail", ctx, -61), do("bpf_xdp_adjust_tail", ctx, -60), do("bpf_xdp_get_buff_len", ctx), do("bpf_xdp_adjust_tail", ctx, 3507), do("bpf_xdp_adjust_tail", ctx, 3506),
		do("bpf_xdp_adjust_tail", ctx, 1), do("bpf_xdp_adjust_tail", ctx, -3000), do("bpf_xdp_adjust_tail", ctx, -0x80000000), do("bpf_xdp_adjust_tail", ctx, 0x7fffffff), do("bpf_xdp_get_buff_len", ctx),
	}},
	{name: "adjust meta", typ: xdp, steps: []string{
		do("bpf_xdp_adjust_meta", ctx, -4), do("bpf_xdp_adjust_meta", ctx, -3), do("bpf_xdp_adjust_meta", ctx, -28), do("bpf_xdp_adjust_meta", ctx, -4), do("bpf_xdp_adjust_meta", ctx, 4), do("bpf_xdp_adjust_meta", ctx, 100), do("bpf_xdp_adjust_meta", ctx, -180), do("bpf_xdp_adjust_meta", ctx, -400),
		do("bpf_xdp_adjust_head", ctx, 4), do("bpf_xdp_adjust_head", ctx, -8), do("bpf_xdp_adjust_head", ctx, -100), do("bpf_xdp_get_buff_len", ctx), do("bpf_xdp_adjust_meta", ctx, 212),
	}},
	{name: "load and store bytes", typ: xdp, init: "ABCDEFGHIJKLMNOP\x11\x22\x33\x44", steps: []string{
		do("bpf_xdp_load_bytes", ctx, 0, at(1100), 14), do("bpf_xdp_load_bytes", ctx, 50, at(1114), 14), do("bpf_xdp_load_bytes", ctx, 51, at(1040), 14), do("bpf_xdp_load_bytes", ctx, 0x10000, at(1040), 4), do("bpf_xdp_load_bytes", ctx, uint64(0xffffffff), at(1040), 4), do("bpf_xdp_load_bytes", ctx, 0xfffe, at(1040), 4),
		do("bpf_xdp_store_bytes", ctx, 6, at(1024), 6), do("bpf_xdp_store_bytes", ctx, 48, at(1024), 16), do("bpf_xdp_store_bytes", ctx, 49, at(1024), 16), do("bpf_xdp_store_bytes", ctx, 0x10000, at(1024), 4), do("bpf_xdp_store_bytes", ctx, 64, at(1024), 1), do("bpf_xdp_get_buff_len", ctx),
	}},
	{name: "redirect", typ: xdp, steps: []string{do("bpf_redirect", 1, 0), do("bpf_redirect", 1, 1), do("bpf_redirect", 0, 0)}},
	{name: "redirect map", typ: xdp, maps: []maps.Spec{
		{Type: uapi.MapTypeDevmap, KeySize: 4, ValueSize: 4, MaxEntries: 4}, {Type: uapi.MapTypeCpumap, KeySize: 4, ValueSize: 4, MaxEntries: 2}, {Type: uapi.MapTypeXskmap, KeySize: 4, ValueSize: 4, MaxEntries: 4}, {Type: uapi.MapTypeDevmapHash, KeySize: 4, ValueSize: 8, MaxEntries: 4}},
		steps: []string{
			do("bpf_redirect_map", inMap(2), 0, 0), do("bpf_redirect_map", inMap(2), 0, 2), do("bpf_redirect_map", inMap(2), 9, 3), do("bpf_redirect_map", inMap(2), 0, 4), do("bpf_redirect_map", inMap(2), 0, 8), do("bpf_redirect_map", inMap(2), 0, 8|16), do("bpf_redirect_map", inMap(2), 0, 16|2), do("bpf_redirect_map", inMap(2), 0, 32),
			do("bpf_redirect_map", inMap(3), 0, 2), do("bpf_redirect_map", inMap(3), 0, 8), do("bpf_redirect_map", inMap(4), 0, 1), do("bpf_redirect_map", inMap(4), 0, 8), do("bpf_redirect_map", inMap(5), 7, 2), do("bpf_redirect_map", inMap(5), 7, 8), do("bpf_redirect_map", inMap(5), 7, uint64(1)<<40),
		}},
	{name: "csum diff", typ: xdp, init: "0123456789abcdefghij", steps: []string{do("bpf_csum_diff", at(1024), 16, at(1040), 4, 0), do("bpf_csum_diff", at(1024), 20, 0, 0, 5)}},
	{name: "check mtu", typ: xdp, init: "\x00\x00\x00\x00\xdc\x05\x00\x00\x00\x00\x02\x00", steps: []string{do("bpf_check_mtu", ctx, 0, at(1024), 0, 0), do("bpf_check_mtu", ctx, 1, at(1028), 0, 0), do("bpf_check_mtu", ctx, 1, at(1032), 0, 0), do("bpf_check_mtu", ctx, 1, at(1024), 0, 1), do("bpf_check_mtu", ctx, 9999, at(1024), 0, 0)}},
	{name: "fib lookup errors", typ: xdp, init: "\x02", steps: []string{do("bpf_fib_lookup", ctx, at(1024), 63, 0), do("bpf_fib_lookup", ctx, at(1024), 64, 1<<20), do("bpf_fib_lookup", ctx, at(1024), 64, 0)}},
}

func TestPacketHelpers(t *testing.T) { replay(t, "packets", packetCases) }

func TestXDPHelpers(t *testing.T) { replay(t, "xdp", xdpCases) }
