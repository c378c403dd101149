package num

import "math/bits"

// Rules describe how a release computes.
type Rules struct {
	Deduce DeduceRule
	Mul    MulRule
	// SplitSign, SplitSign32: a signed range on both sides of zero narrows an unsigned one that
	// overlaps only one side.
	SplitSign, SplitSign32 bool
	// WrapBoth: sums and differences stay ranges if both ends overflow.
	WrapBoth bool
	// MulSigned: products of ranges with negative numbers are ranges.
	MulSigned bool
	// Div: quotients and remainders are ranges.
	Div bool
	// Neg and Bswap: these keep ranges and bits.
	Neg, Bswap bool
	// Lsh32: a left shift by 32 keeps negative ranges of the low half.
	Lsh32 bool
	// TestForgets: a number of which bits are found to be 0 loses its ranges.
	TestForgets bool
	// EqBits: values with different known bits are not equal. EqHalves: neither are values whose
	// low halves have disjoint ranges.
	EqBits, EqHalves bool
	// ConstLeft: a constant on the left decides a comparison as one on the right does.
	ConstLeft bool
	// WholeRangeBits: the 64-bit range tells bits of the low half, too.
	WholeRangeBits bool
	// OneNumber: the only number of a range that has the known bits is the value.
	OneNumber bool
	// Arcs: ranges are arcs on the circle of numbers; a comparison with an outcome that leaves no
	// number is decided.
	Arcs bool
	// Whole: bounds that were derived from bits derive ranges again, and a number that equals a
	// constant has its bits.
	Whole bool
	// LowBits: bits of the low half that AND, OR or XOR leave known are its ranges.
	LowBits bool
	// LowBoth: the unsigned 64-bit range tells that of the low half only if both ends fit.
	// LowEnds: the least and the greatest 32-bit number fit, too.
	LowBoth, LowEnds bool
	// EqRange: a constant outside a value's range is not equal to it.
	EqRange bool
}

// DeduceRule selects how ranges narrow each other.
type DeduceRule uint8

// Ways to narrow ranges.
const (
	DeduceSign  DeduceRule = iota // by sign bits only
	DeduceMixed                   // 64 by 32 bits and 32 by 64, three times
)

// MulRule selects how tristate numbers are multiplied.
type MulRule uint8

// Ways to multiply.
const (
	MulTwoMasks MulRule = iota
	MulShiftAdd
	MulUnion
)

func bitLen(v uint64) int { return bits.Len64(v) }
