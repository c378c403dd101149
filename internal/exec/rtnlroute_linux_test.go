//go:build linux && (amd64 || arm64)

package exec

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/internal/bpfsys/network"
)

func TestWaysOfARoute(t *testing.T) {
	way := func(size uint16, flags, more byte, attrs ...byte) []byte {
		return append(le.AppendUint32(append(le.AppendUint16(nil, size), flags, more), 7), attrs...)
	}
	gateway := appendAttribute(nil, unix.RTA_GATEWAY, []byte{10, 0, 0, 1})
	via := netip.AddrFrom4([4]byte{10, 0, 0, 1})
	for _, tt := range []struct {
		name    string
		data    []byte
		want    unix.Errno
		hops    []network.Hop
		unknown []uint16
	}{
		{"none", nil, unix.EINVAL, nil, nil},
		{"one without a gateway", way(8, 0, 3), 0, []network.Hop{{More: 3}}, nil},
		{"two", append(way(16, 0, 1, gateway...), way(8, 0, 0)...), 0, []network.Hop{{More: 1, Via: via}, {}}, nil},
		{"on the link", way(16, hopOnlink, 0, gateway...), 0, []network.Hop{{Via: via}}, []uint16{unix.RTA_MULTIPATH}},
		{"another attribute", way(16, 0, 0, appendAttribute(nil, unix.RTA_FLOW, make([]byte, 4))...), 0, []network.Hop{{}}, []uint16{unix.RTA_FLOW}},
		{"dead", way(8, hopDead, 0), unix.EINVAL, nil, nil},
		{"without a carrier", way(8, hopDown, 0), unix.EINVAL, nil, nil},
		{"the second is dead", append(way(8, 0, 0), way(8, hopDead, 0)...), unix.EINVAL, []network.Hop{{}}, nil},
		{"shorter than its struct", way(8, 0, 0)[:7], unix.EINVAL, nil, nil},
		{"size below its struct", way(7, 0, 0), unix.EINVAL, nil, nil},
		{"size over the end", way(9, 0, 0), unix.EINVAL, nil, nil},
	} {
		var m routeMessage
		e := m.parseHops(tt.data, func(b []byte) netip.Addr { a, _ := netip.AddrFromSlice(b); return a })
		assert.Equal(t, tt.want, e, tt.name)
		assert.Equal(t, tt.hops, m.route.Hops, tt.name)
		assert.Equal(t, tt.unknown, m.unknown, tt.name)
	}
}

// TestWhichRoutesLeadToSimulatedDevices: by their devices, or by gateways to which routes of them lead.
func TestWhichRoutesLeadToSimulatedDevices(t *testing.T) {
	n := network.New(network.Host{Index: func(i uint32) bool { return i == 1 }, Name: func(name string) bool { return name == "lo" }}, 1)
	d, e := n.Add(0, &network.Spec{Kind: "dummy", Name: "d", Flags: network.FlagUp, Mask: network.FlagUp})
	require.Zero(t, e)
	require.Zero(t, d.AddAddr(network.Addr{Prefix: netip.MustParsePrefix("10.0.0.1/8")}))
	near, far := netip.MustParseAddr("10.0.0.9"), netip.MustParseAddr("192.0.2.1")
	for _, tt := range []struct {
		name string
		hops []network.Hop
		want bool
	}{
		{"none", nil, true},
		{"a device", []network.Hop{{Device: d, Via: far}}, true},
		{"a gateway", []network.Hop{{Via: near}}, true},
		{"a gateway elsewhere", []network.Hop{{Via: far}}, false},
		{"both", []network.Hop{{Via: near}, {Via: far}}, false},
		{"a device, and a gateway elsewhere", []network.Hop{{Device: d, Via: far}, {Via: far}}, false},
	} {
		assert.Equal(t, tt.want, leadsHere(n, tt.hops), tt.name)
	}
}
