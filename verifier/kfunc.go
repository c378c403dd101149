package verifier

import (
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/verifier/since"
)

type kfFlags proto.KfuncFlags

const flagDevBound = 1 << 6 // BPF_F_XDP_DEV_BOUND_ONLY

const (
	kfAcquire      = kfFlags(proto.Acquire)
	kfRelease      = kfFlags(proto.ReleaseArg)
	kfRetNull      = kfFlags(proto.ReturnsNull)
	kfTrusted      = kfFlags(proto.TrustedArgs)
	kfSleepable    = kfFlags(proto.Sleepable)
	kfDestructive  = kfFlags(proto.Destructive)
	kfRCU          = kfFlags(proto.RCU)
	kfIterNew      = kfFlags(proto.IterNew)
	kfIterNext     = kfFlags(proto.IterNext)
	kfIterDestroy  = kfFlags(proto.IterDestroy)
	kfRCUProtected = kfFlags(proto.RCUProtected)
	kfArenaRet     = kfFlags(proto.ArenaRet)
)

func (f kfFlags) has(x kfFlags) bool { return f&x != 0 }

// kfunc is a kernel function that the program calls.
type kfunc struct {
	name          string
	row           *proto.Kfunc
	flags         kfFlags
	allowed       bool
	missing       bool
	spec          uint8
	id            btf.ID
	proto         *btf.Type // FUNC_PROTO
	changesPacket bool
}

func (k *kfunc) allowedLocked(r Release) bool { return k.row != nil && k.row.InLock(r) }

func (k *kfunc) async() bool {
	return strings.HasPrefix(k.name, "bpf_wq_set_callback") || k.taskWork()
}

func (k *kfunc) taskWork() bool { return strings.HasPrefix(k.name, "bpf_task_work_schedule_") }

func (k *kfunc) is(names ...string) bool {
	return slices.Contains(names, strings.TrimSuffix(k.name, "_impl"))
}

// addKfunc finds the kernel function that instruction i calls.
func (e *env) addKfunc(i int) {
	in := &e.insns[i]
	if e.rel < since.R(5, 13) {
		return
	}
	ref, ok := e.p.Refs[i]
	if !ok || ref.Kind != RefKfunc {
		if in.Imm == 0 {
			return
		}
		e.refuse(uapi.EINVAL, "kernel btf_id %d is not a function", in.Imm)
	}
	if ref.Missing {
		// libbpf leaves calls of weak functions that are not there with number 0.
		e.aux[i].kfunc = &kfunc{name: ref.Name, missing: true}
		return
	}
	if !e.prog.gpl {
		e.refuse(uapi.EINVAL, "cannot call kernel function from non-GPL compatible program")
	}
	k := e.prog.kfuncs[ref.Name]
	if k == nil {
		k = e.makeKfunc(&ref)
		if e.prog.kfuncs == nil {
			e.prog.kfuncs = map[string]*kfunc{}
		}
		e.prog.kfuncs[ref.Name] = k
		if len(e.prog.kfuncs) > maxKfuncs {
			e.refuse(uapi.E2BIG, "too many different kernel function calls")
		}
	}
	e.aux[i].kfunc = k
}

func (e *env) makeKfunc(ref *Ref) *kfunc {
	s := e.moduleSpec(ref.Module)
	if s == nil {
		e.unknown("kernel function %s: no BTF of %s", ref.Name, ref.Module)
	}
	k := &kfunc{name: ref.Name, spec: e.addSpec(s), id: ref.TypeID}
	fn := s.MustType(ref.TypeID)
	if fn.Kind != btf.KindFunc {
		e.refuse(uapi.EINVAL, "kernel btf_id %d is not a function", ref.TypeID)
	}
	k.name = fn.Name
	if strings.HasPrefix(k.name, "bpf_xdp_metadata_rx_") && e.p.Flags&flagDevBound == 0 {
		e.refuse(uapi.EINVAL, "metadata kfuncs require device-bound program")
	}
	k.proto = s.MustType(fn.Ref)
	row, ok := proto.LookupKfunc(fn.Name)
	if !ok {
		return k
	}
	k.row = row
	k.flags = kfFlags(row.FlagsIn(e.rel))
	k.allowed = row.For(e.rel, e.prog.caller)
	if row.Only == proto.SessionPrograms && e.p.Attach != uapi.AttachTraceKprobeSession && e.p.Attach != uapi.AttachTraceUprobeSession {
		k.allowed = e.rel >= since.R(7, 0) && k.allowed
	}
	k.changesPacket = k.is("bpf_xdp_pull_data")
	return k
}

func (e *env) moduleSpec(name string) *btf.Spec {
	if name == "" || name == "vmlinux" {
		return e.k.BTF
	}
	for _, m := range e.k.Modules {
		if m.Name == name {
			return m.BTF
		}
	}
	return nil
}

func (e *env) kfuncAt(i int) *kfunc { return e.aux[i].kfunc }

// callKfunc judges a call of a kernel function (check_kfunc_call).
func (e *env) callKfunc(in *decode.Insn) stepResult {
	k := e.kfuncAt(e.insn)
	if k == nil || k.missing {
		// The kernel accepts such a call where the walk never comes.
		e.refuse(uapi.EINVAL, "invalid kernel function call not eliminated in verifier pass")
	}
	if k.row == nil {
		e.unknown("kernel function %s", k.name)
	}
	if !k.allowed {
		e.refuse(uapi.EACCES, "calling kernel function %s is not allowed", k.name)
	}
	e.curAux().iterNext = k.flags.has(kfIterNext)
	if k.is("bpf_res_spin_lock", "bpf_res_spin_lock_irqsave") {
		b := e.push(e.insn+1, e.insn)
		regs := b.regs()
		for i := 0; i <= 5; i++ {
			regs[i].notInit()
		}
		r := &regs[0]
		r.unknown()
		r.SMin32, r.SMin, r.SMax32, r.SMax = -maxErrno, -maxErrno, -1, -1
		r.Sync(e.rules)
	}
	if k.name == "__bpf_trap" {
		e.refuse(uapi.EFAULT, "unexpected __bpf_trap() due to uninitialized variable?")
	}
	if k.flags.has(kfSleepable) && !e.sleepable() {
		e.refuse(uapi.EACCES, "program must be sleepable to call sleepable kfunc %s", k.name)
	}
	m := &callMeta{k: k}
	e.kfuncArgs(m)
	if k.is("bpf_rbtree_add") {
		e.callback(m.sub, cbTreeLess)
	}
	if k.is("bpf_session_cookie") {
		m.retSize, m.retRdonly = 8, false
	}
	if k.async() {
		if k.taskWork() {
			e.callback(m.sub, cbTaskWork)
		} else {
			e.callback(m.sub, cbTimer)
		}
	}
	e.kfuncSections(k)
	regs := e.regs()
	if m.release != 0 {
		e.kfuncRelease(m)
	}
	if k.is("bpf_list_push_front", "bpf_list_push_back", "bpf_rbtree_add") {
		e.disown(regs[2].ref)
	}
	if k.is("bpf_throw") {
		e.seenExc = true
		if e.exceptionSub == 0 {
			e.checkReturn(1, "R1")
		}
	}
	for i := 0; i <= 5; i++ {
		regs[i].notInit()
		e.log.touch(i)
	}
	e.kfuncResult(m)
	if k.changesPacket {
		e.forgetPackets()
	}
	for i := range k.proto.Params {
		if i < 5 {
			regs[i+1].live |= 0
		}
	}
	regs[0].wrote()
	if k.flags.has(kfIterNext) {
		e.iterNextCall(m)
	}
	if k.is("bpf_throw") {
		return e.exit(true)
	}
	return e.enterCallback()
}

// kfuncSections keeps count of RCU and preemption sections.
func (e *env) kfuncSections(k *kfunc) {
	s := e.cur
	lock, unlock := k.is("bpf_rcu_read_lock"), k.is("bpf_rcu_read_unlock")
	off, on := k.is("bpf_preempt_disable"), k.is("bpf_preempt_enable")
	if e.inTreeCallback() && (lock || unlock) && (s.rcu > 0 || e.rel >= since.R(6, 18)) {
		e.refuse(uapi.EACCES, "Calling bpf_rcu_read_{lock,unlock} in unnecessary rbtree callback")
	}
	switch {
	case lock:
		if s.rcu > 0 && !e.has(since.NestedRCU) {
			e.refuse(uapi.EINVAL, "nested rcu read lock (kernel function %s)", k.name)
		}
		s.rcu++
	case unlock:
		if s.rcu == 0 {
			e.refuse(uapi.EINVAL, "unmatched rcu read unlock (kernel function %s)", k.name)
		}
		s.rcu--
		if s.rcu == 0 {
			s.eachReg(1<<slotSpill|1<<slotIter, func(r *reg) {
				if r.typ&memRCU != 0 {
					r.typ = r.typ&^(memRCU|maybeNull) | ptrUntrusted
				}
			})
		}
	case off:
		s.preempt++
	case on:
		if s.preempt == 0 {
			e.refuse(uapi.EINVAL, "unmatched attempt to enable preemption (kernel function %s)", k.name)
		}
		s.preempt--
	}
	if !k.flags.has(kfSleepable) {
		if k.flags.has(kfRCUProtected) && !k.flags.has(kfIterNew) && !e.inRCU() && e.rel >= since.R(6, 18) {
			e.refuse(uapi.EACCES, "kernel func %s requires RCU critical section protection", k.name)
		}
		return
	}
	switch {
	case s.rcu > 0:
		e.refuse(uapi.EACCES, "kernel func %s is sleepable within rcu_read_lock region", k.name)
	case s.preempt > 0:
		e.refuse(uapi.EACCES, "kernel func %s is sleepable within non-preemptible region", k.name)
	case s.irqID != 0:
		e.refuse(uapi.EACCES, "kernel func %s is sleepable within IRQ-disabled region", k.name)
	}
}

func (e *env) kfuncRelease(m *callMeta) {
	r := e.reg(m.release)
	if m.k.is("bpf_dynptr_file_discard") {
		e.unmarkDynptr(r)
		return
	}
	if !e.release(r.ref) {
		e.refuse(uapi.EINVAL, "kfunc %s#%d reference has not been acquired before", m.k.name, m.k.id)
	}
}

// disown: who put an object into a list or tree still may look at it, while the lock is held.
func (e *env) disown(id uint32) {
	if id == 0 {
		e.bug("ref_obj_id is zero for owning -> non-owning conversion")
	}
	e.cur.eachReg(spillMask, func(r *reg) {
		if r.ref == id {
			r.ref = 0
			e.nonOwning(r)
		}
	})
	e.release(id)
}

func (e *env) nonOwning(r *reg) {
	r.typ |= nonOwnRef
	if rec := e.recordOf(r); rec.has(fieldRefcount) {
		r.typ |= memRCU
	}
}

// inTreeCallback: the walk is in the comparison of a tree's elements.
func (e *env) inTreeCallback() bool {
	s := e.cur
	for i := s.curFrame; i > 0; i-- {
		f := s.frames[i]
		if !f.inCallback {
			continue
		}
		if k := e.kfuncAt(f.callsite); k != nil && strings.HasPrefix(k.name, "bpf_rbtree_") {
			return true
		}
	}
	return false
}

// kfuncResult makes r0 what a kernel function returns.
func (e *env) kfuncResult(m *callMeta) {
	k := m.k
	s := e.specs[k.spec-1]
	r0 := e.reg(0)
	t := s.SkipMods(k.proto.Ref)
	switch t.Kind {
	case btf.KindVoid:
		return
	case btf.KindInt, btf.KindEnum, btf.KindEnum64:
		r0.unknown()
		if k.is("bpf_res_spin_lock", "bpf_res_spin_lock_irqsave") {
			r0.constant(0)
		}
		return
	case btf.KindPtr:
	default:
		return
	}
	pt := s.SkipMods(t.Ref)
	if e.kfuncSpecialResult(m, r0) {
	} else if pt.Kind == btf.KindVoid {
		if k.flags.has(kfArenaRet) {
			r0.pointer(ptrArena)
		} else {
			r0.unknown()
		}
	} else if pt.Kind != btf.KindStruct && pt.Kind != btf.KindUnion {
		size := m.retSize
		rdonly := m.retRdonly
		if size == 0 {
			if n, err := s.Sizeof(pt.ID); err == nil && n > 0 {
				size, rdonly = uint64(n), true
			}
		}
		if size == 0 {
			e.refuse(uapi.EINVAL, "kernel function %s returns pointer type %s %s is not supported", k.name, strings.ToUpper(pt.Kind.String()), pt.Name)
		}
		r0.pointer(ptrMem)
		r0.mem = uint32(size)
		if rdonly {
			r0.typ |= memRdonly
		}
		if m.ref != 0 {
			r0.ref = m.ref
		}
		if k.flags.has(kfRCUProtected) && e.rel >= since.R(6, 18) {
			r0.typ |= memRCU
		}
	} else {
		typ := ptrBTF
		switch {
		case k.is("bpf_get_kmem_cache"):
			typ |= ptrUntrusted
		case k.flags.has(kfRCUProtected) && e.rel >= since.R(6, 18):
			typ |= memRCU
		case k.flags.has(kfIterNext) && e.iterReg(m).typ&memRCU != 0:
			typ |= memRCU
		case k.flags.has(kfIterNext), e.rel >= since.R(6, 18):
			typ |= ptrTrusted
		}
		r0.pointer(typ)
		r0.spec, r0.tid = k.spec, uint32(pt.ID)
	}
	retNull := k.flags.has(kfRetNull) && !(k.is("bpf_refcount_acquire") && m.owning)
	if retNull {
		r0.typ |= maybeNull
		r0.id = e.newID()
	}
	if k.flags.has(kfAcquire) {
		id := e.acquire()
		if retNull {
			r0.id = id
		}
		r0.ref = id
	} else if k.is("bpf_rbtree_first", "bpf_rbtree_root", "bpf_rbtree_left", "bpf_rbtree_right", "bpf_list_front", "bpf_list_back") {
		e.nonOwning(r0)
	}
	if r0.id == 0 && e.mayHoldLock(r0) {
		r0.id = e.newID()
	}
}

// kfuncSpecialResult knows the functions whose result depends on an argument.
func (e *env) kfuncSpecialResult(m *callMeta, r0 *reg) bool {
	k := m.k
	switch {
	case k.is("bpf_obj_new", "bpf_percpu_obj_new"):
		e.objNew(m, r0)
	case k.is("bpf_refcount_acquire"):
		r0.pointer(ptrBTF | memAlloc)
		r0.spec, r0.tid = m.argSpec, m.argID
	case k.is("bpf_list_pop_front", "bpf_list_pop_back", "bpf_list_front", "bpf_list_back", "bpf_rbtree_remove", "bpf_rbtree_first", "bpf_rbtree_root", "bpf_rbtree_left", "bpf_rbtree_right"):
		if m.root == nil {
			e.unknown("result of %s", k.name)
		}
		graphNode(r0, m.root)
	case k.is("bpf_cast_to_kern_ctx"):
		r0.pointer(ptrBTF | ptrTrusted)
		r0.spec, r0.tid = k.spec, m.retID
	case k.is("bpf_rdonly_cast"):
		s := e.specs[k.spec-1]
		if m.constant >= uint64(s.NumTypes()) {
			e.refuse(uapi.EINVAL, "Unknown type ID %d passed to kfunc bpf_rdonly_cast", m.constant)
		}
		t := s.SkipMods(btf.ID(m.constant))
		switch {
		case t.Kind == btf.KindStruct || t.Kind == btf.KindUnion && e.rel >= since.R(6, 17):
			r0.pointer(ptrBTF | ptrUntrusted)
			r0.spec, r0.tid = k.spec, uint32(t.ID)
		case t.Kind == btf.KindVoid && e.rel >= since.R(6, 17):
			r0.pointer(ptrMem | memRdonly | ptrUntrusted)
		default:
			if e.rel >= since.R(6, 17) {
				e.refuse(uapi.EINVAL, "kfunc bpf_rdonly_cast type ID argument must be of a struct or void")
			}
			e.refuse(uapi.EINVAL, "kfunc bpf_rdonly_cast type ID argument must be of a struct")
		}
	case k.is("bpf_dynptr_slice", "bpf_dynptr_slice_rdwr"):
		r0.pointer(ptrMem | dynFlag(m.dynType))
		r0.mem = uint32(m.constant)
		if k.is("bpf_dynptr_slice") {
			r0.typ |= memRdonly
		} else if !e.packetAccess(nil, write) {
			e.refuse(uapi.EINVAL, "the prog does not allow writes to packet data")
		}
		r0.dyn = m.dynID
	default:
		return false
	}
	return true
}

func graphNode(r *reg, f *field) {
	r.pointer(ptrBTF | memAlloc)
	r.spec, r.tid, r.off = f.spec, uint32(f.tid), int32(f.nodeOff)
}

func (e *env) objNew(m *callMeta, r0 *reg) {
	if m.constant > 1<<32-1 {
		e.refuse(uapi.EINVAL, "local type ID argument must be in range [0, U32_MAX]")
	}
	if e.p.BTF == nil {
		e.refuse(uapi.EINVAL, "bpf_obj_new/bpf_percpu_obj_new requires prog BTF")
	}
	spec := e.addSpec(e.p.BTF)
	if m.constant >= uint64(e.p.BTF.NumTypes()) || e.p.BTF.Kind(btf.ID(m.constant)) != btf.KindStruct {
		e.refuse(uapi.EINVAL, "bpf_obj_new/bpf_percpu_obj_new type ID argument must be of a struct")
	}
	percpu := m.k.is("bpf_percpu_obj_new")
	id := btf.ID(m.constant)
	t := e.p.BTF.MustType(id)
	if percpu {
		if t.Size > 512 {
			e.refuse(uapi.EINVAL, "bpf_percpu_obj_new type size (%d) is greater than %d", t.Size, 512)
		}
		if !e.scalarStruct(e.p.BTF, t, 0) {
			e.refuse(uapi.EINVAL, "bpf_percpu_obj_new type ID argument must be of a struct of scalars")
		}
		if e.objectRecord(spec, id) != nil {
			e.refuse(uapi.EINVAL, "bpf_percpu_obj_new type ID argument must not contain special fields")
		}
	}
	r0.pointer(ptrBTF | memAlloc)
	if percpu {
		r0.typ |= memPercpu
	}
	r0.spec, r0.tid = spec, uint32(id)
}

func (e *env) scalarStruct(s *btf.Spec, t *btf.Type, depth int) bool {
	if t.Kind != btf.KindStruct && t.Kind != btf.KindUnion {
		return false
	}
	for i := range t.Members {
		m := s.SkipMods(t.Members[i].Type)
		switch m.Kind {
		case btf.KindStruct, btf.KindUnion:
			if depth >= 3 {
				e.verbose("max struct nesting depth exceeded")
				return false
			}
			if !e.scalarStruct(s, m, depth+1) {
				return false
			}
		case btf.KindArray:
			if m.Array.Nelems == 0 || !isScalarType(s.SkipMods(m.Ref)) {
				return false
			}
		default:
			if !isScalarType(m) {
				return false
			}
		}
	}
	return true
}

func isScalarType(t *btf.Type) bool {
	return t.Kind == btf.KindInt || t.Kind == btf.KindEnum || t.Kind == btf.KindEnum64
}
