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

// How to tell that the tool waits: /proc shows one thread at a time, so one look proves nothing; a
// thread seen blocked may since have been woken by one seen running. Two looks prove it: a thread
// that is blocked in both and was not scheduled in between was blocked throughout. If that holds
// for every thread, there was a moment at which all of them were blocked. From then on only time
// and the outside world can wake the tool. The load of the machine does not matter.

// thread is the state of a blocked thread in a look.
type thread struct {
	tid      int
	nr       int
	place    string // stack pointer and program counter
	switches uint64 // context switches so far
}

// look is the state of all threads at about one time, every one blocked.
type look struct {
	served  uint64
	threads []thread
	// shortest and longest are the limits of waits that time out within soon; 0 if there are none.
	shortest, longest time.Duration
}

// same reports whether nothing happened between two looks.
func (l *look) same(m *look) bool { return l.served == m.served && slices.Equal(l.threads, m.threads) }

// where identifies where the tool waits. The threads of a pool take turns at the same addresses, so
// thread ids are left out.
func (l *look) where() string {
	var words []string
	for _, t := range l.threads {
		place := t.place
		if len(l.threads) > 1 {
			place = place[max(0, len(place)-3):] // offset of the program counter in its page: executables are loaded anywhere
		}
		words = append(words, strconv.Itoa(t.nr)+" "+place)
	}
	slices.Sort(words)
	return strings.Join(words, "\n")
}

// quiet tracks how long the tool has been waiting.
type quiet struct {
	last    *look
	first   time.Time // when last was first seen
	since   time.Time // time of the last step, or when the tool was first seen waiting
	counted *look
	returns map[string]int // how often it waited at each place since then
	asked   int            // signals sent to end it
}

// reset restarts the count after something was done to the tool.
func (q *quiet) reset(now time.Time) { *q = quiet{since: now, asked: q.asked} }

const (
	// lookEvery is the time between two looks while steps are left, lookLate afterwards.
	lookEvery = 500 * time.Microsecond
	lookLate  = 3 * time.Millisecond
	// soon bounds the timeouts that count as waits that end by themselves.
	soon = 10 * time.Second
	// pause is how long nothing must happen before the tool is asked to end: it may be waiting for
	// another process.
	pause = 100 * time.Millisecond
	// alone and aloneSoon are how long a tool waits that has attached nothing yet, without and with
	// a timeout: it may be waiting for something of its own.
	alone     = time.Second
	aloneSoon = 5 * time.Second
	// stubborn is how long a tool may keep waiting after it was asked to end, before it gets a
	// stronger signal.
	stubborn = 2 * time.Second
)

// tick compares a look with the last one and reports whether the tool waits.
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

// forever reports whether a waiting tool will not stop by itself: nothing has happened for a while
// and no timeout is near, or it keeps waiting at one place for longer than its timeouts.
func (q *quiet) forever(now time.Time) bool {
	l := q.last
	if l == nil { // it was not seen waiting: its time for a step was over
		return false
	}
	if l.longest == 0 {
		return now.Sub(q.first) >= pause
	}
	past := now.Sub(q.since)
	return past >= soon || q.returns[l.where()] >= 3 && past >= 2*l.longest+pause
}

// watch runs the steps of the events, one whenever the tool waits.
func (s *supervisor) watch(done <-chan struct{}) {
	if s.cfg.Events == nil {
		s.limit(done)
		return
	}
	every := time.NewTicker(lookEvery)
	defer every.Stop()
	late := false
	var over time.Time // when the last event had fired
	for {
		select {
		case <-done:
			return
		case <-every.C:
		}
		s.mu.Lock()
		if late && s.cfg.Timeout > 0 && time.Since(over) >= s.cfg.Timeout {
			s.expire()
			s.mu.Unlock()
			s.limit(done)
			return
		}
		if now := time.Now(); s.quiet.tick(s.look(), now) && !s.pending() || s.stuck(now) || s.overdue(now) {
			s.advance(now)
			s.arm()
		}
		if l := s.step >= len(s.cfg.Events.Steps); l != late {
			late, over = l, time.Now()
			every.Reset(lookLate)
		}
		s.mu.Unlock()
	}
}

// overdue reports whether a tool with a time limit has not waited for that long while a step is
// left and its programs are attached: a tool that never waits gets its events nevertheless.
func (s *supervisor) overdue(now time.Time) bool {
	if s.cfg.Timeout <= 0 || s.step >= len(s.cfg.Events.Steps) || s.progress.waits {
		return false
	}
	if s.step != s.busyStep || s.busy.IsZero() {
		if len(s.sys.Hooks()) == 0 {
			return false
		}
		s.busyStep, s.busy = s.step, now
	}
	if now.Sub(s.busy) < s.cfg.Timeout {
		return false
	}
	s.busy = now
	return true
}

// limit asks the tool to end when its time is over, and again until it has ended.
func (s *supervisor) limit(done <-chan struct{}) {
	if s.cfg.Timeout <= 0 {
		return
	}
	wait := s.cfg.Timeout
	if s.quiet.asked > 0 {
		wait = stubborn
	}
	for {
		select {
		case <-done:
			return
		case <-time.After(wait):
		}
		s.mu.Lock()
		s.expire()
		s.mu.Unlock()
		wait = stubborn
	}
}

// expire asks a tool to end that has run for as long as it may.
func (s *supervisor) expire() {
	if s.tool.Load() == 0 {
		return
	}
	s.timedOut = true
	s.ask(time.Now())
}

// look returns the state of the tool's threads if every one is blocked in a waiting call, at least
// one of them on a simulated file or asleep, and the tool has read all it was given; otherwise nil.
func (s *supervisor) look() *look {
	tool := int(s.tool.Load())
	if tool == 0 || s.unread() {
		return nil
	}
	l := &look{served: s.served}
	held := map[int]bool{}
	for _, w := range s.sleeps {
		held[int(w.c.n.PID)] = true
	}
	reading := len(s.sleeps) > 0
	processes := []int{tool}
	s.forget()
	for tgid := range s.procs {
		if tgid != s.guard && tgid != tool {
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
				continue // the thread has ended
			}
			reading = reading || rests(t.nr, limit)
			if limit > 0 && limit <= soon && !held[tid] {
				l.longest = max(l.longest, limit)
				if l.shortest == 0 || limit < l.shortest {
					l.shortest = limit
				}
			}
			l.threads = append(l.threads, t)
			// A child that has made no notified call yet is not among the known processes.
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

// unread reports whether the tool has not yet read something it was given.
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

// sleeps reports whether a call waits for descriptors or a timeout.
func sleeps(nr int) bool {
	switch {
	case nr == unix.SYS_CLOCK_NANOSLEEP, nr == unix.SYS_NANOSLEEP, nr == unix.SYS_EPOLL_PWAIT, nr == sysEpollWait, nr == unix.SYS_EPOLL_PWAIT2,
		nr == sysPoll, nr == unix.SYS_PPOLL, nr == sysSelect, nr == unix.SYS_PSELECT6, nr == sysPause, nr == unix.SYS_RT_SIGSUSPEND, nr == unix.SYS_RT_SIGTIMEDWAIT:
		return true
	}
	return false
}

// rests reports whether a call with a timeout, 0 if none, waits for more than another thread: one
// that waits for a thread until a timeout is how some languages sleep.
func rests(nr int, timeout time.Duration) bool {
	return sleeps(nr) || nr == unix.SYS_FUTEX && timeout > 0
}

// waitsFor reports whether a call waits for another thread or process.
func waitsFor(nr int) bool {
	switch nr {
	case unix.SYS_FUTEX, unix.SYS_WAIT4, unix.SYS_WAITID, unix.SYS_READ, unix.SYS_ACCEPT, unix.SYS_ACCEPT4, unix.SYS_RECVMSG, unix.SYS_RECVMMSG, unix.SYS_RECVFROM, unix.SYS_RESTART_SYSCALL:
		return true
	}
	return false
}

// blocked returns where a thread is blocked and the timeout of its wait (0 if none), from its
// directory in /proc. A thread that has ended has tid 0.
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
	w := strings.Fields(string(b)) // "running", or call number, arguments, stack pointer, program counter
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

// waitLimit returns a call's timeout, 0 if it has none.
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
		return time.Second // a restarted call; the original is not known
	}
	return 0
}

// readMemory copies from a thread that is not held in a notified call.
func readMemory(tid int, addr uint64, p []byte) bool {
	if addr > 1<<63 {
		return false
	}
	n, err := unix.ProcessVMReadv(tid, []unix.Iovec{{Base: &p[0], Len: uint64(len(p))}}, []unix.RemoteIovec{{Base: uintptr(addr), Len: len(p)}}, 0)
	return err == nil && n == len(p)
}

// ask ends a tool that waits forever, by a signal to its process group as a terminal sends it:
// SIGINT first, then stronger ones.
func (s *supervisor) ask(now time.Time) {
	q := &s.quiet
	if q.asked > 0 && now.Sub(q.since) < stubborn {
		return
	}
	signals := []unix.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGKILL}
	sig := signals[min(q.asked, len(signals)-1)]
	if q.asked > 0 {
		s.note(s.endReason() + " and the program is still " + s.doing() + ": " + unix.SignalName(sig))
	}
	s.logf("%s and the program is %s: %s", s.endReason(), s.doing(), unix.SignalName(sig))
	q.asked++
	q.reset(now)
	tool := int(s.tool.Load())
	group, err := unix.Getpgid(tool)
	for _, p := range append(descendants(tool), tool) {
		if g, e := unix.Getpgid(p); p == tool || err == nil && e == nil && g == group {
			_ = unix.Kill(p, sig)
		}
	}
	for _, w := range s.sleeps {
		s.host(w.c.n)
	}
	s.sleeps = nil
}

// endReason says why the tool is asked to end.
func (s *supervisor) endReason() string {
	if s.timedOut {
		return "its time is over"
	}
	return "all events have fired"
}

func (s *supervisor) doing() string {
	if s.timedOut {
		return "running"
	}
	return "waiting"
}
