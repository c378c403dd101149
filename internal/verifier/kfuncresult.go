package verifier

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// kfuncResult sets r0 to what a kernel function returns, by its prototype, its flags and its
// arguments (check_kfunc_call).
func (c *kfuncs) kfuncResult(m *callMeta) {
	k := m.k
	s := c.specs[k.spec-1]
	r0 := c.reg(0)
	t := s.SkipMods(k.proto.Ref)
	// References are kept for objects only. An argument tells the type of an object of the program.
	if k.flags.has(kfAcquire) && t.Kind == btf.KindPtr && !k.is(proto.NewObject|proto.NewPercpu|proto.CountsReference) {
		if to := s.SkipMods(t.Ref); to.Kind != btf.KindStruct && to.Kind != btf.KindUnion {
			c.refuse(refusal.AcquireReturnsNoObject)
		}
	}
	switch t.Kind {
	case btf.KindVoid:
		return
	case btf.KindInt, btf.KindEnum, btf.KindEnum64:
		// Of a number nothing is known, not even its width.
		r0.unknown()
		// This is the path on which the lock was taken.
		if k.is(proto.TakesResLock) {
			r0.constant(0)
		}
		return
	case btf.KindPtr:
	default:
		return
	}
	pt := s.SkipMods(t.Ref)
	if c.kfuncSpecialResult(m, r0) {
	} else if pt.Kind == btf.KindVoid {
		r0.unknown() // an address of an arena too: a cast makes it a pointer
	} else if pt.Kind != btf.KindStruct && pt.Kind != btf.KindUnion {
		c.kfuncMemory(m, r0, s, pt)
	} else {
		typ := ptrBTF
		// How far the object may be used follows from what keeps it: nothing, an RCU read-side
		// section, the iterator, or the kernel's promise for all results.
		switch {
		case k.is(proto.ReturnsUntrusted):
			typ |= ptrUntrusted
		case k.flags.has(kfRCUProtected) && c.has(since.RCUProtectedKfuncs):
			typ |= memRCU
		case k.flags.has(kfIterNext) && c.iterReg(m).typ&memRCU != 0:
			typ |= memRCU
		case k.flags.has(kfIterNext), c.has(since.KfuncResultsTrusted):
			typ |= ptrTrusted
		}
		r0.pointer(typ)
		r0.spec, r0.tid = k.spec, uint32(pt.ID)
	}
	// Whoever owns a reference can always have another (see refcountedArg).
	retNull := k.flags.has(kfRetNull) && !(k.is(proto.CountsReference) && m.owning)
	if retNull {
		r0.typ |= maybeNull
		r0.id = c.newID()
	}
	if k.flags.has(kfAcquire) {
		id := c.resources.acquire()
		if retNull {
			r0.id = id
		}
		r0.ref = id
	} else if k.is(proto.PeeksNode) {
		c.resources.nonOwning(r0)
	}
	// A lock in the object must be released through the same object.
	if r0.id == 0 && c.resources.mayHoldLock(r0) {
		r0.id = c.newID()
	}
}

// kfuncMemory makes the result memory of a plain type.
func (c *kfuncs) kfuncMemory(m *callMeta, r0 *reg, s *btf.Spec, pt *btf.Type) {
	k := m.k
	size := m.retSize
	rdonly := m.retRdonly
	// A pointer to a plain type may be read as far as that type goes; only a size among the
	// arguments says that there is more, or that it may be written.
	if size == 0 {
		if n, err := s.Sizeof(pt.ID); err == nil && n > 0 {
			size, rdonly = uint64(n), true
		}
	}
	if size == 0 {
		c.refuse(refusal.KernelFunctionReturnsPointerTypeNot, k.name, kindText(pt.Kind), pt.Name)
	}
	r0.pointer(ptrMem)
	r0.mem = uint32(size)
	if rdonly {
		r0.typ |= memRdonly
	}
	// The memory belongs to an argument, and is invalid once that is released.
	if m.ref != 0 {
		r0.ref = m.ref
	}
	if k.flags.has(kfRCUProtected) && c.has(since.RCUProtectedKfuncs) {
		r0.typ |= memRCU
	}
}

// kfuncSpecialResult handles functions whose result depends on an argument (check_special_kfunc).
func (c *kfuncs) kfuncSpecialResult(m *callMeta, r0 *reg) bool {
	k := m.k
	switch {
	case k.is(proto.NewObject | proto.NewPercpu):
		c.objNew(m, r0)
	case k.is(proto.CountsReference):
		r0.pointer(ptrBTF | memAlloc)
		r0.spec, r0.tid = m.argSpec, m.argID
	case k.is(proto.ReturnsNode):
		if m.root == nil {
			c.unknown("result of %s", k.name)
		}
		graphNode(r0, m.root)
	case k.is(proto.CastsToContext):
		r0.pointer(ptrBTF | ptrTrusted)
		r0.spec, r0.tid = k.spec, m.retID
	case k.is(proto.CastsReadOnly):
		// The program says what is there, and may be wrong: loads are probed, and nothing else is
		// allowed.
		s := c.specs[k.spec-1]
		// The type is one of the kernel's, by its id.
		if m.constant >= uint64(s.NumTypes()) {
			c.refuse(refusal.UnknownTypeIDPassedKfuncBpf, m.constant)
		}
		t := s.SkipMods(btf.ID(m.constant))
		switch {
		case t.Kind == btf.KindStruct || t.Kind == btf.KindUnion:
			r0.pointer(ptrBTF | ptrUntrusted)
			r0.spec, r0.tid = k.spec, uint32(t.ID)
		case t.Kind == btf.KindVoid && c.has(since.RdonlyCastVoid):
			r0.pointer(ptrMem | memRdonly | ptrUntrusted)
		default:
			if c.has(since.RdonlyCastVoid) {
				c.refuse(refusal.KfuncBpfRdonlyCastTypeID)
			}
			c.refuse(refusal.KfuncBpfRdonlyCastTypeID2)
		}
	case k.is(proto.SlicesDynptr):
		// The slice ends with the dynptr. A writable one of a packet must be one that the program
		// may write.
		r0.pointer(ptrMem | dynFlag(m.dynType))
		r0.mem = uint32(m.constant)
		if k.is(proto.SlicesReadOnly) {
			r0.typ |= memRdonly
		} else if !c.contexts.packetAccess(nil, write) {
			c.refuse(refusal.ProgDoesNotAllowWritesPacket)
		}
		r0.dyn = m.dynID
	default:
		return false
	}
	return true
}

// graphNode makes a pointer to the node in an object that a list or tree contains; the object
// itself begins where the root's declaration says (mark_reg_graph_node).
func graphNode(r *reg, f *field) {
	r.pointer(ptrBTF | memAlloc)
	r.spec, r.tid, r.off = f.spec, uint32(f.tid), int32(f.nodeOff)
}

// objNew checks the type to allocate: a struct of the program's BTF, with whose special fields the
// kernel initialises the memory. Those of per-CPU memory nobody would initialise or free.
func (c *kfuncs) objNew(m *callMeta, r0 *reg) {
	if m.constant > 1<<32-1 {
		c.refuse(refusal.LocalTypeIDArgumentMustIn)
	}
	// The type's id is one of the program's own types.
	if c.p.BTF == nil {
		c.refuse(refusal.BpfObjNewBpfPercpuObj)
	}
	spec := c.addSpec(c.p.BTF)
	if m.constant >= uint64(c.p.BTF.NumTypes()) || c.p.BTF.Kind(btf.ID(m.constant)) != btf.KindStruct {
		c.refuse(refusal.BpfObjNewBpfPercpuObj2)
	}
	percpu := m.k.is(proto.NewPercpu)
	id := btf.ID(m.constant)
	t := c.p.BTF.MustType(id)
	if percpu {
		// The allocator for each CPU has no larger objects (BPF_GLOBAL_PERCPU_MA_MAX_SIZE).
		if t.Size > 512 {
			c.refuse(refusal.BpfPercpuObjNewTypeSize, t.Size, 512)
		}
		if !c.scalarStruct(c.p.BTF, t, 0) {
			c.refuse(refusal.BpfPercpuObjNewTypeID)
		}
		if c.objectRecord(spec, id) != nil {
			c.refuse(refusal.BpfPercpuObjNewTypeID2)
		}
	}
	r0.pointer(ptrBTF | memAlloc)
	if percpu {
		r0.typ |= memPercpu
	}
	r0.spec, r0.tid = spec, uint32(id)
}
