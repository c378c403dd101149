//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
)

// A memfd is always ready when polled. In epoll instances an eventfd therefore stands for an object
// and follows the state of the object's buffer; poll(2) is served here.

func (c *call) epollCtl() {
	s := c.s
	f := s.fileAt(c.n, c.fd(2))
	if f == nil || f.object == nil {
		s.host(c.n)
		return
	}
	var ev unix.EpollEvent
	if c.arg(3) != 0 {
		b := make([]byte, epollEventSize)
		if !c.Read(c.arg(3), b) {
			s.reply(c.n, 0, unix.EFAULT)
			return
		}
		ev = epollEvent(b)
	} else if c.arg(1) != unix.EPOLL_CTL_DEL {
		s.reply(c.n, 0, unix.EFAULT)
		return
	}
	ep, err := s.grab(c.n, c.fd(0))
	if err != nil {
		s.reply(c.n, 0, unix.EBADF)
		return
	}
	defer unix.Close(ep)
	if f.event < 0 {
		if f.event, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC); err != nil {
			f.event = -1
			s.reply(c.n, 0, unix.ENOMEM)
			return
		}
	}
	if _, ok := f.object.(*bpfsys.PerfEvent); ok {
		ev.Events |= unix.EPOLLET // a perf event is ready once per wake-up
	}
	err = unix.EpollCtl(ep, int(c.arg(1)), f.event, &ev)
	s.logf("[%d] epoll_ctl of %s %s", c.n.PID, f.object.Kind(), f.object.Name())
	s.polled, f.epolled = true, true
	s.setLevel(f)
	if e, ok := err.(unix.Errno); ok {
		s.reply(c.n, 0, e)
		return
	}
	s.reply(c.n, 0, 0)
}

// setLevel makes the eventfd readable if the object is, and unreadable otherwise.
func (s *supervisor) setLevel(f *file) {
	if f.event < 0 || f.object == nil {
		return
	}
	if _, ok := f.object.(*bpfsys.PerfEvent); ok {
		return // see woken
	}
	ready := s.sys.Readable(f.object)
	var b [8]byte
	switch {
	case ready && !f.level:
		b[0] = 1
		_, _ = unix.Write(f.event, b[:])
	case !ready && f.level:
		_, _ = unix.Read(f.event, b[:])
	}
	f.level = ready
}

// levels updates all eventfds, after events were sent or the tool has read.
func (s *supervisor) levels() {
	if !s.polled {
		return
	}
	for _, f := range s.files {
		s.setLevel(f)
	}
}

// woken handles a wake-up of an object's readers. Readers of a perf event are told each time,
// whatever its buffer holds.
func (s *supervisor) woken(o bpfsys.Object) {
	f, ok := (*bpfsys.Tag(o)).(*file)
	if _, perf := o.(*bpfsys.PerfEvent); !ok || !perf {
		return
	}
	if f.event < 0 {
		fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
		if err != nil {
			return
		}
		f.event = fd
	}
	_, _ = unix.Write(f.event, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	f.level = true
}

func (c *call) epollWait() {
	for _, f := range c.s.files {
		if _, perf := f.object.(*bpfsys.PerfEvent); perf {
			f.level = false
		}
	}
	c.s.levels()
	c.s.host(c.n)
}

// timeout reads a struct timespec and returns nanoseconds, -1 for a null pointer.
func (c *call) timeout(addr uint64) int64 {
	if addr == 0 {
		return -1
	}
	b := make([]byte, 16)
	if !c.Read(addr, b) {
		return 0
	}
	sec, ns := int64(le.Uint64(b)), int64(le.Uint64(b[8:]))
	if sec < 0 || sec > 1<<32 {
		return -1
	}
	return sec*1e9 + ns
}

// maxPoll limits the descriptors of one simulated poll.
const maxPoll = 4096

// poll serves poll(2) when one of the descriptors is an object. timeout is in nanoseconds; negative
// means none.
func (c *call) poll(timeout int64) {
	s := c.s
	n := c.arg(1)
	if n == 0 || n > maxPoll || !s.anyBuffer() {
		s.host(c.n)
		return
	}
	raw := make([]byte, 8*n)
	if !c.Read(c.arg(0), raw) {
		s.host(c.n)
		return
	}
	fds := make([]unix.PollFd, n)
	for i := range fds {
		fds[i] = unix.PollFd{Fd: int32(le.Uint32(raw[8*i:])), Events: int16(le.Uint16(raw[8*i+4:]))}
	}
	c.wait(&polling{fds: fds, raw: raw}, timeout)
}

// wait answers a call that waits for descriptors of the tool when one is ready, or has the host
// answer if none of them is an object.
func (c *call) wait(p *polling, timeout int64) {
	s := c.s
	p.files = make([]*file, len(p.fds))
	ours := false
	for i := range p.fds {
		fd := p.fds[i].Fd
		p.fds[i].Fd = -1
		if fd < 0 {
			continue
		}
		if f := s.fileAt(c.n, fd); f != nil && f.object != nil {
			p.files[i], ours = f, true
			continue
		}
		if g, err := s.grab(c.n, fd); err == nil {
			p.fds[i].Fd = int32(g)
		} else {
			p.bad = append(p.bad, i)
		}
	}
	if !ours || p.sets != nil && len(p.bad) > 0 { // select(2) of a bad descriptor fails
		p.close()
		s.host(c.n)
		return
	}
	s.polled = true
	end := time.Time{}
	if timeout >= 0 {
		end = time.Now().Add(time.Duration(timeout))
	}
	s.polls[p] = true
	n := *c.n
	go s.await(&call{s: s, n: &n}, p, end)
}

// anyBuffer reports whether there is an object that can be polled.
func (s *supervisor) anyBuffer() bool {
	for _, f := range s.files {
		if f.object != nil && bpfsys.Shared(f.object) != nil {
			return true
		}
	}
	return false
}

// pollRdNorm is POLLRDNORM, which package unix does not define.
const pollRdNorm = 0x40

// polling is a poll(2) or select(2) that is served here.
type polling struct {
	fds   []unix.PollFd
	files []*file
	bad   []int
	raw   []byte  // the array of poll(2)
	sets  *fdSets // of select(2)
}

func (p *polling) close() {
	for i := range p.fds {
		if p.fds[i].Fd >= 0 {
			unix.Close(int(p.fds[i].Fd))
		}
	}
}

// ready reports whether one of the descriptors is ready.
func (p *polling) ready(s *supervisor) bool { return p.look(s) > 0 }

// look updates the descriptors' events and returns how many descriptors are ready.
func (p *polling) look(s *supervisor) int {
	_, _ = unix.Poll(p.fds, 0)
	ready := len(p.bad)
	for i := range p.fds {
		if f := p.files[i]; f != nil {
			p.fds[i].Revents = 0
			if f.object != nil && s.sys.Readable(f.object) {
				p.fds[i].Revents = p.fds[i].Events & (unix.POLLIN | pollRdNorm)
			}
		}
		if p.sets != nil {
			p.fds[i].Revents &= p.sets.asked[i]
		}
		if p.fds[i].Revents != 0 {
			ready++
		}
	}
	return ready
}

// await checks every pollEvery until a descriptor is ready, the timeout expires or the call is
// gone.
func (s *supervisor) await(c *call, p *polling, end time.Time) {
	for !s.answered(c, p, end) {
		wait := pollEvery
		if !end.IsZero() {
			wait = min(wait, max(time.Until(end), 0))
		}
		time.Sleep(wait)
	}
	s.mu.Lock()
	delete(s.polls, p)
	p.close()
	s.mu.Unlock()
}

// pollEvery is the time between two checks of a poll's descriptors.
const pollEvery = time.Millisecond

// answered replies to a poll that is ready, timed out or interrupted, and reports whether it is
// over.
func (s *supervisor) answered(c *call, p *polling, end time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.valid(c.n.ID) {
		return true
	}
	ready := p.look(s)
	if ready == 0 && (end.IsZero() || time.Now().Before(end)) {
		if c.Interrupted() { // the signal's handler runs when the call has returned
			s.reply(c.n, 0, unix.EINTR)
			return true
		}
		return false
	}
	if p.sets != nil {
		c.selected(p, end)
		return true
	}
	for i := range p.fds {
		le.PutUint16(p.raw[8*i+6:], uint16(p.fds[i].Revents))
	}
	for _, i := range p.bad {
		le.PutUint16(p.raw[8*i+6:], unix.POLLNVAL)
	}
	if !c.Write(c.arg(0), p.raw) {
		s.reply(c.n, 0, unix.EFAULT)
		return true
	}
	s.reply(c.n, int64(ready), 0)
	return true
}

// sleeper is a thread whose sleep is simulated: it ends when everything else waits too.
type sleeper struct {
	c *call
	d time.Duration
}

func (c *call) sleep() {
	s := c.s
	if s.cfg.Events == nil || !s.cfg.Events.Clock || s.quiet.asked > 0 {
		s.host(c.n)
		return
	}
	d := c.timeout(c.arg(2))
	if d < 0 || c.arg(1)&unix.TIMER_ABSTIME != 0 {
		s.host(c.n)
		return
	}
	n := *c.n
	s.sleeps = append(s.sleeps, sleeper{&call{s: s, n: &n}, time.Duration(d)})
}

// advance runs the next step, ends simulated sleeps or asks the tool to end. It is called when the
// tool waits.
func (s *supervisor) advance(now time.Time) {
	ev, q := s.cfg.Events, &s.quiet
	more := s.step < len(ev.Steps)
	if more && s.step == 0 && (!s.polled && !ev.Clock || ev.invents() || s.beside != nil && !s.went) && len(s.sys.Hooks()) == 0 {
		grace := alone
		if q.last != nil && q.last.shortest > 0 {
			grace = aloneSoon
		}
		if now.Sub(q.since) < grace {
			return
		}
	}
	if s.beside != nil && !s.went { // a write wakes its reader at once, so that the next look sees it run
		_, _ = s.beside.WriteString("go\n")
		s.went = true
		q.reset(now)
		return
	}
	if more {
		if !s.resume(ev.Steps[s.step], now) {
			return
		}
		s.step++
		q.reset(now)
	}
	s.levels()
	if len(s.sleeps) > 0 && (more || s.step <= len(ev.Steps)) {
		sleeps := s.sleeps
		s.sleeps = nil
		if !more {
			s.step++ // sleepers get one chance to see the state after the last step
		}
		for _, w := range sleeps {
			if err := s.sys.Pass(w.d); err != nil {
				s.note(err.Error())
			}
			s.reply(w.c.n, 0, 0)
		}
		q.reset(now)
		return
	}
	if !more && !s.cfg.Keep && !s.besideRuns() && q.forever(now) {
		s.ask(now)
	}
}

// besideRuns reports whether the command beside the tool has not ended: its shell has the other end
// of the pipe.
func (s *supervisor) besideRuns() bool {
	if s.beside == nil {
		return false
	}
	p := []unix.PollFd{{Fd: int32(s.beside.Fd())}}
	_, err := unix.Poll(p, 0)
	return err == nil && p[0].Revents&unix.POLLERR == 0
}

// hooks lists what programs are attached to, for a message.
func (s *supervisor) hooks() string {
	const shown = 12
	h := s.sys.Hooks()
	switch {
	case len(h) == 0:
		return "nothing"
	case len(h) > shown:
		return strings.Join(h[:shown], ", ") + fmt.Sprintf(" and %d more", len(h)-shown)
	}
	return strings.Join(h, ", ")
}
