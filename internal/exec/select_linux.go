//go:build linux && (amd64 || arm64)

package exec

import (
	"time"

	"golang.org/x/sys/unix"
)

// select(2) and pselect6(2) with descriptors of objects, in terms of poll(2) (fs/select.c).

// fdSets are the sets of a select: for reading, for writing, and of exceptional conditions.
type fdSets struct {
	unit  time.Duration // of the fraction in the timeout: a struct timeval's or a struct timespec's
	words int           // 64-bit words of each set
	fds   []int         // the descriptors, in the order of polling.fds
	in    [3]map[int]bool
	asked []int16 // events that make each descriptor ready
}

// Events of poll(2) that package unix does not define.
const pollRdBand, pollWrNorm, pollWrBand = 0x80, 0x100, 0x200

// setEvents are the events that make a descriptor of each set ready: POLLIN_SET, POLLOUT_SET,
// POLLEX_SET.
var setEvents = [3]int16{
	unix.POLLIN | pollRdNorm | pollRdBand | unix.POLLHUP | unix.POLLERR,
	unix.POLLOUT | pollWrNorm | pollWrBand | unix.POLLERR,
	unix.POLLPRI,
}

// selectOf serves select(2) or pselect6(2); unit is that of the timeout's second word.
func (c *call) selectOf(unit time.Duration) {
	s := c.s
	n := int(int32(c.arg(0)))
	if n <= 0 || n > maxPoll || !s.anyBuffer() {
		s.host(c.n)
		return
	}
	timeout := int64(-1)
	if at := c.arg(4); at != 0 {
		b := make([]byte, 16)
		if !c.Read(at, b) {
			s.host(c.n)
			return
		}
		sec, part := int64(le.Uint64(b)), int64(le.Uint64(b[8:]))
		if sec < 0 || part < 0 || part >= int64(time.Second/unit) && unit == time.Nanosecond {
			s.host(c.n) // EINVAL
			return
		}
		if sec < 1<<32 && part < 1<<40 {
			timeout = sec*int64(time.Second) + part*int64(unit)
		}
	}
	x := &fdSets{unit: unit, words: (n + 63) / 64}
	var raw [3][]byte
	for i := range raw {
		if raw[i] = make([]byte, 8*x.words); c.arg(1+i) != 0 && !c.Read(c.arg(1+i), raw[i]) {
			s.host(c.n) // EFAULT
			return
		}
		x.in[i] = map[int]bool{}
	}
	p := &polling{sets: x}
	for fd := range n {
		var events int16
		for i := range raw {
			if raw[i][fd/8]&(1<<(fd%8)) != 0 {
				x.in[i][fd] = true
				events |= setEvents[i]
			}
		}
		if events != 0 {
			x.fds, x.asked = append(x.fds, fd), append(x.asked, events)
			p.fds = append(p.fds, unix.PollFd{Fd: int32(fd), Events: events})
		}
	}
	c.wait(p, timeout)
}

// selected replies to a select: the sets keep the descriptors that are ready, and the timeout what
// is left of it.
func (c *call) selected(p *polling, end time.Time) {
	x := p.sets
	ready := 0
	for i := range x.in {
		at := c.arg(1 + i)
		if at == 0 {
			continue
		}
		out := make([]byte, 8*x.words)
		for j, fd := range x.fds {
			if x.in[i][fd] && p.fds[j].Revents&setEvents[i] != 0 {
				out[fd/8] |= 1 << (fd % 8)
				ready++
			}
		}
		if !c.Write(at, out) {
			c.s.reply(c.n, 0, unix.EFAULT)
			return
		}
	}
	if at := c.arg(4); at != 0 && !end.IsZero() {
		left := max(time.Until(end), 0)
		// The kernel ignores a timeout that it cannot write back (poll_select_finish).
		_ = c.Write(at, le.AppendUint64(le.AppendUint64(nil, uint64(left/time.Second)), uint64(left%time.Second/x.unit)))
	}
	c.s.reply(c.n, int64(ready), 0)
}
