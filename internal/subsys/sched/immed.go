package sched

// rank is the class of what a CPU runs or is about to (rq->next_class).
type rank uint8

const (
	rankIdle rank = iota
	rankExt
	rankAbove
)

func rankOf(t *Task) rank {
	switch {
	case t == nil:
		return rankIdle
	case t.Class == Above:
		return rankAbove
	}
	return rankExt
}

// preempt is wakeup_preempt with wakeup_preempt_scx: a task of some class is now on a CPU's run
// queue. Where one of a higher class comes, tasks that were to run at once go back to the
// scheduler.
func (s *Sim) preempt(c *rq, by rank) {
	if by <= c.next {
		return
	}
	if by == rankAbove && c.next == rankExt && c.immed > 0 {
		s.reenqueueLater(c, 0)
	}
	c.next = by
}

// open is rq_is_open: whether a CPU can run a task of the scheduler at once.
func (s *Sim) open(c *rq, flags uint64) bool {
	switch c.next {
	case rankAbove:
		return false
	case rankIdle:
		return true
	}
	// A dispatch may yet decide that the running task goes on: see balance. A preempting task ends
	// the running one's slice.
	return c.balancing || flags&EnqPreempt != 0
}

// counted is dsq_inc_nr for a task that has just been inserted: with SCX_ENQ_IMMED, it goes back to
// the scheduler unless it can run at once.
func (s *Sim) counted(q *DSQ, t *Task, flags uint64) {
	c := q.cpu
	if c == nil { // the global queue, instead of a CPU's that the task may not use
		return
	}
	if flags&s.cfg.Values.EnqImmed != 0 {
		t.setImmed(true)
	}
	if !t.immed {
		return
	}
	c.immed++
	if q.tasks.n > 1 || !s.open(c, flags) {
		s.reenqueueLater(c, 0)
	}
}

// mustReenqueue is local_task_should_reenq: whether a task goes back, and why. The first task in a
// queue may stay if its CPU can run it.
func (s *Sim) mustReenqueue(t *Task, first, open bool, flags uint64) Reenq {
	switch {
	case t.immed && !(first && open):
		s.counts[CountReenqueueImmed]++
		return ReenqImmed
	case flags&reenqAny != 0:
		return ReenqKfunc
	}
	return ReenqNone
}

// giveBack passes a task that was in a queue, or was preempted, to the scheduler again.
func (s *Sim) giveBack(c *rq, t *Task, why Reenq) {
	t.mirror.Store(t, FieldReenq, uint64(why))
	s.doEnqueue(c, t, EnqReenq)
	t.mirror.Store(t, FieldReenq, uint64(ReenqNone))
}
