//go:build linux && (amd64 || arm64)

package exec

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What calls that receive return under --live. Over a Unix stream, and by recvmmsg(2), nothing
// counts what came: this process receives in the tool's name, on the tool's own socket, what waits
// there, without room for control data, so that descriptors that were sent are dropped as they are
// for the call. A call that would wait is held until it no longer would.

// reception is where a call stores what it receives.
type reception struct {
	parts  []piece
	name   piece  // for the sender's address
	length uint64 // address of that address's length
	header uint64 // address of its struct msghdr, 0 if it has none
}

// receptions returns where a call stores what it receives: one for each message. ok is false if it
// has room for control data.
func (c *call) receptions(name string) (list []reception, ok bool) {
	switch name {
	case "recvfrom":
		r := reception{parts: []piece{{c.arg(1), c.arg(2)}}, length: c.arg(5)}
		if c.arg(4) != 0 {
			b := make([]byte, 4)
			if !c.Read(r.length, b) || int32(le.Uint32(b)) < 0 {
				return nil, false
			}
			r.name = piece{c.arg(4), uint64(le.Uint32(b))}
		}
		return []reception{r}, true
	case "recvmsg":
		r, ok := c.receptionAt(c.arg(1))
		return []reception{r}, ok
	case "recvmmsg":
		if c.arg(4) != 0 { // until a time
			return nil, false
		}
		for i := range min(c.arg(2)&0xffffffff, maxMessages) {
			r, ok := c.receptionAt(c.arg(1) + mmsghdrSize*i)
			if !ok {
				return nil, false
			}
			list = append(list, r)
		}
	}
	return list, len(list) > 0
}

func (c *call) receptionAt(header uint64) (r reception, ok bool) {
	m, ok := c.message(header)
	return reception{parts: m.parts, name: m.name, length: header + 8, header: header}, ok && m.control == 0
}

// receiveFlags are the flags of calls that receive in the tool's name. Those that receive several
// messages wait for the first one only, or for none.
const receiveFlags = unix.MSG_DONTWAIT | unix.MSG_PEEK | unix.MSG_TRUNC | unix.MSG_NOSIGNAL | unix.MSG_CMSG_CLOEXEC | unix.MSG_WAITFORONE

// receive serves a call that receives over a Unix stream, or several datagrams, if something waits.
func (c *call) receive(name string, flags int) bool {
	if flags&^receiveFlags != 0 || !c.s.killable || name != "recvmmsg" && flags&unix.MSG_WAITFORONE != 0 {
		return false
	}
	g, err := c.s.grab(c.n, c.fd(0))
	if err != nil {
		return false
	}
	defer unix.Close(g)
	many := name == "recvmmsg"
	if many && !isDatagram(g, unix.AF_INET, unix.AF_INET6, unix.AF_UNIX) || !many && !isUnixStream(g) || !ready(g, unix.POLLIN) || !lowMark(g) {
		return false
	}
	if many && flags&unix.MSG_WAITFORONE == 0 && !waitless(g, flags) {
		return false
	}
	list, ok := c.receptions(name)
	if !ok || !c.s.valid(c.n.ID) {
		return false
	}
	got := int64(0)
	for i, r := range list {
		if i > 0 && ready(g, unix.POLLERR) { // the next call's
			break
		}
		n, e, ok := c.receiveNow(g, r, flags&^unix.MSG_WAITFORONE)
		if many && ok && e == 0 && !c.Write(r.header+msghdrSize, le.AppendUint32(nil, uint32(n))) {
			e = unix.EFAULT
		}
		switch {
		case !ok && i == 0:
			return false
		case !ok || e != 0 && i > 0:
			c.s.reply(c.n, got, 0)
			return true
		case e != 0 || !many:
			c.s.reply(c.n, n, e)
			return true
		}
		got++
	}
	c.s.reply(c.n, got, 0)
	return true
}

// receiveNow receives what waits and stores it, and shows it to programs. ok is false if nothing
// waits, or too little memory is at hand for what may come.
func (c *call) receiveNow(g int, r reception, flags int) (n int64, e unix.Errno, ok bool) {
	room := uint64(0)
	for _, p := range r.parts {
		room += min(p.size, 1<<40)
	}
	if room > maxTogether && !isUnixStream(g) {
		return 0, 0, false
	}
	data, name := make([]byte, min(room, maxTogether)), make([]byte, maxSockaddr)
	v := unix.Iovec{Len: uint64(len(data))}
	if len(data) > 0 {
		v.Base = &data[0]
	}
	h := unix.Msghdr{Name: &name[0], Namelen: maxSockaddr, Iov: &v, Iovlen: 1}
	got, _, e := unix.Syscall(unix.SYS_RECVMSG, uintptr(g), uintptr(unsafe.Pointer(&h)), uintptr(flags|unix.MSG_DONTWAIT))
	if e != 0 {
		return 0, e, e != unix.EAGAIN && e != unix.EINTR
	}
	data, name = data[:min(uint64(got), uint64(len(data)))], name[:min(h.Namelen, maxSockaddr)]
	if !c.store(r, data, name, uint32(h.Flags)) {
		return 0, unix.EFAULT, true
	}
	return int64(got), 0, true
}

// store writes what was received into the memory of the process, as ___sys_recvmsg does.
func (c *call) store(r reception, data, name []byte, flags uint32) bool {
	left := data
	for _, p := range r.parts {
		k := min(p.size, uint64(len(left)))
		if k > 0 && !c.Write(p.addr, left[:k]) {
			return false
		}
		left = left[k:]
	}
	if r.name.addr != 0 {
		k := min(r.name.size, uint64(len(name)))
		if k > 0 && !c.Write(r.name.addr, name[:k]) || !c.Write(r.length, le.AppendUint32(nil, uint32(len(name)))) {
			return false
		}
	}
	if r.header != 0 {
		if !c.Write(r.header+48, le.AppendUint32(nil, flags)) || !c.Write(r.header+40, make([]byte, 8)) {
			return false
		}
		c.showMessage(r.header, uint64(len(data)))
		return true
	}
	c.show(r.parts[0].addr, uint64(len(data)))
	c.showPeer(r.name.addr, r.length)
	return true
}

func isUnixStream(fd int) bool {
	family, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	typ, err2 := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	return err == nil && err2 == nil && family == unix.AF_UNIX && typ == unix.SOCK_STREAM && !listens(fd)
}

func listens(fd int) bool {
	on, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
	return err == nil && on != 0
}

// lowMark reports whether a socket is ready as soon as one byte waits.
func lowMark(fd int) bool {
	n, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVLOWAT)
	return err == nil && n <= 1
}

// waitless reports whether a call does not wait on a socket.
func waitless(fd, flags int) bool {
	status, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	return err == nil && (flags&unix.MSG_DONTWAIT != 0 || status&unix.O_NONBLOCK != 0)
}

// maxHeld limits the calls that are held: each has a descriptor of this process.
const maxHeld = 256

// hold keeps a call that would wait in a socket until something is there, and reports whether it
// does. Then what it gets can be looked at, however long it waited.
func (c *call) hold(b *begun, flags int) bool {
	s := c.s
	if flags&^receiveFlags != 0 || s.held >= maxHeld || !s.killable {
		return false
	}
	g, err := s.grab(c.n, c.fd(0))
	if err != nil {
		return false
	}
	accepts := b.name == "accept" || b.name == "accept4"
	limit, err := unix.GetsockoptTimeval(g, unix.SOL_SOCKET, unix.SO_RCVTIMEO)
	if err != nil || limit.Nano() != 0 || waitless(g, flags) || !lowMark(g) || ready(g, unix.POLLIN|unix.POLLERR|unix.POLLHUP) ||
		accepts != listens(g) || !accepts && !isUnixStream(g) && !isDatagram(g, unix.AF_INET, unix.AF_INET6, unix.AF_UNIX) {
		unix.Close(g)
		return false
	}
	s.held++
	n := *c.n
	go s.awaitSocket(&call{s: s, n: &n}, g)
	return true
}

// errRestart is ERESTARTSYS, which a call that a signal interrupts returns within the kernel: that
// is what programs see.
const errRestart = 512

// awaitSocket waits until a held call would no longer wait in its socket, or a signal comes for its
// thread, which the host's kernel then lets it have. It closes the socket.
func (s *supervisor) awaitSocket(c *call, g int) {
	const events = unix.POLLIN | unix.POLLERR | unix.POLLHUP
	for over := false; !over; {
		p := []unix.PollFd{{Fd: int32(g), Events: events}}
		n, _ := unix.Poll(p, int(pollWatched/time.Millisecond))
		s.mu.Lock()
		b := s.begun[int(c.n.PID)]
		switch {
		case !s.valid(c.n.ID):
			over = true
		case b != nil && n > 0 && ready(g, events):
			c.expect(b)
			if over = true; !c.incoming(b) {
				s.host(c.n)
			}
		case b == nil || c.Interrupted():
			if over = true; b != nil {
				ret := int64(-errRestart)
				b.ret = &ret
			}
			s.host(c.n)
		}
		if over {
			s.held--
			unix.Close(g)
		}
		s.mu.Unlock()
	}
}

// incoming serves a call that receives and whose data is there.
func (c *call) incoming(b *begun) bool {
	if b.moves != nil {
		c.peek(b)
		if b.moves.datagram != nil {
			return false
		}
	}
	switch b.name {
	case "recvfrom":
		return c.receive(b.name, int(c.fd(3)))
	case "recvmsg":
		return c.receive(b.name, int(c.fd(2)))
	case "recvmmsg":
		return c.receive(b.name, int(c.fd(3)))
	}
	return false
}
