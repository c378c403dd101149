package helpers

import (
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// The open-coded iterator over memory areas (kernel/bpf/task_iter.c). Its only word points to
// kernel memory: here the current address, and the address space.
var vmaIterKfuncs = []kfuncRow{
	{Name: "bpf_iter_task_vma_new", Args: []proto.Arg{argIter, argObject, argAny}, Do: iterVMANew},
	{Name: "bpf_iter_task_vma_next", Wide: true, Args: []proto.Arg{argIter}, Do: iterVMANext},
	{Name: "bpf_iter_task_vma_destroy", Args: []proto.Arg{argIter}, Do: iterVMADestroy},
}

const (
	vmaFrom = 0
	vmaMM   = 8
	vmaSize = 16
)

func iterVMANew(c *Call) (uint64, *vm.Action) {
	it, from := c.Args[0], c.Args[2]
	var mm *object.Object
	if task := c.Kernel.ObjectAt(c.Args[1]); task != nil && task.TypeName() == "task_struct" {
		mm, _ = task.Pointee("mm")
	}
	if mm == nil { // a kernel thread
		return errnoRet(uapi.ENOENT), c.guest.WriteU64(it, 0)
	}
	r, err := c.Mem.Alloc(vmaSize, mem.Region{Kind: mem.KernelObject, Name: "bpf_iter_task_vma_kern_data"})
	if err != nil {
		return errnoRet(uapi.ENOMEM), c.guest.WriteU64(it, 0)
	}
	state := c.guest.At(r.Base)
	state.Set(vmaFrom, 8, from)
	state.Set(vmaMM, 8, mm.Addr())
	if state.Fault != nil {
		return 0, state.Fault
	}
	return 0, c.guest.WriteU64(it, r.Base)
}

func iterVMANext(c *Call) (uint64, *vm.Action) {
	data, f := c.guest.ReadU64(c.Args[0])
	if f != nil || data == 0 {
		return 0, f
	}
	state := c.guest.At(data)
	from := state.U64(vmaFrom)
	mm := c.Kernel.ObjectAt(state.U64(vmaMM))
	if mm == nil {
		return 0, state.Fault
	}
	for _, area := range c.Kernel.VMAs(mm) {
		if end := area.Num("vm_end"); end > from {
			state.Set(vmaFrom, 8, end)
			return area.Addr(), state.Fault
		}
	}
	return 0, nil
}

func iterVMADestroy(c *Call) (uint64, *vm.Action) {
	data, f := c.guest.ReadU64(c.Args[0])
	if f != nil || data == 0 {
		return 0, f
	}
	c.Mem.Free(c.Mem.Find(data))
	return 0, c.guest.WriteU64(c.Args[0], 0)
}
