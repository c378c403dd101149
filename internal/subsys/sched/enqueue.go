package sched

// enqueueTask is enqueue_task_scx: a task becomes runnable on the CPU that it is on.
func (s *Sim) enqueueTask(t *Task, flags uint64, migrating bool) {
	c, sticky := s.cpus[t.CPU], t.sticky
	t.sticky = -1
	if t.queued {
		return
	}
	s.setRunnable(c, t)
	t.setQueued(true)
	if !migrating {
		s.call(c, OpRunnable, t, flags)
	}
	if sticky == c.id {
		s.dispatchEnqueue(c, &c.local, t, flags)
		return
	}
	s.doEnqueue(c, t, flags)
}

// doEnqueue is do_enqueue_task: it passes a task to the scheduler, or where select_cpu put it.
func (s *Sim) doEnqueue(c *rq, t *Task, flags uint64) {
	t.setImmed(false)
	switch {
	case t.ddspSet:
		s.directDispatch(t, flags)
		return
	case t.Exiting && s.cfg.Flags&EnqExiting == 0:
		s.counts[CountSkipExiting]++
		s.enqueueDefault(c, &c.local, t, flags)
		return
	case !s.ops.Has(OpEnqueue):
		s.enqueueDefault(c, s.globalOf(t.CPU), t, flags)
		return
	}
	t.qseq++
	t.ops = opsQueueing
	s.direct, s.spoiled = t, false
	s.call(c, OpEnqueue, t, flags)
	s.direct, s.spoiled = nil, false
	if t.ddspSet {
		s.directDispatch(t, flags)
		return
	}
	t.custody = true
	t.ops = opsQueued
}

// enqueueDefault inserts a task with a new slice without asking the scheduler.
func (s *Sim) enqueueDefault(c *rq, q *DSQ, t *Task, flags uint64) {
	s.refill(t)
	t.clearDirect()
	s.dispatchEnqueue(c, q, t, flags)
}

func (t *Task) clearDirect() { t.ddspSet, t.ddsp, t.ddspFlags = false, 0, 0 }

// directDispatch is direct_dispatch: the queue was chosen in select_cpu or enqueue.
func (s *Sim) directDispatch(t *Task, flags uint64) {
	c := s.cpus[t.CPU]
	q := s.find(c, t.ddsp, t.CPU)
	t.ddspFlags |= flags
	if q.cpu != nil && q.cpu != c {
		// The other CPU's run queue cannot be locked here: it follows when this one is released.
		t.ops, t.deferred = opsNone, true
		c.deferred.add(t, nil)
		s.events.After(0, func() { s.runDeferred(c) })
		return
	}
	flags = t.ddspFlags
	t.clearDirect()
	s.dispatchEnqueue(c, q, t, flags)
}

// runDeferred is process_ddsp_deferred_locals.
func (s *Sim) runDeferred(c *rq) {
	for c.deferred.n > 0 && s.events.Err() == nil {
		t := c.deferred.first
		c.deferred.remove(t)
		t.deferred = false
		id, flags := t.ddsp, t.ddspFlags
		t.clearDirect()
		if q := s.find(c, id, t.CPU); q.cpu != nil {
			s.dispatchToLocal(c, q.cpu, t, flags)
		} else { // no such CPU
			s.dispatchEnqueue(c, q, t, flags)
		}
	}
}

// dispatchToLocal is dispatch_to_local_dsq.
func (s *Sim) dispatchToLocal(c, to *rq, t *Task, flags uint64) {
	from := s.cpus[t.CPU]
	t.ops = opsNone
	switch {
	case from == to:
		s.dispatchEnqueue(to, &to.local, t, flags)
	case !s.canRun(t, to, true):
		s.dispatchEnqueue(from, s.globalOf(t.CPU), t, flags)
		return
	default:
		s.migrate(t, to, flags)
	}
	if to.curr == nil && to != c {
		s.resched(to)
	}
}

// dequeueTask is dequeue_task_scx: a task stops to be runnable on its CPU.
func (s *Sim) dequeueTask(t *Task, flags uint64, migrating bool) {
	if !t.queued {
		return
	}
	c := s.cpus[t.CPU]
	if flags&deqSleep == 0 {
		flags |= deqChange
	}
	s.clearRunnable(c, t, false)
	t.ops = opsNone
	s.leaveCustody(c, t, flags)
	if c.curr == t {
		s.account(c)
		s.call(c, OpStopping, t, false)
	}
	if !migrating {
		s.call(c, OpQuiescent, t, flags)
	}
	t.setQueued(false)
	s.dispatchDequeue(t)
	t.clearDirect()
}

// buffer is what one call of dispatch has inserted (struct scx_dsp_ctx).
type buffer struct {
	rq    *rq
	list  []inserted
	moved int
}

type inserted struct {
	task       *Task
	qseq       uint64
	dsq, flags uint64
}

// flush is flush_dispatch_buf: insertions take effect after dispatch has returned, if the tasks are
// still the scheduler's.
func (s *Sim) flush() {
	list := s.buffer.list
	s.buffer.moved += len(list)
	s.buffer.list = nil
	c := s.buffer.rq
	for _, e := range list {
		t := e.task
		if s.events.Err() != nil || t.ops != opsQueued || t.qseq != e.qseq {
			continue // dispatched or dequeued meanwhile
		}
		q := s.find(c, e.dsq, t.CPU)
		if q.cpu != nil {
			s.dispatchToLocal(c, q.cpu, t, e.flags)
		} else {
			s.dispatchEnqueue(c, q, t, e.flags)
		}
	}
}
