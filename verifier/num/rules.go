package num

import "math/bits"

// Rules say how a release computes.
type Rules struct {
	Deduce DeduceRule
	Mul    MulRule
	// SplitSign, SplitSign32: a signed range on both sides of zero narrows an unsigned one that meets only one side.
	SplitSign, SplitSign32 bool
	// WrapBoth: sums and differences whose both ends overflow stay ranges.
	WrapBoth bool
	// MulSigned: products of ranges with negative numbers are ranges.
	MulSigned bool
	// Div: quotients and remainders are ranges.
	Div bool
	// Neg and Bswap: these keep ranges and bits.
	Neg, Bswap bool
	// Lsh32: a shift to the left by 32 keeps negative ranges of the low half.
	Lsh32 bool
	// EqBits: values whose known bits differ are not equal. EqHalves: nor are those whose low halves have ranges apart.
	EqBits, EqHalves bool
	// EqRange: a constant outside a value's range is not equal to it.
	EqRange bool
}

// DeduceRule is how ranges narrow each other.
type DeduceRule uint8

// Rules of deduction.
const (
	DeduceSign  DeduceRule = iota // by sign bits alone
	DeduceMixed                   // 64 by 32 and 32 by 64, three times
)

// MulRule is how products of tristate numbers are computed.
type MulRule uint8

// Rules of multiplication.
const (
	MulTwoMasks MulRule = iota
	MulShiftAdd
	MulUnion
)

func bitLen(v uint64) int { return bits.Len64(v) }
