package bpfsys

import (
	"context"
	"math"
	"time"
)

// Times are the readings of a kernel's clocks in nanoseconds: since boot with and without suspend,
// and since 1970, without and with leap seconds.
type Times struct{ Boot, Mono, Real, TAI uint64 }

// follow brings simulated time up to the clock that the system follows, before programs run: what
// falls due until then runs first. Time that [System.Pass] let pass comes on top. Helpers advance
// simulated time by themselves, so it can be ahead by microseconds.
func (s *System) follow() {
	if s.cfg.Clock == nil {
		return
	}
	now := s.cfg.Clock().Mono + s.ahead
	if at := s.machine.Kernel().Clock().Mono(); now > at {
		s.settle(time.Duration(now - at))
	}
}

// Due returns how long it takes until a timer or a work item falls due by the clock that the system
// follows; ok is false if none is armed, or simulated time does not pass by itself.
func (s *System) Due() (d time.Duration, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cfg.Clock == nil {
		return 0, false
	}
	at, ok := s.machine.NextDue()
	if !ok {
		return 0, false
	}
	if now := s.cfg.Clock().Mono + s.ahead; at > now {
		return time.Duration(min(at-now, math.MaxInt64)), true
	}
	return 0, true
}

// CatchUp runs the timers and work items that are due by the clock that the system follows.
func (s *System) CatchUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.endGrace()
	s.follow()
}

// settle lets simulated time pass; a callback's fault is noted.
func (s *System) settle(d time.Duration) {
	s.pullAll()
	defer s.pushAll()
	if _, err := s.machine.Settle(context.Background(), d); err != nil {
		s.note("%v", err)
	}
}
