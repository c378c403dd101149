package helpers

import (
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/kernel"
	"github.com/bpfrun/bpfrun/mem"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// The open-coded iterator over memory areas (kernel/bpf/task_iter.c). Its one word points to memory of the kernel: here the address the walk
// has come to, and the address space.
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
	var mm *kernel.Object
	if task := c.Kernel.ObjectAt(c.Args[1]); task != nil && task.TypeName() == "task_struct" {
		mm, _ = task.Pointee("mm")
	}
	if mm == nil { // a kernel thread
		return errnoRet(uapi.ENOENT), c.writeU64(it, 0)
	}
	r, err := c.Mem.Alloc(vmaSize, mem.Region{Kind: mem.KernelObject, Name: "bpf_iter_task_vma_kern_data"})
	if err != nil {
		return errnoRet(uapi.ENOMEM), c.writeU64(it, 0)
	}
	for _, w := range [...][2]uint64{{vmaFrom, from}, {vmaMM, mm.Addr()}} {
		if f := c.writeU64(r.Base+w[0], w[1]); f != nil {
			return 0, f
		}
	}
	return 0, c.writeU64(it, r.Base)
}

func iterVMANext(c *Call) (uint64, *vm.Action) {
	data, f := c.readU64(c.Args[0])
	if f != nil || data == 0 {
		return 0, f
	}
	from, f := c.readU64(data + vmaFrom)
	if f != nil {
		return 0, f
	}
	at, f := c.readU64(data + vmaMM)
	if f != nil {
		return 0, f
	}
	mm := c.Kernel.ObjectAt(at)
	if mm == nil {
		return 0, nil
	}
	for _, area := range c.Kernel.VMAs(mm) {
		if end := area.Num("vm_end"); end > from {
			return area.Addr(), c.writeU64(data+vmaFrom, end)
		}
	}
	return 0, nil
}

func iterVMADestroy(c *Call) (uint64, *vm.Action) {
	data, f := c.readU64(c.Args[0])
	if f != nil || data == 0 {
		return 0, f
	}
	c.Mem.Free(c.Mem.Find(data))
	return 0, c.writeU64(c.Args[0], 0)
}
