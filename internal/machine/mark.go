package machine

import (
	"maps"
	"slices"
)

// Mark is the state of a session between two instructions: of the whole machine, of the runs on
// other CPUs, and of what the run has collected. [Session.Return] can restore it any number of
// times, even after the session was finished or left.
type Mark struct {
	s      *Session
	all    *Snapshot
	res    Result
	warned map[string]bool
	calls  []int
	work   work
	moved  uint64 // bytes that are not charged yet

	session func()           // restores the session's own state
	parked  []func() *parked // the runs on other CPUs
}

// Mark records the state of the session and of all parked runs. The session must be neither over
// nor parked.
func (s *Session) Mark() *Mark {
	st := s.m.run
	k := &Mark{
		s: s, all: s.m.Snapshot(), res: st.result.clone(), warned: maps.Clone(st.warned), calls: slices.Clone(s.m.calls.n), work: s.m.work, session: s.keep(),
	}
	k.moved = s.m.mem.Moved()
	for _, p := range s.m.runs {
		k.parked = append(k.parked, p.keep())
	}
	return k
}

// Return restores machine and session to a mark of this session, even if the session is over.
func (s *Session) Return(k *Mark) {
	s.m.Restore(k.all)
	s.m.runs = nil
	for _, restore := range k.parked {
		s.m.runs = append(s.m.runs, restore())
	}
	k.session()
	res := k.res.clone() // results already returned must not change
	s.res = &res
	s.m.run = &runState{result: s.res, prog: s.p, warned: maps.Clone(k.warned), overrides: s.overrides, ignoreUnset: s.in.IgnoreUnset}
	// Counted calls were bound before any run, so there are no new ones.
	copy(s.m.calls.n, k.calls)
	s.m.mem.TakeMoved()
	s.m.mem.NoteMoved(k.moved)
	s.m.work = k.work // otherwise each repetition would reach the run's limit sooner
	if p, ok := owner(s.m.thread.Image()); ok && s.late.call != nil {
		s.m.run.prog = p
	}
	s.m.thread.Recover = s.m.recoverPolicy(s.m.run.prog)
	s.m.kernel.SetSink(s.m.access)
}

// clone copies what a run adds to.
func (r *Result) clone() Result {
	c := *r
	c.Helpers = maps.Clone(r.Helpers)
	c.Reads, c.Writes, c.Warnings = slices.Clone(r.Reads), slices.Clone(r.Writes), slices.Clone(r.Warnings)
	c.StackReads, c.Traced = slices.Clone(r.StackReads), slices.Clone(r.Traced)
	return c
}
