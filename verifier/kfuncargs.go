package verifier

import (
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/verifier/since"
)

// kfArg is what a pointer argument of a kernel function has to be.
type kfArg uint8

const (
	kaCtx kfArg = iota
	kaAlloc
	kaRefcounted
	kaDynptr
	kaIter
	kaListHead
	kaListNode
	kaBTF
	kaMem
	kaMemSize
	kaCallback
	kaRoot
	kaNode
	kaNull
	kaString
	kaMap
	kaTimer
	kaWorkqueue
	kaTaskWork
	kaIRQ
	kaResLock
	kaArena
)

func hasSuffix(p *btf.Param, s string) bool { return strings.HasSuffix(p.Name, s) }

// kfuncArgs judges the arguments of a kernel function (check_kfunc_args).
func (e *env) kfuncArgs(m *callMeta) {
	k := m.k
	s := e.specs[k.spec-1]
	params := k.proto.Params
	if len(params) > 5 {
		if proto.KfuncFlags(k.flags)&proto.ImplicitArgs == 0 {
			e.refuse(uapi.EINVAL, "Function %s has %d > %d args", k.name, len(params), 5)
		}
		params = params[:5]
	}
	for i := 0; i < len(params); i++ {
		p := &params[i]
		n := i + 1
		r := e.reg(n)
		if hasSuffix(p, "__ign") || hasSuffix(p, "__prog") {
			continue
		}
		if proto.KfuncFlags(k.flags)&proto.ImplicitArgs != 0 && e.implicit(s, p) {
			continue
		}
		e.readReg(r)
		t := s.SkipMods(p.Type)
		if isScalarType(t) {
			e.kfuncScalar(m, p, n)
			continue
		}
		if t.Kind != btf.KindPtr {
			e.refuse(uapi.EINVAL, "Unrecognized arg#%d type %s", i, t.Kind)
		}
		nullable := hasSuffix(p, "__nullable") || hasSuffix(p, "__opt") && e.rel >= since.R(7, 0)
		needTrust := k.flags.has(kfTrusted) || k.flags.has(kfRelease) && e.rel < since.R(7, 0)
		if (needTrust || k.flags.has(kfRCU)) && (r.isNull() || r.typ.mayBeNull()) && !nullable {
			if e.rel >= since.R(7, 0) {
				e.refuse(uapi.EACCES, "Possibly NULL pointer passed to trusted R%d", n)
			}
			e.refuse(uapi.EACCES, "Possibly NULL pointer passed to trusted arg%d", i)
		}
		if r.ref != 0 {
			m.ref = r.ref
			if k.flags.has(kfRelease) {
				m.release = n
			}
		}
		ref := s.SkipMods(t.Ref)
		kind := e.kfuncArgKind(m, s, params, i, t, ref)
		if kind == kaNull {
			continue
		}
		if kind == kaMap && r.typ != constMap && r.typ.base() != ptrBTF {
			e.refuse(uapi.EINVAL, "pointer in R%d isn't map pointer", n)
		}
		if kind == kaMap && r.typ == constMap {
			mp := e.mapOf(r)
			if m.mapp != nil && (m.mapp != mp || m.uid != r.uid) && (mp.rec.has(fieldWorkqueue) || mp.rec.has(fieldTaskWork)) {
				what := "workqueue"
				if mp.rec.has(fieldTaskWork) {
					what = "bpf_task_work"
				}
				e.refuse(uapi.EINVAL, "%s pointer in R1 map_uid=%d doesn't match map pointer in R2 map_uid=%d", what, m.uid, r.uid)
			}
			m.mapp, m.uid = mp, r.uid
		}
		if (kind == kaMap || kind == kaAlloc || kind == kaBTF) && (needTrust || k.flags.has(kfRCU)) && !e.trusted(r) {
			if !k.flags.has(kfRCU) {
				e.refuse(uapi.EINVAL, "R%d must be referenced or trusted", n)
			}
			if !r.isRCU() {
				e.refuse(uapi.EINVAL, "R%d must be a rcu pointer", n)
			}
		}
		if k.flags.has(kfRelease) && r.ref != 0 {
			if !(kind == kaDynptr && r.typ == ptrStack) {
				if r.off != 0 {
					e.refuse(uapi.EINVAL, "R%d must have zero offset when passed to release func or trusted arg to kfunc", n)
				}
				e.checkOffset(r, n, false)
			}
		} else {
			e.plainOffset(r, n)
		}
		if e.kfuncPointer(m, s, params, i, kind, ref) {
			i++
		}
	}
	if k.flags.has(kfRelease) && m.release == 0 && !k.is("bpf_dynptr_file_discard") {
		if e.rel >= since.R(6, 19) || true {
			e.refuse(uapi.EINVAL, "release kernel function %s expects refcounted PTR_TO_BTF_ID", k.name)
		}
	}
}

// implicit: the kernel passes the argument itself.
func (e *env) implicit(s *btf.Spec, p *btf.Param) bool {
	t := s.SkipMods(p.Type)
	return t.Kind == btf.KindPtr && s.SkipMods(t.Ref).Name == "bpf_prog_aux"
}

func (e *env) kfuncScalar(m *callMeta, p *btf.Param, n int) {
	r := e.reg(n)
	if r.typ != scalar {
		e.refuse(uapi.EINVAL, "R%d is not a scalar", n)
	}
	buf := false
	switch {
	case hasSuffix(p, "__k"):
		if !r.Var.IsConst() {
			e.refuse(uapi.EINVAL, "R%d must be a known constant", n)
		}
		e.precise(n)
		m.hasConstant, m.constant = true, r.Var.Value
	case p.Name == "rdonly_buf_size":
		m.retRdonly, buf = true, true
	case p.Name == "rdwr_buf_size":
		buf = true
	}
	if !buf {
		return
	}
	if m.retSize != 0 {
		e.refuse(uapi.EINVAL, "2 or more rdonly/rdwr_buf_size parameters for kfunc")
	}
	if !r.Var.IsConst() {
		e.refuse(uapi.EINVAL, "R%d is not a const", n)
	}
	m.retSize = r.Var.Value
	if m.retSize > 1<<32-1 {
		e.refuse(uapi.EINVAL, "R%d rdonly/rdwr_buf_size exceeds u32 max", n)
	}
	e.precise(n)
}

var kfArgStructs = map[string]kfArg{
	"bpf_dynptr": kaDynptr, "bpf_dynptr_kern": kaDynptr, "bpf_list_head": kaListHead, "bpf_list_node": kaListNode, "bpf_rb_root": kaRoot,
	"bpf_rb_node": kaNode, "bpf_wq": kaWorkqueue, "bpf_task_work": kaTaskWork, "bpf_res_spin_lock": kaResLock, "bpf_timer": kaTimer,
}

// kfuncArgKind tells what a pointer argument has to be (get_kfunc_ptr_arg_type).
func (e *env) kfuncArgKind(m *callMeta, s *btf.Spec, params []btf.Param, i int, t, ref *btf.Type) kfArg {
	k := m.k
	p := &params[i]
	r := e.reg(i + 1)
	sized := false
	if i+1 < len(params) {
		q := &params[i+1]
		sized = isScalarType(s.SkipMods(q.Type)) && e.reg(i+2).typ == scalar && (hasSuffix(q, "__sz") || hasSuffix(q, "__szk"))
	}
	named, isNamed := kfArg(0), false
	if ref.Kind == btf.KindStruct {
		named, isNamed = kfArgStructs[ref.Name]
	}
	is := func(x kfArg) bool { return isNamed && named == x }
	nullable := hasSuffix(p, "__nullable") || hasSuffix(p, "__opt") && e.rel >= since.R(7, 0)
	if k.is("bpf_cast_to_kern_ctx") || e.rel >= since.R(7, 0) && k.is("bpf_session_is_return", "bpf_session_cookie") {
		return kaCtx
	}
	if nullable && r.isNull() && !is(kaDynptr) && !sized && e.rel >= since.R(6, 15) {
		return kaNull
	}
	if e.isCtxType(s, t) {
		return kaCtx
	}
	if nullable && r.isNull() && !sized {
		return kaNull
	}
	switch {
	case hasSuffix(p, "__alloc"):
		return kaAlloc
	case hasSuffix(p, "__refcounted_kptr"):
		return kaRefcounted
	case is(kaDynptr):
		return kaDynptr
	case k.flags.has(kfIterNew|kfIterNext|kfIterDestroy) && i == 0, hasSuffix(p, "__iter") && !k.flags.has(kfIterNew|kfIterNext|kfIterDestroy):
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
	case is(kaTimer) && e.rel >= since.R(7, 0):
		return kaTimer
	case hasSuffix(p, "__arena"):
		return kaArena
	}
	if r.typ.base() == ptrBTF || e.socketType(r.typ) != "" {
		if ref.Kind != btf.KindStruct && ref.Kind != btf.KindUnion {
			e.refuse(uapi.EINVAL, "kernel function %s args#%d pointer type %s %s is not supported", k.name, i, strings.ToUpper(ref.Kind.String()), ref.Name)
		}
		return kaBTF
	}
	if ref.Kind == btf.KindFuncProto {
		return kaCallback
	}
	if !isScalarType(ref) && !e.scalarStruct(s, ref, 0) && !(sized && ref.Kind == btf.KindVoid) {
		void := ""
		if sized {
			void = "void, "
		}
		if e.rel >= since.R(7, 0) {
			e.refuse(uapi.EINVAL, "R%d pointer type %s %s must point to %sscalar, or struct with scalar", i+1, strings.ToUpper(ref.Kind.String()), ref.Name, void)
		}
		e.refuse(uapi.EINVAL, "arg#%d pointer type %s %s must point to %sscalar, or struct with scalar", i, strings.ToUpper(ref.Kind.String()), ref.Name, void)
	}
	if sized {
		return kaMemSize
	}
	return kaMem
}

// kfuncPointer judges a pointer argument; it returns whether it took the next argument too.
func (e *env) kfuncPointer(m *callMeta, s *btf.Spec, params []btf.Param, i int, kind kfArg, ref *btf.Type) bool {
	k := m.k
	p := &params[i]
	n := i + 1
	r := e.reg(n)
	bad := func(what string) {
		if e.rel >= since.R(7, 0) {
			e.refuse(uapi.EINVAL, "R%d %s", n, what)
		}
		e.refuse(uapi.EINVAL, "arg#%d %s", i, what)
	}
	switch kind {
	case kaCtx:
		if r.typ != ptrCtx {
			bad("expected pointer to ctx, but got " + e.typeName(r.typ))
		}
		if k.is("bpf_cast_to_kern_ctx") {
			m.retID = e.kernelCtx()
		}
	case kaAlloc:
		switch r.typ {
		case ptrBTF | memAlloc:
			if !k.is("bpf_obj_drop") {
				bad("expected for bpf_obj_drop_impl()")
			}
		case ptrBTF | memAlloc | memPercpu:
			if !k.is("bpf_percpu_obj_drop") {
				bad("expected for bpf_percpu_obj_drop_impl()")
			}
		default:
			bad("expected pointer to allocated object")
		}
		if r.ref == 0 {
			e.refuse(uapi.EINVAL, "allocated object must be referenced")
		}
		m.argSpec, m.argID = r.spec, r.tid
	case kaDynptr:
		e.kfuncDynptr(m, p, n)
	case kaIter:
		if k.is("bpf_iter_css_task_new") && e.prog.typ != uapi.ProgTypeLSM && !(e.prog.typ == uapi.ProgTypeTracing && e.p.Attach == uapi.AttachTraceIter) && !e.sleepable() {
			e.refuse(uapi.EINVAL, "css_task_iter is only allowed in bpf_lsm, bpf_iter and sleepable progs")
		}
		e.iterArg(m, n, ref)
	case kaListHead, kaRoot:
		if r.typ != ptrMapValue && r.typ != ptrBTF|memAlloc {
			bad("expected pointer to map value or allocated object")
		}
		if r.typ == ptrBTF|memAlloc && r.ref == 0 {
			e.refuse(uapi.EINVAL, "allocated object must be referenced")
		}
		e.graphRoot(m, n, kind)
	case kaListNode, kaNode:
		e.graphNodeArg(m, n, kind)
	case kaMap:
		if r.typ == constMap {
			break
		}
		id, ok := e.kernelType("bpf_map")
		if !ok {
			e.unknown("struct bpf_map, which the kernel's BTF does not have")
		}
		e.kfuncBTF(m, n, i, e.k.BTF.MustType(id))
	case kaBTF:
		e.kfuncBTF(m, n, i, ref)
	case kaMem:
		size, err := s.Sizeof(ref.ID)
		if err != nil {
			e.refuse(uapi.EINVAL, "arg#%d reference type('%s %s') size cannot be determined: %d", i, strings.ToUpper(ref.Kind.String()), ref.Name, -22)
		}
		e.memReg(n, uint32(size))
	case kaMemSize:
		return e.kfuncMemSize(m, params, i)
	case kaCallback:
		if r.typ != ptrFunc {
			e.refuse(uapi.EINVAL, "arg%d expected pointer to func", i)
		}
		m.sub = int(r.sub)
	case kaRefcounted:
		if !r.typ.isAllocObj() {
			bad("is neither owning or non-owning ref")
		}
		if !r.typ.isNonOwning() && r.ref != 0 {
			m.owning = true
		}
		if rec := e.recordOf(r); !rec.has(fieldRefcount) {
			bad("doesn't point to a type with bpf_refcount field")
		}
		m.argSpec, m.argID = r.spec, r.tid
	case kaString:
		if r.typ != ptrMapValue {
			bad("doesn't point to a const string")
		}
		e.constString(n)
	case kaWorkqueue, kaTaskWork, kaTimer:
		if r.typ != ptrMapValue {
			bad("doesn't point to a map value")
		}
		x := map[kfArg]fieldKind{kaWorkqueue: fieldWorkqueue, kaTaskWork: fieldTaskWork, kaTimer: fieldTimer}[kind]
		mp := e.mapOf(r)
		if !r.Var.IsConst() {
			e.refuse(uapi.EINVAL, "R%d doesn't have constant offset. %s has to be at the constant offset", n, x)
		}
		e.specialField(n, mp, x, x.String())
		m.mapp, m.uid = mp, r.uid
	case kaIRQ:
		if r.typ != ptrStack {
			bad("doesn't point to an irq flag on stack")
		}
		e.irqArg(m, n)
	case kaResLock:
		if r.typ != ptrMapValue && r.typ != ptrBTF|memAlloc {
			bad("doesn't point to map value or allocated object")
		}
		flags := lockRes
		if k.is("bpf_res_spin_lock", "bpf_res_spin_lock_irqsave") {
			flags |= lockTake
		}
		if k.is("bpf_res_spin_lock_irqsave", "bpf_res_spin_unlock_irqrestore") {
			flags |= lockIRQ
		}
		e.spinLock(n, flags)
	case kaArena:
		if r.typ != ptrArena && r.typ != scalar {
			bad("is not a pointer to arena or scalar.")
		}
	}
	return false
}

func (e *env) kfuncMemSize(m *callMeta, params []btf.Param, i int) bool {
	n := i + 1
	r, sz := e.reg(n), e.reg(n+1)
	e.readReg(sz)
	optional := hasSuffix(&params[i], "__opt") || hasSuffix(&params[i], "__nullable")
	if !r.isNull() || !optional {
		saved := *r
		if r.typ.mayBeNull() {
			e.notNull(r)
		}
		func() {
			// The kernel adds a line about the pair.
			defer func() {
				if x := recover(); x != nil {
					if _, ok := x.(refusal); ok {
						if e.rel >= since.R(7, 0) {
							e.verbose("R%d R%d memory, len pair leads to invalid memory access", n, n+1)
						} else {
							e.verbose("arg#%d arg#%d memory, len pair leads to invalid memory access", i, i+1)
						}
					}
					panic(x)
				}
			}()
			e.memSize(n+1, read, true, &callMeta{})
			e.memSize(n+1, write, true, &callMeta{})
		}()
		if saved.typ.mayBeNull() {
			*e.reg(n) = saved
		}
	}
	if hasSuffix(&params[i+1], "__szk") {
		if !sz.Var.IsConst() {
			e.refuse(uapi.EINVAL, "R%d must be a known constant", n+1)
		}
		m.hasConstant, m.constant = true, sz.Var.Value
		if e.rel >= since.R(6, 19) {
			e.precise(n + 1)
		}
	}
	return true
}

// kfuncBTF demands a pointer to a kernel object of the parameter's type (process_kf_arg_ptr_to_btf_id).
func (e *env) kfuncBTF(m *callMeta, n, i int, ref *btf.Type) {
	k := m.k
	r := e.reg(n)
	spec, id := r.spec, btf.ID(r.tid)
	if r.typ.base() != ptrBTF || r.typ.unsafeMods() && !r.isRCU() {
		name := e.socketType(r.typ)
		if name == "" {
			e.verbose("arg#%d is %s expected %s or socket", i, e.typeName(r.typ), e.typeName(r.typ.base()|r.typ&trustedFlags))
			panic(refusal{uapi.EINVAL})
		}
		x, ok := e.kernelType(name)
		if !ok {
			e.unknown("struct %s, which the kernel's BTF does not have", name)
		}
		spec, id = e.kernelSpec(), x
	}
	have := e.specs[spec-1].SkipMods(id)
	strict := k.flags.has(kfRelease) && r.ref != 0 || nocast(have.Name, ref.Name)
	projection := ref.Name == "__sk_buff" && have.Name == "sk_buff" || ref.Name == "xdp_md" && have.Name == "xdp_buff"
	if !projection && !e.structMatch(spec, have.ID, int(r.off), k.spec, ref.ID, strict, !r.typ.isAlloc()) {
		e.refuse(uapi.EINVAL, "kernel function %s args#%d expected pointer to %s %s but R%d has a pointer to %s %s", k.name, i, strings.ToUpper(ref.Kind.String()), ref.Name, n, strings.ToUpper(have.Kind.String()), have.Name)
	}
}

// nocast: a type with the suffix ___init is not the type without it.
func nocast(a, b string) bool {
	x, y := strings.HasSuffix(a, "___init"), strings.HasSuffix(b, "___init")
	return x != y && strings.TrimSuffix(a, "___init") == strings.TrimSuffix(b, "___init")
}

func (e *env) kfuncDynptr(m *callMeta, p *btf.Param, n int) {
	k := m.k
	r := e.reg(n)
	var t regType
	if r.typ == constDynptr {
		t |= memRdonly
	}
	if hasSuffix(p, "__uninit") {
		t |= memUninit
	}
	var clone uint32
	switch {
	case k.is("bpf_dynptr_from_skb"):
		t |= dynSkb
	case k.is("bpf_dynptr_from_xdp"):
		t |= dynXDP
	case k.is("bpf_dynptr_from_skb_meta"):
		t |= dynSkbMeta
	case k.is("bpf_dynptr_from_file"):
		t |= dynFile
	case k.is("bpf_dynptr_file_discard"):
		t |= dynFile | objRelease
		m.release = n
	case k.is("bpf_dynptr_clone") && t&memUninit != 0:
		t |= dynFlag(m.dynType)
		clone = m.dynRef
	}
	e.dynptrArg(n, t, clone)
	if t&memUninit == 0 {
		x := e.dynptrReg(e.reg(n))
		m.dynID, m.dynType, m.dynRef = x.id, x.dtype, x.ref
	}
}

func (e *env) graphRoot(m *callMeta, n int, kind kfArg) {
	r := e.reg(n)
	want, name := fieldListHead, "bpf_list_head"
	if kind == kaRoot {
		want, name = fieldRBRoot, "bpf_rb_root"
	}
	if !r.Var.IsConst() {
		e.refuse(uapi.EINVAL, "R%d doesn't have constant offset. %s has to be at the constant offset", n, name)
	}
	rec := e.recordOf(r)
	off := uint32(r.offset())
	f := rec.find(off, want)
	if f == nil {
		e.refuse(uapi.EINVAL, "%s not found at offset=%d", name, off)
	}
	locked := false
	if e.holdsLock() {
		key := lockOf(r)
		if e.r.stateRefs {
			for _, x := range e.cur.refs {
				locked = locked || x.kind >= refLock && x.lock == key && x.id == r.id
			}
		} else {
			locked = e.cur.lock == key && e.cur.lockID == r.id
		}
		if !locked {
			e.verbose("held lock and object are not in the same allocation")
		}
	}
	if !locked {
		at := int64(-1)
		if l := rec.first(fieldSpinLock | fieldResSpinLock); l != nil {
			at = int64(l.off)
		}
		e.refuse(uapi.EINVAL, "bpf_spin_lock at off=%d must be held for %s", at, name)
	}
	m.root, m.rootRec = f, rec
}

func (e *env) graphNodeArg(m *callMeta, n int, kind kfArg) {
	r := e.reg(n)
	k := m.k
	want, name, head := fieldListNode, "bpf_list_node", "bpf_list_head"
	if kind == kaNode {
		want, name, head = fieldRBNode, "bpf_rb_node", "bpf_rb_root"
	}
	if k.is("bpf_rbtree_remove", "bpf_rbtree_left", "bpf_rbtree_right") {
		if e.rel >= since.R(6, 16) {
			if !r.typ.isNonOwning() && r.ref == 0 {
				e.refuse(uapi.EINVAL, "%s can only take non-owning or refcounted bpf_rb_node pointer", k.name)
			}
		} else if !r.typ.isNonOwning() || r.ref != 0 {
			e.refuse(uapi.EINVAL, "rbtree_remove node input must be non-owning ref")
		}
		if e.inTreeCallback() {
			if e.rel < since.R(6, 16) {
				e.refuse(uapi.EINVAL, "rbtree_remove not allowed in rbtree cb")
			}
			e.refuse(uapi.EINVAL, "%s not allowed in rbtree cb", k.name)
		}
	} else {
		if r.typ != ptrBTF|memAlloc {
			e.refuse(uapi.EINVAL, "arg#%d expected pointer to allocated object", n-1)
		}
		if r.ref == 0 {
			e.refuse(uapi.EINVAL, "allocated object must be referenced")
		}
	}
	if !r.Var.IsConst() {
		e.refuse(uapi.EINVAL, "R%d doesn't have constant offset. %s has to be at the constant offset", n, name)
	}
	off := uint32(r.offset())
	if e.recordOf(r).find(off, want) == nil {
		e.refuse(uapi.EINVAL, "%s not found at offset=%d", name, off)
	}
	f := m.root
	if !e.structMatch(r.spec, btf.ID(r.tid), 0, f.spec, f.tid, true, false) {
		e.refuse(uapi.EINVAL, "operation on %s expects arg#1 %s at offset=%d in struct %s, but arg is at offset=%d in struct %s", head, name, f.nodeOff, e.specName(f.spec, uint32(f.tid)), off, e.specName(r.spec, r.tid))
	}
	m.argSpec, m.argID = r.spec, r.tid
	if off != f.nodeOff {
		e.refuse(uapi.EINVAL, "arg#1 offset=%d, but expected %s at offset=%d in struct %s", off, name, f.nodeOff, e.specName(f.spec, uint32(f.tid)))
	}
}

// irqArg judges a saved interrupt flag (process_irq_flag).
func (e *env) irqArg(m *callMeta, n int) {
	k := m.k
	r := e.reg(n)
	save := k.is("bpf_local_irq_save", "bpf_res_spin_lock_irqsave")
	class := uint8(0)
	if k.is("bpf_res_spin_lock_irqsave", "bpf_res_spin_unlock_irqrestore") {
		class = 1
	}
	spi, errno := e.objectSpi(r, "irq_flag", 1)
	if save {
		if errno != 0 && errno != uapi.ERANGE || errno == 0 && e.funcOf(r).stack[spi].t[0] == slotIRQ {
			e.refuse(uapi.EINVAL, "expected uninitialized irq flag as arg#%d", n-1)
		}
		e.access(e.insn, n, 0, 8, write, -1, false, false)
		r = e.reg(n)
		spi, _ = e.objectSpi(r, "irq_flag", 1)
		f := e.funcOf(r)
		x := ref{kind: refIRQ, id: e.newID(), insn: e.insn}
		e.cur.refs = append(e.cur.refs, x)
		e.cur.irqID = x.id
		sl := &f.stack[spi]
		sl.reg.pointer(ptrStack)
		sl.reg.ref, sl.reg.class = x.id, class
		e.wroteSlot(f, spi)
		for i := range sl.t {
			sl.t[i] = slotIRQ
		}
		return
	}
	if errno != 0 || e.funcOf(r).stack[spi].t[0] != slotIRQ {
		e.refuse(uapi.EINVAL, "expected an initialized irq flag as arg#%d", n-1)
	}
	f := e.funcOf(r)
	sl := &f.stack[spi]
	e.readSlot(f, spi)
	if sl.reg.class != class {
		names := [...]string{"native", "lock"}
		e.refuse(uapi.EINVAL, "irq flag acquired by %s kfuncs cannot be restored with %s kfuncs", names[sl.reg.class], names[class])
	}
	if sl.reg.ref != e.cur.irqID {
		at := 0
		for _, x := range e.cur.refs {
			if x.id == e.cur.irqID {
				at = x.insn
			}
		}
		e.refuse(uapi.EACCES, "cannot restore irq state out of order, expected id=%d acquired at insn_idx=%d", e.cur.irqID, at)
	}
	prev := uint32(0)
	for i := 0; i < len(e.cur.refs); i++ {
		x := &e.cur.refs[i]
		if x.kind == refIRQ && x.id == sl.reg.ref {
			e.removeRef(&e.cur.refs, i)
			i--
		} else if x.kind == refIRQ {
			prev = x.id
		}
	}
	e.cur.irqID = prev
	sl.reg.notInit()
	sl.t = [8]uint8{}
	e.wroteSlot(f, spi)
}
