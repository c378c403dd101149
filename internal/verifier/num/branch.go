package num

import "math/bits"

// Cond is a comparison (the operation bits of a conditional jump).
type Cond uint8

// Comparisons. NSet holds where JSET does not jump.
const (
	Eq   Cond = 0x10
	Gt   Cond = 0x20
	Ge   Cond = 0x30
	Set  Cond = 0x40
	Ne   Cond = 0x50
	SGt  Cond = 0x60
	SGe  Cond = 0x70
	Lt   Cond = 0xa0
	Le   Cond = 0xb0
	SLt  Cond = 0xc0
	SLe  Cond = 0xd0
	NSet Cond = Set | 8
)

// Flip returns the comparison with its operands exchanged, 0 if there is none.
func (c Cond) Flip() Cond {
	switch c {
	case Ge:
		return Le
	case Gt:
		return Lt
	case Le:
		return Ge
	case Lt:
		return Gt
	case SGe:
		return SLe
	case SGt:
		return SLt
	case SLe:
		return SGe
	case SLt:
		return SGt
	}
	return c
}

// Not returns the opposite comparison.
func (c Cond) Not() Cond {
	switch c {
	case Eq:
		return Ne
	case Ne:
		return Eq
	case Set:
		return NSet
	case NSet:
		return Set
	case Ge:
		return Lt
	case Gt:
		return Le
	case Le:
		return Gt
	case Lt:
		return Ge
	case SGe:
		return SLt
	case SGt:
		return SLe
	case SLe:
		return SGt
	case SLt:
		return SGe
	}
	return 0
}

// Outcomes of a comparison.
const (
	Maybe = -1
	Never = 0
	Sure  = 1
)

// view is one width of a Bounds.
type view struct {
	t          Tnum
	umin, umax uint64
	smin, smax int64
}

func (b *Bounds) view(w32 bool) view {
	if w32 {
		return view{b.Var.Sub32(), uint64(b.Low.UMin), uint64(b.Low.UMax), int64(b.Low.SMin), int64(b.Low.SMax)}
	}
	return view{b.Var, b.UMin, b.UMax, b.SMin, b.SMax}
}

// IsConst reports whether the number (with w32, its low half) is known.
func (b *Bounds) IsConst(w32 bool) bool {
	if w32 {
		return b.Var.Sub32IsConst()
	}
	return b.Var.IsConst()
}

// Const returns the known number.
func (b *Bounds) Const(w32 bool) uint64 {
	if w32 {
		return uint64(uint32(b.Var.Value))
	}
	return b.Var.Value
}

func disjoint(a, b view) bool {
	return a.umin > b.umax || a.umax < b.umin || a.smin > b.smax || a.smax < b.smin
}

// Taken reports whether b and c compare as op requires: Maybe, Never or Sure
// (is_scalar_branch_taken).
func Taken(b, c *Bounds, op Cond, w32 bool, r Rules) int {
	decided := taken(b, c, op, w32, r)
	if decided == Maybe && r.Arcs && (op != Set || b.IsConst(w32) || c.IsConst(w32)) {
		return deadSide(b, c, op, w32, r)
	}
	return decided
}

func taken(b, c *Bounds, op Cond, w32 bool, r Rules) int {
	x, y := b.view(w32), c.view(w32)
	if r.Deduce == DeduceSign && !y.t.IsConst() {
		// Older releases compare with constants only, and before 6.4 only with constants on the
		// right.
		switch {
		case !x.t.IsConst(), !r.ConstLeft, op.Flip() == 0 && !(r.EqRange && (op == Eq || op == Ne)):
			return Maybe
		case op.Flip() != 0:
			op = op.Flip()
		}
		x, y = y, x
	}
	switch op {
	case Eq, Ne:
		equal := Maybe
		switch {
		case x.t.IsConst() && y.t.IsConst():
			equal = truth(x.t.Value == y.t.Value)
		case r.Deduce == DeduceSign:
			if r.EqRange && disjoint(x, y) {
				equal = Never
			}
		case r.EqBits && !x.t.Overlaps(y.t), disjoint(x, y):
			equal = Never
		case !w32 && r.EqHalves && disjoint(b.view(true), c.view(true)):
			equal = Never
		}
		if op == Ne && equal != Maybe {
			equal = 1 - equal
		}
		return equal
	case Set:
		if !y.t.IsConst() {
			x, y = y, x
		}
		if !y.t.IsConst() {
			return Maybe
		}
		if x.t.Value&^x.t.Mask&y.t.Value != 0 {
			return Sure
		}
		if (x.t.Value|x.t.Mask)&y.t.Value == 0 {
			return Never
		}
	case Gt:
		return decide(x.umin > y.umax, x.umax <= y.umin)
	case SGt:
		return decide(x.smin > y.smax, x.smax <= y.smin)
	case Lt:
		return decide(x.umax < y.umin, x.umin >= y.umax)
	case SLt:
		return decide(x.smax < y.smin, x.smin >= y.smax)
	case Ge:
		return decide(x.umin >= y.umax, x.umax < y.umin)
	case SGe:
		return decide(x.smin >= y.smax, x.smax < y.smin)
	case Le:
		return decide(x.umax <= y.umin, x.umin > y.umax)
	case SLe:
		return decide(x.smax <= y.smin, x.smin > y.smax)
	}
	return Maybe
}

func truth(b bool) int {
	if b {
		return Sure
	}
	return Never
}

func decide(sure, never bool) int {
	if sure {
		return Sure
	}
	if never {
		return Never
	}
	return Maybe
}

// Refine narrows b and c given that they compare as op requires (regs_refine_cond_op). Call Sync
// afterwards.
func Refine(b, c *Bounds, op Cond, w32 bool, r Rules) {
	switch op {
	case Ge, Gt, SGe, SGt:
		op = op.Flip()
		b, c = c, b
	case Ne, Set, NSet:
		if !c.IsConst(w32) {
			b, c = c, b
		}
		if c.IsConst(w32) {
			refineConst(b, c.Const(w32), op, w32, r)
		}
		return
	}
	switch {
	case r.Arcs:
		refineArcs(b, c, op, w32)
	case w32:
		b.Low.refine(&c.Low, op)
	default:
		b.refine(&c.Ranges, op)
	}
	if op == Eq {
		equateBits(b, c, w32)
	}
}

func refineConst(b *Bounds, v uint64, op Cond, w32 bool, r Rules) {
	switch {
	case op == Ne && r.Arcs:
		b.notArcs(v, w32)
	case op == Ne && w32:
		b.Low.exclude(uint32(v))
	case op == Ne:
		b.exclude(v)
	case op == Set:
		if bits.OnesCount64(v) != 1 {
			return
		}
		if w32 {
			b.Var = b.Var.With32(b.Var.Sub32().Or(Const(v)))
		} else {
			b.Var = b.Var.Or(Const(v))
		}
	case op == NSet:
		if r.TestForgets {
			b.Forget()
		}
		if w32 {
			b.Var = b.Var.With32(b.Var.Sub32().And(Const(^v)))
		} else {
			b.Var = b.Var.And(Const(^v))
		}
	}
}

// RefineConst narrows yes and no, the values of a register that does and does not compare with the
// constant v as op requires, as releases before 6.8 do (reg_set_min_max).
func RefineConst(yes, no *Bounds, v uint64, op Cond, w32 bool, r Rules) {
	if op == 0 {
		return
	}
	c := Exactly(v)
	switch op {
	case Eq:
		r.equals(yes, v, w32)
	case Ne:
		r.equals(no, v, w32)
	case Set:
		if r.TestForgets {
			no.Forget()
		}
		if w32 {
			no.Var = no.Var.With32(no.Var.Sub32().And(Const(uint64(^uint32(v)))))
			if bits.OnesCount32(uint32(v)) == 1 {
				yes.Var = yes.Var.With32(yes.Var.Sub32().Or(Const(uint64(uint32(v)))))
			}
		} else {
			no.Var = no.Var.And(Const(^v))
			if bits.OnesCount64(v) == 1 {
				yes.Var = yes.Var.Or(Const(v))
			}
		}
	default:
		d := c
		Refine(yes, &d, op, w32, r)
		d = c
		Refine(no, &d, op.Not(), w32, r)
	}
	for _, b := range []*Bounds{no, yes} {
		if w32 {
			b.Combine32Into64(r)
		} else {
			b.Combine64Into32(r)
		}
	}
}

// equateBits narrows the known bits of two equal numbers by each other.
func equateBits(b, c *Bounds, w32 bool) {
	t := b.Var.Intersect(c.Var)
	if !w32 {
		b.Var, c.Var = t, t
		return
	}
	t = b.Var.Sub32().Intersect(c.Var.Sub32())
	b.Var, c.Var = b.Var.With32(t), c.Var.With32(t)
}

// equals makes v the only number. Before reg_bounds_sync the bits stayed what they were, to be
// derived from the ranges: those of the old number and of the new one together if these contradict
// each other.
func (r Rules) equals(b *Bounds, v uint64, w32 bool) {
	old := b.Var
	if w32 {
		b.Set32(uint32(v))
	} else {
		b.Set(v)
	}
	if !r.Whole {
		b.Var = old
	}
}

// Equate narrows two numbers known to be equal to each other's bounds, as releases before 6.8 do.
func Equate(b, c *Bounds, r Rules) {
	b.refine(&c.Ranges, Eq)
	equateBits(b, c, false)
	r.Whole = true
	b.Sync(r)
	c.Sync(r)
}
