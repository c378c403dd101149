package kernel

import (
	"net/netip"
	"slices"
)

// Network is what a packet can be sent to: interfaces, routes and neighbours. The zero value has the two default interfaces and no
// routes.
type Network struct {
	Devices    []Device
	Routes     []Route
	Neighbours []Neighbour
}

// RouteType says what becomes of packets on a route (RTN_*).
type RouteType uint8

const (
	// RouteUnicast forwards them.
	RouteUnicast RouteType = iota
	// RouteLocal takes them in.
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
	Gateway netip.Addr // invalid: the destination is on the link
	Source  netip.Addr // preferred source address
	Device  uint32
	MTU     int // 0 = the device's
	Table   uint32
	Metric  uint32
}

// Neighbour is an address on a link whose hardware address is known.
type Neighbour struct {
	Addr   netip.Addr
	Device uint32
	MAC    [6]byte
}

const mainTable = 254

// SetNetwork gives the machine interfaces, routes and neighbours.
func (k *Kernel) SetNetwork(n Network) {
	if len(n.Devices) == 0 {
		n.Devices = k.net.Devices
	}
	k.net = n
}

// Devices returns the interfaces there are.
func (k *Kernel) Devices() []Device { return k.net.Devices }

// Route returns the route to an address: that of the longest prefix, of those the one with the lowest metric. Table 0 is the main one.
func (k *Kernel) Route(to netip.Addr, table uint32) (Route, bool) {
	if table == 0 {
		table = mainTable
	}
	var best *Route
	for i := range k.net.Routes {
		r := &k.net.Routes[i]
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
func (k *Kernel) Neighbour(a netip.Addr, device uint32) (mac [6]byte, ok bool) {
	i := slices.IndexFunc(k.net.Neighbours, func(n Neighbour) bool { return n.Addr == a && n.Device == device })
	if i < 0 {
		return mac, false
	}
	return k.net.Neighbours[i].MAC, true
}

// MAC is the hardware address of an interface.
func (d Device) MAC() [6]byte {
	if d.Hardware != ([6]byte{}) || d.Loopback {
		return d.Hardware
	}
	return [6]byte{2, 0, 0, 0, 0, byte(d.Index)}
}
