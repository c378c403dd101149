//go:build linux && (amd64 || arm64)

package exec

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Attributes of IFLA_XDP, and flags and modes of an XDP attachment (include/uapi/linux/if_link.h).
const (
	xdpAttached     = 2
	xdpFlags        = 3
	xdpProgID       = 4
	xdpDrvProgID    = 5
	xdpSkbProgID    = 6
	xdpHwProgID     = 7
	xdpExpectedFD   = 8
	xdpIfNoExist    = 1 << 0
	xdpReplace      = 1 << 4
	xdpAttachedDrv  = 1
	xdpAttachedSkb  = 2
	xdpAttachedHw   = 3
	ifinfomsgSize   = 16
	nlmsgDone       = 3
	maxLinkMessages = 1024
)

// getLink serves RTM_GETLINK, RTM_GETADDR and RTM_GETQDISC in the initial namespace: the host's
// answer with the simulated devices, XDP programs and qdiscs. The query is sent on a socket of our
// own, since the answer is rewritten. ok is false when the host does not answer.
func (c *call) getLink(g int, ino uint64, msg []byte) bool {
	s := c.s
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	// Options of the tool's socket change the answer.
	for _, opt := range []int{unix.NETLINK_GET_STRICT_CHK, unix.NETLINK_EXT_ACK, unix.NETLINK_CAP_ACK} {
		if v, err := unix.GetsockoptInt(g, unix.SOL_NETLINK, opt); err == nil {
			_ = unix.SetsockoptInt(fd, unix.SOL_NETLINK, opt, v)
		}
	}
	limit := unix.NsecToTimeval(time.Second.Nanoseconds())
	if unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit) != nil || unix.Sendto(fd, msg, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}) != nil {
		return false
	}
	port := portOf(g)
	typ := uapi.RouteMessage(le.Uint16(msg[4:]))
	if typ != uapi.RouteGetqdisc && le.Uint16(msg[6:])&unix.NLM_F_DUMP == 0 {
		if m, e := parseLink(msg[nlmsgHdrSize:]); e == 0 && typ == uapi.RouteGetlink {
			if d := c.simulatedDevice(0, &m); d != nil {
				c.giveLink(g, ino, msg, d)
				return true
			}
		}
	}
	first := true
	buf := make([]byte, maxNetlink)
	for range maxLinkMessages {
		n, _, err := unix.Recvfrom(fd, buf, 0)
		if err != nil {
			return false
		}
		out, end := s.withXDP(buf[:n], port)
		if first && le.Uint16(msg[6:])&unix.NLM_F_DUMP != 0 {
			switch first = false; typ {
			case uapi.RouteGetqdisc:
				out = s.withQdiscs(0, msg, out, port)
			case uapi.RouteGetroute, uapi.RouteGetneigh:
				out = append(s.simulatedRoutes(g, 0, msg), out...)
			default:
				out = append(s.simulatedLinks(0, msg, port, nil), out...)
			}
		}
		s.replies[ino] = append(s.replies[ino], out)
		if end {
			return true
		}
	}
	return false
}

// withXDP rewrites the messages of an answer for the socket with the given port, and reports
// whether they end the answer.
func (s *supervisor) withXDP(b []byte, port uint32) (out []byte, end bool) {
	for len(b) >= nlmsgHdrSize {
		n := int(le.Uint32(b))
		if n < nlmsgHdrSize || n > len(b) {
			break
		}
		msg := append([]byte(nil), b[:n]...)
		typ, flags := le.Uint16(msg[4:]), le.Uint16(msg[6:])
		if typ == unix.RTM_NEWLINK && n >= nlmsgHdrSize+ifinfomsgSize {
			ifindex := le.Uint32(msg[nlmsgHdrSize+4:])
			const body = nlmsgHdrSize + ifinfomsgSize
			kept := append([]byte(nil), msg[:body]...)
			attributes(msg[body:], func(typ uint16, data []byte) {
				if typ != iflaXDP {
					kept = appendAttribute(kept, typ, data)
				}
			})
			msg = appendAttribute(kept, iflaXDP, s.xdpOf(bpfsys.Device{Index: ifindex}))
		}
		le.PutUint32(msg, uint32(len(msg)))
		le.PutUint32(msg[12:], port)
		out = append(out, msg...)
		end = end || flags&unix.NLM_F_MULTI == 0 || typ == nlmsgDone || typ == unix.NLMSG_ERROR
		b = b[min(len(b), (n+3)&^3):]
	}
	return out, end || len(out) == 0
}

// xdpOf returns the IFLA_XDP attribute of a device (rtnl_xdp_fill).
func (s *supervisor) xdpOf(on bpfsys.Device) []byte {
	id, in := s.sys.XDP(on)
	mode, attr := byte(xdpAttachedDrv), uint16(xdpDrvProgID)
	switch in {
	case bpfsys.XDPGeneric:
		mode, attr = xdpAttachedSkb, xdpSkbProgID
	case bpfsys.XDPOffload:
		mode, attr = xdpAttachedHw, xdpHwProgID
	}
	if id == 0 {
		return appendAttribute(nil, xdpAttached, []byte{0})
	}
	prog := le.AppendUint32(nil, id)
	return appendAttribute(appendAttribute(appendAttribute(nil, attr, prog), xdpAttached, []byte{mode}), xdpProgID, prog)
}

func appendAttribute(b []byte, typ uint16, data []byte) []byte {
	b = le.AppendUint16(le.AppendUint16(b, uint16(4+len(data))), typ)
	b = append(b, data...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

// setXDP attaches a program to a device or, with a negative descriptor, detaches it
// (dev_xdp_attach).
func (c *call) setXDP(on bpfsys.Device, fd int32, flags uint32, expected int32) unix.Errno {
	s := c.s
	if !s.sys.HasDevice(on) {
		return unix.ENODEV
	}
	const modes = uint32(bpfsys.XDPGeneric | bpfsys.XDPNative | bpfsys.XDPOffload)
	asked := bpfsys.XDPMode(flags & modes)
	if flags&^(xdpIfNoExist|modes|xdpReplace) != 0 || asked&(asked-1) != 0 || flags&xdpReplace != 0 && flags&xdpIfNoExist != 0 {
		return unix.EINVAL
	}
	mode, unsupported := s.sys.XDPMode(on, asked)
	var p *bpfsys.Prog
	if fd >= 0 {
		var ok bool
		if p, ok = c.File(fd).Object.(*bpfsys.Prog); !ok {
			return unix.EBADF
		}
	}
	id, current := s.sys.XDP(on)
	now := id
	if current != mode {
		now = 0 // a program in another mode is not seen
	}
	if flags&xdpReplace != 0 {
		want := uint32(0)
		if expected >= 0 {
			old, ok := c.File(expected).Object.(*bpfsys.Prog)
			if !ok {
				return unix.EBADF
			}
			want = old.ID()
		}
		if now != want {
			return unix.EEXIST
		}
	}
	switch {
	case p != nil && now != 0 && flags&xdpIfNoExist != 0:
		return unix.EBUSY
	case p != nil && id != now:
		return unix.EEXIST
	case p == nil && now == 0, p != nil && p.ID() == now: // the driver is not asked
		return 0
	case unsupported != 0:
		return errnoOf(unsupported)
	}
	s.logf("[%d] netlink: XDP of device %d", c.n.PID, on.Index)
	return errnoOf(s.sys.SetXDP(on, p, mode))
}
