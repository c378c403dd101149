//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/internal/bpfsys/network"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Messages about routes and neighbors of simulated devices (net/ipv4/fib_frontend.c,
// net/ipv6/route.c, net/core/neighbour.c).

// Sizes of struct rtmsg and struct ndmsg.
const rtmsgSize, ndmsgSize = 12, 12

// routeMessage is a message about a route.
type routeMessage struct {
	family  byte
	route   network.Route
	oif     uint32
	hops    []uint32 // indices of the devices of the route's Hops
	tos     byte
	unknown []uint16
}

// Size of struct rtnexthop, and flags: users may not set RTNH_F_DEAD and RTNH_F_LINKDOWN.
const (
	rtnexthopSize               = 8
	hopDead, hopOnlink, hopDown = 1, 4, 16
)

// parseHops reads the ways of a multipath route (fib_get_nhs, ip6_route_multipath_add).
func (m *routeMessage) parseHops(data []byte, address func([]byte) netip.Addr) unix.Errno {
	for len(data) > 0 {
		if len(data) < rtnexthopSize {
			return unix.EINVAL
		}
		size := int(le.Uint16(data))
		if size < rtnexthopSize || size > len(data) || data[2]&(hopDead|hopDown) != 0 {
			return unix.EINVAL
		}
		if data[2]&hopOnlink != 0 {
			m.unknown = append(m.unknown, unix.RTA_MULTIPATH)
		}
		h := network.Hop{More: data[3]}
		attributes(data[rtnexthopSize:size], func(typ uint16, data []byte) {
			if typ == unix.RTA_GATEWAY {
				h.Via = address(data)
			} else {
				m.unknown = append(m.unknown, typ)
			}
		})
		m.route.Hops = append(m.route.Hops, h)
		m.hops = append(m.hops, le.Uint32(data[4:]))
		data = data[min(len(data), (size+3)&^3):]
	}
	if len(m.hops) == 0 {
		return unix.EINVAL
	}
	return 0
}

// parseRoute reads a message without its netlink header.
func parseRoute(b []byte) (m routeMessage, e unix.Errno) {
	if len(b) < rtmsgSize {
		return m, unix.EINVAL
	}
	m.family, m.tos = b[0], b[3]
	r := &m.route
	r.Table, r.Origin, r.Scope, r.Type = uint32(b[4]), b[5], b[6], b[7]
	r.Onlink = b[8]&hopOnlink != 0
	to := netip.IPv4Unspecified()
	switch m.family {
	case unix.AF_INET:
	case unix.AF_INET6:
		to = netip.IPv6Unspecified()
	default:
		return m, unix.EOPNOTSUPP
	}
	address := func(data []byte) netip.Addr {
		if m.family == unix.AF_INET {
			if len(data) < 4 { // rtm_ipv4_policy
				e = unix.ERANGE
				return netip.Addr{}
			}
			data = data[:4]
		}
		a, ok := netip.AddrFromSlice(data)
		if !ok || a.Is4() != (m.family == unix.AF_INET) {
			e = unix.EINVAL
		}
		return a
	}
	attributes(b[rtmsgSize:], func(typ uint16, data []byte) {
		word := func() uint32 {
			if len(data) < 4 {
				e = unix.ERANGE
				return 0
			}
			return le.Uint32(data)
		}
		switch typ {
		case unix.RTA_DST:
			to = address(data)
		case unix.RTA_GATEWAY:
			if r.Via = address(data); r.Via.Is4() && r.Via.IsUnspecified() { // rtm_to_fib_config: none
				r.Via = netip.Addr{}
			}
		case unix.RTA_PREFSRC:
			r.From = address(data)
		case unix.RTA_OIF:
			m.oif = word()
		case unix.RTA_MULTIPATH:
			if bad := m.parseHops(data, address); bad != 0 {
				e = bad
			}
		case unix.RTA_PRIORITY:
			r.Priority = word()
		case unix.RTA_TABLE:
			r.Table = word()
		case unix.RTA_METRICS:
			if bad := parseMetrics(&m, data); bad != 0 {
				e = bad
			}
		case unix.RTA_UNSPEC, unix.RTA_PREF, unix.RTA_UID, unix.RTA_CACHEINFO:
		default:
			m.unknown = append(m.unknown, typ)
		}
	})
	if e != 0 {
		return m, e
	}
	if r.Table == 0 {
		r.Table = network.TableMain
	}
	if r.To = netip.PrefixFrom(to, int(b[1])); !r.To.IsValid() {
		return m, unix.EINVAL
	}
	return m, 0
}

// parseMetrics reads the values of a route (ip_metrics_convert). The name of a congestion control is
// not simulated.
func parseMetrics(m *routeMessage, data []byte) (e unix.Errno) {
	const mtu, advmss, hopLimit, congestion = 2, 8, 10, 16
	attributes(data, func(typ uint16, data []byte) {
		switch {
		case typ == 0:
		case int(typ) > len(m.route.Metrics):
			e = unix.EINVAL
		case typ == congestion:
			m.unknown = append(m.unknown, unix.RTA_METRICS)
		case len(data) < 4:
			e = unix.EINVAL
		default:
			v := le.Uint32(data)
			switch typ {
			case mtu:
				v = min(v, 65535-15)
			case advmss:
				v = min(v, 65535-40)
			case hopLimit:
				v = min(v, 255)
			}
			m.route.Metrics[typ-1] = v
		}
	})
	return e
}

// appendMetrics appends the values of a route (rtnetlink_put_metrics).
func appendMetrics(b []byte, m *network.Metrics) []byte {
	var list []byte
	for i, v := range m {
		if v != 0 {
			list = appendAttribute(list, uint16(i+1), le.AppendUint32(nil, v))
		}
	}
	if list == nil {
		return b
	}
	return appendAttribute(b, unix.RTA_METRICS, list)
}

// changeRoute serves RTM_NEWROUTE and RTM_DELROUTE of simulated devices; served is false when they
// are about the host's.
func (c *call) changeRoute(netns uint32, typ uapi.RouteMessage, flags uint16, b []byte) (e unix.Errno, served bool) {
	m, e := parseRoute(b)
	if e != 0 {
		return e, netns != 0
	}
	c.s.sys.Network(func(n *network.Network) {
		r := m.route
		if m.oif != 0 {
			r.Device = n.At(netns, m.oif)
		}
		known := true // all devices that are named
		for i, index := range m.hops {
			if index != 0 {
				r.Hops[i].Device = n.At(netns, index)
				known = known && r.Hops[i].Device != nil
			}
		}
		if len(r.Hops) > 0 && netns == 0 && !(known && leadsHere(n, r.Hops)) {
			return // of the host
		} else if via := (*network.Route)(nil); len(r.Hops) == 0 && netns == 0 && r.Device == nil {
			if r.Via.IsValid() && m.oif == 0 {
				via = n.Lookup(netns, r.Via)
			}
			if via == nil && !(typ == uapi.RouteDelroute && m.oif == 0 && hasRoute(n, &r)) {
				return // of the host
			}
		}
		served = true
		_, nowhere := r.Nowhere()
		switch {
		case !c.capable(unix.CAP_NET_ADMIN):
			e = unix.EPERM
		case m.tos != 0 && m.family == unix.AF_INET:
			c.s.note(fmt.Sprintf("netlink message %s: routes of a type of service are not simulated", typ))
			e = unix.EOPNOTSUPP
		case typ == uapi.RouteNewroute && m.family == unix.AF_INET && (b[8]&(hopDead|hopDown) != 0 || r.Onlink && !r.Via.IsValid() && len(r.Hops) == 0): // fib_create_info, fib_check_nh_nongw
			e = unix.EINVAL
		case len(m.unknown) > 0 || typ == uapi.RouteNewroute && r.Type != network.RouteUnicast && !nowhere:
			what := fmt.Sprintf("routes of type %d are", r.Type)
			if len(m.unknown) > 0 {
				what = fmt.Sprintf("attribute %d of routes is", m.unknown[0])
			}
			c.s.note(fmt.Sprintf("netlink message %s: %s not simulated", typ, what))
			e = unix.EOPNOTSUPP
		case m.oif != 0 && r.Device == nil, !known:
			e = unix.ENODEV
		case typ == uapi.RouteDelroute && m.family == unix.AF_INET && r.To != r.To.Masked(): // fib_valid_key_len
			e = unix.EINVAL
		case typ == uapi.RouteDelroute:
			errno, ours := n.DelRoute(netns, r)
			if e = errnoOf(errno); !ours {
				c.s.note("netlink message RTM_DELROUTE: routes that follow from an address cannot be removed without it")
				e = unix.EOPNOTSUPP
			}
		default:
			e = errnoOf(n.AddRoute(netns, r, network.Adding{
				Create: flags&unix.NLM_F_CREATE != 0, Exclusive: flags&unix.NLM_F_EXCL != 0, Replace: flags&unix.NLM_F_REPLACE != 0, Append: flags&unix.NLM_F_APPEND != 0,
			}))
		}
	})
	return e, served
}

// leadsHere reports whether all ways of a route of the initial namespace lead to simulated devices.
func leadsHere(n *network.Network, hops []network.Hop) bool {
	for _, h := range hops {
		if h.Device == nil && n.Lookup(0, h.Via) == nil {
			return false
		}
	}
	return true
}

// hasRoute reports whether a route of the initial namespace was added here.
func hasRoute(n *network.Network, r *network.Route) bool {
	for _, x := range n.Routes(0, r.To.Addr().Is4()) {
		if x.To == r.To && x.Origin != network.OriginKernel {
			return true
		}
	}
	return false
}

// routeBody returns the message of a route without its header (fib_dump_info, rt6_fill_node).
func routeBody(r *network.Route) []byte {
	is4 := r.To.Addr().Is4()
	family := byte(unix.AF_INET6)
	if is4 {
		family = unix.AF_INET
	}
	b := []byte{family, byte(r.To.Bits()), 0, 0, byte(min(r.Table, 252)), r.Origin, r.Scope, r.Type, r.Flags(), 0, 0, 0}
	if r.Table <= 255 {
		b[4] = byte(r.Table)
	}
	b = appendAttribute(b, unix.RTA_TABLE, le.AppendUint32(nil, r.Table))
	if r.To.Bits() > 0 {
		b = appendAttribute(b, unix.RTA_DST, r.To.Addr().AsSlice())
	}
	if r.Priority != 0 && is4 {
		b = appendAttribute(b, unix.RTA_PRIORITY, le.AppendUint32(nil, r.Priority))
	}
	if is4 {
		b = appendMetrics(b, &r.Metrics)
	}
	if r.From.IsValid() {
		b = appendAttribute(b, unix.RTA_PREFSRC, r.From.AsSlice())
	}
	if !is4 {
		b = appendMetrics(b, &r.Metrics)
		b = appendAttribute(b, unix.RTA_PRIORITY, le.AppendUint32(nil, r.Priority))
	}
	return appendHop(b, r, !is4)
}

// appendHop appends where a route leads: gateway and device, and for IPv6 times and a preference.
func appendHop(b []byte, r *network.Route, six bool) []byte {
	if len(r.Hops) > 0 {
		var list []byte
		for _, h := range r.Hops {
			var gateway []byte
			if h.Via.IsValid() {
				gateway = appendAttribute(nil, unix.RTA_GATEWAY, h.Via.AsSlice())
			}
			list = append(le.AppendUint16(list, uint16(rtnexthopSize+len(gateway))), h.Flags(), h.More)
			list = append(le.AppendUint32(list, h.Device.Index), gateway...)
		}
		b = appendAttribute(b, unix.RTA_MULTIPATH, list)
	} else {
		if r.Via.IsValid() {
			b = appendAttribute(b, unix.RTA_GATEWAY, r.Via.AsSlice())
		}
		if r.Device != nil {
			b = appendAttribute(b, unix.RTA_OIF, le.AppendUint32(nil, r.Device.Index))
		}
	}
	if six {
		b = appendAttribute(b, unix.RTA_CACHEINFO, make([]byte, 32))
		b = appendAttribute(b, unix.RTA_PREF, []byte{0})
	}
	return b
}

// foundBody answers RTM_GETROUTE about an address (rt_fill_info, inet6_rtm_getroute). Local
// addresses of IPv4 lead to lo.
func foundBody(r *network.Route, to netip.Addr) []byte {
	const cloned, local = 0x200, 0x80000000
	if len(r.Hops) > 0 {
		one, way := *r, r.Hop()
		one.Via, one.Device, one.Hops = way.Via, way.Device, nil
		r = &one
	}
	source := r.From
	if next := to; !source.IsValid() {
		if r.Via.IsValid() {
			next = r.Via
		}
		source = r.Device.Source(next)
	}
	if !to.Is4() {
		x := *r
		x.From = source
		b := []byte{unix.AF_INET6, 128, 128, 0, byte(r.Table), r.Origin, r.Scope, r.Type, 0, 0, 0, 0}
		b = appendAttribute(b, unix.RTA_TABLE, le.AppendUint32(nil, r.Table))
		b = appendAttribute(b, unix.RTA_DST, to.AsSlice())
		b = appendAttribute(b, unix.RTA_SRC, make([]byte, 16))
		if source.IsValid() {
			b = appendAttribute(b, unix.RTA_PREFSRC, source.AsSlice())
		}
		b = appendMetrics(b, &r.Metrics)
		b = appendAttribute(b, unix.RTA_PRIORITY, le.AppendUint32(nil, r.Priority))
		return appendHop(b, &x, true)
	}
	flags, index := uint32(cloned), r.Device.Index
	if r.Type == network.RouteLocal {
		flags |= local
		index = 1
	}
	b := []byte{unix.AF_INET, 32, 0, 0, network.TableMain, 0, 0, r.Type}
	b = le.AppendUint32(b, flags)
	b = appendAttribute(b, unix.RTA_TABLE, le.AppendUint32(nil, network.TableMain))
	b = appendAttribute(b, unix.RTA_DST, to.AsSlice())
	b = appendAttribute(b, unix.RTA_OIF, le.AppendUint32(nil, index))
	if source.IsValid() {
		b = appendAttribute(b, unix.RTA_PREFSRC, source.AsSlice())
	}
	if r.Via.IsValid() {
		b = appendAttribute(b, unix.RTA_GATEWAY, r.Via.AsSlice())
	}
	b = appendMetrics(b, &r.Metrics)
	b = appendAttribute(b, unix.RTA_UID, make([]byte, 4))
	return appendAttribute(b, unix.RTA_CACHEINFO, make([]byte, 32))
}

// findRoute answers RTM_GETROUTE about an address; served is false if a route of the host leads
// there.
func (c *call) findRoute(g int, ino uint64, netns uint32, msg []byte) (e unix.Errno, served bool) {
	m, e := parseRoute(msg[nlmsgHdrSize:])
	if e != 0 {
		return e, netns != 0
	}
	var body []byte
	c.s.sys.Network(func(n *network.Network) {
		r := n.Lookup(netns, m.route.To.Addr())
		if r == nil {
			return
		}
		if none, nowhere := r.Nowhere(); nowhere {
			e = errnoOf(none)
		} else {
			body = foundBody(r, m.route.To.Addr())
		}
	})
	switch {
	case e != 0:
		return e, true
	case body != nil:
		c.s.queue(g, ino, msg, uapi.RouteNewroute, 0, body)
		return 0, true
	case netns != 0:
		return unix.ENETUNREACH, true
	}
	return 0, false
}

// changeNeighbor serves RTM_NEWNEIGH and RTM_DELNEIGH of simulated devices.
func (c *call) changeNeighbor(netns uint32, typ uapi.RouteMessage, flags uint16, b []byte) (e unix.Errno, served bool) {
	if len(b) < ndmsgSize {
		return unix.EINVAL, netns != 0
	}
	x, hasAddr := network.Neighbor{State: le.Uint16(b[8:]), Flags: b[10]}, false
	attributes(b[ndmsgSize:], func(typ uint16, data []byte) {
		switch typ {
		case unix.NDA_DST:
			if b[0] == unix.AF_INET && len(data) > 4 { // the kernel reads as many as it needs
				data = data[:4]
			}
			x.Addr, _ = netip.AddrFromSlice(data)
			hasAddr = true
		case unix.NDA_LLADDR:
			x.Address = append([]byte{}, data...)
		}
	})
	c.s.sys.Network(func(n *network.Network) {
		index := le.Uint32(b[4:])
		d := n.At(netns, index)
		if served = d != nil || netns != 0; !served {
			return
		}
		switch {
		case !c.capable(unix.CAP_NET_ADMIN):
			e = unix.EPERM
		case !hasAddr:
			e = unix.EINVAL
		case d == nil && index != 0:
			e = unix.ENODEV
		case b[0] == unix.AF_BRIDGE:
			c.s.note("netlink message " + typ.String() + " of a bridge is not simulated")
			e = unix.EOPNOTSUPP
		case b[0] != unix.AF_INET && b[0] != unix.AF_INET6: // neigh_find_table
			e = unix.EAFNOSUPPORT
		case d == nil || !x.Addr.IsValid() || x.Addr.Is4() != (b[0] == unix.AF_INET):
			e = unix.EINVAL
		case typ == uapi.RouteDelneigh:
			e = errnoOf(d.DelNeighbor(x.Addr))
		default:
			e = errnoOf(d.SetNeighbor(x, flags&unix.NLM_F_CREATE != 0, flags&unix.NLM_F_EXCL != 0, flags&unix.NLM_F_REPLACE != 0))
		}
	})
	return e, served
}

// neighborBody returns the message of a neighbor without its header (neigh_fill_info).
func neighborBody(d *network.Device, x *network.Neighbor) []byte {
	family := byte(unix.AF_INET6)
	if x.Addr.Is4() {
		family = unix.AF_INET
	}
	b := le.AppendUint32([]byte{family, 0, 0, 0}, d.Index)
	b = append(le.AppendUint16(b, x.State), x.Flags, network.RouteUnicast)
	b = appendAttribute(b, unix.NDA_DST, x.Addr.AsSlice())
	if x.Address != nil {
		b = appendAttribute(b, unix.NDA_LLADDR, x.Address)
	}
	b = appendAttribute(b, unix.NDA_PROBES, make([]byte, 4))
	return appendAttribute(b, unix.NDA_CACHEINFO, make([]byte, 16))
}

// listFilter is what a socket with NETLINK_GET_STRICT_CHK chooses of a list of routes or neighbors.
// 0 chooses all.
type listFilter struct{ device, table uint32 }

func filterOf(g int, msg []byte) (f listFilter) {
	typ, body := uapi.RouteMessage(le.Uint16(msg[4:])), msg[nlmsgHdrSize:]
	strict, err := unix.GetsockoptInt(g, unix.SOL_NETLINK, unix.NETLINK_GET_STRICT_CHK)
	if err != nil || strict == 0 || le.Uint16(msg[6:])&unix.NLM_F_DUMP == 0 || len(body) < rtmsgSize {
		return f
	}
	device, table := uint16(unix.RTA_OIF), uint16(unix.RTA_TABLE)
	switch typ {
	case uapi.RouteGetroute:
		f.table = uint32(body[4])
	case uapi.RouteGetneigh:
		f.device, device, table = le.Uint32(body[4:]), unix.NDA_IFINDEX, 0
	default:
		return f
	}
	attributes(body[rtmsgSize:], func(typ uint16, data []byte) {
		switch {
		case len(data) < 4:
		case typ == device:
			f.device = le.Uint32(data)
		case typ == table:
			f.table = le.Uint32(data)
		}
	})
	return f
}

// takes reports whether something of a device and a table is listed.
func (f listFilter) takes(device, table uint32) bool {
	return (f.device == 0 || f.device == device) && (f.table == 0 || f.table == table)
}

// simulatedRoutes returns the messages that list the routes or the neighbors of simulated devices,
// which answer RTM_GETROUTE and RTM_GETNEIGH.
func (s *supervisor) simulatedRoutes(g int, netns uint32, msg []byte) (out []byte) {
	port, f, flags := portOf(g), filterOf(g, msg), uint16(unix.NLM_F_MULTI)
	if f != (listFilter{}) {
		flags |= unix.NLM_F_DUMP_FILTERED
	}
	family := byte(0)
	if len(msg) > nlmsgHdrSize {
		family = msg[nlmsgHdrSize]
	}
	s.sys.Network(func(n *network.Network) {
		for _, is4 := range []bool{true, false} {
			if family != 0 && is4 != (family == unix.AF_INET) {
				continue
			}
			if uapi.RouteMessage(le.Uint16(msg[4:])) == uapi.RouteGetroute {
				for _, r := range n.Routes(netns, is4) {
					device := uint32(0)
					if r.Device != nil {
						device = r.Device.Index
					}
					if f.takes(device, r.Table) {
						out = append(out, header(msg, port, uapi.RouteNewroute, flags, routeBody(r))...)
					}
				}
				continue
			}
			for _, d := range n.Devices(netns) {
				for _, x := range d.Neighbors {
					if x.Addr.Is4() == is4 && f.takes(d.Index, f.table) {
						out = append(out, header(msg, port, uapi.RouteNewneigh, flags, neighborBody(d, x))...)
					}
				}
			}
		}
	})
	return out
}
