//go:build linux && (amd64 || arm64)

package exec

import (
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
	data    []byte       // IFLA_INFO_DATA
	hasData bool
	unknown []uint16 // attributes that are not simulated
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
			m.spec.MTU = word()
		case unix.IFLA_TXQLEN:
			m.spec.Queue = word()
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
		case unix.IFLA_EXT_MASK, unix.IFLA_NUM_TX_QUEUES, unix.IFLA_NUM_RX_QUEUES, unix.IFLA_GROUP, unix.IFLA_BROADCAST, unix.IFLA_AF_SPEC: // no tool sees what they change
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
	if m.spec.Name != "" {
		return n.Named(netns, m.spec.Name)
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
	c.s.sys.Network(func(n *network.Network) {
		d := m.find(n, netns)
		create := typ == uapi.RouteNewlink && flags&unix.NLM_F_CREATE != 0
		switch {
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
	case len(m.spec.Address) > 0 && len(m.spec.Address) != len(d.Address):
		return unix.EINVAL
	}
	if m.renamed && m.spec.Index != 0 {
		if e := n.Rename(d, m.spec.Name); e != 0 {
			return errnoOf(e)
		}
	}
	copy(d.Address[:], m.spec.Address)
	for _, x := range []struct{ to, from *uint32 }{{&d.MTU, &m.spec.MTU}, {&d.Queue, &m.spec.Queue}} {
		if *x.from != 0 {
			*x.to = *x.from
		}
	}
	if m.spec.Alias != "" {
		d.Alias = m.spec.Alias
	}
	d.Change(m.spec.Flags, m.spec.Mask)
	n.Down(d)
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
		m.spec.Peer = &network.Spec{Kind: "veth"}
		attributes(m.data, func(typ uint16, data []byte) {
			if typ == vethPeer && e == 0 {
				e = c.peer(m, data)
			}
		})
	case "netkit":
		e = c.netkit(m)
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
func (c *call) peer(m *linkMessage, data []byte) unix.Errno {
	p, e := parseLink(data)
	if e == 0 && len(p.unknown) > 0 {
		c.s.note(fmt.Sprintf("attribute %d of the peer of a %s device is not simulated", p.unknown[0], m.spec.Kind))
		e = unix.EOPNOTSUPP
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
func (c *call) netkit(m *linkMessage) (e unix.Errno) {
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
		e = c.peer(m, info)
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

// changeAddress serves RTM_NEWADDR and RTM_DELADDR about simulated devices.
func (c *call) changeAddress(netns uint32, typ uapi.RouteMessage, flags uint16, b []byte) (e unix.Errno, served bool) {
	if len(b) < ifaddrmsgSize {
		return unix.EINVAL, true
	}
	family, bits, index := b[0], int(b[1]), le.Uint32(b[4:])
	var local, address netip.Addr
	a := network.Addr{Flags: uint32(b[2]), Scope: b[3]}
	attributes(b[ifaddrmsgSize:], func(typ uint16, data []byte) {
		switch typ {
		case unix.IFA_ADDRESS:
			address, _ = netip.AddrFromSlice(data)
		case unix.IFA_LOCAL:
			local, _ = netip.AddrFromSlice(data)
		case unix.IFA_LABEL:
			a.Label = textOf(data)
		case unix.IFA_FLAGS:
			if len(data) >= 4 {
				a.Flags = le.Uint32(data)
			}
		}
	})
	if !local.IsValid() {
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
		case d == nil:
			e = unix.ENODEV
		case !a.Prefix.IsValid(), family == unix.AF_INET != local.Is4(), family != unix.AF_INET && family != unix.AF_INET6:
			e = unix.EINVAL
		case typ == uapi.RouteDeladdr:
			e = errnoOf(d.DelAddr(local))
		case flags&unix.NLM_F_REPLACE != 0 && d.HasAddress(local):
		default:
			const permanent = 0x80
			if a.Flags |= permanent; a.Label == "" && local.Is4() {
				a.Label = d.Name
			}
			e = errnoOf(d.AddAddr(a))
		}
	})
	return e, served
}
