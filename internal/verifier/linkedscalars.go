package verifier

import (
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/num"
)

// maxLinked is the number of registers and slots that are narrowed together: an entry of the
// history has no room for more (LINKED_REGS_MAX).
const maxLinked = 6

// collectLinked finds registers and slots with an identity (collect_linked_regs). Beyond six they
// are unlinked: what is narrowed must be in the history, or backtracking would miss it.
func (c *conditions) collectLinked(set []linkedReg, id uint32) []linkedReg {
	// A register and its sums with constants are linked alike.
	id &^= addConst
	is := func(r *reg) bool { return r.typ == scalar && r.id&^addConst == id }
	for fr := c.cur.curFrame; fr >= 0; fr-- {
		f := c.cur.frames[fr]
		// Registers that nothing reads would take the places of others.
		live := uint16(0xffff)
		if c.r.linkedLive {
			live = c.aux[c.cur.at(fr)].live
		}
		for i := 0; i < 10; i++ {
			switch {
			case live>>i&1 == 0 || !is(&f.regs[i]):
			case len(set) >= maxLinked:
				f.regs[i].clearID()
			default:
				set = append(set, linkedReg{uint8(fr), uint8(i), true})
			}
		}
		for i, s := range f.stack {
			switch {
			case !s.isSpill() || !is(&s.reg):
			case len(set) >= maxLinked:
				f.own(i).reg.clearID()
			default:
				set = append(set, linkedReg{uint8(fr), uint8(i), false})
			}
		}
	}
	return set
}

// syncEqual narrows everything equal to the compared registers in the same way (find_equal_scalars,
// sync_linked_regs since 6.12).
func (c *conditions) syncEqual(in *decode.Insn, other *state, d, s, od, os *reg, linked []linkedReg) {
	sync := func(st *state, known *reg) {
		if c.r.linkedHist {
			c.syncLinked(st, known, linked)
			return
		}
		if c.r.linked {
			st.eachReg(spillMask, linkedTo(known), func(r *reg) { c.moveLinked(r, known) })
			return
		}
		is := func(r *reg) bool { return r.typ == scalar && r.id == known.id }
		if c.has(since.LinkedInSpills) {
			st.eachReg(spillMask, is, func(r *reg) { r.copyFrom(known) })
			return
		}
		// Spills of less than 8 bytes are passed over.
		for _, f := range st.frames[:st.curFrame+1] {
			for i := range f.regs {
				if r := &f.regs[i]; is(r) {
					r.copyFrom(known)
				}
			}
			for i, s := range f.stack {
				if s.t[0] == slotSpill && is(&s.reg) {
					f.own(i).reg.copyFrom(known)
				}
			}
		}
	}
	if isX(in) && s.typ == scalar && s.id != 0 {
		sync(c.cur, s)
		sync(other, os)
	}
	if d.typ == scalar && d.id != 0 {
		sync(c.cur, d)
		sync(other, od)
	}
}

// syncLinked narrows each register of the set: to the same range, or to that range moved by the
// difference of the constants that were added to each (sync_linked_regs).
func (c *conditions) syncLinked(st *state, known *reg, linked []linkedReg) {
	for _, l := range linked {
		var r *reg
		if l.isReg {
			r = &st.frames[l.frame].regs[l.index]
		} else {
			r = &st.frames[l.frame].own(int(l.index)).reg
		}
		if linkedTo(known)(r) {
			c.touchLinked(l)
			c.moveLinked(r, known)
		}
	}
}

// linkedTo tells which other registers have the identity of a known one.
func linkedTo(known *reg) func(*reg) bool {
	return func(r *reg) bool { return r.typ == scalar && r != known && r.id&^addConst == known.id&^addConst }
}

// moveLinked narrows a register as a known one that it is linked to.
func (c *conditions) moveLinked(r, known *reg) {
	if r.id&addConst == 0 && known.id&addConst == 0 || r.off == known.off && (!c.r.linkedNeg || r.id&addConst == known.id&addConst) {
		r.copyFrom(known)
		return
	}
	// A 32-bit sum wraps where a 64-bit one does not: no difference relates the two.
	if c.r.linkedNeg && (r.id&addConst32 != 0 && known.id&addConst64 != 0 || r.id&addConst64 != 0 && known.id&addConst32 != 0) {
		return
	}
	off, id := r.off, r.id
	delta := num.Exactly(uint64(int64(r.off) - int64(known.off)))
	w32 := (r.id|known.id)&addConst32 != 0
	r.copyFrom(known)
	// The register stays linked as it was.
	r.off, r.id = off, id
	r.Bounds.Add(&delta, c.rules)
	if w32 {
		r.Zext()
	}
	if c.has(since.LinkedDeduced) {
		r.Sync(c.rules)
	}
}

// touchLinked logs a register or slot that was narrowed with another one, even if nothing reads it
// any more.
func (c *conditions) touchLinked(l linkedReg) {
	if !c.has(since.LinkedLogged) {
		return
	}
	if l.isReg {
		c.log.touch(int(l.index))
	} else {
		c.log.touchSlot(int(l.index))
	}
}
