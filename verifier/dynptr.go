package verifier

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/verifier/since"
)

// objectSpi is the slot where an object of n slots on the stack starts (its highest); the error is EINVAL when it cannot be one,
// ERANGE when the stack is not that deep.
func (e *env) objectSpi(r *reg, what string, n int) (int, uapi.Errno) {
	if !r.Var.IsConst() {
		e.verbose("%s has to be at a constant offset", what)
		return 0, uapi.EINVAL
	}
	off := int(r.offset())
	spi := spiOf(off)
	if off%8 != 0 || spi+1 < n {
		e.verbose("cannot pass in %s at an offset=%d", what, off)
		return 0, uapi.EINVAL
	}
	if f := e.funcOf(r); spi-n+1 < 0 || spi >= len(f.stack) {
		return 0, uapi.ERANGE
	}
	return spi, 0
}

func (e *env) dynptrSpi(r *reg) (int, uapi.Errno) { return e.objectSpi(r, "dynptr", 2) }

func dynRefcounted(t uint8) bool { return t == dynTypeRingbuf || t == dynTypeFile }

func dynTypeOf(t regType) uint8 {
	switch t & dynMask {
	case dynLocal:
		return dynTypeLocal
	case dynRingbuf:
		return dynTypeRingbuf
	case dynSkb:
		return dynTypeSkb
	case dynXDP:
		return dynTypeXDP
	case dynSkbMeta:
		return dynTypeSkbMeta
	case dynFile:
		return dynTypeFile
	}
	return dynInvalid
}

func dynFlag(t uint8) regType {
	return [...]regType{dynInvalid: 0, dynTypeLocal: dynLocal, dynTypeRingbuf: dynRingbuf, dynTypeSkb: dynSkb, dynTypeXDP: dynXDP, dynTypeSkbMeta: dynSkbMeta, dynTypeFile: dynFile}[t]
}

var dynNames = [...]string{dynInvalid: "<invalid>", dynTypeLocal: "local", dynTypeRingbuf: "ringbuf", dynTypeSkb: "skb", dynTypeXDP: "xdp", dynTypeSkbMeta: "skb_meta", dynTypeFile: "file"}

func markDynReg(r *reg, t uint8, first bool, id uint32) {
	r.pointer(constDynptr)
	r.id = id
	r.dtype, r.first = t, first
}

// markDynptr makes two slots of the stack a dynptr (mark_stack_slots_dynptr).
func (e *env) markDynptr(r *reg, t regType, clone uint32) {
	f := e.funcOf(r)
	spi, errno := e.dynptrSpi(r)
	if errno != 0 {
		panic(refusal{errno})
	}
	e.destroyDynptr(f, spi)
	e.destroyDynptr(f, spi-1)
	a, b := &f.stack[spi], &f.stack[spi-1]
	for i := range a.t {
		a.t[i], b.t[i] = slotDynptr, slotDynptr
	}
	d := dynTypeOf(t)
	if d == dynInvalid {
		panic(refusal{uapi.EINVAL})
	}
	id := e.newID()
	markDynReg(&a.reg, d, true, id)
	markDynReg(&b.reg, d, false, id)
	if dynRefcounted(d) {
		if clone == 0 {
			clone = e.acquire()
		}
		a.reg.ref, b.reg.ref = clone, clone
	}
	e.wroteSlot(f, spi)
	e.wroteSlot(f, spi-1)
	e.log.touchSlot(f.no, spi)
	e.log.touchSlot(f.no, spi-1)
}

func (e *env) clearDynptr(f *frame, spi int) {
	for _, s := range []*slot{&f.stack[spi], &f.stack[spi-1]} {
		s.t = [8]uint8{}
		s.reg.notInit()
	}
	e.wroteSlot(f, spi)
	e.wroteSlot(f, spi-1)
}

// unmarkDynptr ends a dynptr; all clones of one with a reference end with it.
func (e *env) unmarkDynptr(r *reg) {
	f := e.funcOf(r)
	spi, errno := e.dynptrSpi(r)
	if errno != 0 {
		panic(refusal{errno})
	}
	if !dynRefcounted(f.stack[spi].reg.dtype) {
		e.clearDynptr(f, spi)
		return
	}
	id := f.stack[spi].reg.ref
	e.release(id)
	for i := 1; i < len(f.stack); i++ {
		if s := &f.stack[i]; s.reg.ref == id && s.t[0] == slotDynptr && s.reg.first {
			e.clearDynptr(f, i)
		}
	}
}

// destroyDynptr: a store into a dynptr ends it.
func (e *env) destroyDynptr(f *frame, spi int) {
	if spi < 0 || spi >= len(f.stack) || f.stack[spi].t[0] != slotDynptr {
		return
	}
	if !f.stack[spi].reg.first {
		spi++
	}
	s := &f.stack[spi]
	if dynRefcounted(s.reg.dtype) {
		ok := false
		if e.rel >= since.R(6, 19) {
			for i := range f.stack {
				ok = ok || i != spi && f.stack[i].t[0] == slotDynptr && f.stack[i].reg.first && f.stack[i].reg.ref == s.reg.ref
			}
		}
		if !ok {
			e.refuse(uapi.EINVAL, "cannot overwrite referenced dynptr")
		}
	}
	id := s.reg.id
	e.cur.eachReg(spillMask, func(x *reg) {
		if (x.typ == ptrMem|maybeNull || x.typ == ptrMem || e.rel >= since.R(6, 13) && x.typ.base() == ptrMem) && x.dyn == id && id != 0 {
			e.invalidate(x)
		}
	})
	e.clearDynptr(f, spi)
}

// dynptrArg judges a dynptr argument (process_dynptr_func).
func (e *env) dynptrArg(n int, t regType, clone uint32) {
	r := e.reg(n)
	if r.typ != ptrStack && r.typ != constDynptr {
		if e.rel >= since.R(7, 0) {
			e.refuse(uapi.EINVAL, "R%d expected pointer to stack or const struct bpf_dynptr", n)
		}
		e.refuse(uapi.EINVAL, "arg#%d expected pointer to stack or const struct bpf_dynptr", n-1)
	}
	if t&memUninit != 0 {
		if !e.dynptrFree(r) {
			e.refuse(uapi.EINVAL, "Dynptr has to be an uninitialized dynptr")
		}
		for i := 0; i < 16; i += 8 {
			e.access(e.insn, n, i, 8, write, -1, false, false)
		}
		e.markDynptr(e.reg(n), t, clone)
		return
	}
	if r.typ == constDynptr && e.has(since.ConstDynptr) {
		if t&objRelease != 0 {
			e.refuse(uapi.EINVAL, "CONST_PTR_TO_DYNPTR cannot be released")
		}
	} else if r.typ == constDynptr && t&memRdonly == 0 && e.rel >= since.R(6, 2) {
		e.refuse(uapi.EINVAL, "cannot pass pointer to const bpf_dynptr, the helper mutates it")
	}
	if !e.dynptrValid(r) {
		if e.rel >= since.R(7, 0) {
			e.refuse(uapi.EINVAL, "Expected an initialized dynptr as R%d", n)
		}
		e.refuse(uapi.EINVAL, "Expected an initialized dynptr as arg #%d", n-1+b2i(e.rel < since.R(6, 3)))
	}
	if want := dynTypeOf(t); want != dynInvalid && e.dynptrType(r) != want {
		if e.rel >= since.R(7, 0) {
			e.refuse(uapi.EINVAL, "Expected a dynptr of type %s as R%d", dynNames[want], n)
		}
		e.refuse(uapi.EINVAL, "Expected a dynptr of type %s as arg #%d", dynNames[want], n-1+b2i(e.rel < since.R(6, 3)))
	}
	if r.typ == constDynptr {
		return
	}
	spi, _ := e.dynptrSpi(r)
	f := e.funcOf(r)
	e.readSlot(f, spi)
	e.readSlot(f, spi-1)
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (e *env) dynptrFree(r *reg) bool {
	if r.typ == constDynptr {
		return false
	}
	_, errno := e.dynptrSpi(r)
	return errno == 0 || errno == uapi.ERANGE
}

func (e *env) dynptrValid(r *reg) bool {
	if r.typ == constDynptr {
		return true
	}
	spi, errno := e.dynptrSpi(r)
	if errno != 0 {
		return false
	}
	f := e.funcOf(r)
	if !f.stack[spi].reg.first || f.stack[spi].t[7] != slotDynptr {
		return false
	}
	for i := range f.stack[spi].t {
		if f.stack[spi].t[i] != slotDynptr || f.stack[spi-1].t[i] != slotDynptr {
			return false
		}
	}
	return true
}

// dynptrReg is the register state of the dynptr an argument points to.
func (e *env) dynptrReg(r *reg) *reg {
	if r.typ == constDynptr {
		return r
	}
	spi, errno := e.dynptrSpi(r)
	if errno != 0 {
		panic(refusal{errno})
	}
	return &e.funcOf(r).stack[spi].reg
}

func (e *env) dynptrID(r *reg) uint32  { return e.dynptrReg(r).id }
func (e *env) dynptrRef(r *reg) uint32 { return e.dynptrReg(r).ref }
func (e *env) dynptrType(r *reg) uint8 { return e.dynptrReg(r).dtype }

// timerArg judges the timer argument of a helper (process_timer_func).
func (e *env) timerArg(n int, m *callMeta) {
	r := e.reg(n)
	mp := e.mapOf(r)
	if !r.Var.IsConst() {
		e.refuse(uapi.EINVAL, "R%d doesn't have constant offset. bpf_timer has to be at the constant offset", n)
	}
	if mp.BTF == nil {
		e.refuse(uapi.EINVAL, "map '%s' has to have BTF in order to use bpf_timer", mp.Name)
	}
	e.specialField(n, mp, fieldTimer, "bpf_timer")
	m.mapp, m.uid = mp, r.uid
}

func (e *env) specialField(n int, mp *mapInfo, k fieldKind, name string) {
	r := e.reg(n)
	f := mp.rec.first(k)
	if f == nil {
		e.refuse(uapi.EINVAL, "map '%s' has no valid %s", mp.Name, name)
	}
	if at := r.offset(); int64(f.off) != at {
		e.refuse(uapi.EINVAL, "off %d doesn't point to 'struct %s' that is at %d", at, name, f.off)
	}
}

// kptrArg judges the place of a kptr that is exchanged (process_kptr_func).
func (e *env) kptrArg(n int, m *callMeta) {
	r := e.reg(n)
	var rec *record
	if r.typ.isAllocObj() {
		rec = e.recordOf(r)
	} else {
		m.mapp = e.mapOf(r)
		if m.mapp.BTF == nil {
			e.refuse(uapi.EINVAL, "map '%s' has to have BTF in order to use bpf_kptr_xchg", m.mapp.Name)
		}
		rec = &m.mapp.rec
	}
	if !r.Var.IsConst() {
		e.refuse(uapi.EINVAL, "R%d doesn't have constant offset. kptr has to be at the constant offset", n)
	}
	if !rec.has(kptrKinds) {
		e.refuse(uapi.EINVAL, "R%d has no valid kptr", n)
	}
	off := uint32(r.offset())
	f := rec.find(off, kptrKinds)
	if f == nil {
		e.refuse(uapi.EACCES, "off=%d doesn't point to kptr", off)
	}
	if f.kind != fieldKptrRef && f.kind != fieldKptrPercpu {
		e.refuse(uapi.EACCES, "off=%d kptr isn't referenced kptr", off)
	}
	m.kptr = f
}

// accessKptr judges a load or store of a kptr (check_map_kptr_access).
func (e *env) accessKptr(insn, value int, f *field) {
	in := &e.insns[insn]
	if mode(in) != modeMEM {
		e.refuse(uapi.EACCES, "kptr in map can only be accessed using BPF_MEM instruction mode")
	}
	if class(in) != clsLDX && (f.kind == fieldKptrRef || f.kind == fieldKptrPercpu) {
		e.refuse(uapi.EACCES, "store to referenced kptr disallowed")
	}
	if class(in) != clsLDX && f.kind == fieldUptr {
		e.refuse(uapi.EACCES, "store to uptr disallowed")
	}
	switch class(in) {
	case clsLDX:
		v := e.reg(value)
		if f.kind == fieldUptr {
			s := e.specs[f.spec-1]
			v.pointer(ptrMem | maybeNull)
			v.mem = s.MustType(f.tid).Size
			v.id = e.newID()
			return
		}
		v.pointer(ptrBTF | e.kptrFlags(f))
		v.spec, v.tid = f.spec, uint32(f.tid)
		v.id = e.newID()
	case clsSTX:
		v := e.reg(value)
		if v.isNull() {
			e.precise(value)
			return
		}
		if !e.kptrMatch(f, v, value) {
			panic(refusal{uapi.EACCES})
		}
	case clsST:
		if in.Imm != 0 {
			e.refuse(uapi.EACCES, "BPF_ST imm must be 0 when storing to kptr at off=%d", f.off)
		}
	}
}

var rcuTypes = map[string]since.Release{"prog_test_ref_kfunc": since.R(6, 4), "cgroup": since.R(6, 4), "bpf_cpumask": since.R(6, 4), "task_struct": since.R(6, 4), "bpf_crypto_ctx": since.R(6, 10)}

// kptrFlags is how far a kptr that was loaded can be trusted (btf_ld_kptr_type).
func (e *env) kptrFlags(f *field) regType {
	if e.rel < since.R(6, 4) {
		return maybeNull | ptrUntrusted
	}
	safe := f.kind == fieldKptrPercpu
	if f.kind == fieldKptrRef {
		safe = !e.isKernelSpec(f.spec)
		if from, ok := rcuTypes[e.specName(f.spec, uint32(f.tid))]; ok && from <= e.rel {
			safe = true
		}
	}
	if !safe || !e.inRCU() {
		return maybeNull | ptrUntrusted
	}
	t := maybeNull | memRCU
	switch {
	case f.kind == fieldKptrPercpu:
		t |= memPercpu
	case !e.isKernelSpec(f.spec):
		t |= memAlloc
		if r := e.objectRecord(f.spec, f.tid); r.has(fieldListNode | fieldRBNode) {
			t |= nonOwnRef
		}
	}
	return t
}

// kptrMatch demands a pointer of the type a kptr holds (map_kptr_match_type).
func (e *env) kptrMatch(f *field, r *reg, n int) bool {
	ok := false
	name := ""
	if r.typ.base() == ptrBTF {
		perm := maybeNull
		if e.isKernelSpec(r.spec) {
			perm |= ptrTrusted | memRCU
			if f.kind == fieldKptrUnref {
				perm |= ptrUntrusted
			}
		} else {
			perm |= memAlloc
			if f.kind == fieldKptrPercpu {
				perm |= memPercpu
			}
		}
		if r.typ.flags()&^perm == 0 && (f.kind == fieldKptrPercpu) == (r.typ&memPercpu != 0) {
			name = e.specName(r.spec, r.tid)
			e.checkOffset(r, n, true)
			ok = e.structMatch(r.spec, btf.ID(r.tid), int(r.off), f.spec, f.tid, f.kind != fieldKptrUnref, !r.typ.isAlloc())
		}
	}
	if !ok {
		text := ""
		if f.kind == fieldKptrUnref {
			text = " or " + e.typeName(ptrBTF|ptrUntrusted) + e.specName(f.spec, uint32(f.tid))
		}
		e.verbose("invalid kptr access, R%d type=%s%s expected=%s%s%s", n, e.typeName(r.typ), name, e.typeName(ptrBTF), e.specName(f.spec, uint32(f.tid)), text)
		return false
	}
	return true
}
