package debug

import (
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/machine"
	"github.com/bpfrun/bpfrun/packet"
)

// subject is what a session debugs. All rooms share it; only [Session.SwitchKernel] replaces its contents.
type subject struct {
	linked *loader.Linked
	m      *machine.Machine
}

// activity is what values take from the run. The timeline implements it.
type activity interface {
	// idle reports whether no program was started.
	idle() bool
	// packetNow returns the packet of the run and where it lies; ok is false without one.
	packetNow() (addr uint64, data []byte, ok bool)
	// packetStart returns what packets of the running program begin with.
	packetStart() packet.Start
	// sent returns the records of a ring or perf buffer in a run that has ended; ok is false before.
	sent(def *loader.Map) (records [][]byte, ok bool)
}

// nameScope finds what names in expressions mean. The frames implement it.
type nameScope interface {
	evalName(name string) (*Value, error)
	evalReg(name string) (*Value, error)
	setPC(v *Value) (*Value, error)
}
