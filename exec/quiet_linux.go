//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// When does the program wait? Threads are looked at one after the other, so that one look proves nothing: a thread may run because another one,
// which was seen to run before, has woken it. Two looks prove it: a thread that is blocked in both and was not scheduled in between was
// blocked all the time, and if that holds for every thread, then there was a moment at which all of them were. From there on only time and the world
// outside can wake the program, whatever the load of the machine is.

// thread is what a look sees of a blocked thread.
type thread struct {
	tid      int
	nr       int
	place    string // stack pointer and program counter
	switches uint64 // how often it gave up a processor
}

// look is what was seen at about one time, every thread blocked.
type look struct {
	served  uint64
	threads []thread
	// shortest and longest are the limits of waits that end by themselves soon, 0 without.
	shortest, longest time.Duration
}

// same reports whether nothing happened between two looks.
func (l *look) same(m *look) bool { return l.served == m.served && slices.Equal(l.threads, m.threads) }

// where identifies the place at which the program waits. Threads of a pool take turns at the same places.
func (l *look) where() string {
	var words []string
	for _, t := range l.threads {
		place := t.place
		if len(l.threads) > 1 {
			place = place[max(0, len(place)-3):] // the counter's offset in its page: programs are loaded anywhere
		}
		words = append(words, strconv.Itoa(t.nr)+" "+place)
	}
	slices.Sort(words)
	return strings.Join(words, "\n")
}

// quiet follows the program's waiting.
type quiet struct {
	last    *look
	first   time.Time // when last was first seen
	since   time.Time // the last step, or when the program was first seen to wait
	counted *look
	returns map[string]int // how often it waited at a place since then
	asked   int            // signals it got
}

// reset begins to count anew: something was done to the program.
func (q *quiet) reset(now time.Time) { *q = quiet{since: now, asked: q.asked} }

const (
	// lookEvery is the time between two looks while there are steps, lookLate afterwards.
	lookEvery = 500 * time.Microsecond
	lookLate  = 3 * time.Millisecond
	// soon bounds the waits that are taken to end by themselves.
	soon = 10 * time.Second
	// pause is how long nothing at all must happen before the program is asked to end: it may wait for somebody else.
	pause = 100 * time.Millisecond
	// alone and aloneSoon are how long a program waits that has attached nothing yet, without and with a limit: it may wait for something of its own.
	alone     = time.Second
	aloneSoon = 5 * time.Second
	// stubborn is how long a program may go on to wait after it was asked to end.
	stubborn = 2 * time.Second
)

// tick looks at the program and returns whether it waits.
func (q *quiet) tick(l *look, now time.Time) bool {
	before := q.last
	q.last = l
	if l == nil || before == nil || !l.same(before) {
		q.first = now
		return false
	}
	if q.since.IsZero() {
		q.since = now
	}
	if q.counted == nil || !q.counted.same(l) {
		if q.returns == nil || len(q.returns) > 1<<12 {
			q.returns = map[string]int{}
		}
		q.counted = l
		q.returns[l.where()]++
	}
	return true
}

// forever reports whether a program that waits will not stop by itself: nothing has happened for a while and nothing is due soon, or it waits
// again and again at one place, for longer than the limits of its waits.
func (q *quiet) forever(now time.Time) bool {
	l := q.last
	if l.longest == 0 {
		return now.Sub(q.first) >= pause
	}
	past := now.Sub(q.since)
	return past >= soon || q.returns[l.where()] >= 3 && past >= 2*l.longest+pause
}

// watch makes the steps of the events happen, one whenever the program waits.
func (s *supervisor) watch(done <-chan struct{}) {
	if s.cfg.Events == nil {
		return
	}
	every := time.NewTicker(lookEvery)
	defer every.Stop()
	late := false
	for {
		select {
		case <-done:
			return
		case <-every.C:
		}
		s.mu.Lock()
		if now := time.Now(); s.quiet.tick(s.look(), now) && !s.pending() {
			s.advance(now)
		}
		if l := s.step >= len(s.cfg.Events.Steps); l != late {
			late = l
			every.Reset(lookLate)
		}
		s.mu.Unlock()
	}
}

// look sees whether every thread of the program is blocked in a call that waits, one of them for something of ours or asleep, and has read what it was
// given. It returns nil otherwise.
func (s *supervisor) look() *look {
	if s.tool == 0 || s.unread() {
		return nil
	}
	l := &look{served: s.served}
	held := map[int]bool{}
	for _, w := range s.sleeps {
		held[int(w.c.n.PID)] = true
	}
	reading := len(s.sleeps) > 0
	processes := []int{s.tool}
	for tgid, p := range s.procs {
		if !alive(p.pidfd) {
			unix.Close(p.pidfd)
			delete(s.procs, tgid)
		} else if tgid != s.guard && tgid != s.tool {
			processes = append(processes, tgid)
		}
	}
	for i := 0; i < len(processes); i++ {
		tids, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", processes[i]))
		if err != nil {
			continue
		}
		for _, d := range tids {
			tid, _ := strconv.Atoi(d.Name())
			dir := fmt.Sprintf("/proc/%d/task/%d/", processes[i], tid)
			t, limit, ok := blocked(dir, tid)
			if !ok {
				return nil
			}
			if t.tid == 0 {
				continue // it has ended
			}
			reading = reading || sleeps(t.nr)
			if limit > 0 && limit <= soon && !held[tid] {
				l.longest = max(l.longest, limit)
				if l.shortest == 0 || limit < l.shortest {
					l.shortest = limit
				}
			}
			l.threads = append(l.threads, t)
			// A child that made no call yet that was notified.
			children, _ := os.ReadFile(dir + "children")
			for _, w := range strings.Fields(string(children)) {
				if p, err := strconv.Atoi(w); err == nil && !slices.Contains(processes, p) {
					processes = append(processes, p)
				}
			}
		}
	}
	if len(l.threads) == 0 || !reading {
		return nil
	}
	slices.SortFunc(l.threads, func(a, b thread) int { return a.tid - b.tid })
	return l
}

// unread reports whether the program has not seen yet what it was given.
func (s *supervisor) unread() bool {
	s.levels()
	for _, f := range s.files {
		if f.level && f.epolled {
			return true
		}
	}
	for p := range s.polls {
		if p.ready(s) {
			return true
		}
	}
	return false
}

// sleeps reports whether a call waits for descriptors or time.
func sleeps(nr int) bool {
	switch {
	case nr == unix.SYS_CLOCK_NANOSLEEP, nr == unix.SYS_NANOSLEEP, nr == unix.SYS_EPOLL_PWAIT, nr == sysEpollWait, nr == unix.SYS_EPOLL_PWAIT2,
		nr == sysPoll, nr == unix.SYS_PPOLL, nr == sysSelect, nr == unix.SYS_PSELECT6, nr == sysPause, nr == unix.SYS_RT_SIGSUSPEND, nr == unix.SYS_RT_SIGTIMEDWAIT:
		return true
	}
	return false
}

// waitsFor reports whether a call waits for somebody else.
func waitsFor(nr int) bool {
	switch nr {
	case unix.SYS_FUTEX, unix.SYS_WAIT4, unix.SYS_WAITID, unix.SYS_READ, unix.SYS_ACCEPT, unix.SYS_ACCEPT4, unix.SYS_RECVMSG, unix.SYS_RECVFROM, unix.SYS_RESTART_SYSCALL:
		return true
	}
	return false
}

// blocked looks at a thread by its directory in /proc: where it is blocked, and the limit of its wait, 0 without. A thread that has ended has tid 0.
func blocked(dir string, tid int) (t thread, limit time.Duration, ok bool) {
	status, err := os.ReadFile(dir + "status")
	if err != nil {
		return t, 0, true
	}
	for l := range strings.Lines(string(status)) {
		name, v, _ := strings.Cut(l, ":")
		v = strings.TrimSpace(v)
		switch name {
		case "State":
			if v[0] == 'Z' || v[0] == 'X' {
				return t, 0, true
			}
			if v[0] != 'S' {
				return t, 0, false
			}
		case "voluntary_ctxt_switches", "nonvoluntary_ctxt_switches":
			n, _ := strconv.ParseUint(v, 10, 64)
			t.switches += n
		}
	}
	b, err := os.ReadFile(dir + "syscall")
	if err != nil {
		return t, 0, os.IsNotExist(err) || err == unix.ESRCH
	}
	w := strings.Fields(string(b)) // "running", or number, arguments, stack pointer, program counter
	if len(w) != 9 {
		return t, 0, false
	}
	if t.nr, err = strconv.Atoi(w[0]); err != nil || !sleeps(t.nr) && !waitsFor(t.nr) {
		return t, 0, false
	}
	t.tid, t.place = tid, w[7]+" "+w[8]
	var args [6]uint64
	for i := range args {
		args[i], _ = strconv.ParseUint(w[1+i], 0, 64)
	}
	return t, waitLimit(tid, t.nr, args), true
}

// waitLimit returns how long a call waits at most, 0 for as long as it takes.
func waitLimit(tid, nr int, args [6]uint64) time.Duration {
	ms := func(v uint64) time.Duration { return max(0, time.Duration(int32(v))*time.Millisecond) }
	spec := func(addr uint64, unit time.Duration, now int64) time.Duration {
		b := make([]byte, 16)
		if addr == 0 || !readMemory(tid, addr, b) {
			return 0
		}
		sec := int64(le.Uint64(b))
		if sec < 0 || sec > 1<<32 {
			return 0
		}
		return max(1, time.Duration(sec*1e9+int64(le.Uint64(b[8:]))*int64(unit)-now))
	}
	now := func(clock uint64) int64 {
		var ts unix.Timespec
		_ = unix.ClockGettime(int32(clock), &ts)
		return ts.Nano()
	}
	switch nr {
	case sysEpollWait, unix.SYS_EPOLL_PWAIT:
		return ms(args[3])
	case sysPoll:
		return ms(args[2])
	case unix.SYS_PPOLL, unix.SYS_RT_SIGTIMEDWAIT:
		return spec(args[2], 1, 0)
	case sysSelect:
		return spec(args[4], time.Microsecond, 0)
	case unix.SYS_PSELECT6:
		return spec(args[4], 1, 0)
	case unix.SYS_EPOLL_PWAIT2:
		return spec(args[3], 1, 0)
	case unix.SYS_NANOSLEEP:
		return spec(args[0], 1, 0)
	case unix.SYS_CLOCK_NANOSLEEP:
		if args[1]&unix.TIMER_ABSTIME != 0 {
			return spec(args[2], 1, now(args[0]))
		}
		return spec(args[2], 1, 0)
	case unix.SYS_FUTEX:
		const wait, waitBitset, realtime = 0, 9, 256
		switch args[1] & 0x7f {
		case wait:
			return spec(args[3], 1, 0)
		case waitBitset:
			clock := uint64(unix.CLOCK_MONOTONIC)
			if args[1]&realtime != 0 {
				clock = unix.CLOCK_REALTIME
			}
			return spec(args[3], 1, now(clock))
		}
	case unix.SYS_RESTART_SYSCALL:
		return time.Second // which call it is about is not known
	}
	return 0
}

// readMemory copies from a thread whose calls are not held.
func readMemory(tid int, addr uint64, p []byte) bool {
	if addr > 1<<63 {
		return false
	}
	n, err := unix.ProcessVMReadv(tid, []unix.Iovec{{Base: &p[0], Len: uint64(len(p))}}, []unix.RemoteIovec{{Base: uintptr(addr), Len: len(p)}}, 0)
	return err == nil && n == len(p)
}

// ask ends a program that waits forever as a terminal does, by a signal to its group: first SIGINT, then stronger ones.
func (s *supervisor) ask(now time.Time) {
	q := &s.quiet
	if q.asked > 0 && now.Sub(q.since) < stubborn {
		return
	}
	signals := []unix.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGKILL}
	sig := signals[min(q.asked, len(signals)-1)]
	if q.asked > 0 {
		s.note("all events have fired and the program is still waiting: " + unix.SignalName(sig))
	}
	s.logf("all events have fired and the program is waiting: %s", unix.SignalName(sig))
	q.asked++
	q.reset(now)
	group, err := unix.Getpgid(s.tool)
	for _, p := range append(descendants(s.tool), s.tool) {
		if g, e := unix.Getpgid(p); p == s.tool || err == nil && e == nil && g == group {
			_ = unix.Kill(p, sig)
		}
	}
	for _, w := range s.sleeps {
		s.host(w.c.n)
	}
	s.sleeps = nil
}
