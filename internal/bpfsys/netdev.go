package bpfsys

import (
	"slices"

	"github.com/bpfrun/bpfrun/internal/bpfsys/network"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Device names a network device by its index in a network namespace, 0 for the initial one.
type Device struct{ Netns, Index uint32 }

// id is the device's number in a place.
func (d Device) id() uint64 { return uint64(d.Netns)<<32 | uint64(d.Index) }

// deviceOf returns the device of a hook.
func deviceOf(pl place) Device { return Device{uint32(pl.id >> 32), uint32(pl.id)} }

// on returns the hook of a device.
func (d Device) on(at uapi.AttachType) place { return place{kind: onDevice, id: d.id(), at: at} }

// device returns the device that a caller means by an index.
func (s *System) device(c Caller, ifindex uint32) (Device, uapi.Errno) {
	d := Device{c.Netns(), ifindex}
	if !s.hasDevice(d) {
		return d, uapi.ENODEV
	}
	return d, 0
}

func (s *System) hasDevice(d Device) bool {
	return d.Netns == 0 && s.cfg.HasDevice(d.Index) || s.net.At(d.Netns, d.Index) != nil
}

// HasDevice reports whether a device exists.
func (s *System) HasDevice(d Device) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hasDevice(d)
}

// attachable returns the hook of a device for an attach type. Programs of both ends of a netkit
// pair are attached through the primary device (netkit_dev_fetch).
func (s *System) attachable(c Caller, ifindex uint32, at uapi.AttachType) (place, uapi.Errno) {
	d, e := s.device(c, ifindex)
	if e != 0 {
		return place{}, e
	}
	if at != uapi.AttachNetkitPrimary && at != uapi.AttachNetkitPeer {
		return d.on(at), 0
	}
	dev := s.net.At(d.Netns, d.Index)
	switch {
	case dev == nil || dev.Netkit == nil:
		return place{}, uapi.ENXIO
	case !dev.Netkit.Primary:
		return place{}, uapi.EACCES
	case at == uapi.AttachNetkitPeer:
		d = Device{dev.Peer.Netns, dev.Peer.Index}
	}
	return d.on(at), 0
}

// receivedBy returns the fields of a packet's context that say that the device of a place received
// it, or sends it. Simulated devices become known to the kernel's model by their index.
func (s *System) receivedBy(p place) map[string]uint64 {
	on := p.device()
	k := s.machine.Kernel()
	if d := s.net.At(on.Netns, on.Index); d != nil {
		if _, known := k.Device(on.Index); !known {
			k.SetNetwork(net.Network{Devices: append(slices.Clone(k.Devices()), net.Device{Index: d.Index, Name: d.Name, MTU: int(d.MTU), Hardware: d.Address})})
		}
	}
	if _, known := k.Device(on.Index); !known { // of the host
		return nil
	}
	if p.at == uapi.AttachXDP {
		return map[string]uint64{"ingress_ifindex": uint64(on.Index)}
	}
	return map[string]uint64{"ifindex": uint64(on.Index)}
}

// Network calls f with the simulated network, which nobody else uses meanwhile.
func (s *System) Network(f func(n *network.Network)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s.net)
}

// RemoveDevice removes a simulated device and its peer with their programs, qdiscs and filters.
// Links to them remain, without a device.
func (s *System) RemoveDevice(d Device) uapi.Errno {
	s.mu.Lock()
	defer s.mu.Unlock()
	dev := s.net.At(d.Netns, d.Index)
	if dev == nil {
		return uapi.ENODEV
	}
	gone, e := s.net.Remove(dev)
	for _, x := range gone {
		s.vacate(Device{x.Netns, x.Index})
	}
	return e
}

// vacate detaches everything from a device that was removed.
func (s *System) vacate(d Device) {
	if t := s.tc[d]; t != nil {
		for len(t.filters) > 0 {
			s.dropFilter(t, 0)
		}
		delete(s.tc, d)
	}
	for pl, g := range s.groups {
		if pl.kind != onDevice || pl.id != d.id() {
			continue
		}
		for len(g.list) > 0 {
			if l := g.list[0].link; l != nil {
				s.detachLink(l) // removes it from the list
			} else {
				s.leave(g, 0)
			}
		}
		delete(s.groups, pl)
	}
}
