package sched

import "slices"

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
	ID    uint64
	cpu   *rq // of a local queue
	tasks []*Task
	priq  bool // ordered by vtime, as long as it has tasks
	seq   uint64
	dead  bool
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
		if !q.priq && len(q.tasks) > 0 {
			s.errorf("DSQ ID 0x%016x already had FIFO-enqueued tasks", q.ID)
		}
		q.priq = true
		v := t.Vtime()
		i := slices.IndexFunc(q.tasks, func(o *Task) bool { return before(v, o.Vtime()) })
		if i < 0 {
			i = len(q.tasks)
		}
		q.tasks = slices.Insert(q.tasks, i, t)
	default:
		if q.priq && len(q.tasks) > 0 {
			s.errorf("DSQ ID 0x%016x already had PRIQ-enqueued tasks", q.ID)
		}
		if flags&(s.cfg.Values.EnqHead|EnqPreempt) != 0 {
			q.tasks = slices.Insert(q.tasks, 0, t)
		} else {
			q.tasks = append(q.tasks, t)
		}
	}
	q.seq++
	t.dsq, t.dsqSeq = q, q.seq
	s.counted(q, t, flags)
	s.queuedOn(c, q, t, flags)
	t.ops = opsNone
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

// unlink removes a task from its queue (task_unlink_from_dsq).
func (q *DSQ) unlink(t *Task) {
	if i := slices.Index(q.tasks, t); i >= 0 {
		q.tasks = slices.Delete(q.tasks, i, i+1)
		if t.immed && q.cpu != nil {
			q.cpu.immed--
		}
	}
	if len(q.tasks) == 0 {
		q.priq = false
	}
}

// dispatchDequeue is dispatch_dequeue.
func (s *Sim) dispatchDequeue(t *Task) {
	if t.deferred {
		c := s.cpus[t.CPU]
		c.deferred = slices.DeleteFunc(c.deferred, func(o *Task) bool { return o == t })
		t.deferred = false
	}
	if t.dsq != nil {
		t.dsq.unlink(t)
		t.dsq = nil
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
