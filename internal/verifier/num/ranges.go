package num

import "golang.org/x/exp/constraints"

// Ranges are the signed and the unsigned range of the numbers of one width. S and U have the same
// size.
type Ranges[S constraints.Signed, U constraints.Unsigned] struct {
	SMin, SMax S
	UMin, UMax U
}

// set makes v the only number.
func (x *Ranges[S, U]) set(v U) { *x = Ranges[S, U]{S(v), S(v), v, v} }

// forget allows every number.
func (x *Ranges[S, U]) forget() {
	x.forgetSigned()
	x.UMin, x.UMax = 0, ^U(0)
}

func (x *Ranges[S, U]) forgetSigned() { x.SMin, x.SMax = S(signBit[U]()), S(signBit[U]()-1) }

// broken reports whether a range has no number.
func (x *Ranges[S, U]) broken() bool { return x.UMin > x.UMax || x.SMin > x.SMax }

// only reports whether v is the only number.
func (x *Ranges[S, U]) only(v U) bool { return *x == Ranges[S, U]{S(v), S(v), v, v} }

// has reports whether v is in both ranges.
func (x *Ranges[S, U]) has(v U) bool {
	return x.SMin <= S(v) && S(v) <= x.SMax && x.UMin <= v && v <= x.UMax
}

// contains reports whether both ranges contain those of y.
func (x *Ranges[S, U]) contains(y *Ranges[S, U]) bool {
	return x.UMin <= y.UMin && x.UMax >= y.UMax && x.SMin <= y.SMin && x.SMax >= y.SMax
}

// and keeps the numbers that are in y too.
func (x *Ranges[S, U]) and(y *Ranges[S, U]) {
	x.UMin, x.UMax = max(x.UMin, y.UMin), min(x.UMax, y.UMax)
	x.SMin, x.SMax = max(x.SMin, y.SMin), min(x.SMax, y.SMax)
}

// fromBits narrows the ranges by known bits (__update_reg_bounds).
func (x *Ranges[S, U]) fromBits(value, mask U) {
	s := signBit[U]()
	x.SMin = max(x.SMin, S(value|mask&s))
	x.SMax = min(x.SMax, S(value|mask&^s))
	x.UMin = max(x.UMin, value)
	x.UMax = min(x.UMax, value|mask)
}

// narrowSigned narrows the signed range to what is from lo to hi, if these are in order.
func (x *Ranges[S, U]) narrowSigned(lo, hi S) {
	if lo <= hi {
		x.SMin = max(x.SMin, lo)
		x.SMax = min(x.SMax, hi)
	}
}

// narrowUnsigned narrows the unsigned range to what is from lo to hi.
func (x *Ranges[S, U]) narrowUnsigned(lo, hi U) {
	x.UMin = max(x.UMin, lo)
	x.UMax = min(x.UMax, hi)
}

// deduce narrows signed by unsigned and unsigned by signed (__reg64_deduce_bounds). With split, a
// signed range of two unsigned pieces narrows an unsigned range that overlaps only one of them.
func (x *Ranges[S, U]) deduce(split bool) {
	x.narrowSigned(S(x.UMin), S(x.UMax))
	switch {
	case U(x.SMin) <= U(x.SMax):
		x.narrowUnsigned(U(x.SMin), U(x.SMax))
	case !split:
	case x.UMax < U(x.SMin):
		x.SMin = S(x.UMin)
		x.UMax = min(x.UMax, U(x.SMax))
	case U(x.SMax) < x.UMin:
		x.SMax = S(x.UMax)
		x.UMin = max(x.UMin, U(x.SMin))
	}
}

// deduceSign uses only sign bits, as releases before 6.8 do.
func (x *Ranges[S, U]) deduceSign() {
	switch {
	case x.SMin >= 0 || x.SMax < 0:
		x.UMin = max(U(x.SMin), x.UMin)
		x.SMin = S(x.UMin)
		x.UMax = min(U(x.SMax), x.UMax)
		x.SMax = S(x.UMax)
	case S(x.UMax) >= 0:
		x.SMin = S(x.UMin)
		x.UMax = min(U(x.SMax), x.UMax)
		x.SMax = S(x.UMax)
	case S(x.UMin) < 0:
		x.UMin = max(U(x.SMin), x.UMin)
		x.SMin = S(x.UMin)
		x.SMax = S(x.UMax)
	}
}

// add is scalar_min_max_add. With both, sums stay ranges if both ends overflow.
func (x *Ranges[S, U]) add(y *Ranges[S, U], both bool) {
	lo, o1 := addS(x.SMin, y.SMin)
	hi, o2 := addS(x.SMax, y.SMax)
	l, p1 := addU(x.UMin, y.UMin)
	h, p2 := addU(x.UMax, y.UMax)
	x.computed(lo, hi, o1 || o2, l, h, both && !p1 && p2 || !both && (p1 || p2))
}

// sub is scalar_min_max_sub.
func (x *Ranges[S, U]) sub(y *Ranges[S, U], both bool) {
	lo, o1 := subS(x.SMin, y.SMax)
	hi, o2 := subS(x.SMax, y.SMin)
	l, p1 := subU(x.UMin, y.UMax)
	h, p2 := subU(x.UMax, y.UMin)
	x.computed(lo, hi, o1 || o2, l, h, both && p1 && !p2 || !both && p1)
}

// computed sets each range, or forgets it if its ends overflowed.
func (x *Ranges[S, U]) computed(lo, hi S, overS bool, l, h U, overU bool) {
	x.forget()
	if !overS {
		x.SMin, x.SMax = lo, hi
	}
	if !overU {
		x.UMin, x.UMax = l, h
	}
}

// signedFromUnsigned sets the signed range to the unsigned one, or forgets it where the greatest
// number is negative.
func (x *Ranges[S, U]) signedFromUnsigned() {
	if x.UMax >= signBit[U]() {
		x.forgetSigned()
	} else {
		x.SMin, x.SMax = S(x.UMin), S(x.UMax)
	}
}

// mulPositive multiplies ranges without negative numbers that are at most half as wide as the
// result, as releases before 6.14 do; it forgets others.
func (x *Ranges[S, U]) mulPositive(y *Ranges[S, U]) {
	half := ^U(0) >> (widthOf[U]() / 2)
	if y.SMin < 0 || x.SMin < 0 || y.UMax > half || x.UMax > half {
		x.forget()
		return
	}
	x.UMin *= y.UMin
	x.UMax *= y.UMax
	x.signedFromUnsigned()
}

// mulSigned multiplies ranges, and forgets those that overflow.
func (x *Ranges[S, U]) mulSigned(y *Ranges[S, U]) {
	var p [4]S
	overS := false
	for i, v := range [4][2]S{{x.SMin, y.SMin}, {x.SMin, y.SMax}, {x.SMax, y.SMin}, {x.SMax, y.SMax}} {
		var o bool
		p[i], o = mulS(v[0], v[1])
		overS = overS || o
	}
	l, o1 := mulU(x.UMin, y.UMin)
	h, o2 := mulU(x.UMax, y.UMax)
	x.computed(min(p[0], p[1], p[2], p[3]), max(p[0], p[1], p[2], p[3]), overS, l, h, o1 || o2)
}

// exclude narrows ranges that begin or end with v given that the number is not v.
func (x *Ranges[S, U]) exclude(v U) {
	if x.UMin == v {
		x.UMin++
	}
	if x.UMax == v {
		x.UMax--
	}
	if x.SMin == S(v) {
		x.SMin++
	}
	if x.SMax == S(v) {
		x.SMax--
	}
}

// refine narrows the ranges of two numbers given that they compare as op requires: Eq, Le, Lt, SLe
// or SLt.
func (x *Ranges[S, U]) refine(y *Ranges[S, U], op Cond) {
	switch op {
	case Eq:
		x.and(y)
		*y = *x
	case Le:
		x.UMax = min(x.UMax, y.UMax)
		y.UMin = max(x.UMin, y.UMin)
	case Lt:
		x.UMax = min(x.UMax, y.UMax-1)
		y.UMin = max(x.UMin+1, y.UMin)
	case SLe:
		x.SMax = min(x.SMax, y.SMax)
		y.SMin = max(x.SMin, y.SMin)
	case SLt:
		x.SMax = min(x.SMax, y.SMax-1)
		y.SMin = max(x.SMin+1, y.SMin)
	}
}

// shiftLeft shifts the unsigned range left by lo to hi bits, and forgets both if a number may reach
// the sign bit.
func (x *Ranges[S, U]) shiftLeft(lo, hi uint64) {
	top := uint64(widthOf[U]()) - 1
	if hi > top || uint64(x.UMax) > uint64(1)<<(top-hi) {
		x.forget()
		return
	}
	x.forgetSigned()
	x.UMin <<= lo
	x.UMax <<= hi
}
