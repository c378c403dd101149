package num

import "math"

// Div replaces b with the quotient of b and the constant c, in the low half if w32 (7.0 and later).
func (b *Bounds) Div(c *Bounds, w32, signed bool, r Rules) { b.divide(c, w32, signed, false, r) }

// Mod replaces b with the remainder of b and the constant c.
func (b *Bounds) Mod(c *Bounds, w32, signed bool, r Rules) { b.divide(c, w32, signed, true, r) }

func (b *Bounds) divide(c *Bounds, w32, signed, mod bool, r Rules) {
	if mod && b.below(c, w32, signed) {
		return
	}
	if r.Arcs {
		defer b.settle()
	}
	if w32 {
		lo, hi := int64(b.Low.SMin), int64(b.Low.SMax)
		ulo, uhi := uint64(b.Low.UMin), uint64(b.Low.UMax)
		b.Forget64()
		if signed {
			lo, hi, ok := divS(lo, hi, int64(int32(c.Var.Value)), mod, math.MinInt32)
			b.Forget32()
			if ok {
				b.Low.SMin, b.Low.SMax = int32(lo), int32(hi)
			}
		} else {
			ulo, uhi = divU(ulo, uhi, uint64(uint32(c.Var.Value)), mod)
			b.Forget32()
			b.Low.UMin, b.Low.UMax = uint32(ulo), uint32(uhi)
		}
		b.Var = Unknown
		return
	}
	if signed {
		lo, hi, ok := divS(b.SMin, b.SMax, int64(c.Var.Value), mod, math.MinInt64)
		b.Forget()
		if ok {
			b.SMin, b.SMax = lo, hi
		}
	} else {
		lo, hi := divU(b.UMin, b.UMax, c.Var.Value, mod)
		b.Forget()
		b.UMin, b.UMax = lo, hi
	}
	b.Var = Unknown
}

// divU divides a range. Division by 0 yields 0 for a quotient and the dividend for a remainder.
func divU(lo, hi, d uint64, mod bool) (uint64, uint64) {
	switch {
	case d == 0 && mod:
		return lo, hi
	case d == 0:
		return 0, 0
	case !mod:
		return lo / d, hi / d
	case hi < d:
		return lo, hi
	}
	return 0, min(hi, d-1)
}

func divS(lo, hi, d int64, mod bool, least int64) (int64, int64, bool) {
	switch {
	case d == 0 && mod:
		return lo, hi, true
	case d == 0:
		return 0, 0, true
	case d == -1 && lo == least:
		if mod {
			return 0, 0, true
		}
		return least, least, hi == least // its quotient overflows to itself
	case !mod:
		x, y := lo/d, hi/d
		return min(x, y), max(x, y), true
	}
	m := int64(uint64(abs(d)) - 1)
	switch {
	case lo > -d && hi < d && d > 0, lo >= -m && hi <= m:
		return lo, hi, true
	case lo >= 0:
		return 0, min(hi, m), true
	case hi <= 0:
		return max(lo, -m), 0, true
	}
	return -m, m, true
}

// below reports whether a remainder is the dividend because that is always nearer to 0 than the
// divisor, or that is 0.
func (b *Bounds) below(c *Bounds, w32, signed bool) bool {
	x, d := b.view(w32), int64(c.Var.Value)
	if w32 {
		d = int64(int32(d))
	}
	if !signed {
		return c.Const(w32)-1 >= x.umax // all numbers are below 0 - 1
	}
	m := uint64(abs(d)) - 1 // the least 64-bit number has no counterpart, and any number is at most one away from it
	return d == 0 || x.smin >= -int64(m) && x.smax <= int64(m)
}

func abs(v int64) int64 { return max(v, -v) }
