package debug

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/machine"
	"github.com/bpfrun/bpfrun/packet"
)

// ground is what all rooms read: the machine and the object on it.
type ground struct {
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

// codeNames names text addresses.
type codeNames interface {
	// nameOf names the instruction at a text address, "" for other addresses.
	nameOf(addr uint64) string
}

// newEvaluator makes an evaluator, and the rooms that it uses, without a machine.
func newEvaluator() *evaluator {
	g := &ground{}
	t, m := &types{ground: g}, &memory{ground: g}
	v := &values{ground: g, types: t, memory: m}
	return &evaluator{ground: g, printer: &printer{ground: g, values: v}}
}

// use makes a machine the one that is looked at. dwarf are the types of the object's DWARF, nil without.
func (ev *evaluator) use(m *machine.Machine, dwarf *btf.Spec) error {
	basic, err := newBasicTypes(m.Memory().ByteOrder(), m.Memory().PointerSize())
	if err != nil {
		return err
	}
	ev.m, ev.linked, ev.basic, ev.fromDWARF, ev.clean = m, m.Linked(), basic, dwarf, nil
	return nil
}
