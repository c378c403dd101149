package verifier

import (
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/verifier/since"
)

// refList are the references of a state: its own, or in releases before 6.14 those of its current frame.
func (e *env) refList(s *state) *[]ref {
	if e.r.stateRefs {
		return &s.refs
	}
	return &s.frame().refs
}

// acquire takes a reference and returns its identity.
func (e *env) acquire() uint32 {
	l := e.refList(e.cur)
	r := ref{kind: refPtr, id: e.newID(), insn: e.insn}
	if f := e.frame(); f.inCallback {
		r.callback = f.no
	}
	*l = append(*l, r)
	return r.id
}

// dropRef removes a reference; false when the state does not hold it.
func (e *env) dropRef(s *state, id uint32) bool {
	l := e.refList(s)
	for i := range *l {
		r := &(*l)[i]
		if r.id != id || r.kind != refPtr {
			continue
		}
		if !e.r.stateRefs {
			if f := s.frame(); f.inCallback && r.callback != f.no && e.rel >= since.R(5, 15) {
				return false
			}
		}
		e.removeRef(l, i)
		return true
	}
	return false
}

func (e *env) removeRef(l *[]ref, i int) {
	n := len(*l) - 1
	if e.has(since.RefsOrdered) {
		copy((*l)[i:], (*l)[i+1:])
	} else {
		(*l)[i] = (*l)[n]
	}
	*l = (*l)[:n]
}

// release gives a reference back: what holds it is no longer known.
func (e *env) release(id uint32) bool {
	if !e.dropRef(e.cur, id) {
		return false
	}
	e.cur.eachReg(spillMask, func(r *reg) {
		if r.ref == id {
			e.invalidate(r)
		}
	})
	return true
}

// invalidate makes a pointer that is no longer valid a number (mark_reg_invalid).
func (e *env) invalidate(r *reg) {
	if e.rel < since.R(6, 2) {
		r.notInit()
		return
	}
	r.unknown()
}

// forgetPackets makes pointers into the packet invalid.
func (e *env) forgetPackets() {
	e.cur.eachReg(spillMask, func(r *reg) {
		if r.typ.isPacketAny() || r.typ.isDynSlicePkt() {
			r.unknown()
		}
	})
}

// forgetNonOwning makes references that somebody else owns invalid: the lock is gone.
func (e *env) forgetNonOwning() {
	e.cur.eachReg(spillMask, func(r *reg) {
		if r.typ.isNonOwning() {
			e.invalidate(r)
		}
	})
}

// leak demands that no reference is held.
func (e *env) leak(throw bool) bool {
	s := e.cur
	f := s.frame()
	if !throw && f.no > 0 && (!f.inCallback || e.r.stateRefs) {
		return false
	}
	lost := false
	for _, r := range *e.refList(s) {
		if r.kind != refPtr {
			continue
		}
		if !e.r.stateRefs && !throw && f.inCallback && r.callback != f.no && e.rel >= since.R(5, 15) {
			continue
		}
		e.verbose("Unreleased reference id=%d alloc_insn=%d", r.id, r.insn)
		lost = true
	}
	return lost
}

// resourceLeak demands that locks, references and sections are given back (check_resource_leak).
func (e *env) resourceLeak(locks, refs bool, where string) {
	s := e.cur
	if e.has(since.StateRefs) {
		if locks && s.locks > 0 {
			e.refuse(uapi.EINVAL, "%s cannot be used inside bpf_spin_lock-ed region", where)
		}
		throw := !refs
		if e.leak(throw) {
			e.refuse(uapi.EINVAL, "%s would lead to reference leak", where)
		}
		if locks && s.irqID != 0 {
			e.refuse(uapi.EINVAL, "%s cannot be used inside bpf_local_irq_save-ed region", where)
		}
		if locks && s.rcu > 0 {
			e.refuse(uapi.EINVAL, "%s cannot be used inside bpf_rcu_read_lock-ed region", where)
		}
		if locks && s.preempt > 0 {
			e.refuse(uapi.EINVAL, "%s cannot be used inside bpf_preempt_disable-ed region", where)
		}
		return
	}
	throw := !refs
	main := s.curFrame == 0
	say := func(thrown, plain string) {
		if throw {
			e.refuse(uapi.EINVAL, "%s", thrown)
		}
		e.refuse(uapi.EINVAL, "%s", plain)
	}
	if s.lock != (lockKey{}) && (throw || main) {
		say("bpf_throw cannot be used inside bpf_spin_lock-ed region", "bpf_spin_unlock is missing")
	}
	if s.rcu > 0 && (throw || main) {
		say("bpf_throw cannot be used inside bpf_rcu_read_lock-ed region", "bpf_rcu_read_unlock is missing")
	}
	if s.preempt > 0 && (throw || main) {
		plural := "(s) are"
		if s.preempt == 1 {
			plural = " is"
		}
		e.verbose("%d bpf_preempt_enable%s missing", s.preempt, plural)
		panic(refusal{uapi.EINVAL})
	}
	if e.leak(throw) {
		panic(refusal{uapi.EINVAL})
	}
}

// holdsLock reports whether a spin lock is held.
func (e *env) holdsLock() bool {
	if e.r.stateRefs {
		return e.cur.locks > 0
	}
	return e.cur.lock != (lockKey{})
}

// inRCU: what RCU protects stays while the program runs, or until the section ends.
func (e *env) inRCU() bool {
	return e.cur.rcu > 0 || e.holdsLock() || !e.sleepable()
}

// sleepable: the program may sleep here, but for sections.
func (e *env) sleepable() bool { return e.p.Sleepable || e.cur != nil && e.cur.sleepable }

// lockOf names the allocation that a pointer points into.
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

// spinLock judges taking or giving back a lock (process_spin_lock).
func (e *env) spinLock(n, flags int) {
	r := e.reg(n)
	res := flags&lockRes != 0
	name := "bpf_spin"
	want := fieldSpinLock
	if res {
		name, want = "bpf_res_spin", fieldResSpinLock
	}
	if !r.Var.IsConst() {
		e.refuse(uapi.EINVAL, "R%d doesn't have constant offset. %s_lock has to be at the constant offset", n, name)
	}
	owner := "local"
	ownerName := "kptr"
	var rec *record
	if r.typ == ptrMapValue {
		m := e.mapOf(r)
		owner, ownerName = "map", m.Name
		if m.BTF == nil {
			e.refuse(uapi.EINVAL, "map '%s' has to have BTF in order to use %s_lock", m.Name, name)
		}
		rec = &m.rec
	} else {
		rec = e.recordOf(r)
	}
	f := rec.first(want)
	if f == nil {
		e.refuse(uapi.EINVAL, "%s '%s' has no valid %s_lock", owner, ownerName, name)
	}
	if at := r.offset(); int64(f.off) != at {
		e.refuse(uapi.EINVAL, "off %d doesn't point to 'struct %s_lock' that is at %d", at, name, f.off)
	}
	key := lockOf(r)
	if flags&lockTake != 0 {
		e.takeLock(key, r.id, flags)
		return
	}
	e.dropLock(key, r.id, flags, name)
}

func lockKind(flags int) uint8 {
	switch {
	case flags&lockRes == 0:
		return refLock
	case flags&lockIRQ == 0:
		return refResLock
	}
	return refResLockIRQ
}

func (e *env) takeLock(key lockKey, id uint32, flags int) {
	s := e.cur
	res := flags&lockRes != 0
	if !e.r.stateRefs {
		if s.lock != (lockKey{}) {
			e.refuse(uapi.EINVAL, "Locking two bpf_spin_locks are not allowed")
		}
		s.lock, s.lockID = key, id
		return
	}
	if !res && s.locks > 0 {
		e.refuse(uapi.EINVAL, "Locking two bpf_spin_locks are not allowed")
	}
	if res {
		for _, r := range s.refs {
			if r.kind >= refResLock && r.lock == key && r.id == id {
				e.refuse(uapi.EINVAL, "Acquiring the same lock again, AA deadlock detected")
			}
		}
	}
	s.refs = append(s.refs, ref{kind: lockKind(flags), id: id, insn: e.insn, lock: key})
	s.locks++
	s.lock, s.lockID = key, id
}

func (e *env) dropLock(key lockKey, id uint32, flags int, name string) {
	s := e.cur
	if !e.holdsLock() {
		e.refuse(uapi.EINVAL, "%s_unlock without taking a lock", name)
	}
	if !e.r.stateRefs {
		if s.lock != key || s.lockID != id {
			e.refuse(uapi.EINVAL, "bpf_spin_unlock of different lock")
		}
		e.forgetNonOwning()
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
		e.refuse(uapi.EINVAL, "%s_unlock of different lock", name)
	}
	if id != s.lockID || key != s.lock {
		e.refuse(uapi.EINVAL, "%s_unlock cannot be out of order", name)
	}
	prev, prevID := lockKey{}, uint32(0)
	for i, r := range s.refs {
		if i != found && r.kind >= refLock {
			prev, prevID = r.lock, r.id
		}
	}
	e.removeRef(&s.refs, found)
	s.locks--
	s.lock, s.lockID = prev, prevID
	e.forgetNonOwning()
}

func (e *env) mayHoldLock(r *reg) bool {
	rec := e.recordOf(r)
	return rec.has(fieldSpinLock) || rec.has(fieldResSpinLock)
}
