//go:build linux && (amd64 || arm64)

package exec

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/bpfsys/network"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// Messages that create, change and remove simulated devices and their addresses
// (net/core/rtnetlink.c, net/ipv4/devinet.c, net/ipv6/addrconf.c).

// Attributes of netkit devices (IFLA_NETKIT_*) and of pairs, and the policies that a netkit device
// may have.
const (
	netkitPeerInfo, netkitPrimary, netkitPolicy, netkitPeerPolicy, netkitMode = 1, 2, 3, 4, 5
	vethPeer                                                                  = 1
	netkitPass, netkitDrop                                                    = 0, 2
)

const ifaddrmsgSize = 8

// linkMessage is a message about a device (struct ifinfomsg and attributes).
type linkMessage struct {
	spec    network.Spec // the device to create, or what to change
	renamed bool         // a name was given
	grouped bool         // a group was given
	altName string       // IFLA_ALT_IFNAME, which names the device
	names   []string     // of IFLA_PROP_LIST
	space   []space      // network namespaces that it names
	data    []byte       // IFLA_INFO_DATA
	hasData bool
	unknown []uint16 // attributes that are not simulated
}

// space is a network namespace that a message names: by a process (IFLA_NET_NS_PID) or a descriptor
// (IFLA_NET_NS_FD).
type space struct {
	typ   uint16
	value uint32
}

// elsewhere reports whether a message names another network namespace than the one it is about.
// Devices stay in theirs.
func (c *call) elsewhere(netns uint32, m *linkMessage) bool {
	for _, at := range m.space {
		switch f := c.s.fileAt(c.n, int32(at.value)); {
		case at.typ == unix.IFLA_NET_NS_PID && c.s.netnsOf(at.value, maxAncestors) == netns:
		case at.typ == unix.IFLA_NET_NS_FD && f != nil && f.isNetns && f.netns == netns:
		case at.typ == unix.IFLA_NET_NS_FD && f == nil && netns == 0 && c.ownNetwork(int32(at.value)):
		default:
			return true
		}
	}
	return false
}

// parseLink reads a message without its netlink header.
func parseLink(b []byte) (m linkMessage, e unix.Errno) {
	if len(b) < ifinfomsgSize {
		return m, unix.EINVAL
	}
	if int32(le.Uint32(b[4:])) < 0 {
		return m, unix.EINVAL
	}
	m.spec.Index, m.spec.Flags, m.spec.Mask = le.Uint32(b[4:]), le.Uint32(b[8:]), le.Uint32(b[12:])
	if m.spec.Mask == 0 { // rtnl_dev_get_flags: all, when flags are given
		if m.spec.Flags != 0 {
			m.spec.Mask = ^uint32(0)
		}
	}
	attributes(b[ifinfomsgSize:], func(typ uint16, data []byte) {
		word := func() uint32 {
			if len(data) < 4 {
				e = unix.ERANGE
				return 0
			}
			return le.Uint32(data)
		}
		switch typ {
		case unix.IFLA_IFNAME:
			if len(data) > unix.IFNAMSIZ {
				e = unix.ERANGE
			}
			m.spec.Name, m.renamed = textOf(data), true
		case unix.IFLA_ADDRESS:
			m.spec.Address = data
		case unix.IFLA_MTU:
			m.spec.MTU, m.spec.MTUGiven = word(), true
		case unix.IFLA_TXQLEN:
			m.spec.Queue, m.spec.QueueGiven = word(), true
		case unix.IFLA_GROUP:
			m.spec.Group, m.grouped = word(), true
		case unix.IFLA_NUM_TX_QUEUES:
			m.spec.TxQueues = word()
		case unix.IFLA_NUM_RX_QUEUES:
			m.spec.RxQueues = word()
		case unix.IFLA_ALT_IFNAME:
			m.altName = textOf(data)
		case unix.IFLA_PROP_LIST:
			attributes(data, func(typ uint16, data []byte) {
				if typ == unix.IFLA_ALT_IFNAME {
					m.names = append(m.names, textOf(data))
				}
			})
		case unix.IFLA_IFALIAS:
			m.spec.Alias = textOf(data)
		case unix.IFLA_LINKINFO:
			attributes(data, func(typ uint16, data []byte) {
				switch typ {
				case unix.IFLA_INFO_KIND:
					m.spec.Kind = textOf(data)
				case unix.IFLA_INFO_DATA:
					m.data, m.hasData = data, true
				}
			})
		case unix.IFLA_NET_NS_PID, unix.IFLA_NET_NS_FD:
			m.space = append(m.space, space{typ, word()})
		case unix.IFLA_UNSPEC, unix.IFLA_LINK, unix.IFLA_QDISC, unix.IFLA_EXT_MASK, unix.IFLA_BROADCAST, unix.IFLA_AF_SPEC: // no tool sees what they change
		default:
			m.unknown = append(m.unknown, typ)
		}
	})
	return m, e
}

func textOf(data []byte) string {
	s, _, _ := strings.Cut(string(data), "\x00")
	return s
}

// find returns the simulated device that a message names, by index or else by name.
func (m *linkMessage) find(n *network.Network, netns uint32) *network.Device {
	if m.spec.Index != 0 {
		return n.At(netns, m.spec.Index)
	}
	if name := cmp.Or(m.spec.Name, m.altName); name != "" {
		return n.Named(netns, name)
	}
	return nil
}

// changeLink serves RTM_NEWLINK and RTM_SETLINK about simulated devices; served is false when they
// are about a device of the host.
func (c *call) changeLink(netns uint32, typ uapi.RouteMessage, flags uint16, b []byte) (e unix.Errno, served bool) {
	m, e := parseLink(b)
	if e != 0 {
		return e, true
	}
	if c.elsewhere(netns, &m) {
		m.unknown = append(m.unknown, m.space[0].typ)
	}
	c.s.sys.Network(func(n *network.Network) {
		d := m.find(n, netns)
		create := typ == uapi.RouteNewlink && flags&unix.NLM_F_CREATE != 0
		if typ == uapi.RouteSetlink {
			flags = 0
		}
		switch {
		case d == nil && typ == uapi.RouteSetlink && m.spec.Index == 0 && !m.renamed && m.altName == "": // rtnl_setlink
			e = unix.EINVAL
		case d == nil && !create && m.spec.Index == 0 && !m.renamed: // iproute2 asks so whether the message is known
			e = unix.ENODEV
		case d == nil && netns == 0 && (!create || m.spec.Kind == "" || c.hostLink(&m)):
			return // of the host
		case !c.capable(unix.CAP_NET_ADMIN):
			e = unix.EPERM
		case len(m.unknown) > 0:
			c.s.note(fmt.Sprintf("netlink message %s: attribute %d of devices is not simulated", typ, m.unknown[0]))
			e = unix.EOPNOTSUPP
		case d != nil:
			e = m.change(n, d, flags)
		case !create:
			e = unix.ENODEV
		default:
			e = c.createLink(n, netns, &m)
		}
		served = true
	})
	return e, served
}

// hostLink reports whether a message is about a device of the host, by index or by name.
func (c *call) hostLink(m *linkMessage) bool {
	if m.spec.Index != 0 {
		return hasDevice(m.spec.Index)
	}
	return m.spec.Name != "" && deviceNamed(m.spec.Name)
}

// change applies a message to an existing device (__rtnl_newlink, do_setlink).
func (m *linkMessage) change(n *network.Network, d *network.Device, flags uint16) unix.Errno {
	switch {
	case flags&unix.NLM_F_EXCL != 0:
		return unix.EEXIST
	case flags&unix.NLM_F_REPLACE != 0, m.hasData:
		return unix.EOPNOTSUPP
	case len(m.spec.Address) > 0 && !d.Ethernet():
		return unix.EOPNOTSUPP
	case len(m.spec.Address) > 0 && len(m.spec.Address) < len(d.Address):
		return unix.EINVAL
	case len(m.spec.Address) > 0: // validate_linkmsg takes more
		m.spec.Address = m.spec.Address[:len(d.Address)]
	}
	if m.renamed && m.spec.Index != 0 {
		if e := n.Rename(d, m.spec.Name); e != 0 {
			return errnoOf(e)
		}
	}
	if len(m.spec.Address) > 0 {
		if e := d.SetAddress(m.spec.Address); e != 0 {
			return errnoOf(e)
		}
	}
	if m.spec.MTUGiven {
		if e := d.CheckMTU(m.spec.MTU); e != 0 {
			return errnoOf(e)
		}
		d.MTU = m.spec.MTU
	}
	if m.spec.QueueGiven {
		d.Queue = m.spec.Queue
	}
	if m.grouped {
		d.Group = m.spec.Group
	}
	if m.spec.Alias != "" {
		d.Alias = m.spec.Alias
	}
	was := d.Up()
	if d.Change(m.spec.Flags, m.spec.Mask); was {
		n.Down(d)
	}
	return 0
}

// createLink creates a device (rtnl_newlink_create).
func (c *call) createLink(n *network.Network, netns uint32, m *linkMessage) unix.Errno {
	if !network.Kind(since.Of(c.s.sys.Target().Version), m.spec.Kind) {
		c.s.note(fmt.Sprintf("network devices of kind %q are not simulated, or not in this release", m.spec.Kind))
		return unix.EOPNOTSUPP
	}
	var e unix.Errno
	switch m.spec.Kind {
	case "veth":
		if m.renamed && m.spec.Name == "" { // veth_newlink chooses no name when one is given
			return unix.EINVAL
		}
		m.spec.Peer = &network.Spec{Kind: "veth"}
		attributes(m.data, func(typ uint16, data []byte) {
			if typ == vethPeer && e == 0 {
				e = c.peer(netns, m, data)
			}
		})
	case "netkit":
		e = c.netkit(netns, m)
	}
	if e != 0 {
		return e
	}
	d, errno := n.Add(netns, &m.spec)
	if errno == 0 {
		c.s.logf("[%d] netlink: %s device %d %s", c.n.PID, d.Kind, d.Index, d.Name)
	}
	return errnoOf(errno)
}

// peer reads the description of the other end of a pair.
func (c *call) peer(netns uint32, m *linkMessage, data []byte) unix.Errno {
	p, e := parseLink(data)
	if c.elsewhere(netns, &p) {
		p.unknown = append(p.unknown, p.space[0].typ)
	}
	if e == 0 && len(p.unknown) > 0 {
		c.s.note(fmt.Sprintf("attribute %d of the peer of a %s device is not simulated", p.unknown[0], m.spec.Kind))
		e = unix.EOPNOTSUPP
	}
	switch {
	case e != 0 || m.spec.Kind != "veth":
	case p.renamed && p.spec.Name == "":
		e = unix.EINVAL
	case p.spec.Flags&p.spec.Mask&unix.IFF_UP != 0: // veth_open: the other end is not there yet
		e = unix.ENOTCONN
	}
	if p.spec.Kind = m.spec.Kind; m.spec.Index == 0 && m.spec.Kind == "netkit" {
		p.spec.Index = 0 // used only together with the primary device's
	}
	netkit := m.spec.Netkit
	if m.spec.Peer != nil {
		netkit = m.spec.Peer.Netkit
	}
	m.spec.Peer, p.spec.Netkit = &p.spec, netkit
	return e
}

// netkit reads what is special about a pair of netkit devices (netkit_new_link).
func (c *call) netkit(netns uint32, m *linkMessage) (e unix.Errno) {
	m.spec.Netkit = network.Netkit{Primary: true, Mode: network.NetkitL3, Policy: netkitPass}
	peer := network.Netkit{Mode: network.NetkitL3, Policy: netkitPass}
	var info []byte
	attributes(m.data, func(typ uint16, data []byte) {
		if typ == netkitPeerInfo {
			info = data
			return
		}
		if typ == netkitPrimary { // read-only
			e = unix.EINVAL
			return
		}
		if len(data) < 4 {
			e = unix.ERANGE
			return
		}
		v := le.Uint32(data)
		switch typ {
		case netkitMode:
			if m.spec.Netkit.Mode, peer.Mode = v, v; v != network.NetkitL2 && v != network.NetkitL3 {
				e = unix.EINVAL
			}
		case netkitPolicy, netkitPeerPolicy:
			if v != netkitPass && v != netkitDrop {
				e = unix.EINVAL
			}
			if typ == netkitPolicy {
				m.spec.Netkit.Policy = v
			} else {
				peer.Policy = v
			}
		}
	})
	m.spec.Peer = &network.Spec{Kind: "netkit", Netkit: peer}
	if info != nil && e == 0 {
		e = c.peer(netns, m, info)
	}
	if e == 0 && peer.Mode == network.NetkitL3 && (len(m.spec.Address) > 0 || len(m.spec.Peer.Address) > 0) {
		e = unix.EOPNOTSUPP
	}
	return e
}

// deleteLink serves RTM_DELLINK about simulated devices.
func (c *call) deleteLink(netns uint32, b []byte) (e unix.Errno, served bool) {
	m, e := parseLink(b)
	if e != 0 {
		return e, true
	}
	var d *network.Device
	c.s.sys.Network(func(n *network.Network) { d = m.find(n, netns) })
	switch {
	case d == nil && netns == 0:
		return 0, false
	case !c.capable(unix.CAP_NET_ADMIN):
		return unix.EPERM, true
	case d == nil && m.spec.Index == 0 && m.spec.Name == "":
		return unix.EINVAL, true
	case d == nil:
		return unix.ENODEV, true
	}
	return errnoOf(c.s.sys.RemoveDevice(bpfsys.Device{Netns: netns, Index: d.Index})), true
}

// changeNames serves RTM_NEWLINKPROP and RTM_DELLINKPROP about simulated devices (rtnl_linkprop).
func (c *call) changeNames(netns uint32, typ uapi.RouteMessage, b []byte) (e unix.Errno, served bool) {
	m, e := parseLink(b)
	if e == 0 && !wellFormed(b[ifinfomsgSize:]) {
		e = unix.EINVAL
	}
	if e != 0 {
		return e, true
	}
	c.s.sys.Network(func(n *network.Network) {
		d := m.find(n, netns)
		if served = d != nil || netns != 0; !served {
			return
		}
		switch {
		case !c.capable(unix.CAP_NET_ADMIN):
			e = unix.EPERM
		case d == nil && m.spec.Index == 0 && m.spec.Name == "" && m.altName == "":
			e = unix.EINVAL
		case d == nil:
			e = unix.ENODEV
		}
		change := n.AddAltName
		if typ == uapi.RouteDellinkprop {
			change = n.DelAltName
		}
		for _, name := range m.names {
			if e == 0 {
				e = errnoOf(change(d, name))
			}
		}
	})
	return e, served
}

// changeAddress serves RTM_NEWADDR and RTM_DELADDR about simulated devices.
func (c *call) changeAddress(netns uint32, typ uapi.RouteMessage, flags uint16, b []byte) (e unix.Errno, served bool) {
	if len(b) < ifaddrmsgSize {
		return unix.EINVAL, true
	}
	family, bits, index := b[0], int(b[1]), le.Uint32(b[4:])
	ip := func(data []byte) (a netip.Addr) { // IPv4 reads the first four bytes, however many there are
		if family == unix.AF_INET && len(data) > 4 {
			data = data[:4]
		}
		a, _ = netip.AddrFromSlice(data)
		return a
	}
	var local, address netip.Addr
	limited, short := false, false // a lifetime was given; an address is shorter than one
	a := network.Addr{Flags: uint32(b[2]), Scope: b[3]}
	attributes(b[ifaddrmsgSize:], func(typ uint16, data []byte) {
		short = short || len(data) < 4 && (typ == unix.IFA_ADDRESS || typ == unix.IFA_LOCAL || typ == unix.IFA_BROADCAST)
		switch typ {
		case unix.IFA_ADDRESS:
			address = ip(data)
		case unix.IFA_LOCAL:
			local = ip(data)
		case unix.IFA_LABEL:
			a.Label = textOf(data)
		case unix.IFA_BROADCAST:
			if a.Broadcast = ip(data); a.Broadcast.IsUnspecified() {
				a.Broadcast = netip.Addr{}
			}
		case unix.IFA_CACHEINFO:
			if len(data) >= 16 {
				a.Preferred, a.Valid, limited = le.Uint32(data), le.Uint32(data[4:]), true
			}
		case unix.IFA_FLAGS:
			if len(data) >= 4 {
				a.Flags = le.Uint32(data)
			}
		}
	})
	if !local.IsValid() && family != unix.AF_INET {
		local = address
	} else if address.IsValid() && address != local {
		a.Peer = address
	}
	c.s.sys.Network(func(n *network.Network) {
		d := n.At(netns, index)
		if served = d != nil || netns != 0; !served {
			return
		}
		a.Prefix = netip.PrefixFrom(local, bits)
		switch {
		case !c.capable(unix.CAP_NET_ADMIN):
			e = unix.EPERM
		case family != unix.AF_INET && family != unix.AF_INET6: // nobody serves it
			e = unix.EOPNOTSUPP
		case short && family == unix.AF_INET: // ifa_ipv4_policy
			e = unix.ERANGE
		case d == nil:
			e = unix.ENODEV
		case typ == uapi.RouteDeladdr && family == unix.AF_INET && !local.IsValid():
			e = delFirst(d, netip.PrefixFrom(address, bits), a.Label)
		case !a.Prefix.IsValid(), family == unix.AF_INET != local.Is4():
			e = unix.EINVAL
		case typ == uapi.RouteDeladdr:
			of := netip.PrefixFrom(address, bits)
			if !local.Is4() {
				of = a.Prefix
			}
			e = errnoOf(d.DelAddr(local, of))
		case limited && (a.Valid == 0 || a.Preferred > a.Valid):
			e = unix.EINVAL
		default:
			e = addAddress(d, a, limited, flags&unix.NLM_F_EXCL == 0 && flags&unix.NLM_F_REPLACE != 0)
		}
	})
	return e, served
}

// delFirst removes the first IPv4 address of a device, of those in a network and with a label if
// these are given (inet_rtm_deladdr).
func delFirst(d *network.Device, of netip.Prefix, label string) unix.Errno {
	for _, a := range d.Addrs {
		in := !of.Addr().IsValid() || of.Bits() == a.Prefix.Bits() && of.Masked() == a.Prefix.Masked()
		if a.Prefix.Addr().Is4() && in && (label == "" || label == a.Label) {
			return errnoOf(d.DelAddr(a.Prefix.Addr(), a.Prefix))
		}
	}
	return unix.EADDRNOTAVAIL
}

// addAddress adds an address, or gives the one that is there the lifetimes of a, if it may
// (set_ifa_lifetime). They do not run out.
func addAddress(d *network.Device, a network.Addr, limited, replace bool) unix.Errno {
	const permanent, forever = 0x80, 0xffffffff
	if !limited || a.Valid == forever && a.Preferred == forever {
		a.Flags |= permanent
	}
	if a.Label == "" && a.Prefix.Addr().Is4() {
		a.Label = d.Name
	}
	if old := d.Find(&a); old != nil && replace {
		old.Flags = old.Flags&^permanent | a.Flags&permanent
		old.Valid, old.Preferred = a.Valid, a.Preferred
		return 0
	}
	return errnoOf(d.AddAddr(a))
}
