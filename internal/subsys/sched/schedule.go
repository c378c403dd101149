package sched

// account is update_curr_scx: it charges the running task for the time since it was last charged.
func (s *Sim) account(c *rq) {
	t := c.curr
	if t == nil || s.Now() <= t.execStart {
		return
	}
	d := s.Now() - t.execStart
	t.execStart = s.Now()
	t.Stats.Runtime += d
	t.Stats.ByCPU[c.id] += d
	t.Stats.LastRan = s.Now()
	t.left -= min(t.left, d)
	if t.Class != Ext {
		return
	}
	if slice := t.Slice(); slice != SliceInfinite && slice > 0 {
		t.SetSlice(slice - min(slice, d))
	}
}

// schedule chooses what a CPU runs next (__schedule, with pick_task_scx).
func (s *Sim) schedule(c *rq) {
	if s.events.Err() != nil || s.exit != nil {
		return
	}
	prev := c.curr
	s.account(c)
	next := s.pick(c, prev)
	if s.events.Err() != nil {
		return
	}
	c.next = rankOf(next)
	switch {
	case next == prev && prev != nil:
		s.arm(c)
		return
	case next == prev && !c.vacant: // idle as before, although someone may have claimed the CPU
		s.idle.update(s, c.id, true)
		return
	}
	s.put(c, prev, next)
	if s.events.Err() != nil {
		return
	}
	if next == nil {
		c.curr, c.vacant = nil, false
		c.gen++
		s.updateIdle(c, true)
		if c.local.tasks.n > 0 {
			s.resched(c)
		}
		return
	}
	s.setNext(c, next)
}

// pick chooses the next task: of the class above, or the scheduler's; nil for none.
func (s *Sim) pick(c *rq, prev *Task) *Task {
	if prev != nil && prev.Class == Above && prev.state == runnable {
		c.above = append(c.above, prev)
	}
	if len(c.above) > 0 {
		t := c.above[0]
		c.above = c.above[1:]
		return t
	}
	keep := s.balance(c, prev)
	if s.events.Err() != nil {
		return nil
	}
	if keep {
		if prev.Slice() == 0 {
			s.refill(prev)
		}
		return prev
	}
	t := c.local.tasks.first
	if t != nil && t.Slice() == 0 {
		s.refill(t)
	}
	return t
}

// refill is refill_task_slice_dfl.
func (s *Sim) refill(t *Task) {
	t.SetSlice(SliceDefault)
	s.counts[CountRefill]++
}

// balance is balance_one: it asks the scheduler for tasks, if the CPU needs any. It reports whether
// the CPU goes on with the task that it runs.
func (s *Sim) balance(c *rq, prev *Task) (keep bool) {
	c.balancing = true
	defer func() {
		// A dispatch accepts tasks that run at once without knowing what else it brings.
		if c.local.tasks.n > 1 && c.immed > 0 {
			s.reenqueueLater(c, 0)
		}
		c.balancing = false
	}()
	if prev != nil && prev.Class == Above {
		prev = nil
	}
	if c.released {
		c.released = false
		s.call(c, OpCPUAcquire, c.id, nil)
	}
	if prev != nil && prev.queued && prev.Slice() > 0 {
		return true
	}
	if c.local.tasks.n > 0 {
		return false
	}
	found, keep := s.dispatch(c, prev)
	if found || keep {
		return keep
	}
	if prev != nil && prev.queued && s.cfg.Flags&EnqLast == 0 {
		s.counts[CountKeepLast]++
		return true
	}
	return false
}

// dispatch is scx_dispatch_sched.
func (s *Sim) dispatch(c *rq, prev *Task) (found, keep bool) {
	if s.consume(c, s.globalOf(c.id), 0) {
		return true, false
	}
	if !s.ops.Has(OpDispatch) {
		return false, false
	}
	outer := s.buffer
	defer func() { s.buffer = outer }()
	for range maxDispatch {
		s.buffer = buffer{rq: c}
		s.call(c, OpDispatch, s.cpuArg(c.id), prev)
		s.flush()
		switch {
		case s.events.Err() != nil:
			return false, false
		case prev != nil && prev.queued && prev.Slice() > 0:
			return false, true
		case c.local.tasks.n > 0 || s.consume(c, s.globalOf(c.id), 0):
			return true, false
		case s.buffer.moved == 0:
			return false, false
		}
	}
	s.kick(c, kick{c.id, 0})
	return false, false
}

// consume is consume_dispatch_q: it moves the first task of a queue that may run on a CPU to the
// CPU's queue.
func (s *Sim) consume(c *rq, q *DSQ, flags uint64) bool {
	if s.exit != nil {
		return false
	}
	for t := q.tasks.first; t != nil; t = q.tasks.after(t) {
		if t.CPU == c.id {
			t.unlink()
			s.toLocal(c, t, flags)
			return true
		}
		if s.canRun(t, c, false) {
			t.unlink()
			s.migrate(t, c, flags)
			return true
		}
	}
	return false
}

// toLocal is move_local_task_to_local_dsq.
func (s *Sim) toLocal(c *rq, t *Task, flags uint64) {
	q := &c.local
	s.insert(q, t, flags)
	t.dsq = q
	s.counted(q, t, flags)
	s.queuedOn(c, q, t, flags)
}

// migrate is move_remote_task_to_local_dsq: the task leaves the run queue of its CPU for another's.
func (s *Sim) migrate(t *Task, c *rq, flags uint64) {
	t.sticky = c.id
	s.dequeueTask(t, 0, true)
	t.setCPU(c.id)
	s.enqueueTask(t, flags, true)
}

// canRun is task_can_run_on_remote_rq.
func (s *Sim) canRun(t *Task, c *rq, enforce bool) bool {
	if t.Allowed.Has(c.id) {
		return true
	}
	if enforce {
		s.errorf("SCX_DSQ_LOCAL[_ON] target CPU %d not allowed for %s[%d]", c.id, t.Spec.Name, t.PID())
	}
	return false
}

// put takes the previous task off a CPU (put_prev_task_scx, put_prev_task_idle).
func (s *Sim) put(c *rq, prev, next *Task) {
	if prev == nil {
		if !c.vacant {
			s.updateIdle(c, false)
		}
		return
	}
	s.leave(c, prev)
	if prev.Class == Ext {
		s.putExt(c, prev, next)
	}
	if next != nil && next.Class == Above && prev.Class == Ext {
		s.release(c, next)
	}
}

// putExt hands a task that could go on back to the scheduler.
func (s *Sim) putExt(c *rq, prev, next *Task) {
	if !prev.queued {
		return
	}
	s.call(c, OpStopping, prev, true)
	s.setRunnable(c, prev)
	switch {
	case prev.Slice() > 0 && prev.immed:
		s.giveBack(c, prev, ReenqPreempted)
	case prev.Slice() > 0:
		s.dispatchEnqueue(c, &c.local, prev, s.cfg.Values.EnqHead)
	case next == nil:
		s.doEnqueue(c, prev, EnqLastTask)
	default:
		s.doEnqueue(c, prev, 0)
	}
}

// release is switch_class: a CPU is lost to a higher class.
func (s *Sim) release(c *rq, next *Task) {
	if c.released || !s.ops.Has(OpCPUAcquire) && !s.ops.Has(OpCPURelease) {
		return
	}
	c.released = true
	s.call(c, OpCPURelease, c.id, ReleaseArgs{next})
}

// leave records that a task is no longer on its CPU.
func (s *Sim) leave(c *rq, t *Task) {
	t.mirror.Store(t, FieldOnCPU, 0)
	s.record(c, t)
	c.gen++
	if t.state == runnable {
		t.Stats.Preempted++
		t.waitsSince = s.Now()
	}
}

// setNext puts a task on a CPU (set_next_task_scx).
func (s *Sim) setNext(c *rq, t *Task) {
	if c.id != t.last && t.Stats.Runs > 0 {
		t.Stats.Migrations++
	}
	c.curr, t.last, c.vacant = t, c.id, false
	if t.Class == Ext && t.queued {
		s.dispatchDequeue(t)
	}
	t.execStart = s.Now()
	t.Stats.ran(c.id, s.Now()-min(t.waitsSince, s.Now()))
	if t.woken {
		t.woken = false
		d := s.Now() - t.wokenAt
		t.Stats.Latency += d
		t.Stats.MaxLatency = max(t.Stats.MaxLatency, d)
	}
	t.mirror.Store(t, FieldOnCPU, 1)
	c.since = s.Now()
	if t.Class == Ext {
		s.call(c, OpRunning, t)
		s.clearRunnable(c, t, true)
	}
	s.arm(c)
}

// arm schedules the end of what the running task does.
func (s *Sim) arm(c *rq) {
	c.gen++
	gen, t := c.gen, c.curr
	s.events.After(t.left, func() {
		if c.gen == gen && c.curr == t {
			s.account(c)
			s.advance(t)
		}
	})
}

func (s *Sim) setRunnable(c *rq, t *Task) {
	if t.resetRunnable {
		t.runnableAt, t.resetRunnable = s.Now(), false
	}
	if !t.onList {
		t.onList = true
		c.list.add(t, nil)
	}
}

func (s *Sim) clearRunnable(c *rq, t *Task, reset bool) {
	if t.onList {
		t.onList = false
		c.list.remove(t)
	}
	if reset {
		t.resetRunnable = true
	}
}
