//go:build linux && (amd64 || arm64)

package exec

import (
	"bytes"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/bpfsys/network"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Sizes of struct rtnl_link_stats64 and struct rtnl_link_stats.
const linkStats64Size, linkStatsSize = 200, 96

// linkBody returns the message of a simulated device without its header (rtnl_fill_ifinfo).
func (s *supervisor) linkBody(d *network.Device, xdp []byte) []byte {
	b := make([]byte, ifinfomsgSize)
	le.PutUint16(b[2:], d.Hardware())
	le.PutUint32(b[4:], d.Index)
	le.PutUint32(b[8:], d.Flags())
	word := func(typ uint16, v uint32) { b = appendAttribute(b, typ, le.AppendUint32(nil, v)) }
	text := func(typ uint16, v string) { b = appendAttribute(b, typ, append([]byte(v), 0)) }
	text(unix.IFLA_IFNAME, d.Name)
	word(unix.IFLA_TXQLEN, d.Queue)
	b = appendAttribute(b, unix.IFLA_OPERSTATE, []byte{d.OperState()})
	b = appendAttribute(b, unix.IFLA_LINKMODE, []byte{0})
	word(unix.IFLA_MTU, d.MTU)
	least, most := d.MTULimits()
	word(unix.IFLA_MIN_MTU, least)
	word(unix.IFLA_MAX_MTU, most)
	word(unix.IFLA_GROUP, d.Group)
	word(unix.IFLA_PROMISCUITY, d.Promiscuous())
	word(unix.IFLA_NUM_TX_QUEUES, d.TxQueues)
	word(unix.IFLA_NUM_RX_QUEUES, d.RxQueues)
	carrier := byte(0)
	if d.Carrier() {
		carrier = 1
	}
	b = appendAttribute(b, unix.IFLA_CARRIER, []byte{carrier})
	text(unix.IFLA_QDISC, d.Qdisc())
	if d.Peer != nil {
		word(unix.IFLA_LINK, d.Peer.Index)
	}
	if d.Alias != "" {
		text(unix.IFLA_IFALIAS, d.Alias)
	}
	b = appendAttribute(b, unix.IFLA_ADDRESS, d.Address[:])
	b = appendAttribute(b, unix.IFLA_BROADCAST, d.Broadcast())
	b = appendAttribute(b, unix.IFLA_STATS64, make([]byte, linkStats64Size)) // packets do not travel
	b = appendAttribute(b, unix.IFLA_STATS, make([]byte, linkStatsSize))
	b = appendAttribute(b, iflaXDP, xdp) // these nests have no NLA_F_NESTED
	if d.Ethernet() {
		info := appendAttribute(nil, unix.IFLA_INFO_KIND, append([]byte(d.Kind), 0))
		if nk := d.Netkit; nk != nil {
			primary := byte(0)
			if nk.Primary {
				primary = 1
			}
			data := appendAttribute(nil, netkitPrimary, []byte{primary})
			data = appendAttribute(data, netkitPolicy, le.AppendUint32(nil, nk.Policy))
			data = appendAttribute(data, netkitMode, le.AppendUint32(nil, nk.Mode))
			data = appendAttribute(data, netkitPeerPolicy, le.AppendUint32(nil, d.Peer.Netkit.Policy))
			info = appendAttribute(info, unix.IFLA_INFO_DATA, data)
		}
		b = appendAttribute(b, unix.IFLA_LINKINFO, info)
	}
	var names []byte
	for _, name := range d.AltNames {
		names = appendAttribute(names, unix.IFLA_ALT_IFNAME, append([]byte(name), 0))
	}
	if names != nil {
		b = appendAttribute(b, unix.IFLA_PROP_LIST|unix.NLA_F_NESTED, names)
	}
	return b
}

// addressBody returns the message of an IP address without its header (inet_fill_ifaddr,
// inet6_fill_ifaddr).
func addressBody(d *network.Device, a *network.Addr) []byte {
	local := a.Prefix.Addr()
	family := byte(unix.AF_INET6)
	if local.Is4() {
		family = unix.AF_INET
	}
	b := []byte{family, byte(a.Prefix.Bits()), byte(a.Flags), a.Scope}
	b = le.AppendUint32(b, d.Index)
	peer := local
	if a.Peer.IsValid() {
		peer = a.Peer
	}
	b = appendAttribute(b, unix.IFA_ADDRESS, peer.AsSlice())
	if local.Is4() || a.Peer.IsValid() {
		b = appendAttribute(b, unix.IFA_LOCAL, local.AsSlice())
	}
	if a.Broadcast.IsValid() {
		b = appendAttribute(b, unix.IFA_BROADCAST, a.Broadcast.AsSlice())
	}
	if local.Is4() && a.Label != "" {
		b = appendAttribute(b, unix.IFA_LABEL, append([]byte(a.Label), 0))
	}
	b = appendAttribute(b, unix.IFA_FLAGS, le.AppendUint32(nil, a.Flags))
	const permanent = 0x80
	lifetimes := bytes.Repeat([]byte{0xff}, 8)
	if a.Flags&permanent == 0 {
		lifetimes = le.AppendUint32(le.AppendUint32(nil, a.Preferred), a.Valid)
	}
	return appendAttribute(b, unix.IFA_CACHEINFO, append(lifetimes, make([]byte, 8)...))
}

// header returns a message of an answer to msg.
func header(msg []byte, port uint32, typ uapi.RouteMessage, flags uint16, body []byte) []byte {
	r := le.AppendUint32(nil, uint32(nlmsgHdrSize+len(body)))
	r = le.AppendUint16(le.AppendUint16(r, uint16(typ)), flags)
	r = append(r, msg[8:12]...)
	return append(le.AppendUint32(r, port), body...)
}

// simulatedLinks returns the messages about simulated devices that answer RTM_GETLINK or
// RTM_GETADDR, for the whole namespace or for one device.
func (s *supervisor) simulatedLinks(netns uint32, msg []byte, port uint32, only *network.Device) []byte {
	var list []*network.Device
	s.sys.Network(func(n *network.Network) { list = n.Devices(netns) })
	var out []byte
	flags := uint16(unix.NLM_F_MULTI)
	if only != nil {
		list, flags = []*network.Device{only}, 0
	}
	family, index := queried(msg)
	if uapi.RouteMessage(le.Uint16(msg[4:])) == uapi.RouteGetlink {
		for _, d := range list {
			xdp := s.xdpOf(bpfsys.Device{Netns: netns, Index: d.Index})
			out = append(out, header(msg, port, uapi.RouteNewlink, flags, s.linkBody(d, xdp))...)
		}
		return out
	}
	for _, of := range []byte{unix.AF_INET, unix.AF_INET6} { // rtnl_dump_all
		for _, d := range list {
			if family != 0 && family != of || index != 0 && index != d.Index {
				continue
			}
			for i := range d.Addrs {
				if d.Addrs[i].Prefix.Addr().Is4() == (of == unix.AF_INET) {
					out = append(out, header(msg, port, uapi.RouteNewaddr, flags, addressBody(d, &d.Addrs[i]))...)
				}
			}
		}
	}
	return out
}

// queried returns the address family and the device of which RTM_GETADDR asks for addresses, 0 for
// all. Only sockets with NETLINK_GET_STRICT_CHK choose devices; others send zeros.
func queried(msg []byte) (family byte, index uint32) {
	if len(msg) > nlmsgHdrSize {
		family = msg[nlmsgHdrSize]
	}
	if uapi.RouteMessage(le.Uint16(msg[4:])) == uapi.RouteGetaddr && len(msg) >= nlmsgHdrSize+ifaddrmsgSize {
		index = le.Uint32(msg[nlmsgHdrSize+4:])
	}
	return family, index
}

// netnsQuery answers a query in a simulated namespace, or about a simulated device, of which the
// host knows nothing.
func (c *call) netnsQuery(g int, ino uint64, netns uint32, msg []byte) unix.Errno {
	s, port := c.s, portOf(g)
	typ, flags := uapi.RouteMessage(le.Uint16(msg[4:])), le.Uint16(msg[6:])
	var out []byte
	if flags&unix.NLM_F_DUMP != 0 {
		switch typ {
		case uapi.RouteGetlink, uapi.RouteGetaddr:
			out = s.simulatedLinks(netns, msg, port, nil)
		case uapi.RouteGetqdisc:
			out = s.withQdiscs(netns, msg, nil, port)
		case uapi.RouteGetroute, uapi.RouteGetneigh:
			out = s.simulatedRoutes(g, netns, msg)
		case uapi.RouteGetrule:
			out = initialRules(msg, port)
		default: // there are none
		}
		s.queue(g, ino, msg, nlmsgDone, unix.NLM_F_MULTI, make([]byte, 4))
		q := s.replies[ino]
		q[len(q)-1] = append(out, q[len(q)-1]...)
		return 0
	}
	if typ == uapi.RouteGetnsid { // no namespace has an id in another one (rtnl_net_getid)
		s.queue(g, ino, msg, uapi.RouteNewnsid, 0, appendAttribute(make([]byte, 4), netnsaNSID, []byte{0xff, 0xff, 0xff, 0xff}))
		return 0
	}
	if typ != uapi.RouteGetlink {
		s.note(fmt.Sprintf("netlink message %s is not simulated in a simulated network namespace", typ))
		return unix.EOPNOTSUPP
	}
	m, e := parseLink(msg[nlmsgHdrSize:])
	if e != 0 {
		return e
	}
	d := c.simulatedDevice(netns, &m)
	switch {
	case d == nil && m.spec.Index == 0 && m.spec.Name == "" && m.altName == "":
		return unix.EINVAL
	case d == nil:
		return unix.ENODEV
	}
	c.giveLink(g, ino, msg, d)
	return 0
}

// netnsaNSID is NETNSA_NSID of include/uapi/linux/net_namespace.h.
const netnsaNSID = 1

// initialRules returns the messages that list the rules of a new namespace, which answer RTM_GETRULE
// (fib_default_rules_init, fib6_rules_net_init, fib_nl_fill_rule).
func initialRules(msg []byte, port uint32) (out []byte) {
	const table, suppressed, protocol, priority, toTable, ofKernel, tableDefault, fixed = 15, 14, 21, 6, 1, 2, 253, 12
	family, _ := queried(msg)
	for _, rule := range []struct {
		family, table byte
		priority      uint32
	}{
		{unix.AF_INET, network.TableLocal, 0}, {unix.AF_INET, network.TableMain, 32766}, {unix.AF_INET, tableDefault, 32767},
		{unix.AF_INET6, network.TableLocal, 0}, {unix.AF_INET6, network.TableMain, 32766},
	} {
		if family != 0 && family != rule.family {
			continue
		}
		b := make([]byte, fixed) // struct fib_rule_hdr
		b[0], b[4], b[7] = rule.family, rule.table, toTable
		b = appendAttribute(b, table, le.AppendUint32(nil, uint32(rule.table)))
		b = appendAttribute(b, suppressed, []byte{0xff, 0xff, 0xff, 0xff})
		b = appendAttribute(b, protocol, []byte{ofKernel})
		if rule.priority != 0 {
			b = appendAttribute(b, priority, le.AppendUint32(nil, rule.priority))
		}
		out = append(out, header(msg, port, uapi.RouteNewrule, unix.NLM_F_MULTI, b)...)
	}
	return out
}

// giveLink answers RTM_GETLINK about one simulated device.
func (c *call) giveLink(g int, ino uint64, msg []byte, d *network.Device) {
	s := c.s
	s.replies[ino] = append(s.replies[ino], s.simulatedLinks(d.Netns, msg, portOf(g), d))
	if le.Uint16(msg[6:])&unix.NLM_F_ACK != 0 {
		s.answerNetlink(g, ino, msg, 0)
	}
}

// simulatedDevice returns the simulated device that a message names, or nil.
func (c *call) simulatedDevice(netns uint32, m *linkMessage) (d *network.Device) {
	c.s.sys.Network(func(n *network.Network) { d = m.find(n, netns) })
	return d
}
