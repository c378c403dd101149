package sched

// change applies a change that the running task makes to itself: it leaves the run queue for it and
// comes back (sched_change). It reports whether the task is no longer running, because it may not
// be on its CPU any more.
func (s *Sim) change(c *rq, t *Task, step *Step) (left bool) {
	if step.Kind == DoMove && !s.mayMove(t, step.To) {
		return false
	}
	if t.Class == Above {
		s.apply(c, t, step)
		return false
	}
	s.dequeueTask(t, 0, false)
	s.apply(c, t, step)
	t.sticky = c.id // keep the running task
	s.enqueueTask(t, 0, false)
	s.dispatchDequeue(t)
	t.execStart = s.Now()
	s.call(c, OpRunning, t)
	s.clearRunnable(c, t, true)
	if t.Allowed.Has(c.id) {
		return false
	}
	s.expel(c, t)
	return true
}

func (s *Sim) apply(c *rq, t *Task, step *Step) {
	switch step.Kind {
	case DoNice:
		t.setNice(step.Nice)
		if t.Class == Ext {
			t.mirror.Store(t, FieldWeight, uint64(t.Weight))
			s.call(c, OpSetWeight, t, t.Weight)
		}
	case DoAffinity:
		t.setAllowed(s.allowed(step.CPUs))
		if t.Class == Ext {
			s.call(c, OpSetCpumask, t, t.Allowed)
		}
	case DoMove:
		from := t.Cgroup
		t.Cgroup = step.To
		t.mirror.Store(t, FieldCgroup, 0)
		s.call(c, OpCgroupMove, t, Cgroup(from), Cgroup(t.Cgroup))
	}
}

// expel moves a running task that may no longer run on its CPU to another, as the stopper thread
// does (migration_cpu_stop, move_queued_task).
func (s *Sim) expel(c *rq, t *Task) {
	s.account(c)
	s.call(c, OpStopping, t, true)
	s.leave(c, t)
	c.curr, c.vacant = nil, true
	s.setRunnable(c, t)
	s.dequeueTask(t, 0, true)
	t.setCPU(t.Allowed.First())
	s.enqueueTask(t, 0, true)
	to := s.cpus[t.CPU]
	if s.preempt(to, rankExt); to.curr == nil {
		s.resched(to)
	}
	s.resched(c)
}
