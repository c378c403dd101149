package helpers

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var (
	segA = netip.MustParseAddr("fd00::a")
	segB = netip.MustParseAddr("fd00::b")
	hopC = netip.MustParseAddr("fd00::c")
)

// routing is a segment routing header with segments and TLVs.
func routing(next, left byte, tlvs []byte, segments ...netip.Addr) []byte {
	h := []byte{next, byte((len(segments)*16 + len(tlvs)) / 8), 4, left, byte(len(segments) - 1), 0, 0, 0}
	for _, s := range segments {
		h = append(h, s.AsSlice()...)
	}
	return append(h, tlvs...)
}

// ipv6 is a packet from fd00::1 with a link header; next is what payload begins with.
func ipv6(next byte, to netip.Addr, payload []byte) []byte {
	b := append(make([]byte, 12), 0x86, 0xdd, 0x60, 0, 0, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(len(payload)))
	b = append(b, next, 33)
	b = append(b, netip.MustParseAddr("fd00::1").AsSlice()...)
	return append(append(b, to.AsSlice()...), payload...)
}

func lwtRig(t *testing.T) *rig {
	r := newRig(t, newest)
	r.kernel.SetNetwork(net.Network{Routes: []net.Route{
		{Dest: netip.MustParsePrefix("fd00::/16"), Device: 2, Source: netip.MustParseAddr("fd00::99")},
		{Dest: netip.MustParsePrefix("fd00::c/128"), Type: net.RouteBlackhole},
	}})
	return r
}

// TestSegmentHeaders: what bpf_lwt_push_encap puts before a packet, and what it refuses.
func TestSegmentHeaders(t *testing.T) {
	payload := []byte("abcdefgh")
	srh := routing(0, 1, nil, segA, segB)
	bad := func(at int, v byte) []byte { h := append([]byte(nil), srh...); h[at] = v; return h }
	for name, c := range map[string]struct {
		kind uint64
		hdr  []byte
		ip4  bool
		want uapi.Errno
	}{
		"inline":                  {encapSeg6Inline, srh, false, 0},
		"outer":                   {encapSeg6, srh, false, 0},
		"too short":               {encapSeg6, srh[:7], false, uapi.EINVAL},
		"another type":            {encapSeg6, bad(srhType, 3), false, uapi.EINVAL},
		"another length":          {encapSeg6, bad(srhLen, 3), false, uapi.EINVAL},
		"more left than segments": {encapSeg6, bad(srhLeft, 2), false, uapi.EINVAL},
		"more segments than room": {encapSeg6, bad(srhFirst, 2), false, uapi.EINVAL},
		"inline into IPv4":        {encapSeg6Inline, srh, true, uapi.EBADMSG},
		"unknown kind":            {3, srh, false, uapi.EINVAL},
		"no route":                {encapSeg6, routing(0, 0, nil, netip.MustParseAddr("fe00::1")), false, uapi.ENETUNREACH},
		"to a blackhole":          {encapSeg6, routing(0, 0, nil, hopC), false, uapi.EINVAL},
		"no TLV fits":             {encapSeg6, routing(0, 0, []byte{4, 7, 0, 0, 0, 0, 0, 0}, segA), false, uapi.EINVAL},
		"a TLV":                   {encapSeg6, routing(0, 0, []byte{4, 6, 0, 0, 0, 0, 0, 0}, segA), false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := lwtRig(t)
			spec := hook.ContextSpec{Packet: ipv6(17, segB, payload)}
			if c.ip4 {
				spec.Packet = nil
			}
			ctx := r.context(uapi.ProgTypeLwtIn, spec)
			before := append([]byte(nil), ctx.Packet.Bytes()...)
			assert.Equal(t, neg(c.want), r.ok(uapi.FuncLwtPushEncap, ctx.Addr, c.kind, r.alloc(c.hdr), uint64(len(c.hdr))))
			got := ctx.Packet.Bytes()
			if c.want == uapi.EINVAL && c.hdr[len(c.hdr)-1] != 0xc || c.want == uapi.EBADMSG {
				assert.Equal(t, before, got, "left alone")
				return
			}
			assert.EqualValues(t, len(got)-40, binary.BigEndian.Uint16(got[4:]), "payload_len")
			assert.EqualValues(t, nextRouting, got[6])
			first := 8 + int(c.hdr[srhFirst])*16
			assert.Equal(t, c.hdr[first:first+16], got[24:40], "to the first segment")
			if c.kind == encapSeg6Inline {
				assert.EqualValues(t, 17, got[40])
				assert.Equal(t, before[24:40], got[48:64], "the old destination is the last segment")
				assert.Equal(t, before[40:], got[40+len(c.hdr):])
			} else {
				assert.EqualValues(t, nextIPv6, got[40])
				assert.EqualValues(t, 33, got[7], "hop limit")
				if c.want == 0 {
					assert.Equal(t, netip.MustParseAddr("fd00::99").AsSlice(), got[8:24], "from the route's address")
				}
				assert.Equal(t, before, got[40+len(c.hdr):])
			}
		})
	}
	r := lwtRig(t)
	ctx := r.context(uapi.ProgTypeLwtIn, hook.ContextSpec{Packet: ipv6(17, segB, payload)})
	_, f := r.call(uapi.FuncLwtPushEncap, ctx.Addr, encapSeg6, r.alloc(bad(srhFlags, srhHMAC)), uint64(len(srh)))
	require.NotNil(t, f)
	assert.Equal(t, vm.NotSimulated, f.Kind)
}

// TestIPEncap: IP headers, with UDP, before packets of lwt_in and lwt_xmit programs.
func TestIPEncap(t *testing.T) {
	ip4 := append([]byte{0x45, 0, 0, 84, 0, 0, 0, 0, 64, 4, 0, 0}, 10, 0, 0, 1, 10, 0, 0, 2)
	udp := append(append([]byte(nil), ip4...), make([]byte, 8)...)
	udp[9] = 17
	six := append([]byte{0x60, 0, 0, 0, 0, 0, 41, 64}, make([]byte, 32)...)
	for name, c := range map[string]struct {
		hdr  []byte
		want uapi.Errno
	}{
		"IPv4": {ip4, 0}, "IPv6": {six, 0}, "UDP": {udp, 0}, "UDP without its header": {udp[:20], uapi.EINVAL}, "IPv6 cut short": {six[:39], uapi.EINVAL},
		"19 bytes": {ip4[:19], uapi.EINVAL}, "256 bytes": {append(append([]byte(nil), ip4...), make([]byte, 236)...), 0}, "257 bytes": {append(append([]byte(nil), ip4...), make([]byte, 237)...), uapi.EINVAL},
		"version 5": {append([]byte{0x55}, ip4[1:]...), uapi.EINVAL}, "options that are not there": {append([]byte{0x46}, ip4[1:]...), uapi.EINVAL},
	} {
		for _, typ := range []uapi.ProgType{uapi.ProgTypeLwtIn, uapi.ProgTypeLwtXmit} {
			r := lwtRig(t)
			r.env.Run = NewRun(typ, 0)
			ctx := r.context(typ, hook.ContextSpec{})
			before := append([]byte(nil), ctx.Packet.Bytes()...)
			assert.Equal(t, neg(c.want), r.ok(uapi.FuncLwtPushEncap, ctx.Addr, encapIP, r.alloc(c.hdr), uint64(len(c.hdr))), name)
			got := ctx.Packet.Bytes()
			if c.want != 0 {
				assert.Equal(t, before, got, name)
				continue
			}
			assert.Equal(t, before, got[len(c.hdr):], name)
			if got[0]>>4 == 4 {
				assert.EqualValues(t, 0, csumFold(csumPartial(got[:20], 0)), "%s: the checksum is filled in", name)
			}
		}
	}
	r := lwtRig(t)
	r.env.Run = NewRun(uapi.ProgTypeLwtXmit, 0)
	ctx := r.context(uapi.ProgTypeLwtXmit, hook.ContextSpec{Packet: ipv6(17, segB, nil)})
	srh := routing(0, 0, nil, segA)
	assert.Equal(t, neg(uapi.EINVAL), r.ok(uapi.FuncLwtPushEncap, ctx.Addr, encapSeg6, r.alloc(srh), uint64(len(srh))), "only IP on transmission")
}

// TestSegmentRoutingChanges: the bytes that programs may change, room for TLVs, and actions, which
// check the header again.
func TestSegmentRoutingChanges(t *testing.T) {
	r := lwtRig(t)
	tlv := []byte{4, 6, 1, 2, 3, 4, 5, 6}
	ctx := r.context(uapi.ProgTypeLwtSeg6local, hook.ContextSpec{Packet: ipv6(nextRouting, segB, append(routing(nextIPv6, 1, tlv, segA, segB), ipv6(59, hopC, nil)[14:]...))})
	const srh = 40
	store := func(off uint64, data ...byte) uint64 {
		return r.ok(uapi.FuncLwtSeg6StoreBytes, ctx.Addr, off, r.alloc(data), uint64(len(data)))
	}
	adjust := func(off uint64, n int) uint64 { return r.ok(uapi.FuncLwtSeg6AdjustSrh, ctx.Addr, off, uint64(n)) }
	act := func(action uint64, param []byte) uint64 {
		return r.ok(uapi.FuncLwtSeg6Action, ctx.Addr, action, r.alloc(param), uint64(len(param)))
	}
	table := []byte{254, 0, 0, 0}

	assert.Zero(t, store(srh+srhFlags, 0, 7, 7), "flags and tag")
	assert.Equal(t, neg(uapi.EFAULT), store(srh+srhFirst, 0))
	assert.Equal(t, neg(uapi.EFAULT), store(srh+8, 1), "a segment")
	assert.Zero(t, store(srh+8+32+2, 9), "a TLV")
	assert.Equal(t, neg(uapi.EFAULT), store(srh+8+32+7, 1, 2), "past the header")
	assert.EqualValues(t, 9, ctx.Packet.Bytes()[srh+42])
	assert.Zero(t, act(actionEndX, segA.AsSlice()), "it is valid still")

	assert.Equal(t, neg(uapi.EFAULT), adjust(srh+8+31, 8), "in the segments")
	assert.Equal(t, neg(uapi.EFAULT), adjust(srh+8+41, 8), "past the header")
	assert.Equal(t, neg(uapi.EFAULT), adjust(srh+8+40, -1), "nothing to remove")
	n := ctx.Packet.Len()
	assert.Zero(t, adjust(srh+8+40, 4))
	assert.Equal(t, n+4, ctx.Packet.Len())
	assert.EqualValues(t, n+4-40, binary.BigEndian.Uint16(ctx.Packet.Bytes()[4:]))
	assert.Equal(t, neg(uapi.EBADMSG), act(actionEndT, table), "not a multiple of eight")
	assert.Zero(t, adjust(srh+8+44, 4))
	assert.Zero(t, store(srh+8+40, 4, 6, 0, 0, 0, 0, 0, 0))
	assert.Zero(t, act(actionEndT, table), "a second TLV")
	assert.EqualValues(t, 6, ctx.Packet.Bytes()[srh+srhLen])
	assert.Zero(t, adjust(srh+8+40, -8))

	for name, c := range map[string]struct {
		action uint64
		param  []byte
		want   uapi.Errno
	}{
		"end.x short": {actionEndX, segA.AsSlice()[:15], uapi.EINVAL}, "end.x": {actionEndX, segA.AsSlice(), 0}, "end.x to a blackhole": {actionEndX, hopC.AsSlice(), uapi.EINVAL},
		"end.t long": {actionEndT, make([]byte, 5), uapi.EINVAL}, "end.t of an empty table": {actionEndT, []byte{7, 0, 0, 0}, uapi.ENETUNREACH}, "unknown": {1, table, uapi.EINVAL},
		"end.b6 of no header": {actionEndB6, table, uapi.EINVAL},
	} {
		assert.Equal(t, neg(c.want), act(c.action, c.param), name)
	}
	assert.Equal(t, neg(uapi.EINVAL), act(actionEndDT6, table), "the inner packet goes to the blackhole")
	assert.Equal(t, 40, ctx.Packet.Len(), "but it is unpacked")
	assert.Equal(t, neg(uapi.EBADMSG), act(actionEndT, table), "which has no routing header")
	assert.Equal(t, neg(uapi.EINVAL), store(40, 1))
	assert.Equal(t, neg(uapi.EINVAL), adjust(40, 8))
	b6 := routing(0, 0, nil, segA)
	assert.Zero(t, act(actionEndB6Encap, b6))
	assert.Zero(t, act(actionEndB6, b6), "a second one, in it")
}

// TestMessagesAreChanged: pieces of a message as the program sees them.
func TestMessagesAreChanged(t *testing.T) {
	r := newRig(t, newest)
	r.env.Run = NewRun(uapi.ProgTypeSkMsg, 0)
	frame := append(net.DefaultPacket()[:54:54], "0123456789"...)
	ctx := r.context(uapi.ProgTypeSkMsg, hook.ContextSpec{Packet: frame})
	call := func(f uapi.FuncID, a, b, flags uint64) uint64 { return r.ok(f, ctx.Addr, a, b, flags) }
	seen := func() string { return string(ctx.Packet.Bytes()) }
	whole := func() string { return string(ctx.Out()[14:]) }
	size := func() uint64 {
		v, ok := ctx.Field("size")
		require.True(t, ok)
		return v
	}
	require.Equal(t, "0123456789", seen())

	const pull, push, pop = uapi.FuncMsgPullData, uapi.FuncMsgPushData, uapi.FuncMsgPopData
	for name, c := range map[string]struct {
		f           uapi.FuncID
		a, b, flags uint64
	}{
		"pull flags": {pull, 0, 1, 1}, "pull nothing": {pull, 3, 3, 0}, "pull backwards": {pull, 3, 2, 0}, "pull at the end": {pull, 10, 11, 0}, "pull too much": {pull, 0, 11, 0}, "pull the most": {pull, 0, 1<<32 - 1, 0},
		"push flags": {push, 0, 1, 1}, "push past the end": {push, 11, 1, 0}, "pop flags": {pop, 0, 1, 1}, "pop at the end": {pop, 10, 1, 0}, "pop too much": {pop, 1, 10, 0}, "pop the most": {pop, 0, 1<<32 - 1, 0},
	} {
		assert.Equal(t, neg(uapi.EINVAL), call(c.f, c.a, c.b, c.flags), name)
		assert.Equal(t, "0123456789", seen(), name)
	}
	assert.Equal(t, neg(uapi.ENOMEM), call(push, 0, 1<<31, 0))
	assert.Zero(t, call(push, 99, 0, 0), "nothing is nothing, wherever")
	assert.Zero(t, call(pop, 99, 0, 0))

	assert.Zero(t, call(pull, 2, 5, 0))
	assert.Equal(t, "234", seen())
	assert.EqualValues(t, 10, size(), "of the whole message")
	assert.Equal(t, "0123456789", whole())

	assert.Zero(t, call(push, 4, 2, 0))
	assert.Equal(t, "0123", seen(), "the first of three pieces")
	assert.Equal(t, "0123\x00\x00456789", whole())
	assert.Zero(t, call(pull, 3, 7, 0))
	assert.Equal(t, "3\x00\x004", seen(), "over pieces, which are joined")
	assert.Zero(t, call(push, 0, 1, 0))
	assert.Equal(t, "\x00", seen(), "a piece of its own in front")
	assert.Zero(t, call(pop, 0, 1, 0))
	assert.Equal(t, "0123\x00\x00456789", seen(), "the joined piece is the first")
	assert.Zero(t, call(pop, 4, 2, 0))
	assert.Equal(t, "0123", seen())
	assert.Equal(t, "0123456789", whole())
	assert.Zero(t, call(pop, 2, 4, 0), "from two pieces")
	assert.Equal(t, "01", seen())
	assert.Equal(t, "016789", whole())
	assert.EqualValues(t, 6, size())
	assert.Zero(t, call(push, 6, 1, 0), "at the end")
	assert.Equal(t, "016789\x00", whole())
	for range 20 { // more pieces than there may be
		require.Zero(t, call(push, 1, 1, 0))
	}
	assert.EqualValues(t, 27, size())
	assert.Zero(t, call(pop, 0, 27, 0))
	assert.Empty(t, seen())
	assert.Zero(t, size())
}
