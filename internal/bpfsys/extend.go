package bpfsys

import (
	"errors"
	"slices"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/loader"
)

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

// canExtend checks an extension program and the function that it shall replace
// (bpf_tracing_prog_attach, bpf_trampoline_link_prog).
func (s *System) canExtend(p, tgt *Prog, fn btf.ID, explicit bool) uapi.Errno {
	switch {
	case tgt == nil, !explicit && p.consumed: // a second attachment names its target
		return uapi.EINVAL
	case tgt.typ == uapi.ProgTypeExt, p.ext != nil && (tgt.typ != p.ext.typ || tgt.expected != p.ext.expected), tgt.functionOf(fn) == nil:
		return uapi.EINVAL
	}
	if s.has(since.ExtendInProgArray) && s.inProgArray(tgt) {
		return uapi.EBUSY
	}
	return 0
}

func (s *System) inProgArray(p *Prog) bool {
	for o := range s.byID[KindMap].All() {
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

// isExtended reports whether an extension replaces a function of a program.
func (s *System) isExtended(p *Prog) bool {
	for o := range s.byID[KindLink].All() {
		if l := o.(*Link); l.tgtProg == p && !l.detached && l.prog.typ == uapi.ProgTypeExt {
			return true
		}
	}
	return false
}

// canTrace checks the trampoline of a kernel function: a program is on it once, and it has a
// limited number of programs.
func (s *System) canTrace(p *Prog, obj *BTF, fn btf.ID) uapi.Errno {
	n := 0
	for o := range s.byID[KindLink].All() {
		l := o.(*Link)
		if l.detached || l.obj != obj || !l.traces(fn) {
			continue
		}
		if n++; l.prog == p {
			return uapi.EBUSY
		}
	}
	if n >= machine.MaxTracers(s.rules) {
		return uapi.E2BIG
	}
	return 0
}

// onProgram is what a link attaches to a function of a program.
func (l *Link) onProgram() machine.Attachment {
	return machine.Attachment{Program: l.prog.unique, Target: l.tgtProg.unique, Start: l.tgtProg.functionOf(l.btfID).Start, Cookie: l.cookie}
}

// attachToProgram makes an extension run in place of a function of a program, or a tracing program
// with it.
func (s *System) attachToProgram(l *Link) uapi.Errno {
	if l.tgtProg.functionOf(l.btfID) == nil {
		return uapi.EINVAL
	}
	switch err := s.machine.Attach(l.onProgram()); {
	case errors.Is(err, machine.ErrTrampoline):
		return uapi.EBUSY
	case errors.Is(err, machine.ErrTracers):
		return uapi.E2BIG
	case errors.Is(err, machine.ErrNotAttachable):
		s.note("program %s: %v", l.prog.name, err)
		return uapi.EOPNOTSUPP
	case err != nil:
		s.note("program %s: %v", l.prog.name, err)
		return uapi.EINVAL
	}
	return 0
}

// detachFromProgram undoes attachToProgram.
func (s *System) detachFromProgram(l *Link) {
	if l.tgtProg == nil || l.typ != uapi.LinkTracing {
		return
	}
	if err := s.machine.Detach(l.onProgram()); err != nil {
		s.note("program %s: %v", l.tgtProg.name, err)
	}
}
