package verifier

import (
	"fmt"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/loader"
)

// KernelOf describes the kernel of a target.
func KernelOf(t *loader.Target) *Kernel {
	v := since.Of(t.Version)
	k := &Kernel{Release: v.Release, Patch: v.Patch, Vendor: t.Vendor(), BTF: t.BTF, Arch: t.Arch, Kconfig: t.Kconfig, Kfuncs: t.Kfuncs}
	for _, m := range t.Modules {
		k.Modules = append(k.Modules, Module{Name: m.Name, BTF: m.BTF, Kfuncs: m.Kfuncs})
	}
	return k
}

// FromLinked creates the program that libbpf would pass to the kernel. It fails if the program was
// not linked.
func FromLinked(l *loader.Linked, lp *loader.LinkedProgram) (*Program, error) {
	if lp.Status == loader.StatusRefused && len(lp.Insns) == 0 {
		return nil, fmt.Errorf("%w: %w", ErrProgram, lp.Err)
	}
	p := &Program{
		Name: lp.Name, Type: lp.Type, Attach: lp.Attach, AttachTo: lp.AttachTo,
		AttachID: lp.AttachID, AttachModule: lp.AttachModule,
		License: l.Object.License, Flags: lp.Flags, Sleepable: lp.Sleepable,
		Insns: lp.Insns, BTF: passedBTF(l), ExceptionCallback: lp.ExceptionCallback,
		HasFrags: lp.Flags&(1<<5) != 0, Refs: map[int]Ref{},
	}
	if l.NoBTF != nil {
		p.ExceptionCallback = 0 // kernels find it by a tag in the program's types
	}
	conv := mapConverter{spec: p.BTF, done: map[*loader.Map]*Map{}}
	for pc, r := range lp.Refs {
		p.Refs[pc] = conv.ref(r)
	}
	linesAndFuncs(p, lp)
	if t := lp.AttachProg; t != nil {
		p.AttachProg = attachTarget(t)
	} else if progtype.Of(lp.Type).TargetOf(lp.Attach) == progtype.OtherProgram {
		p.assumeTargets(l, lp)
	}
	if so := lp.StructOps; so != nil {
		if m, err := structOpsMember(l, so); err != nil {
			return nil, err
		} else {
			p.StructOps = m
		}
	}
	return p, nil
}

// passedBTF is the BTF that the kernel gets with the object's maps and programs: none if the kernel
// refuses it.
func passedBTF(l *loader.Linked) *btf.Spec {
	if l.NoBTF != nil {
		return nil
	}
	return l.Object.BTF
}

// attachTarget describes a program for the verification of programs that attach to it.
func attachTarget(lp *loader.LinkedProgram) *Program {
	l := lp.Linked()
	p := &Program{
		Name: lp.Name, Type: lp.Type, Attach: lp.Attach, License: l.Object.License, Flags: lp.Flags, Sleepable: lp.Sleepable,
		Insns: lp.Insns, BTF: passedBTF(l), ExceptionCallback: lp.ExceptionCallback, Reliable: lp.Reliable, Untyped: lp.Untyped,
	}
	if t := lp.AttachProg; t != nil {
		p.AttachProg = &Program{Type: t.Type, Attach: t.Attach}
	}
	linesAndFuncs(p, lp)
	return p
}

func linesAndFuncs(p *Program, lp *loader.LinkedProgram) {
	for _, f := range lp.Funcs {
		if f.Type != 0 {
			p.Funcs = append(p.Funcs, FuncInfo{Insn: f.Start, Type: f.Type, Name: f.Name, Static: f.Function != nil && f.Function.Hidden && f.Function.IsSubprogram()})
		}
	}
	lp.EachLine(func(pc int, l btf.LineInfo) {
		p.Lines = append(p.Lines, Line{Insn: pc, File: l.File, Line: int(l.Line), Text: l.Text})
	})
}

// mapConverter keeps one Map for each map of the loader.
type mapConverter struct {
	spec *btf.Spec
	done map[*loader.Map]*Map
}

func (c *mapConverter) ref(r loader.Ref) Ref {
	out := Ref{Off: r.Off, Func: r.Func, Name: r.Name, TypeID: r.TypeID, Module: r.Module, Value: r.Addr}
	switch r.Kind {
	case loader.RefMap:
		out.Kind = RefMap
	case loader.RefMapValue, loader.RefInsnArray:
		out.Kind = RefMapValue
	case loader.RefFunc:
		out.Kind = RefFunc
	case loader.RefKsym:
		out.Kind, out.Missing = RefKsym, r.Weak && !r.Resolved
	case loader.RefKsymBTF:
		out.Kind, out.Missing = RefBTF, !r.Resolved
	case loader.RefKfunc:
		out.Kind, out.Missing = RefKfunc, !r.Resolved
	}
	out.Map = c.convert(r.Map)
	return out
}

func (c *mapConverter) convert(m *loader.Map) *Map {
	if m == nil {
		return nil
	}
	if d := c.done[m]; d != nil {
		return d
	}
	d := &Map{
		Name: m.Name, Type: m.Type, KeySize: m.KeySize, ValueSize: m.ValueSize, MaxEntries: m.MaxEntries, Flags: m.Flags,
		Extra: m.Extra, Slots: m.Slots,
	}
	c.done[m] = d
	if m.Frozen() {
		d.Frozen = m.Data
	}
	if c.spec != nil {
		d.KeyType, d.ValueType = m.KeyType, m.ValueType
		if m.Datasec != 0 {
			d.ValueType = m.Datasec
		}
		if d.KeyType != 0 || d.ValueType != 0 { // map_create keeps the BTF only then
			d.BTF = c.spec
		}
		d.Vars = c.vars(m)
	}
	d.Inner = c.convert(m.Inner).Template()
	return d
}

// vars finds the offsets of a data section's variables, because the DATASEC of an object file
// contains only names.
func (c *mapConverter) vars(m *loader.Map) []MapVar {
	if m.Datasec == 0 {
		return nil
	}
	byName := map[string]loader.Var{}
	for _, v := range m.Vars {
		byName[v.Name] = v
	}
	out := []MapVar{}
	for _, s := range c.spec.MustType(m.Datasec).Vars {
		if v, ok := byName[c.spec.MustType(s.Type).Name]; ok {
			out = append(out, MapVar{Type: s.Type, Off: v.Off, Size: v.Size})
		}
	}
	return out
}

func structOpsMember(l *loader.Linked, use *loader.StructOpsUse) (*StructOpsMember, error) {
	for _, s := range l.StructOps {
		if s.Map.Name != use.Map.Name {
			continue
		}
		if s.Absent {
			return nil, fmt.Errorf("%w: the kernel has no struct_ops type %s", ErrProgram, use.Map.StructOps.TypeName)
		}
		spec := l.Target.BTF
		for _, m := range l.Target.Modules {
			if m.Name == s.Module {
				spec = m.BTF
			}
		}
		t := spec.SkipMods(s.KernType)
		for i := range t.Members {
			if t.Members[i].Name == use.Member {
				return &StructOpsMember{Struct: t.Name, Member: use.Member, Type: s.KernType, Index: i, Module: s.Module}, nil
			}
		}
		return nil, fmt.Errorf("%w: struct %s has no member %s", ErrProgram, t.Name, use.Member)
	}
	return nil, fmt.Errorf("%w: no struct_ops map uses program %s", ErrProgram, use.Map.Name)
}
