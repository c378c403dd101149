package machine

import (
	"maps"
	"slices"
)

// Mark is the state of a session between two instructions of its run: of the whole machine, and of what the run collected so
// far. [Session.Return] takes it any number of times, also after the session was finished or left.
type Mark struct {
	s      *Session
	all    *Snapshot
	res    Result
	warned map[string]bool
	calls  []int

	step    int
	insns   uint64
	shownAt int
	late    late
}

// Mark records where the session is. The session must not be over.
func (s *Session) Mark() *Mark {
	st := s.m.run
	return &Mark{
		s: s, all: s.m.Snapshot(), res: st.result.clone(), warned: maps.Clone(st.warned), calls: slices.Clone(s.m.calls.n),
		step: s.step, insns: s.insns, shownAt: s.shownAt, late: s.late,
	}
}

// Return brings machine and session back to a mark of this session, even if the session is over by now.
func (s *Session) Return(k *Mark) {
	s.m.Restore(k.all)
	res := k.res.clone() // a result that was handed out stays what it is
	s.res = &res
	s.m.run = &runState{result: s.res, prog: s.p, warned: maps.Clone(k.warned), overrides: s.overrides, ignoreUnset: s.in.IgnoreUnset}
	// Calls that are counted were bound before any run, so there are no new ones.
	copy(s.m.calls.n, k.calls)
	if p, ok := owner(s.m.thread.Image()); ok && s.late.call != nil {
		s.m.run.prog = p
	}
	s.m.thread.Recover = s.m.recoverPolicy(s.m.run.prog)
	s.m.kernel.SetSink(s.m.access)
	s.over = false
	s.step, s.insns, s.shownAt, s.late = k.step, k.insns, k.shownAt, k.late
}

// clone copies what a run adds to.
func (r *Result) clone() Result {
	c := *r
	c.Helpers = maps.Clone(r.Helpers)
	c.Reads, c.Writes, c.Warnings = slices.Clone(r.Reads), slices.Clone(r.Writes), slices.Clone(r.Warnings)
	c.StackReads = slices.Clone(r.StackReads)
	return c
}
