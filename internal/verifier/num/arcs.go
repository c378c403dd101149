package num

import "math/bits"

// This file has the rules of releases whose ranges are arcs (since.CircularRanges). Bounds keeps
// the four views, which say everything about most arcs, and in wide and narrow the arcs of which
// they do not: those that cross the borders of both views, and the empty one.

// arc64 is the 64-bit range.
func (b *Bounds) arc64() arc[uint64] {
	if b.wide != (arc[uint64]{}) {
		return b.wide
	}
	return viewed(b.UMin, b.UMax, uint64(b.SMin), uint64(b.SMax))
}

// arc32 is the 32-bit range.
func (b *Bounds) arc32() arc[uint32] {
	if b.narrow != (arc[uint32]{}) {
		return b.narrow
	}
	return viewed(b.Low.UMin, b.Low.UMax, uint32(b.Low.SMin), uint32(b.Low.SMax))
}

// Base is where the arc of the whole number begins.
func (b *Bounds) Base() uint64 { return b.arc64().base }

// width is the width of a range.
type width interface{ uint32 | uint64 }

// viewed is the arc of an unsigned and a signed range.
func viewed[T width](umin, umax, smin, smax T) arc[T] {
	u, s := arcFrom(umin, umax), arcFrom(smin, smax)
	switch {
	case u == s || s.full():
		return u
	case u.full():
		return s
	}
	return u.and(s)
}

// hidden returns the arc if its views do not say everything about it.
func (a arc[T]) hidden() arc[T] {
	s := signBit[T]()
	if a.empty() || a.wraps() && a.has(s-1) && a.has(s) && !a.full() {
		return a
	}
	return arc[T]{}
}

func (b *Bounds) setArc64(a arc[uint64]) {
	b.UMin, b.UMax = a.unsigned()
	lo, hi := a.signed()
	b.SMin, b.SMax = int64(lo), int64(hi)
	b.wide = a.hidden()
}

func (b *Bounds) setArc32(a arc[uint32]) {
	b.Low.UMin, b.Low.UMax = a.unsigned()
	lo, hi := a.signed()
	b.Low.SMin, b.Low.SMax = int32(lo), int32(hi)
	b.narrow = a.hidden()
}

// settle makes an arc of each width of views that an operation left.
func (b *Bounds) settle() {
	b.wide, b.narrow = arc[uint64]{}, arc[uint32]{}
	b.setArc64(b.arc64())
	b.setArc32(b.arc32())
}

// arcs are bounds while they are narrowed.
type arcs struct {
	bits Tnum
	wide arc[uint64]
	low  arc[uint32]
}

func (a *arcs) known(v uint64) { *a = arcs{Const(v), arc[uint64]{v, 0}, arc[uint32]{uint32(v), 0}} }

// fromBits32 narrows the 32-bit range by the known bits.
func (a *arcs) fromBits32() { a.low = a.low.and(bitsArc(uint32(a.bits.Value), uint32(a.bits.Mask))) }

// fromBits narrows both ranges by the known bits, and finds the only number of the range that has
// them (__update_reg64_bounds).
func (a *arcs) fromBits() {
	a.fromBits32()
	a.wide = a.wide.and(bitsArc(a.bits.Value, a.bits.Mask))
	if n, ok := a.bits.only(a.wide.unsigned()); ok {
		a.known(n)
	}
}

// only returns the number that has the bits of t if exactly one from lo to hi has them.
func (t Tnum) only(lo, hi uint64) (uint64, bool) {
	next := t.After(lo)
	if lo&^t.Mask == t.Value {
		return lo, next > hi
	}
	return next, next == t.Value|t.Mask || next <= hi && t.After(next) > hi
}

// After returns the least number after v that has the bits of t, or the greatest one that has them
// if there is none.
func (t Tnum) After(v uint64) uint64 {
	switch {
	case v >= t.Value|t.Mask:
		return t.Value | t.Mask
	case v < t.Value:
		return t.Value
	}
	// The numbers are sums of Value and of parts of Mask: find the least part that is greater than
	// the difference.
	d := v - t.Value
	// A bit that no part has is reached by none of the lower ones: take the next higher part
	// instead.
	low := uint64(1)<<bits.Len64(d&^t.Mask) - 1
	return t.Value + ((d|low|^t.Mask)+1)&t.Mask
}

// toBits narrows the bits by the ranges.
func (a *arcs) toBits() {
	lo, hi := a.wide.unsigned()
	t64 := a.bits.Intersect(Range(lo, hi))
	l, h := a.low.unsigned()
	t32 := t64.Sub32().Intersect(Range(uint64(l), uint64(h)))
	a.bits = t64.Clear32().Or(t32)
}

func (b *Bounds) arcs() arcs { return arcs{b.Var, b.arc64(), b.arc32()} }

func (b *Bounds) setArcs(a arcs) {
	b.Var = a.bits
	b.setArc64(a.wide)
	b.setArc32(a.low)
}

// syncArcs is Sync for arcs.
func (b *Bounds) syncArcs() {
	if b.narrow == (arc[uint32]{}) && b.wide == (arc[uint64]{}) && b.exact() {
		return
	}
	a := b.arcs()
	if a.wide.empty() || a.low.empty() {
		return
	}
	a.fromBits()
	for range 2 {
		a.low = a.low.and(lowHalves(a.wide))
		a.wide = withLow(a.wide, a.low)
	}
	a.toBits()
	a.fromBits()
	b.setArcs(a)
}

// exact reports whether b is one number in every view, so that nothing narrows it.
func (b *Bounds) exact() bool { return b.Var.Mask == 0 && *b == Exactly(b.Var.Value) }

// notArcs narrows b given that it is not v.
func (b *Bounds) notArcs(v uint64, w32 bool) {
	if w32 {
		b.setArc32(b.arc32().and(arc[uint32]{uint32(v) + 1, 1<<32 - 2}))
	} else {
		b.setArc64(b.arc64().and(arc[uint64]{v + 1, 1<<64 - 2}))
	}
}

// fromBitsArcs is fromBits for arcs.
func (b *Bounds) fromBitsArcs() {
	a := b.arcs()
	a.fromBits()
	b.setArcs(a)
}

// Move adds a constant to every number, of which only the 64-bit range and the bits are kept.
func (b *Bounds) Move(by int64) {
	b.setArc64(b.arc64().add(arc[uint64]{uint64(by), 0}))
	b.Forget32()
	b.Var = b.Var.Add(Const(uint64(by)))
}

func (b *Bounds) addArcs(c *Bounds) {
	b.setArc32(b.arc32().add(c.arc32()))
	b.setArc64(b.arc64().add(c.arc64()))
}

func (b *Bounds) subArcs(c *Bounds) {
	b.setArc32(b.arc32().add(c.arc32().neg()))
	b.setArc64(b.arc64().add(c.arc64().neg()))
}

// bitopArcs is bitop for arcs.
func (b *Bounds) bitopArcs(c *Bounds, t Tnum, lim limits) {
	b.Var = t
	if t32 := t.Sub32(); c.Var.Sub32IsConst() && t32.IsConst() {
		b.Set32(uint32(t.Value))
	} else {
		lo, hi := lim(t32.Value, t32.Value|t32.Mask, uint64(b.Low.UMin), uint64(c.Low.UMin), uint64(b.Low.UMax), uint64(c.Low.UMax))
		b.setArc32(arcFrom(uint32(lo), uint32(hi)))
	}
	if c.Var.IsConst() && t.IsConst() {
		b.Set(t.Value)
		return
	}
	b.setArc64(arcFrom(lim(t.Value, t.Value|t.Mask, b.UMin, c.UMin, b.UMax, c.UMax)))
}

// shiftedLeft are the unsigned ends of a range after a left shift by n bits; nothing is known if
// the highest bit may be shifted out.
func shiftedLeft[T width](lo, hi T, n uint64) arc[T] {
	top := uint64(widthOf[T]()) - 1
	if n > top || uint64(hi) > uint64(1)<<(top-n) {
		return fullArc[T]()
	}
	return arcFrom(lo<<n, hi<<n)
}

// lsh32Arcs, rsh32Arcs and arsh32Arcs shift the low half by a constant.
func (b *Bounds) lsh32Arcs(n uint64) {
	low := b.Var.Sub32()
	b.setArc32(shiftedLeft(b.Low.UMin, b.Low.UMax, n))
	b.low32(low.Lsh(uint8(n)).Sub32())
}

func (b *Bounds) rsh32Arcs(n uint64) {
	b.setArc32(arcFrom(b.Low.UMin>>n, b.Low.UMax>>n))
	b.low32(b.Var.Sub32().Rsh(uint8(n)))
}

func (b *Bounds) arsh32Arcs(n uint64) {
	b.setArc32(arcFrom(uint32(b.Low.SMin>>n), uint32(b.Low.SMax>>n)))
	b.low32(b.Var.Sub32().Arsh(uint8(n), 32))
}

// low32 sets the bits of a 32-bit result, and narrows the 32-bit range by them.
func (b *Bounds) low32(t Tnum) {
	b.Var = t
	b.Forget64()
	a := b.arcs()
	a.fromBits32()
	b.setArc32(a.low)
}

// lshArcs, rshArcs and arshArcs shift by a constant.
func (b *Bounds) lshArcs(n uint64) {
	wide := shiftedLeft(b.UMin, b.UMax, n)
	if n == 32 { // compilers extend signs with a shift to the left and one to the right
		wide = wide.and(arcFrom(uint64(int64(b.Low.SMin)<<32), uint64(int64(b.Low.SMax)<<32)))
	}
	b.setArc64(wide)
	b.setArc32(shiftedLeft(b.Low.UMin, b.Low.UMax, n))
	b.Var = b.Var.Lsh(uint8(n))
	b.fromBitsArcs()
}

func (b *Bounds) rshArcs(n uint64) {
	b.setArc64(arcFrom(b.UMin>>n, b.UMax>>n))
	b.Forget32()
	b.Var = b.Var.Rsh(uint8(n))
	b.fromBitsArcs()
}

func (b *Bounds) arshArcs(n uint64) {
	b.setArc64(arcFrom(uint64(b.SMin>>n), uint64(b.SMax>>n)))
	b.Forget32()
	b.Var = b.Var.Arsh(uint8(n), 64)
	b.fromBitsArcs()
}

// refineArcs is Refine for arcs; the comparison is one of Eq, Le, Lt, SLe and SLt.
func refineArcs(b, c *Bounds, op Cond, w32 bool) {
	if w32 {
		x, y := b.arc32(), c.arc32()
		narrowBoth(&x, &y, op)
		b.setArc32(x)
		c.setArc32(y)
		return
	}
	x, y := b.arc64(), c.arc64()
	narrowBoth(&x, &y, op)
	b.setArc64(x)
	c.setArc64(y)
}

// narrowBoth narrows two ranges given that their numbers compare as op requires.
func narrowBoth[T width](x, y *arc[T], op Cond) {
	least := signBit[T]()
	one := T(0)
	if op == Lt || op == SLt {
		one = 1
	}
	switch op {
	case Eq:
		*x = x.and(*y)
		*y = *x
	case Le, Lt:
		_, hi := y.unsigned()
		*x = x.and(arcFrom(0, hi-one))
		lo, _ := x.unsigned()
		*y = y.and(arcFrom(lo+one, ^T(0)))
	case SLe, SLt:
		_, hi := y.signed()
		*x = x.and(arcFrom(least, hi-one))
		lo, _ := x.signed()
		*y = y.and(arcFrom(lo+one, least-1))
	}
}

// deadSide decides a comparison by narrowing the numbers for each outcome: one that leaves none is
// impossible (simulate_both_branches_taken).
func deadSide(b, c *Bounds, op Cond, w32 bool, r Rules) int {
	possible := func(op Cond) bool {
		x, y := *b, *c
		Refine(&x, &y, op, w32, r)
		x.Sync(r)
		y.Sync(r)
		return !x.nothing() && !y.nothing()
	}
	switch {
	case !possible(op.Not()):
		return Sure
	case !possible(op):
		return Never
	}
	return Maybe
}

// nothing reports whether no number is possible.
func (b *Bounds) nothing() bool { return b.wide.empty() || b.narrow.empty() }
