package sched

// born creates a task: those that exist when the scheduler is loaded only wake up (sched_fork,
// wake_up_new_task).
func (s *Sim) born(t *Task) {
	if !t.inited {
		if !s.initTask(t, true) {
			return
		}
		if t.Class == Ext {
			s.enable(t)
		}
	}
	t.state = sleeping
	t.at, t.round, t.busy = -1, 0, false
	if !s.nextStep(t) {
		t.state = dead
		return
	}
	flags := wakeTTWU
	if t.Spec.Start > 0 {
		flags = wakeFork
	}
	s.wakeUp(t, t.CPU, flags)
}

// nextStep moves to the next step of the timeline; it reports false at its end.
func (s *Sim) nextStep(t *Task) bool {
	t.at++
	if t.at >= len(t.Spec.Steps) {
		t.at = 0
		t.round++
		if t.Spec.Times != Forever && t.round >= max(t.Spec.Times, 1) {
			return false
		}
	}
	t.busy = false
	return true
}

// wakeUp is try_to_wake_up: it chooses a CPU and enqueues the task there. by is the CPU that the
// waker is on.
func (s *Sim) wakeUp(t *Task, by int, flags uint64) {
	if t.state != sleeping && t.state != waiting {
		return
	}
	if s.cpus[t.CPU].curr == t { // still on its way off the CPU, which a waker waits for
		s.events.After(0, func() { s.wakeUp(t, by, flags) })
		return
	}
	t.state = runnable
	t.gen++
	t.Stats.Wakeups++
	t.woken, t.wokenAt, t.waitsSince = true, s.Now(), s.Now()
	if t.Class == Above {
		s.wakeAbove(t)
		return
	}
	s.waker = by
	defer func() { s.waker = -1 }()
	cpu, enq := s.selectCPU(t, by, flags)
	if !t.Allowed.Has(cpu) {
		cpu = t.Allowed.First()
		s.counts[CountSelectFallback]++
	}
	t.setCPU(cpu)
	if flags&wakeFork == 0 {
		enq |= s.cfg.Values.EnqWakeup
	}
	s.enqueueTask(t, enq, false)
	c := s.cpus[t.CPU]
	if s.preempt(c, rankExt); c.curr == nil { // any task is above idle
		s.resched(c)
	}
}

func (s *Sim) wakeAbove(t *Task) {
	if !t.Allowed.Has(t.CPU) {
		t.setCPU(t.Allowed.First())
	}
	c := s.cpus[t.CPU]
	c.above = append(c.above, t)
	s.preempt(c, rankAbove)
	if c.curr == nil || c.curr.Class == Ext {
		s.resched(c)
	}
}

// selectCPU is select_task_rq with select_task_rq_scx: tasks that can run on one CPU only are not
// asked about.
func (s *Sim) selectCPU(t *Task, by int, flags uint64) (cpu int, enq uint64) {
	if t.Allowed.Count() == 1 {
		return t.Allowed.First(), 0
	}
	enq = s.cfg.Values.EnqSelected
	prev := t.CPU
	if !s.ops.Has(OpSelectCPU) {
		s.in = place{OpSelectCPU, by, nil}
		cpu := s.selectDefault(t, prev, flags, s.spans.all, 0)
		s.in = place{}
		if cpu < 0 {
			return prev, enq
		}
		s.refill(t)
		t.ddsp, t.ddspFlags, t.ddspSet = DSQLocal, 0, true
		return cpu, enq
	}
	s.direct, s.spoiled, s.subject = t, false, t
	cpu = s.cpuRet(int(int32(s.callOn(by, nil, OpSelectCPU, t, s.cpuArg(prev), flags))))
	s.direct, s.spoiled, s.subject = nil, false, nil
	if s.events.Err() != nil || !s.validCPU(cpu, "from ops.select_cpu()") {
		return prev, enq
	}
	return cpu, enq
}

// advance continues the timeline of a running task, whose current step is over or has not begun.
func (s *Sim) advance(t *Task) {
	c := s.cpus[t.CPU]
	for s.events.Err() == nil && s.exit == nil {
		if t.busy { // what used the CPU is done
			if t.Exiting {
				s.die(t)
				return
			}
			if !s.nextStep(t) {
				t.Exiting = true
				t.mirror.Store(t, FieldExiting, 1)
				s.die(t)
				return
			}
		}
		if s.step(c, t) || !s.events.Happens() {
			return
		}
	}
}

// step begins a step of the running task; it reports whether the task has to wait for time or
// another task.
func (s *Sim) step(c *rq, t *Task) (waits bool) {
	step := &t.Spec.Steps[t.at]
	t.busy = true
	switch step.Kind {
	case DoRun:
		if t.left = uint64(step.For); t.left > 0 {
			s.arm(c)
			return true
		}
	case DoExit:
		t.Exiting = true
		t.mirror.Store(t, FieldExiting, 1)
		if t.left = uint64(step.For); t.left > 0 {
			s.arm(c)
			return true
		}
	case DoSleep:
		if step.For > 0 {
			gen := s.block(c, t, sleeping)
			s.events.After(uint64(step.For), func() {
				if t.gen == gen {
					s.wakeUp(t, t.CPU, wakeTTWU)
				}
			})
			return true
		}
	case DoWait:
		if t.wakes > 0 {
			t.wakes--
			return false
		}
		s.block(c, t, waiting)
		return true
	case DoWake:
		s.wakeOther(c, step)
	case DoYield:
		s.yield(c, t)
		t.left = 0
		return true
	case DoGroupWeight, DoGroupIdle, DoGroupMax:
		s.setGroup(step)
	case DoNice, DoAffinity, DoMove:
		return s.change(c, t, step)
	}
	return false
}

func (s *Sim) wakeOther(c *rq, step *Step) {
	o := s.byName[step.Task]
	if o.state != waiting {
		if o.state != dead && o.wakes < 1<<20 {
			o.wakes++
		}
		return
	}
	flags := wakeTTWU
	if step.Sync {
		flags |= WakeSync
	}
	s.wakeUp(o, c.id, flags)
}

// block takes the running task off its CPU until it is woken.
func (s *Sim) block(c *rq, t *Task, as state) (gen int) {
	t.state, t.left = as, 0
	t.gen++
	gen = t.gen
	if t.Class == Ext {
		s.dequeueTask(t, deqSleep, false)
	}
	s.resched(c)
	c.gen++
	return gen
}

// yield is yield_task_scx and the rescheduling that follows.
func (s *Sim) yield(c *rq, t *Task) {
	if t.Class == Ext {
		if s.ops.Has(OpYield) {
			s.call(c, OpYield, t, (*Task)(nil))
		} else {
			t.SetSlice(0)
		}
	}
	c.gen++
	s.resched(c)
}

// die ends a running task (do_exit, sched_ext_free).
func (s *Sim) die(t *Task) {
	c := s.cpus[t.CPU]
	s.block(c, t, dead)
	t.Stats.Exited = true
	s.events.After(0, func() { s.exitTask(t) }) // after it has left the CPU
}
