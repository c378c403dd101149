package helpers

import (
	"maps"
	"slices"

	"github.com/bpfrun/bpfrun/internal/subsys/qdisc"
	"github.com/bpfrun/bpfrun/internal/subsys/sched"
)

// schedOperation is what belongs to a running operation of a scheduler.
type schedOperation struct {
	sched.Operation
	cursors map[uint64]*sched.Cursor
}

// Operation returns what belongs to the running operation alone.
func (s *Schedule) Operation() any {
	return schedOperation{s.Sim.Operation(), maps.Clone(s.cursors)}
}

// SetOperation makes another operation the running one.
func (s *Schedule) SetOperation(o any) {
	op := o.(schedOperation)
	s.Sim.SetOperation(op.Operation)
	s.cursors = maps.Clone(op.cursors)
}

// Save notes the state; the function that it returns brings it back, any number of times.
func (s *Schedule) Save() (restore func()) {
	back, cursors := s.Sim.Save(), maps.Clone(s.cursors)
	return func() {
		back()
		s.cursors = maps.Clone(cursors)
	}
}

// Operation returns what belongs to the running operation alone.
func (q *Traffic) Operation() any { return q.In() }

// SetOperation makes another operation the running one.
func (q *Traffic) SetOperation(o any) { q.SetIn(o.(qdisc.Op)) }

// Save notes the state; the function that it returns brings it back, any number of times.
func (q *Traffic) Save() (restore func()) {
	packets := maps.Clone(q.Packets)
	back := q.Sim.Save(slices.Collect(maps.Values(packets)))
	return func() {
		back()
		q.Packets = maps.Clone(packets)
	}
}
