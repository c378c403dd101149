package helpers

import (
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/subsys/sched"
	"github.com/bpfrun/bpfrun/vm"
)

// Schedule is the simulation whose scheduler the machine's programs are, with the kernel objects of
// its tasks and cgroups.
type Schedule struct {
	*sched.Sim
	Objects map[*sched.Task]*object.Object
	Tasks   map[uint64]*sched.Task // by address
	Cgroups map[string]*object.Object
	Idle    *object.Object // the task of idle CPUs
	// Flags are those of the scheduler.
	Flags sched.OpsFlags

	cursors map[uint64]*sched.Cursor // by the address of the iterator
}

// task returns the task of a task_struct; nil for one that the schedule does not have.
func (s *Schedule) task(addr uint64) *sched.Task { return s.Tasks[addr] }

// pointer returns the address of a task's task_struct, 0 for none.
func (s *Schedule) pointer(t *sched.Task) uint64 {
	if o := s.Objects[t]; o != nil {
		return o.Addr()
	}
	return 0
}

// schedImpl is a kfunc of sched_ext.
type schedImpl func(c *Call, s *Schedule) (uint64, *vm.Action)

// ofSched makes a kfunc of sched_ext a row. It works only while a schedule runs. Operations that
// may not call it end the scheduler, as kernels before 7.2 do; the verifier of later ones refuses
// such programs (scx_kf_allowed, scx_kfunc_context_filter).
func ofSched(name string, wide bool, do schedImpl, args ...proto.Arg) kfuncRow {
	p, _ := proto.LookupKfunc(name)
	return kfuncRow{Name: name, Wide: wide, Args: args, Note: "in a schedule", Do: func(c *Call) (uint64, *vm.Action) {
		s, ok := c.Simulation.(*Schedule)
		if !ok {
			return 0, notSimulated(name + " outside of a schedule (a scenario with sched: runs one)")
		}
		if op := s.Op(); op != "" && !p.FromOp(string(op)) {
			s.Denied(name + " called from ops." + string(op) + "(), which may not call it")
			return 0, nil
		}
		return do(c, s)
	}}
}

// onTask turns functions of the task in the first argument into implementations.
func onTask(name string, do func(*Call, *Schedule, *sched.Task) (uint64, *vm.Action)) schedImpl {
	return func(c *Call, s *Schedule) (uint64, *vm.Action) {
		t := s.task(c.Args[0])
		if t == nil {
			return 0, badArg("%s of %#x, which is no task of the schedule", name, c.Args[0])
		}
		return do(c, s, t)
	}
}

// cpuArg is a CPU as the kernel reads it, an int.
func cpuArg(v uint64) int { return int(int32(uint32(v))) }

// intRet is an int as a result.
func intRet(v int) uint64 { return uint64(uint32(int32(v))) }

func schedKfuncs() (rows []kfuncRow) {
	for _, topic := range [][]kfuncRow{schedQueueRows(), schedIdleRows(), schedTaskRows(), schedTopologyRows(), schedExitRows()} {
		rows = append(rows, topic...)
	}
	return rows
}
