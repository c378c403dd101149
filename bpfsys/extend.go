package bpfsys

import (
	"maps"
	"slices"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/loader"
	machinemaps "github.com/bpfrun/bpfrun/maps"
	"github.com/bpfrun/bpfrun/uapi"
)

// replacement is a function of a program that an attached extension program replaces.
type replacement struct {
	fn   btf.ID
	link *Link
}

// functionOf returns a function of a program by its id in the program's BTF.
func (p *Prog) functionOf(id btf.ID) *loader.Func {
	if p.raw == nil || p.types == nil || id == 0 {
		return nil
	}
	i := slices.IndexFunc(p.raw.Funcs, func(f loader.Func) bool { return f.Type == id })
	if i < 0 {
		return nil
	}
	return &p.raw.Funcs[i]
}

// canExtend checks an extension program and the function that it shall replace (bpf_tracing_prog_attach, bpf_trampoline_link_prog).
func (s *System) canExtend(p, tgt *Prog, fn btf.ID, explicit bool) uapi.Errno {
	switch {
	case tgt == nil, !explicit && p.consumed: // a second attachment names its target
		return uapi.EINVAL
	case tgt.typ == uapi.ProgTypeExt, p.ext != nil && tgt.typ != p.ext.typ, tgt.functionOf(fn) == nil:
		return uapi.EINVAL
	case slices.ContainsFunc(tgt.replaced, func(r replacement) bool { return r.fn == fn }):
		return uapi.EBUSY
	}
	if s.release.Has(uapi.R(6, 12)) && s.inProgArray(tgt) {
		return uapi.EBUSY
	}
	return 0
}

func (s *System) inProgArray(p *Prog) bool {
	for _, o := range s.byID[KindMap] {
		if m := o.(*Map); m.def.Type == uapi.MapTypeProgArray {
			for _, x := range m.slots {
				if x == Object(p) {
					return true
				}
			}
		}
	}
	return false
}

// extend makes an attached extension run in place of the function.
func (s *System) extend(l *Link) {
	l.tgtProg.replaced = append(l.tgtProg.replaced, replacement{l.btfID, l})
	s.relink(l.tgtProg)
}

// restore undoes extend.
func (s *System) restore(l *Link) {
	n := len(l.tgtProg.replaced)
	l.tgtProg.replaced = slices.DeleteFunc(l.tgtProg.replaced, func(r replacement) bool { return r.link == l })
	if len(l.tgtProg.replaced) != n {
		s.relink(l.tgtProg)
	}
}

// relink puts a program with its replaced functions into the machine, in place of what is there.
func (s *System) relink(p *Prog) {
	s.machine.RemoveProgram(p.unique)
	if err := s.machine.AddProgram(p.extended().Link(s.target)); err != nil {
		s.note("program %s with its extensions: %v", p.name, err)
		return
	}
	if err := s.machine.ProgramError(p.unique); err != nil {
		s.note("program %s with its extensions cannot run: %v", p.name, err)
	}
	for _, o := range s.byID[KindMap] {
		m := o.(*Map)
		array, ok := m.m.(machinemaps.ProgArray)
		if !ok {
			continue
		}
		for key, x := range m.slots {
			if x == Object(p) {
				_ = s.machine.SetProg(array, le.Uint32([]byte(key)), p.unique)
			}
		}
	}
}

// extended returns the program's code with that of its extensions behind it; calls of replaced functions lead there. An extension of the program's first
// function is all that runs.
func (p *Prog) extended() *loader.Raw {
	out := *p.raw
	for _, r := range p.replaced {
		if f := p.functionOf(r.fn); f.Start == 0 {
			by := *r.link.prog.raw
			by.Name, by.Type, by.Attach, by.License, by.Flags = out.Name, out.Type, out.Attach, out.License, out.Flags
			by.Section, by.AttachTo, by.AttachID, by.AttachModule = out.Section, out.AttachTo, out.AttachID, out.AttachModule
			return &by
		}
	}
	out.Insns, out.Refs = slices.Clone(out.Insns), maps.Clone(out.Refs)
	out.Funcs, out.Lines, out.Maps = slices.Clone(out.Funcs), slices.Clone(out.Lines), slices.Clone(out.Maps)
	if out.Refs == nil {
		out.Refs = map[int]loader.Ref{}
	}
	own := len(p.raw.Insns)
	for _, r := range p.replaced {
		by, base := r.link.prog.raw, len(out.Insns)
		old := p.functionOf(r.fn).Start
		for i := range own {
			in := &out.Insns[i]
			switch in.Op() {
			case decode.OpCallLocal:
				if at, ok := p.raw.Insns[i].Target(i); ok && at == old {
					in.Imm = int32(base - i - 1)
				}
			case decode.OpLdFunc:
				if ref := out.Refs[i]; p.raw.Refs[i].Func == old {
					ref.Func, in.Imm = base, int32(base-i-1)
					out.Refs[i] = ref
				}
			}
		}
		out.Insns = append(out.Insns, by.Insns...)
		for i, ref := range by.Refs {
			if ref.Kind == loader.RefFunc {
				ref.Func += base
			}
			out.Refs[base+i] = ref
		}
		funcs := by.Funcs
		if len(funcs) == 0 {
			funcs = []loader.Func{{Name: by.Name, Len: len(by.Insns)}}
		}
		for _, f := range funcs {
			f.Start, f.Type = f.Start+base, 0 // its type is in the extension's BTF
			out.Funcs = append(out.Funcs, f)
		}
		for _, line := range by.Lines {
			line.InsnOff += 8 * uint32(base)
			out.Lines = append(out.Lines, line)
		}
		for _, m := range by.Maps {
			if !slices.Contains(out.Maps, m) {
				out.Maps = append(out.Maps, m)
			}
		}
	}
	return &out
}
