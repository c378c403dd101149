package sched

import (
	"maps"
	"slices"
)

// Operation is what belongs to the operation that is running. Everything else is shared by those of
// all CPUs.
type Operation struct {
	in              place
	waker           int
	direct, subject *Task
	spoiled         bool
	buffer          buffer
}

// Operation returns that of the running operation.
func (s *Sim) Operation() Operation {
	return Operation{s.in, s.waker, s.direct, s.subject, s.spoiled, s.buffer}
}

// SetOperation makes another operation the running one.
func (s *Sim) SetOperation(o Operation) {
	s.in, s.waker, s.direct, s.subject, s.spoiled, s.buffer = o.in, o.waker, o.direct, o.subject, o.spoiled, o.buffer
	s.buffer.list = slices.Clone(s.buffer.list)
}

// Save notes the state of the simulation. The function that it returns brings it back, any number
// of times; what operations write for a dump is not part of it.
func (s *Sim) Save() (restore func()) {
	was := s.copied()
	tasks, cpus := make([]Task, len(s.tasks)), make([]rq, len(s.cpus))
	for i, t := range s.tasks {
		tasks[i] = t.copied()
	}
	for i, c := range s.cpus {
		cpus[i] = c.copied()
	}
	queues, cursors := map[*DSQ]DSQ{}, map[*Cursor]Cursor{}
	for _, q := range slices.Concat(s.global, slices.Collect(maps.Values(s.dsqs))) {
		queues[q] = q.copied()
		for _, v := range q.cursors {
			cursors[v] = *v
		}
	}
	groups := map[*group]group{}
	for _, g := range s.groups {
		groups[g] = *g
	}
	result := s.result.copied()
	return func() {
		*s = was.copied()
		for i := range tasks {
			*s.tasks[i] = tasks[i].copied()
		}
		for i := range cpus {
			*s.cpus[i] = cpus[i].copied()
		}
		for q := range queues {
			was := queues[q]
			*q = was.copied()
		}
		for v, was := range cursors {
			*v = was
		}
		for g, was := range groups {
			*g = was
		}
		*s.result = result.copied()
	}
}

// copied returns a copy with slices and maps of its own. What they point to has one itself.
func (s *Sim) copied() Sim {
	c := *s
	c.groups, c.dsqs, c.counts = maps.Clone(s.groups), maps.Clone(s.dsqs), maps.Clone(s.counts)
	c.events, c.late, c.inited = s.events.Clone(), slices.Clone(s.late), slices.Clone(s.inited)
	c.cids = cids{slices.Clone(s.cids.toCPU), slices.Clone(s.cids.ofCPU), slices.Clone(s.cids.topo)}
	c.buffer.list = slices.Clone(s.buffer.list)
	return c
}

func (t *Task) copied() Task {
	c := *t
	c.Stats.ByCPU = maps.Clone(t.Stats.ByCPU)
	return c
}

func (c *rq) copied() rq {
	d := *c
	d.local = c.local.copied()
	d.above = slices.Clone(c.above)
	d.kicks, d.reenq.users = slices.Clone(c.kicks), slices.Clone(c.reenq.users)
	return d
}

func (q *DSQ) copied() DSQ {
	c := *q
	c.cursors = slices.Clone(q.cursors)
	return c
}

// copied returns a copy of what has happened so far: segments and tasks are only added.
func (r *Result) copied() Result {
	c := *r
	c.Calls, c.Busy = maps.Clone(r.Calls), slices.Clone(r.Busy)
	return c
}
