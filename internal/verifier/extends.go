package verifier

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// attachToProg checks extensions and programs that trace other programs (bpf_check_attach_target).
func (h *attachment) attachToProg(s *btf.Spec, t *btf.Type) {
	p, tgt := h.p, h.p.AttachProg
	i := &h.prog
	extension := p.Type == uapi.ProgTypeExt
	sub := -1
	for n := range tgt.Funcs {
		if tgt.Funcs[n].Type == p.AttachID {
			sub = n
			break
		}
	}
	// The id must be that of one of the program's functions.
	if sub < 0 {
		h.refuse(refusal.SubprogNotExist, t.Name)
	}
	at := tgt.Funcs[sub].Insn
	// An exception callback is entered with the stack of what threw, not by a call.
	if at > 0 && at == tgt.ExceptionCallback {
		what := "Tracing"
		if extension {
			what = "Extension"
		}
		h.refuse(refusal.ProgramsCannotAttachExceptionCallback, what)
	}
	relies := tgt.relies(at, t.Linkage)
	// Calls of a static function were verified with the code in place; only a global one is
	// verified by its prototype, and that is what can be replaced. Tracers see numbers instead of
	// arguments there.
	if extension && !relies {
		h.refuse(refusal.CannotReplaceStaticFunctions)
	}
	// Callers were verified to keep packet pointers over the call.
	if extension && h.has(since.GlobalEffects) && h.changes(p, 0) && !h.changes(tgt, at) {
		h.refuse(refusal.ExtensionProgramChangesPacketDataWhile)
	}
	h.recursion(tgt)
	if p.Attach == uapi.AttachTraceRawTp && !extension {
		if h.has(since.AttachWords) {
			h.refuse(refusal.OnlySessionProgsAttachableAnother)
		}
		h.refuse(refusal.OnlyFentryFexitProgsAttachableAnother)
	}
	i.attachProto = h.funcProto(s, t)
	switch {
	case extension:
		// Callers pass what the replaced function was compiled for.
		h.sameType(t)
		h.inherit(tgt)
		return
	case p.Sleepable:
		h.refuse(refusal.NotSleepable, t.Name)
	case p.Attach == uapi.AttachModifyReturn:
		h.refuse(refusal.CannotModifyReturnCodesBPFPrograms)
	case p.Attach == uapi.AttachTraceIter:
		// No iterator has the name of a program's function (bpf_iter_prog_supported).
		h.refuse(refusal.IteratorOfProgram)
	}
	if !relies {
		i.attachProto = nil
	}
}

// inherit gives an extension the attach type of its target for the rest of the verification: what
// it may read, call and return (check_attach_btf_id).
func (h *attachment) inherit(tgt *Program) {
	p := *h.p
	p.Attach = tgt.Attach
	h.p, h.prog.caller.Attach = &p, tgt.Attach
}

// recursion refuses attachments that could form a circle of calls, in which programs would run each
// other without end.
func (h *attachment) recursion(tgt *Program) {
	p := h.p
	traces := tgt.Type == uapi.ProgTypeTracing
	switch {
	case p.Type == uapi.ProgTypeTracing && h.has(since.NestedTracing):
		// One level is enough to trace a tracing program, and can form no circle.
		if traces && tgt.AttachProg != nil && tgt.AttachProg.Type == uapi.ProgTypeTracing {
			h.refuse(refusal.CannotNestTracingProgramAttachMore)
		}
	case p.Type == tgt.Type:
		h.refuse(refusal.CannotRecursivelyAttach)
	}
	// An extension in a traced program's place could be traced by that program.
	if p.Type != uapi.ProgTypeExt || !traces {
		return
	}
	switch tgt.Attach {
	case uapi.AttachTraceFentry, uapi.AttachTraceFexit:
		h.refuse(refusal.CannotExtendFentryFexit)
	case uapi.AttachTraceFsession, uapi.AttachTraceFentryMulti, uapi.AttachTraceFexitMulti, uapi.AttachTraceFsessionMulti:
		h.refuse(refusal.CannotExtendFentryFexitFsession)
	}
}

// changes reports whether the function of a program that begins at a slot, or one that it calls,
// changes packets.
func (h *attachment) changes(p *Program, start int) bool {
	seen := map[int]bool{}
	for todo := []int{start}; len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[at] {
			continue
		}
		seen[at] = true
		for pc := at; pc < p.end(at); pc++ {
			switch in := &p.Insns[pc]; {
			case isHelperCall(in):
				if h.changesPacket(uapi.FuncID(in.Imm)) {
					return true
				}
			case isKfuncCall(in):
				if k, _ := proto.LookupKfunc(p.Refs[pc].Name); k.Is(proto.PullsPacket) {
					return true
				}
			case isLocalCall(in):
				if to := pc + 1 + int(in.Imm); to >= 0 && to < len(p.Insns) {
					todo = append(todo, to)
				}
			case in.Op() == decode.OpLdImm64:
				pc++
			}
		}
	}
	return false
}

// end returns the slot after the function that begins at a slot.
func (p *Program) end(start int) int {
	end := len(p.Insns)
	for _, f := range p.Funcs {
		if f.Insn > start {
			end = min(end, f.Insn)
		}
	}
	return end
}

// sameType checks that an extension has the type of the function it replaces (kernel/bpf/btf.c
// btf_check_func_type_match).
func (h *attachment) sameType(t *btf.Type) {
	p, spec := h.p, h.p.AttachProg.BTF
	// Without types nothing says that the function can be called as its callers do.
	if p.BTF == nil || len(p.Funcs) == 0 {
		h.refuse(refusal.ProgramExtensionRequiresBTF)
	}
	own, err := p.BTF.Type(p.Funcs[0].Type)
	if err != nil || own.Kind != btf.KindFunc {
		h.refuse(refusal.ExtensionWithoutFunction)
	}
	for _, f := range []*btf.Type{own, t} {
		if f.Linkage != funcGlobal {
			h.refuse(refusal.NotGlobalFunction, f.Name)
		}
	}
	a, b := p.BTF.MustType(own.Ref), spec.MustType(t.Ref)
	if len(a.Params) != len(b.Params) {
		h.refuse(refusal.ArgsWhileArgs, own.Name, len(a.Params), t.Name, len(b.Params))
	}
	if x, y := p.BTF.SkipMods(a.Ref), spec.SkipMods(b.Ref); !sameInfo(x, y) {
		h.refuse(refusal.ReturnTypeNotMatchType, kindWord(x), own.Name, kindWord(y), t.Name)
	}
	for i := range a.Params {
		h.sameParam(i, own.Name, t.Name, p.BTF, spec, p.BTF.SkipMods(a.Params[i].Type), spec.SkipMods(b.Params[i].Type))
	}
}

// sameParam compares the types of a parameter of the extension and of the function it replaces.
func (h *attachment) sameParam(i int, own, its string, s1, s2 *btf.Spec, t1, t2 *btf.Type) {
	if !sameInfo(t1, t2) {
		h.refuse(refusal.ArgInWhile, i, own, kindWord(t1), its, kindWord(t2))
	}
	// Arguments are passed as the callers' code was compiled for.
	if t1.Kind != btf.KindPtr && t1.Size != t2.Size {
		h.refuse(refusal.ArgInSizeWhile, i, own, t1.Size, its, t2.Size)
	}
	switch {
	case t1.Kind == btf.KindInt, t1.Kind.IsEnum():
		return
	case t1.Kind != btf.KindPtr:
		h.refuse(refusal.ArgInUnrecognizedType, i, own)
	}
	t1, t2 = s1.SkipMods(t1.Ref), s2.SkipMods(t2.Ref)
	for _, x := range []struct {
		t    *btf.Type
		name string
	}{{t1, own}, {t2, its}} {
		// Only the context has the same type in both programs, as the kernel knows it.
		if !x.t.Kind.IsComposite() {
			h.refuse(refusal.ArgInNotPointerContext, i, x.name)
		}
	}
	if t1.Name != t2.Name {
		h.refuse(refusal.ArgStructNotMatchStruct, i, own, t1.Name, its, t2.Name)
	}
}

// sameInfo compares the info words of two types: kind, number of members, kind_flag.
func sameInfo(a, b *btf.Type) bool {
	n := func(t *btf.Type) int { return len(t.Members) + len(t.Values) + len(t.Params) }
	return a.Kind == b.Kind && n(a) == n(b) && a.Flag == b.Flag
}

// kindWord is the kernel's name of a type's kind (btf_kind_str).
func kindWord(t *btf.Type) string {
	if t.Kind == btf.KindVoid {
		return "UNKNOWN"
	}
	return t.Kind.String()
}
