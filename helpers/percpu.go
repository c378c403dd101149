package helpers

import (
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var percpuHelpers = []Helper{
	{ID: uapi.FuncPerCpuPtr, Topic: "cpu", Args: []Arg{ArgObject, ArgAny}, Fn: perCPUPtr},
	{ID: uapi.FuncThisCpuPtr, Topic: "cpu", Args: []Arg{ArgObject}, Fn: thisCPUPtr},
}

// perCPUPtr returns NULL for a CPU the machine does not have (bpf_per_cpu_ptr).
func perCPUPtr(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	cpu := uint32(a[1])
	if uint64(cpu) >= uint64(e.Kernel.CPUs()) {
		return 0, nil
	}
	return e.percpu(a[0], int(cpu))
}

func thisCPUPtr(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	return envOf(t).percpu(a[0], t.CPU)
}

func (e *Env) percpu(base uint64, cpu int) (uint64, *vm.Action) {
	addr, ok := e.Kernel.PercpuAddr(base, cpu)
	if !ok {
		return 0, badArg("%#x is not the address of a per-CPU variable", base)
	}
	return addr, nil
}
