package network

import (
	"hash/fnv"
	"net/netip"
	"slices"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Flags of devices (IFF_* in include/uapi/linux/if.h).
const (
	FlagUp        = 1 << 0
	FlagBroadcast = 1 << 1
	FlagLoopback  = 1 << 3
	FlagRunning   = 1 << 6
	FlagNoARP     = 1 << 7
	FlagMulticast = 1 << 12
	FlagLowerUp   = 1 << 16
)

// changeable are the flags that user space sets (__dev_change_flags): IFF_UP, IFF_DEBUG,
// IFF_NOTRAILERS, IFF_NOARP, IFF_PROMISC, IFF_ALLMULTI, IFF_MULTICAST, IFF_DYNAMIC.
const changeable = FlagUp | 1<<2 | 1<<5 | FlagNoARP | 1<<8 | 1<<9 | FlagMulticast | 1<<15

// Operational states of devices (IF_OPER_* in include/uapi/linux/if.h).
const (
	operUnknown, operDown, operLowerDown, operUp = 0, 2, 3, 6
)

// Modes of netkit devices (enum netkit_mode).
const (
	NetkitL2 = 0
	NetkitL3 = 1
)

// Device is a simulated network device.
type Device struct {
	Netns uint32 // its namespace
	Index uint32
	// chosen is whether nobody asked for the index.
	chosen bool

	Name string
	Kind string // "loopback", "dummy", "veth" or "netkit"
	// Alias is the name that users gave in addition (IFLA_IFALIAS).
	Alias   string
	MTU     uint32
	Queue   uint32 // length of the transmit queue in packets
	Group   uint32
	Address [6]byte
	// AltNames are names that it has beside its own.
	AltNames []string
	// TxQueues and RxQueues are the numbers of its queues.
	TxQueues, RxQueues uint32
	Addrs              []Addr
	// Neighbors are those that were added.
	Neighbors []*Neighbor
	// Peer is the other end of a veth or netkit pair.
	Peer *Device
	// Netkit is set for netkit devices.
	Netkit *Netkit

	flags   uint32 // without those that follow from the state
	started bool   // it was up once
}

// Limits of the MTU of devices with an address, but for dummies, which have none (ETH_MIN_MTU,
// ETH_MAX_MTU).
const minMTU, maxMTU = 68, 65535

// MTULimits returns the least and the highest MTU of a device, 0 where there is no limit.
func (d *Device) MTULimits() (least, most uint32) {
	if d.Kind == "veth" || d.Kind == "netkit" {
		return minMTU, maxMTU
	}
	return 0, 0
}

// CheckMTU returns the error of setting an MTU (dev_validate_mtu).
func (d *Device) CheckMTU(mtu uint32) uapi.Errno {
	if least, most := d.MTULimits(); mtu < least || most != 0 && mtu > most {
		return uapi.EINVAL
	}
	return 0
}

// SetAddress gives a device a link-layer address (eth_prepare_mac_addr_change).
func (d *Device) SetAddress(a []byte) uapi.Errno {
	const group = 1
	if a[0]&group != 0 || [6]byte(a) == [6]byte{} {
		return uapi.EADDRNOTAVAIL
	}
	copy(d.Address[:], a)
	return 0
}

// Qdisc returns the kind of the device's queueing discipline, "noop" if it was never up: these
// devices have no queue.
func (d *Device) Qdisc() string {
	if d.started {
		return "noqueue"
	}
	return "noop"
}

// flagPromiscuous is IFF_PROMISC.
const flagPromiscuous = 1 << 8

// Promiscuous counts who wants the device to take all packets.
func (d *Device) Promiscuous() uint32 { return d.flags / flagPromiscuous & 1 }

// Netkit is what is special about a netkit device.
type Netkit struct {
	Primary bool
	Mode    uint32
	// Policy decides about packets when no program does: 0 passes and 2 drops them (enum
	// netkit_action).
	Policy uint32
}

// Addr is an IP address of a device. Scope is RT_SCOPE_*; Flags are IFA_F_*.
type Addr struct {
	Prefix netip.Prefix
	Peer   netip.Addr // of the other end, if it is not the address itself
	Scope  uint8
	Flags  uint32
	Label  string
	// Broadcast is the broadcast address, if one was given.
	Broadcast netip.Addr
	// Valid and Preferred are the lifetimes in seconds of an address that is not permanent.
	Valid, Preferred uint32
}

// AddrSecondary is IFA_F_SECONDARY: another address of the device is of the same network.
const AddrSecondary = 1

// network returns the network of an address: that of its peer, if it has one.
func (a *Addr) network() netip.Prefix {
	if a.Peer.IsValid() {
		return netip.PrefixFrom(a.Peer, a.Prefix.Bits()).Masked()
	}
	return a.Prefix.Masked()
}

// Up reports whether the device is set up.
func (d *Device) Up() bool { return d.flags&FlagUp != 0 }

// Carrier reports whether packets could leave: one end of a pair needs both to be up.
func (d *Device) Carrier() bool { return d.Peer == nil || d.Up() && d.Peer.Up() }

// Flags returns the device's flags as user space sees them (dev_get_flags).
func (d *Device) Flags() uint32 {
	f := d.flags
	if d.Up() && d.Carrier() {
		f |= FlagRunning | FlagLowerUp
	}
	return f
}

// OperState returns the operational state (IF_OPER_*).
func (d *Device) OperState() uint8 {
	switch {
	case !d.Up():
		return operDown
	case d.Peer == nil: // its driver does not report a state
		return operUnknown
	case d.Carrier():
		return operUp
	}
	return operLowerDown
}

// Ethernet reports whether the device has link-layer addresses.
func (d *Device) Ethernet() bool { return d.Kind != kindLoopback }

// Find returns the address of the device that is the same for a kernel, or nil: IPv4 has one for
// each network, IPv6 only one.
func (d *Device) Find(a *Addr) *Addr {
	for i := range d.Addrs {
		if x := &d.Addrs[i]; x.Prefix.Addr() == a.Prefix.Addr() && (!a.Prefix.Addr().Is4() || x.network() == a.network()) {
			return x
		}
	}
	return nil
}

// Source returns the address from which packets go to an address of the device's link: a primary one
// of its network, or else the first (inet_select_addr). IPv6 has no other choice here than the first.
func (d *Device) Source(to netip.Addr) (source netip.Addr) {
	for i := range d.Addrs {
		a := &d.Addrs[i]
		switch ip := a.Prefix.Addr(); {
		case ip.Is4() != to.Is4() || ip.Is4() && a.Flags&AddrSecondary != 0:
		case ip.Is4() && a.network().Contains(to):
			return ip
		case !source.IsValid():
			source = ip
		}
	}
	return source
}

// HasBroadcast reports whether an address of the device was given a broadcast address.
func (d *Device) HasBroadcast(broadcast netip.Addr) bool {
	return slices.ContainsFunc(d.Addrs, func(a Addr) bool { return a.Broadcast == broadcast })
}

// AddAddr adds an IP address in its place: those of IPv4 that are secondary are last, and others
// stand behind those of the same or a wider scope (__inet_insert_ifa, ipv6_add_addr).
func (d *Device) AddAddr(a Addr) uapi.Errno {
	at := len(d.Addrs)
	if a.Prefix.Addr().Is4() {
		if a.Prefix.Addr().IsUnspecified() { // the kernel drops it without a word
			return 0
		}
		at = 0
		for i, x := range d.Addrs {
			switch same := x.network() == a.network(); {
			case !x.Prefix.Addr().Is4():
				continue
			case same && x.Prefix.Addr() == a.Prefix.Addr():
				return uapi.EEXIST
			case same && x.Scope != a.Scope:
				return uapi.EINVAL
			case same:
				a.Flags |= AddrSecondary
			}
			if x.Flags&AddrSecondary == 0 && a.Scope <= x.Scope {
				at = i + 1
			}
		}
		if a.Flags&AddrSecondary != 0 {
			at = len(d.Addrs)
		}
	} else if d.Find(&a) != nil {
		return uapi.EEXIST
	}
	if len(d.Addrs) >= maxAddrs {
		return uapi.ENOBUFS
	}
	d.Addrs = slices.Insert(d.Addrs, at, a)
	return 0
}

// DelAddr removes an IP address. network is that of the address, or invalid for any, as IPv4
// allows. The last primary address of a network takes the secondary ones along
// (inet_rtm_deladdr, __inet_del_ifa).
func (d *Device) DelAddr(ip netip.Addr, network netip.Prefix) uapi.Errno {
	i := slices.IndexFunc(d.Addrs, func(x Addr) bool {
		return x.Prefix.Addr() == ip && (!network.IsValid() || x.network() == network.Masked())
	})
	if i < 0 {
		return uapi.EADDRNOTAVAIL
	}
	gone := d.Addrs[i]
	d.Addrs = slices.Delete(d.Addrs, i, i+1)
	if ip.Is4() && gone.Flags&AddrSecondary == 0 {
		d.Addrs = slices.DeleteFunc(d.Addrs, func(x Addr) bool { return x.Flags&AddrSecondary != 0 && x.network() == gone.network() })
	}
	return 0
}

// Change sets the flags in mask to those in flags. The loopback device gets its addresses when it
// comes up (inetdev_event, init_loopback).
func (d *Device) Change(flags, mask uint32) {
	was := d.Up()
	mask &= changeable
	d.flags = d.flags&^mask | flags&mask
	d.started = d.started || d.Up()
	if d.Kind != kindLoopback || was || !d.Up() {
		return
	}
	const host, permanent = 254, 0x80
	for _, p := range []string{"127.0.0.1/8", "::1/128"} {
		a := Addr{Prefix: netip.MustParsePrefix(p), Scope: host, Flags: permanent}
		if a.Prefix.Addr().Is4() {
			a.Label = d.Name
		}
		_ = d.AddAddr(a)
	}
}

// address returns a link-layer address of a device: locally administered, the same in each session.
func address(netns, index uint32) (a [6]byte) {
	h := fnv.New64a()
	_, _ = h.Write([]byte{byte(netns), byte(netns >> 8), byte(index), byte(index >> 8), byte(index >> 16), 'b', 'p', 'f'})
	v := h.Sum64()
	for i := range a {
		a[i] = byte(v >> (8 * i))
	}
	a[0] = a[0]&^1 | 2
	return a
}
