package kernel

import (
	"github.com/bpfrun/bpfrun/internal/kernel/clock"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Parked is the kernel's state of a run on one CPU while another CPU executes: its event, and what
// it may do.
type Parked struct {
	cpu      int
	event    hook.Underway
	prog     uapi.ProgType
	forbids  bool
	observer func(*object.Access)
}

// Park removes the active run from the kernel, so that one on another CPU can begin or continue.
func (k *Kernel) Park() Parked {
	p := Parked{k.CPU(), k.Hooks.Park(), k.ProgType(), k.LoadsForbidden(), k.Sink()}
	k.AllowLoads()
	k.SetSink(nil)
	return p
}

// Unpark continues a run that Park removed.
func (k *Kernel) Unpark(p Parked) {
	_ = k.SetCPU(p.cpu) // cannot fail: a run was on this CPU
	k.Hooks.Unpark(p.event)
	k.SetProgType(p.prog)
	k.AllowLoads()
	if p.forbids {
		k.ForbidLoads()
	}
	k.SetSink(p.observer)
}

// Stream is what a run reads of things that go on by themselves: time and random numbers.
type Stream struct {
	clock clock.Clock
	rand  random
}

// Stream returns the time and the state of the generator of random numbers.
func (k *Kernel) Stream() Stream { return Stream{*k.clock, k.rand} }

// SetStream continues with time and random numbers that Stream returned: runs whose order must not
// change what they read have one each.
func (k *Kernel) SetStream(s Stream) { *k.clock, k.rand = s.clock, s.rand }

// Later returns the stream with its time ns nanoseconds later.
func (s Stream) Later(ns uint64) Stream {
	s.clock.Advance(ns)
	return s
}
