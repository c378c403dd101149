//go:build linux && (amd64 || arm64)

package exec

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
)

// hostTimes reads the clocks that the tool reads, by system calls or its vDSO: those of this
// process's time namespace, which the tool is in, too.
func hostTimes() bpfsys.Times {
	read := func(clock int32) uint64 {
		var t unix.Timespec
		_ = unix.ClockGettime(clock, &t) // fails for no clock of these
		return uint64(t.Nano())
	}
	return bpfsys.Times{Boot: read(unix.CLOCK_BOOTTIME), Mono: read(unix.CLOCK_MONOTONIC), Real: read(unix.CLOCK_REALTIME), TAI: read(unix.CLOCK_TAI)}
}

// timerEvery is the least time between two looks at timers, which also is no less than the last one
// took: one that restarts itself at once does not keep the tool from running.
const timerEvery = time.Millisecond

// dueTimer has timers and work items of the simulated kernel run when they fall due by the host's
// clock, also while no call is made and nothing happens.
type dueTimer struct {
	timer *time.Timer
	at    time.Time // when it goes off; zero: it does not
	next  time.Time // when it may go off again
}

// arm sets the timer to when something falls due, if that is earlier than it was set to.
func (s *supervisor) arm() {
	d, ok := s.sys.Due()
	if !ok {
		return
	}
	t, now := &s.due, time.Now()
	at := now.Add(d)
	if at.Before(t.next) {
		at = t.next
	}
	if !t.at.IsZero() && !at.Before(t.at) {
		return
	}
	t.at = at
	if t.timer == nil {
		t.timer = time.AfterFunc(at.Sub(now), s.fellDue)
		return
	}
	t.timer.Reset(at.Sub(now))
}

// fellDue runs what is due.
func (s *supervisor) fellDue() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.quit < 0 { // the session is over
		return
	}
	began := time.Now()
	s.sys.CatchUp()
	s.due.at, s.due.next = time.Time{}, time.Now().Add(max(timerEvery, time.Since(began)))
	s.levels()
	s.arm()
}
