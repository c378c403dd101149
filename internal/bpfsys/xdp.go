package bpfsys

import (
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// XDPMode is how a device runs its XDP program, as the flag that chooses it (XDP_FLAGS_*_MODE in
// include/uapi/linux/if_link.h).
type XDPMode uint32

// The modes. 0 lets the device choose.
const (
	XDPGeneric XDPMode = 1 << 1
	XDPNative  XDPMode = 1 << 2
	XDPOffload XDPMode = 1 << 3

	xdpModes = XDPGeneric | XDPNative | XDPOffload
)

// loopbackIndex is LOOPBACK_IFINDEX, the index of the loopback device in each network namespace.
const loopbackIndex = 1

// xdpMode returns the mode in which a device runs a program (dev_xdp_mode). Loopback, dummy and
// netkit devices have no XDP of their own (ndo_bpf), veth devices have it. Of a device of the host,
// which may have it, only generic mode is chosen without being asked for.
func (s *System) xdpMode(d Device, asked XDPMode) (XDPMode, uapi.Errno) {
	dev := s.net.At(d.Netns, d.Index)
	veth := dev != nil && dev.Kind == "veth"
	native := dev == nil && d.Index != loopbackIndex || veth
	switch {
	case asked&(asked-1) != 0:
		return 0, uapi.EINVAL
	case asked == 0 && veth:
		return XDPNative, 0
	case asked == 0:
		return XDPGeneric, 0
	case asked == XDPOffload && veth: // its driver does not know the request
		return asked, uapi.EINVAL
	case asked == XDPNative && !native, asked == XDPOffload && (dev != nil || !native):
		return asked, uapi.EOPNOTSUPP
	}
	return asked, 0
}

// XDPMode returns the mode that a device runs a program in if it is asked for one, 0 for its own
// choice, or the errno of attaching one.
func (s *System) XDPMode(d Device, asked XDPMode) (XDPMode, uapi.Errno) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.xdpMode(d, asked)
}

// SetXDP attaches a program to a network device as RTM_SETLINK does, in a mode that
// [System.XDPMode] gave; nil detaches the current program.
func (s *System) SetXDP(d Device, p *Prog, mode XDPMode) uapi.Errno {
	s.mu.Lock()
	defer s.mu.Unlock()
	pl := d.on(uapi.AttachXDP)
	g := s.group(pl)
	if len(g.list) > 0 && g.list[0].link != nil {
		return uapi.EBUSY
	}
	if p != nil && p.typ != uapi.ProgTypeXDP {
		return uapi.EINVAL
	}
	for len(g.list) > 0 {
		s.leave(g, 0)
	}
	if p == nil {
		return 0
	}
	s.hold(p)
	h := s.attach(&attachment{prog: p, place: pl, hook: machine.Hook{AttachTo: p.lp.AttachTo, Section: p.lp.Section}})
	g.list = append(g.list, groupEntry{p, nil, h})
	g.xdp = mode
	return 0
}

// XDP returns the id of a device's XDP program, or 0 if it has none, and its mode.
func (s *System) XDP(d Device) (id uint32, mode XDPMode) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.groups[d.on(uapi.AttachXDP)]; g != nil && len(g.list) > 0 {
		return g.list[0].prog.id, g.xdp
	}
	return 0, 0
}
