package plan

import (
	"math/bits"

	"github.com/bpfrun/bpfrun/decode"
)

// interval is what is known of a register: a number between lo and hi (of the 64 bits as a signed number), or what a register held when
// the loop was entered plus such a number.
type interval struct {
	base   int8 // the register, or number or anything
	lo, hi int64
}

const (
	number   int8 = -1
	anything int8 = -2
	// farthest bounds lo and hi, so that sums of some do not overflow.
	farthest = 1 << 40
)

var (
	unbounded = interval{base: anything}
	word      = interval{number, 0, 1<<32 - 1}
)

func constant(v int64) interval { return between(number, v, v) }

// between is base plus a number, or anything if that gets too large.
func between(base int8, lo, hi int64) interval {
	if base == anything || lo > hi || lo < -farthest || hi > farthest {
		return unbounded
	}
	return interval{base, lo, hi}
}

func (v interval) natural() bool { return v.base == number && v.lo >= 0 }

// or is what is known if either is the case.
func (v interval) or(w interval) interval {
	if v.base != w.base {
		return unbounded
	}
	return interval{v.base, min(v.lo, w.lo), max(v.hi, w.hi)}
}

func (v interval) plus(w interval) interval {
	switch {
	case w.base == number:
		return between(v.base, v.lo+w.lo, v.hi+w.hi)
	case v.base == number:
		return between(w.base, v.lo+w.lo, v.hi+w.hi)
	}
	return unbounded
}

func (v interval) minus(w interval) interval {
	switch w.base {
	case number:
		return between(v.base, v.lo-w.hi, v.hi-w.lo)
	case anything:
		return unbounded
	case v.base:
		return between(number, v.lo-w.hi, v.hi-w.lo)
	}
	return unbounded
}

// upTo is the sum of up to n numbers, of which each lies in v less its base.
func (v interval) upTo(n int64) interval {
	if n > 0 && max(-v.lo, v.hi) > farthest/n {
		return unbounded
	}
	return between(number, min(0, v.lo*n), max(0, v.hi*n))
}

// low32 is the low half of v.
func (v interval) low32() interval {
	if v.natural() && v.hi < 1<<32 {
		return v
	}
	return word
}

// mask is a number with the bits of v and below.
func mask(v int64) int64 { return int64(1)<<bits.Len64(uint64(v)) - 1 }

// operation is how ops compute, of which width.
type operation struct {
	do   func(a, b interval) interval
	w32  bool
	imm  bool // the second operand is the immediate
	move bool // the first operand does not matter
}

var operations = func() (t [decode.NumOps]operation) {
	add := func(do func(a, b interval) interval, move bool, imm64, reg64, imm32, reg32 decode.Op) {
		t[imm64] = operation{do, false, true, move}
		t[reg64] = operation{do, false, false, move}
		t[imm32] = operation{do, true, true, move}
		t[reg32] = operation{do, true, false, move}
	}
	add(interval.plus, false, decode.OpAdd64Imm, decode.OpAdd64Reg, decode.OpAdd32Imm, decode.OpAdd32Reg)
	add(interval.minus, false, decode.OpSub64Imm, decode.OpSub64Reg, decode.OpSub32Imm, decode.OpSub32Reg)
	add(func(_, b interval) interval { return b }, true, decode.OpMov64Imm, decode.OpMov64Reg, decode.OpMov32Imm, decode.OpMov32Reg)
	add(func(a, b interval) interval {
		switch {
		case a.natural() && b.natural():
			return between(number, 0, min(a.hi, b.hi))
		case a.natural():
			return between(number, 0, a.hi)
		case b.natural():
			return between(number, 0, b.hi)
		}
		return unbounded
	}, false, decode.OpAnd64Imm, decode.OpAnd64Reg, decode.OpAnd32Imm, decode.OpAnd32Reg)
	union := func(a, b interval) interval {
		if a.natural() && b.natural() {
			return between(number, 0, mask(max(a.hi, b.hi)))
		}
		return unbounded
	}
	add(union, false, decode.OpOr64Imm, decode.OpOr64Reg, decode.OpOr32Imm, decode.OpOr32Reg)
	add(union, false, decode.OpXor64Imm, decode.OpXor64Reg, decode.OpXor32Imm, decode.OpXor32Reg)
	add(func(a, b interval) interval {
		if a.natural() && b.natural() && a.hi < 1<<31 && b.hi < 1<<31 {
			return between(number, a.lo*b.lo, a.hi*b.hi)
		}
		return unbounded
	}, false, decode.OpMul64Imm, decode.OpMul64Reg, decode.OpMul32Imm, decode.OpMul32Reg)
	add(func(a, b interval) interval {
		if !a.natural() || !b.natural() {
			return unbounded
		}
		if b.lo == 0 { // division by zero gives zero
			return between(number, 0, a.hi)
		}
		return between(number, a.lo/b.hi, a.hi/b.lo)
	}, false, decode.OpDiv64Imm, decode.OpDiv64Reg, decode.OpDiv32Imm, decode.OpDiv32Reg)
	add(func(a, b interval) interval {
		switch {
		case b.natural() && b.lo > 0:
			return between(number, 0, b.hi-1)
		case a.natural(): // modulo zero is no change
			return between(number, 0, a.hi)
		}
		return unbounded
	}, false, decode.OpMod64Imm, decode.OpMod64Reg, decode.OpMod32Imm, decode.OpMod32Reg)
	for _, s := range []struct {
		op   decode.Op
		w32  bool
		left bool
	}{{decode.OpLsh64Imm, false, true}, {decode.OpLsh32Imm, true, true}, {decode.OpRsh64Imm, false, false}, {decode.OpRsh32Imm, true, false},
		{decode.OpArsh64Imm, false, false}} {
		width := int64(64)
		if s.w32 {
			width = 32
		}
		arithmetic := s.op == decode.OpArsh64Imm
		t[s.op] = operation{do: func(a, b interval) interval {
			n := b.lo & (width - 1)
			switch {
			case a.natural() && s.left && n < 40 && a.hi <= farthest>>n:
				return between(number, a.lo<<n, a.hi<<n)
			case s.left:
				return unbounded
			case a.natural():
				return between(number, a.lo>>n, a.hi>>n)
			case n >= 24 && !arithmetic:
				return between(number, 0, int64(uint64(1)<<(width-n))-1)
			}
			return unbounded
		}, w32: s.w32, imm: true}
	}
	return t
}()

// loaded are the results of what has no operation: loads of less than eight bytes, and others that yield 32 bits or less.
var loaded = func() (t [decode.NumOps]interval) {
	for i := range t {
		t[i] = unbounded
	}
	t[decode.OpLdxB] = interval{number, 0, 1<<8 - 1}
	t[decode.OpLdxH] = interval{number, 0, 1<<16 - 1}
	t[decode.OpLdxW] = word
	t[decode.OpLdxSB] = interval{number, -1 << 7, 1<<7 - 1}
	t[decode.OpLdxSH] = interval{number, -1 << 15, 1<<15 - 1}
	t[decode.OpLdxSW] = interval{number, -1 << 31, 1<<31 - 1}
	t[decode.OpLoadAcqB], t[decode.OpLoadAcqH], t[decode.OpLoadAcqW] = t[decode.OpLdxB], t[decode.OpLdxH], word
	t[decode.OpBE16], t[decode.OpLE16], t[decode.OpBswap16] = t[decode.OpLdxH], t[decode.OpLdxH], t[decode.OpLdxH]
	t[decode.OpBE32], t[decode.OpLE32], t[decode.OpBswap32] = word, word, word
	t[decode.OpNeg32], t[decode.OpMovSX8To32], t[decode.OpMovSX16To32] = word, word, word
	t[decode.OpLsh32Reg], t[decode.OpRsh32Reg], t[decode.OpArsh32Reg], t[decode.OpArsh32Imm] = word, word, word, word
	t[decode.OpSDiv32Imm], t[decode.OpSDiv32Reg], t[decode.OpSMod32Imm], t[decode.OpSMod32Reg] = word, word, word, word
	return t
}()

// registers are the values of r0 to r10.
type registers [11]interval

// forget makes registers, given as bits, hold anything.
func (s *registers) forget(mask uint16) {
	for r := range s {
		if mask>>r&1 != 0 {
			s[r] = unbounded
		}
	}
}

// execute follows an instruction that continues to the next. Registers for which trust has a bit, plus a number, are believed to be
// below 2^32; the result is true if what is known now depends on that.
func (s *registers) execute(in *Insn, trust uint16) (trusted bool) {
	low32 := func(v interval) interval {
		if v.base >= 0 && v.base < 10 && v.lo == v.hi && trust>>v.base&1 != 0 {
			return v
		}
		return v.low32()
	}
	switch in.Kind {
	case KindImm64:
		s[in.Dst] = constant(int64(in.Imm))
	case KindLoad:
		s[in.Dst] = loaded[in.Op]
		// Who is asked for four bytes may answer with an address, as contexts do; the stack is always plain memory.
		if in.Size == 4 && s[in.Dst] == word && in.Check != CheckNone {
			s[in.Dst] = unbounded
		}
	case KindAtomic:
		s.forget(in.writes)
	case KindCall, KindCallFunc, KindCallInline, KindInterpret:
		s.forget(in.changes())
	case KindOp:
		op := &operations[in.Op]
		if op.do == nil {
			s[in.Dst] = loaded[in.Op]
			return false
		}
		a, b := s[in.Dst], constant(int64(in.Imm))
		switch {
		case !op.imm:
			b = s[in.Src]
		case op.w32 && in.Op != decode.OpAdd32Imm && in.Op != decode.OpSub32Imm:
			b = constant(int64(uint32(in.Imm)))
		}
		if op.w32 {
			if !op.move {
				a = low32(a)
			}
			if !op.imm {
				b = low32(b)
			}
			s[in.Dst] = low32(op.do(a, b))
			return s[in.Dst].base >= 0
		}
		s[in.Dst] = op.do(a, b)
	}
	return false
}

// wraps reports whether an operation of 32 bits may be one of registers or a result beyond 2^32.
func (s *registers) wraps(in *Insn) bool {
	op := &operations[in.Op]
	a, b := s[in.Dst], constant(int64(in.Imm))
	if !op.imm {
		b = s[in.Src]
	}
	low := func(v interval) bool { return v.natural() && v.hi < 1<<32 }
	return !op.move && !low(a) || !op.imm && !low(b) || !low(op.do(a, b))
}

// relation is a comparison of unsigned numbers.
type relation uint8

const (
	noRelation relation = iota
	equal
	notEqual
	less
	atMost
	greater
	atLeast
)

// not is the opposite.
func (r relation) not() relation {
	return [...]relation{noRelation: noRelation, equal: notEqual, notEqual: equal, less: atLeast, atLeast: less, greater: atMost, atMost: greater}[r]
}

// comparison is what a branch compares.
type comparison struct {
	is     relation
	signed bool
	w32    bool
	imm    bool
}

var comparisons = func() (t [decode.NumOps]comparison) {
	add := func(is relation, signed bool, imm64, reg64, imm32, reg32 decode.Op) {
		t[imm64], t[reg64] = comparison{is, signed, false, true}, comparison{is, signed, false, false}
		t[imm32], t[reg32] = comparison{is, signed, true, true}, comparison{is, signed, true, false}
	}
	add(equal, false, decode.OpJeq64Imm, decode.OpJeq64Reg, decode.OpJeq32Imm, decode.OpJeq32Reg)
	add(notEqual, false, decode.OpJne64Imm, decode.OpJne64Reg, decode.OpJne32Imm, decode.OpJne32Reg)
	add(less, false, decode.OpJlt64Imm, decode.OpJlt64Reg, decode.OpJlt32Imm, decode.OpJlt32Reg)
	add(atMost, false, decode.OpJle64Imm, decode.OpJle64Reg, decode.OpJle32Imm, decode.OpJle32Reg)
	add(greater, false, decode.OpJgt64Imm, decode.OpJgt64Reg, decode.OpJgt32Imm, decode.OpJgt32Reg)
	add(atLeast, false, decode.OpJge64Imm, decode.OpJge64Reg, decode.OpJge32Imm, decode.OpJge32Reg)
	add(less, true, decode.OpJslt64Imm, decode.OpJslt64Reg, decode.OpJslt32Imm, decode.OpJslt32Reg)
	add(atMost, true, decode.OpJsle64Imm, decode.OpJsle64Reg, decode.OpJsle32Imm, decode.OpJsle32Reg)
	add(greater, true, decode.OpJsgt64Imm, decode.OpJsgt64Reg, decode.OpJsgt32Imm, decode.OpJsgt32Reg)
	add(atLeast, true, decode.OpJsge64Imm, decode.OpJsge64Reg, decode.OpJsge32Imm, decode.OpJsge32Reg)
	return t
}()

// compares reports whether v is a number that comparisons of this kind compare as what it is.
func (c *comparison) compares(v interval) bool {
	limit := int64(farthest)
	if c.w32 {
		limit = 1<<32 - 1
		if c.signed {
			limit = 1<<31 - 1
		}
	}
	return v.natural() && v.hi <= limit
}

// against is what a branch compares its register with.
func (s *registers) against(in *Insn, c *comparison) interval {
	switch {
	case !c.imm:
		return s[in.Src]
	case c.w32:
		return constant(int64(uint32(in.Imm)))
	}
	return constant(int64(in.Imm))
}

// assume narrows the register a branch compares by its outcome. It reports false if the outcome cannot be.
func (s *registers) assume(in *Insn, taken bool) bool {
	c := &comparisons[in.Op]
	is := c.is
	if !taken {
		is = is.not()
	}
	a, b := s[in.Dst], s.against(in, c)
	if is == noRelation || !c.compares(a) || !c.compares(b) {
		return true
	}
	switch is {
	case equal:
		a.lo, a.hi = max(a.lo, b.lo), min(a.hi, b.hi)
	case less:
		a.hi = min(a.hi, b.hi-1)
	case atMost:
		a.hi = min(a.hi, b.hi)
	case greater:
		a.lo = max(a.lo, b.lo+1)
	case atLeast:
		a.lo = max(a.lo, b.lo)
	}
	if a.lo > a.hi {
		return false
	}
	s[in.Dst] = a
	return true
}
