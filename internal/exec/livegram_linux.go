//go:build linux && (amd64 || arm64)

package exec

import (
	"bytes"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
)

// Datagrams under --live. Nothing counts what a thread sends and receives by them, so results are
// known in another way. What waits in a socket can be looked at before a call takes it. A datagram
// over UDP is sent by this process in the tool's name, on the tool's own socket: at once or not at
// all, so that its result is the call's.

// datagram is what waited in a socket when a call began to receive.
type datagram struct {
	size  int     // what the call returns
	head  []byte  // its first bytes, as the call stores them
	parts []piece // where it stores them
}

// piece is a piece of a process's memory.
type piece struct{ addr, size uint64 }

// maxDatagram is the most bytes that UDP sends at once.
const maxDatagram = 1 << 16

// maxTogether limits the bytes of the datagrams of one call.
const maxTogether = 1 << 20

// maxParts limits the pieces of memory of one datagram.
const maxParts = 64

// parts reads an array of struct iovec.
func (c *call) parts(addr, count uint64) ([]piece, bool) {
	if count > maxParts {
		return nil, false
	}
	b := make([]byte, 16*count)
	if !c.Read(addr, b) {
		return nil, false
	}
	var out []piece
	for v := range slices.Chunk(b, 16) {
		out = append(out, piece{le.Uint64(v), le.Uint64(v[8:])})
	}
	return out, true
}

// gathered reads at most limit bytes of pieces of memory; ok is false if they have more.
func (c *call) gathered(parts []piece, limit uint64) (data []byte, ok bool) {
	for _, p := range parts {
		if p.size > limit-uint64(len(data)) {
			return nil, false
		}
		b := make([]byte, p.size)
		if !c.Read(p.addr, b) {
			return nil, false
		}
		data = append(data, b...)
	}
	return data, true
}

// message is a struct msghdr without its data.
type message struct {
	name    piece
	parts   []piece
	control uint64 // bytes of control data
}

func (c *call) message(addr uint64) (m message, ok bool) {
	h := make([]byte, msghdrSize)
	if !c.Read(addr, h) {
		return m, false
	}
	if le.Uint64(h) != 0 && int32(le.Uint32(h[8:])) < 0 { // an error, which the call itself gets (copy_msghdr_from_user)
		return m, false
	}
	m.name = piece{le.Uint64(h), uint64(le.Uint32(h[8:]))}
	m.control = le.Uint64(h[40:])
	m.parts, ok = c.parts(le.Uint64(h[16:]), le.Uint64(h[24:]))
	return m, ok
}

// isDatagram reports whether a socket carries datagrams of one of the families. Connections of Unix
// sockets that keep packets apart (SOCK_SEQPACKET) receive as datagrams do (unix_seqpacket_recvmsg).
func isDatagram(fd int, families ...int) bool {
	typ, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil {
		return false
	}
	family, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	packets := typ == unix.SOCK_SEQPACKET && family == unix.AF_UNIX && !listens(fd)
	return err == nil && slices.Contains(families, family) && (typ == unix.SOCK_DGRAM || packets)
}

// peek looks at the datagram that a call will receive. An error that waits in the socket is left
// for the call.
func (c *call) peek(b *begun) {
	flags, parts := 0, []piece{{c.arg(1), c.arg(2)}}
	switch b.name {
	case "recvfrom":
		flags = int(c.fd(3))
	case "recvmsg":
		m, ok := c.message(c.arg(1))
		if !ok {
			return
		}
		flags, parts = int(c.fd(2)), m.parts
	default:
		return
	}
	const others = unix.MSG_ERRQUEUE | unix.MSG_OOB
	g, err := c.s.grab(c.n, b.moves.fd)
	if err != nil {
		return
	}
	defer unix.Close(g)
	if flags&others != 0 || !isDatagram(g, unix.AF_INET, unix.AF_INET6, unix.AF_UNIX) || !ready(g, unix.POLLIN) || ready(g, unix.POLLERR) {
		return
	}
	p := make([]byte, maxShownData)
	if at, err := unix.GetsockoptInt(g, unix.SOL_SOCKET, unix.SO_PEEK_OFF); err == nil && at >= 0 {
		return // to look would move it
	}
	size, _, err := unix.Recvfrom(g, p, unix.MSG_PEEK|unix.MSG_TRUNC|unix.MSG_DONTWAIT)
	if err != nil {
		return
	}
	room := uint64(0)
	for _, x := range parts {
		room += min(x.size, 1<<30)
	}
	stored := min(uint64(size), room)
	d := &datagram{size: int(stored), head: p[:min(stored, maxShownData)], parts: parts}
	if flags&unix.MSG_TRUNC != 0 {
		d.size = size
	}
	b.moves.datagram = d
}

// received reports whether a datagram has got where it was expected: another thread may have taken
// it instead.
func (c *call) received(d *datagram) bool {
	left := d.head
	for _, p := range d.parts {
		b := make([]byte, min(p.size, uint64(len(left))))
		if !c.Read(p.addr, b) || !bytes.Equal(b, left[:len(b)]) {
			return false
		}
		left = left[len(b):]
	}
	return true
}

// sendFlags are the flags of datagrams that are sent in the tool's name.
const sendFlags = unix.MSG_DONTWAIT | unix.MSG_NOSIGNAL | unix.MSG_CONFIRM | unix.MSG_DONTROUTE

// sockets serves a call that sends datagrams over UDP without control data, one that receives over
// a Unix stream or several datagrams, and one that would receive where nothing waits and may not
// wait: its result is then known. It reports whether it did, or keeps the call until it can tell.
func (c *call) sockets() bool {
	b := c.s.begun[int(c.n.PID)]
	if b == nil {
		return false
	}
	switch b.name {
	case "sendto":
		if to, ok := c.addressAt(piece{c.arg(4), c.arg(5) & 0xffffffff}); ok {
			return c.sendDatagram(int(c.fd(3)), []piece{{c.arg(1), c.arg(2)}}, to)
		}
	case "sendmsg":
		if m, ok := c.message(c.arg(1)); ok && m.control == 0 {
			if to, ok := c.addressAt(m.name); ok {
				return c.sendDatagram(int(c.fd(2)), m.parts, to)
			}
		}
	case "sendmmsg":
		return c.sendDatagrams(int(c.fd(3)), c.arg(1), min(c.arg(2)&0xffffffff, maxMessages))
	case "recvfrom", "recvmmsg":
		return c.nothing(int(c.fd(3))) || c.receive(b.name, int(c.fd(3))) || c.hold(b, int(c.fd(3)))
	case "recvmsg":
		return c.nothing(int(c.fd(2))) || c.receive(b.name, int(c.fd(2))) || c.hold(b, int(c.fd(2)))
	case "accept", "accept4":
		return c.hold(b, 0)
	}
	return false
}

// addressAt reads a socket's address; without one it is nil.
func (c *call) addressAt(p piece) (unix.Sockaddr, bool) {
	if p.addr == 0 || p.size == 0 {
		return nil, true
	}
	b := make([]byte, min(p.size, maxSockaddr))
	if len(b) < 2 || !c.Read(p.addr, b) {
		return nil, false
	}
	port := func() int { return int(b[2])<<8 | int(b[3]) }
	switch family := le.Uint16(b); {
	case family == unix.AF_INET && len(b) >= unix.SizeofSockaddrInet4:
		return &unix.SockaddrInet4{Port: port(), Addr: [4]byte(b[4:8])}, true
	case family == unix.AF_INET6 && len(b) >= unix.SizeofSockaddrInet6 && le.Uint32(b[4:]) == 0: // without a flow label
		return &unix.SockaddrInet6{Port: port(), Addr: [16]byte(b[8:24]), ZoneId: le.Uint32(b[24:])}, true
	}
	return nil, false
}

// udpSocket returns a copy of the UDP socket that a call sends on with flags; ok is false if it is
// left to the call itself to send. The caller closes the copy.
func (c *call) udpSocket(flags int) (g int, ok bool) {
	if flags&^sendFlags != 0 || !c.s.killable {
		return -1, false
	}
	g, err := c.s.grab(c.n, c.fd(0))
	if err != nil {
		return -1, false
	}
	if protocol, err := unix.GetsockoptInt(g, unix.SOL_SOCKET, unix.SO_PROTOCOL); err != nil || protocol != unix.IPPROTO_UDP || !isDatagram(g, unix.AF_INET, unix.AF_INET6) {
		unix.Close(g)
		return -1, false
	}
	return g, true
}

// sendNow sends a datagram at once or not at all; ok is false if the call itself has to, since it
// waits or gets a signal.
func sendNow(g, flags int, data []byte, to unix.Sockaddr) (n int, e unix.Errno, ok bool) {
	n, err := unix.SendmsgN(g, data, nil, to, flags|unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	if err == nil {
		return n, 0, true
	}
	e, isErrno := err.(unix.Errno)
	return 0, e, isErrno && (e != unix.EAGAIN || flags&unix.MSG_DONTWAIT != 0) && e != unix.EPIPE
}

// sendDatagram sends a datagram on the tool's socket. What is not sent at once, or would be sent
// twice if a signal interrupted the call, is left to the call itself.
func (c *call) sendDatagram(flags int, parts []piece, to unix.Sockaddr) bool {
	g, ok := c.udpSocket(flags)
	if !ok {
		return false
	}
	defer unix.Close(g)
	data, ok := c.gathered(parts, maxDatagram)
	if !ok || !c.s.valid(c.n.ID) {
		return false
	}
	n, e, ok := sendNow(g, flags, data, to)
	if ok {
		c.s.reply(c.n, int64(n), e)
	}
	return ok
}

// sendDatagrams serves sendmmsg(2): it sends until a datagram fails, whose error is the call's only
// if it is the first (__sys_sendmmsg). The call itself sends them if one of them cannot be read or
// the first one has to wait.
func (c *call) sendDatagrams(flags int, addr, count uint64) bool {
	g, ok := c.udpSocket(flags)
	if !ok {
		return false
	}
	defer unix.Close(g)
	type datagram struct {
		data []byte
		to   unix.Sockaddr
	}
	list, room := make([]datagram, count), uint64(maxTogether)
	for i := range list {
		m, ok := c.message(addr + mmsghdrSize*uint64(i))
		if !ok || m.control != 0 {
			return false
		}
		if list[i].to, ok = c.addressAt(m.name); !ok {
			return false
		}
		if list[i].data, ok = c.gathered(m.parts, min(room, maxDatagram)); !ok {
			return false
		}
		room -= uint64(len(list[i].data))
	}
	if !c.s.valid(c.n.ID) {
		return false
	}
	for i, d := range list {
		n, e, ok := sendNow(g, flags, d.data, d.to)
		if !ok && i == 0 {
			return false
		}
		if ok && e == 0 && !c.Write(addr+mmsghdrSize*uint64(i)+msghdrSize, le.AppendUint32(nil, uint32(n))) {
			e = unix.EFAULT
		}
		switch {
		case ok && e == 0:
		case i == 0:
			c.s.reply(c.n, 0, e)
			return true
		default:
			c.s.reply(c.n, int64(i), 0)
			return true
		}
	}
	c.s.reply(c.n, int64(len(list)), 0)
	return true
}

// nothing answers a call that receives datagrams or over a Unix stream, where nothing waits, and
// that may not wait.
func (c *call) nothing(flags int) bool {
	g, err := c.s.grab(c.n, c.fd(0))
	if err != nil {
		return false
	}
	defer unix.Close(g)
	const others = unix.MSG_ERRQUEUE | unix.MSG_OOB
	if flags&others != 0 || !isDatagram(g, unix.AF_INET, unix.AF_INET6, unix.AF_UNIX) && !isUnixStream(g) || ready(g, unix.POLLIN|unix.POLLERR|unix.POLLHUP) {
		return false
	}
	if !waitless(g, flags) || !lowMark(g) {
		return false
	}
	c.s.reply(c.n, 0, unix.EAGAIN)
	return true
}

// hostSocket describes a socket of the process for events.
func (c *call) hostSocket(fd int32) (h bpfsys.HostSocket, ok bool) {
	g, err := c.s.grab(c.n, fd)
	if err != nil {
		return h, false
	}
	defer unix.Close(g)
	var st unix.Stat_t
	if unix.Fstat(g, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return h, false
	}
	info := socketInfo(g)
	tcp := info.Protocol == unix.IPPROTO_TCP && info.Type == unix.SOCK_STREAM && (info.Family == unix.AF_INET || info.Family == unix.AF_INET6)
	return bpfsys.HostSocket{Inode: st.Ino, Info: *info}, tcp
}

// connected fires what a connect over TCP passes in the kernel: the function of its family, and the
// changes of the socket's state.
func (c *call) connected(b *begun, ret int64) {
	h, ok := c.hostSocket(int32(b.regs[0]))
	if !ok || !h.Info.Remote.IsValid() {
		return
	}
	function := "tcp_v4_connect"
	if h.Info.Family == unix.AF_INET6 {
		function = "tcp_v6_connect"
	}
	c.stateChange(b, h, tcpClose, tcpSynSent)
	c.s.fireEvent(bpfsys.Event{Hook: function, Args: map[string]any{"ret": int64(0)}, Task: b.task, CPU: b.cpu, Sockets: map[string]bpfsys.HostSocket{"sk": h}})
	if ret == 0 {
		c.stateChange(b, h, tcpSynSent, tcpEstablished)
	}
}

// accepted fires what an accept over TCP passes.
func (c *call) accepted(b *begun, fd int32) {
	if h, ok := c.hostSocket(fd); ok && h.Info.Remote.IsValid() {
		c.stateChange(b, h, tcpSynRecv, tcpEstablished)
		c.s.fireEvent(bpfsys.Event{Hook: "inet_csk_accept", Task: b.task, CPU: b.cpu, Sockets: map[string]bpfsys.HostSocket{"ret": h}})
	}
}

// stateChange fires the tracepoint of a change of a socket's state, which the socket still has as it
// was before, and the function that makes it.
func (c *call) stateChange(b *begun, h bpfsys.HostSocket, from, to uint8) {
	h.Info.State = from
	sockets := map[string]bpfsys.HostSocket{"sk": h}
	c.s.fireEvent(bpfsys.Event{Hook: "tcp_set_state", Args: map[string]any{"state": int64(to)}, Task: b.task, CPU: b.cpu, Sockets: sockets})
	c.s.fireEvent(bpfsys.Event{Hook: "inet_sock_set_state", Args: map[string]any{"oldstate": int64(from), "newstate": int64(to)}, Task: b.task, CPU: b.cpu, Sockets: sockets})
}
