package net

import (
	"net/netip"
	"slices"
)

// Network describes where a packet can be sent: interfaces, routes and neighbours. The zero value
// has the two default interfaces and no routes.
type Network struct {
	Devices    []Device
	Routes     []Route
	Neighbours []Neighbour
}

// RouteType determines what happens to packets on a route (RTN_*).
type RouteType uint8

const (
	// RouteUnicast forwards them.
	RouteUnicast RouteType = iota
	// RouteLocal delivers them locally.
	RouteLocal
	// RouteBlackhole, RouteUnreachable and RouteProhibit refuse them.
	RouteBlackhole
	RouteUnreachable
	RouteProhibit
)

// Route is an entry of a routing table.
type Route struct {
	Type    RouteType
	Dest    netip.Prefix
	Gateway netip.Addr // if invalid, the destination is on the link
	Source  netip.Addr // preferred source address
	Device  uint32
	MTU     int // 0 = the device's
	Table   uint32
	Metric  uint32
}

// Neighbour is an address on a link with a known hardware address.
type Neighbour struct {
	Addr   netip.Addr
	Device uint32
	MAC    [6]byte
}

const mainTable = 254

// SetNetwork sets the machine's interfaces, routes and neighbours.
func (h *Host) SetNetwork(n Network) {
	if len(n.Devices) == 0 {
		n.Devices = h.network.Devices
	}
	h.network = n
}

// Devices returns the interfaces.
func (h *Host) Devices() []Device { return h.network.Devices }

// Route returns the route to an address: the one with the longest prefix, and among those the
// lowest metric. Table 0 is the main one.
func (h *Host) Route(to netip.Addr, table uint32) (Route, bool) {
	if table == 0 {
		table = mainTable
	}
	var best *Route
	for i := range h.network.Routes {
		r := &h.network.Routes[i]
		t := r.Table
		if t == 0 {
			t = mainTable
		}
		if t != table || !r.Dest.Contains(to) {
			continue
		}
		if best == nil || r.Dest.Bits() > best.Dest.Bits() || r.Dest.Bits() == best.Dest.Bits() && r.Metric < best.Metric {
			best = r
		}
	}
	if best == nil {
		return Route{}, false
	}
	return *best, true
}

// Neighbour returns the hardware address of an address on a link.
func (h *Host) Neighbour(a netip.Addr, device uint32) (mac [6]byte, ok bool) {
	i := slices.IndexFunc(h.network.Neighbours, func(n Neighbour) bool { return n.Addr == a && n.Device == device })
	if i < 0 {
		return mac, false
	}
	return h.network.Neighbours[i].MAC, true
}

// MAC returns the hardware address of an interface.
func (d Device) MAC() [6]byte {
	if d.Hardware != ([6]byte{}) || d.Loopback {
		return d.Hardware
	}
	return [6]byte{2, 0, 0, 0, 0, byte(d.Index)}
}

// LoopbackIndex is the interface on which packets of a test run arrive.
const LoopbackIndex = 1

// FlowHash returns the hash of a packet's flow, computed from addresses, protocol and ports if it
// has them; p starts with the network header. It is never 0. The kernel's hash depends on a random
// key, this one on the seed.
func (h *Host) FlowHash(p []byte) uint32 {
	const ports = 4
	var flow []byte
	switch {
	case len(p) >= 20 && p[0]>>4 == 4:
		flow = append(append(flow, p[9]), p[12:20]...)
		if n := int(p[0]&15) * 4; (p[9] == ProtoTCP || p[9] == ProtoUDP) && len(p) >= n+ports {
			flow = append(flow, p[n:n+ports]...)
		}
	case len(p) >= 40 && p[0]>>4 == 6:
		flow = append(append(flow, p[6]), p[8:40]...)
		if (p[6] == ProtoTCP || p[6] == ProtoUDP) && len(p) >= 40+ports {
			flow = append(flow, p[40:40+ports]...)
		}
	}
	sum := h.Hash("flow", string(flow))
	return max(uint32(sum)^uint32(sum>>32), 1)
}

// Device is a network interface of the simulated machine.
type Device struct {
	Index    uint32
	Name     string
	MTU      int
	Loopback bool
	Hardware [6]byte // zero: made from the index
}

// defaultDevices are loopback and one Ethernet card.
var defaultDevices = []Device{
	{Index: LoopbackIndex, Name: "lo", MTU: 65536, Loopback: true},
	{Index: ethernetIndex, Name: "eth0", MTU: 1500},
}

// Device returns the interface with an index; ok is false if there is none.
func (h *Host) Device(index uint32) (d Device, ok bool) {
	for _, d := range h.network.Devices {
		if d.Index == index {
			return d, true
		}
	}
	return Device{}, false
}

// NetnsCookie returns the cookie of the initial network namespace, the first one given out.
func (h *Host) NetnsCookie() uint64 { return 1 }
