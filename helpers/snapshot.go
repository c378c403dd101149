package helpers

import (
	"slices"
)

// Snapshot is the state of an [Env] at one point in time: the state of its parts, and the run's
// record. Memory, maps and kernel have snapshots of their own.
type Snapshot struct {
	run   *Run
	was   Run
	parts [3]func() // restore
}

// Snapshot records the state. It may be taken between runs and, by a debugger, between two
// instructions.
func (e *Env) Snapshot() *Snapshot {
	s := &Snapshot{run: e.Run, parts: [...]func(){e.guest.Snapshot(), e.heap.Snapshot(), e.Timers.Snapshot()}}
	if e.Run != nil {
		s.was = e.Run.clone()
	}
	return s
}

// Restore restores a snapshot of this Env.
func (e *Env) Restore(s *Snapshot) {
	for _, restore := range s.parts {
		restore()
	}
	e.ForgetMaps() // maps created since are gone
	e.Run = s.run
	if e.Run != nil {
		e.Run.load(&s.was)
	}
}

// load makes a run what it was when it was cloned, where nobody else sees it in the memory that it
// has.
func (r *Run) load(was *Run) {
	held, draining, records := r.Held, r.draining, r.records
	*r = *was
	r.Output, r.Held = was.Output.clone(), held.Load(&was.Held)
	r.draining = append(draining[:0], was.draining...)
	r.records = append(records[:0], was.records...)
	if t := was.skb.tunnel; t != nil {
		key := *t
		r.skb.tunnel = &key
	}
}

// Keep records what a run has recorded and holds; restore can be called any number of times. It is
// for suspended runs, which [Env.Snapshot] does not include.
func (r *Run) Keep() (restore func()) {
	was := r.clone()
	return func() { *r = was.clone() }
}

// clone copies what a run changes.
func (r *Run) clone() Run {
	c := *r
	c.Output, c.Held = r.Output.clone(), r.Held.Clone()
	c.draining, c.records = slices.Clone(r.draining), slices.Clone(r.records)
	if t := r.skb.tunnel; t != nil {
		key := *t
		c.skb.tunnel = &key
	}
	return c
}
