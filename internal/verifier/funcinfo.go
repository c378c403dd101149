package verifier

import (
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// funcArg is a parameter of a function according to its BTF.
type funcArg struct {
	kind argKind
	typ  regType // flags
	mem  uint32
	tid  btf.ID
}

type argKind uint8

// prepareArgs reads a function's prototype (btf_prepare_func_args). It refuses global functions
// whose prototype is not supported.
func (l *layout) prepareArgs(sub int) bool {
	sp := &l.subs[sub]
	if sp.argsKnown {
		return true
	}
	global := sp.linkage == funcGlobal
	s := l.p.BTF
	spec := l.addSpec(s)
	fn := s.MustType(sp.fn)
	fp := s.MustType(fn.Ref)
	// Arguments are passed in R1 to R5.
	if len(fp.Params) > 5 {
		if global {
			l.refuse(refusal.GlobalFunctionArgsBuggyCompiler, sp.name, len(fp.Params), 5)
		}
		return false
	}
	ret := s.SkipMods(fp.Ref)
	// A caller that does not look into the function knows nothing of its result, so that it can
	// only be a number.
	if !isScalarType(ret) && !(ret.Kind == btf.KindVoid && l.has(since.VoidGlobals)) {
		if global {
			if l.has(since.VoidGlobals) {
				l.refuse(refusal.GlobalFunctionReturnValueNotVoid, sp.name)
			}
			l.refuse(refusal.GlobalFunctionNotReturnScalarOnly, sp.name)
		}
		return false
	}
	var args []funcArg
	for i := range fp.Params {
		a, ok := l.prepareArg(sub, spec, fn, &fp.Params[i], i)
		if !ok {
			return false
		}
		args = append(args, a)
	}
	sp.args, sp.argsKnown = args, true
	return true
}

// pointsToArena reports whether a type tag says that a pointer leads to an arena
// (btf_scan_type_tags).
func pointsToArena(s *btf.Spec, ptr *btf.Type) bool {
	for t := s.MustType(ptr.Ref); t.Kind.IsMod(); t = s.MustType(t.Ref) {
		if t.Kind == btf.KindTypeTag && !t.Flag && t.Name == "arena" {
			return true
		}
	}
	return false
}

// argTags returns the tags "arg:..." of a parameter. They make promises about the arguments of
// global functions, which callers must keep; a static one is explored with the arguments of each
// caller.
func (l *layout) argTags(spec uint8, fn *btf.Type, i int, global bool) map[string]bool {
	tags := map[string]bool{}
	if !l.has(since.ArgTags) {
		return tags
	}
	for _, t := range l.declTags(spec, fn.ID, i) {
		tag, ok := strings.CutPrefix(t, "arg:")
		if !ok {
			continue
		}
		if !global {
			l.refuse(refusal.ArgTypeTagNotSupportedIn, i)
		}
		switch tag {
		case "ctx", "nonnull":
			// These came with the tags themselves.
		case "trusted", "nullable", "arena":
			if !l.has(since.TrustTags) {
				l.refuse(refusal.ArgUnsupportedSetTags, i)
			}
		case "untrusted":
			if !l.has(since.UntrustedTag) {
				l.refuse(refusal.ArgUnsupportedSetTags, i)
			}
		default:
			l.refuse(refusal.ArgUnsupportedSetTags, i)
		}
		tags[tag] = true
	}
	return tags
}

// prepareArg translates a parameter's type into what callers must pass, and what the function is
// verified with (btf_prepare_func_args).
func (l *layout) prepareArg(sub int, spec uint8, fn *btf.Type, p *btf.Param, i int) (funcArg, bool) {
	s := l.specs[spec-1]
	sp := &l.subs[sub]
	global := sp.linkage == funcGlobal
	tags := l.argTags(spec, fn, i, global)
	badTags := func() { l.refuse(refusal.ArgInvalidCombinationTags, i) }
	t := s.SkipMods(p.Type)
	if t.Kind != btf.KindPtr {
		if len(tags) > 0 {
			l.refuse(refusal.ArgPointerTagButNotPointer, i)
		}
		if isScalarType(t) {
			return funcArg{kind: argScalar}, true
		}
		if global {
			l.refuse(refusal.ArgTypeInNotSupportedYet, i, kindText(t.Kind), sp.name)
		}
		return funcArg{}, false
	}
	// A pointer type that says so needs no tag.
	if l.has(since.ArenaPointerArgs) && pointsToArena(s, t) {
		tags["arena"] = true
	}
	// The context may be a type of the kernel or of the user's headers; the tag says so where the
	// name does not.
	if tags["ctx"] || l.isCtxType(s, t) {
		if len(tags) > 1 || len(tags) == 1 && !tags["ctx"] {
			badTags()
		}
		return funcArg{kind: argCtx}, true
	}
	target := s.SkipMods(t.Ref)
	if target.Kind == btf.KindStruct && (target.Name == "bpf_dynptr" || target.Name == "bpf_dynptr_kern") && l.has(since.DynptrGlobalArgs) {
		if len(tags) > 0 {
			badTags()
		}
		return funcArg{kind: argDynptr}, true
	}
	switch {
	case tags["trusted"]:
		if tags["nonnull"] || tags["untrusted"] {
			badTags()
		}
		return l.trustedArg(target, tags["nullable"], i), true
	case tags["untrusted"]:
		if len(tags) > 1 {
			l.refuse(refusal.ArgUntrustedCannotCombinedAnyOther, i)
		}
		return l.untrustedArg(target, sp.name, i), true
	case tags["arena"]:
		if len(tags) > 1 {
			l.refuse(refusal.ArgArenaCannotCombinedAnyOther, i)
		}
		return funcArg{kind: argArena}, true
	}
	// What a static function is passed does not follow from its type.
	if !global {
		return funcArg{}, false
	}
	if !l.has(since.GlobalMemArgs) {
		l.refuse(refusal.ArgTypeInNotSupportedYet, i, kindText(t.Kind), sp.name)
	}
	if tags["nullable"] {
		badTags()
	}
	// Callers must pass that much memory, or NULL unless the tag excludes it: the function must
	// check.
	size, err := s.Sizeof(target.ID)
	if err != nil || target.Kind == btf.KindVoid || target.Kind == btf.KindFuncProto || target.Kind == btf.KindFwd {
		l.refuse(refusal.ArgReferenceTypeSizeCannotDetermined, i, kindText(target.Kind), target.Name, -22)
	}
	a := funcArg{kind: argMem, typ: maybeNull, mem: uint32(size)}
	if tags["nonnull"] {
		a.typ = 0
	}
	return a, true
}

// trustedArg: the function may pass the pointer on to kfuncs, so callers must pass a trusted one.
func (l *layout) trustedArg(target *btf.Type, nullable bool, i int) funcArg {
	id, ok := l.kernelTypeLike(target)
	if !ok {
		l.refuse(refusal.ArgExpectedKernelType, i)
	}
	a := funcArg{kind: argBTF, typ: ptrTrusted, tid: id}
	if nullable {
		a.typ |= maybeNull
	}
	return a
}

// untrustedArg: the function may only follow the pointer, by loads that are probed. Callers may
// pass anything.
func (l *layout) untrustedArg(target *btf.Type, fn string, i int) funcArg {
	if isScalarType(target) || target.Kind == btf.KindVoid {
		return funcArg{kind: argMem, typ: ptrUntrusted | memRdonly}
	}
	id, ok := l.kernelTypeLike(target)
	if !ok {
		l.unknown("argument %d of %s: an untrusted pointer to a type of the program", i, fn)
	}
	return funcArg{kind: argBTF, typ: ptrUntrusted, tid: id}
}

// kernelTypeLike finds the kernel's type that a type of the program stands for: flavours of one
// name are one type (bpf_core_find_cands in btf_prepare_func_args).
func (l *layout) kernelTypeLike(t *btf.Type) (btf.ID, bool) {
	if l.k.BTF == nil {
		return 0, false
	}
	return l.k.BTF.FindID(t.Kind, btf.EssentialName(t.Name))
}

// BadFuncInfo returns why a record of a program's func_info is refused for what it says by itself,
// in the words of the log; "" if it may be the program's (check_btf_func). insns is the length of
// the program.
func BadFuncInfo(types *btf.Spec, funcs []FuncInfo, i, insns int) string {
	r, args := badFuncRecord(types, funcs, i)
	if r == refusal.None && funcs[i].Insn >= insns {
		r = refusal.FuncInfoBTFSectionNotMatch
	}
	return fmt.Sprintf(r.Row().Text, args...)
}

// badFuncRecord checks a record without looking at the program.
func badFuncRecord(types *btf.Spec, funcs []FuncInfo, i int) (refusal.ID, []any) {
	if r, args := badFuncOffset(funcs, i); r != refusal.None {
		return r, args
	}
	return badFuncType(types, funcs[i].Type)
}

// badFuncOffset: records are in the order of the functions, each of which begins once.
func badFuncOffset(funcs []FuncInfo, i int) (refusal.ID, []any) {
	switch at := funcs[i].Insn; {
	case i == 0 && at != 0:
		return refusal.NonzeroInsnOffFirstFuncInfo, []any{at}
	case i > 0 && at <= funcs[i-1].Insn:
		return refusal.SameOrSmallerInsnOffset, []any{at, funcs[i-1].Insn}
	}
	return refusal.None, nil
}

// badFuncType: the record names the function, from which its type and linkage follow.
func badFuncType(types *btf.Spec, id btf.ID) (refusal.ID, []any) {
	if types.Kind(id) != btf.KindFunc {
		return refusal.InvalidTypeIdInFuncInfo, []any{id}
	}
	return refusal.None, nil
}

// checkFuncRecords checks the records of func_info before the program's functions are known, as
// releases with exceptions do, whose callbacks are found by the types of functions
// (check_btf_func_early).
func (l *layout) checkFuncRecords() {
	if !l.funcInfo() || !l.has(since.Exceptions) {
		return
	}
	for i := range l.p.Funcs {
		if r, args := badFuncRecord(l.p.BTF, l.p.Funcs, i); r != refusal.None {
			l.refuse(r, args...)
		}
	}
}

// checkFuncInfo checks that func_info matches the functions of the program (check_btf_func): by it
// the kernel knows which ones are global, so no function may be without.
func (l *layout) checkFuncInfo() {
	if !l.funcInfo() {
		for i := 1; i < l.nsubs(); i++ {
			// Both may return from the function in its middle, with a number in R0. That it returns
			// a number must be known from its type.
			if l.subs[i].ldAbs {
				l.refuse(refusal.LDABSNotAllowedInSubprogs)
			}
			if l.subs[i].tailCall {
				l.refuse(refusal.TailCallNotAllowedInSubprogs)
			}
		}
		return
	}
	// Each function has one record, in the same order.
	if len(l.p.Funcs) != l.nsubs() {
		l.refuse(refusal.NumberFuncsInFuncInfoNot)
	}
	for i := range l.p.Funcs {
		f := &l.p.Funcs[i]
		if r, args := badFuncOffset(l.p.Funcs, i); r != refusal.None {
			l.refuse(r, args...)
		}
		// What calls and callbacks show to be a function, and what is described as one, must agree.
		if f.Insn != l.subs[i].start {
			l.refuse(refusal.FuncInfoBTFSectionNotMatch)
		}
		if r, args := badFuncType(l.p.BTF, f.Type); r != refusal.None {
			l.refuse(r, args...)
		}
		t := l.p.BTF.MustType(f.Type)
		s := &l.subs[i]
		s.name, s.fn, s.linkage = t.Name, f.Type, t.Linkage
		if f.Static {
			s.linkage = funcStatic
		}
		ret := l.p.BTF.SkipMods(l.p.BTF.MustType(t.Ref).Ref)
		ok := isScalarType(ret)
		if i > 0 && !ok && s.ldAbs {
			l.refuse(refusal.LDABSOnlyAllowedInFunctions)
		}
		if i > 0 && !ok && s.tailCall {
			l.refuse(refusal.TailCallOnlyAllowedInFunctions)
		}
	}
}
