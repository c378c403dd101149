package verifier

import (
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/num"
)

// collectLinked finds registers and slots with an identity; beyond six they are forgotten.
func (c *conditions) collectLinked(set []linkedReg, id uint32) []linkedReg {
	id &^= addConst
	add := func(r *reg, fr, i int, isReg bool) {
		if r.typ != scalar || r.id&^addConst != id {
			return
		}
		if len(set) >= 6 {
			r.clearID()
			return
		}
		set = append(set, linkedReg{uint8(fr), uint8(i), isReg})
	}
	for fr := c.cur.curFrame; fr >= 0; fr-- {
		f := c.cur.frames[fr]
		live := uint16(0xffff)
		if c.r.singular {
			live = c.aux[c.cur.at(fr)].live
		}
		for i := 0; i < 10; i++ {
			if live>>i&1 != 0 {
				add(&f.regs[i], fr, i, true)
			}
		}
		for i := range f.stack {
			if f.stack[i].isSpill() {
				add(&f.stack[i].reg, fr, i, false)
			}
		}
	}
	return set
}

// syncEqual narrows everything equal to the compared registers in the same way.
func (c *conditions) syncEqual(in *decode.Insn, other *state, d, s, od, os *reg, linked []linkedReg) {
	sync := func(st *state, known *reg) {
		if c.r.linked {
			c.syncLinked(st, known, linked)
			return
		}
		copyTo := func(r *reg) {
			if r.typ == scalar && r.id == known.id {
				r.copyFrom(known)
			}
		}
		if c.has(since.LinkedInSpills) {
			st.eachReg(spillMask, copyTo)
			return
		}
		// Spills of less than 8 bytes are passed over.
		for _, f := range st.frames[:st.curFrame+1] {
			for i := range f.regs {
				copyTo(&f.regs[i])
			}
			for i := range f.stack {
				if f.stack[i].t[0] == slotSpill {
					copyTo(&f.stack[i].reg)
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

func (c *conditions) syncLinked(st *state, known *reg, linked []linkedReg) {
	for _, l := range linked {
		var r *reg
		if l.isReg {
			r = &st.frames[l.frame].regs[l.index]
		} else {
			r = &st.frames[l.frame].stack[l.index].reg
		}
		if r.typ != scalar || r == known || r.id&^addConst != known.id&^addConst {
			continue
		}
		c.touchLinked(l)
		if r.id&addConst == 0 && known.id&addConst == 0 || r.off == known.off && (!c.r.linkedNeg || r.id&addConst == known.id&addConst) {
			r.copyFrom(known)
			continue
		}
		if c.r.linkedNeg && (r.id&addConst32 != 0 && known.id&addConst64 != 0 || r.id&addConst64 != 0 && known.id&addConst32 != 0) {
			continue
		}
		off, id := r.off, r.id
		delta := num.Exactly(uint64(int64(r.off) - int64(known.off)))
		w32 := (r.id|known.id)&addConst32 != 0
		r.copyFrom(known)
		r.off, r.id = off, id
		r.Bounds.Add(&delta, c.rules)
		if w32 {
			r.Zext()
		}
		if c.has(since.LinkedDeduced) {
			r.Sync(c.rules)
		}
	}
}

// touchLinked logs a register or slot that was narrowed with another one, even if nothing reads it
// any more.
func (c *conditions) touchLinked(l linkedReg) {
	if l.isReg {
		c.log.touch(int(l.index))
	} else {
		c.log.touchSlot(int(l.frame), int(l.index))
	}
}
