package verifier

import (
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// acquire acquires a reference and returns its identity (acquire_reference). It names the object in
// all registers that point to it.
func (h *resources) acquire() uint32 {
	l := h.refList(h.cur)
	r := ref{kind: refPtr, id: h.newID(), insn: h.insn}
	// A callback may run many times: what it acquires it must release in the same round.
	if f := h.frame(); f.inCallback {
		r.callback = f.no
	}
	*l = append(*l, r)
	return r.id
}

// dropRef removes a reference; it returns false if the state does not hold it
// (release_reference_nomark).
func (h *resources) dropRef(s *state, id uint32) bool {
	l := h.refList(s)
	for i := range *l {
		r := &(*l)[i]
		if r.id != id || r.kind != refPtr {
			continue
		}
		if !h.r.stateRefs {
			// The callback's second call would release it again.
			if f := s.frame(); f.inCallback && r.callback != f.no && h.has(since.CallbackRefs) {
				return false
			}
		}
		h.removeRef(l, i)
		return true
	}
	return false
}

// removeRef takes an entry out of the list. Older releases put the last one in its place.
func (h *resources) removeRef(l *[]ref, i int) {
	n := len(*l) - 1
	// States are compared reference by reference, in this order.
	if h.has(since.RefsOrdered) {
		copy((*l)[i:], (*l)[i+1:])
	} else {
		(*l)[i] = (*l)[n]
	}
	*l = (*l)[:n]
}

// release releases a reference: registers that hold it become unknown (release_reference), since
// the object may be gone. As numbers they leak an address only to programs that may see it.
func (h *resources) release(id uint32) bool {
	if !h.dropRef(h.cur, id) {
		return false
	}
	h.cur.eachReg(spillMask, func(r *reg) bool { return r.ref == id }, h.invalidate)
	return true
}

// invalidate turns an invalid pointer into a scalar (mark_reg_invalid).
func (h *resources) invalidate(r *reg) {
	if !h.has(since.InvalidScalars) {
		r.notInit()
		return
	}
	r.unknown()
}

// forgetPackets invalidates pointers into the packet (clear_all_pkt_pointers): its memory may have
// been replaced.
func (h *resources) forgetPackets() {
	h.cur.eachReg(spillMask, func(r *reg) bool { return r.typ.isPacketAny() || r.typ.isDynSlicePkt() }, (*reg).unknown)
}

// forgetNonOwning invalidates non-owning references, because the lock was released
// (invalidate_non_owning_refs): whoever owns the object may free it now.
func (h *resources) forgetNonOwning() {
	h.cur.eachReg(spillMask, func(r *reg) bool { return r.typ.isNonOwning() }, h.invalidate)
}

// leak refuses if a reference is held (check_reference_leak). A function of the program may return
// with one: its caller holds it then.
func (h *resources) leak(throw bool) bool {
	s := h.cur
	f := s.frame()
	// Callbacks are the exception: the helper that called them releases nothing.
	if !throw && f.no > 0 && (!f.inCallback || h.r.stateRefs) {
		return false
	}
	lost := false
	for _, r := range *h.refList(s) {
		// Locks and interrupt flags are counted by themselves.
		if r.kind != refPtr {
			continue
		}
		if !h.r.stateRefs && !throw && f.inCallback && r.callback != f.no && h.has(since.CallbackRefs) {
			continue
		}
		if !throw && h.prog.typ == uapi.ProgTypeStructOps && h.has(since.OpsReturnKptr) && h.reg(0).ref == r.id {
			continue // checkReturn looks at what a struct_ops program returns
		}
		// All are listed, and then the program is refused.
		h.say(refusal.UnreleasedReferenceIdAllocInsn, r.id, r.insn)
		lost = true
	}
	return lost
}

// resourceLeak checks that locks, references and sections have been released (check_resource_leak):
// the kernel would deadlock, or never free the object, and nobody else knows of it.
func (h *resources) resourceLeak(locks, refs bool, where string) {
	s := h.cur
	if h.has(since.StateRefs) {
		if locks && s.locks > 0 {
			h.refuse(refusal.CannotUsedInsideBpfSpinLock, where)
		}
		throw := !refs
		if h.leak(throw) {
			h.refuse(refusal.WouldLeadReferenceLeak, where)
		}
		if locks && s.irqID != 0 {
			h.refuse(refusal.CannotUsedInsideBpfLocalIrq, where)
		}
		if locks && s.rcu > 0 {
			h.refuse(refusal.CannotUsedInsideBpfRcuRead, where)
		}
		if locks && s.preempt > 0 {
			h.refuse(refusal.CannotUsedInsideBpfPreemptDisable, where)
		}
		return
	}
	throw := !refs
	// Before 6.9 only the comparison of a tree's elements could return with a lock or within a
	// section.
	main := s.curFrame == 0 || !h.has(since.LocksAtReturn) && !h.inTreeCallback()
	// What a function throws ends the whole program, too.
	checked := throw && h.has(since.ThrowWithLocks)
	say := func(thrown, plain refusal.ID) {
		if checked {
			h.refuse(thrown)
		}
		h.refuse(plain)
	}
	if s.lock != (lockKey{}) && (checked || main) {
		say(refusal.BpfThrowCannotUsedInsideBpf, refusal.BpfSpinUnlockMissing)
	}
	if s.rcu > 0 && (checked || main) {
		say(refusal.BpfThrowCannotUsedInsideBpf2, refusal.BpfRcuReadUnlockMissing)
	}
	if s.preempt > 0 && (checked || main) {
		plural := "(s) are"
		if s.preempt == 1 {
			plural = " is"
		}
		h.say(refusal.BpfPreemptEnableMissing, s.preempt, plural)
		panic(refused{uapi.EINVAL})
	}
	if h.leak(throw) {
		panic(refused{uapi.EINVAL})
	}
}

// holdsLock reports whether a spin lock is held.
func (h *resources) holdsLock() bool {
	if h.r.stateRefs {
		return h.cur.locks > 0
	}
	return h.cur.lock != (lockKey{})
}

// inRCU reports whether objects protected by RCU stay valid (in_rcu_cs): until the section ends, or
// while the program runs, for programs that cannot sleep run within a read-side section.
func (h *resources) inRCU() bool {
	return h.cur.rcu > 0 || h.holdsLock() || !h.sleepable()
}

// sleepable reports whether the program may sleep here, apart from sections. A callback that runs
// later asks what calls it back from 7.0 on: timers never sleep, also those of sleepable programs
// (is_async_cb_sleepable).
func (h *resources) sleepable() bool {
	if h.cur != nil && h.has(since.SleepableStates) {
		return h.cur.sleepable
	}
	return h.p.Sleepable || h.cur != nil && h.cur.sleepable
}

// lockOf returns the allocation that a pointer points into: with the pointer's id it tells which
// lock is meant among all of the same map or type.
func lockOf(r *reg) lockKey {
	if r.typ == ptrMapValue {
		return lockKey{mapp: r.mapp}
	}
	return lockKey{spec: r.spec}
}

const (
	lockTake = 1 << iota
	lockRes
	lockIRQ
)

// spinLock checks taking or releasing a lock (process_spin_lock).
func (h *resources) spinLock(n, flags int) {
	r := h.reg(n)
	res := flags&lockRes != 0
	name := "bpf_spin"
	want := fieldSpinLock
	if res {
		name, want = "bpf_res_spin", fieldResSpinLock
	}
	if !r.Var.IsConst() {
		h.refuse(refusal.NotConstantOffsetLockConstantOffset, n, name)
	}
	owner := "local"
	ownerName := "kptr"
	var rec *record
	if r.typ == ptrMapValue {
		m := h.mapOf(r)
		owner, ownerName = "map", m.Name
		// Where the lock is, only types can tell.
		if m.BTF == nil {
			h.refuse(refusal.MapBTFInOrderUseLock, m.Name, name)
		}
		rec = &m.rec
	} else {
		rec = h.recordOf(r)
	}
	f := rec.first(want)
	if f == nil {
		h.refuse(refusal.NoValidLock, owner, ownerName, name)
	}
	// The helper takes the address for that of the lock itself.
	if at := r.offset(); int64(f.off) != at {
		h.refuse(refusal.OffNotPointStructLock, at, name, f.off)
	}
	key := lockOf(r)
	if flags&lockTake != 0 {
		h.takeLock(key, r.id, flags)
		return
	}
	h.dropLock(key, r.id, flags, name)
}

// lockKind: the functions that take and release a lock are of one kind.
func lockKind(flags int) uint8 {
	switch {
	case flags&lockRes == 0:
		return refLock
	case flags&lockIRQ == 0:
		return refResLock
	}
	return refResLockIRQ
}

// takeLock notes that a lock is held (acquire_lock_state).
func (h *resources) takeLock(key lockKey, id uint32, flags int) {
	s := h.cur
	res := flags&lockRes != 0
	if !h.r.stateRefs {
		// Two CPUs that take two locks in different orders deadlock.
		if s.lock != (lockKey{}) {
			h.refuse(refusal.LockingTwoBpfSpinLocksNot)
		}
		s.lock, s.lockID = key, id
		return
	}
	if !res && s.locks > 0 {
		h.refuse(refusal.LockingTwoBpfSpinLocksNot)
	}
	if res {
		// Resilient locks may be nested, since they detect deadlocks at run time; this one is
		// certain.
		for _, r := range s.refs {
			if r.kind >= refResLock && r.lock == key && r.id == id {
				h.refuse(refusal.AcquiringSameLockAgainAADeadlock)
			}
		}
	}
	s.refs = append(s.refs, ref{kind: lockKind(flags), id: id, insn: h.insn, lock: key})
	s.locks++
	s.lock, s.lockID = key, id
}

// dropLock notes that a lock is released (release_lock_state).
func (h *resources) dropLock(key lockKey, id uint32, flags int, name string) {
	s := h.cur
	if !h.holdsLock() {
		h.refuse(refusal.UnlockWithoutTakingLock, name)
	}
	if !h.r.stateRefs {
		if s.lock != key || s.lockID != id {
			h.refuse(refusal.BpfSpinUnlockDifferentLock)
		}
		h.forgetNonOwning()
		s.lock, s.lockID = lockKey{}, 0
		return
	}
	kind := lockKind(flags)
	found := -1
	for i, r := range s.refs {
		if r.kind == kind && r.id == id && r.lock == key {
			found = i
		}
	}
	if found < 0 {
		h.refuse(refusal.UnlockDifferentLock, name)
	}
	// The kernel keeps held locks in a stack, by which it detects deadlocks.
	if id != s.lockID || key != s.lock {
		h.refuse(refusal.UnlockCannotOutOrder, name)
	}
	// The lock that was taken before it is the innermost one again.
	prev, prevID := lockKey{}, uint32(0)
	for i, r := range s.refs {
		if i != found && r.kind >= refLock {
			prev, prevID = r.lock, r.id
		}
	}
	h.removeRef(&s.refs, found)
	s.locks--
	s.lock, s.lockID = prev, prevID
	h.forgetNonOwning()
}

// mayHoldLock reports whether a lock is in what a register points to. Its id then says which object
// it is (reg_may_point_to_spin_lock).
func (h *resources) mayHoldLock(r *reg) bool {
	rec := h.recordOf(r)
	return rec.has(fieldSpinLock) || rec.has(fieldResSpinLock)
}

// inSleepable reports whether sleeping is allowed here.
func (h *resources) inSleepable() bool {
	s := h.cur
	return h.sleepable() && s.rcu == 0 && s.preempt == 0 && s.irqID == 0 && s.locks == 0
}

// nonSleepable says why sleeping is not allowed (non_sleepable_context_description).
func (h *resources) nonSleepable() string {
	s := h.cur
	switch {
	case s.rcu > 0:
		return "rcu_read_lock region"
	case s.preempt > 0:
		return "non-preemptible region"
	case s.irqID != 0:
		return "IRQ-disabled region"
	case s.locks > 0:
		return "lock region"
	}
	return "non-sleepable prog"
}

// disown: after inserting an object into a list or tree, the program may still access it while it
// holds the lock (ref_convert_owning_non_owning).
func (h *resources) disown(id uint32) {
	if id == 0 {
		h.bug("ref_obj_id is zero for owning -> non-owning conversion")
	}
	h.cur.eachReg(spillMask, func(r *reg) bool { return r.ref == id }, func(r *reg) {
		r.ref = 0
		h.nonOwning(r)
	})
	h.release(id)
}

// nonOwning: an object with a count may lose its last owner meanwhile, and is freed after an RCU
// grace period only (ref_set_non_owning).
func (h *resources) nonOwning(r *reg) {
	r.typ |= nonOwnRef
	if rec := h.recordOf(r); rec.has(fieldRefcount) {
		r.typ |= memRCU
	}
}

// inTreeCallback reports whether the comparison of a tree's elements is being explored, or what that
// calls (in_rbtree_lock_required_cb).
func (h *resources) inTreeCallback() bool {
	s := h.cur
	for i := s.curFrame; i > 0; i-- {
		if f := s.frames[i]; f.inCallback && h.kfuncAt(f.callsite).is(proto.AddsToTree) {
			return true
		}
		if !h.has(since.TreeCallbackCallees) {
			return false
		}
	}
	return false
}

// refLater marks an argument that holds a reference on entry; its identity is assigned when
// exploration begins.
const refLater = 1<<32 - 1

// startRefs acquires the references that arguments hold on entry (do_check_common): such a program
// owns them.
func (h *resources) startRefs() {
	for off := 0; off < 8*12; off += 8 {
		if a, ok := h.prog.ctxArgs[off]; ok && a.ref != 0 {
			a.ref = h.acquire()
			h.prog.ctxArgs[off] = a
		}
	}
}
