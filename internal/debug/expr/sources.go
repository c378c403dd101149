package expr

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/packet"
	"github.com/bpfrun/bpfrun/loader"
)

// ground is shared by all components: the machine and its object.
type ground struct {
	linked *loader.Linked
	m      *machine.Machine
}

// Activity is what values need from the run. The timeline implements it.
type Activity interface {
	// Idle reports whether no program has been started.
	Idle() bool
	// PacketNow returns the packet of the run and its address; ok is false if there is none.
	PacketNow() (addr uint64, data []byte, ok bool)
	// PacketStart returns the kind of header that packets of the running program begin with.
	PacketStart() packet.Start
	// Sent returns the records of a ring or perf buffer in a run that has ended; ok is false before
	// the end.
	Sent(def *loader.Map) (records [][]byte, ok bool)
}

// Scope resolves names in expressions. Frames implement it.
type Scope interface {
	EvalName(name string) (*Value, error)
	EvalReg(name string) (*Value, error)
	SetPC(v *Value) (*Value, error)
}

// CodeNames names text addresses.
type CodeNames interface {
	// NameOf names the instruction at a text address, or returns "" for other addresses.
	NameOf(addr uint64) string
}

// NewEvaluator creates an evaluator and its components, without a machine.
func NewEvaluator() *Evaluator {
	g := &ground{}
	t, m := &Types{ground: g}, &Memory{ground: g}
	v := &Values{ground: g, Types: t, Memory: m}
	return &Evaluator{ground: g, Printer: &Printer{ground: g, Values: v}}
}

// Use makes the evaluator work on a machine. dwarf holds the types of the object's DWARF, nil
// without.
func (ev *Evaluator) Use(m *machine.Machine, dwarf *btf.Spec) error {
	basic, err := newBasicTypes(m.Memory().ByteOrder(), m.Memory().PointerSize())
	if err != nil {
		return err
	}
	ev.m, ev.linked, ev.Basic, ev.fromDWARF, ev.clean = m, m.Linked(), basic, dwarf, nil
	return nil
}
