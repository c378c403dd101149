package network

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Tables, origins, scopes and types of routes (include/uapi/linux/rtnetlink.h).
const (
	TableMain  = 254
	TableLocal = 255

	OriginKernel = 2

	ScopeUniverse = 0
	ScopeLink     = 253
	ScopeHost     = 254
	ScopeNowhere  = 255

	RouteUnicast   = 1
	RouteLocal     = 2
	RouteBroadcast = 3
	RouteMulticast = 5
)

// routeErrors are what packets of types of routes get that lead nowhere (fib_props): blackhole,
// unreachable, prohibit and throw.
var routeErrors = map[uint8]uapi.Errno{6: uapi.EINVAL, 7: uapi.EHOSTUNREACH, 8: uapi.EACCES, 9: uapi.EAGAIN}

// Nowhere reports whether a route of IPv4 leads nowhere, and the error that packets get.
func (r *Route) Nowhere() (uapi.Errno, bool) {
	e, ok := routeErrors[r.Type]
	return e, ok && r.To.Addr().Is4()
}

// Metrics are a route's values by number less one (RTAX_*), 0 where it has none.
type Metrics [17]uint32

// Metrics of IPv6 routes: what users get who give none, and those that the kernel adds.
const (
	metricUser, metricKernel = 1024, 256
)

// Route is a route to a prefix.
type Route struct {
	To       netip.Prefix
	Via      netip.Addr // the gateway, if any
	From     netip.Addr // the preferred source address, if any
	Device   *Device
	Table    uint32
	Priority uint32
	Origin   uint8 // RTPROT_*
	Scope    uint8
	Type     uint8
	Metrics  Metrics
	// Onlink is whether the gateway is on the device's link, whatever its address (RTNH_F_ONLINK).
	Onlink bool
	// Hops are the ways of a multipath route, two or more. Via is then not set, and Device is the
	// first one's.
	Hops []Hop
}

// Hop is one way of a multipath route.
type Hop struct {
	Via    netip.Addr
	Device *Device
	// More is the weight less one (rtnh_hops).
	More uint8
}

// Dead reports whether packets cannot go that way.
func (h *Hop) Dead() bool { return !h.Device.Up() }

// Flags of ways (RTNH_F_*).
const (
	hopDead     = 1
	hopOnlink   = 4
	hopLinkDown = 16
)

// Flags returns RTNH_F_DEAD and RTNH_F_LINKDOWN of a way.
func (h *Hop) Flags() (f uint8) {
	if h.Dead() {
		f = hopDead
	}
	if h.Device.Flags()&FlagLowerUp == 0 {
		f |= hopLinkDown
	}
	return f
}

// Flags returns those of a route to elsewhere: RTNH_F_LINKDOWN if no way has a carrier. For routes
// with several ways only IPv4 has them.
func (r *Route) Flags() uint8 {
	if r.Type != RouteUnicast && r.Type != RouteBroadcast || len(r.Hops) > 0 && !r.To.Addr().Is4() {
		return 0
	}
	all := uint8(hopLinkDown)
	for i := range r.Hops {
		all &= r.Hops[i].Flags()
	}
	if len(r.Hops) > 0 {
		return all
	}
	way := Hop{Via: r.Via, Device: r.Device}
	all &= way.Flags()
	if r.Onlink {
		all |= hopOnlink
	}
	return all
}

// Hop returns the way that a packet takes: of several, the first that is not dead. Kernels choose
// by a hash of the packet's flow.
func (r *Route) Hop() Hop {
	for i := range r.Hops {
		if !r.Hops[i].Dead() {
			return r.Hops[i]
		}
	}
	return Hop{Via: r.Via, Device: r.Device}
}

// goesBy reports whether all of a route's ways lead through a device, or through others that are
// dead.
func (r *Route) goesBy(d *Device) bool {
	for i := range r.Hops {
		if r.Hops[i].Device != d && !r.Hops[i].Dead() {
			return false
		}
	}
	return len(r.Hops) > 0 || r.Device == d
}

// equal reports whether two routes are the same in all respects.
func (r *Route) equal(x *Route) bool {
	return r.To == x.To && r.Via == x.Via && r.From == x.From && r.Device == x.Device && r.Table == x.Table && r.Priority == x.Priority && r.Origin == x.Origin && r.Scope == x.Scope &&
		r.Type == x.Type && r.Onlink == x.Onlink && r.Metrics == x.Metrics && slices.Equal(r.Hops, x.Hops)
}

// leads reports whether a route leads where another one says, which may leave out devices
// (fib_nh_match).
func (r *Route) leads(want *Route) bool {
	if len(want.Hops) > 0 {
		return slices.EqualFunc(r.Hops, want.Hops, func(a, b Hop) bool {
			return (b.Device == nil || a.Device == b.Device) && (!b.Via.IsValid() || a.Via == b.Via)
		})
	}
	via := r.Via
	if len(r.Hops) > 0 {
		via = r.Hops[0].Via
	}
	return (!want.Via.IsValid() || via == want.Via) && (want.Device == nil || r.Device == want.Device)
}

// maxHops limits the ways of a route.
const maxHops = 256

// maxRoutes limits the routes that a tool can add in a namespace.
const maxRoutes = 4096

// Routes returns the routes of a namespace for an address family (IPv4 if is4) in the order in
// which kernels list them: those that follow from devices and addresses, and those that were added.
func (n *Network) Routes(netns uint32, is4 bool) []*Route {
	s := n.spaces[netns]
	if s == nil {
		return nil
	}
	var out []*Route
	for _, d := range n.Devices(netns) {
		out = append(out, d.routes(is4)...)
	}
	for _, r := range s.routes {
		if r.To.Addr().Is4() == is4 {
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b *Route) int {
		return cmp.Or(cmp.Compare(a.Table, b.Table), boolCompare(a.Type == RouteMulticast, b.Type == RouteMulticast), a.To.Addr().Compare(b.To.Addr()), cmp.Compare(b.To.Bits(), a.To.Bits()),
			cmp.Compare(a.Priority, b.Priority))
	})
	return out
}

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// routes returns the routes that follow from a device's addresses (fib_add_ifaddr,
// addrconf_add_dev).
func (d *Device) routes(is4 bool) (out []*Route) {
	add := func(to netip.Prefix, r Route) {
		r.To, r.Device, r.Origin = to, d, OriginKernel
		out = append(out, &r)
	}
	for _, a := range d.Addrs {
		ip := a.Prefix.Addr()
		host := netip.PrefixFrom(ip, ip.BitLen())
		switch net := a.network(); {
		case ip.Is4() != is4:
		case !is4:
			if d.Up() {
				add(host, Route{Table: TableLocal, Type: RouteLocal})
				if net != host {
					add(net, Route{Table: TableMain, Type: RouteUnicast, Priority: metricKernel})
				}
			}
		default:
			out = append(out, d.routes4(&a)...)
		}
	}
	if !is4 && d.Up() && d.Kind != kindLoopback {
		add(netip.MustParsePrefix("ff00::/8"), Route{Table: TableLocal, Type: RouteMulticast, Priority: metricKernel})
	}
	return out
}

// routes4 returns the routes that follow from an address of IPv4 (fib_add_ifaddr).
func (d *Device) routes4(a *Addr) (out []*Route) {
	ip, net, from := a.Prefix.Addr(), a.network(), a.Prefix.Addr()
	if a.Flags&AddrSecondary != 0 { // the routes are of the primary address
		for i := range d.Addrs {
			if x := &d.Addrs[i]; x.Flags&AddrSecondary == 0 && x.network() == net {
				from = x.Prefix.Addr()
			}
		}
	}
	add := func(to netip.Prefix, table uint32, typ, scope uint8) {
		out = append(out, &Route{To: to, Device: d, Origin: OriginKernel, Table: table, Type: typ, Scope: scope, From: from})
	}
	add(netip.PrefixFrom(ip, 32), TableLocal, RouteLocal, ScopeHost)
	if !d.Up() {
		return out
	}
	broadcast := a.Broadcast
	if broadcast.IsValid() && broadcast != netip.AddrFrom4([4]byte{255, 255, 255, 255}) {
		add(netip.PrefixFrom(broadcast, 32), TableLocal, RouteBroadcast, ScopeLink)
	} else {
		broadcast = netip.Addr{}
	}
	if net.Addr().As4()[0] == 0 || a.Flags&AddrSecondary != 0 || net == netip.PrefixFrom(ip, 32) {
		return out
	}
	if d.Kind == kindLoopback {
		add(net, TableLocal, RouteLocal, ScopeHost)
	} else {
		add(net, TableMain, RouteUnicast, ScopeLink)
	}
	if last := lastOf(net); net.Bits() < 31 && last != broadcast {
		add(netip.PrefixFrom(last, 32), TableLocal, RouteBroadcast, ScopeLink)
	}
	return out
}

// lastOf returns the last address of an IPv4 prefix.
func lastOf(p netip.Prefix) netip.Addr {
	b := p.Addr().As4()
	for i := p.Bits(); i < 32; i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	return netip.AddrFrom4(b)
}

// Lookup returns the route to an address, or nil: the local table first, then the longest prefix.
func (n *Network) Lookup(netns uint32, to netip.Addr) *Route {
	var best *Route
	for _, table := range []uint32{TableLocal, TableMain} {
		for _, r := range n.Routes(netns, to.Is4()) {
			if r.Table == table && r.To.Contains(to) && (best == nil || r.To.Bits() > best.To.Bits()) {
				best = r
			}
		}
		if best != nil {
			return best
		}
	}
	return nil
}

// nextHop completes a route's device by its gateway, and checks both (fib_check_nh,
// ip6_route_check_nh).
func (n *Network) nextHop(netns uint32, r *Route) uapi.Errno {
	unreachable := uapi.ENETUNREACH
	if !r.To.Addr().Is4() {
		unreachable = uapi.EHOSTUNREACH
	}
	if r.Via.IsValid() && !r.Onlink {
		via := n.Lookup(netns, r.Via)
		if via == nil || via.Type != RouteUnicast || via.Via.IsValid() || r.Device != nil && r.Device != via.Device {
			return unreachable
		}
		r.Device = via.Device
	}
	switch {
	case r.Device == nil:
		return uapi.ENODEV
	case !r.Device.Up():
		return uapi.ENETDOWN
	}
	return 0
}

// nextHops completes and checks all ways of a route. One way alone is no multipath route, and a
// route that leads nowhere has none (fib_create_info).
func (n *Network) nextHops(netns uint32, r *Route) uapi.Errno {
	if _, nowhere := r.Nowhere(); nowhere {
		if r.Device != nil || r.Via.IsValid() || len(r.Hops) > 0 {
			return uapi.EINVAL
		}
		return 0
	}
	if len(r.Hops) > maxHops {
		return uapi.EINVAL
	}
	if len(r.Hops) == 1 {
		r.Via, r.Device, r.Hops = r.Hops[0].Via, r.Hops[0].Device, nil
	}
	if len(r.Hops) == 0 {
		return n.nextHop(netns, r)
	}
	r.Hops = slices.Clone(r.Hops)
	for i := range r.Hops {
		one := Route{To: r.To, Via: r.Hops[i].Via, Device: r.Hops[i].Device}
		if e := n.nextHop(netns, &one); e != 0 {
			return e
		}
		r.Hops[i].Device = one.Device
	}
	r.Device = r.Hops[0].Device
	return 0
}

// Adding is how a route is added: NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE and NLM_F_APPEND.
type Adding struct{ Create, Exclusive, Replace, Append bool }

// AddRoute adds a route (fib_table_insert, fib6_add).
func (n *Network) AddRoute(netns uint32, r Route, how Adding) uapi.Errno {
	s := n.spaces[netns]
	switch {
	case s == nil:
		return uapi.ENODEV
	case r.To != r.To.Masked():
		return uapi.EINVAL
	}
	if !r.To.Addr().Is4() {
		if r.Scope = 0; r.Priority == 0 {
			r.Priority = metricUser
		}
	}
	if e := n.nextHops(netns, &r); e != 0 {
		return e
	}
	same := func(x *Route) bool { return x.To == r.To && x.Table == r.Table && x.Priority == r.Priority }
	first := slices.IndexFunc(s.routes, same)
	derived := slices.ContainsFunc(n.Routes(netns, r.To.Addr().Is4()), func(x *Route) bool { return same(x) && x.Origin == OriginKernel })
	equal := slices.IndexFunc(s.routes, r.equal)
	switch {
	case (first >= 0 || derived) && how.Exclusive:
		return uapi.EEXIST
	case first >= 0 && how.Replace && equal > first:
		return uapi.EEXIST
	case first >= 0 && how.Replace:
		s.routes[first] = &r
		return 0
	case equal >= 0:
		return uapi.EEXIST
	case !how.Create:
		return uapi.ENOENT
	case len(s.routes) >= maxRoutes:
		return uapi.ENOBUFS
	}
	if first < 0 {
		first = len(s.routes)
	}
	for how.Append && first < len(s.routes) && same(s.routes[first]) {
		first++
	}
	s.routes = slices.Insert(s.routes, first, &r)
	return 0
}

// DelRoute removes the first route that fits: a zero value fits any, as does the scope
// RT_SCOPE_NOWHERE (fib_table_delete, ip6_route_del). ours is false if only a route fits that
// follows from an address.
func (n *Network) DelRoute(netns uint32, r Route) (e uapi.Errno, ours bool) {
	s := n.spaces[netns]
	if s == nil {
		return uapi.ENODEV, true
	}
	fits := func(x *Route) bool {
		return x.To == r.To.Masked() && x.Table == r.Table && x.leads(&r) && (r.From == netip.Addr{} || x.From == r.From) &&
			(r.Priority == 0 || x.Priority == r.Priority) && (r.Origin == 0 || x.Origin == r.Origin) && (r.Type == 0 || x.Type == r.Type) && (r.Scope == ScopeNowhere || !r.To.Addr().Is4() || x.Scope == r.Scope)
	}
	if i := slices.IndexFunc(s.routes, fits); i >= 0 {
		s.routes = slices.Delete(s.routes, i, i+1)
		return 0, true
	}
	return uapi.ESRCH, !slices.ContainsFunc(n.Routes(netns, r.To.Addr().Is4()), fits)
}

// forget drops the added routes of a device that goes down or away, and its neighbors
// (fib_disable_ip, neigh_ifdown).
func (n *Network) forget(d *Device) {
	d.Neighbors = nil
	s := n.spaces[d.Netns]
	s.routes = slices.DeleteFunc(s.routes, func(r *Route) bool { return r.goesBy(d) })
}

// Down does what follows from a device that goes down: its routes and neighbors go, and of the other
// end of a pair, which loses its carrier, those neighbors that are not permanent
// (neigh_carrier_down).
func (n *Network) Down(d *Device) {
	const permanent = 0x80
	if d.Up() {
		return
	}
	n.forget(d)
	if d.Peer != nil {
		d.Peer.Neighbors = slices.DeleteFunc(d.Peer.Neighbors, func(x *Neighbor) bool { return x.State&permanent == 0 })
	}
}

// Neighbor is the link-layer address of an IP address on a device's link. State is NUD_*, Flags
// NTF_*.
type Neighbor struct {
	Addr    netip.Addr
	State   uint16
	Flags   uint8
	Address []byte
}

// maxNeighbors limits the neighbors of a device.
const maxNeighbors = 1024

// States of neighbors that need no confirmation or have one (NUD_VALID in include/net/neighbour.h).
const neighborValid = 0x80 | 0x40 | 0x02 | 0x10 | 0x04 | 0x08

// SetNeighbor adds or changes a neighbor (neigh_add).
func (d *Device) SetNeighbor(x Neighbor, create, exclusive, replace bool) uapi.Errno {
	if x.Address != nil && len(x.Address) < len(d.Address) {
		return uapi.EINVAL
	}
	i := slices.IndexFunc(d.Neighbors, func(o *Neighbor) bool { return o.Addr == x.Addr })
	switch {
	case i < 0 && !create:
		return uapi.ENOENT
	case i >= 0 && exclusive:
		return uapi.EEXIST
	case i < 0 && len(d.Neighbors) >= maxNeighbors:
		return uapi.ENOBUFS
	}
	if x.Address != nil {
		x.Address = slices.Clone(x.Address[:len(d.Address)])
	}
	switch {
	case i >= 0 && (x.Address == nil || !replace): // without NLM_F_REPLACE, the known address stays
		x.Address = d.Neighbors[i].Address
	case x.Address == nil && d.flags&FlagNoARP != 0: // its constructor gave it one
		x.Address = slices.Clone(d.Address[:])
	case x.Address == nil && x.State&neighborValid != 0: // what was created for it stays (neigh_add)
		if i < 0 {
			d.Neighbors = append(d.Neighbors, &Neighbor{Addr: x.Addr})
		}
		return uapi.EINVAL
	}
	if i < 0 {
		d.Neighbors = append(d.Neighbors, &x)
	} else {
		d.Neighbors[i] = &x
	}
	return 0
}

// DelNeighbor removes a neighbor.
func (d *Device) DelNeighbor(a netip.Addr) uapi.Errno {
	i := slices.IndexFunc(d.Neighbors, func(o *Neighbor) bool { return o.Addr == a })
	if i < 0 {
		return uapi.ENOENT
	}
	d.Neighbors = slices.Delete(d.Neighbors, i, i+1)
	return 0
}
