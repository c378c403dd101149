package num

import "math"

// And, Or and Xor combine the bits first; ranges follow from the bits and from whether the
// operation can only decrease or increase values (scalar_min_max_and and others).

// limits computes the unsigned range of a result from that of its bits and from those of both
// operands.
type limits func(lo, hi, a, c, amax, cmax uint64) (uint64, uint64)

func andLimits(lo, _, _, _, amax, cmax uint64) (uint64, uint64) { return lo, min(amax, cmax) }
func orLimits(_, hi, a, c, _, _ uint64) (uint64, uint64)        { return max(a, c), hi }
func xorLimits(lo, hi, _, _, _, _ uint64) (uint64, uint64)      { return lo, hi }

// And replaces b with the bitwise AND of b and c.
func (b *Bounds) And(c *Bounds, r Rules) {
	if r.Arcs {
		b.bitopArcs(c, b.Var.And(c.Var), andLimits)
		b.fromBitsArcs()
		return
	}
	b.bitop(c, r, b.Var.And(c.Var), andLimits)
}

// Or replaces b with the bitwise OR of b and c.
func (b *Bounds) Or(c *Bounds, r Rules) {
	if r.Arcs {
		b.bitopArcs(c, b.Var.Or(c.Var), orLimits)
		b.fromBitsArcs()
		return
	}
	b.bitop(c, r, b.Var.Or(c.Var), orLimits)
}

// Xor replaces b with the bitwise exclusive OR of b and c.
func (b *Bounds) Xor(c *Bounds, r Rules) {
	if r.Arcs {
		b.bitopArcs(c, b.Var.Xor(c.Var), xorLimits)
		return
	}
	b.bitop(c, r, b.Var.Xor(c.Var), xorLimits)
}

// bitop sets the bits to t, and the ranges by lim.
func (b *Bounds) bitop(c *Bounds, r Rules, t Tnum, lim limits) {
	b.Var = t
	t32 := t.Sub32()
	signed32, signed := true, true
	if r.Deduce == DeduceSign {
		signed32, signed = b.SMin32 >= 0 && c.SMin32 >= 0, b.SMin >= 0 && c.SMin >= 0
	}
	if c.Var.Sub32IsConst() && t.Sub32IsConst() {
		b.Set32(uint32(t.Value))
	} else {
		lo, hi := lim(t32.Value, t32.Value|t32.Mask, uint64(b.UMin32), uint64(c.UMin32), uint64(b.UMax32), uint64(c.UMax32))
		b.UMin32, b.UMax32 = uint32(lo), uint32(hi)
		if signed32 && int32(b.UMin32) <= int32(b.UMax32) {
			b.SMin32, b.SMax32 = int32(b.UMin32), int32(b.UMax32)
		} else {
			b.SMin32, b.SMax32 = math.MinInt32, math.MaxInt32
		}
	}
	if c.Var.IsConst() && b.Var.IsConst() {
		b.Set(b.Var.Value)
		return
	}
	b.UMin, b.UMax = lim(t.Value, t.Value|t.Mask, b.UMin, c.UMin, b.UMax, c.UMax)
	if signed && int64(b.UMin) <= int64(b.UMax) {
		b.SMin, b.SMax = int64(b.UMin), int64(b.UMax)
	} else {
		b.SMin, b.SMax = math.MinInt64, math.MaxInt64
	}
	b.fromBits()
}

func (b *Bounds) lshRange32(lo, hi uint64) {
	b.SMin32, b.SMax32 = math.MinInt32, math.MaxInt32
	if hi > 31 || uint64(b.UMax32) > uint64(1)<<(31-hi) {
		b.UMin32, b.UMax32 = 0, math.MaxUint32
	} else {
		b.UMin32 <<= lo
		b.UMax32 <<= hi
	}
}

// Lsh32 shifts the low half left by c, a constant below 32.
func (b *Bounds) Lsh32(c *Bounds, r Rules) {
	if r.Arcs {
		b.lsh32Arcs(uint64(c.UMin32))
		return
	}
	low := b.Var.Sub32()
	b.lshRange32(uint64(c.UMin32), uint64(c.UMax32))
	b.Var = low.Lsh(uint8(c.UMin32)).Sub32()
	b.Forget64()
	b.fromBits32()
}

// Lsh shifts left by c, a constant below 64.
func (b *Bounds) Lsh(c *Bounds, r Rules) {
	if r.Arcs {
		b.lshArcs(c.UMin)
		return
	}
	lo, hi := c.UMin, c.UMax
	if lo == 32 && hi == 32 && (r.Lsh32 || b.SMax32 >= 0) {
		b.SMax = int64(b.SMax32) << 32
	} else {
		b.SMax = math.MaxInt64
	}
	if lo == 32 && hi == 32 && (r.Lsh32 || b.SMin32 >= 0) {
		b.SMin = int64(b.SMin32) << 32
	} else {
		b.SMin = math.MinInt64
	}
	if b.UMax > uint64(1)<<(63-hi) {
		b.UMin, b.UMax = 0, math.MaxUint64
	} else {
		b.UMin <<= lo
		b.UMax <<= hi
	}
	b.lshRange32(lo, hi)
	b.Var = b.Var.Lsh(uint8(lo))
	b.fromBits()
}

// Rsh32 shifts the low half right by c, zero-extending.
func (b *Bounds) Rsh32(c *Bounds, r Rules) {
	if r.Arcs {
		b.rsh32Arcs(uint64(c.UMin32))
		return
	}
	low := b.Var.Sub32()
	b.SMin32, b.SMax32 = math.MinInt32, math.MaxInt32
	b.Var = low.Rsh(uint8(c.UMin32))
	b.UMin32 >>= c.UMax32
	b.UMax32 >>= c.UMin32
	b.Forget64()
	b.fromBits32()
}

// Rsh shifts right by c, zero-extending.
func (b *Bounds) Rsh(c *Bounds, r Rules) {
	if r.Arcs {
		b.rshArcs(c.UMin)
		return
	}
	b.SMin, b.SMax = math.MinInt64, math.MaxInt64
	b.Var = b.Var.Rsh(uint8(c.UMin))
	b.UMin >>= c.UMax
	b.UMax >>= c.UMin
	b.Forget32()
	b.fromBits()
}

// Arsh32 shifts the low half right by c, sign-extending.
func (b *Bounds) Arsh32(c *Bounds, r Rules) {
	if r.Arcs {
		b.arsh32Arcs(uint64(c.UMin32))
		return
	}
	n := c.UMin32
	b.SMin32 >>= n
	b.SMax32 >>= n
	b.Var = b.Var.Sub32().Arsh(uint8(n), 32)
	b.UMin32, b.UMax32 = 0, math.MaxUint32
	b.Forget64()
	b.fromBits32()
}

// Arsh shifts right by c, sign-extending.
func (b *Bounds) Arsh(c *Bounds, r Rules) {
	if r.Arcs {
		b.arshArcs(c.UMin)
		return
	}
	n := c.UMin
	b.SMin >>= n
	b.SMax >>= n
	b.Var = b.Var.Arsh(uint8(n), 64)
	b.UMin, b.UMax = 0, math.MaxUint64
	b.Forget32()
	b.fromBits()
}
