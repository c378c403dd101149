package helpers

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

func TestRoutes(t *testing.T) {
	r := newRig(t, newest)
	prefix, addr := netip.MustParsePrefix, netip.MustParseAddr
	r.kernel.SetNetwork(net.Network{
		Devices: []net.Device{{Index: 1, Name: "lo", MTU: 65536, Loopback: true}, {Index: 2, Name: "eth0", MTU: 1500}, {Index: 3, Name: "tun0", MTU: 1400}},
		Routes: []net.Route{
			{Dest: prefix("0.0.0.0/0"), Gateway: addr("192.0.2.254"), Device: 2, Metric: 100},
			{Dest: prefix("10.0.0.0/8"), Device: 3, Source: addr("10.0.0.1")},
			{Dest: prefix("10.9.0.0/16"), Type: net.RouteBlackhole},
			{Dest: prefix("10.8.0.0/16"), Type: net.RouteProhibit},
			{Dest: prefix("10.7.0.0/16"), Type: net.RouteUnreachable},
			{Dest: prefix("192.0.2.1/32"), Type: net.RouteLocal},
			{Dest: prefix("2001:db8::/32"), Gateway: addr("fe80::1"), Device: 2},
		},
		Neighbours: []net.Neighbour{{Addr: addr("192.0.2.254"), Device: 2, MAC: [6]byte{2, 2, 2, 2, 2, 2}}, {Addr: addr("fe80::1"), Device: 2, MAC: [6]byte{3, 3, 3, 3, 3, 3}}},
	})
	c := r.context(uapi.ProgTypeSchedCls, hook.ContextSpec{})
	for _, x := range []struct {
		name   string
		to     string
		length uint16
		flags  uint64
		want   uint64
		device uint32
		hop    string
		dmac   [6]byte
	}{
		{name: "by the gateway", to: "8.8.8.8", want: uapi.FibRetSuccess, device: 2, hop: "192.0.2.254", dmac: [6]byte{2, 2, 2, 2, 2, 2}},
		{name: "IPv6", to: "2001:db8::5", want: uapi.FibRetSuccess, device: 2, hop: "fe80::1", dmac: [6]byte{3, 3, 3, 3, 3, 3}},
		{name: "no neighbour", to: "10.1.1.1", want: uapi.FibRetNoNeigh, device: 3, hop: "10.1.1.1"},
		{name: "neighbour not asked for", to: "10.1.1.1", flags: uapi.FibLookupSkipNeigh, want: uapi.FibRetSuccess, device: 3, hop: "10.1.1.1"},
		{name: "too long", to: "10.1.1.1", length: 1401, want: uapi.FibRetFragNeeded, device: 1, hop: "10.1.1.1"},
		{name: "blackhole", to: "10.9.1.1", want: uapi.FibRetBlackhole, device: 1, hop: "10.9.1.1"},
		{name: "prohibit", to: "10.8.1.1", want: uapi.FibRetProhibit, device: 1, hop: "10.8.1.1"},
		{name: "unreachable", to: "10.7.1.1", want: uapi.FibRetUnreachable, device: 1, hop: "10.7.1.1"},
		{name: "own address", to: "192.0.2.1", want: uapi.FibRetNotFwded, device: 1, hop: "192.0.2.1"},
		{name: "no route", to: "fd00::1", want: uapi.FibRetNotFwded, device: 1, hop: "fd00::1"},
	} {
		t.Run(x.name, func(t *testing.T) {
			p := make([]byte, sizeofFib)
			p[0] = afInet
			if addr(x.to).Is6() {
				p[0] = afInet6
			}
			r.mem.ByteOrder().PutUint16(p[fibTotLen:], x.length)
			r.mem.ByteOrder().PutUint32(p[fibIfindex:], 1)
			copy(p[fibDest:], addr(x.to).AsSlice())
			at := r.alloc(p)
			assert.Equal(t, x.want, r.ok(uapi.FuncFibLookup, c.Addr, at, sizeofFib, x.flags))
			p = r.bytes(at, sizeofFib)
			assert.Equal(t, x.device, r.mem.ByteOrder().Uint32(p[fibIfindex:]))
			assert.Equal(t, x.hop, address(p[fibDest:], p[0] == afInet6).String())
			assert.Equal(t, x.dmac[:], p[fibDMAC:])
		})
	}
}
