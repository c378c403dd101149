package sched

import "slices"

// reenqAny makes all tasks of a queue go back to the scheduler, as no flag does too
// (SCX_REENQ_ANY).
const reenqAny = 1

// maxReenqueues is how often in a row the tasks of a CPU's queue go back to the scheduler
// (SCX_REENQ_LOCAL_MAX_REPEAT).
const maxReenqueues = 256

// reenqueues are the queues whose tasks a CPU will give back to the scheduler
// (rq->scx.deferred_reenq_locals and deferred_reenq_users).
type reenqueues struct {
	local   bool
	flags   uint64 // which of the tasks
	users   []*DSQ
	pending bool // an event will do it
}

// Reenqueue is scx_bpf_reenqueue_local before it could be called anywhere: the tasks in the CPU's
// queue go back to the scheduler. It returns how many these are.
func (s *Sim) Reenqueue(cpu int) int {
	list := s.cpus[cpu].local.tasks.tasks()
	s.late = append(s.late, func() { s.reenqueue(s.cpus[cpu], list, reenqAny) })
	return len(list)
}

// ReenqueueDSQ is scx_bpf_dsq_reenq, and scx_bpf_reenqueue_local___v2 for DSQLocal: the tasks of a
// CPU's queue or of one that the scheduler has created go back to the scheduler once the running
// operation is over.
func (s *Sim) ReenqueueDSQ(id, flags uint64) {
	if flags&^reenqAny != 0 {
		s.errorf("invalid SCX_REENQ flags 0x%x", flags)
		return
	}
	q := s.find(s.cpus[s.in.cpuOfQueue()], id, s.in.cpu)
	c := q.cpu
	switch {
	case c != nil:
		s.reenqueueLater(c, reenqAny)
		return
	case q.ID&dsqBuiltin != 0:
		s.errorf("DSQ 0x%x not allowed for reenq", q.ID)
		return
	}
	c = s.cpus[s.in.cpu]
	if !slices.Contains(c.reenq.users, q) {
		c.reenq.users = append(c.reenq.users, q)
	}
	s.scheduleReenqueues(c)
}

// reenqueueLater is schedule_reenq_local: tasks of a CPU's queue go back once what is going on is
// over; without flags only those that were to run at once and do not.
func (s *Sim) reenqueueLater(c *rq, flags uint64) {
	c.reenq.local = true
	c.reenq.flags |= flags
	s.scheduleReenqueues(c)
}

func (s *Sim) scheduleReenqueues(c *rq) {
	if !c.reenq.pending {
		c.reenq.pending = true
		s.events.After(0, func() {
			c.reenq.pending = false
			s.reenqueueLocal(c)
			s.reenqueueUsers(c)
		})
	}
}

// reenqueueLocal is process_deferred_reenq_locals: a scheduler that puts the tasks back and asks
// again is asked again, up to a limit.
func (s *Sim) reenqueueLocal(c *rq) {
	for n := 0; c.reenq.local && s.going(); n++ {
		flags := c.reenq.flags
		c.reenq.local, c.reenq.flags = false, 0
		if n > 0 {
			s.counts[CountReenqueueRepeat]++
		}
		if n > maxReenqueues {
			s.errorf("SCX_ENQ_REENQ on SCX_DSQ_LOCAL repeated %d times", n)
			return
		}
		s.reenqueue(c, c.local.tasks.tasks(), flags)
	}
}

// reenqueueUsers is process_deferred_reenq_users: of each queue go the tasks that are in it now,
// one by one. The kernel has no limit for a scheduler whose enqueue asks for the same again; here
// each turn counts as an event.
func (s *Sim) reenqueueUsers(c *rq) {
	for len(c.reenq.users) > 0 && s.going() && s.events.Happens() {
		q := c.reenq.users[0]
		c.reenq.users = c.reenq.users[1:]
		if q.dead {
			continue
		}
		v := visit(q, false)
		for t := v.Next(); t != nil && s.going(); t = v.Next() {
			s.dispatchDequeue(t)
			s.giveBack(s.cpus[t.CPU], t, ReenqKfunc)
		}
		v.Close()
	}
}

func (s *Sim) going() bool { return s.events.Err() == nil && s.exit == nil }

// reenqueue is reenq_local: all tasks leave the queue before the first is given back.
func (s *Sim) reenqueue(c *rq, list []*Task, flags uint64) {
	open := s.open(c, 0)
	why := make([]Reenq, len(list))
	for i, t := range list {
		if t.dsq != &c.local {
			continue // it has left meanwhile
		}
		if why[i] = s.mustReenqueue(t, i == 0, open, flags); why[i] != ReenqNone {
			s.dispatchDequeue(t)
		}
	}
	for i, t := range list {
		if why[i] == ReenqNone {
			continue
		}
		outer, spoiled := s.direct, s.spoiled
		s.giveBack(c, t, why[i])
		s.direct, s.spoiled = outer, spoiled
	}
}
