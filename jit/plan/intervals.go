package plan

import (
	"math/bits"

	"github.com/bpfrun/bpfrun/decode"
)

// interval is what is known of a register: a number from lo to hi (the 64 bits as a signed number),
// or the value of a register at loop entry plus such a number.
type interval struct {
	base   int8 // the register, or number or anything
	lo, hi int64
}

const (
	number   int8 = -1
	anything int8 = -2
	// farthest bounds lo and hi, so that sums of a few do not overflow.
	farthest = 1 << 40
)

var (
	unbounded = interval{base: anything}
	word      = interval{number, 0, 1<<32 - 1}
)

func constant(v int64) interval { return between(number, v, v) }

// between returns base plus a number from lo to hi, or anything if the bounds get too large.
func between(base int8, lo, hi int64) interval {
	if base == anything || lo > hi || lo < -farthest || hi > farthest {
		return unbounded
	}
	return interval{base, lo, hi}
}

func (v interval) natural() bool { return v.base == number && v.lo >= 0 }

// or returns an interval that contains both.
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

// upTo returns the sum of up to n numbers, each in v without its base.
func (v interval) upTo(n int64) interval {
	if n > 0 && max(-v.lo, v.hi) > farthest/n {
		return unbounded
	}
	return between(number, min(0, v.lo*n), max(0, v.hi*n))
}

// low32 returns the low half of v.
func (v interval) low32() interval {
	if v.natural() && v.hi < 1<<32 {
		return v
	}
	return word
}

// mask returns a number whose bits are all at or below the highest bit of v.
func mask(v int64) int64 { return int64(1)<<bits.Len64(uint64(v)) - 1 }

// operation computes an op on intervals in one width. [decode.Op.Compute] computes constants.
type operation struct {
	do   func(a, b interval) interval
	w32  bool
	imm  bool // the second operand is the immediate
	move bool // the first operand is unused
	wrap bool // 32-bit: a negative immediate is taken modulo 2^32
	one  bool // there is only one operand: the destination, or for moves the source
}

func (v interval) and(w interval) interval {
	switch {
	case v.natural() && w.natural():
		return between(number, 0, min(v.hi, w.hi))
	case v.natural():
		return between(number, 0, v.hi)
	case w.natural():
		return between(number, 0, w.hi)
	}
	return unbounded
}

// union returns an interval for the bitwise or, and for the exclusive or.
func (v interval) union(w interval) interval {
	if v.natural() && w.natural() {
		return between(number, 0, mask(max(v.hi, w.hi)))
	}
	return unbounded
}

func (v interval) times(w interval) interval {
	if v.natural() && w.natural() && v.hi < 1<<31 && w.hi < 1<<31 {
		return between(number, v.lo*w.lo, v.hi*w.hi)
	}
	return unbounded
}

func (v interval) divided(w interval) interval {
	switch {
	case !v.natural() || !w.natural():
		return unbounded
	case w.lo == 0: // division by zero gives zero
		return between(number, 0, v.hi)
	}
	return between(number, v.lo/w.hi, v.hi/w.lo)
}

func (v interval) modulo(w interval) interval {
	switch {
	case w.natural() && w.lo > 0:
		return between(number, 0, w.hi-1)
	case v.natural(): // modulo zero changes nothing
		return between(number, 0, v.hi)
	}
	return unbounded
}

// leftBy and rightBy are shifts by a constant, in a width.
func leftBy(width int64) func(v, n interval) interval {
	return func(v, by interval) interval {
		n := by.lo & (width - 1)
		if v.natural() && n < 40 && v.hi <= farthest>>n {
			return between(number, v.lo<<n, v.hi<<n)
		}
		return unbounded
	}
}

func rightBy(width int64, signed bool) func(v, n interval) interval {
	return func(v, by interval) interval {
		n := by.lo & (width - 1)
		switch {
		case v.natural():
			return between(number, v.lo>>n, v.hi>>n)
		case n >= 24 && !signed:
			return between(number, 0, int64(uint64(1)<<(width-n))-1)
		}
		return unbounded
	}
}

// arithmetic maps an operation's text in decode's table to its function; shifts are made per width.
var arithmetic = map[string]func(a, b interval) interval{
	"+=": interval.plus, "-=": interval.minus, "*=": interval.times, "/=": interval.divided, "%=": interval.modulo,
	"&=": interval.and, "|=": interval.union, "^=": interval.union, "=": func(_, b interval) interval { return b },
}

var operations = func() (t [decode.NumOps]operation) {
	for i := range t {
		info := decode.Op(i).Info()
		o := operation{w32: info.Width == 32, move: info.Reads&decode.RegDst == 0}
		switch info.Form {
		case decode.FormALUImm, decode.FormALUReg:
			o.imm = info.Form == decode.FormALUImm
			o.wrap = o.w32 && (info.Text == "+=" || info.Text == "-=")
			o.do = arithmetic[info.Text]
			switch {
			case !o.imm:
			case info.Text == "<<=":
				o.do = leftBy(int64(info.Width))
			case info.Text == ">>=":
				o.do = rightBy(int64(info.Width), false)
			case info.Text == "s>>=" && !o.w32:
				o.do = rightBy(64, true)
			}
		case decode.FormNeg, decode.FormEnd, decode.FormMovSX:
			o.one = true
		}
		t[i] = o
	}
	return t
}()

// loaded are the results of ops without an operation: loads of less than eight bytes, and others
// that yield 32 bits or less.
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

// registers are the intervals of r0 to r10.
type registers [11]interval

// forget sets registers, given as a bit set, to anything.
func (s *registers) forget(mask uint16) {
	for r := range s {
		if mask>>r&1 != 0 {
			s[r] = unbounded
		}
	}
}

// execute applies an instruction that falls through to the next. Registers in trust, plus a number,
// are assumed to be below 2^32. The result is true if the new state depends on that assumption.
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
		// A four-byte load may yield an address if a context serves it; the stack is always plain
		// memory.
		if in.Size == 4 && s[in.Dst] == word && in.Check != CheckNone {
			s[in.Dst] = unbounded
		}
	case KindAtomic:
		s.forget(in.writes)
	case KindCall, KindCallFunc, KindCallInline, KindTailCall, KindInterpret:
		s.forget(in.changes())
	case KindOp:
		op := &operations[in.Op]
		a, b := s[in.Dst], constant(int64(in.Imm))
		if !op.imm {
			b = s[in.Src]
		}
		if n, ok := op.exact(in.Op, a, b); ok {
			s[in.Dst] = constant(n)
			return false
		}
		if op.do == nil {
			s[in.Dst] = loaded[in.Op]
			return false
		}
		if op.imm && op.w32 && !op.wrap {
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

// known returns the interval's only number.
func (v interval) known() (n uint64, ok bool) {
	return uint64(v.lo), v.base == number && v.lo == v.hi
}

// exact computes with known operands.
func (o *operation) exact(op decode.Op, a, b interval) (int64, bool) {
	x, first := a.known()
	y, second := b.known()
	if !first && !o.move || !second && !(o.one && !o.move) {
		return 0, false
	}
	n, ok := op.Compute(x, y)
	return int64(n), ok
}

// wraps reports whether a 32-bit operation may involve registers or a result beyond 2^32.
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

// not returns the opposite.
func (r relation) not() relation {
	return [...]relation{noRelation: noRelation, equal: notEqual, notEqual: equal, less: atLeast, atLeast: less, greater: atMost, atMost: greater}[r]
}

// comparison is the comparison of a branch.
type comparison struct {
	is     relation
	signed bool
	w32    bool
	imm    bool
}

// relations maps conditions to relations, of signed or of unsigned numbers.
var relations = [...]relation{
	Equal: equal, NotEqual: notEqual, Less: less, AtLeast: atLeast, AtMost: atMost, Greater: greater,
	SignedLess: less, SignedAtLeast: atLeast, SignedAtMost: atMost, SignedGreater: greater,
}

var comparisons = func() (t [decode.NumOps]comparison) {
	for i := range t {
		info, br := decode.Op(i).Info(), &branches[i]
		if info.Form != decode.FormJumpImm && info.Form != decode.FormJumpReg {
			continue
		}
		t[i] = comparison{signed: info.Signed(), w32: !br.Wide, imm: br.Imm}
		if !br.Test {
			t[i].is = relations[br.Cond]
		}
	}
	return t
}()

// compares reports whether v is a number whose value a comparison of this kind sees unchanged.
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

// against returns the operand that a branch compares its register with.
func (s *registers) against(in *Insn, c *comparison) interval {
	switch {
	case !c.imm:
		return s[in.Src]
	case c.w32:
		return constant(int64(uint32(in.Imm)))
	}
	return constant(int64(in.Imm))
}

// assume narrows the register that a branch compares, given the outcome. It reports false if the
// outcome is impossible.
func (s *registers) assume(in *Insn, taken bool) bool {
	c := &comparisons[in.Op]
	is := c.is
	if !taken {
		is = is.not()
	}
	a, b := s[in.Dst], s.against(in, c)
	x, first := a.known()
	y, second := b.known()
	if outcome, ok := in.Op.Holds(x, y); ok && first && second {
		return outcome == taken
	}
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
