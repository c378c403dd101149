package kernel

import (
	"github.com/bpfrun/bpfrun/kernel/hook"
	"github.com/bpfrun/bpfrun/uapi"
)

// Parked is what the kernel knows of a run on one CPU while programs on other CPUs run: the event it is about and what it may do.
type Parked struct {
	cpu      int
	event    hook.Underway
	prog     uapi.ProgType
	forbids  bool
	observer func(*Access)
}

// Park takes the run under way off the kernel, so that one on another CPU can begin or continue.
func (k *Kernel) Park() Parked {
	p := Parked{k.CPU(), k.Hooks.Park(), k.ProgType(), k.LoadsForbidden(), k.Sink()}
	k.AllowLoads()
	k.SetSink(nil)
	return p
}

// Unpark continues with a run that Park took off.
func (k *Kernel) Unpark(p Parked) {
	_ = k.SetCPU(p.cpu) // there was a run on it
	k.Hooks.Unpark(p.event)
	k.SetProgType(p.prog)
	k.AllowLoads()
	if p.forbids {
		k.ForbidLoads()
	}
	k.SetSink(p.observer)
}
