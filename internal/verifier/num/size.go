package num

import "math"

// Truncate keeps the low size bytes, as a load of that size does (coerce_reg_to_size).
func (b *Bounds) Truncate(size int, r Rules) {
	if size >= 8 {
		return
	}
	b.Var = b.Var.Cast(size)
	mask := uint64(1)<<(8*size) - 1
	if b.UMin&^mask == b.UMax&^mask {
		b.UMin &= mask
		b.UMax &= mask
	} else {
		b.UMin, b.UMax = 0, mask
	}
	b.SMin, b.SMax = int64(b.UMin), int64(b.UMax)
	b.wide = arc[uint64]{}
	if r.Deduce == DeduceSign {
		// Releases before 6.8 derive the 32-bit ranges anew unless the value was truncated to 32
		// bits.
		if size < 4 {
			b.Combine64Into32(r)
		}
		return
	}
	if size < 4 {
		b.Forget32()
	}
	b.Sync(r)
}

func signExtend(v uint64, size int) int64 {
	switch size {
	case 1:
		return int64(int8(v))
	case 2:
		return int64(int16(v))
	}
	return int64(int32(v))
}

// SignExtend sign-extends the low size bytes (coerce_reg_to_size_sx).
func (b *Bounds) SignExtend(size int) {
	if size >= 8 {
		return
	}
	if b.Var.IsConst() {
		b.Set(uint64(signExtend(b.Var.Value, size)))
		return
	}
	n := uint(8 * size)
	if uint64(b.SMax)>>n == uint64(b.SMin)>>n {
		x, y := signExtend(uint64(b.SMax), size), signExtend(uint64(b.SMin), size)
		hi, lo := max(x, y), min(x, y)
		if (hi >= 0) == (lo >= 0) {
			b.SMin, b.SMax, b.UMin, b.UMax = lo, hi, uint64(lo), uint64(hi)
			b.Low.SMin, b.Low.SMax, b.Low.UMin, b.Low.UMax = int32(lo), int32(hi), uint32(lo), uint32(hi)
			b.wide, b.narrow = arc[uint64]{}, arc[uint32]{}
			b.Var = Range(uint64(lo), uint64(hi))
			return
		}
	}
	lo, hi := int64(-1)<<(n-1), int64(1)<<(n-1)-1
	*b = Unbounded
	b.SMin, b.SMax, b.Low.SMin, b.Low.SMax = lo, hi, int32(lo), int32(hi)
}

// SignExtend32 sign-extends the low size bytes (1 or 2) to the low half (coerce_subreg_to_size_sx).
func (b *Bounds) SignExtend32(size int) {
	b.narrow = arc[uint32]{}
	if b.Var.IsConst() {
		v := int32(signExtend(b.Var.Value, size))
		b.Var = Const(uint64(int64(v)))
		b.Low.SMin, b.Low.SMax, b.Low.UMin, b.Low.UMax = v, v, uint32(v), uint32(v)
		return
	}
	n := uint(8 * size)
	if uint32(b.Low.SMax)>>n == uint32(b.Low.SMin)>>n {
		x, y := int32(signExtend(uint64(b.Low.SMax), size)), int32(signExtend(uint64(b.Low.SMin), size))
		hi, lo := max(x, y), min(x, y)
		if (lo >= 0) == (hi >= 0) {
			b.Low.SMin, b.Low.SMax, b.Low.UMin, b.Low.UMax = lo, hi, uint32(lo), uint32(hi)
			b.Var = Range(uint64(int64(lo)), uint64(int64(hi))).Sub32()
			return
		}
	}
	b.Low.SMin, b.Low.SMax = int32(-1)<<(n-1), int32(1)<<(n-1)-1
	b.Low.UMin, b.Low.UMax = 0, math.MaxUint32
	b.Var = Unknown.Sub32()
}
