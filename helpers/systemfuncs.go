package helpers

import (
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// Kfuncs that act on the system as a whole, and those of io_uring (io_uring/bpf-ops.c).
var systemKfuncs = []kfuncRow{
	{Name: "__bpf_trap", Do: trap, Note: "a fault: no kernel runs a program that can reach it"},
	{Name: "crash_kexec", Args: []proto.Arg{argPtr}, Do: nothing, Note: "no crash kernel is loaded: returns without crashing"},
	{Name: "bpf_io_uring_get_region", Wide: true, Args: []proto.Arg{argObject, argAny, argAny}, Do: onRingContext(ringRegion), Note: "the regions of the scenario's io_ring_ctx"},
	{Name: "bpf_io_uring_submit_sqes", Args: []proto.Arg{argObject, argAny}, Do: onRingContext(submitEntries),
		Note: "no request is executed: what it returns is the scenario's (`helpers:`), else refused when it is called"},
	{Name: "bpf_get_lowcore", Wide: true, Do: getLowcore, Note: "of s390: that of the CPU, with its task; of its other fields no more than their type is known"},
}

// getLowcore is bpf_get_lowcore of arch/s390/kernel/bpf.c.
func getLowcore(c *Call) (uint64, *vm.Action) {
	o, err := c.Kernel.Lowcore(c.Thread.CPU)
	if err != nil {
		return 0, notSimulated("bpf_get_lowcore: " + err.Error())
	}
	return o.Addr(), nil
}

// trap is what compilers put where a program reads a variable that was never set.
func trap(*Call) (uint64, *vm.Action) {
	return 0, badArg("unexpected __bpf_trap() due to uninitialized variable?")
}

// onRingContext turns functions of an io_uring's context, which programs know as iou_ctx, into
// implementations.
var onRingContext = on(0, (*Call).ringContextAt)

func (c *Call) ringContextAt(addr uint64) (*object.Object, *vm.Action) {
	o := c.Kernel.ObjectAt(addr)
	switch {
	case o != nil && o.Storage() != nil && o.Storage().Name == "io_ring_ctx" && o.Base() == addr:
		return o, nil
	case o != nil:
		return nil, notSimulated("io_uring: " + o.Role() + " is no io_ring_ctx; give the program one (objects: !io_ring_ctx)")
	}
	return nil, badArg("%#x is no context of an io_uring", addr)
}

// ringRegion returns the memory of a region if it has the size that the program wants.
func ringRegion(c *Call, ctx *object.Object) (uint64, *vm.Action) {
	regions := [...]string{"param_region", "ring_region", "sq_region"} // IOU_REGION_MEM, _CQ, _SQ
	id := uint32(c.Args[1])
	if int(id) >= len(regions) {
		return 0, nil
	}
	pages, err := ctx.Uint(regions[id] + ".nr_pages")
	if err != nil {
		return 0, notSimulated("bpf_io_uring_get_region: " + err.Error())
	}
	if c.Args[2] > uint64(uint32(pages))*uapi.PageSize {
		return 0, nil
	}
	at, err := ctx.Uint(regions[id] + ".ptr")
	if err != nil {
		return 0, notSimulated("bpf_io_uring_get_region: " + err.Error())
	}
	return at, nil
}

func submitEntries(*Call, *object.Object) (uint64, *vm.Action) {
	return 0, notSimulated("bpf_io_uring_submit_sqes executes requests of the outside world; a scenario can say what it returns (helpers: {bpf_io_uring_submit_sqes: N})")
}
