// Package network is the simulated network: namespaces and the devices that tools create in them.
// It knows names, indices, states and addresses; it does not know the messages of netlink,
// programs, or packets. Start with [Network].
package network

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// Limits of what a tool can create.
const (
	maxNamespaces = 1024
	maxDevices    = 4096 // in all namespaces
	maxAddrs      = 256  // of a device
	maxAltNames   = 64   // of a device
)

const kindLoopback = "loopback"

// maxName is IFNAMSIZ, the most bytes of a device's name with the NUL behind it.
const maxName = 16

// firstInode is the inode number of the first namespace that is not the initial one, which has
// PROC_NET_INIT_INO in kernels.
const firstInode = 0xf0000100

// Host tells about the devices of the initial namespace that exist without having been created
// here. Nil functions mean none.
type Host struct {
	Index func(index uint32) bool
	Name  func(name string) bool
}

// Network holds the namespaces. Namespace 0 is the initial one; the others are named by the inode
// numbers of their files.
type Network struct {
	host    Host
	queues  uint32 // of veth devices
	spaces  map[uint32]*space
	devices int
}

// space is a namespace: devices by index, and the highest index used.
type space struct {
	devices map[uint32]*Device
	last    uint32   // the last index that was not asked for (dev_index_reserve)
	routes  []*Route // that were added
}

// New returns a network with the initial namespace, whose veth devices have a number of
// queues.
func New(host Host, queues int) *Network {
	return &Network{host: host, queues: uint32(queues), spaces: map[uint32]*space{0: {devices: map[uint32]*Device{}}}}
}

// NewNamespace creates a namespace with a loopback device that is down (copy_net_ns).
func (n *Network) NewNamespace() (uint32, uapi.Errno) {
	if len(n.spaces) > maxNamespaces {
		return 0, uapi.ENOSPC
	}
	netns := firstInode + uint32(len(n.spaces)-1)
	s := &space{devices: map[uint32]*Device{}, last: 1}
	n.spaces[netns] = s
	s.add(&Device{Netns: netns, Index: 1, Name: "lo", Kind: kindLoopback, MTU: 65536, Queue: 1000, TxQueues: 1, RxQueues: 1, flags: FlagLoopback})
	return netns, 0
}

func (s *space) add(d *Device) { s.devices[d.Index] = d }

// Exists reports whether a namespace exists.
func (n *Network) Exists(netns uint32) bool { return n.spaces[netns] != nil }

// At returns the device with an index, or nil.
func (n *Network) At(netns, index uint32) *Device {
	if s := n.spaces[netns]; s != nil {
		return s.devices[index]
	}
	return nil
}

// Named returns the device with a name, or nil.
func (n *Network) Named(netns uint32, name string) *Device {
	if s := n.spaces[netns]; s != nil {
		for _, d := range s.devices {
			if d.Name == name || slices.Contains(d.AltNames, name) {
				return d
			}
		}
	}
	return nil
}

// Devices returns the devices of a namespace by index.
func (n *Network) Devices(netns uint32) []*Device {
	var out []*Device
	if s := n.spaces[netns]; s != nil {
		for _, d := range s.devices {
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b *Device) int { return cmp.Compare(a.Index, b.Index) })
	return out
}

func (n *Network) hostIndex(netns, index uint32) bool {
	return netns == 0 && n.host.Index != nil && n.host.Index(index)
}

func (n *Network) named(netns uint32, name string) bool {
	return n.Named(netns, name) != nil || netns == 0 && n.host.Name != nil && n.host.Name(name)
}

// Spec describes a device to create. A zero index and an empty name are chosen as the kernel does:
// the next index, and the pattern's next number.
type Spec struct {
	Kind    string
	Name    string
	Index   uint32
	MTU     uint32
	Queue   uint32
	Alias   string
	Address []byte
	// QueueGiven and MTUGiven are whether Queue and MTU count although they are 0.
	QueueGiven, MTUGiven bool
	Group                uint32
	// TxQueues and RxQueues are the numbers of queues, 0 for those of the kind.
	TxQueues, RxQueues uint32
	// Flags are those to set, of Mask.
	Flags, Mask uint32
	// Peer describes the other end of a veth or netkit pair.
	Peer   *Spec
	Netkit Netkit
}

// prefixes of names by kind: what stands before the number in the name of a device that gets none.
var prefixes = map[string]string{"dummy": "dummy", "veth": "veth", "netkit": "nk"}

// Kind reports whether a kernel has the kind of devices, and they are simulated.
func Kind(v since.Version, kind string) bool {
	rule, ok := kinds[kind]
	return ok && v.Has(rule)
}

var kinds = map[string]since.Rule{"dummy": since.Always, "veth": since.Always, "netkit": since.Netkit}

// Add creates a device with its peer, which gets its index first (veth_newlink, netkit_new_link).
func (n *Network) Add(netns uint32, spec *Spec) (*Device, uapi.Errno) {
	peer, e := n.plan(netns, spec.Peer, nil)
	if e != 0 {
		return nil, e
	}
	d, e := n.plan(netns, spec, peer)
	if e != 0 {
		return nil, e
	}
	for _, x := range []*Device{peer, d} {
		if x != nil {
			if n.spaces[netns].add(x); x.chosen {
				n.spaces[netns].last = x.Index
			}
			n.devices++
		}
	}
	if d.Peer = peer; peer != nil {
		peer.Peer = d
		peer.Change(spec.Peer.Flags, spec.Peer.Mask)
	}
	d.Change(spec.Flags, spec.Mask)
	return d, 0
}

// plan returns the device of a spec, which is not in the namespace yet. other is one that will be
// created before it.
func (n *Network) plan(netns uint32, spec *Spec, other *Device) (*Device, uapi.Errno) {
	if spec == nil {
		return nil, 0
	}
	s := n.spaces[netns]
	if s == nil || n.devices >= maxDevices {
		return nil, uapi.ENOMEM
	}
	taken := func(index uint32) bool {
		return s.devices[index] != nil || n.hostIndex(netns, index) || other != nil && other.Index == index
	}
	d := &Device{Netns: netns, Index: spec.Index, Kind: spec.Kind, Alias: spec.Alias, MTU: cmp.Or(spec.MTU, 1500), Queue: spec.Queue, Group: spec.Group, flags: FlagBroadcast | FlagMulticast}
	if spec.MTUGiven {
		d.MTU = spec.MTU
	}
	if spec.Queue == 0 && !spec.QueueGiven {
		d.Queue = 1000
	}
	queues := uint32(1)
	if spec.Kind == "veth" {
		queues = n.queues
	}
	d.TxQueues, d.RxQueues = cmp.Or(spec.TxQueues, queues), cmp.Or(spec.RxQueues, queues)
	if e := d.CheckMTU(d.MTU); e != 0 {
		return nil, e
	}
	if d.Index != 0 && taken(d.Index) {
		return nil, uapi.EBUSY
	}
	if d.Index == 0 {
		d.chosen = true
		for d.Index = s.last + 1; taken(d.Index); d.Index++ {
		}
	}
	var e uapi.Errno
	if d.Name, e = n.name(netns, spec, other); e != 0 {
		return nil, e
	}
	switch len(spec.Address) {
	case 0:
		d.Address = address(netns, d.Index)
	case len(d.Address):
		if e := d.SetAddress(spec.Address); e != 0 {
			return nil, e
		}
	default:
		return nil, uapi.EINVAL
	}
	switch spec.Kind {
	case "dummy":
		d.flags = FlagBroadcast | FlagNoARP
	case "netkit":
		nk := spec.Netkit
		d.Netkit = &nk
		if nk.Mode != NetkitL2 {
			d.flags |= FlagNoARP
			d.Address = [6]byte{}
		}
	}
	return d, 0
}

// name returns the name of a new device (dev_get_valid_name, __dev_alloc_name).
func (n *Network) name(netns uint32, spec *Spec, other *Device) (string, uapi.Errno) {
	name := spec.Name
	if name == "" {
		name = prefixes[spec.Kind] + "%d"
	}
	if !validName(name) {
		return "", uapi.EINVAL
	}
	taken := func(name string) bool { return n.named(netns, name) || other != nil && other.Name == name }
	before, after, numbered := strings.Cut(name, "%d")
	if !numbered {
		if taken(name) {
			return "", uapi.EEXIST
		}
		return name, 0
	}
	for i := range maxDevices + 1 {
		if name = fmt.Sprint(before, i, after); len(name) < maxName && !taken(name) {
			return name, 0
		}
	}
	return "", uapi.ENFILE
}

// validName reports whether a device may have a name (dev_valid_name), which may contain %d once
// for a number.
func validName(name string) bool {
	if name == "" || len(name) >= maxName || name == "." || name == ".." || strings.ContainsAny(name, "/: \t\n\v\f\r") {
		return false
	}
	return strings.Count(name, "%") == strings.Count(name, "%d") && strings.Count(name, "%") <= 1
}

// Rename gives a device another name (dev_change_name).
func (n *Network) Rename(d *Device, name string) uapi.Errno {
	switch {
	case name == d.Name:
		return 0
	case !validName(name) || strings.Contains(name, "%"):
		return uapi.EINVAL
	case n.named(d.Netns, name):
		return uapi.EEXIST
	}
	d.Name = name
	return 0
}

// AddAltName gives a device one more name (netdev_name_node_alt_create).
func (n *Network) AddAltName(d *Device, name string) uapi.Errno {
	switch {
	case n.named(d.Netns, name):
		return uapi.EEXIST
	case len(d.AltNames) >= maxAltNames:
		return uapi.ENOMEM
	}
	d.AltNames = append(d.AltNames, name)
	return 0
}

// DelAltName removes a name that was given in addition (netdev_name_node_alt_destroy).
func (n *Network) DelAltName(d *Device, name string) uapi.Errno {
	i := slices.Index(d.AltNames, name)
	switch {
	case i >= 0:
		d.AltNames = slices.Delete(d.AltNames, i, i+1)
		return 0
	case n.named(d.Netns, name):
		return uapi.EINVAL
	}
	return uapi.ENOENT
}

// Remove removes a device and its peer, and returns both. The loopback device stays
// (rtnl_delete_link).
func (n *Network) Remove(d *Device) ([]*Device, uapi.Errno) {
	if d.Kind == kindLoopback {
		return nil, uapi.EOPNOTSUPP
	}
	gone := []*Device{d}
	if d.Peer != nil {
		gone = append(gone, d.Peer)
	}
	for _, x := range gone {
		n.forget(x)
		delete(n.spaces[x.Netns].devices, x.Index)
		n.devices--
	}
	return gone, 0
}
