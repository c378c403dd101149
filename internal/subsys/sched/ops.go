package sched

import (
	"context"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Op is an operation of a scheduler: a member of struct sched_ext_ops.
type Op string

// Operations that the simulation calls.
const (
	OpSelectCPU  Op = "select_cpu"
	OpEnqueue    Op = "enqueue"
	OpDequeue    Op = "dequeue"
	OpDispatch   Op = "dispatch"
	OpTick       Op = "tick"
	OpRunnable   Op = "runnable"
	OpRunning    Op = "running"
	OpStopping   Op = "stopping"
	OpQuiescent  Op = "quiescent"
	OpYield      Op = "yield"
	OpSetWeight  Op = "set_weight"
	OpSetCpumask Op = "set_cpumask"
	OpUpdateIdle Op = "update_idle"
	OpCPUAcquire Op = "cpu_acquire"
	OpCPURelease Op = "cpu_release"
	OpInitTask   Op = "init_task"
	OpExitTask   Op = "exit_task"
	OpEnable     Op = "enable"
	OpDisable    Op = "disable"
	OpCgroupInit Op = "cgroup_init"
	OpCgroupExit Op = "cgroup_exit"
	OpCgroupPrep Op = "cgroup_prep_move"
	OpCgroupMove Op = "cgroup_move"

	OpCgroupWeight    Op = "cgroup_set_weight"
	OpCgroupIdle      Op = "cgroup_set_idle"
	OpCgroupBandwidth Op = "cgroup_set_bandwidth"

	// No schedule has a scheduler below another one, so that nothing calls these.
	OpSubAttach Op = "sub_attach"
	OpSubDetach Op = "sub_detach"

	OpInit Op = "init"
	OpExit Op = "exit"
)

// Arguments of operations that are structs. Others are a *Task, which may be nil, a CPU, flags, a
// weight or a truth value, a Mask, or a [Cgroup].
type (
	// InitArgs is struct scx_init_task_args.
	InitArgs struct {
		Fork   bool
		Cgroup string
	}
	// ExitArgs is struct scx_exit_task_args.
	ExitArgs struct{ Cancelled bool }
	// CgroupArgs is struct scx_cgroup_init_args.
	CgroupArgs struct{ Weight uint32 }
	// ReleaseArgs is struct scx_cpu_release_args.
	ReleaseArgs struct{ Task *Task }
	// Cgroup is the path of a cgroup.
	Cgroup string
)

// Ops is the scheduler: it runs programs.
type Ops interface {
	Mirror
	// Has reports whether the scheduler implements an operation.
	Has(Op) bool
	// Call runs an operation on a CPU. An error ends the simulation.
	Call(cpu int, op Op, args []any) (int64, error)
	// Pass lets time pass until a point of simulated time, or until something of the machine's own
	// is due, such as a timer, whose callback it runs. It returns the time that is reached.
	Pass(ctx context.Context, now, until uint64) (uint64, error)
}

// A Preparer is a scheduler for which the kernel prepares something between init and the tasks. An
// errno ends the scheduler.
type Preparer interface{ Prepare() uapi.Errno }

// place is where an operation runs.
type place struct {
	op  Op
	cpu int
	rq  *rq // whose lock is held; nil for none
}

// call runs an operation for a CPU's run queue, on that CPU unless a waker runs it.
func (s *Sim) call(c *rq, op Op, args ...any) int64 {
	cpu := s.waker
	if cpu < 0 {
		cpu = 0
		if c != nil {
			cpu = c.id
		}
	}
	return s.callOn(cpu, c, op, args...)
}

func (s *Sim) callOn(cpu int, c *rq, op Op, args ...any) int64 {
	if s.events.Err() != nil || !s.ops.Has(op) {
		return 0
	}
	if s.running {
		s.late = append(s.late, func() { s.callOn(cpu, c, op, args...) })
		return 0
	}
	outer := s.in
	s.in, s.running = place{op, cpu, c}, true
	ret, err := s.ops.Call(cpu, op, args)
	s.in, s.running = outer, false
	s.events.Fail(err)
	s.result.Calls[op]++
	s.catchUp()
	return ret
}

// pass lets time pass until a point of simulated time, or until the machine did something of its
// own.
func (s *Sim) pass(ctx context.Context, now, until uint64) (uint64, error) {
	s.running = true
	reached, err := s.ops.Pass(ctx, now, until)
	s.running = false
	if err != nil {
		return now, err
	}
	s.events.Reach(reached)
	s.catchUp()
	return reached, nil
}

// catchUp does what had to wait until the running program returned: programs do not nest. The
// kernel calls an operation that a function of a program causes, such as dequeue in
// scx_bpf_dsq_move_to_local, before the function returns.
func (s *Sim) catchUp() {
	list := s.late
	s.late = nil
	for _, do := range list {
		do()
	}
}
