package invariant

import (
	"github.com/bpfrun/bpfrun/internal/debug/expr"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/packet"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/loader"
)

// activity is the run as expressions see it.
type activity struct{ c *Checker }

func (a activity) Idle() bool { return a.c.run.Context == nil }

func (a activity) PacketNow() (addr uint64, data []byte, ok bool) {
	ctx := a.c.run.Context
	if ctx == nil || ctx.Packet == nil {
		return 0, nil, false
	}
	return ctx.Packet.Data(), ctx.Packet.Bytes(), true
}

func (a activity) PacketStart() packet.Start {
	if progtype.Of(a.c.run.Program.Type).Layer == progtype.Network {
		return packet.Network
	}
	return packet.Ethernet
}

// Sent reports that buffers still have the records: the run is not finished.
func (a activity) Sent(*loader.Map) ([][]byte, bool) { return nil, false }

// codeNames names no instructions.
type codeNames struct{}

func (codeNames) NameOf(uint64) string { return "" }

// scope resolves the names of invariants.
type scope struct{ c *Checker }

// EvalName resolves a global variable, a map, pkt, ctx, current, an argument of the hook, an
// enumerator or a verdict.
func (s scope) EvalName(name string) (*expr.Value, error) {
	ev, run := s.c.ev, s.c.run
	if v, ok, err := ev.Global(name); ok {
		return v, err
	}
	for _, def := range s.c.m.Linked().Maps {
		if def.Name == name {
			return ev.MapValue(def)
		}
	}
	switch {
	case name == "pkt":
		return ev.Packet()
	case name == "ctx" && run.Context != nil:
		return ev.ContextOf(run.Program, run.Context)
	case name == "current":
		if task := s.c.m.Kernel().Current(); task != nil {
			return ev.PointerTo(expr.Type{Spec: task.Spec(), ID: task.Type()}, task.Addr()), nil
		}
		return nil, &expr.UnavailableError{Name: name, Why: "the kernel's BTF has no task_struct"}
	}
	if run.Context != nil {
		for _, a := range run.Context.Args {
			if a.Name == name && name != "" {
				return ev.ArgOf(a)
			}
		}
	}
	if v, ok, err := ev.Constant(name); ok {
		return v, err
	}
	if run.Program != nil {
		if v, ok := progtype.ParseVerdict(run.Program.Type, name); ok {
			return ev.Number(uint64(int64(v)), true), nil
		}
	}
	return nil, &expr.UnknownError{What: "name", Name: name, In: "the object and the kernel", Nearest: expr.Near(name, s.names())}
}

func (s scope) names() []string {
	out := append([]string{"pkt", "ctx", "current"}, machine.VariableNames(s.c.m.Linked())...)
	for _, m := range s.c.m.Linked().Maps {
		if m.DataKind == loader.DataNone {
			out = append(out, m.Name)
		}
	}
	if ctx := s.c.run.Context; ctx != nil {
		for _, a := range ctx.Args {
			out = append(out, a.Name)
		}
	}
	return out
}

// EvalReg resolves $retval, the low 32 bits of the return value as a signed number, and $events.
func (s scope) EvalReg(name string) (*expr.Value, error) {
	switch name {
	case "$retval":
		return s.c.ev.Number(uint64(int64(int32(uint32(s.c.run.Ret)))), true), nil
	case "$events":
		return s.c.ev.Number(s.c.run.Events, true), nil
	}
	return nil, &expr.UnknownError{What: "value", Name: name, In: "invariants, which have $retval and $events", Nearest: expr.Near(name, []string{"$retval", "$events"})}
}

// SetPC refuses: invariants change nothing.
func (s scope) SetPC(*expr.Value) (*expr.Value, error) {
	return nil, &expr.UnavailableError{Name: "$pc", Why: "an invariant changes nothing"}
}
