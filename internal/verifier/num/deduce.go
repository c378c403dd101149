package num

import "math"

// deduce32 narrows the 32-bit ranges by the 64-bit ranges and by each other
// (__reg32_deduce_bounds).
func (b *Bounds) deduce32(r Rules) {
	if b.UMin>>32 == b.UMax>>32 {
		b.UMin32 = max(b.UMin32, uint32(b.UMin))
		b.UMax32 = min(b.UMax32, uint32(b.UMax))
		b.narrow32(int32(b.UMin), int32(b.UMax))
	}
	if b.SMin>>32 == b.SMax>>32 {
		if uint32(b.SMin) <= uint32(b.SMax) {
			b.UMin32 = max(b.UMin32, uint32(b.SMin))
			b.UMax32 = min(b.UMax32, uint32(b.SMax))
		}
		b.narrow32(int32(b.SMin), int32(b.SMax))
	}
	// A range across one multiple of 2^32 whose ends have low halves on both sides of zero is a
	// signed range.
	if uint32(b.UMin>>32)+1 == uint32(b.UMax>>32) && int32(b.UMin) < 0 && int32(b.UMax) >= 0 {
		b.narrow32(int32(b.UMin), int32(b.UMax))
	}
	if uint32(b.SMin>>32)+1 == uint32(b.SMax>>32) && int32(b.SMin) < 0 && int32(b.SMax) >= 0 {
		b.narrow32(int32(b.SMin), int32(b.SMax))
	}
	b.narrow32(int32(b.UMin32), int32(b.UMax32))
	if uint32(b.SMin32) <= uint32(b.SMax32) {
		b.UMin32 = max(uint32(b.SMin32), b.UMin32)
		b.UMax32 = min(uint32(b.SMax32), b.UMax32)
	} else if r.SplitSign32 {
		// The signed range consists of two unsigned pieces; the unsigned range overlaps only one of
		// them.
		if b.UMax32 < uint32(b.SMin32) {
			b.SMin32 = int32(b.UMin32)
			b.UMax32 = min(b.UMax32, uint32(b.SMax32))
		} else if uint32(b.SMax32) < b.UMin32 {
			b.SMax32 = int32(b.UMax32)
			b.UMin32 = max(b.UMin32, uint32(b.SMin32))
		}
	}
}

func (b *Bounds) narrow32(lo, hi int32) {
	if lo <= hi {
		b.SMin32 = max(b.SMin32, lo)
		b.SMax32 = min(b.SMax32, hi)
	}
}

// deduce64 narrows signed by unsigned and unsigned by signed (__reg64_deduce_bounds).
func (b *Bounds) deduce64(r Rules) {
	if int64(b.UMin) <= int64(b.UMax) {
		b.SMin = max(b.SMin, int64(b.UMin))
		b.SMax = min(b.SMax, int64(b.UMax))
	}
	if uint64(b.SMin) <= uint64(b.SMax) {
		b.UMin = max(uint64(b.SMin), b.UMin)
		b.UMax = min(uint64(b.SMax), b.UMax)
	} else if r.SplitSign {
		if b.UMax < uint64(b.SMin) {
			b.SMin = int64(b.UMin)
			b.UMax = min(b.UMax, uint64(b.SMax))
		} else if uint64(b.SMax) < b.UMin {
			b.SMax = int64(b.UMax)
			b.UMin = max(b.UMin, uint64(b.SMin))
		}
	}
}

const high32 = uint64(0xffffffff00000000)

// deduceMixed narrows the 64-bit ranges by the 32-bit ones (__reg_deduce_mixed_bounds).
func (b *Bounds) deduceMixed(r Rules) {
	b.lift(b.UMin32, b.UMax32)
	if uint32(b.SMin32) <= uint32(b.SMax32) && r.Deduce == DeduceMixed {
		b.lift(uint32(b.SMin32), uint32(b.SMax32))
	}
	if b.SMin32 >= 0 && b.SMin >= math.MinInt32 && b.SMax <= math.MaxInt32 {
		b.SMin, b.SMax = int64(b.SMin32), int64(b.SMax32)
		b.UMin, b.UMax = uint64(b.SMin32), uint64(b.SMax32)
		b.Var = b.Var.Intersect(Range(uint64(b.SMin), uint64(b.SMax)))
	}
}

func (b *Bounds) lift(lo, hi uint32) {
	b.UMin = max(b.UMin, b.UMin&high32|uint64(lo))
	b.UMax = min(b.UMax, b.UMax&high32|uint64(hi))
	b.SMin = max(b.SMin, int64(uint64(b.SMin)&high32|uint64(lo)))
	b.SMax = min(b.SMax, int64(uint64(b.SMax)&high32|uint64(hi)))
}

// deduceSign uses only sign bits, as releases before 6.8 do.
func (b *Bounds) deduceSign() {
	switch {
	case b.SMin32 >= 0 || b.SMax32 < 0:
		b.UMin32 = max(uint32(b.SMin32), b.UMin32)
		b.SMin32 = int32(b.UMin32)
		b.UMax32 = min(uint32(b.SMax32), b.UMax32)
		b.SMax32 = int32(b.UMax32)
	case int32(b.UMax32) >= 0:
		b.SMin32 = int32(b.UMin32)
		b.UMax32 = min(uint32(b.SMax32), b.UMax32)
		b.SMax32 = int32(b.UMax32)
	case int32(b.UMin32) < 0:
		b.UMin32 = max(uint32(b.SMin32), b.UMin32)
		b.SMin32 = int32(b.UMin32)
		b.SMax32 = int32(b.UMax32)
	}
	switch {
	case b.SMin >= 0 || b.SMax < 0:
		b.UMin = max(uint64(b.SMin), b.UMin)
		b.SMin = int64(b.UMin)
		b.UMax = min(uint64(b.SMax), b.UMax)
		b.SMax = int64(b.UMax)
	case int64(b.UMax) >= 0:
		b.SMin = int64(b.UMin)
		b.UMax = min(uint64(b.SMax), b.UMax)
		b.SMax = int64(b.UMax)
	case int64(b.UMin) < 0:
		b.UMin = max(uint64(b.SMin), b.UMin)
		b.SMin = int64(b.UMin)
		b.SMax = int64(b.UMax)
	}
}

// Combine32Into64 updates the 64-bit bounds after a 32-bit comparison, as releases before 6.8 do.
func (b *Bounds) Combine32Into64(r Rules) {
	if b.Var.Clear32().Equals(0) {
		v := b.Var
		b.Zext()
		b.Var = v
	} else {
		b.Forget64()
	}
	b.Sync(r)
}

// Combine64Into32 updates the 32-bit bounds after a 64-bit comparison, as releases before 6.8 do.
func (b *Bounds) Combine64Into32(r Rules) {
	b.Forget32()
	if fits32(b.SMin) && fits32(b.SMax) {
		b.SMin32, b.SMax32 = int32(b.SMin), int32(b.SMax)
	}
	if b.UMin <= math.MaxUint32 && b.UMax <= math.MaxUint32 {
		b.UMin32, b.UMax32 = uint32(b.UMin), uint32(b.UMax)
	}
	b.Sync(r)
}

func fits32(v int64) bool { return v >= math.MinInt32 && v <= math.MaxInt32 }
