package bpfsys

import (
	"context"
	"time"
)

// Times are the readings of a kernel's clocks in nanoseconds: since boot with and without suspend,
// and since 1970.
type Times struct{ Boot, Mono, Real uint64 }

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

// settle lets simulated time pass; a callback's fault is noted.
func (s *System) settle(d time.Duration) {
	s.pullAll()
	defer s.pushAll()
	if _, err := s.machine.Settle(context.Background(), d); err != nil {
		s.note("%v", err)
	}
}
