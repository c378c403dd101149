package sched

import (
	"fmt"
	"slices"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Kinds of exits (enum scx_exit_kind).
const (
	ExitUnreg      = 64
	ExitUnregBPF   = 65
	ExitError      = 1024
	ExitErrorBPF   = 1025
	ExitErrorStall = 1026
)

// exitKinds are the kinds' names here, and their reasons in the kernel's words (scx_exit_reason).
var exitKinds = map[int][2]string{
	ExitUnreg:      {"unregistered", "unregistered from user space"},
	ExitUnregBPF:   {"unregistered-bpf", "unregistered from BPF"},
	ExitError:      {"error", "runtime error"},
	ExitErrorBPF:   {"error-bpf", "scx_bpf_error"},
	ExitErrorStall: {"stall", "runnable task stall"},
}

// ExitKinds returns the names of the kinds of exits, sorted.
func ExitKinds() []string {
	var out []string
	for _, k := range exitKinds {
		out = append(out, k[0])
	}
	slices.Sort(out)
	return out
}

// Exit is why a scheduler ended (struct scx_exit_info).
type Exit struct {
	Kind        int
	Code        int64
	CPU         int
	Message     string
	Initialized bool
	// Dump is what the scheduler's operations wrote about it.
	Dump string
	At   uint64
	// Op is the operation that was running, "" for none.
	Op Op
}

// Name returns the kind's name; Reason is the kernel's text for it.
func (e *Exit) Name() string   { return exitKinds[e.Kind][0] }
func (e *Exit) Reason() string { return exitKinds[e.Kind][1] }

// Failed reports whether an error ended the scheduler.
func (e *Exit) Failed() bool { return e.Kind >= ExitError }

// end ends the scheduler once the current event is over; only the first reason counts (scx_vexit).
func (s *Sim) endWith(kind int, code int64, text string) {
	if s.exit != nil {
		return
	}
	const longest = 1023 // SCX_EXIT_MSG_LEN
	s.exit = &Exit{Kind: kind, Code: code, CPU: s.in.cpu, Message: text[:min(len(text), longest)], Initialized: s.loaded, At: s.Now(), Op: s.in.op}
}

// errorf is scx_error: the scheduler did what it must not.
func (s *Sim) errorf(format string, args ...any) {
	s.endWith(ExitError, 0, fmt.Sprintf(format, args...))
}

// load is scx_root_enable_workfn: it initializes the scheduler and gives it the tasks that exist.
// It reports false if that failed.
func (s *Sim) load() bool {
	s.numberCids()
	s.idle.reset(s)
	if ret := int32(s.call(nil, OpInit)); ret != 0 && s.events.Err() == nil {
		s.errorf("ops.init() failed (%d)", s.errnoOf(OpInit, ret))
	}
	if !s.going() {
		return false
	}
	s.loaded = true
	if p, ok := s.ops.(Preparer); ok {
		if e := p.Prepare(); e != 0 {
			s.errorf("scx_root_enable() failed (%d)", e.Neg())
			return false
		}
	}
	if !s.validate() {
		return false
	}
	s.ready = true
	s.bypass() // until all tasks are the scheduler's
	if !s.initCgroups() {
		return false
	}
	for _, t := range s.tasks {
		if t.Spec.Start == 0 && !s.initTask(t, false) {
			return false
		}
	}
	for _, t := range s.tasks {
		if t.Spec.Start == 0 && t.Class == Ext {
			t.SetSlice(s.loadSlice()) // not counted as a refill
			s.enable(t)
			s.call(s.cpus[t.CPU], OpSetCpumask, t, t.Allowed)
		}
	}
	s.bypassing = false
	return s.going()
}

// validate is validate_ops: what the members of the scheduler must have in common.
func (s *Sim) validate() bool {
	switch f := s.cfg.Flags; {
	case f&EnqLast != 0 && !s.ops.Has(OpEnqueue):
		s.errorf("SCX_OPS_ENQ_LAST requires ops.enqueue() to be implemented")
	case f&BuiltinIdlePerNode != 0 && s.ops.Has(OpUpdateIdle) && f&KeepBuiltinIdle == 0:
		s.errorf("SCX_OPS_BUILTIN_IDLE_PER_NODE requires CPU idle selection enabled")
	case s.cfg.Values.Cids && !s.cfg.Cid && (s.ops.Has(OpSubAttach) || s.ops.Has(OpSubDetach)):
		s.errorf("sub_attach/sub_detach requires cid-form struct_ops")
	}
	return s.going()
}

// errnoOf is ops_sanitize_err: an operation that fails returns an errno, and nothing else.
func (s *Sim) errnoOf(op Op, ret int32) int32 {
	const maxErrno = 4095
	if ret < 0 && ret >= -maxErrno {
		return ret
	}
	s.errorf("ops.%s() returned an invalid errno %d", op, ret)
	return int32(uapi.EPROTO.Neg())
}

// bypass is scx_bypass(true): the scheduler is not asked until it has all tasks, or for the last
// time.
func (s *Sim) bypass() {
	if !s.bypassing {
		s.bypassing = true
		s.counts[CountBypass]++
	}
}

// loadSlice is the slice of the tasks that exist: the default one is that of the bypass mode while
// they become the scheduler's (set_slice_dfl).
func (s *Sim) loadSlice() uint64 {
	if v := s.cfg.Values.SliceBypass; v != 0 {
		return v
	}
	return SliceDefault
}

// initTask is __scx_init_task: the scheduler learns of all tasks, those of other classes too.
func (s *Sim) initTask(t *Task, fork bool) bool {
	t.mirror.Store(t, FieldDisallow, 0)
	ret := int32(s.call(nil, OpInitTask, t, InitArgs{Fork: fork, Cgroup: t.Cgroup}))
	if s.events.Err() != nil {
		return false
	}
	if ret != 0 {
		ret = s.errnoOf(OpInitTask, ret)
		if fork { // fork(2) fails
			t.state = dead
			return false
		}
		s.errorf("ops.init_task() failed (%d) for %s[%d]", ret, t.Spec.Name, t.PID())
		return false
	}
	t.inited = true
	if t.mirror.Load(t, FieldDisallow) != 0 {
		if fork {
			s.errorf("ops.init_task() set task->scx.disallow for %s[%d] during fork", t.Spec.Name, t.PID())
		} else if s.cfg.Flags&SwitchPartial != 0 && t.Class == Ext {
			t.Class = Above // its policy is SCHED_NORMAL from now on
		}
	}
	return s.going()
}

// enable is __scx_enable_task.
func (s *Sim) enable(t *Task) {
	c := s.cpus[t.CPU]
	t.enabled = true
	t.mirror.Store(t, FieldWeight, uint64(t.Weight))
	s.call(c, OpEnable, t)
	s.call(c, OpSetWeight, t, t.Weight)
}

// exitTask is scx_disable_and_exit_task: the scheduler forgets a task.
func (s *Sim) exitTask(t *Task) {
	if !t.inited {
		return
	}
	c := s.cpus[t.CPU]
	t.clearDirect()
	if t.enabled {
		s.call(c, OpDisable, t)
		t.SetVtime(0)
		t.SetSlice(0)
	}
	s.call(c, OpExitTask, t, ExitArgs{})
	t.inited, t.enabled = false, false
}

// unload is scx_root_disable: it takes the tasks from the scheduler and tells it why.
func (s *Sim) unload() {
	for _, c := range s.cpus {
		s.account(c)
		if c.curr != nil {
			s.record(c, c.curr)
		}
	}
	if s.exit == nil {
		s.endWith(ExitUnreg, 0, "")
	}
	if s.events.Err() != nil {
		return
	}
	s.dump()
	s.bypass()
	s.exitCgroups()
	for _, t := range s.tasks {
		s.dequeueTask(t, 0, false)
		s.exitTask(t)
	}
	s.call(nil, OpExit, s.exit)
}

// timeout is the watchdog's limit in ticks, of which a part counts as one (msecs_to_jiffies).
func (s *Sim) timeout() uint64 { return (uint64(s.cfg.Timeout) + s.tick - 1) / s.tick }

// watchInterval is how often the watchdog looks (refresh_watchdog).
func (s *Sim) watchInterval() uint64 { return max(s.timeout()/2, 1) * s.tick }

// watchdog is scx_watchdog_workfn: it looks for tasks that have waited too long for a CPU. Time
// counts in ticks.
func (s *Sim) watchdog() {
	s.events.After(s.watchInterval(), s.watchdog)
	for _, c := range s.cpus {
		for t := c.list.first; t != nil; t = c.list.after(t) {
			waited := s.Now()/s.tick - t.runnableAt/s.tick
			if waited > s.timeout() {
				ms := waited * s.tick / 1_000_000
				s.in = place{cpu: c.id}
				s.endWith(ExitErrorStall, 0, fmt.Sprintf("%s[%d] failed to run for %d.%03ds", t.Spec.Name, t.PID(), ms/1000, ms%1000))
				s.in = place{}
				return
			}
		}
	}
}
