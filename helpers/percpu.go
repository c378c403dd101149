package helpers

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/mem"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var percpuHelpers = []row{
	{ID: uapi.FuncPerCpuPtr, Do: perCPUPtr},
	{ID: uapi.FuncThisCpuPtr, Do: thisCPUPtr},
}

// perCPUPtr returns NULL for a CPU the machine does not have (bpf_per_cpu_ptr).
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

func (e *Env) percpu(base uint64, cpu int) (uint64, *vm.Action) {
	if r := e.Mem.Find(base); r != nil && r.Kind == mem.LocalObject && r.Base == base && r.Count > 0 {
		return base + uint64(cpu)*r.Stride, nil
	}
	addr, ok := e.Kernel.PercpuAddr(base, cpu)
	if !ok && e.Kernel.ObjectAt(base) != nil {
		// A per-CPU pointer in a kernel object: one object stands for those of all CPUs.
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

// percpuObjNew allocates a zeroed object for each CPU: an array, of which programs reach the elements with bpf_per_cpu_ptr.
func percpuObjNew(c *Call) (uint64, *vm.Action) {
	if c.Local == nil {
		return 0, notSimulated("bpf_percpu_obj_new without the object's BTF")
	}
	id := btf.ID(uint32(c.Args[0]))
	size, err := c.Local.Sizeof(id)
	if err != nil || size <= 0 || uint64(size) > maxBuffer {
		return 0, badArg("bpf_percpu_obj_new of type %d: no struct of the object", id)
	}
	r, err := c.Mem.AllocArray(uint64(c.Kernel.CPUs()), uint64(size), 0, mem.Region{Kind: mem.LocalObject, Name: "per-CPU " + c.Local.Name(id)})
	if err != nil {
		return 0, nil // out of memory: NULL
	}
	c.Run.hold(r.Base, "object")
	return r.Base, nil
}
