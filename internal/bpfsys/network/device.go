package network

import (
	"hash/fnv"
	"net/netip"

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
	Address [6]byte
	Addrs   []Addr
	// Neighbors are those that were added.
	Neighbors []*Neighbor
	// Peer is the other end of a veth or netkit pair.
	Peer *Device
	// Netkit is set for netkit devices.
	Netkit *Netkit

	flags uint32 // without those that follow from the state
}

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
}

// Up reports whether the device is set up.
func (d *Device) Up() bool { return d.flags&FlagUp != 0 }

// carrier reports whether packets can leave: one end of a pair needs the other to be up.
func (d *Device) carrier() bool { return d.Peer == nil || d.Up() && d.Peer.Up() }

// Flags returns the device's flags as user space sees them (dev_get_flags).
func (d *Device) Flags() uint32 {
	f := d.flags
	if d.Up() && d.carrier() {
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
	case d.carrier():
		return operUp
	}
	return operLowerDown
}

// Ethernet reports whether the device has link-layer addresses.
func (d *Device) Ethernet() bool { return d.Kind != kindLoopback }

// HasAddress reports whether the device has an IP address.
func (d *Device) HasAddress(a netip.Addr) bool {
	for _, x := range d.Addrs {
		if x.Prefix.Addr() == a {
			return true
		}
	}
	return false
}

// AddAddr adds an IP address (__inet_insert_ifa, ipv6_add_addr).
func (d *Device) AddAddr(a Addr) uapi.Errno {
	if d.HasAddress(a.Prefix.Addr()) {
		return uapi.EEXIST
	}
	if len(d.Addrs) >= maxAddrs {
		return uapi.ENOBUFS
	}
	d.Addrs = append(d.Addrs, a)
	return 0
}

// DelAddr removes an IP address.
func (d *Device) DelAddr(a netip.Addr) uapi.Errno {
	for i, x := range d.Addrs {
		if x.Prefix.Addr() == a {
			d.Addrs = append(d.Addrs[:i:i], d.Addrs[i+1:]...)
			return 0
		}
	}
	return uapi.EADDRNOTAVAIL
}

// Change sets the flags in mask to those in flags. The loopback device gets its addresses when it
// comes up (inetdev_event, init_loopback).
func (d *Device) Change(flags, mask uint32) {
	was := d.Up()
	mask &= changeable
	d.flags = d.flags&^mask | flags&mask
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
