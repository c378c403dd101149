//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"net"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/bpfsys/network"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// devices returns the indices of the devices of a network namespace, those of the host first.
func (s *supervisor) devices(netns uint32) (out []uint32) {
	if list, err := net.Interfaces(); err == nil && netns == 0 {
		for _, i := range list {
			out = append(out, uint32(i.Index))
		}
	}
	s.sys.Network(func(n *network.Network) {
		for _, d := range n.Devices(netns) {
			out = append(out, d.Index)
		}
	})
	return out
}

func deviceNamed(name string) bool {
	_, err := net.InterfaceByName(name)
	return err == nil
}

func hasDevice(ifindex uint32) bool {
	_, err := net.InterfaceByIndex(int(ifindex))
	return ifindex > 0 && err == nil
}

// Attributes of a device's XDP program (include/uapi/linux/if_link.h).
const (
	iflaXDP      = 43
	iflaXDPFD    = 1
	nlaTypeMask  = 0x3fff
	nlmsgHdrSize = 16
)

// route returns a copy of descriptor fd and its inode; ok is false when it is not a NETLINK_ROUTE
// socket. The caller closes the copy.
func (c *call) route(fd int32) (int, uint64, bool) {
	g, ino, protocol, ok := c.netlinkSocket(fd)
	if ok && protocol != unix.NETLINK_ROUTE {
		unix.Close(g)
		return -1, 0, false
	}
	return g, ino, ok
}

// netlinkSocket returns a copy of descriptor fd, its inode and its protocol; ok is false when it is
// no netlink socket. The caller closes the copy.
func (c *call) netlinkSocket(fd int32) (g int, ino uint64, protocol int, ok bool) {
	g, err := c.s.grab(c.n, fd)
	if err != nil {
		return -1, 0, 0, false
	}
	d, err := unix.GetsockoptInt(g, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err == nil && d == unix.AF_NETLINK {
		p, err := unix.GetsockoptInt(g, unix.SOL_SOCKET, unix.SO_PROTOCOL)
		var st unix.Stat_t
		if err == nil && unix.Fstat(g, &st) == nil {
			return g, st.Ino, p, true
		}
	}
	unix.Close(g)
	return -1, 0, 0, false
}

// maxNetlink limits the bytes of a message.
const maxNetlink = 64 << 10

func (c *call) sendto() {
	g, ino, ok := c.route(c.fd(0))
	if !ok {
		c.generic(func() ([]byte, bool) {
			msg := make([]byte, min(c.arg(2), maxNetlink))
			return msg, c.Read(c.arg(1), msg)
		})
		return
	}
	defer unix.Close(g)
	if c.arg(2) > maxNetlink {
		c.s.reply(c.n, 0, unix.EMSGSIZE)
		return
	}
	msg := make([]byte, c.arg(2))
	if !c.Read(c.arg(1), msg) {
		c.s.reply(c.n, 0, unix.EFAULT)
		return
	}
	n, e := c.netlink(g, ino, msg)
	c.s.pokeAnswered(g, ino)
	c.s.reply(c.n, n, e)
}

func (c *call) sendmsg() {
	g, ino, ok := c.route(c.fd(0))
	if !ok {
		c.generic(func() ([]byte, bool) {
			msg, e := c.gather(c.arg(1))
			return msg, e == 0
		})
		return
	}
	defer unix.Close(g)
	msg, e := c.gather(c.arg(1))
	n := int64(0)
	if e == 0 {
		n, e = c.netlink(g, ino, msg)
		c.s.pokeAnswered(g, ino)
	}
	c.s.reply(c.n, n, e)
}

// gather reads the message of a struct msghdr.
func (c *call) gather(addr uint64) ([]byte, unix.Errno) {
	h := make([]byte, msghdrSize)
	if !c.Read(addr, h) {
		return nil, unix.EFAULT
	}
	var msg []byte
	for i := range min(le.Uint64(h[24:]), 64) {
		v := make([]byte, 16)
		if !c.Read(le.Uint64(h[16:])+16*i, v) {
			return nil, unix.EFAULT
		}
		n := le.Uint64(v[8:])
		if n > maxNetlink-uint64(len(msg)) {
			return nil, unix.EMSGSIZE
		}
		part := make([]byte, n)
		if !c.Read(le.Uint64(v), part) {
			return nil, unix.EFAULT
		}
		msg = append(msg, part...)
	}
	return msg, 0
}

// Sizes in bytes of struct msghdr and struct mmsghdr, and the most messages that sendmmsg(2) sends.
const (
	msghdrSize, mmsghdrSize = 56, 64
	maxMessages             = 1024
)

// sendmmsg sends messages until one fails; its error is the call's only if it is the first
// (__sys_sendmmsg).
func (c *call) sendmmsg() {
	g, ino, ok := c.route(c.fd(0))
	if !ok {
		c.s.host(c.n)
		return
	}
	defer unix.Close(g)
	sent := int64(0)
	for i := range min(uint64(uint32(c.arg(2))), maxMessages) {
		at := c.arg(1) + mmsghdrSize*i
		msg, e := c.gather(at)
		n := int64(0)
		if e == 0 {
			n, e = c.netlink(g, ino, msg)
		}
		if e == 0 && !c.Write(at+msghdrSize, le.AppendUint32(nil, uint32(n))) {
			e = unix.EFAULT
		}
		if e != 0 {
			if sent == 0 {
				c.s.reply(c.n, 0, e)
				return
			}
			break
		}
		sent++
	}
	c.s.pokeAnswered(g, ino)
	c.s.reply(c.n, sent, 0)
}

// routeWay is what happens to a message of NETLINK_ROUTE.
type routeWay uint8

const (
	routeRefused routeWay = iota
	routeAsked            // a query, answered by the host
	routeServed           // what is about BPF or simulated devices is simulated; the rest is refused
)

// lastRoute is RTM_MAX of Linux 7.2.
const lastRoute = uapi.RouteGettunnel | 3

// howRoute returns what happens to messages of a type.
func howRoute(m uapi.RouteMessage) routeWay {
	switch m {
	case uapi.RouteNewlink, uapi.RouteSetlink, uapi.RouteDellink, uapi.RouteGetlink, uapi.RouteNewlinkprop, uapi.RouteDellinkprop, uapi.RouteGetqdisc, uapi.RouteNewaddr, uapi.RouteDeladdr, uapi.RouteGetaddr,
		uapi.RouteNewroute, uapi.RouteDelroute, uapi.RouteGetroute, uapi.RouteNewneigh, uapi.RouteDelneigh, uapi.RouteGetneigh,
		uapi.RouteNewqdisc, uapi.RouteDelqdisc, uapi.RouteNewtfilter, uapi.RouteDeltfilter, uapi.RouteGettfilter:
		return routeServed
	}
	const get = 2 // the lowest two bits of a message's type: 0 new, 1 delete, 2 get, 3 set
	if m < unix.RTM_BASE || m&3 == get {
		return routeAsked
	}
	return routeRefused
}

// netlink serves the messages in a buffer, one by one (netlink_rcv_skb), and returns the number of
// bytes sent.
func (c *call) netlink(g int, ino uint64, b []byte) (int64, unix.Errno) {
	if len(b) < nlmsgHdrSize {
		return 0, unix.EINVAL
	}
	c.s.drain() // links that were closed hold their devices no more
	for rest := b; len(rest) >= nlmsgHdrSize; {
		n := int(le.Uint32(rest))
		if n < nlmsgHdrSize || n > len(rest) {
			break
		}
		if e := c.netlinkMessage(g, ino, rest[:n:n]); e != 0 {
			return 0, e
		}
		rest = rest[min(len(rest), (n+3)&^3):]
	}
	return int64(len(b)), 0
}

// netlinkMessage serves a message: BPF programs of devices and simulated devices here, queries at
// the host, sent from the checked copy of the bytes. What would change the host is refused.
func (c *call) netlinkMessage(g int, ino uint64, msg []byte) unix.Errno {
	s := c.s
	typ, flags, netns := uapi.RouteMessage(le.Uint16(msg[4:])), le.Uint16(msg[6:]), s.routeSockets[ino]
	if len(msg) == nlmsgHdrSize && typ <= lastRoute { // shorter than struct rtgenmsg: rtnetlink_rcv_msg ignores it
		if flags&unix.NLM_F_ACK != 0 {
			s.answerNetlink(g, ino, msg, 0)
		}
		return 0
	}
	how := howRoute(typ)
	query := typ == uapi.RouteGetlink || typ == uapi.RouteGetqdisc || typ == uapi.RouteGetaddr || typ == uapi.RouteGetroute || typ == uapi.RouteGetneigh
	if typ == uapi.RouteGetroute && flags&unix.NLM_F_DUMP == 0 {
		if e, served := c.findRoute(g, ino, netns, msg); served {
			if e != 0 || flags&unix.NLM_F_ACK != 0 {
				s.answerNetlink(g, ino, msg, e)
			}
			return 0
		}
	}
	_, index := queried(msg)
	if f := filterOf(g, msg); f.device != 0 {
		index = f.device
	}
	if netns != 0 && (query || how == routeAsked) || index != 0 && c.simulatedDevice(0, &linkMessage{spec: network.Spec{Index: index}}) != nil {
		if e := c.netnsQuery(g, ino, netns, msg); e != 0 {
			s.answerNetlink(g, ino, msg, e)
		}
		return 0
	}
	listed := typ == uapi.RouteGetroute || typ == uapi.RouteGetneigh
	if query && !(listed && len(s.simulated(0)) == 0) && c.getLink(g, ino, msg) {
		return 0
	}
	if how == routeAsked || query {
		_, err := unix.SendmsgN(g, msg, nil, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}, 0)
		e, _ := err.(unix.Errno)
		return e
	}
	errno, served := unix.EPERM, false
	c.notifying(g, netns, msg, func() {
		switch {
		case typ == uapi.RouteNewlink || typ == uapi.RouteSetlink:
			if errno, served = c.setLink(netns, msg); !served {
				errno, served = c.changeLink(netns, typ, flags, msg[nlmsgHdrSize:])
			}
		case typ == uapi.RouteDellink:
			errno, served = c.deleteLink(netns, msg[nlmsgHdrSize:])
		case typ == uapi.RouteNewlinkprop || typ == uapi.RouteDellinkprop:
			errno, served = c.changeNames(netns, typ, msg[nlmsgHdrSize:])
		case typ == uapi.RouteNewaddr || typ == uapi.RouteDeladdr:
			errno, served = c.changeAddress(netns, typ, flags, msg[nlmsgHdrSize:])
		case typ == uapi.RouteNewroute || typ == uapi.RouteDelroute:
			errno, served = c.changeRoute(netns, typ, flags, msg[nlmsgHdrSize:])
		case typ == uapi.RouteNewneigh || typ == uapi.RouteDelneigh:
			errno, served = c.changeNeighbor(netns, typ, flags, msg[nlmsgHdrSize:])
		case how == routeServed:
			errno, served = c.tc(g, ino, netns, msg)
		}
	})
	if served && errno == 0 && (flags&unix.NLM_F_ACK == 0 || typ == uapi.RouteGettfilter && flags&unix.NLM_F_DUMP != 0) {
		return 0 // a dump ends by itself
	}
	if !served && typ > lastRoute { // rtnetlink_rcv_msg
		errno, served = unix.EOPNOTSUPP, true
	}
	if !served {
		errno = unix.EPERM
		s.note(fmt.Sprintf("refused netlink message %s, which would change the host's network", typ))
	}
	s.answerNetlink(g, ino, msg, errno)
	return 0
}

// attributes calls f for each netlink attribute in b.
func attributes(b []byte, f func(typ uint16, data []byte)) {
	for len(b) >= 4 {
		n := int(le.Uint16(b))
		if n < 4 || n > len(b) {
			return
		}
		f(le.Uint16(b[2:])&nlaTypeMask, b[4:n])
		b = b[min(len(b), (n+3)&^3):]
	}
}

// wellFormed reports whether b consists of attributes and nothing else, as messages that are read
// strictly must (__nla_validate_parse).
func wellFormed(b []byte) bool {
	for len(b) >= 4 {
		n := int(le.Uint16(b))
		if n < 4 || n > len(b) {
			return false
		}
		b = b[min(len(b), (n+3)&^3):]
	}
	return len(b) == 0
}

// setLink attaches or detaches an XDP program; ok is false when the message is about something
// else.
func (c *call) setLink(netns uint32, msg []byte) (e unix.Errno, ok bool) {
	if len(msg) < nlmsgHdrSize+16 {
		return unix.EINVAL, true
	}
	on := bpfsys.Device{Netns: netns, Index: le.Uint32(msg[nlmsgHdrSize+4:])}
	attributes(msg[nlmsgHdrSize+16:], func(typ uint16, data []byte) {
		if typ != iflaXDP {
			return
		}
		ok = true
		fd, flags, expected, has := int32(-1), uint32(0), int32(-1), false
		attributes(data, func(typ uint16, data []byte) {
			if len(data) < 4 {
				return
			}
			switch v := le.Uint32(data); typ {
			case iflaXDPFD:
				fd, has = int32(v), true
			case xdpFlags:
				flags = v
			case xdpExpectedFD:
				expected = int32(v)
			}
		})
		if has {
			e = c.setXDP(on, fd, flags, expected)
		}
	})
	return e, ok
}

// answerNetlink queues the acknowledgement for the next read of the socket.
func (s *supervisor) answerNetlink(g int, ino uint64, msg []byte, e unix.Errno) {
	capped, err := unix.GetsockoptInt(g, unix.SOL_NETLINK, unix.NETLINK_CAP_ACK)
	r := netlinkAck(msg, portOf(g), e, err == nil && capped != 0)
	if len(s.replies) > 1024 {
		clear(s.replies)
	}
	s.replies[ino] = append(s.replies[ino], r)
}

// netlinkAck makes the acknowledgement of a message: NLMSG_ERROR with a struct nlmsgerr. That of an
// error has the whole message behind it, unless the socket has NETLINK_CAP_ACK; else it has its
// header and says so by NLM_F_CAPPED (netlink_ack).
func netlinkAck(msg []byte, port uint32, e unix.Errno, capped bool) []byte {
	flags := uint16(0)
	if e == 0 || capped {
		flags, msg = unix.NLM_F_CAPPED, msg[:nlmsgHdrSize]
	}
	r := make([]byte, nlmsgHdrSize, nlmsgHdrSize+4+len(msg)+3)
	le.PutUint32(r, uint32(nlmsgHdrSize+4+(len(msg)+3)&^3))
	le.PutUint16(r[4:], unix.NLMSG_ERROR)
	le.PutUint16(r[6:], flags)
	copy(r[8:12], msg[8:12]) // the sequence number
	le.PutUint32(r[12:], port)
	r = le.AppendUint32(r, uint32(-int32(e)))
	r = append(r, msg...)
	return append(r, make([]byte, -len(r)&3)...)
}

// waiting returns the inode of the caller's socket and the first answer queued for it.
func (c *call) waiting() (uint64, []byte, bool) {
	if len(c.s.replies) == 0 {
		return 0, nil, false
	}
	g, ino, _, ok := c.netlinkSocket(c.fd(0))
	if !ok {
		return 0, nil, false
	}
	unix.Close(g)
	q := c.s.replies[ino]
	if len(q) == 0 {
		return 0, nil, false
	}
	return ino, q[0], true
}

func (s *supervisor) taken(ino uint64) {
	if s.replies[ino] = s.replies[ino][1:]; len(s.replies[ino]) == 0 {
		delete(s.replies, ino)
	}
}

// kernelAddress is the struct sockaddr_nl of the kernel.
var kernelAddress = []byte{unix.AF_NETLINK, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

func (c *call) recvmsg() {
	if c.watching(c.arg(2), (*call).recvmsg) {
		return
	}
	c.unpokeAnswered()
	ino, r, ok := c.waiting()
	if !ok {
		c.s.host(c.n)
		return
	}
	h := make([]byte, 56)
	if !c.Read(c.arg(1), h) {
		c.s.reply(c.n, 0, unix.EFAULT)
		return
	}
	left := r
	for i := range min(le.Uint64(h[24:]), 64) {
		v := make([]byte, 16)
		if !c.Read(le.Uint64(h[16:])+16*i, v) {
			break
		}
		k := min(uint64(len(left)), le.Uint64(v[8:]))
		if !c.Write(le.Uint64(v), left[:k]) {
			c.s.reply(c.n, 0, unix.EFAULT)
			return
		}
		left = left[k:]
	}
	size, flags := len(r)-len(left), uint32(0)
	if len(left) > 0 {
		flags = unix.MSG_TRUNC
		if c.arg(2)&unix.MSG_TRUNC != 0 {
			size = len(r)
		}
	}
	if name := le.Uint64(h); name != 0 && le.Uint32(h[8:]) >= 12 {
		c.Write(name, kernelAddress)
		c.Write(c.arg(1)+8, le.AppendUint32(nil, 12))
	}
	c.Write(c.arg(1)+40, le.AppendUint64(nil, 0)) // no control messages
	c.Write(c.arg(1)+48, le.AppendUint32(nil, flags))
	if c.arg(2)&unix.MSG_PEEK == 0 {
		c.s.taken(ino)
		c.unpokeAnswered()
	}
	c.s.reply(c.n, int64(size), 0)
}

func (c *call) recvfrom() {
	if c.watching(c.arg(3), (*call).recvfrom) {
		return
	}
	c.unpokeAnswered()
	ino, r, ok := c.waiting()
	if !ok {
		c.s.host(c.n)
		return
	}
	k := min(uint64(len(r)), c.arg(2))
	if !c.Write(c.arg(1), r[:k]) {
		c.s.reply(c.n, 0, unix.EFAULT)
		return
	}
	if c.arg(4) != 0 && c.arg(5) != 0 {
		c.Write(c.arg(4), kernelAddress)
		c.Write(c.arg(5), le.AppendUint32(nil, 12))
	}
	if c.arg(3)&unix.MSG_PEEK == 0 {
		c.s.taken(ino)
		c.unpokeAnswered()
	}
	if c.arg(3)&unix.MSG_TRUNC != 0 { // the length of the message, not of what was stored (netlink_recvmsg)
		k = uint64(len(r))
	}
	c.s.reply(c.n, int64(k), 0)
}
