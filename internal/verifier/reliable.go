package verifier

import (
	"fmt"
	"slices"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// reliableCall reports whether a call of a static function passes what the function's BTF says:
// numbers, and the context. Compilers remove and change parameters of static functions; programs
// that trace one see its arguments as numbers then (kernel/bpf/verifier.c btf_check_subprog_call).
// Pointers to memory are not compared: such functions count as unreliable.
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
		if t := s.SkipMods(proto.Params[i].Type); !isScalarType(t) && (t.Kind != btf.KindPtr || !fs.isCtxType(s, t)) {
			return false
		}
	}
	for i := range proto.Params {
		r, number := &regs[i+1], isScalarType(s.SkipMods(proto.Params[i].Type))
		switch {
		case number && r.typ == scalar, !number && r.typ == ptrCtx:
			continue
		case !fs.has(since.FirstFuncUntyped): // other words, which are not known
		case number:
			fs.log.line(fmt.Sprintf(refusal.NotScalar.Row().Text, i+1))
		default:
			fs.log.line(fmt.Sprintf(refusal.ExpectsPointerCtx.Row().Text, fs.argName(i)))
		}
		return false
	}
	return true
}

// firstFunc logs why the type of the first function is not relied on, if a global function of that
// type would be refused (do_check_common). What the kernel says of a load's log is not about its
// end.
func (e *explorer) firstFunc() {
	if !e.has(since.FirstFuncUntyped) || e.log.level == 0 || !e.funcInfo() || e.subs[0].fn == 0 {
		return
	}
	lines, reason := e.lines, e.refusal
	defer func() {
		e.lines, e.refusal = lines, reason
		e.subs[0].args, e.subs[0].argsKnown = nil, false
		switch x := recover().(type) {
		case nil, refused, missing:
		default:
			panic(x)
		}
	}()
	e.layout.prepareArgs(0)
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

// untyped reports whether a kernel does not rely on the type of the first function: from 6.8 on, if
// its only parameter is not the context by its type (do_check_common). An extension's was compared
// with that of its target.
func (e *explorer) untyped() bool {
	if !e.has(since.FirstFuncUntyped) || e.p.Type == uapi.ProgTypeExt || e.nsubsOr0() == 0 || e.p.BTF == nil || e.subs[0].fn == 0 {
		return false
	}
	s := e.p.BTF
	proto := s.MustType(s.MustType(e.subs[0].fn).Ref)
	if len(proto.Params) != 1 || !isScalarType(s.SkipMods(proto.Ref)) {
		return true
	}
	t := s.SkipMods(proto.Params[0].Type)
	return t.Kind != btf.KindPtr || !e.isCtxType(s, t)
}

// relies reports whether the kernel relies on the type of the function of the program that begins
// at a slot.
func (p *Program) relies(start int, linkage uint32) bool {
	if start == 0 {
		return !p.Untyped
	}
	return linkage == funcGlobal || slices.Contains(p.Reliable, start)
}

// actsAs is the type of the program, and for an extension that of the program that it extends.
func (p *Program) actsAs() uapi.ProgType {
	if p.Type == uapi.ProgTypeExt && p.AttachProg != nil {
		return p.AttachProg.Type
	}
	return p.Type
}
