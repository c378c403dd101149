package helpers

import (
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var percpuHelpers = []row{
	{ID: uapi.FuncPerCpuPtr, Do: perCPUPtr},
	{ID: uapi.FuncThisCpuPtr, Do: thisCPUPtr},
}

// perCPUPtr returns NULL for a CPU that the machine lacks (bpf_per_cpu_ptr).
func perCPUPtr(c *Call) (uint64, *vm.Action) {
	cpu := uint32(c.Args[1])
	if uint64(cpu) >= uint64(c.Kernel.CPUs()) {
		return 0, nil
	}
	return c.percpu(c.Args[0], int(cpu))
}

func thisCPUPtr(c *Call) (uint64, *vm.Action) {
	return c.percpu(c.Args[0], c.Thread.CPU)
}

func (c *Call) percpu(base uint64, cpu int) (uint64, *vm.Action) {
	if addr, ok := c.heap.Percpu(base, cpu); ok {
		return addr, nil
	}
	addr, ok := c.Kernel.PercpuAddr(base, cpu)
	if !ok && c.Kernel.ObjectAt(base) != nil {
		// A per-CPU pointer in a kernel object: one object represents those of all CPUs.
		return base, nil
	}
	if !ok {
		return 0, badArg("%#x is not the address of a per-CPU variable", base)
	}
	return addr, nil
}

var percpuKfuncs = []kfuncRow{
	{Name: "bpf_percpu_obj_new", Wide: true, Args: []proto.Arg{argAny}, Do: percpuObjNew},
	{Name: "bpf_percpu_obj_drop", Args: []proto.Arg{argObject}, Do: objDrop},
	{Name: "bpf_percpu_obj_new_impl", Wide: true, Args: []proto.Arg{argAny, argAny}, Do: percpuObjNew},
	{Name: "bpf_percpu_obj_drop_impl", Args: []proto.Arg{argObject, argAny}, Do: objDrop},
}

// percpuObjNew allocates a zeroed object for each CPU: an array, whose elements programs access
// with bpf_per_cpu_ptr.
func percpuObjNew(c *Call) (uint64, *vm.Action) {
	return c.newObject("bpf_percpu_obj_new", func(size uint64, name string) uint64 { return c.heap.AllocPercpu(c.Kernel.CPUs(), size, name) })
}
