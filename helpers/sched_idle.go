package helpers

import (
	"github.com/bpfrun/bpfrun/helpers/held"
	"github.com/bpfrun/bpfrun/internal/cpuset"
	"github.com/bpfrun/bpfrun/internal/subsys/sched"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// schedIdleRows are the kfuncs about idle CPUs and kicks.
func schedIdleRows() []kfuncRow {
	rows := []kfuncRow{
		ofSched("scx_bpf_select_cpu_dfl", false, onTask("scx_bpf_select_cpu_dfl", selectCPUDfl), argObject, argAny, argAny, argPtr),
		ofSched("scx_bpf_select_cpu_and", false, onTask("scx_bpf_select_cpu_and", selectCPUAnd), argObject, argAny, argAny, argObject, argAny),
		ofSched("__scx_bpf_select_cpu_and", false, onTask("__scx_bpf_select_cpu_and", selectCPUArgs), argObject, argObject, argPtr),
		ofSched("scx_bpf_get_idle_cpumask", true, idleMask(false, false)),
		ofSched("scx_bpf_get_idle_smtmask", true, idleMask(true, false)),
		ofSched("scx_bpf_get_idle_cpumask_node", true, idleMask(false, true), argAny),
		ofSched("scx_bpf_get_idle_smtmask_node", true, idleMask(true, true), argAny),
		ofSched("scx_bpf_get_possible_cpumask", true, allMask),
		ofSched("scx_bpf_get_online_cpumask", true, allMask),
		ofSched("scx_bpf_put_cpumask", false, putMask, argObject),
		ofSched("scx_bpf_put_idle_cpumask", false, putMask, argObject),
		ofSched("scx_bpf_test_and_clear_cpu_idle", false, testAndClearIdle, argAny),
		ofSched("scx_bpf_pick_idle_cpu", false, pickIdle, argObject, argAny),
		ofSched("scx_bpf_pick_any_cpu", false, pickAny, argObject, argAny),
		ofSched("scx_bpf_pick_idle_cpu_node", false, pickNode((*sched.Sim).PickIdle), argObject, argAny, argAny),
		ofSched("scx_bpf_pick_any_cpu_node", false, pickNode((*sched.Sim).PickAny), argObject, argAny, argAny),
	}
	kick := func(c *Call, s *Schedule, cpu int) (uint64, *vm.Action) {
		s.Kick(cpu, c.Args[1])
		return 0, nil
	}
	return append(rows,
		ofSched("scx_bpf_kick_cpu", false, onCPU(0, kick), argAny, argAny),
		ofSched("scx_bpf_kick_cid", false, onCid(0, kick), argAny, argAny),
	)
}

// selectCPUDfl returns an idle CPU, or the previous one, and says which it is.
func selectCPUDfl(c *Call, s *Schedule, t *sched.Task) (uint64, *vm.Action) {
	prev := cpuArg(c.Args[1])
	cpu := s.SelectDefault(t, prev, c.Args[2], cpuset.Below(cpuset.Most), 0)
	f := c.guest.Write(c.Args[3], []byte{byte(boolRet(cpu >= 0))})
	if cpu < 0 {
		cpu = prev
	}
	return intRet(cpu), f
}

func selectCPUAnd(c *Call, s *Schedule, t *sched.Task) (uint64, *vm.Action) {
	m, f := c.maskAt(c.Args[3])
	if f != nil {
		return 0, f
	}
	return intRet(s.SelectDefault(t, cpuArg(c.Args[1]), c.Args[2], m.v, c.Args[4])), nil
}

// selectCPUArgs reads a struct scx_bpf_select_cpu_and_args.
func selectCPUArgs(c *Call, s *Schedule, t *sched.Task) (uint64, *vm.Action) {
	m, f := c.maskAt(c.Args[1])
	if f != nil {
		return 0, f
	}
	a := c.guest.At(c.Args[2])
	prev, wake, flags := a.U32(0), a.U64(8), a.U64(16)
	if a.Fault != nil {
		return 0, a.Fault
	}
	return intRet(s.SelectDefault(t, int(int32(prev)), wake, m.v, flags)), nil
}

// mask returns a kernel's cpumask with the given CPUs, as a reference. There is one for each name.
func (c *Call) mask(name string, cpus sched.Mask) (uint64, *vm.Action) {
	o := c.Kernel.Named(name, "cpumask")
	if o == nil {
		return 0, notSimulated("a cpumask: the kernel's BTF has no such type")
	}
	if err := o.SetCPUSet("bits", cpus); err != nil {
		return 0, notSimulated("a cpumask: " + err.Error())
	}
	return c.take(o, "cpumask")
}

// idleMask returns the idle CPUs as they are now. With idle CPUs tracked by node, one must be
// named.
func idleMask(cores, byNode bool) schedImpl {
	return func(c *Call, s *Schedule) (uint64, *vm.Action) {
		node, name := -1, "scx_idle_cpumask"
		if cores {
			name = "scx_idle_smtmask"
		}
		switch {
		case byNode:
			node = cpuArg(c.Args[0])
			if s.ValidNode(node) != 0 || !s.IdleEnabled() {
				return c.mask("cpu_none_mask", sched.Mask{})
			}
			name += "_node"
		case s.PerNode():
			s.Denied("SCX_OPS_BUILTIN_IDLE_PER_NODE enabled")
			return c.mask("cpu_none_mask", sched.Mask{})
		case !s.IdleEnabled():
			return c.mask("cpu_none_mask", sched.Mask{})
		}
		cpus, smt := s.IdleCPUs(node)
		if cores {
			cpus = smt
		}
		return c.mask(name, cpus)
	}
}

func allMask(c *Call, s *Schedule) (uint64, *vm.Action) {
	return c.mask("cpu_possible_mask", c.allCPUs())
}

func putMask(c *Call, _ *Schedule) (uint64, *vm.Action) {
	return 0, c.give("scx_bpf_put_cpumask", held.Reference, c.Args[0])
}

func testAndClearIdle(c *Call, s *Schedule) (uint64, *vm.Action) {
	cpu := cpuArg(c.Args[0])
	return boolRet(s.IdleEnabled() && s.ValidCPU(cpu) && s.TakeIdle(cpu)), nil
}

// pickIdle may not be used with idle CPUs tracked by node, nor where the scheduler tracks them
// itself.
func pickIdle(c *Call, s *Schedule) (uint64, *vm.Action) {
	m, f := c.maskAt(c.Args[0])
	switch {
	case f != nil:
		return 0, f
	case s.PerNode():
		s.Denied("per-node idle tracking is enabled")
		return errnoRet(uapi.EBUSY), nil
	case !s.IdleEnabled():
		return errnoRet(uapi.EBUSY), nil
	}
	return intRet(s.PickIdle(m.v, -1, c.Args[1])), nil
}

func pickAny(c *Call, s *Schedule) (uint64, *vm.Action) {
	m, f := c.maskAt(c.Args[0])
	switch {
	case f != nil:
		return 0, f
	case s.PerNode():
		s.Denied("per-node idle tracking is enabled")
		return errnoRet(uapi.EBUSY), nil
	}
	return intRet(s.PickAny(m.v, -1, c.Args[1])), nil
}

func pickNode(pick func(*sched.Sim, sched.Mask, int, uint64) int) schedImpl {
	return func(c *Call, s *Schedule) (uint64, *vm.Action) {
		m, f := c.maskAt(c.Args[0])
		node := cpuArg(c.Args[1])
		if f != nil {
			return 0, f
		}
		if errno := s.ValidNode(node); errno != 0 {
			return errnoRet(errno), nil
		}
		return intRet(pick(s.Sim, m.v, node, c.Args[2])), nil
	}
}
