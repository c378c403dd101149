package num

import "math"

// Bounds is what is known about a scalar: bits and ranges. After Sync they are consistent with each
// other.
type Bounds struct {
	Var                   Tnum
	Ranges[int64, uint64]                       // of the whole number
	Low                   Ranges[int32, uint32] // of its low half

	// Releases with circular ranges: the ranges if the views do not say everything about them, else
	// 0.
	wide   arc[uint64]
	narrow arc[uint32]
}

// Unbounded allows any number.
var Unbounded = unbounded()

func unbounded() (b Bounds) {
	b.Var = Unknown
	b.Forget()
	return b
}

// Exactly returns the Bounds of one number.
func Exactly(v uint64) (b Bounds) {
	b.Var = Const(v)
	b.set(v)
	b.Low.set(uint32(v))
	return b
}

// Set sets b to one number.
func (b *Bounds) Set(v uint64) { *b = Exactly(v) }

// Set32 sets the low half to one number and leaves the high half unchanged.
func (b *Bounds) Set32(v uint32) {
	b.Var = b.Var.Const32(v)
	b.Low.set(v)
	b.narrow = arc[uint32]{}
}

// Forget drops the ranges and keeps the bits.
func (b *Bounds) Forget() { b.Forget64(); b.Forget32() }

// Forget64 drops the 64-bit ranges.
func (b *Bounds) Forget64() {
	b.forget()
	b.wide = arc[uint64]{}
}

// Forget32 drops the 32-bit ranges.
func (b *Bounds) Forget32() {
	b.Low.forget()
	b.narrow = arc[uint32]{}
}

// fromBits32 narrows the 32-bit ranges by the known bits.
func (b *Bounds) fromBits32() { b.Low.fromBits(uint32(b.Var.Value), uint32(b.Var.Mask)) }

func (b *Bounds) fromBits() { b.fromBits32(); b.Ranges.fromBits(b.Var.Value, b.Var.Mask) }

// toBits narrows the bits by the ranges (__reg_bound_offset).
func (b *Bounds) toBits(r Rules) {
	t64 := b.Var.Intersect(Range(b.UMin, b.UMax))
	low := t64
	if !r.WholeRangeBits {
		low = b.Var
	}
	t32 := low.Sub32().Intersect(Range(uint64(b.Low.UMin), uint64(b.Low.UMax)))
	b.Var = t64.Clear32().Or(t32)
}

// Sync derives each view from the others, as far as the release does (reg_bounds_sync).
func (b *Bounds) Sync(r Rules) {
	if r.Arcs {
		b.syncArcs()
		return
	}
	b.fromBits()
	if r.OneNumber {
		b.onlyNumber()
	}
	b.deduceAll(r)
	b.toBits(r)
	if !r.Whole {
		return
	}
	b.fromBits()
	if r.OneNumber {
		b.onlyNumber()
	}
}

// SyncRanges does the same after a comparison or a helper changed ranges: releases before
// reg_bounds_sync left out the first step then, and the last one after arithmetic.
func (b *Bounds) SyncRanges(r Rules) {
	if r.Whole {
		b.Sync(r)
		return
	}
	b.deduceAll(r)
	b.toBits(r)
	b.fromBits()
}

// deduceAll narrows ranges by each other.
func (b *Bounds) deduceAll(r Rules) {
	if r.Deduce == DeduceSign {
		b.Low.deduceSign()
		b.deduceSign()
	} else {
		for range 3 {
			b.deduce32(r)
			b.deduce(r.SplitSign)
			b.deduceMixed(r)
		}
	}
}

// onlyNumber finds the only number of the unsigned range that has the known bits
// (__update_reg64_bounds).
func (b *Bounds) onlyNumber() {
	if n, ok := b.Var.only(b.UMin, b.UMax); ok {
		b.Set(n)
	}
}

// Broken names a contradiction, or returns "" if there is none (reg_bounds_sanity_check).
func (b *Bounds) Broken() string {
	switch {
	case b.nothing(), b.broken(), b.Low.broken():
		return "range bounds violation"
	case b.Var.IsConst() && !b.only(b.Var.Value):
		return "const tnum out of sync with range bounds"
	case b.Var.Sub32IsConst() && !b.Low.only(uint32(b.Var.Value)):
		return "const subreg tnum out of sync with range bounds"
	}
	return ""
}

// Within reports whether all ranges of c lie within those of b.
func (b *Bounds) Within(c *Bounds) bool {
	if b.wide != (arc[uint64]{}) || c.wide != (arc[uint64]{}) || b.narrow != (arc[uint32]{}) || c.narrow != (arc[uint32]{}) {
		return b.arc64().holds(c.arc64()) && b.arc32().holds(c.arc32())
	}
	return b.contains(&c.Ranges) && b.Low.contains(&c.Low)
}

// Zext zeroes the high half and sets the 64-bit ranges to those of the low half.
func (b *Bounds) Zext() {
	b.Var = b.Var.Sub32()
	b.wide = arc[uint64]{}
	b.UMin, b.UMax = uint64(b.Low.UMin), uint64(b.Low.UMax)
	if b.Low.SMin >= 0 && b.Low.SMax >= 0 {
		b.SMin, b.SMax = int64(b.Low.SMin), int64(b.Low.SMax)
	} else {
		b.SMin, b.SMax = 0, math.MaxUint32
	}
}

// Width returns the number of low bits that may be set.
func (b *Bounds) Width() int { return bitLen(b.UMax) }

// Holds reports whether v is a possible value.
func (b *Bounds) Holds(v uint64) bool {
	if b.wide != (arc[uint64]{}) && !b.wide.has(v) || b.narrow != (arc[uint32]{}) && !b.narrow.has(uint32(v)) {
		return false
	}
	return b.Var.Contains(Const(v)) && b.has(v) && b.Low.has(uint32(v))
}
