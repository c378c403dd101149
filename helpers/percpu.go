package helpers

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/mem"
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

var percpuKfuncs = []Kfunc{
	{Name: "bpf_percpu_obj_new_impl", Wide: true, Topic: "objects", Args: []Arg{ArgAny, ArgAny}, Fn: percpuObjNew},
	{Name: "bpf_percpu_obj_drop_impl", Topic: "objects", Args: []Arg{ArgObject, ArgAny}, Fn: objDrop},
}

// percpuObjNew allocates a zeroed object for each CPU: an array, of which programs reach the elements with bpf_per_cpu_ptr.
func percpuObjNew(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	if e.Local == nil {
		return 0, notSimulated("bpf_percpu_obj_new without the object's BTF")
	}
	id := btf.ID(uint32(a[0]))
	size, err := e.Local.Sizeof(id)
	if err != nil || size <= 0 || uint64(size) > maxBuffer {
		return 0, badArg("bpf_percpu_obj_new of type %d: no struct of the object", id)
	}
	r, err := e.Mem.AllocArray(uint64(e.Kernel.CPUs()), uint64(size), 0, mem.Region{Kind: mem.LocalObject, Name: "per-CPU " + e.Local.Name(id)})
	if err != nil {
		return 0, nil // out of memory: NULL
	}
	e.Run.hold(r.Base, "object")
	return r.Base, nil
}
