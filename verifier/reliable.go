package verifier

import (
	"slices"

	"github.com/bpfrun/bpfrun/btf"
)

// reliableCall reports whether a call of a static function passes what the function's BTF says: numbers, and the context. Compilers remove
// and change parameters of static functions; programs that trace one see its arguments as numbers then (kernel/bpf/verifier.c
// btf_check_subprog_call). Pointers to memory are not compared: such functions count as unreliable.
func (fs *frames) reliableCall(sub int, regs []reg) bool {
	sp := &fs.subs[sub]
	s := fs.p.BTF
	if s == nil || sp.fn == 0 {
		return false
	}
	proto := s.MustType(s.MustType(sp.fn).Ref)
	if len(proto.Params) > 5 || !isScalarType(s.SkipMods(proto.Ref)) {
		return false
	}
	for i := range proto.Params {
		t, r := s.SkipMods(proto.Params[i].Type), &regs[i+1]
		switch {
		case isScalarType(t) && r.typ == scalar:
		case t.Kind == btf.KindPtr && fs.isCtxType(s, t) && r.typ == ptrCtx:
		default:
			return false
		}
	}
	return true
}

// reliable returns where the static functions begin whose calls all pass what their BTF says.
func (e *explorer) reliable() (out []int) {
	for i := 1; i < e.nsubsOr0(); i++ {
		if sp := &e.subs[i]; sp.linkage != funcGlobal && sp.entered && !sp.unreliable {
			out = append(out, sp.start)
		}
	}
	return out
}

// relies reports whether the kernel relies on the type of the function of the program that begins at a slot.
func (p *Program) relies(start int, linkage uint32) bool {
	return start == 0 || linkage == funcGlobal || slices.Contains(p.Reliable, start)
}
