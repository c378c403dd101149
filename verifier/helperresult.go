package verifier

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/verifier/since"
)

// helperResult makes r0 what a helper returns.
func (e *env) helperResult(h *proto.Helper, p *proto.Proto, m *callMeta, percpuObj bool) {
	r0 := e.reg(0)
	flag := argFlags(p.Ret.Flags)
	switch p.Ret.Kind {
	case proto.Integer:
		r0.unknown()
	case proto.Void:
		r0.typ = notInit
	case proto.RetMapValue:
		if m.mapp == nil {
			e.refuse(uapi.EINVAL, "kernel subsystem misconfigured verifier")
		}
		if flag&maybeNull != 0 && e.knownElement(m) {
			flag &^= maybeNull
		}
		r0.pointer(ptrMapValue | flag)
		r0.mapp, r0.uid = m.mapp.index, m.uid
		if flag&maybeNull == 0 && (m.mapp.rec.has(fieldSpinLock) || m.mapp.rec.has(fieldResSpinLock)) {
			r0.id = e.newID()
		}
	case proto.RetSocket:
		r0.pointer(ptrSocket | flag)
	case proto.RetSockCommon:
		r0.pointer(ptrSockCommon | flag)
	case proto.RetTCPSock:
		r0.pointer(ptrTCPSock | flag)
	case proto.RetRingbufMem:
		r0.pointer(ptrMem | memRingbuf | flag)
		r0.mem = uint32(m.memSize)
	case proto.RetDynptrMem:
		r0.pointer(ptrMem | flag)
		r0.mem = uint32(m.memSize)
	case proto.RetMemOrBTFID:
		e.percpuResult(r0, m, flag, percpuObj)
	case proto.RetBTFID:
		e.btfResult(r0, p, m, flag)
	}
	if r0.typ.mayBeNull() {
		r0.id = e.newID()
	}
	id := h.ID
	if id == uapi.FuncDynptrData {
		r0.dyn = m.dyn
	}
	switch {
	case h.Effects&proto.Casts != 0, id == uapi.FuncDynptrData:
		r0.ref = m.ref
	case e.acquires(h, m):
		r := e.acquire()
		r0.id, r0.ref = r, r
	}
	e.refineResult(id, p, m)
}

// knownElement: a lookup in an array with a constant key below its size finds something.
func (e *env) knownElement(m *callMeta) bool {
	if m.id != uapi.FuncMapLookupElem || m.constKey == 0 {
		return false
	}
	return m.constKey-1 < uint64(m.mapp.MaxEntries)
}

// noteKey remembers a key that is constant (get_constant_map_key): arrays have an element for it.
func (e *env) noteKey(n int, m *callMeta) {
	if !e.has(since.KnownKeyLookup) {
		return
	}
	if t := m.mapp.Type; t != uapi.MapTypeArray && t != uapi.MapTypePercpuArray {
		return
	}
	r := e.reg(n)
	if r.typ != ptrStack || !r.Var.IsConst() {
		return
	}
	size := int(m.mapp.KeySize)
	off := int(r.offset())
	slotOff := -off - 1
	spi := slotOff / 8
	f := e.funcOf(r)
	if spi < 0 || spi >= len(f.stack) {
		return
	}
	s := &f.stack[spi]
	at := slotOff % 8
	zeros, spills := 0, 0
	for i := at; i >= 0 && at-i < size; i-- {
		if s.t[i] != slotZero {
			break
		}
		zeros++
	}
	if zeros >= size {
		m.constKey = 1
		return
	}
	if !s.isScalarSpill() {
		return
	}
	for i := at; i >= 0; i-- {
		if s.t[i] != slotSpill {
			break
		}
		spills++
	}
	if spills != size {
		return
	}
	if !s.reg.Var.IsConst() {
		return
	}
	key := s.reg.Var.Value
	// The key has to be compared exactly from now on.
	e.bt.stacks[r.frame] |= 1 << spi
	e.bt.frame = e.cur.curFrame
	e.markChain(e.cur, e.insn, nil)
	if key < uint64(m.mapp.MaxEntries) {
		m.constKey = key + 1
	}
}

func (e *env) acquires(h *proto.Helper, m *callMeta) bool {
	if h.Effects&proto.Acquires != 0 {
		return true
	}
	return h.Effects&proto.AcquiresSocket != 0 && m.mapp != nil && (m.mapp.Type == uapi.MapTypeSockmap || m.mapp.Type == uapi.MapTypeSockhash)
}

func (e *env) percpuResult(r0 *reg, m *callMeta, flag regType, obj bool) {
	s := e.specs[m.retSpec-1]
	t := s.SkipMods(btf.ID(m.retID))
	if t.Kind != btf.KindStruct && t.Kind != btf.KindUnion {
		n, err := s.Sizeof(t.ID)
		if err != nil {
			e.refuse(uapi.EINVAL, "unable to resolve the size of type '%s': %d", t.Name, -22)
		}
		r0.pointer(ptrMem | flag)
		r0.mem = uint32(n)
		return
	}
	if obj {
		r0.pointer(ptrBTF | memAlloc | memRCU)
	} else {
		r0.pointer(ptrBTF | flag&^memRdonly)
	}
	r0.spec, r0.tid = m.retSpec, m.retID
}

func (e *env) btfResult(r0 *reg, p *proto.Proto, m *callMeta, flag regType) {
	r0.pointer(ptrBTF | flag)
	if m.id == uapi.FuncKptrXchg {
		r0.spec, r0.tid = m.kptr.spec, uint32(m.kptr.tid)
		if !e.isKernelSpec(r0.spec) {
			r0.typ |= memAlloc
			if m.kptr.kind == fieldKptrPercpu {
				r0.typ |= memPercpu
			}
		}
		return
	}
	id, ok := e.kernelType(p.Ret.BTF)
	if !ok {
		e.unknown("struct %s, which the kernel's BTF does not have", p.Ret.BTF)
	}
	r0.spec, r0.tid = e.kernelSpec(), uint32(id)
}

// refineResult narrows what some helpers return (do_refine_retval_range).
func (e *env) refineResult(id uapi.FuncID, p *proto.Proto, m *callMeta) {
	if p.Ret.Kind != proto.Integer {
		return
	}
	r := e.reg(0)
	switch id {
	case uapi.FuncGetStack, uapi.FuncGetTaskStack, uapi.FuncProbeReadStr, uapi.FuncProbeReadKernelStr, uapi.FuncProbeReadUserStr:
		r.SMax, r.SMax32 = int64(m.maxSize), int32(m.maxSize)
		r.SMin, r.SMin32 = -maxErrno, -maxErrno
		r.Sync(e.rules)
	case uapi.FuncGetSmpProcessorId:
		if e.rel < since.R(6, 8) {
			return
		}
		n := uint64(e.cpus() - 1)
		r.UMax, r.UMax32, r.SMax, r.SMax32 = n, uint32(n), int64(n), int32(n)
		r.UMin, r.UMin32, r.SMin, r.SMin32 = 0, 0, 0, 0
		r.Sync(e.rules)
	case uapi.FuncGetRetval:
		if e.rel >= since.R(6, 19) && e.prog.typ == uapi.ProgTypeLSM && e.p.Attach == uapi.AttachLSMCgroup {
			if rg, ok := e.lsmRange(); ok {
				r.SMin, r.SMin32, r.SMax, r.SMax32 = int64(rg.min), rg.min, int64(rg.max), rg.max
				r.Sync(e.rules)
			}
		}
	}
	e.sane(r)
}

// cpus is nr_cpu_ids.
func (e *env) cpus() int { return 2 }
