package verifier

import (
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// kfArg is the kind of a kfunc's pointer argument.
type kfArg uint8

const (
	kaCtx        kfArg = iota
	kaAlloc            // an object of the program, to be dropped
	kaRefcounted       // one whose references are counted
	kaDynptr           // a dynptr on the stack
	kaIter             // an iterator on the stack
	kaListHead         // a list
	kaListNode         // a member that links an object to one
	kaBTF              // an object of the kernel
	kaMem              // memory of the size of its type
	kaMemSize          // memory with its size in the next argument
	kaCallback         // a function of the program
	kaRoot             // a tree
	kaNode             // a member that links an object to one
	kaNull             // nothing, where that is allowed
	kaString           // a constant string in a map
	kaMap              // a map
	kaTimer            // these three: a field of a map's value
	kaWorkqueue
	kaTaskWork
	kaIRQ     // a saved interrupt flag on the stack
	kaResLock // a resilient lock
	kaArena   // an address in the arena
	kaKptr    // a kptr in a map's value
)

func hasSuffix(p *btf.Param, s string) bool { return strings.HasSuffix(p.Name, s) }

// kfuncArgs checks the arguments of a kernel function (check_kfunc_args).
func (c *kfuncs) kfuncArgs(m *callMeta) {
	k := m.k
	s := c.specs[k.spec-1]
	params := k.proto.Params
	// Arguments are passed in R1 to R5. Further ones can only be those that the kernel adds itself.
	if len(params) > 5 {
		if proto.KfuncFlags(k.flags)&proto.ImplicitArgs == 0 {
			c.refuse(refusal.FunctionArgs, k.name, len(params), 5)
		}
		params = params[:5]
	}
	for i := 0; i < len(params); i++ {
		p := &params[i]
		n := i + 1
		r := c.reg(n)
		// Suffixes of parameter names say what types cannot: what is not checked, what the kernel
		// passes itself, what is a size, a constant or may be NULL (Documentation/bpf/kfuncs.rst).
		if hasSuffix(p, "__ign") || hasSuffix(p, "__prog") {
			continue
		}
		// The kernel sets the register before the call, so that what the program left in it does
		// not matter.
		if proto.KfuncFlags(k.flags)&proto.ImplicitArgs != 0 && c.implicit(s, p) {
			continue
		}
		c.liveness.readReg(r)
		t := s.SkipMods(p.Type)
		if isScalarType(t) {
			c.kfuncScalar(m, p, n)
			continue
		}
		if t.Kind != btf.KindPtr {
			c.refuse(refusal.UnrecognizedArgType, c.argName(i), t.Kind)
		}
		nullable := hasSuffix(p, "__nullable") || hasSuffix(p, "__opt") && c.has(since.OptionalSuffix)
		// Older releases take what is released for an argument that must be trusted.
		needTrust := k.flags.has(kfTrusted) || k.flags.has(kfRelease) && !c.has(since.ReleaseByReference)
		// These functions do not check for NULL.
		if (needTrust || k.flags.has(kfRCU)) && (r.isNull() || r.typ.mayBeNull()) && !nullable {
			c.refuse(refusal.PossiblyNULLPointerPassedTrustedArg, c.argAs("arg", n))
		}
		ref := s.SkipMods(t.Ref)
		// Only what the program acquired is its own to release. A dynptr holds its reference itself.
		if k.flags.has(kfRelease) && n == 1 && c.has(since.ReleaseWords) && r.ref == 0 && !r.isNull() && kfArgStructs[ref.Name] != kaDynptr {
			c.refuse(refusal.ReleaseKfuncExpectsReferenced, k.name, c.argName(i))
		}
		if r.ref != 0 {
			m.ref = r.ref
			if k.flags.has(kfRelease) {
				m.release = n
			}
		}
		kind := c.kfuncArgKind(m, s, params, i, t, ref)
		if kind == kaNull {
			continue
		}
		if kind == kaMap {
			c.kfuncMap(m, n)
		}
		object := kind == kaMap || kind == kaAlloc || kind == kaBTF
		if object && (needTrust || k.flags.has(kfRCU)) {
			c.kfuncTrust(k, n)
		}
		c.kfuncOffset(k, kind, n, needTrust)
		if c.kfuncPointer(m, s, params, i, kind, ref) {
			i++
		}
	}
	// A release of nothing would leave a reference behind that the program no longer counts.
	if k.flags.has(kfRelease) && m.release == 0 && !k.is(proto.DiscardsFileDynptr) {
		c.refuse(refusal.ReleaseKernelFunctionExpectsRefcountedPTR, k.name)
	}
}

// kfuncMap checks a map: the map itself, or an object that the kernel gave the program as one.
func (c *kfuncs) kfuncMap(m *callMeta, n int) {
	r := c.reg(n)
	if r.typ != constMap {
		if r.typ.base() != ptrBTF {
			c.refuse(refusal.PointerInRNotMapPointer, n)
		}
		return
	}
	// The work belongs to the map with whose elements it will be called back.
	mp := c.mapOf(r)
	if m.mapp != nil && (m.mapp != mp || m.uid != r.uid) && (mp.rec.has(fieldWorkqueue) || mp.rec.has(fieldTaskWork)) {
		what := "workqueue"
		if mp.rec.has(fieldTaskWork) {
			what = "bpf_task_work"
		}
		c.refuse(refusal.PointerInR1MapUidNot, what, m.uid, r.uid)
	}
	m.mapp, m.uid = mp, r.uid
}

// kfuncTrust checks an object that the function uses without checking it: it must be held by a
// reference, or valid for as long as the program runs or the RCU read-side section lasts
// (check_kfunc_args).
func (c *kfuncs) kfuncTrust(k *kfunc, n int) {
	r := c.reg(n)
	if c.kernelMem.trusted(r) {
		return
	}
	if !k.flags.has(kfRCU) {
		c.refuse(refusal.MustReferencedTrusted, n)
	}
	if !r.isRCU() {
		c.refuse(refusal.MustRcuPointer, n)
	}
}

// kfuncOffset checks that a pointer has no offset where the function expects an object's own
// address (check_func_arg_reg_off).
func (c *kfuncs) kfuncOffset(k *kfunc, kind kfArg, n int, needTrust bool) {
	r := c.reg(n)
	// Before 6.8 arguments that must be trusted are checked like those that are released.
	old := !c.has(since.TrustedOffsets) && (needTrust || k.flags.has(kfRCU)) && (kind == kaAlloc || kind == kaBTF)
	if k.flags.has(kfRelease) && r.ref != 0 || old {
		if !(kind == kaDynptr && r.typ == ptrStack) {
			if r.off != 0 {
				c.refuse(refusal.MustZeroOffsetWhenPassedRelease, n)
			}
			c.memory.checkOffset(r, n, false)
		}
	} else if kind == kaRefcounted && r.typ.base() == ptrBTF && c.has(since.RefcountAtStart) {
		c.memory.checkOffset(r, n, false)
	} else {
		c.memory.argOffset(r, n, kind == kaCtx)
	}
}

// implicit reports whether the kernel passes the argument itself.
func (c *kfuncs) implicit(s *btf.Spec, p *btf.Param) bool {
	t := s.SkipMods(p.Type)
	return t.Kind == btf.KindPtr && s.SkipMods(t.Ref).Name == "bpf_prog_aux"
}

// kfuncScalar checks a number (check_kfunc_args). A constant, such as a type id or a size,
// determines the type of the result, so that all paths with the same state must pass the same.
func (c *kfuncs) kfuncScalar(m *callMeta, p *btf.Param, n int) {
	r := c.reg(n)
	if r.typ != scalar {
		c.refuse(refusal.NotScalar2, n)
	}
	buf := false
	switch {
	case hasSuffix(p, "__k"):
		// The value is part of what the function means, such as a type id: it must be the same on
		// each path that ends here.
		if !r.Var.IsConst() {
			c.refuse(refusal.MustKnownConstant, n)
		}
		c.precision.precise(n)
		m.hasConstant, m.constant = true, r.Var.Value
	case p.Name == "rdonly_buf_size":
		// By these names the result's size follows from the argument
		// (is_kfunc_arg_scalar_with_name).
		m.retRdonly, buf = true, true
	case p.Name == "rdwr_buf_size":
		buf = true
	}
	if !buf {
		return
	}
	if m.retSize != 0 {
		c.refuse(refusal.SeveralRdonlyRdwrBufSizeParameters)
	}
	if !r.Var.IsConst() {
		c.refuse(refusal.NotConst, n)
	}
	m.retSize = r.Var.Value
	// A register keeps the size in 32 bits.
	if m.retSize > 1<<32-1 && c.has(since.BufferSizes) {
		c.refuse(refusal.RdonlyRdwrBufSizeExceedsU32, n)
	}
	c.precision.precise(n)
}

var kfArgStructs = map[string]kfArg{
	"bpf_dynptr": kaDynptr, "bpf_dynptr_kern": kaDynptr, "bpf_list_head": kaListHead, "bpf_list_node": kaListNode, "bpf_rb_root": kaRoot,
	"bpf_rb_node": kaNode, "bpf_wq": kaWorkqueue, "bpf_task_work": kaTaskWork, "bpf_res_spin_lock": kaResLock, "bpf_timer": kaTimer,
}

// kfuncArgKind returns the kind of a pointer argument (get_kfunc_ptr_arg_type).
func (c *kfuncs) kfuncArgKind(m *callMeta, s *btf.Spec, params []btf.Param, i int, t, ref *btf.Type) kfArg {
	k := m.k
	p := &params[i]
	r := c.reg(i + 1)
	// Memory with its length in the next argument.
	sized := false
	if i+1 < len(params) {
		q := &params[i+1]
		// The size may be any number, a bound of which the check of the memory uses.
		sized = isScalarType(s.SkipMods(q.Type)) && c.reg(i+2).typ == scalar && (hasSuffix(q, "__sz") || hasSuffix(q, "__szk"))
	}
	named, isNamed := kfArg(0), false
	if ref.Kind == btf.KindStruct {
		named, isNamed = kfArgStructs[ref.Name]
	}
	is := func(x kfArg) bool { return isNamed && named == x }
	nullable := hasSuffix(p, "__nullable") || hasSuffix(p, "__opt") && c.has(since.OptionalSuffix)
	if k.is(proto.CastsToContext) || c.has(since.SessionContext) && k.is(proto.OfSession) {
		return kaCtx
	}
	// NULL is of no type, so that it is recognised before all others. With a size behind it, the
	// two are checked together.
	if nullable && r.isNull() && !is(kaDynptr) && !sized && c.has(since.NullArgs) {
		return kaNull
	}
	// Contexts are recognised by type and before memory: the struct has another form in the kernel.
	if c.isCtxType(s, t) {
		return kaCtx
	}
	if nullable && r.isNull() && !sized {
		return kaNull
	}
	switch {
	case hasSuffix(p, "__alloc"):
		return kaAlloc
	case k.flags.has(kfKptrGet) && i == 0:
		return kaKptr
	case hasSuffix(p, "__refcounted_kptr"):
		return kaRefcounted
	case is(kaDynptr):
		return kaDynptr
	case k.flags.has(kfIterNew|kfIterNext|kfIterDestroy) && i == 0, hasSuffix(p, "__iter") && !k.flags.has(kfIterNew|kfIterNext|kfIterDestroy):
		// The iterator is the first argument of its own functions (btf_check_iter_kfuncs), and has
		// a suffix for those of others.
		return kaIter
	case is(kaListHead), is(kaListNode), is(kaRoot), is(kaNode):
		return named
	case hasSuffix(p, "__str"):
		return kaString
	case hasSuffix(p, "__map"):
		return kaMap
	case is(kaWorkqueue), is(kaTaskWork):
		return named
	case hasSuffix(p, "__irq_flag"):
		return kaIRQ
	case is(kaResLock):
		return kaResLock
	case is(kaTimer) && c.has(since.TimerArgs):
		return kaTimer
	case hasSuffix(p, "__arena"):
		return kaArena
	}
	// A pointer to a kernel object is compared by type, whatever the parameter could be as memory.
	if r.typ.base() == ptrBTF || c.kernelMem.socketType(r.typ) != "" {
		if ref.Kind != btf.KindStruct && ref.Kind != btf.KindUnion {
			c.refuse(refusal.KernelFunctionArgsPointerTypeNot, k.name, c.argAs("args#", i+1), kindText(ref.Kind), ref.Name)
		}
		return kaBTF
	}
	// A pointer to a prototype can only be a callback in the program.
	if ref.Kind == btf.KindFuncProto {
		return kaCallback
	}
	return c.kfuncMemKind(s, i, ref, sized)
}

// kfuncMemKind: the function may trust pointers in what it gets, which the program could set to
// anything: as memory only data without pointers is passed (btf_type_is_scalar_struct).
func (c *kfuncs) kfuncMemKind(s *btf.Spec, i int, ref *btf.Type, sized bool) kfArg {
	if !isScalarType(ref) && !c.scalarStruct(s, ref, 0) && !(sized && ref.Kind == btf.KindVoid) {
		void := ""
		if sized {
			void = "void, "
		}
		c.refuse(refusal.ArgPointerTypeMustPointScalar, c.argName(i), kindText(ref.Kind), ref.Name, void)
	}
	if sized {
		return kaMemSize
	}
	return kaMem
}

// kfuncPointer checks a pointer argument; it returns whether it also consumed the next argument.
func (c *kfuncs) kfuncPointer(m *callMeta, s *btf.Spec, params []btf.Param, i int, kind kfArg, ref *btf.Type) bool {
	k := m.k
	p := &params[i]
	n := i + 1
	r := c.reg(n)
	bad := func(r refusal.ID, args ...any) { c.badKfuncArg(r, i, args...) }
	switch kind {
	case kaCtx:
		if r.typ != ptrCtx {
			got := c.typeName(r.typ)
			if !c.has(since.ContextArgWords) {
				got = kindText(s.SkipMods(p.Type).Kind)
			}
			bad(refusal.ExpectedPointerCtxButGot, got)
		}
		// The result's type depends on the program's type, not on the prototype.
		if k.is(proto.CastsToContext) {
			m.retID = c.kernelCtx()
		}
	case kaAlloc:
		c.allocatedArg(m, i)
	case kaDynptr:
		c.kfuncDynptr(m, p, n)
	case kaIter:
		// The iterator takes css_set_lock, which a traced function may hold already
		// (check_css_task_iter_allowlist).
		if k.is(proto.IteratesCSSTasks) && c.prog.typ != uapi.ProgTypeLSM && !(c.prog.typ == uapi.ProgTypeTracing && c.p.Attach == uapi.AttachTraceIter) && !c.resources.sleepable() {
			c.refuse(refusal.CssTaskIterOnlyAllowedIn)
		}
		c.iterArg(m, n, ref)
	case kaListHead, kaRoot:
		c.graphRoot(m, n, kind)
	case kaListNode, kaNode:
		c.graphNodeArg(m, n, kind)
	case kaMap:
		// The program knows which map: nothing is to be compared.
		if r.typ == constMap {
			break
		}
		id, ok := c.kernelType("bpf_map")
		if !ok {
			c.unknown("struct bpf_map, which the kernel's BTF does not have")
		}
		c.kfuncBTF(m, n, i, c.k.BTF.MustType(id))
	case kaBTF:
		c.kfuncBTF(m, n, i, ref)
	case kaMem:
		// The kernel function may access the whole type, in both directions (check_mem_reg).
		size, err := s.Sizeof(ref.ID)
		if err != nil {
			c.refuse(refusal.ReferenceTypeSizeCannotDetermined, c.argName(i), kindText(ref.Kind), ref.Name, -22)
		}
		c.memory.memReg(n, uint32(size))
	case kaMemSize:
		return c.kfuncMemSize(m, params, i)
	case kaCallback:
		if r.typ != ptrFunc {
			c.refuse(refusal.ArgExpectedPointerFunc, c.argAs("arg", n))
		}
		m.sub = int(r.sub) // explored once the arguments are known to be right
	case kaRefcounted:
		c.refcountedArg(m, i)
	case kaString:
		if r.typ != ptrMapValue {
			bad(refusal.NotPointConstString)
		}
		// The kernel function reads up to the terminator without looking for the end of the memory.
		c.arguments.constString(n)
	case kaWorkqueue, kaTaskWork, kaTimer:
		c.fieldArg(m, i, kind)
	case kaIRQ:
		if r.typ != ptrStack {
			bad(refusal.NotPointIrqFlagStack)
		}
		c.irqArg(m, n)
	case kaResLock:
		c.resLockArg(m, i)
	case kaKptr:
		c.kptrArg(k, s, ref)
	case kaArena:
		if r.typ != ptrArena && r.typ != scalar {
			bad(refusal.NotPointerArenaScalar2)
		}
	}
	return false
}

// badKfuncArg refuses an argument by its name, which later releases give as a register.
func (c *kfuncs) badKfuncArg(r refusal.ID, i int, args ...any) {
	c.refuse(r, append([]any{c.argName(i)}, args...)...)
}

// allocatedArg checks an object to drop: the program must own it, and memory for each CPU comes
// from another allocator.
func (c *kfuncs) allocatedArg(m *callMeta, i int) {
	r := c.reg(i + 1)
	switch r.typ {
	case ptrBTF | memAlloc:
		if !m.k.is(proto.DropsObject) {
			if c.has(since.DropWords) {
				c.badKfuncArg(refusal.ExpectedBpfObjDrop, i)
			}
			c.badKfuncArg(refusal.ExpectedBpfObjDropImpl, i)
		}
	case ptrBTF | memAlloc | memPercpu:
		if !m.k.is(proto.DropsPercpu) {
			if c.has(since.DropWords) {
				c.badKfuncArg(refusal.ExpectedBpfPercpuObjDrop, i)
			}
			c.badKfuncArg(refusal.ExpectedBpfPercpuObjDropImpl, i)
		}
	default:
		c.badKfuncArg(refusal.ExpectedPointerAllocatedObject, i)
	}
	// Only the owner may free the object, and only once.
	if r.ref == 0 {
		c.refuse(refusal.AllocatedObjectMustReferenced)
	}
	m.argSpec, m.argID = r.spec, r.tid
}

// refcountedArg checks an object whose count is to be raised. That cannot fail if the program owns
// one reference already.
func (c *kfuncs) refcountedArg(m *callMeta, i int) {
	r := c.reg(i + 1)
	if !c.allocated(r) {
		c.badKfuncArg(refusal.NeitherOwningNonOwningRef, i)
	}
	// Whoever owns a reference keeps the count above 0, so that raising it cannot fail.
	if !r.typ.isNonOwning() && (r.ref != 0 || !c.has(since.BorrowedRefcounts)) {
		m.owning = true
	}
	if rec := c.recordOf(r); !rec.has(fieldRefcount) {
		c.badKfuncArg(refusal.NotPointTypeBpfRefcountField, i)
	}
	m.argSpec, m.argID = r.spec, r.tid
}

// fieldArg checks an argument that must be the one timer, work item or task work in a map's value
// (check_map_field_pointer).
func (c *kfuncs) fieldArg(m *callMeta, i int, kind kfArg) {
	n := i + 1
	r := c.reg(n)
	if r.typ != ptrMapValue {
		c.badKfuncArg(refusal.NotPointMapValue, i)
	}
	x := map[kfArg]fieldKind{kaWorkqueue: fieldWorkqueue, kaTaskWork: fieldTaskWork, kaTimer: fieldTimer}[kind]
	mp := c.mapOf(r)
	if !r.Var.IsConst() {
		c.refuse(refusal.NotConstantOffsetConstantOffset, n, x)
	}
	c.arguments.specialField(n, mp, x, x.String())
	m.mapp, m.uid = mp, r.uid
}

// kptrArg checks a pointer to a kptr, whose object the function returns with a reference of the
// program's own (process_kf_arg_ptr_to_kptr). Only a referenced kptr keeps its object.
func (c *kfuncs) kptrArg(k *kfunc, s *btf.Spec, ref *btf.Type) {
	r := c.reg(1)
	if r.typ != ptrMapValue {
		c.refuse(refusal.ExpectedPointerMapValue)
	}
	if !r.Var.IsConst() {
		c.refuse(refusal.KptrMustHaveConstantOffset)
	}
	off := uint64(int64(r.off)) + r.Var.Value
	f := c.mapOf(r).rec.find(uint32(off), fieldKptrRef)
	if f == nil {
		c.refuse(refusal.NoReferencedKptrAtOffset, off)
	}
	// The parameter is a pointer to a pointer.
	object := s.SkipMods(ref.Ref)
	if !c.kernelMem.structMatch(k.spec, object.ID, 0, f.spec, f.tid, true, true) {
		c.refuse(refusal.KptrOfOtherType, k.name, kindText(object.Kind), object.Name)
	}
}

// resLockArg checks a resilient lock (process_spin_lock). The variants that save interrupts are
// another kind of lock: they are released by their own counterpart.
func (c *kfuncs) resLockArg(m *callMeta, i int) {
	n := i + 1
	r := c.reg(n)
	if c.resources.inTreeCallback() && c.has(since.TreeCallbackResLocks) {
		c.refuse(refusal.CannotResSpinLockUnlockInRbtree)
	}
	if r.typ != ptrMapValue && r.typ != ptrBTF|memAlloc {
		c.badKfuncArg(refusal.NotPointMapValueAllocatedObject, i)
	}
	flags := lockRes
	if m.k.is(proto.TakesResLock) {
		flags |= lockTake
	}
	if m.k.is(proto.TakesResLock|proto.DropsResLock) && m.k.is(proto.SavesIRQ|proto.RestoresIRQ) {
		flags |= lockIRQ
	}
	c.resources.spinLock(n, flags)
}

// kfuncMemSize checks memory and its length (check_kfunc_mem_size_reg). Prototypes do not say
// whether the function reads or writes, so both must be allowed.
func (c *kfuncs) kfuncMemSize(m *callMeta, params []btf.Param, i int) bool {
	n := i + 1
	r, sz := c.reg(n), c.reg(n+1)
	c.liveness.readReg(sz)
	optional := hasSuffix(&params[i], "__opt") || hasSuffix(&params[i], "__nullable")
	if !r.isNull() || !optional {
		// The register is taken for one that is not NULL only while the memory is checked.
		saved := *r
		// The function checks for NULL by itself; the rest is checked as if it were not.
		if r.typ.mayBeNull() {
			c.values.notNull(r)
		}
		func() {
			// The kernel adds a log line about the pair.
			defer func() {
				if x := recover(); x != nil {
					if _, ok := x.(refused); ok {
						if c.has(since.RegisterWords) {
							c.say(refusal.RMemoryLenPairLeadsInvalid, n, n+1)
						} else {
							c.say(refusal.ArgArgMemoryLenPairLeads, i, i+1)
						}
					}
					panic(x)
				}
			}()
			c.memory.memSize(n+1, read, true, &callMeta{})
			c.memory.memSize(n+1, write, true, &callMeta{raw: !c.has(since.HelperWrites)})
		}()
		if saved.typ.mayBeNull() {
			*c.reg(n) = saved
		}
	}
	// The length bounds later accesses to the result.
	if hasSuffix(&params[i+1], "__szk") {
		if !sz.Var.IsConst() {
			c.refuse(refusal.MustKnownConstant, n+1)
		}
		m.hasConstant, m.constant = true, sz.Var.Value
	}
	return true
}

// kfuncBTF checks for a pointer to a kernel object of the parameter's type
// (process_kf_arg_ptr_to_btf_id).
func (c *kfuncs) kfuncBTF(m *callMeta, n, i int, ref *btf.Type) {
	k := m.k
	r := c.reg(n)
	spec, id := r.spec, btf.ID(r.tid)
	// Socket pointers of the user API are the kernel's objects under another name (reg2btf_ids).
	if r.typ.base() != ptrBTF || r.typ.unsafeMods() && !r.isRCU() {
		name := c.kernelMem.socketType(r.typ)
		if name == "" {
			c.say(refusal.ArgExpectedSocket, c.argName(i), c.typeName(r.typ), c.typeName(r.typ.base()|r.typ&trustedFlags))
			panic(refused{uapi.EINVAL})
		}
		x, ok := c.kernelType(name)
		if !ok {
			c.unknown("struct %s, which the kernel's BTF does not have", name)
		}
		spec, id = c.kernelSpec(), x
	}
	have := c.specs[spec-1].SkipMods(id)
	// A pointer to the first member has the same address as the whole, and is as good for reading;
	// but references are counted by type, and some types wrap one that is in another state.
	strict := k.flags.has(kfRelease) && r.ref != 0 || nocast(have.Name, ref.Name)
	// The context's type in the user API stands for the kernel's.
	projection := ref.Name == "__sk_buff" && have.Name == "sk_buff" || ref.Name == "xdp_md" && have.Name == "xdp_buff"
	if !projection && !c.kernelMem.structMatch(spec, have.ID, int(r.off), k.spec, ref.ID, strict, c.kernelMem.beyond(r)) {
		c.refuse(refusal.KernelFunctionArgsExpectedPointerBut, k.name, c.argAs("args#", n), kindText(ref.Kind), ref.Name, n, kindText(have.Kind), have.Name)
	}
}

// nocast: a type with the suffix ___init differs from the type without it.
func nocast(a, b string) bool {
	x, y := strings.HasSuffix(a, "___init"), strings.HasSuffix(b, "___init")
	return x != y && strings.TrimSuffix(a, "___init") == strings.TrimSuffix(b, "___init")
}

// kfuncDynptr checks a dynptr (check_kfunc_args). The function decides what kind it makes; a clone
// is of the kind and with the reference of the original, and ends with it.
func (c *kfuncs) kfuncDynptr(m *callMeta, p *btf.Param, n int) {
	k := m.k
	r := c.reg(n)
	var t regType
	if r.typ == constDynptr {
		t |= memRdonly
	}
	if hasSuffix(p, "__uninit") {
		t |= memUninit
	}
	var clone, parent uint32
	if c.has(since.DerivedDynptrs) {
		parent = m.ref
	}
	switch {
	case k.is(proto.DynptrFromSkb):
		t |= dynSkb
	case k.is(proto.DynptrFromXDP):
		t |= dynXDP
	case k.is(proto.DynptrFromMeta):
		t |= dynSkbMeta
	case k.is(proto.DynptrFromFile):
		// A file dynptr keeps the file, and so must be discarded.
		t |= dynFile
	case k.is(proto.DiscardsFileDynptr):
		t |= dynFile | objRelease
		m.release = n
	case k.is(proto.ClonesDynptr) && t&memUninit != 0:
		t |= dynFlag(m.dynType)
		clone, parent = m.dynRef, m.dynRef
	}
	c.arguments.dynptrArg(n, t, clone)
	c.stack.derive(c.reg(n), t, parent)
	// Later arguments and the result depend on the dynptr that is read: its kind, and what it
	// holds.
	if t&memUninit == 0 {
		x := c.arguments.dynptrReg(c.reg(n))
		m.dynID, m.dynType, m.dynRef = x.id, x.dtype, x.ref
	}
}
