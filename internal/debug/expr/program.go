package expr

import (
	"fmt"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// Global returns a global variable of the object; false if it has none of that name.
func (vs *Values) Global(name string) (*Value, bool, error) {
	def, vr, ok := machine.Variable(vs.linked, name)
	if !ok {
		return nil, false, nil
	}
	base, err := vs.SectionBase(def)
	if err != nil {
		return nil, true, fmt.Errorf("%s: %w", name, err)
	}
	t := Type{Spec: vs.linked.Object.BTF, ID: vr.Type}
	if b, err := t.Spec.Type(vr.Type); err == nil && b.Kind == btf.KindVar {
		t.ID = b.Ref
	}
	v, err := vs.At(t, base+uint64(vr.Off))
	return v, true, err
}

// Constant returns the value of an enumerator, NULL, true or false.
func (vs *Values) Constant(name string) (*Value, bool, error) {
	for _, sp := range vs.Specs() {
		if id, v, ok := sp.FindEnumerator(name); ok {
			x, err := vs.Convert(vs.Number(v, true), Type{Spec: sp, ID: id})
			return x, true, err
		}
	}
	switch name {
	case "NULL", "false":
		return vs.Number(0, true), true, nil
	case "true":
		return vs.Number(1, true), true, nil
	}
	return nil, false, nil
}

// ContextOf returns the context of a program as a pointer: to the type that the program declares,
// else to the kernel's.
func (vs *Values) ContextOf(p *loader.LinkedProgram, c *hook.Context) (*Value, error) {
	if spec := vs.linked.Object.BTF; spec != nil {
		if fn, err := spec.Type(p.FuncType); err == nil && fn.Kind == btf.KindFunc {
			if list := spec.SkipMods(fn.Ref).Params; len(list) > 0 {
				return vs.Convert(vs.Number(c.Addr, false), Type{Spec: spec, ID: list[0].Type})
			}
		}
	}
	if t, err := vs.FindType("struct", c.Type); err == nil {
		return vs.PointerTo(t, c.Addr), nil
	}
	return vs.PointerTo(vs.Basic.Named("unsigned long long"), c.Addr), nil
}

// ArgOf returns an argument of a program's hook in the kernel's type for it.
func (vs *Values) ArgOf(a hook.Arg) (*Value, error) {
	if a.Spec == nil || a.Type == 0 {
		return vs.Number(a.Value, false), nil
	}
	return vs.Convert(vs.Number(a.Value, false), Type{Spec: a.Spec, ID: a.Type})
}
