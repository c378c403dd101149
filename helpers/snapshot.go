package helpers

import (
	"maps"
	"slices"

	"github.com/bpfrun/bpfrun/mem"
)

// Snapshot is the state of an [Env] at one moment: timers, references, and the run's record. Memory, maps and kernel have
// snapshots of their own.
type Snapshot struct {
	run       *Run
	was       Run
	deferred  map[uint64]deferred
	armed     uint64
	firing    uint64
	refs      map[uint64]int
	freeSpace map[uint64]*mem.Region
}

// Snapshot records the state. It may be taken between runs and, by a debugger, between two instructions.
func (e *Env) Snapshot() *Snapshot {
	s := &Snapshot{run: e.Run, deferred: maps.Clone(e.deferred), armed: e.armed, firing: e.firing, refs: maps.Clone(e.refs), freeSpace: maps.Clone(e.freeSpace)}
	if e.Run != nil {
		s.was = e.Run.clone()
	}
	return s
}

// Restore brings the state back to a snapshot of this Env.
func (e *Env) Restore(s *Snapshot) {
	e.Run, e.armed, e.firing = s.run, s.armed, s.firing
	clear(e.lately[:]) // maps made since are gone
	e.deferred, e.refs, e.freeSpace = maps.Clone(s.deferred), maps.Clone(s.refs), maps.Clone(s.freeSpace)
	if e.Run != nil {
		*e.Run = s.was.clone()
	}
}

// clone copies what a run changes.
func (r *Run) clone() Run {
	c := *r
	c.Trace, c.Output, c.Events = slices.Clone(r.Trace), slices.Clone(r.Output), slices.Clone(r.Events)
	c.held, c.draining, c.records = slices.Clone(r.held), slices.Clone(r.draining), maps.Clone(r.records)
	if t := r.skb.tunnel; t != nil {
		key := *t
		c.skb.tunnel = &key
	}
	return c
}
