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
		signed32, signed = b.Low.SMin >= 0 && c.Low.SMin >= 0, b.SMin >= 0 && c.SMin >= 0
	}
	if c.Var.Sub32IsConst() && t.Sub32IsConst() {
		if r.LowBits {
			b.Set32(uint32(t.Value))
		}
	} else {
		lo, hi := lim(t32.Value, t32.Value|t32.Mask, uint64(b.Low.UMin), uint64(c.Low.UMin), uint64(b.Low.UMax), uint64(c.Low.UMax))
		b.Low.UMin, b.Low.UMax = uint32(lo), uint32(hi)
		if signed32 && int32(b.Low.UMin) <= int32(b.Low.UMax) {
			b.Low.SMin, b.Low.SMax = int32(b.Low.UMin), int32(b.Low.UMax)
		} else {
			b.Low.forgetSigned()
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
		b.forgetSigned()
	}
	b.fromBits()
}

// Lsh32 shifts the low half left by c, a constant below 32.
func (b *Bounds) Lsh32(c *Bounds, r Rules) {
	if r.Arcs {
		b.lsh32Arcs(uint64(c.Low.UMin))
		return
	}
	low := b.Var.Sub32()
	b.Low.shiftLeft(uint64(c.Low.UMin), uint64(c.Low.UMax))
	b.Var = low.Lsh(uint8(c.Low.UMin)).Sub32()
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
	b.shiftLeft(lo, hi)
	if lo == 32 && hi == 32 { // compilers extend signs with a shift to the left and one to the right
		if r.Lsh32 || b.Low.SMax >= 0 {
			b.SMax = int64(b.Low.SMax) << 32
		}
		if r.Lsh32 || b.Low.SMin >= 0 {
			b.SMin = int64(b.Low.SMin) << 32
		}
	}
	b.Low.shiftLeft(lo, hi)
	b.Var = b.Var.Lsh(uint8(lo))
	b.fromBits()
}

// Rsh32 shifts the low half right by c, zero-extending.
func (b *Bounds) Rsh32(c *Bounds, r Rules) {
	if r.Arcs {
		b.rsh32Arcs(uint64(c.Low.UMin))
		return
	}
	low := b.Var.Sub32()
	b.Low.forgetSigned()
	b.Var = low.Rsh(uint8(c.Low.UMin))
	b.Low.UMin >>= c.Low.UMax
	b.Low.UMax >>= c.Low.UMin
	b.Forget64()
	b.fromBits32()
}

// Rsh shifts right by c, zero-extending.
func (b *Bounds) Rsh(c *Bounds, r Rules) {
	if r.Arcs {
		b.rshArcs(c.UMin)
		return
	}
	b.forgetSigned()
	b.Var = b.Var.Rsh(uint8(c.UMin))
	b.UMin >>= c.UMax
	b.UMax >>= c.UMin
	b.Forget32()
	b.fromBits()
}

// Arsh32 shifts the low half right by c, sign-extending.
func (b *Bounds) Arsh32(c *Bounds, r Rules) {
	if r.Arcs {
		b.arsh32Arcs(uint64(c.Low.UMin))
		return
	}
	n := c.Low.UMin
	b.Low.SMin >>= n
	b.Low.SMax >>= n
	b.Var = b.Var.Sub32().Arsh(uint8(n), 32)
	b.Low.UMin, b.Low.UMax = 0, math.MaxUint32
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
