package helpers

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// ramp is a packet of n bytes with an Ethernet header and bytes that tell where they are.
func ramp(n int) []byte {
	b := net.DefaultPacket()[:14]
	for i := len(b); i < n; i++ {
		b = append(b, byte(i^i>>8))
	}
	return b
}

// load reads a field of the context and keeps it.
func load(size string, off int) string {
	return fmt.Sprintf("r0 = *(%s *)(r6 + %d)\nkeep r0", size, off)
}

func loads(fields ...any) (out []string) {
	for i := 0; i < len(fields); i += 2 {
		out = append(out, load(fields[i].(string), fields[i+1].(int)))
	}
	return out
}

// linearLen keeps the length of what the program sees directly.
func linearLen(data, end int) string {
	return fmt.Sprintf("r1 = *(u32 *)(r6 + %d)\nr0 = *(u32 *)(r6 + %d)\nr0 -= r1\nkeep r0", data, end)
}

// xdpCtx is an xdp_md with metadata of that length and that end of the linear part.
func xdpCtx(meta, end uint32) []byte {
	b := make([]byte, 24)
	binary.LittleEndian.PutUint32(b, meta)
	binary.LittleEndian.PutUint32(b[4:], end)
	return b
}

// TestFragments: XDP packets in pieces.
func TestFragments(t *testing.T) {
	length, linear := do("bpf_xdp_get_buff_len", ctx), linearLen(0, 4)
	const xdp, frags = uapi.ProgTypeXDP, uapi.ProgXDPHasFrags
	replay(t, "frags", []recorded{
		{name: "length", typ: xdp, flags: frags, data: ramp(9000), steps: []string{length, linear}},
		{name: "without the flag", typ: xdp, data: ramp(4000), steps: []string{length, linear}},
		{name: "load", typ: xdp, flags: frags, data: ramp(9000), steps: []string{
			do("bpf_xdp_load_bytes", ctx, 0, at(1024), 16), do("bpf_xdp_load_bytes", ctx, 3510, at(1040), 20), do("bpf_xdp_load_bytes", ctx, 3520, at(1060), 8),
			do("bpf_xdp_load_bytes", ctx, 7610, at(1068), 16), do("bpf_xdp_load_bytes", ctx, 8990, at(1084), 10), do("bpf_xdp_load_bytes", ctx, 8991, at(1100), 10),
			do("bpf_xdp_load_bytes", ctx, 0x10000, at(1100), 1), do("bpf_xdp_load_bytes", ctx, 3000, at(1110), 900),
		}},
		{name: "store", typ: xdp, flags: frags, data: ramp(5000), init: "0123456789abcdefghij", steps: []string{
			do("bpf_xdp_store_bytes", ctx, 3515, at(1024), 20), do("bpf_xdp_store_bytes", ctx, 4990, at(1024), 10), do("bpf_xdp_store_bytes", ctx, 4991, at(1024), 10), do("bpf_xdp_store_bytes", ctx, 14, at(1024), 4),
		}},
		{name: "tail grows", typ: xdp, flags: frags, data: ramp(5000), steps: []string{do("bpf_xdp_adjust_tail", ctx, 10), length, do("bpf_xdp_adjust_tail", ctx, 2607), do("bpf_xdp_adjust_tail", ctx, 2606), length, linear, do("bpf_xdp_adjust_tail", ctx, 1)}},
		{name: "tail shrinks", typ: xdp, flags: frags, data: ramp(9000), steps: []string{
			do("bpf_xdp_adjust_tail", ctx, -1000), length, do("bpf_xdp_adjust_tail", ctx, -400), length, do("bpf_xdp_adjust_tail", ctx, -4000), length, linear, do("bpf_xdp_adjust_tail", ctx, -90), length, linear, do("bpf_xdp_adjust_tail", ctx, 5), length, linear,
		}},
		{name: "tail shrinks to the header", typ: xdp, flags: frags, data: ramp(9000), steps: []string{do("bpf_xdp_adjust_tail", ctx, -8987), do("bpf_xdp_adjust_tail", ctx, -8986), length, linear}},
		{name: "head", typ: xdp, flags: frags, data: ramp(5000), steps: []string{do("bpf_xdp_adjust_head", ctx, -100), length, linear, do("bpf_xdp_adjust_head", ctx, 3607), do("bpf_xdp_adjust_head", ctx, 3606), length, linear}},
		{name: "mtu", typ: xdp, flags: frags, data: ramp(5000), init: "\x00\x00\x00\x00", steps: []string{do("bpf_check_mtu", ctx, 1, at(1024), 0, 0), do("bpf_check_mtu", ctx, 1, at(1024), 100000, 0)}},
		{name: "linear part of a given length", typ: xdp, flags: frags, data: ramp(600), ctx: xdpCtx(0, 100), steps: []string{length, linear, do("bpf_xdp_load_bytes", ctx, 90, at(1024), 30), do("bpf_xdp_adjust_tail", ctx, -550), length, linear}},
		{name: "metadata", typ: xdp, flags: frags, data: ramp(5000), ctx: xdpCtx(8, 5000), steps: []string{length, linear, do("bpf_xdp_adjust_meta", ctx, -4)}},
		{name: "dynptr", typ: xdp, flags: frags, data: ramp(5000), init: "0123456789abcdefghij", steps: []string{
			do("kfunc bpf_dynptr_from_xdp", ctx, 0, onFP(-16)), do("kfunc bpf_dynptr_size", onFP(-16)), do("bpf_dynptr_read", at(1060), 20, onFP(-16), 3510, 0), do("bpf_dynptr_write", onFP(-16), 3512, at(1024), 20, 0),
			do("bpf_dynptr_read", at(1080), 20, onFP(-16), 3510, 0), do("bpf_dynptr_read", at(1080), 20, onFP(-16), 4990, 0),
			"r1 = r10\nr1 += -16\nr2 = 3515\nr3 = r7\nr3 += 1100\nr4 = 10\ncall kfunc bpf_dynptr_slice\nif r0 == 0 goto +3\nr0 = *(u64 *)(r0 + 0)\nkeep r0\ngoto +0",
			"r1 = r10\nr1 += -16\nr2 = 3600\nr3 = r7\nr3 += 1120\nr4 = 10\ncall kfunc bpf_dynptr_slice\nif r0 == 0 goto +3\nr0 = *(u64 *)(r0 + 0)\nkeep r0\ngoto +0",
		}},
		{name: "pull", typ: xdp, flags: frags, data: ramp(600), ctx: xdpCtx(0, 100), steps: []string{
			do("kfunc bpf_xdp_pull_data", ctx, 50), linear, do("kfunc bpf_xdp_pull_data", ctx, 150), linear, length, do("kfunc bpf_xdp_pull_data", ctx, 601), do("kfunc bpf_xdp_pull_data", ctx, 600), linear, do("bpf_xdp_load_bytes", ctx, 140, at(1024), 20),
		}},
		{name: "dynptr of a packet that shrank", typ: xdp, flags: frags, data: ramp(5000), init: "0123456789", steps: []string{
			do("kfunc bpf_dynptr_from_xdp", ctx, 0, onFP(-16)), do("bpf_xdp_adjust_tail", ctx, -1000), do("kfunc bpf_dynptr_size", onFP(-16)), do("bpf_dynptr_read", at(1060), 20, onFP(-16), 4500, 0),
			do("bpf_dynptr_write", onFP(-16), 4500, at(1024), 10, 0), do("bpf_dynptr_read", at(1060), 20, onFP(-16), 3990, 0), do("bpf_dynptr_read", at(1060), 10, onFP(-16), 3990, 0),
		}},
		{name: "pull moves the packet", typ: xdp, flags: frags, data: ramp(5000), steps: []string{do("kfunc bpf_xdp_pull_data", ctx, 3600), linear, do("kfunc bpf_xdp_pull_data", ctx, 3740), linear, length, do("bpf_xdp_load_bytes", ctx, 3500, at(1024), 200)}},
	})
}

// lookupCtx is a struct bpf_sk_lookup.
func lookupCtx(family, protocol uint32) []byte {
	b := make([]byte, 72)
	le := binary.LittleEndian
	le.PutUint32(b[8:], family)
	le.PutUint32(b[12:], protocol)
	copy(b[16:], []byte{192, 0, 2, 1})
	copy(b[20:], []byte{0x20, 1, 0xd, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
	copy(b[36:], []byte{0x30, 0x39})
	copy(b[40:], []byte{198, 51, 100, 2})
	copy(b[44:], []byte{0x20, 1, 0xd, 0xb8, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1})
	le.PutUint32(b[60:], 443)
	return b
}

// TestSkLookupContext: fields of struct bpf_sk_lookup, and what a test run takes.
func TestSkLookupContext(t *testing.T) {
	all := loads("u64", 0, "u32", 8, "u8", 8, "u16", 8, "u32", 12, "u8", 15, "u32", 16, "u16", 18, "u8", 17, "u32", 20, "u32", 24, "u32", 28, "u32", 32, "u8", 35, "u32", 36, "u16", 36, "u8", 37, "u16", 38,
		"u8", 39, "u32", 40, "u32", 44, "u32", 48, "u32", 52, "u32", 56, "u16", 58, "u32", 60, "u16", 60, "u8", 61, "u32", 64, "u16", 66)
	with := func(change func([]byte)) []byte {
		b := lookupCtx(2, 6)
		change(b)
		return b
	}
	typ, attach := uapi.ProgTypeSkLookup, uapi.AttachSkLookup
	one := []string{"r0 = 1\nkeep r0"}
	none := "r1 = r6\nr2 = 0\nr3 = %d\ncall bpf_sk_assign\nkeep r0"
	cases := []recorded{
		{name: "IPv4", ctx: lookupCtx(2, 6), steps: all}, {name: "IPv6", ctx: lookupCtx(10, 17), steps: all},
		{name: "drop", ctx: lookupCtx(2, 6), steps: []string{"r0 = 0\nexit"}}, {name: "pass", ctx: lookupCtx(2, 6), steps: []string{"r0 = 1\nexit"}},
		{name: "other family", ctx: lookupCtx(3, 6), steps: one},
		{name: "socket given", ctx: with(func(b []byte) { b[0] = 1 }), steps: one},
		{name: "interface given", ctx: with(func(b []byte) { b[64] = 1 }), steps: one},
		{name: "port out of range", ctx: with(func(b []byte) { b[62] = 1 }), steps: one},
		{name: "select none", ctx: lookupCtx(2, 6), steps: []string{fmt.Sprintf(none, 0), fmt.Sprintf(none, 1), fmt.Sprintf(none, 2), fmt.Sprintf(none, 4), load("u64", 0)}},
	}
	for name, access := range map[string]string{
		"write": "r0 = 1\n*(u32 *)(r6 + 8) = r0", "half of the socket": load("u32", 0), "double field": load("u64", 16), "beyond": load("u32", 72), "port and padding by bytes": load("u64", 32),
		"unaligned": load("u16", 37),
	} {
		cases = append(cases, recorded{name: "refused: " + name, ctx: lookupCtx(2, 6), steps: []string{access}})
	}
	for i := range cases {
		cases[i].typ, cases[i].attach = typ, attach
	}
	replay(t, "sklookup", cases)
}

// TestSkbContexts: every field of __sk_buff in the widths each type may use.
func TestSkbContexts(t *testing.T) {
	common := loads("u32", 0, "u8", 0, "u16", 2, "u32", 4, "u32", 8, "u8", 9, "u32", 12, "u32", 16, "u16", 16, "u8", 17, "u32", 20, "u32", 24, "u32", 28, "u32", 32, "u32", 36, "u32", 40, "u32", 44,
		"u32", 48, "u64", 56, "u16", 66, "u32", 68)
	socket := loads("u32", 88, "u32", 92, "u32", 96, "u32", 100, "u32", 112, "u32", 116, "u32", 128, "u32", 132, "u32", 136)
	gso := loads("u32", 164, "u32", 176)
	var sk []string
	for _, off := range []int{4, 24, 28, 48, 52, 56, 72} {
		sk = append(sk, fmt.Sprintf("r1 = *(u64 *)(r6 + 168)\nif r1 == 0 goto +2\nr0 = *(u32 *)(r1 + %d)\nkeep r0\nr0 = 0", off))
	}
	full := "r1 = *(u64 *)(r6 + 168)\nif r1 == 0 goto +6\ncall bpf_sk_fullsock\nif r0 == 0 goto +4\nr1 = *(u32 *)(r0 + 12)\nkeep r1\nr1 = *(u8 *)(r0 + 4)\nkeep r1\nr0 = 0"
	writes := func(offs ...int) (out []string) {
		for i, off := range offs {
			out = append(out, fmt.Sprintf("r0 = %d\n*(u32 *)(r6 + %d) = r0", 0x101*(i+1), off), load("u32", off))
		}
		return out
	}
	in := make([]byte, 192)
	for off, v := range map[int]uint32{8: 0x11, 32: 5, 48: 0x21, 64: 0x25, 152: 0x1234, 160: 70, 164: 3, 176: 1000} {
		binary.LittleEndian.PutUint32(in[off:], v)
	}
	cat := func(parts ...[]string) (out []string) {
		for _, p := range parts {
			out = append(out, p...)
		}
		return out
	}
	const cls, skb, filter = uapi.ProgTypeSchedCls, uapi.ProgTypeCgroupSkb, uapi.ProgTypeSocketFilter
	cases := []recorded{
		{name: "tc", typ: cls, steps: cat(common, gso, loads("u32", 72, "u64", 152, "u32", 160, "u8", 180, "u64", 184), sk, []string{full})},
		{name: "tc with context", typ: cls, ctx: in, steps: cat(common, gso, loads("u64", 152, "u32", 160))},
		{name: "tc IPv6", typ: cls, data: ipv6Packet(), steps: cat(common, sk)},
		{name: "tc writes", typ: cls, ctx: in, steps: writes(8, 12, 32, 44, 48, 52, 56, 60, 64, 72)},
		{name: "cgroup skb", typ: skb, steps: cat(common, socket, gso, loads("u64", 152), sk, []string{full, linearLen(76, 80)})},
		{name: "cgroup skb IPv6", typ: skb, data: ipv6Packet(), steps: cat(common, socket, sk)},
		{name: "cgroup skb writes", typ: skb, ctx: in, steps: writes(8, 32, 48, 64)},
		{name: "socket filter", typ: filter, steps: cat(common, gso)},
		{name: "refused: socket filter reads family", typ: filter, steps: []string{load("u32", 88)}},
		{name: "socket filter writes", typ: filter, steps: writes(48, 64)},
		{name: "cgroup skb returns 2", typ: skb, attach: uapi.AttachCgroupInetEgress, steps: []string{"r0 = 2\nexit"}},
	}
	for name, c := range map[string]recorded{
		"tc writes len": {typ: cls, steps: writes(0)}, "tc reads family": {typ: cls, steps: []string{load("u32", 88)}}, "filter reads data": {typ: filter, steps: []string{load("u32", 76)}},
		"cgroup writes queue": {typ: skb, steps: writes(12)}, "tc reads half of tstamp": {typ: cls, steps: []string{load("u32", 152)}}, "type of a sock_common": {typ: cls, steps: []string{"r1 = *(u64 *)(r6 + 168)\nif r1 == 0 goto +1\nr0 = *(u32 *)(r1 + 8)\nr0 = 0"}},
		"filter writes mark": {typ: filter, steps: writes(8)},
	} {
		c.name = "refused: " + name
		cases = append(cases, c)
	}
	replay(t, "contexts", cases)
}

func TestReceived(t *testing.T) {
	r := newRig(t, newest)
	c := r.context(uapi.ProgTypeXDP, hook.ContextSpec{})
	for _, name := range []string{"bpf_xdp_metadata_rx_timestamp", "bpf_xdp_metadata_rx_hash", "bpf_xdp_metadata_rx_vlan_tag"} {
		assert.EqualValues(t, uint32(neg(uapi.EOPNOTSUPP)), r.kok(name, c.Addr, r.space(8), r.space(8)))
	}
	c = r.context(uapi.ProgTypeXDP, hook.ContextSpec{NetSpec: hook.NetSpec{Received: &hook.Received{Timestamp: 77, Hash: 5, HashType: 9, VLANProto: 0x8100, VLANTCI: 12}}})
	at, more := r.space(8), r.space(8)
	assert.Zero(t, r.kok("bpf_xdp_metadata_rx_timestamp", c.Addr, at))
	assert.EqualValues(t, 77, r.u64(at))
	assert.Zero(t, r.kok("bpf_xdp_metadata_rx_hash", c.Addr, at, more))
	assert.EqualValues(t, 5, r.u32(at))
	assert.EqualValues(t, 9, r.u32(more))
	assert.Zero(t, r.kok("bpf_xdp_metadata_rx_vlan_tag", c.Addr, at, more))
	assert.Equal(t, []byte{0x81, 0}, r.bytes(at, 2))
	assert.EqualValues(t, 12, r.u32(more)&0xffff)
}

func TestSunPath(t *testing.T) {
	r := newRig(t, newest)
	c := r.context(uapi.ProgTypeCgroupSockAddr, hook.ContextSpec{Attach: uapi.AttachCgroupUnixConnect})
	assert.Zero(t, r.kok("bpf_sock_addr_set_sun_path", c.Addr, r.str("/run/x"), 7))
	assert.Equal(t, "/run/x", r.env.Run.Events[0].Detail)
	assert.EqualValues(t, uint32(neg(uapi.EINVAL)), r.kok("bpf_sock_addr_set_sun_path", c.Addr, r.str(""), 0))
	c = r.context(uapi.ProgTypeCgroupSockAddr, hook.ContextSpec{Attach: uapi.AttachCgroupInet4Connect})
	assert.EqualValues(t, uint32(neg(uapi.EINVAL)), r.kok("bpf_sock_addr_set_sun_path", c.Addr, r.str("/run/x"), 7))
}

// TestTunnelOfArrival: the key of a packet that came through a tunnel.
func TestTunnelOfArrival(t *testing.T) {
	r := newRig(t, newest)
	key := &hook.Tunnel{ID: 77, Remote: netip.MustParseAddr("192.0.2.9"), Local: netip.MustParseAddr("192.0.2.1"), TTL: 64, Flags: tunKey, Options: []byte{1, 2, 3, 4}}
	c := r.context(uapi.ProgTypeSchedCls, hook.ContextSpec{NetSpec: hook.NetSpec{Tunnel: key}})
	at := r.space(tunnelSize)
	assert.Zero(t, r.ok(uapi.FuncSkbGetTunnelKey, c.Addr, at, tunnelSize, 0))
	assert.EqualValues(t, 77, r.u32(at))
	assert.EqualValues(t, uint64(0xc0000209), r.u32(at+tunnelRemote), "a number")
	assert.EqualValues(t, uint64(0xc0000201), r.u32(at+tunnelLocal))
	assert.EqualValues(t, 64, r.bytes(at+tunnelTTL, 1)[0])
	assert.Equal(t, neg(uapi.EPROTO), r.ok(uapi.FuncSkbGetTunnelKey, c.Addr, at, tunnelSize, uapi.TunnelIPv6))
	assert.EqualValues(t, 4, r.ok(uapi.FuncSkbGetTunnelOpt, c.Addr, at, 8))
	assert.Equal(t, []byte{1, 2, 3, 4, 0}, r.bytes(at, 5))
}

func TestXDPSockets(t *testing.T) {
	r := newRig(t, newest)
	m := r.newMap(maps.Spec{Type: uapi.MapTypeXskmap, KeySize: 4, ValueSize: 4, MaxEntries: 4})
	require.Zero(t, m.(maps.XSKMap).SetSocket(1, 9))
	r.context(uapi.ProgTypeXDP, hook.ContextSpec{})
	one, two := r.alloc([]byte{1, 0, 0, 0}), r.alloc([]byte{2, 0, 0, 0})
	assert.Zero(t, r.ok(uapi.FuncMapLookupElem, m.Addr(), two))
	sock := r.ok(uapi.FuncMapLookupElem, m.Addr(), one)
	require.NotZero(t, sock)
	assert.EqualValues(t, 9, r.field(sock, 4))
	assert.EqualValues(t, xdpRedirect, r.ok(uapi.FuncRedirectMap, m.Addr(), 1, 0))
	assert.EqualValues(t, 2, r.ok(uapi.FuncRedirectMap, m.Addr(), 2, 2))
}
