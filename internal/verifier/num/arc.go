package num

import (
	"math/bits"

	"golang.org/x/exp/constraints"
)

// arc is a range on the circle of the numbers of a width: size+1 numbers from base on, past the
// greatest number if need be (struct cnum64 and cnum32 of the kernel). The range of all numbers has
// base 0.
//
// One arc is both the signed and the unsigned range. Where it crosses the border between the
// greatest and the least number of a view, that view is unbounded.
type arc[T constraints.Unsigned] struct{ base, size T }

// noArc is the arc of no number, which contradictory knowledge yields.
func noArc[T constraints.Unsigned]() arc[T] { return arc[T]{^T(0), ^T(0)} }

func fullArc[T constraints.Unsigned]() arc[T] { return arc[T]{0, ^T(0)} }

// arcFrom is the arc from lo up to hi, both included, in the direction of growing numbers.
func arcFrom[T constraints.Unsigned](lo, hi T) arc[T] { return arc[T]{lo, hi - lo}.canonical() }

// canonical is the one way to write the arc of all numbers.
func (a arc[T]) canonical() arc[T] {
	if a.size == ^T(0) {
		a.base = 0
	}
	return a
}

// signBit is the sign bit of the width: the least signed number, whose predecessor is the greatest
// one.
func signBit[T constraints.Unsigned]() T { return ^T(0)>>1 + 1 }

// widthOf is the number of bits of T.
func widthOf[T constraints.Unsigned]() int { return bits.Len64(uint64(^T(0))) }

func (a arc[T]) empty() bool { return a == noArc[T]() }
func (a arc[T]) full() bool  { return a.size == ^T(0) && a.base == 0 }
func (a arc[T]) last() T     { return a.base + a.size }

// wraps reports whether the arc continues with 0 after the greatest unsigned number. The empty arc
// counts as wrapping.
func (a arc[T]) wraps() bool { return a.last() < a.base }

func (a arc[T]) has(v T) bool { return !a.empty() && v-a.base <= a.size }

func (a arc[T]) unsigned() (lo, hi T) {
	if a.wraps() {
		return 0, ^T(0)
	}
	return a.base, a.last()
}

// signed returns the signed range in two's complement. That of the empty arc is from -2 to -1, as
// the kernel computes it.
func (a arc[T]) signed() (lo, hi T) {
	s := signBit[T]()
	if a.has(s-1) && a.has(s) {
		return s, s - 1
	}
	if a.base^s <= a.last()^s {
		return a.base, a.last()
	}
	return a.last(), a.base
}

// and returns the numbers in both arcs. If these are two pieces, it is the smaller one of the arcs.
func (a arc[T]) and(b arc[T]) arc[T] {
	if a.empty() || b.empty() {
		return noArc[T]()
	}
	if a.base > b.base {
		a, b = b, a
	}
	from := b.base - a.base // where b begins, counted from the beginning of a
	to := from + b.size
	switch past := to < from; {
	case !past && from <= a.size:
		return arc[T]{b.base, min(a.size-from, b.size)}
	case !past:
		return noArc[T]()
	case from > a.size: // only the end of b, beyond the beginning of a, is in a
		return arc[T]{a.base, min(a.size, to)}
	case a.size <= b.size:
		return a
	}
	return b
}

// add returns the sums of the numbers of a and b.
func (a arc[T]) add(b arc[T]) arc[T] {
	if a.empty() || b.empty() {
		return noArc[T]()
	}
	if a.size > ^T(0)-b.size {
		return fullArc[T]()
	}
	return arc[T]{a.base + b.base, a.size + b.size}.canonical()
}

// neg returns the numbers 0 - x of the x in a.
func (a arc[T]) neg() arc[T] {
	if a.empty() {
		return a
	}
	return arc[T]{-a.last(), a.size}.canonical()
}

// holds reports whether every number of b is in a.
func (a arc[T]) holds(b arc[T]) bool {
	if b.empty() {
		return true
	}
	if a.empty() {
		return false
	}
	b.base -= a.base
	return a.size == ^T(0) || !b.wraps() && b.last() <= a.size
}

// lowHalves is the arc of the low halves of the numbers of a.
func lowHalves(a arc[uint64]) arc[uint32] {
	switch {
	case a.empty():
		return noArc[uint32]()
	case a.size >= 1<<32-1:
		return fullArc[uint32]()
	}
	return arc[uint32]{uint32(a.base), uint32(a.size)}
}

// withLow narrows a to begin and end with numbers whose low half is in low
// (cnum64_cnum32_intersect).
func withLow(a arc[uint64], low arc[uint32]) arc[uint64] {
	if a.empty() || low.empty() {
		return noArc[uint64]()
	}
	// Counted from the beginning of a, the low halves of its numbers begin with 0.
	low.base -= uint32(a.base)
	end := uint32(a.size) // the low half of the last number
	if low.wraps() {
		// The first number is right; so is the last one unless it is behind the one piece and
		// before the other.
		if to := low.last(); end > to && end < low.base {
			a.size -= uint64(end - to)
		}
		return a
	}
	first, to := uint64(low.base), uint64(low.last())
	if a.size < first {
		return noArc[uint64]()
	}
	a.base += first
	a.size -= first
	cut := uint64(0)
	switch {
	case uint64(end) < first: // the last right number has the high half before
		cut = uint64(end) + 1<<32 - to
	case uint64(end) > to:
		cut = uint64(end) - to
	}
	if a.size < cut {
		return noArc[uint64]()
	}
	a.size -= cut
	return a
}

// bitsArc is the range of the numbers with known bits.
func bitsArc[T constraints.Unsigned](value, mask T) arc[T] {
	s := signBit[T]()
	if (value|mask)&s != 0 {
		return arcFrom(value|mask&s, value|mask&^s)
	}
	return arcFrom(value, value|mask)
}
