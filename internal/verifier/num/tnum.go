// Package num implements arithmetic on partially known values: tristate numbers, and ranges in four
// views (signed and unsigned, 64 and 32 bits), as the kernel's verifier tracks them for registers.
//
// It knows how each release computes and narrows bounds; it does not know registers, pointers or
// programs. Start from [Bounds].
package num

import (
	"math"
	"math/bits"
	"strconv"
)

// Tnum is a tristate number: bits in Mask are unknown, the others are those of Value
// (kernel/bpf/tnum.c).
type Tnum struct{ Value, Mask uint64 }

// Unknown has no known bits.
var Unknown = Tnum{0, math.MaxUint64}

// Const returns the Tnum of a known number.
func Const(v uint64) Tnum { return Tnum{v, 0} }

// Range returns the smallest Tnum that contains every number from lo to hi.
func Range(lo, hi uint64) Tnum {
	n := bits.Len64(lo ^ hi)
	if n > 63 {
		return Unknown
	}
	low := uint64(1)<<n - 1
	return Tnum{lo &^ low, low}
}

// IsConst reports whether every bit is known.
func (t Tnum) IsConst() bool { return t.Mask == 0 }

// IsUnknown reports whether no bit is known.
func (t Tnum) IsUnknown() bool { return t.Mask == math.MaxUint64 }

// Equals reports whether t is the constant v.
func (t Tnum) Equals(v uint64) bool { return t == Tnum{v, 0} }

// Lsh shifts left by n.
func (t Tnum) Lsh(n uint8) Tnum { return Tnum{t.Value << n, t.Mask << n} }

// Rsh shifts right by n, zero-extending.
func (t Tnum) Rsh(n uint8) Tnum { return Tnum{t.Value >> n, t.Mask >> n} }

// Arsh shifts right by n, sign-extending; width is 32 or 64.
func (t Tnum) Arsh(n uint8, width int) Tnum {
	if width == 32 {
		return Tnum{uint64(uint32(int32(t.Value) >> n)), uint64(uint32(int32(t.Mask) >> n))}
	}
	return Tnum{uint64(int64(t.Value) >> n), uint64(int64(t.Mask) >> n)}
}

// Add returns t + b.
func (t Tnum) Add(b Tnum) Tnum {
	sv := t.Value + b.Value
	mu := (t.Mask + b.Mask + sv) ^ sv | t.Mask | b.Mask
	return Tnum{sv &^ mu, mu}
}

// Sub returns t - b.
func (t Tnum) Sub(b Tnum) Tnum {
	dv := t.Value - b.Value
	mu := (dv + t.Mask) ^ (dv - b.Mask) | t.Mask | b.Mask
	return Tnum{dv &^ mu, mu}
}

// Neg returns 0 - t.
func (t Tnum) Neg() Tnum { return Tnum{}.Sub(t) }

// And returns the bitwise AND.
func (t Tnum) And(b Tnum) Tnum {
	v := t.Value & b.Value
	return Tnum{v, (t.Value | t.Mask) & (b.Value | b.Mask) &^ v}
}

// Or returns the bitwise OR.
func (t Tnum) Or(b Tnum) Tnum {
	v := t.Value | b.Value
	return Tnum{v, (t.Mask | b.Mask) &^ v}
}

// Xor returns the bitwise exclusive OR.
func (t Tnum) Xor(b Tnum) Tnum {
	mu := t.Mask | b.Mask
	return Tnum{(t.Value ^ b.Value) &^ mu, mu}
}

// Mul returns the product, computed according to rule.
func (t Tnum) Mul(b Tnum, rule MulRule) Tnum {
	switch rule {
	case MulTwoMasks:
		acc := Tnum{t.Value * b.Value, 0}
		acc = addPartial(acc, t.Mask, b.Mask|b.Value)
		return addPartial(acc, b.Mask, t.Value)
	case MulShiftAdd:
		v, acc := t.Value*b.Value, Tnum{}
		for a := t; a.Value|a.Mask != 0; a, b = a.Rsh(1), b.Lsh(1) {
			if a.Value&1 != 0 {
				acc = acc.Add(Tnum{0, b.Mask})
			} else if a.Mask&1 != 0 {
				acc = acc.Add(Tnum{0, b.Value | b.Mask})
			}
		}
		return Tnum{v, 0}.Add(acc)
	}
	acc := Tnum{}
	for a := t; a.Value|a.Mask != 0; a, b = a.Rsh(1), b.Lsh(1) {
		if a.Value&1 != 0 {
			acc = acc.Add(b)
		} else if a.Mask&1 != 0 {
			acc = acc.Union(acc.Add(b))
		}
	}
	return acc
}

func addPartial(acc Tnum, mask, value uint64) Tnum {
	for ; mask != 0; mask, value = mask>>1, value<<1 {
		if mask&1 != 0 {
			acc = acc.Add(Tnum{0, value})
		}
	}
	return acc
}

// Union contains every number of t and of b.
func (t Tnum) Union(b Tnum) Tnum {
	mu := (t.Value ^ b.Value) | t.Mask | b.Mask
	return Tnum{t.Value & b.Value &^ mu, mu}
}

// Intersect contains every number that is in both t and b.
func (t Tnum) Intersect(b Tnum) Tnum {
	mu := t.Mask & b.Mask
	return Tnum{(t.Value | b.Value) &^ mu, mu}
}

// Overlaps reports whether some number is in both.
func (t Tnum) Overlaps(b Tnum) bool {
	known := ^t.Mask & ^b.Mask
	return t.Value&known == b.Value&known
}

// Contains reports whether every number of b is in t.
func (t Tnum) Contains(b Tnum) bool {
	return b.Mask&^t.Mask == 0 && t.Value == b.Value&^t.Mask
}

// Aligned reports whether every number is a multiple of size, a power of two.
func (t Tnum) Aligned(size uint64) bool { return size == 0 || (t.Value|t.Mask)&(size-1) == 0 }

// Cast keeps the low size bytes.
func (t Tnum) Cast(size int) Tnum {
	if size >= 8 {
		return t
	}
	m := uint64(1)<<(8*size) - 1
	return Tnum{t.Value & m, t.Mask & m}
}

// Sub32 returns the low half.
func (t Tnum) Sub32() Tnum { return t.Cast(4) }

// Clear32 zeroes the low half.
func (t Tnum) Clear32() Tnum { return t.Rsh(32).Lsh(32) }

// With32 replaces the low half.
func (t Tnum) With32(low Tnum) Tnum { return t.Clear32().Or(low.Sub32()) }

// Const32 replaces the low half with a constant.
func (t Tnum) Const32(v uint32) Tnum { return t.With32(Const(uint64(v))) }

// Sub32IsConst reports whether the low half is known.
func (t Tnum) Sub32IsConst() bool { return uint32(t.Mask) == 0 }

// Bswap reverses the low size bytes and clears the others.
func (t Tnum) Bswap(size int) Tnum {
	switch size {
	case 2:
		return Tnum{uint64(bits.ReverseBytes16(uint16(t.Value))), uint64(bits.ReverseBytes16(uint16(t.Mask)))}
	case 4:
		return Tnum{uint64(bits.ReverseBytes32(uint32(t.Value))), uint64(bits.ReverseBytes32(uint32(t.Mask)))}
	}
	return Tnum{bits.ReverseBytes64(t.Value), bits.ReverseBytes64(t.Mask)}
}

// Text formats t as logs of releases from 6.8 on do, with constants as plain numbers.
func (t Tnum) Text() string {
	switch {
	case t.Mask != 0:
		return t.String()
	case t.Value <= 0xffff:
		return strconv.FormatUint(t.Value, 10)
	}
	return hex(t.Value)
}

// String formats t as "(value; mask)", as the kernel's log does.
func (t Tnum) String() string { return "(" + hex(t.Value) + "; " + hex(t.Mask) + ")" }

// hex formats v like %#llx: zero has no prefix.
func hex(v uint64) string {
	if v == 0 {
		return "0x0"
	}
	return "0x" + strconv.FormatUint(v, 16)
}
