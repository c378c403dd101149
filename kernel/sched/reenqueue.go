package sched

import "slices"

// reenqAny makes all tasks of a queue go back to the scheduler, as no flag does too (SCX_REENQ_ANY).
const reenqAny = 1

// maxReenqueues is how often in a row the tasks of a CPU's queue go back to the scheduler (SCX_REENQ_LOCAL_MAX_REPEAT).
const maxReenqueues = 256

// reenqueues are the queues whose tasks a CPU will give back to the scheduler (rq->scx.deferred_reenq_locals and deferred_reenq_users).
type reenqueues struct {
	local   bool
	users   []*DSQ
	pending bool // an event will do it
}

// Reenqueue is scx_bpf_reenqueue_local before it could be called anywhere: the tasks in the CPU's queue go back to the scheduler. It returns how
// many these are.
func (s *Sim) Reenqueue(cpu int) int {
	list := slices.Clone(s.cpus[cpu].local.tasks)
	s.late = append(s.late, func() { s.reenqueue(s.cpus[cpu], list) })
	return len(list)
}

// ReenqueueDSQ is scx_bpf_dsq_reenq, and scx_bpf_reenqueue_local___v2 for DSQLocal: the tasks of a CPU's queue or of one that the scheduler has
// created go back to the scheduler once the running operation is over.
func (s *Sim) ReenqueueDSQ(id, flags uint64) {
	if flags&^reenqAny != 0 {
		s.errorf("invalid SCX_REENQ flags 0x%x", flags)
		return
	}
	q := s.find(s.cpus[s.in.cpuOfQueue()], id, s.in.cpu)
	c := q.cpu
	switch {
	case c != nil:
		c.reenq.local = true
	case q.ID&dsqBuiltin != 0:
		s.errorf("DSQ 0x%x not allowed for reenq", q.ID)
		return
	default:
		c = s.cpus[s.in.cpu]
		if !slices.Contains(c.reenq.users, q) {
			c.reenq.users = append(c.reenq.users, q)
		}
	}
	if !c.reenq.pending {
		c.reenq.pending = true
		s.after(0, func() {
			c.reenq.pending = false
			s.reenqueueLocal(c)
			s.reenqueueUsers(c)
		})
	}
}

// reenqueueLocal is process_deferred_reenq_locals: a scheduler that puts the tasks back and asks again is asked again, up to a limit.
func (s *Sim) reenqueueLocal(c *rq) {
	for n := 0; c.reenq.local && s.going(); n++ {
		c.reenq.local = false
		if n > 0 {
			s.counts[CountReenqueueRepeat]++
		}
		if n > maxReenqueues {
			s.errorf("SCX_ENQ_REENQ on SCX_DSQ_LOCAL repeated %d times", n)
			return
		}
		s.reenqueue(c, slices.Clone(c.local.tasks))
	}
}

// reenqueueUsers is process_deferred_reenq_users: of each queue go the tasks that are in it now, one by one.
func (s *Sim) reenqueueUsers(c *rq) {
	for len(c.reenq.users) > 0 && s.going() {
		q := c.reenq.users[0]
		c.reenq.users = c.reenq.users[1:]
		if q.dead {
			continue
		}
		v := visit(q, false)
		for t := v.Next(); t != nil && s.going(); t = v.Next() {
			s.dispatchDequeue(t)
			s.doEnqueue(s.cpus[t.CPU], t, EnqReenq)
		}
	}
}

func (s *Sim) going() bool { return s.err == nil && s.exit == nil }

// reenqueue is reenq_local: all tasks leave the queue before the first is given back.
func (s *Sim) reenqueue(c *rq, list []*Task) {
	for _, t := range list {
		s.dispatchDequeue(t)
	}
	for _, t := range list {
		outer, spoiled := s.direct, s.spoiled
		s.doEnqueue(c, t, EnqReenq)
		s.direct, s.spoiled = outer, spoiled
	}
}
