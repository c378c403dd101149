package verifier

import "github.com/bpfrun/bpfrun/internal/uapi/since"

// idMap maps identities of an old state to those of the current one (struct bpf_idmap). Ids are
// numbered along a path, so that equal states have different ones: only what has the same id as
// what else counts.
type idMap struct {
	pairs [][2]uint32
	next  uint32
}

func (m *idMap) reset(next uint32) { m.pairs, m.next = m.pairs[:0], next }

const maxIDs = (11 + 512/8) * 8

// same reports whether two identities correspond (check_ids). Each corresponds to one other: two
// registers that were linked must be so again, and two that were not must not have become one
// object, which could then be released twice.
func (m *idMap) same(old, cur uint32) bool {
	if (old != 0) != (cur != 0) {
		return false
	}
	if old == 0 {
		return true
	}
	for _, p := range m.pairs {
		if p[0] == old {
			return p[1] == cur
		}
		if p[1] == cur {
			return false
		}
	}
	if len(m.pairs) >= maxIDs {
		return false
	}
	m.pairs = append(m.pairs, [2]uint32{old, cur})
	return true
}

// sameScalar is like same, but a scalar without an identity counts as having one of its own
// (check_scalar_ids): unlinked registers must not stand for linked ones.
func (p *checkpoints) sameScalar(old, cur uint32) bool {
	m := &p.idmap
	// An old register without links was proved safe without relying on any.
	if p.r.freeIDs {
		if old == 0 {
			return true
		}
	}
	if old == 0 {
		m.next++
		old = m.next
	}
	if cur == 0 {
		m.next++
		cur = m.next
	}
	if !m.same(old, cur) {
		return false
	}
	// A sum with a constant is linked to the base's id, which must correspond as well.
	if p.r.freeIDs && old&addConst != 0 {
		return m.same(old&^addConst, cur&^addConst)
	}
	return true
}

// exactness is how alike states must be (enum exact_level).
type exactness uint8

const (
	notExact    exactness = iota // what is not marked may differ
	exact                        // nothing may differ
	rangeWithin                  // marks are not complete: all ranges must be within the old ones
)

// exactRegs compares registers of which nothing may differ (regs_exact).
func (p *checkpoints) exactRegs(a, b *reg) bool {
	v := a.value
	return p.sameParent(&v, &b.value) && v == b.value && p.idmap.same(a.id, b.id) && p.idmap.same(a.ref, b.ref)
}

// sameParent compares the dynptrs that two slices are of, and gives the first the second's: before
// they were identities (parent_id), only the very same one counted.
func (p *checkpoints) sameParent(o, c *value) bool {
	if !p.r.parentIDs || o.dyn == c.dyn {
		return true
	}
	same := p.idmap.same(o.dyn, c.dyn)
	o.dyn = c.dyn
	return same
}

// safe reports whether everything proved with the old register also holds for the current one
// (regsafe).
func (p *checkpoints) safe(o, c *reg, x exactness) bool {
	if !p.r.pairs {
		return p.safeOld(o, c)
	}
	// What no path from the old state read cannot matter.
	if !p.r.static && x == notExact && o.live&liveRead == 0 {
		return true
	}
	return p.safeRead(o, c, x)
}

// safeRead is safe for a register that is read, and for a spilled one: the stack knows which of
// those are.
func (p *checkpoints) safeRead(o, c *reg, x exactness) bool {
	if !p.r.pairs {
		return p.safeOldRead(o, c)
	}
	// For finding endless loops: a state that differs at all makes progress.
	if x == exact {
		return p.exactRegs(o, c)
	}
	if o.typ == notInit {
		if p.r.deadInLoops || x == notExact || c.typ == notInit {
			return true
		}
	}
	// Flags included: a null check in the old path might have changed other registers with the same
	// id, which a pointer that is not null any more has lost (regsafe).
	if o.typ != c.typ {
		return false
	}
	switch o.typ.base() {
	case scalar:
		return p.safeScalar(o, c, x)
	case ptrMapKey, ptrMapValue, ptrMem, ptrBuf, ptrTPBuffer:
		// Every access that was proved safe holds for an offset within the old range. Ids link
		// copies before a null check, and a lock with the lookup that it came from.
		return p.pointerWithin(o, c) && p.idmap.same(o.id, c.id) && p.idmap.same(o.ref, c.ref)
	case ptrPacketMeta, ptrPacket:
		// At least as many bytes must be known to be in the packet. Negative ranges say where the
		// pointer is compared to the end, which decides branches.
		if !p.safeRange(o, c) {
			return false
		}
		// What is found in the packet behind one pointer holds for all with its identity, at their
		// distances from it.
		if o.id != 0 && o.Base() != c.Base() && p.has(since.PacketDistances) {
			return false
		}
		return p.idmap.same(o.id, c.id) && p.offsetWithin(o, c)
	case ptrStack:
		// The same offset in another function's frame is other memory.
		return p.exactRegs(o, c) && o.frame == c.frame
	case ptrArena:
		// All addresses in an arena may be accessed.
		return true
	case ptrInsn:
		// All targets that the old pointer may have led to were explored.
		return p.pointerWithin(o, c)
	}
	return p.exactRegs(o, c)
}

// safeRange reports whether at least as many bytes are known to be in the packet behind c as behind
// o. Marks of the packet's end are no numbers of bytes; they were compared as such once, as less
// than any, although they had decided branches.
func (p *checkpoints) safeRange(o, c *reg) bool {
	if (o.rng < 0 || c.rng < 0) && p.has(since.EndsExact) {
		return o.rng == c.rng
	}
	return o.rng <= c.rng
}

// safeScalar compares numbers: those that decided nothing on the old path may be any, others must
// be in the old range, because everything was proved for all of that.
func (p *checkpoints) safeScalar(o, c *reg, x exactness) bool {
	if !o.precise && x == notExact {
		return true
	}
	// A link by a constant tells how the ranges of two registers follow from each other: another
	// constant would derive another range (sync_linked_regs).
	if p.r.linked {
		if p.r.freeIDs {
			if o.id != 0 && o.id&addConst != c.id&addConst {
				return false
			}
		} else {
			if o.id&addConst != 0 && c.id&addConst == 0 || o.id != 0 && o.id&addConst == 0 && c.id&addConst != 0 {
				return false
			}
		}
		if o.id&addConst != 0 && o.off != c.off {
			return false
		}
	}
	if p.r.ids && !p.sameScalar(o.id, c.id) {
		return false
	}
	return o.Within(&c.Bounds) && o.Var.Contains(c.Var)
}

// pointerWithin reports whether a pointer is like an old one, with an offset that the old one may
// have too.
func (p *checkpoints) pointerWithin(o, c *reg) bool {
	v := o.value
	if p.rules.Arcs {
		v.off = c.off // part of the offset
	}
	v.Bounds = c.Bounds
	return p.sameParent(&v, &c.value) && v == c.value && p.offsetWithin(o, c)
}

// offsetWithin compares offsets of pointers: accesses were proved for all that the old one may
// have.
func (p *checkpoints) offsetWithin(o, c *reg) bool {
	if o.off == c.off {
		return o.Within(&c.Bounds) && o.Var.Contains(c.Var)
	}
	if !p.rules.Arcs {
		return false
	}
	x, y := o.place(), c.place()
	return x.Within(&y) && x.Var.Contains(y.Var)
}

// sameBeforeBounds compares everything in a value except its bounds.
func sameBeforeBounds(a, b *reg) bool {
	v := a.value
	v.Bounds = b.Bounds
	return v == b.value
}

var unboundReg = func() *reg {
	var r reg
	r.unknown()
	return &r
}()

// allMisc reports whether a load would yield any number (is_stack_misc_after). Programs with all
// capabilities may read stack that nothing was written to (allow_uninit_stack).
func (p *checkpoints) allMisc(s *slot, from int) bool {
	for _, t := range s.t[from:] {
		if t != slotMisc && !((t == slotInvalid || t == slotPoison) && p.r.uninit) {
			return false
		}
	}
	return true
}

// scalarOf returns what a load of a slot, starting at byte from, would yield, or nil if that is not
// a scalar (scalar_reg_for_stack).
func (p *checkpoints) scalarOf(s *slot, from int) *reg {
	if s.t[from] == slotSpill && s.reg.typ == scalar {
		return &s.reg
	}
	if p.allMisc(s, from) {
		return unboundReg
	}
	return nil
}

// clean: poison only tells that a slot was found dead, so that later reads show a fault of that
// analysis; it is no other content.
func clean(t uint8) uint8 {
	if t == slotPoison {
		return slotInvalid
	}
	return t
}

// safeStack compares stacks (stacksafe). Slots that only the current state has do not matter: the
// old path did without them.
func (p *checkpoints) safeStack(o, c *frame, x exactness) bool {
	n, m := len(o.stack)*8, len(c.stack)*8
	for i := 0; i < n; i++ {
		os := o.stack[i/8]
		b := i % 8
		var cs *slot
		if i < m {
			cs = c.stack[i/8]
			if os == cs && b == 0 && os.reg.id == 0 && os.reg.ref == 0 {
				i += 7 // the same in every respect, and not one of several
				continue
			}
		}
		// In loops the marks of what is read may be missing yet.
		if x == exact || x == rangeWithin && !p.r.deadInLoops {
			if cs == nil || clean(os.t[b]) != clean(cs.t[b]) {
				return false
			}
		}
		read := p.r.static || o.uses[i/8]&liveRead != 0
		if !read && x == notExact {
			i += 7
			continue
		}
		if clean(os.t[b]) == slotInvalid || p.r.uninit && os.t[b] == slotMisc {
			continue
		}
		// The old path relied on a slot that the current state does not have.
		if cs == nil {
			return false
		}
		if p.scalarSlots() && (b == 0 || b == 4 && p.r.half || !p.r.half) {
			from := 0
			if p.r.half {
				from = b
			}
			or, cr := p.scalarOf(os, from), p.scalarOf(cs, from)
			if or != nil && cr != nil {
				if !p.safeRead(or, cr, x) {
					return false
				}
				if p.r.half && b == 4 {
					i += 3
				} else {
					i += 7
				}
				continue
			}
		}
		// What is safe for any byte is safe for 0.
		if os.t[b] == slotMisc && cs.t[b] == slotZero {
			continue
		}
		if os.t[b] != cs.t[b] {
			return false
		}
		if b != 7 {
			continue
		}
		if !p.safeSlot(os, cs, read, x) {
			return false
		}
	}
	return true
}

// safeSlot compares slots whose bytes are of the same kinds. How often an iterator advanced is left
// out, or its loop would never converge (stacksafe).
func (p *checkpoints) safeSlot(os, cs *slot, read bool, x exactness) bool {
	o, c := &os.reg, &cs.reg
	switch os.t[7] {
	case slotSpill:
		return !read && !p.r.pairs || p.safeRead(o, c, x)
	case slotDynptr:
		return !p.r.pairs || o.dtype == c.dtype && o.first == c.first && p.idmap.same(o.ref, c.ref)
	case slotIter:
		return (o.typ == c.typ || !p.has(since.IteratorTypes)) && o.spec == c.spec && o.tid == c.tid && o.istate == c.istate && p.idmap.same(o.ref, c.ref)
	case slotIRQ:
		return p.idmap.same(o.ref, c.ref) && o.class == c.class
	}
	return true
}

// safeRefs compares what is held: it must be released in the same way on both paths (refsafe).
func (p *checkpoints) safeRefs(o, c []ref) bool {
	if len(o) != len(c) {
		return false
	}
	for i := range o {
		if !p.r.pairs {
			if o[i] != c[i] {
				return false
			}
			continue
		}
		if !p.idmap.same(o[i].id, c[i].id) {
			return false
		}
		if p.r.stateRefs {
			if o[i].kind != c[i].kind {
				return false
			}
			// The lock must be released in the same map or type.
			if o[i].kind >= refLock && o[i].lock != c[i].lock {
				return false
			}
		}
	}
	return true
}

// safeFrame compares the frames of one function (func_states_equal).
func (p *checkpoints) safeFrame(o, c *frame, insn int, x exactness) bool {
	if !p.r.pairs {
		p.idmap.reset(p.ids)
	}
	// The old state had fewer rounds of bpf_loop before it and so more behind it, which covers this
	// one; the reverse does not.
	if o.callbackDepth > c.callbackDepth {
		return false
	}
	live := uint16(0xffff)
	if p.r.liveRegs {
		live = p.aux[insn].live
	}
	for i := 0; i < 11; i++ {
		if live>>i&1 != 0 && !p.safe(&o.regs[i], &c.regs[i], x) {
			return false
		}
	}
	if !p.safeStack(o, c, x) {
		return false
	}
	return p.r.stateRefs || p.safeRefs(o.refs, c.refs)
}

// statesEqual reports whether everything proved for the old state holds for the current one
// (states_equal).
func (p *checkpoints) statesEqual(o, c *state, x exactness) bool {
	if o.curFrame != c.curFrame {
		return false
	}
	p.idmap.reset(p.ids)
	// What may be called depends on these.
	if o.sleepable != c.sleepable || o.rcu != c.rcu || o.preempt != c.preempt {
		return false
	}
	if p.r.stateRefs {
		if o.locks != c.locks || !p.idmap.same(o.irqID, c.irqID) || !p.idmap.same(o.lockID, c.lockID) || o.lock != c.lock || !p.safeRefs(o.refs, c.refs) {
			return false
		}
	} else if o.lock != c.lock || p.r.pairs && !p.idmap.same(o.lockID, c.lockID) || !p.r.pairs && o.lockID != c.lockID {
		return false
	}
	for i := 0; i <= o.curFrame; i++ {
		// The function would return to another place.
		if o.frames[i].callsite != c.frames[i].callsite {
			return false
		}
		if !p.safeFrame(o.frames[i], c.frames[i], o.at(i), x) {
			return false
		}
	}
	return true
}

// maybeLooping is a quick check before states are compared exactly (states_maybe_looping).
func maybeLooping(o, c *state) bool {
	if o.curFrame != c.curFrame {
		return false
	}
	a, b := o.frames[c.curFrame], c.frames[c.curFrame]
	for i := range a.regs {
		x, y := &a.regs[i], &b.regs[i]
		if x.value != y.value || x.id != y.id || x.ref != y.ref {
			return false
		}
	}
	return true
}

// depthsDiffer reports whether an iterator that is active in both states has advanced: its next
// element may be the last, so that an equal state is no endless loop (iter_active_depths_differ).
func depthsDiffer(o, c *state) bool {
	for fr := o.curFrame; fr >= 0; fr-- {
		for i := range o.frames[fr].stack {
			s := o.frames[fr].stack[i]
			if s.t[0] == slotIter && s.reg.istate == iterActive && i < len(c.frames[fr].stack) && c.frames[fr].stack[i].reg.depth != s.reg.depth {
				return true
			}
		}
	}
	return false
}

// sameCallsites reports whether both are in the same chain of calls (same_callsites).
func sameCallsites(a, b *state) bool {
	if a.curFrame != b.curFrame {
		return false
	}
	for i := a.curFrame; i >= 0; i-- {
		if a.frames[i].callsite != b.frames[i].callsite {
			return false
		}
	}
	return true
}
