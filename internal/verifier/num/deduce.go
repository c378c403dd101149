package num

import "math"

// deduce32 narrows the 32-bit ranges by the 64-bit ranges and by each other
// (__reg32_deduce_bounds).
func (b *Bounds) deduce32(r Rules) {
	low := &b.Low
	if b.UMin>>32 == b.UMax>>32 {
		low.narrowUnsigned(uint32(b.UMin), uint32(b.UMax))
		low.narrowSigned(int32(b.UMin), int32(b.UMax))
	}
	if b.SMin>>32 == b.SMax>>32 {
		if uint32(b.SMin) <= uint32(b.SMax) {
			low.narrowUnsigned(uint32(b.SMin), uint32(b.SMax))
		}
		low.narrowSigned(int32(b.SMin), int32(b.SMax))
	}
	// A range across one multiple of 2^32 whose ends have low halves on both sides of zero is a
	// signed range.
	if uint32(b.UMin>>32)+1 == uint32(b.UMax>>32) && int32(b.UMin) < 0 && int32(b.UMax) >= 0 {
		low.narrowSigned(int32(b.UMin), int32(b.UMax))
	}
	if uint32(b.SMin>>32)+1 == uint32(b.SMax>>32) && int32(b.SMin) < 0 && int32(b.SMax) >= 0 {
		low.narrowSigned(int32(b.SMin), int32(b.SMax))
	}
	low.deduce(r.SplitSign32)
}

const high32 = uint64(0xffffffff00000000)

// deduceMixed narrows the 64-bit ranges by the 32-bit ones (__reg_deduce_mixed_bounds).
func (b *Bounds) deduceMixed(r Rules) {
	b.lift(b.Low.UMin, b.Low.UMax)
	if uint32(b.Low.SMin) <= uint32(b.Low.SMax) && r.Deduce == DeduceMixed {
		b.lift(uint32(b.Low.SMin), uint32(b.Low.SMax))
	}
	if b.Low.SMin >= 0 && b.SMin >= math.MinInt32 && b.SMax <= math.MaxInt32 {
		b.SMin, b.SMax = int64(b.Low.SMin), int64(b.Low.SMax)
		b.UMin, b.UMax = uint64(b.Low.SMin), uint64(b.Low.SMax)
		b.Var = b.Var.Intersect(Range(uint64(b.SMin), uint64(b.SMax)))
	}
}

func (b *Bounds) lift(lo, hi uint32) {
	b.UMin = max(b.UMin, b.UMin&high32|uint64(lo))
	b.UMax = min(b.UMax, b.UMax&high32|uint64(hi))
	b.SMin = max(b.SMin, int64(uint64(b.SMin)&high32|uint64(lo)))
	b.SMax = min(b.SMax, int64(uint64(b.SMax)&high32|uint64(hi)))
}

// Combine32Into64 updates the 64-bit bounds after a 32-bit comparison, as releases before 6.8 do.
func (b *Bounds) Combine32Into64(r Rules) {
	if b.Var.Clear32().Equals(0) {
		v := b.Var
		b.Zext()
		b.Var = v
	} else {
		b.Forget64()
		b.fromBits()
	}
	b.SyncRanges(r)
}

// Combine64Into32 updates the 32-bit bounds after a 64-bit comparison, as releases before 6.8 do.
func (b *Bounds) Combine64Into32(r Rules) {
	b.Forget32()
	if r.fitsSigned(b.SMin) && r.fitsSigned(b.SMax) {
		b.Low.SMin, b.Low.SMax = int32(b.SMin), int32(b.SMax)
	}
	lo, hi := r.fitsUnsigned(b.UMin), r.fitsUnsigned(b.UMax)
	if lo && (hi || !r.LowBoth) {
		b.Low.UMin = uint32(b.UMin)
	}
	if hi && (lo || !r.LowBoth) {
		b.Low.UMax = uint32(b.UMax)
	}
	b.SyncRanges(r)
}

func (r Rules) fitsSigned(v int64) bool {
	if !r.LowEnds {
		return v > math.MinInt32 && v < math.MaxInt32
	}
	return v >= math.MinInt32 && v <= math.MaxInt32
}

func (r Rules) fitsUnsigned(v uint64) bool {
	if !r.LowEnds {
		return v > 0 && v < math.MaxUint32
	}
	return v <= math.MaxUint32
}
