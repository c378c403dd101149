package verifier

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// helperResult sets r0 to what a helper returns.
func (c *helpers) helperResult(h *proto.Helper, p *proto.Proto, m *callMeta, percpuObj bool) {
	r0 := c.reg(0)
	flag := argFlags(p.Ret.Flags)
	switch p.Ret.Kind {
	case proto.Integer:
		r0.unknown()
	case proto.Void:
		r0.typ = notInit
	case proto.RetMapValue:
		if m.mapp == nil {
			c.refuse(refusal.KernelSubsystemMisconfiguredVerifier)
		}
		if flag&maybeNull != 0 && c.knownElement(m) {
			flag &^= maybeNull
		}
		r0.pointer(ptrMapValue | flag)
		r0.mapp, r0.uid = m.mapp.index, m.uid
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
	if r0.typ.mayBeNull() {
		r0.id = c.newID()
	}
	id := h.ID
	if id == uapi.FuncDynptrData {
		r0.dyn = m.dyn
	}
	switch {
	case h.Effects&proto.Casts != 0, id == uapi.FuncDynptrData:
		r0.ref = m.ref
	case c.acquires(h, m):
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

func (c *helpers) acquires(h *proto.Helper, m *callMeta) bool {
	if h.Effects&proto.Acquires != 0 {
		return true
	}
	return h.Effects&proto.AcquiresSocket != 0 && m.mapp != nil && (m.mapp.Type == uapi.MapTypeSockmap || m.mapp.Type == uapi.MapTypeSockhash)
}

func (c *helpers) percpuResult(r0 *reg, m *callMeta, flag regType, obj bool) {
	s := c.specs[m.retSpec-1]
	t := s.SkipMods(btf.ID(m.retID))
	if t.Kind != btf.KindStruct && t.Kind != btf.KindUnion {
		n, err := s.Sizeof(t.ID)
		if err != nil {
			c.refuse(refusal.UnableResolveSizeType, t.Name, -22)
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

func (c *helpers) btfResult(r0 *reg, p *proto.Proto, m *callMeta, flag regType) {
	r0.pointer(ptrBTF | flag)
	if m.id == uapi.FuncKptrXchg {
		r0.spec, r0.tid = m.kptr.spec, uint32(m.kptr.tid)
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
	if id == uapi.FuncGetTaskStack && !c.has(since.TaskStackResult) {
		return
	}
	switch id {
	case uapi.FuncGetStack, uapi.FuncGetTaskStack, uapi.FuncProbeReadStr, uapi.FuncProbeReadKernelStr, uapi.FuncProbeReadUserStr:
		r.SMax, r.Low.SMax = int64(m.maxSize), int32(m.maxSize)
		r.SMin, r.Low.SMin = -maxErrno, -maxErrno
		r.Sync(c.rules)
	case uapi.FuncGetSmpProcessorId:
		if !c.has(since.CPUNumberRange) {
			return
		}
		n := uint64(c.cpus() - 1)
		r.UMax, r.Low.UMax, r.SMax, r.Low.SMax = n, uint32(n), int64(n), int32(n)
		r.UMin, r.Low.UMin, r.SMin, r.Low.SMin = 0, 0, 0, 0
		r.Sync(c.rules)
	case uapi.FuncGetRetval:
		if rg, ok := c.retvalRange(); ok {
			r.SMin, r.Low.SMin, r.SMax, r.Low.SMax = int64(rg.min), rg.min, int64(rg.max), rg.max
			r.Sync(c.rules)
		}
	}
	c.values.sane(r)
}

// retvalRange is what bpf_get_retval may return: that of LSM hooks is known since 6.19, and that of
// other hooks but getsockopt, where user space may get any number, since 7.2.
func (c *helpers) retvalRange() (retRange, bool) {
	switch {
	case c.prog.typ == uapi.ProgTypeLSM && c.p.Attach == uapi.AttachLSMCgroup:
		if c.has(since.CgroupLSMRetval) {
			return c.lsmRange()
		}
	case c.has(since.RetvalForAll):
		getsockopt := c.prog.typ == uapi.ProgTypeCgroupSockopt && c.p.Attach == uapi.AttachCgroupGetsockopt
		return retRange{-maxErrno, 0}, !getsockopt
	}
	return retRange{}, false
}

// cpus returns nr_cpu_ids.
func (c *helpers) cpus() int {
	if c.k.CPUs == 0 {
		return 2
	}
	return c.k.CPUs
}
