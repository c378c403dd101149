package helpers

import (
	"github.com/bpfrun/bpfrun/internal/subsys/sched"
	"github.com/bpfrun/bpfrun/vm"
)

// schedTaskRows are the kfuncs about tasks and what CPUs run.
func schedTaskRows() []kfuncRow {
	return []kfuncRow{
		ofSched("scx_bpf_task_running", false, onTask("scx_bpf_task_running", func(_ *Call, s *Schedule, t *sched.Task) (uint64, *vm.Action) {
			return boolRet(s.Running(t)), nil
		}), argObject),
		ofSched("scx_bpf_task_cpu", false, onTask("scx_bpf_task_cpu", taskCPU), argObject),
		ofSched("scx_bpf_task_cid", false, onTask("scx_bpf_task_cid", func(_ *Call, s *Schedule, t *sched.Task) (uint64, *vm.Action) {
			return intRet(s.CPUToCid(t.CPU)), nil
		}), argObject),
		ofSched("scx_bpf_task_set_slice", false, onTask("scx_bpf_task_set_slice", taskSet((*sched.Task).SetSlice)), argObject, argAny),
		ofSched("scx_bpf_task_set_dsq_vtime", false, onTask("scx_bpf_task_set_dsq_vtime", taskSet((*sched.Task).SetVtime)), argObject, argAny),
		ofSched("scx_bpf_task_cgroup", true, onTask("scx_bpf_task_cgroup", taskCgroup), argObject),
		ofSched("scx_bpf_tid_to_task", true, tidToTask, argAny),
		ofSched("scx_bpf_cpu_curr", true, onCPU(0, cpuCurr), argAny),
		ofSched("scx_bpf_cid_curr", true, onCid(0, cpuCurr), argAny),
		ofSched("scx_bpf_cpu_rq", true, onCPU(0, (*Call).runQueue), argAny),
		ofSched("scx_bpf_locked_rq", true, lockedRq),
	}
}

func taskCPU(_ *Call, _ *Schedule, t *sched.Task) (uint64, *vm.Action) { return intRet(t.CPU), nil }

// taskSet changes a task that the scheduler knows, of whatever class.
func taskSet(set func(*sched.Task, uint64)) func(*Call, *Schedule, *sched.Task) (uint64, *vm.Action) {
	return func(c *Call, _ *Schedule, t *sched.Task) (uint64, *vm.Action) {
		if !t.Known() {
			return 0, nil
		}
		set(t, c.Args[1])
		return 1, nil
	}
}

func taskCgroup(c *Call, s *Schedule, t *sched.Task) (uint64, *vm.Action) {
	o := s.Cgroups[sched.Path(t.Cgroup)]
	if o == nil {
		return 0, notSimulated("scx_bpf_task_cgroup: the kernel's BTF has no cgroups")
	}
	return c.take(o, "cgroup")
}

// tidToTask finds a task by its tid, which is its number from 1 on, for schedulers that asked for
// it (SCX_OPS_TID_TO_TASK).
func tidToTask(c *Call, s *Schedule) (uint64, *vm.Action) {
	if s.Flags&sched.TidToTask == 0 {
		s.Denied("scx_bpf_tid_to_task() called without SCX_OPS_TID_TO_TASK")
		return 0, nil
	}
	tasks := s.Sim.Tasks()
	if n := c.Args[0]; n >= 1 && n <= uint64(len(tasks)) && tasks[n-1].Known() {
		return s.pointer(tasks[n-1]), nil
	}
	return 0, nil
}

// onCPU returns the task_struct that runs on a CPU, which is the idle task's if no other is.
func (s *Schedule) onCPU(cpu int) uint64 {
	if t := s.Current(cpu); t != nil {
		return s.pointer(t)
	}
	if s.Idle == nil {
		return 0
	}
	return s.Idle.Addr()
}

func cpuCurr(_ *Call, s *Schedule, cpu int) (uint64, *vm.Action) { return s.onCPU(cpu), nil }

func lockedRq(c *Call, s *Schedule) (uint64, *vm.Action) {
	cpu := s.Locked()
	if cpu < 0 {
		s.Denied("accessing rq without holding rq lock")
		return 0, nil
	}
	return c.runQueue(s, cpu)
}

// runQueue returns a CPU's struct rq, whose task is the one that runs.
func (c *Call) runQueue(s *Schedule, cpu int) (uint64, *vm.Action) {
	o := c.Kernel.PercpuObject("runqueues", cpu)
	if o == nil {
		return 0, notSimulated("struct rq: the kernel's BTF has no variable runqueues")
	}
	for field, v := range map[string]uint64{"curr": s.onCPU(cpu), "cpu": uint64(cpu)} {
		if !o.Has(field) {
			continue
		}
		if err := o.SetUint(field, v); err != nil {
			return 0, notSimulated("struct rq: " + err.Error())
		}
	}
	return o.Addr(), nil
}
