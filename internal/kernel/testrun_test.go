package kernel

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestTestRunsRefuse names what BPF_PROG_TEST_RUN refuses before a program runs, by release where
// releases differ.
func TestTestRunsRefuse(t *testing.T) {
	const cls, xdp, dissector, netfilter = uapi.ProgTypeSchedCls, uapi.ProgTypeXDP, uapi.ProgTypeFlowDissector, uapi.ProgTypeNetfilter
	frame := func(n int) []byte { return append(net.DefaultPacket()[:14:14], make([]byte, n-14)...) }
	put := func(size, off int, v uint32) []byte {
		b := make([]byte, size)
		binary.LittleEndian.PutUint32(b[off:], v)
		return b
	}
	ipv6 := func(n int) []byte {
		b := make([]byte, 14+n)
		b[12], b[13], b[14] = 0x86, 0xdd, 0x60
		return b
	}
	const lookup = uapi.ProgTypeSkLookup
	const skb, dataEnd, ifindex, gsoSegs = 192, 80, 40, 164
	for _, c := range []struct {
		name   string
		typ    uapi.ProgType
		attach uapi.AttachType
		packet []byte
		ctx    []byte
		before uapi.Release // the last release that does otherwise, or 0
		was    uapi.Errno   // what that answers
		since  uapi.Release
		want   uapi.Errno
	}{
		{name: "a frame shorter than its header", typ: cls, packet: make([]byte, 13), want: uapi.EINVAL},
		{name: "a frame that announces more", typ: cls, packet: append(make([]byte, 12), 8, 0, 0x45), before: uapi.R(7, 0), since: uapi.R(7, 1), want: uapi.EINVAL},
		{name: "a frame longer than a page", typ: cls, packet: frame(3713), before: uapi.R(6, 18), was: uapi.EINVAL, since: uapi.R(6, 19)},
		{name: "a frame that fills its page", typ: cls, packet: frame(3712)},
		{name: "more fragments than a packet has", typ: cls, packet: frame(3713 + 17*4096), before: uapi.R(6, 18), was: uapi.EINVAL, since: uapi.R(6, 19), want: uapi.ENOMEM},
		{name: "a linear part", typ: cls, packet: frame(100), ctx: put(skb, dataEnd, 60), before: uapi.R(6, 18), was: uapi.EINVAL, since: uapi.R(6, 19)},
		{name: "a linear part beyond the packet", typ: cls, packet: frame(100), ctx: put(skb, dataEnd, 101), want: uapi.EINVAL},
		{name: "a linear part for a tunnel", typ: uapi.ProgTypeLwtXmit, packet: frame(100), ctx: put(skb, dataEnd, 60), want: uapi.EINVAL},
		{name: "an interface that does not exist", typ: cls, ctx: put(skb, ifindex, 99), want: uapi.ENODEV},
		{name: "too many segments", typ: cls, ctx: put(skb, gsoSegs, 65536), want: uapi.EINVAL},
		{name: "most segments", typ: cls, ctx: put(skb, gsoSegs, 65535)},
		{name: "bytes behind the context", typ: cls, ctx: put(skb+4, skb, 1), want: uapi.E2BIG},
		{name: "zeros behind the context", typ: cls, ctx: make([]byte, skb+4)},
		{name: "more than a page of context", typ: cls, ctx: make([]byte, 4097), want: uapi.E2BIG},
		{name: "a devmap program", typ: xdp, attach: uapi.AttachXDPDevmap, want: uapi.EINVAL},
		{name: "a long XDP frame", typ: xdp, packet: frame(3521), before: uapi.R(5, 17), was: uapi.EINVAL, since: uapi.R(5, 18)},
		{name: "a short XDP frame", typ: xdp, packet: make([]byte, 13), before: uapi.R(6, 13), since: uapi.R(6, 14), want: uapi.EINVAL},
		{name: "metadata", typ: xdp, packet: frame(200), ctx: append(put(4, 0, 36), put(20, 0, 200)...), before: uapi.R(6, 7), was: uapi.EINVAL, since: uapi.R(6, 8)},
		{name: "another queue", typ: xdp, ctx: append(put(12, 4, 64), append(put(4, 0, 1), put(8, 0, 1)...)...), want: uapi.EINVAL},
		{name: "a lookup without context", typ: uapi.ProgTypeSkLookup, attach: uapi.AttachSkLookup, want: uapi.EINVAL},
		{name: "keys that only the kernel sets", typ: dissector, ctx: put(56, 8, 1), want: uapi.EINVAL},
		{name: "flags of a dissector", typ: dissector, ctx: put(56, 48, 1)},
		{name: "a page for a dissector", typ: dissector, packet: frame(4097), want: uapi.EINVAL},
		{name: "a short packet for netfilter", typ: netfilter, packet: make([]byte, 19), want: uapi.EINVAL},
		{name: "netfilter for another family", typ: netfilter, ctx: []byte{3, 7}, want: uapi.EINVAL},
		{name: "netfilter with a device", typ: netfilter, ctx: append([]byte{3, 2, 0, 0, 0, 0, 0, 0}, 1), want: uapi.EINVAL},
		{name: "netfilter for another protocol", typ: netfilter, ctx: []byte{0, 2}, packet: append(make([]byte, 12), append([]byte{8, 6}, make([]byte, 40)...)...), want: uapi.EPROTO},
		{name: "netfilter at its end", typ: netfilter, ctx: []byte{0, 2}, packet: frame(14 + 20), want: 0},
		{name: "IPv4 for IPv6", typ: netfilter, ctx: []byte{0, 10}, packet: frame(14 + 40), want: uapi.EINVAL},
		{name: "IPv6 for IPv4", typ: netfilter, ctx: []byte{0, 2}, packet: ipv6(40), want: uapi.EINVAL},
		{name: "IPv6", typ: netfilter, ctx: []byte{0, 10}, packet: ipv6(40)},
		{name: "a short IPv6 packet", typ: netfilter, ctx: []byte{0, 10}, packet: ipv6(39), want: uapi.EINVAL},
		{name: "a frame that goes out", typ: xdp, ctx: append(put(20, 4, 64), 1, 0, 0, 0), want: uapi.EINVAL},
		{name: "a queue of no interface", typ: xdp, ctx: append(put(16, 4, 64), put(8, 0, 1)...), want: uapi.EINVAL},
		{name: "an interface", typ: xdp, ctx: append(put(12, 4, 64), put(12, 0, 1)...)},
		{name: "a lookup", typ: lookup, attach: uapi.AttachSkLookup, ctx: put(64, 8, 2)},
		{name: "a lookup with IPv6", typ: lookup, attach: uapi.AttachSkLookup, ctx: put(64, 8, 10)},
		{name: "a lookup for another family", typ: lookup, attach: uapi.AttachSkLookup, ctx: put(64, 8, 1), want: uapi.EAFNOSUPPORT},
		{name: "a lookup with a socket", typ: lookup, attach: uapi.AttachSkLookup, ctx: append(put(8, 0, 1), put(56, 0, 2)...), want: uapi.EINVAL},
		{name: "a lookup with an interface", typ: lookup, attach: uapi.AttachSkLookup, ctx: append(put(64, 8, 2), 1, 0, 0, 0), want: uapi.EINVAL},
		{name: "too many arguments", typ: uapi.ProgTypeRawTracepoint, ctx: make([]byte, 97), want: uapi.EINVAL},
		{name: "a context of 64 KiB", typ: uapi.ProgTypeSyscall, ctx: make([]byte, 65536), want: uapi.EINVAL},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := func(r uapi.Release, want uapi.Errno) {
				k := newEmbedded(t, func(cfg *Config) {
					if r != 0 {
						cfg.Version = uint32(r) << 8
					}
				})
				spec := hook.ContextSpec{ProgType: c.typ, Attach: c.attach, Packet: c.packet, Bytes: c.ctx, NetSpec: hook.NetSpec{TestRun: true}}
				if c.typ == uapi.ProgTypeRawTracepoint {
					spec.AttachTo, spec.Section = "sys_enter", "raw_tp/sys_enter"
				}
				_, err := k.NewContext(spec)
				if want == 0 {
					require.NoError(t, err, "Linux %v", r)
					return
				}
				assert.ErrorIs(t, err, want, "Linux %v", r)
			}
			if c.before != 0 {
				in(c.before, c.was)
			}
			in(c.since, c.want)
		})
	}
}
