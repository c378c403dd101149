package verifier

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// helperResult sets r0 to what a helper returns (check_helper_call).
func (c *helpers) helperResult(h *proto.Helper, p *proto.Proto, m *callMeta, percpuObj bool) {
	r0 := c.reg(0)
	flag := argFlags(p.Ret.Flags)
	switch p.Ret.Kind {
	case proto.Integer:
		r0.unknown()
	case proto.Void:
		// What a function without a result leaves in R0 is not for the program.
		r0.typ = notInit
	case proto.RetMapValue:
		if m.mapp == nil {
			c.refuse(refusal.KernelSubsystemMisconfiguredVerifier)
		}
		// The program need not check for what cannot happen.
		if flag&maybeNull != 0 && c.knownElement(m) {
			flag &^= maybeNull
		}
		r0.pointer(ptrMapValue | flag)
		r0.mapp, r0.uid = m.mapp.index, m.uid
		// The lock must be released through the element that it was taken through: each lookup has
		// an id of its own. If the element may be missing, it gets one below.
		if flag&maybeNull == 0 && (m.mapp.rec.has(fieldSpinLock) || m.mapp.rec.has(fieldResSpinLock)) {
			r0.id = c.newID()
		}
	case proto.RetSocket:
		r0.pointer(ptrSocket | flag)
	case proto.RetSockCommon:
		r0.pointer(ptrSockCommon | flag)
	case proto.RetTCPSock:
		r0.pointer(ptrTCPSock | flag)
	case proto.RetRingbufMem:
		// How much may be written is what was reserved.
		r0.pointer(ptrMem | memRingbuf | flag)
		r0.mem = uint32(m.memSize)
	case proto.RetDynptrMem:
		r0.pointer(ptrMem | flag)
		r0.mem = uint32(m.memSize)
	case proto.RetMemOrBTFID:
		c.percpuResult(r0, m, flag, percpuObj)
	case proto.RetBTFID:
		c.btfResult(r0, p, m, flag)
	}
	// Copies share the id, so that a null check of one is one of all (mark_ptr_or_null_regs).
	if r0.typ.mayBeNull() {
		r0.id = c.newID()
	}
	id := h.ID
	if id == uapi.FuncDynptrData {
		r0.dyn = m.dyn
	}
	switch {
	case h.Effects&proto.Casts != 0, id == uapi.FuncDynptrData:
		// Another type of the same object: releasing either ends both.
		r0.ref = m.ref
	case c.acquires(h, m):
		// The id of the pointer is that of the reference: if it is NULL, there is nothing to
		// release.
		r := c.resources.acquire()
		r0.id, r0.ref = r, r
	}
	c.refineResult(id, p, m)
}

// knownElement: a lookup in an array with a constant key within bounds always succeeds.
func (c *helpers) knownElement(m *callMeta) bool {
	if m.id != uapi.FuncMapLookupElem || m.constKey == 0 {
		return false
	}
	return m.constKey-1 < uint64(m.mapp.MaxEntries)
}

// acquires reports whether the result must be released (is_acquire_function). Elements of sockmaps
// are sockets, which a lookup references.
func (c *helpers) acquires(h *proto.Helper, m *callMeta) bool {
	if h.Effects&proto.Acquires != 0 {
		return true
	}
	return h.Effects&proto.AcquiresSocket != 0 && m.mapp != nil && (m.mapp.Type == uapi.MapTypeSockmap || m.mapp.Type == uapi.MapTypeSockhash)
}

// percpuResult: a variable of each CPU, as a struct of the kernel or as that much memory.
func (c *helpers) percpuResult(r0 *reg, m *callMeta, flag regType, obj bool) {
	s := c.specs[m.retSpec-1]
	t := s.SkipMods(btf.ID(m.retID))
	// A number, a pointer or an array is memory of its size.
	if t.Kind != btf.KindStruct && t.Kind != btf.KindUnion {
		n, err := s.Sizeof(t.ID)
		if err != nil {
			c.refuse(refusal.UnableResolveSizeType, t.Name, -22)
		}
		if !c.has(since.PercpuReadOnly) {
			flag &^= memRdonly
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

// btfResult: an object of the kernel, whose type the prototype names or the argument decides.
func (c *helpers) btfResult(r0 *reg, p *proto.Proto, m *callMeta, flag regType) {
	r0.pointer(ptrBTF | flag)
	// What comes out of the field is of the field's type; objects of the program's own types were
	// allocated by it.
	if m.id == uapi.FuncKptrXchg {
		r0.spec, r0.tid = m.kptr.spec, uint32(m.kptr.tid)
		// An object of the program's types is the program's to change and to free.
		if !c.isKernelSpec(r0.spec) {
			r0.typ |= memAlloc
			if m.kptr.kind == fieldKptrPercpu {
				r0.typ |= memPercpu
			}
		}
		return
	}
	id, ok := c.kernelType(p.Ret.BTF)
	if !ok {
		c.unknown("struct %s, which the kernel's BTF does not have", p.Ret.BTF)
	}
	r0.spec, r0.tid = c.kernelSpec(), uint32(id)
}

// refineResult narrows the results of some helpers (do_refine_retval_range).
func (c *helpers) refineResult(id uapi.FuncID, p *proto.Proto, m *callMeta) {
	if p.Ret.Kind != proto.Integer {
		return
	}
	r := c.reg(0)
	// It was missing in the list of helpers whose results are bounded by the buffer.
	if id == uapi.FuncGetTaskStack && !c.has(since.TaskStackResult) {
		return
	}
	switch id {
	case uapi.FuncGetStack, uapi.FuncGetTaskStack, uapi.FuncProbeReadStr, uapi.FuncProbeReadKernelStr, uapi.FuncProbeReadUserStr:
		// On success they return how much they wrote, at most the length of the buffer.
		r.SMax, r.Low.SMax = int64(m.maxSize), int32(m.maxSize)
		r.SMin, r.Low.SMin = -maxErrno, -maxErrno
		r.SyncRanges(c.rules)
	case uapi.FuncGetSmpProcessorId:
		// Compilers and programs use it as an index, whose bound need not be checked then.
		if !c.has(since.CPUNumberRange) {
			return
		}
		n := uint64(c.cpus() - 1)
		r.UMax, r.Low.UMax, r.SMax, r.Low.SMax = n, uint32(n), int64(n), int32(n)
		r.UMin, r.Low.UMin, r.SMin, r.Low.SMin = 0, 0, 0, 0
		r.SyncRanges(c.rules)
	case uapi.FuncGetRetval:
		if rg, ok := c.retvalRange(); ok {
			r.SMin, r.Low.SMin, r.SMax, r.Low.SMax = int64(rg.min), rg.min, int64(rg.max), rg.max
			r.SyncRanges(c.rules)
		}
	}
	c.values.sane(r)
}

// retvalRange is what bpf_get_retval may return, as a range since 7.2: what the hook returns, but
// with getsockopt, where user space may get any number.
func (c *helpers) retvalRange() (retRange, bool) {
	switch {
	case !c.has(since.RetvalForAll):
		return retRange{}, false
	case c.prog.typ == uapi.ProgTypeLSM && c.p.Attach == uapi.AttachLSMCgroup:
		return c.lsmRange()
	}
	getsockopt := c.prog.typ == uapi.ProgTypeCgroupSockopt && c.p.Attach == uapi.AttachCgroupGetsockopt
	return retRange{-maxErrno, 0}, !getsockopt
}

// cpus returns nr_cpu_ids.
func (c *helpers) cpus() int {
	if c.k.CPUs == 0 {
		return 2
	}
	return c.k.CPUs
}
