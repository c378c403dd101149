//go:build linux && (amd64 || arm64)

package exec

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/bpfsys"
)

// A memfd cannot be polled: it is always ready. In epoll instances an eventfd stands for an object, whose level follows the object's buffer;
// poll(2) is made here.

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
		ev.Events |= unix.EPOLLET // a perf event is ready once for each wake-up
	}
	err = unix.EpollCtl(ep, int(c.arg(1)), f.event, &ev)
	s.logf("[%d] epoll_ctl of %s %s", c.n.PID, f.object.Kind(), f.object.Name())
	s.polled = true
	s.setLevel(f)
	if e, ok := err.(unix.Errno); ok {
		s.reply(c.n, 0, e)
		return
	}
	s.reply(c.n, 0, 0)
}

// setLevel makes the eventfd readable exactly when the object is.
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

// levels sets all eventfds: events were sent, or the program has read.
func (s *supervisor) levels() {
	if !s.polled {
		return
	}
	for _, f := range s.files {
		s.setLevel(f)
	}
}

// woken follows a wake-up of an object's readers: those of a perf event are told each time, whatever is in its buffer.
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

// timeout reads a struct timespec: nanoseconds, -1 without.
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

// maxPoll bounds the descriptors of one poll that is made here.
const maxPoll = 4096

// poll makes poll(2) here when one of the descriptors is an object; timeout is in nanoseconds, below 0 none.
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
	p := &polling{fds: make([]unix.PollFd, n), files: make([]*file, n), raw: raw}
	ours := false
	for i := range p.fds {
		fd := int32(le.Uint32(raw[8*i:]))
		p.fds[i] = unix.PollFd{Fd: -1, Events: int16(le.Uint16(raw[8*i+4:]))}
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
	if !ours {
		p.close()
		s.host(c.n)
		return
	}
	s.polled = true
	end := time.Time{}
	if timeout >= 0 {
		end = time.Now().Add(time.Duration(timeout))
	}
	n2 := *c.n
	go s.await(&call{s, &n2}, p, end)
}

// anyBuffer reports whether there is an object that could be polled.
func (s *supervisor) anyBuffer() bool {
	for _, f := range s.files {
		if f.object != nil && bpfsys.Shared(f.object) != nil {
			return true
		}
	}
	return false
}

// pollRdNorm is POLLRDNORM.
const pollRdNorm = 0x40

// polling is a poll(2) that is made here.
type polling struct {
	fds   []unix.PollFd
	files []*file
	bad   []int
	raw   []byte
}

func (p *polling) close() {
	for i := range p.fds {
		if p.fds[i].Fd >= 0 {
			unix.Close(int(p.fds[i].Fd))
		}
	}
}

// await looks every few milliseconds until something is ready, the time is over, or the call is.
func (s *supervisor) await(c *call, p *polling, end time.Time) {
	defer p.close()
	for {
		wait := 2
		if !end.IsZero() {
			wait = min(wait, int(max(time.Until(end).Milliseconds(), 0)))
		}
		_, _ = unix.Poll(p.fds, wait)
		s.mu.Lock()
		ready := len(p.bad)
		for i := range p.fds {
			if f := p.files[i]; f != nil {
				p.fds[i].Revents = 0
				if f.object != nil && s.sys.Readable(f.object) {
					p.fds[i].Revents = p.fds[i].Events & (unix.POLLIN | pollRdNorm)
				}
			}
			if p.fds[i].Revents != 0 {
				ready++
			}
		}
		over := !end.IsZero() && !time.Now().Before(end)
		if !s.valid(c.n.ID) {
			s.mu.Unlock()
			return
		}
		if ready > 0 || over {
			for i := range p.fds {
				le.PutUint16(p.raw[8*i+6:], uint16(p.fds[i].Revents))
			}
			for _, i := range p.bad {
				le.PutUint16(p.raw[8*i+6:], unix.POLLNVAL)
			}
			if c.Write(c.arg(0), p.raw) {
				s.reply(c.n, int64(ready), 0)
			} else {
				s.reply(c.n, 0, unix.EFAULT)
			}
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
	}
}

// sleeper is a thread whose sleep is simulated: it ends when everything else waits too.
type sleeper struct {
	c *call
	d time.Duration
}

func (c *call) sleep() {
	s := c.s
	if s.cfg.Events == nil || !s.cfg.Events.Clock {
		s.host(c.n)
		return
	}
	d := c.timeout(c.arg(2))
	if d < 0 || c.arg(1)&unix.TIMER_ABSTIME != 0 {
		s.host(c.n)
		return
	}
	n := *c.n
	s.sleeps = append(s.sleeps, sleeper{&call{s, &n}, time.Duration(d)})
}

// idleTime is how long the program must be seen to wait before the next step happens, and pause how long before it is asked to end.
const (
	lookEvery = 500 * time.Microsecond
	idleLooks = 6
	// waitWeight is what a look counts that sees the program wait; one that does not counts 1 back.
	waitWeight = 2
	// aloneLooks is for a program that has attached nothing yet: it may wait for something of its own.
	aloneLooks = 4000
	pause      = 200 * time.Millisecond
)

// watch makes the steps of the events happen, one whenever the program waits.
func (s *supervisor) watch(ctx context.Context) {
	if s.cfg.Events == nil {
		return
	}
	idle := 0
	for ctx.Err() == nil {
		time.Sleep(lookEvery)
		s.mu.Lock()
		if s.waits() {
			idle += waitWeight
		} else if idle = max(idle-1, 0); idle == 0 { // a program that waits in short pieces is between two of them at times
			s.over = time.Time{}
		}
		if idle >= idleLooks && (idle >= aloneLooks || s.step > 0 || s.polled || s.cfg.Events.Clock || len(s.sys.Hooks()) > 0) {
			idle = 0
			s.advance()
		}
		s.mu.Unlock()
	}
}

// waits reports whether every thread of the program waits, one of them for something of ours or asleep.
func (s *supervisor) waits() bool {
	reading := len(s.sleeps) > 0
	found := false
	for tgid, p := range s.procs {
		if !alive(p.pidfd) {
			unix.Close(p.pidfd)
			delete(s.procs, tgid)
			continue
		}
		tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", tgid))
		if err != nil {
			continue
		}
		for _, t := range tasks {
			b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/syscall", tgid, t.Name()))
			if err != nil {
				continue
			}
			found = true
			word, _, _ := strings.Cut(string(b), " ")
			nr, err := strconv.Atoi(strings.TrimSpace(word))
			if err != nil {
				return false // "running"
			}
			switch {
			case nr == unix.SYS_CLOCK_NANOSLEEP, nr == unix.SYS_NANOSLEEP, nr == unix.SYS_EPOLL_PWAIT, nr == sysEpollWait, nr == unix.SYS_EPOLL_PWAIT2, nr == sysPoll, nr == unix.SYS_PPOLL,
				nr == sysSelect, nr == unix.SYS_PSELECT6, nr == sysPause, nr == unix.SYS_RT_SIGSUSPEND, nr == unix.SYS_RT_SIGTIMEDWAIT:
				reading = true
			case nr == unix.SYS_FUTEX, nr == unix.SYS_WAIT4, nr == unix.SYS_WAITID, nr == unix.SYS_READ, nr == unix.SYS_ACCEPT4, nr == unix.SYS_RECVMSG, nr == unix.SYS_RECVFROM, nr == unix.SYS_RESTART_SYSCALL:
			default:
				return false
			}
		}
	}
	if !found || !reading {
		return false
	}
	s.levels()
	for _, f := range s.files {
		if f.level {
			return false // it has not read yet what it was given
		}
	}
	return true
}

// advance makes the next step happen, ends simulated sleeps, or asks the program to end.
func (s *supervisor) advance() {
	ev := s.cfg.Events
	more := s.step < len(ev.Steps)
	if more {
		for _, l := range ev.Steps[s.step] {
			_, _ = s.hit(l)
		}
		s.step++
		s.over = time.Time{}
	}
	s.levels()
	if len(s.sleeps) > 0 && (more || s.step <= len(ev.Steps)) {
		sleeps := s.sleeps
		s.sleeps = nil
		if !more {
			s.step++ // sleepers see the state after the last step once
		}
		for _, w := range sleeps {
			if err := s.sys.Pass(w.d); err != nil {
				s.note(err.Error())
			}
			s.reply(w.c.n, 0, 0)
		}
		return
	}
	if more || s.cfg.Keep || s.stopped {
		return
	}
	if s.over.IsZero() {
		s.over = time.Now()
		return
	}
	if time.Since(s.over) < pause {
		return
	}
	s.stopped = true
	s.logf("the events are over and the program waits: SIGINT")
	_ = unix.Kill(s.tool, unix.SIGINT)
	for _, w := range s.sleeps {
		s.host(w.c.n)
	}
	s.sleeps = nil
}

// hit makes an event happen and returns how many programs ran.
func (s *supervisor) hit(l Line) (int, error) {
	if l.Pass > 0 {
		err := s.sys.Pass(l.Pass)
		if err != nil {
			s.note(l.Text + ": " + err.Error())
		}
		return 0, err
	}
	ran := 0
	for range l.Repeat {
		fired, err := s.sys.Fire(l.Event)
		if err != nil {
			s.note("event " + err.Error())
			return ran, err
		}
		for _, f := range fired {
			ran++
			s.logf("event %s: program %s returned %d", l.Event.Hook, f.Program, int64(f.Ret))
			if f.Err != nil {
				s.note("event " + l.Text + ": " + f.Err.Error())
			}
		}
	}
	s.levels()
	return ran, nil
}
