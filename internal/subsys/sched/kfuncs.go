package sched

import (
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Op returns the operation that is running, and CPU the one that it runs on.
func (s *Sim) Op() Op   { return s.in.op }
func (s *Sim) CPU() int { return s.in.cpu }

// Locked returns the CPU whose run queue the running operation holds, or -1 (scx_locked_rq).
func (s *Sim) Locked() int {
	if s.in.rq == nil {
		return -1
	}
	return s.in.rq.id
}

// CPUs returns the number of CPUs, Nodes that of nodes, and Place where a CPU is.
func (s *Sim) CPUs() int         { return len(s.cpus) }
func (s *Sim) Nodes() int        { return len(s.spans.nodes) }
func (s *Sim) Place(cpu int) CPU { return s.cfg.CPUs[cpu] }

// ValidCPU ends the scheduler if there is no such CPU.
func (s *Sim) ValidCPU(cpu int) bool { return s.validCPU(cpu, "") }

// Insert is scx_bpf_dsq_insert, and with priq scx_bpf_dsq_insert_vtime.
func (s *Sim) Insert(t *Task, id, slice, vtime, flags uint64, priq bool) bool {
	switch {
	case t == nil:
		s.errorf("called with NULL task")
		return false
	case flags&enqInternal != 0:
		s.errorf("invalid enq_flags 0x%x", flags)
		return false
	case !t.inited: // the scheduler has forgotten it
		s.counts[CountNotOwned]++
		return false
	case !s.vet(id, &flags):
		return false
	}
	if slice == 0 {
		slice = max(t.Slice(), 1)
	}
	t.SetSlice(slice)
	if priq {
		t.SetVtime(vtime)
		flags |= enqPriq
	}
	s.commit(t, id, flags)
	return true
}

// vet is scx_vet_enq_flags: only tasks for a CPU's own queue can be meant to run at once; with
// SCX_OPS_ALWAYS_ENQ_IMMED all of these are.
func (s *Sim) vet(id uint64, flags *uint64) bool {
	immed, local := s.cfg.Values.EnqImmed, id == DSQLocal || id&DSQLocalOn == DSQLocalOn
	switch {
	case *flags&immed != 0 && !local:
		s.errorf("SCX_ENQ_IMMED on a non-local DSQ 0x%x", id)
		return false
	case local && s.cfg.Flags&AlwaysEnqImmed != 0:
		*flags |= immed
	}
	return true
}

// commit is scx_dsq_insert_commit with mark_direct_dispatch.
func (s *Sim) commit(t *Task, id, flags uint64) {
	switch {
	case s.direct != nil && s.spoiled:
		s.errorf("%s[%d] already direct-dispatched", t.Spec.Name, t.PID())
	case s.direct != nil && s.direct != t:
		s.spoiled = true
		s.errorf("scheduling for %s[%d] but trying to direct-dispatch %s[%d]", s.direct.Spec.Name, s.direct.PID(), t.Spec.Name, t.PID())
	case s.direct != nil:
		s.spoiled = true
		t.ddsp, t.ddspFlags, t.ddspSet = id, flags, true
	case len(s.buffer.list) >= s.cfg.Batch:
		s.errorf("dispatch buffer overflow")
	default:
		s.buffer.list = append(s.buffer.list, inserted{t, t.owned(), id, flags})
	}
}

// owned returns the number of the task's stay with the scheduler; 0 if it is not the scheduler's.
func (t *Task) owned() uint64 {
	if t.ops == opsNone {
		return 0
	}
	return t.qseq
}

// Slots is scx_bpf_dispatch_nr_slots, Cancel scx_bpf_dispatch_cancel.
func (s *Sim) Slots() int { return s.cfg.Batch - len(s.buffer.list) }

// Cancel forgets the last insertion of this dispatch.
func (s *Sim) Cancel() {
	if n := len(s.buffer.list); n > 0 {
		s.buffer.list = s.buffer.list[:n-1]
	} else {
		s.errorf("dispatch buffer underflow")
	}
}

// MoveToLocal is scx_bpf_dsq_move_to_local.
func (s *Sim) MoveToLocal(id, flags uint64) bool {
	if s.buffer.rq == nil || !s.vet(DSQLocal, &flags) {
		return false
	}
	s.flush()
	q := s.dsqs[id]
	if q == nil {
		s.errorf("invalid DSQ ID 0x%016x", id)
		return false
	}
	if !s.consume(s.buffer.rq, q, flags) {
		return false
	}
	s.buffer.moved++
	return true
}

// CreateDSQ is scx_bpf_create_dsq.
func (s *Sim) CreateDSQ(id uint64, node int) uapi.Errno {
	const most = 1 << 16
	switch {
	case node >= s.Nodes() || node < -1 || id&dsqBuiltin != 0:
		return uapi.EINVAL
	case s.dsqs[id] != nil:
		return uapi.EEXIST
	case len(s.dsqs) >= most:
		return uapi.ENOMEM
	}
	s.dsqs[id] = &DSQ{ID: id}
	return 0
}

// DestroyDSQ is scx_bpf_destroy_dsq.
func (s *Sim) DestroyDSQ(id uint64) {
	q := s.dsqs[id]
	if q == nil {
		return
	}
	if q.tasks.n > 0 {
		s.errorf("attempting to destroy in-use dsq 0x%016x (nr=%d)", id, q.tasks.n)
		return
	}
	q.dead = true
	delete(s.dsqs, id)
}

// Queued is scx_bpf_dsq_nr_queued.
func (s *Sim) Queued(id uint64) int {
	switch {
	case id == DSQLocal:
		return s.cpus[s.in.cpuOfQueue()].local.tasks.n
	case id&DSQLocalOn == DSQLocalOn:
		if cpu := s.cpuRet(int(int32(id & dsqCPUMask))); s.validCPU(cpu, "") {
			return s.cpus[cpu].local.tasks.n
		}
	case s.dsqs[id] != nil:
		return s.dsqs[id].tasks.n
	}
	return int(uapi.ENOENT.Neg())
}

func (p place) cpuOfQueue() int {
	if p.rq != nil {
		return p.rq.id
	}
	return p.cpu
}

// Peek is scx_bpf_dsq_peek.
func (s *Sim) Peek(id uint64) *Task {
	q := s.dsqs[id]
	switch {
	case id&dsqBuiltin != 0:
		s.errorf("peek disallowed on builtin DSQ 0x%x", id)
	case q == nil:
		s.errorf("peek on non-existent DSQ 0x%x", id)
	default:
		return q.tasks.first
	}
	return nil
}

// Move is scx_bpf_dsq_move: it moves a task from the queue that a cursor visits to another one.
func (s *Sim) Move(v *Cursor, t *Task, id, flags uint64, priq bool) bool {
	slice, vtime := v.Slice, v.Vtime
	v.Slice, v.Vtime = nil, nil
	if t == nil || !v.has(t) || s.exit != nil || !s.vet(id, &flags) {
		return false
	}
	c := s.in.rq
	if c == nil {
		c = s.cpus[s.in.cpu]
	}
	to := s.find(c, id, t.CPU)
	if vtime != nil {
		t.SetVtime(*vtime)
	}
	if slice != nil {
		t.SetSlice(*slice)
	}
	if priq {
		flags |= enqPriq
	}
	src := s.cpus[t.CPU]
	if to.cpu != nil && to.cpu != src && !s.canRun(t, to.cpu, true) {
		to = s.globalOf(t.CPU)
	}
	t.unlink()
	switch {
	case to.cpu == nil:
		s.dispatchEnqueue(src, to, t, flags)
	case to.cpu == src:
		s.toLocal(src, t, flags)
	default:
		s.migrate(t, to.cpu, flags)
	}
	return true
}

// Kick is scx_bpf_kick_cpu: the CPU is kicked after the operation (kick_cpus_irq_workfn).
func (s *Sim) Kick(cpu int, flags uint64) {
	if !s.validCPU(cpu, "") {
		return
	}
	if flags&KickIdle != 0 {
		if flags&(KickPreempt|KickWait) != 0 {
			s.errorf("PREEMPT/WAIT cannot be used with SCX_KICK_IDLE")
		}
		if c := s.cpus[cpu]; c.curr != nil && !c.balancing {
			return
		}
	}
	c, k := s.cpus[s.in.cpu], kick{cpu, flags & (KickIdle | KickPreempt | KickWait)}
	if !slices.Contains(c.kicks, k) {
		s.kick(c, k)
	}
}

// kick makes a CPU kick another one after the event.
func (s *Sim) kick(c *rq, k kick) {
	c.kicks = append(c.kicks, k)
	s.kicked.Add(c.id)
}

// flushKicks does what operations of the last event asked for. A kick that waits needs nothing
// else: all CPUs reschedule before time goes on.
func (s *Sim) flushKicks() {
	for cpu := s.kicked.First(); cpu >= 0; cpu = s.kicked.First() {
		c := s.cpus[cpu]
		s.kicked.Remove(cpu)
		for _, k := range c.kicks {
			to := s.cpus[k.cpu]
			switch {
			case to.curr != nil && to.curr.Class == Above:
				continue
			case k.flags&KickIdle != 0 && to.curr != nil:
				continue
			case k.flags&KickPreempt != 0 && to.curr != nil:
				to.curr.SetSlice(0)
			}
			s.resched(to)
		}
		c.kicks = c.kicks[:0]
	}
}

// MaxPerf is SCX_CPUPERF_ONE, the speed of the fastest CPU.
const MaxPerf = 1024

// SetPerf is scx_bpf_cpuperf_set: it checks the target, but speeds do not change. Within an
// operation on a run queue the CPU is that run queue's.
func (s *Sim) SetPerf(cpu int, perf uint32) {
	switch {
	case perf > MaxPerf:
		s.errorf("Invalid cpuperf target %d for CPU %d", perf, cpu)
	case s.validCPU(cpu, "") && s.in.rq != nil && s.in.rq.id != cpu:
		s.errorf("Invalid target CPU %d", cpu)
	}
}

// SelectDefault is scx_bpf_select_cpu_dfl and scx_bpf_select_cpu_and: an idle CPU for the task
// among some, or -EBUSY.
func (s *Sim) SelectDefault(t *Task, prev int, wake uint64, among Mask, flags uint64) int {
	switch {
	case !s.validCPU(prev, ""):
		return int(uapi.EINVAL.Neg())
	case !s.IdleEnabled():
		return busy
	case s.in.op == OpSelectCPU && s.subject != t:
		s.errorf("called on a task not being operated on")
		return int(uapi.EINVAL.Neg())
	case s.in.op != OpSelectCPU && s.in.rq != nil && s.in.rq.id != t.CPU:
		s.errorf("select_cpu kfunc called cross-task on %s[%d]", t.Spec.Name, t.PID())
		return int(uapi.EINVAL.Neg())
	case t.Allowed.Count() == 1:
		return s.selectOnly(t, prev, among, flags)
	}
	return s.selectDefault(t, prev, wake, among, flags)
}

// selectOnly is select_cpu_restricted: the only CPU that a task may use, if it is idle.
func (s *Sim) selectOnly(t *Task, prev int, among Mask, flags uint64) int {
	cpu := t.Allowed.First()
	if !among.Has(cpu) || flags&PickIdleInNode != 0 && s.startNode(cpu) != s.startNode(prev) || !s.idle.take(s, cpu) {
		return busy
	}
	return cpu
}

// IdleEnabled ends the scheduler with an error if it tracks idle CPUs itself
// (check_builtin_idle_enabled).
func (s *Sim) IdleEnabled() bool {
	if !s.idle.enabled {
		s.errorf("built-in idle tracking is disabled")
	}
	return s.idle.enabled
}

// PerNode reports whether idle CPUs are tracked by node.
func (s *Sim) PerNode() bool { return s.idle.perNode }

// ValidNode ends the scheduler with an error unless idle CPUs are tracked by node and there is that
// node (validate_node); the errno is 0 if so.
func (s *Sim) ValidNode(node int) uapi.Errno {
	switch {
	case !s.idle.perNode:
		s.errorf("per-node idle tracking is disabled")
		return uapi.EOPNOTSUPP
	case node == -1:
		return uapi.ENOENT
	case node < 0 || node >= s.Nodes():
		s.errorf("invalid node %d", node)
		return uapi.EINVAL
	}
	return 0
}

// IdleCPUs returns the CPUs that count as idle, and those whose whole core does; of a node, or -1
// for all.
func (s *Sim) IdleCPUs(node int) (cpus, cores Mask) {
	all := &s.spans.all
	if node >= 0 {
		all = s.spans.nodes[node]
	}
	cpus, cores = s.idle.cpus.And(*all), s.idle.smt.And(*all)
	if !s.idle.hasSMT {
		cores = cpus
	}
	return cpus, cores
}

// TakeIdle is scx_bpf_test_and_clear_cpu_idle.
func (s *Sim) TakeIdle(cpu int) bool { return s.idle.take(s, cpu) }

// PickIdle is scx_bpf_pick_idle_cpu; PickAny takes any CPU if none is idle. A node of -1 means all
// of them.
func (s *Sim) PickIdle(allowed Mask, node int, flags uint64) int {
	return s.idle.pick(s, allowed.And(s.spans.all), node, flags)
}

// PickAny is scx_bpf_pick_any_cpu.
func (s *Sim) PickAny(allowed Mask, node int, flags uint64) int {
	if s.idle.enabled {
		if cpu := s.PickIdle(allowed, node, flags); cpu >= 0 {
			return cpu
		}
	}
	if allowed = allowed.And(s.spans.all); node >= 0 && flags&PickIdleInNode != 0 {
		allowed = allowed.And(*s.spans.nodes[node])
	}
	if cpu := allowed.First(); cpu >= 0 {
		return cpu
	}
	return busy
}

// Running reports whether a task is on its CPU (scx_bpf_task_running).
func (s *Sim) Running(t *Task) bool { return s.cpus[t.CPU].curr == t }

// Current returns the task on a CPU, nil for an idle one.
func (s *Sim) Current(cpu int) *Task { return s.cpus[cpu].curr }

// Fail is scx_bpf_error, Unregister scx_bpf_exit.
func (s *Sim) Fail(text string) { s.endWith(ExitErrorBPF, 0, text) }

// Unregister ends the scheduler at its own request.
func (s *Sim) Unregister(code int64, text string) { s.endWith(ExitUnregBPF, code, text) }

// Denied ends the scheduler with an error: an operation called a function that it may not.
func (s *Sim) Denied(text string) { s.errorf("%s", text) }

// Known reports whether the scheduler knows the task: it has been created and has not exited yet
// (scx_task_on_sched).
func (t *Task) Known() bool { return t.inited }

// Path returns a cgroup's path without a trailing slash; the root's is "/".
func Path(p string) string {
	if p = strings.TrimRight(p, "/"); p == "" {
		return "/"
	}
	return p
}

// SetNow sets the time that the machine has reached before the next event, for what it does then.
func (s *Sim) SetNow(now uint64) { s.events.Reach(now) }

// Cgroups returns the paths of all cgroups, parents first.
func (s *Sim) Cgroups() []string { return s.cgroups() }
