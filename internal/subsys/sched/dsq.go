package sched

// Numbers of dispatch queues (enum scx_dsq_id_flags).
const (
	dsqBuiltin uint64 = 1 << 63
	DSQInvalid        = dsqBuiltin
	DSQGlobal         = dsqBuiltin | 1
	DSQLocal          = dsqBuiltin | 2
	DSQLocalOn        = dsqBuiltin | 1<<62
	dsqCPUMask        = 0xffffffff
)

// DSQ is a dispatch queue.
type DSQ struct {
	ID      uint64
	cpu     *rq // of a local queue
	tasks   list
	order   priq // of those that were inserted by vtime
	seq     uint64
	dead    bool
	cursors []*Cursor // that visit it
}

// before reports whether a vtime is earlier, as time_before64 compares.
func before(a, b uint64) bool { return int64(a-b) < 0 }

// enqueue is dispatch_enqueue: it inserts a task into a queue.
func (s *Sim) dispatchEnqueue(c *rq, q *DSQ, t *Task, flags uint64) {
	if q.dead {
		s.errorf("attempting to dispatch to a destroyed dsq")
		q = s.globalOf(t.CPU)
	}
	if q.ID&dsqBuiltin != 0 && flags&enqPriq != 0 {
		s.errorf("cannot use vtime ordering for built-in DSQs")
		flags &^= enqPriq
	}
	switch {
	case flags&enqPriq != 0:
		if q.order.root == nil && q.tasks.n > 0 {
			s.errorf("DSQ ID 0x%016x already had FIFO-enqueued tasks", q.ID)
		}
		q.tasks.add(t, q.order.add(t))
		t.sorted = true
	default:
		if q.order.root != nil {
			s.errorf("DSQ ID 0x%016x already had PRIQ-enqueued tasks", q.ID)
		}
		s.insert(q, t, flags)
	}
	q.seq++
	t.dsq, t.dsqSeq = q, q.seq
	s.counted(q, t, flags)
	s.queuedOn(c, q, t, flags)
	t.ops = opsNone
}

// insert puts a task at the end of a queue or, by its flags, at its head.
func (s *Sim) insert(q *DSQ, t *Task, flags uint64) {
	if flags&(s.cfg.Values.EnqHead|EnqPreempt) != 0 {
		q.tasks.add(t, q.tasks.first)
	} else {
		q.tasks.add(t, nil)
	}
}

// queuedOn is the end of an insertion: whose the task is now, and whether a CPU has to look at it
// (local_dsq_post_enq).
func (s *Sim) queuedOn(c *rq, q *DSQ, t *Task, flags uint64) {
	switch {
	case q.cpu != nil:
		s.leaveCustody(q.cpu, t, 0)
		s.localInserted(q.cpu, t, flags)
	case q.ID == DSQGlobal:
		s.leaveCustody(c, t, 0)
	default:
		t.custody = true
	}
}

func (s *Sim) localInserted(c *rq, t *Task, flags uint64) {
	s.preempt(c, rankExt)
	if c.balancing {
		return
	}
	if c.curr == nil {
		s.resched(c)
	}
	if flags&EnqPreempt != 0 && c.curr != nil && c.curr != t && c.curr.Class == Ext {
		c.curr.SetSlice(0)
		s.resched(c)
	}
}

// leaveCustody tells the scheduler that a task is no longer its own (task_leave_custody).
func (s *Sim) leaveCustody(c *rq, t *Task, flags uint64) {
	if !t.custody || t.sticky >= 0 {
		return
	}
	t.custody = false
	s.call(c, OpDequeue, t, flags)
}

// unlink removes a task from the queue that it is in (task_unlink_from_dsq, dispatch_dequeue).
func (t *Task) unlink() {
	q := t.dsq
	for _, v := range q.cursors {
		v.passes(t)
	}
	q.tasks.remove(t)
	if t.sorted {
		q.order.remove(t)
		t.sorted = false
	}
	if t.immed && q.cpu != nil {
		q.cpu.immed--
	}
	t.dsq = nil
}

// dispatchDequeue is dispatch_dequeue.
func (s *Sim) dispatchDequeue(t *Task) {
	if t.deferred {
		s.cpus[t.CPU].deferred.remove(t)
		t.deferred = false
	}
	if t.dsq != nil {
		t.unlink()
	}
}

// globalOf returns the global queue of a CPU's node.
func (s *Sim) globalOf(cpu int) *DSQ { return s.global[s.cfg.CPUs[cpu].Node] }

// find is find_dsq_for_dispatch.
func (s *Sim) find(c *rq, id uint64, tcpu int) *DSQ {
	switch {
	case id == DSQLocal:
		return &c.local
	case id&DSQLocalOn == DSQLocalOn:
		cpu := s.cpuRet(int(int32(id & dsqCPUMask)))
		if !s.validCPU(cpu, "in SCX_DSQ_LOCAL_ON dispatch verdict") {
			return s.globalOf(tcpu)
		}
		return &s.cpus[cpu].local
	case id == DSQGlobal:
		return s.globalOf(tcpu)
	}
	q := s.dsqs[id]
	if q == nil {
		s.errorf("non-existent DSQ 0x%x", id)
		return s.globalOf(tcpu)
	}
	return q
}

// validCPU ends the scheduler with an error for a CPU that does not exist (scx_cpu_valid).
func (s *Sim) validCPU(cpu int, where string) bool {
	if cpu >= 0 && cpu < len(s.cpus) {
		return true
	}
	if where != "" {
		where = " " + where
	}
	s.errorf("invalid CPU %d%s", cpu, where)
	return false
}
