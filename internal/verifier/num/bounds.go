package num

import "math"

// Bounds is what is known about a scalar: bits and ranges. After Sync they are consistent with each
// other.
type Bounds struct {
	Var        Tnum
	SMin, SMax int64
	UMin, UMax uint64
	SMin32     int32
	SMax32     int32
	UMin32     uint32
	UMax32     uint32

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
func Exactly(v uint64) Bounds {
	return Bounds{
		Var: Const(v), SMin: int64(v), SMax: int64(v), UMin: v, UMax: v,
		SMin32: int32(v), SMax32: int32(v), UMin32: uint32(v), UMax32: uint32(v),
	}
}

// Set sets b to one number.
func (b *Bounds) Set(v uint64) { *b = Exactly(v) }

// Set32 sets the low half to one number and leaves the high half unchanged.
func (b *Bounds) Set32(v uint32) {
	b.Var = b.Var.Const32(v)
	b.SMin32, b.SMax32, b.UMin32, b.UMax32 = int32(v), int32(v), v, v
	b.narrow = arc[uint32]{}
}

// Forget drops the ranges and keeps the bits.
func (b *Bounds) Forget() { b.Forget64(); b.Forget32() }

// Forget64 drops the 64-bit ranges.
func (b *Bounds) Forget64() {
	b.SMin, b.SMax, b.UMin, b.UMax = math.MinInt64, math.MaxInt64, 0, math.MaxUint64
	b.wide = arc[uint64]{}
}

// Forget32 drops the 32-bit ranges.
func (b *Bounds) Forget32() {
	b.SMin32, b.SMax32, b.UMin32, b.UMax32 = math.MinInt32, math.MaxInt32, 0, math.MaxUint32
	b.narrow = arc[uint32]{}
}

// fromBits32 narrows the 32-bit ranges by the known bits.
func (b *Bounds) fromBits32() {
	t := b.Var.Sub32()
	v, m := uint32(t.Value), uint32(t.Mask)
	b.SMin32 = max(b.SMin32, int32(v|m&(1<<31)))
	b.SMax32 = min(b.SMax32, int32(v|m&math.MaxInt32))
	b.UMin32 = max(b.UMin32, v)
	b.UMax32 = min(b.UMax32, v|m)
}

func (b *Bounds) fromBits64() {
	v, m := b.Var.Value, b.Var.Mask
	b.SMin = max(b.SMin, int64(v|m&(1<<63)))
	b.SMax = min(b.SMax, int64(v|m&math.MaxInt64))
	b.UMin = max(b.UMin, v)
	b.UMax = min(b.UMax, v|m)
}

func (b *Bounds) fromBits() { b.fromBits32(); b.fromBits64() }

// toBits narrows the bits by the ranges.
func (b *Bounds) toBits() {
	t64 := b.Var.Intersect(Range(b.UMin, b.UMax))
	t32 := t64.Sub32().Intersect(Range(uint64(b.UMin32), uint64(b.UMax32)))
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
	if r.Deduce == DeduceSign {
		b.deduceSign()
	} else {
		for range 3 {
			b.deduce32(r)
			b.deduce64(r)
			b.deduceMixed(r)
		}
	}
	b.toBits()
	b.fromBits()
	if r.OneNumber {
		b.onlyNumber()
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
	case b.nothing(), b.UMin > b.UMax || b.SMin > b.SMax || b.UMin32 > b.UMax32 || b.SMin32 > b.SMax32:
		return "range bounds violation"
	case b.Var.IsConst() && (b.UMin != b.Var.Value || b.UMax != b.Var.Value || b.SMin != int64(b.Var.Value) || b.SMax != int64(b.Var.Value)):
		return "const tnum out of sync with range bounds"
	}
	if v := uint32(b.Var.Value); b.Var.Sub32IsConst() && (b.UMin32 != v || b.UMax32 != v || b.SMin32 != int32(v) || b.SMax32 != int32(v)) {
		return "const subreg tnum out of sync with range bounds"
	}
	return ""
}

// Within reports whether all ranges of c lie within those of b.
func (b *Bounds) Within(c *Bounds) bool {
	if b.wide != (arc[uint64]{}) || c.wide != (arc[uint64]{}) || b.narrow != (arc[uint32]{}) || c.narrow != (arc[uint32]{}) {
		return b.arc64().holds(c.arc64()) && b.arc32().holds(c.arc32())
	}
	return b.UMin <= c.UMin && b.UMax >= c.UMax && b.SMin <= c.SMin && b.SMax >= c.SMax &&
		b.UMin32 <= c.UMin32 && b.UMax32 >= c.UMax32 && b.SMin32 <= c.SMin32 && b.SMax32 >= c.SMax32
}

// Zext zeroes the high half and sets the 64-bit ranges to those of the low half.
func (b *Bounds) Zext() {
	b.Var = b.Var.Sub32()
	b.wide = arc[uint64]{}
	b.UMin, b.UMax = uint64(b.UMin32), uint64(b.UMax32)
	if b.SMin32 >= 0 && b.SMax32 >= 0 {
		b.SMin, b.SMax = int64(b.SMin32), int64(b.SMax32)
	} else {
		b.SMin, b.SMax = 0, math.MaxUint32
	}
}

// Width returns the number of low bits that may be set.
func (b *Bounds) Width() int { return bitLen(b.UMax) }

// Holds reports whether v is a possible value.
func (b *Bounds) Holds(v uint64) bool {
	s, u32 := int64(v), uint32(v)
	if b.wide != (arc[uint64]{}) && !b.wide.has(v) || b.narrow != (arc[uint32]{}) && !b.narrow.has(u32) {
		return false
	}
	return b.Var.Contains(Const(v)) && b.SMin <= s && s <= b.SMax && b.UMin <= v && v <= b.UMax &&
		b.SMin32 <= int32(u32) && int32(u32) <= b.SMax32 && b.UMin32 <= u32 && u32 <= b.UMax32
}
