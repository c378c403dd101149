package net

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestRoutes: the longest prefix, then the lowest metric, then the first one, of one table.
func TestRoutes(t *testing.T) {
	h := newHost(t)
	at := netip.MustParseAddr
	route := func(dest string, table, metric, device uint32) Route {
		return Route{Dest: netip.MustParsePrefix(dest), Table: table, Metric: metric, Device: device}
	}
	h.SetNetwork(Network{Routes: []Route{
		route("10.0.0.0/8", 0, 5, 1), route("10.1.0.0/16", 0, 9, 2), route("10.1.0.0/16", mainTable, 7, 3), route("10.1.0.0/16", 0, 7, 4), route("10.0.0.0/8", 0, 5, 5),
		route("10.1.1.0/24", 100, 0, 6), route("::/0", 0, 0, 7),
	}, Neighbours: []Neighbour{{at("10.0.0.1"), 1, [6]byte{1}}, {at("10.0.0.1"), 2, [6]byte{2}}, {at("10.0.0.2"), 1, [6]byte{3}}}})
	for _, tt := range []struct {
		to     string
		table  uint32
		device uint32 // 0: no route
	}{
		{"10.2.0.1", 0, 1}, {"10.1.0.1", 0, 3}, {"10.1.0.1", mainTable, 3}, {"10.1.1.1", 100, 6}, {"10.1.2.1", 100, 0}, {"11.0.0.1", 0, 0}, {"fe80::1", 0, 7}, {"10.1.0.1", 1, 0},
	} {
		r, ok := h.Route(at(tt.to), tt.table)
		assert.Equal(t, tt.device != 0, ok, "%+v", tt)
		assert.Equal(t, tt.device, r.Device, "%+v", tt)
	}
	for _, tt := range []struct {
		addr   string
		device uint32
		mac    byte
	}{{"10.0.0.1", 1, 1}, {"10.0.0.1", 2, 2}, {"10.0.0.2", 1, 3}, {"10.0.0.2", 2, 0}, {"10.0.0.3", 1, 0}} {
		mac, ok := h.Neighbour(at(tt.addr), tt.device)
		assert.Equal(t, tt.mac != 0, ok, "%+v", tt)
		assert.Equal(t, [6]byte{tt.mac}, mac, "%+v", tt)
	}
	assert.Len(t, h.Devices(), len(New(h.Space).Devices()), "no devices leave those that there were")
	assert.Equal(t, [6]byte{2, 0, 0, 0, 0, 7}, Device{Index: 7}.MAC())
	assert.Equal(t, [6]byte{9}, Device{Index: 7, Hardware: [6]byte{9}}.MAC())
	assert.Equal(t, [6]byte{}, Device{Index: 1, Loopback: true}.MAC())
}

// TestHashesOfFlows: which bytes of a packet decide, and from which length on.
func TestHashesOfFlows(t *testing.T) {
	h := newHost(t)
	v4 := func(protocol byte, options, ports int) []byte {
		b := make([]byte, 20+4*options+ports)
		b[0], b[9] = byte(0x45+options), protocol
		return b
	}
	v6 := func(protocol byte, ports int) []byte {
		b := make([]byte, 40+ports)
		b[0], b[6] = 0x60, protocol
		return b
	}
	for _, tt := range []struct {
		name    string
		packet  []byte
		at      int
		decides bool
	}{
		{"IPv4 source", v4(1, 0, 0), 12, true}, {"IPv4 destination", v4(1, 0, 0), 19, true}, {"IPv4 protocol", v4(1, 0, 0), 9, true}, {"IPv4 TTL", v4(1, 0, 0), 8, false}, {"a short packet", v4(1, 0, 0)[:19], 12, false},
		{"TCP port", v4(ProtoTCP, 0, 4), 20, true}, {"UDP port", v4(ProtoUDP, 0, 4), 23, true}, {"half of the ports", v4(ProtoTCP, 0, 3), 20, false}, {"no ports", v4(1, 0, 4), 20, false}, {"an option", v4(ProtoTCP, 1, 4), 20, false}, {"a port after an option", v4(ProtoTCP, 1, 4), 24, true}, {"behind the ports", v4(ProtoTCP, 0, 5), 24, false},
		{"IPv6 source", v6(58, 0), 8, true}, {"IPv6 destination", v6(58, 0), 39, true}, {"IPv6 hop limit", v6(58, 0), 7, false}, {"IPv6 protocol", v6(58, 0), 6, true}, {"a short IPv6 packet", v6(58, 0)[:39], 8, false},
		{"TCP port of IPv6", v6(ProtoTCP, 4), 40, true}, {"UDP port of IPv6", v6(ProtoUDP, 4), 43, true}, {"half of those", v6(ProtoUDP, 3), 40, false}, {"no ports of IPv6", v6(58, 4), 40, false}, {"another version", append([]byte{0x50}, make([]byte, 50)...), 12, false},
	} {
		before := h.FlowHash(tt.packet)
		tt.packet[tt.at]++
		assert.Equal(t, tt.decides, before != h.FlowHash(tt.packet), tt.name)
	}
	assert.NotZero(t, h.FlowHash(nil))
}

// TestSizesOfPackets: the largest ones, and fragments.
func TestSizesOfPackets(t *testing.T) {
	h := newHost(t)
	_, err := h.NewSkb(make([]byte, MaxPacket), true, false, false, nil)
	assert.NoError(t, err)
	_, err = h.NewSkb(make([]byte, MaxPacket+1), true, false, false, nil)
	assert.ErrorContains(t, err, "at most")
	frag := func(n int) [][]byte { return [][]byte{make([]byte, n)} }
	for n, ok := range map[int]bool{0: false, 1: true, uapi.PageSize: true, uapi.PageSize + 1: false} {
		_, err := h.NewSkb(make([]byte, 60), true, false, false, frag(n))
		assert.Equal(t, ok, err == nil, "%d", n)
	}
	many := make([][]byte, maxFrags+1)
	for i := range many {
		many[i] = []byte{1}
	}
	_, err = h.NewSkb(make([]byte, 60), true, false, false, many[1:])
	require.NoError(t, err)
	_, err = h.NewSkb(make([]byte, 60), true, false, false, many)
	assert.ErrorIs(t, err, uapi.ENOMEM)
	for n, frags := range map[int]int{MostXDP - 1: 0, MostXDP: 0, MostXDP + 1: 1} {
		p, err := h.NewXDP(make([]byte, n), 0, nil, nil)
		require.NoError(t, err)
		assert.Equal(t, frags, p.Fragments(), "%d", n)
		assert.Equal(t, n, p.Len())
	}
	zone := ConnZone{ID: 7, Dir: 1}
	assert.EqualValues(t, 7, zone.in(0))
	assert.EqualValues(t, 0, zone.in(1))
}
