package num

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/decode"
)

// allRules are the rules of old and new releases.
var allRules = []Rules{
	fixed(Rules{}),
	{LowBits: true, LowBoth: true}, // 5.10.37 to 5.10.79
	fixed(Rules{Mul: MulShiftAdd, Deduce: DeduceMixed, EqHalves: true, Lsh32: true}),
	fixed(Rules{Mul: MulUnion, Deduce: DeduceMixed, EqHalves: true, EqBits: true, Lsh32: true, SplitSign: true, SplitSign32: true, WrapBoth: true, MulSigned: true, Div: true, Neg: true, Bswap: true}),
	fixed(Rules{Mul: MulUnion, Deduce: DeduceMixed, EqHalves: true, EqBits: true, WrapBoth: true, MulSigned: true, Div: true, Neg: true, Bswap: true, Arcs: true}),
}

// fixed adds what updates of 5.10 mended.
func fixed(r Rules) Rules {
	r.LowBits, r.LowBoth, r.LowEnds, r.Whole = true, true, true, true
	return r
}

// Ranges of the low half that 5.10 derived until it was mended exclude numbers that occur: such
// programs were accepted.
func TestFaultsOfEarlyUpdates(t *testing.T) {
	// What is left of r2 = 1<<32|1 & 1<<32|2, of which only the high half was unknown
	// (CVE-2021-3490).
	product := func(r Rules) Bounds {
		b := Unbounded
		b.Var = Const(1).Or(Tnum{Mask: high32})
		b.Set32(1)
		c := Exactly(1<<32 | 2)
		b.And(&c, r)
		b.Sync(r)
		return b
	}
	// A number that is at least 1, whose low half may still be 0 (CVE-2021-31440).
	positive := func(r Rules) Bounds {
		b, no := Unbounded, Unbounded
		RefineConst(&b, &no, 1, Ge, false, r)
		return b
	}
	for _, c := range []struct {
		name  string
		value uint64
		make  func(Rules) Bounds
		turn  func(*Rules)
	}{
		{"bits of the low half", 1 << 32, product, func(r *Rules) { r.LowBits = false }},
		{"one end of a range", 1 << 32, positive, func(r *Rules) { r.LowBoth, r.LowEnds = false, false }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := fixed(Rules{})
			b := c.make(r)
			assert.True(t, contains(&b, c.value), "%+v", b)
			c.turn(&r)
			b = c.make(r)
			assert.False(t, contains(&b, c.value), "%+v", b)
		})
	}
}

// interesting is a number near a border.
func interesting(r *rand.Rand) uint64 {
	v := uint64(1) << r.UintN(64)
	switch r.UintN(5) {
	case 0:
		return v
	case 1:
		return v - 1
	case 2:
		return -v
	case 3:
		return uint64(r.UintN(64))
	}
	return r.Uint64()
}

// holding makes bounds that hold v, as branches make them.
func holding(r *rand.Rand, v uint64, rules Rules) Bounds {
	b := Unbounded
	for range r.UintN(4) {
		op := []Cond{Gt, Ge, Lt, Le, SGt, SGe, SLt, SLe, Ne, Set}[r.UintN(10)]
		w32 := r.UintN(2) == 0
		x := interesting(r)
		if !holds(v, x, op, w32) {
			op = op.Not()
		}
		b = refined(b, x, op, w32, rules)
	}
	if r.UintN(8) == 0 {
		b = Exactly(v)
	}
	return b
}

// refined narrows bounds by a comparison with a constant that holds.
func refined(b Bounds, x uint64, op Cond, w32 bool, rules Rules) Bounds {
	if rules.Arcs {
		c := Exactly(x)
		Refine(&b, &c, op, w32, rules)
		b.Sync(rules)
		return b
	}
	no := b
	RefineConst(&b, &no, x, op, w32, rules)
	return b
}

// holds is what a processor compares.
func holds(a, b uint64, op Cond, w32 bool) bool {
	class := uint8(decode.ClassJMP)
	if w32 {
		class = decode.ClassJMP32
	}
	yes, _ := decode.Insn{Code: class | 8 | uint8(op)&0xf0}.Op().Holds(a, b)
	return yes != (op == NSet)
}

func contains(b *Bounds, v uint64) bool {
	return b.Holds(v) && v&^b.Var.Mask == b.Var.Value && int64(v) >= b.SMin && int64(v) <= b.SMax && v >= b.UMin && v <= b.UMax &&
		int32(v) >= b.Low.SMin && int32(v) <= b.Low.SMax && uint32(v) >= b.Low.UMin && uint32(v) <= b.Low.UMax
}

// computed is what a processor computes.
func computed(op decode.Op) func(a, b uint64) uint64 {
	return func(a, b uint64) uint64 {
		n, _ := op.Compute(a, b)
		return n
	}
}

// What is known of operands stays true of results, by the rules of every release.
func TestResultsHoldTheirValues(t *testing.T) {
	ops := []struct {
		name  string
		value func(a, b uint64) uint64
		do    func(a, b *Bounds, r Rules)
	}{
		{"add", computed(decode.OpAdd64Reg), func(a, b *Bounds, r Rules) { a.Add(b, r) }},
		{"sub", computed(decode.OpSub64Reg), func(a, b *Bounds, r Rules) { a.Sub(b, r) }},
		{"mul", computed(decode.OpMul64Reg), func(a, b *Bounds, r Rules) { a.Mul(b, r) }},
		{"and", computed(decode.OpAnd64Reg), func(a, b *Bounds, r Rules) { a.And(b, r) }},
		{"or", computed(decode.OpOr64Reg), func(a, b *Bounds, r Rules) { a.Or(b, r) }},
		{"xor", computed(decode.OpXor64Reg), func(a, b *Bounds, r Rules) { a.Xor(b, r) }},
		{"zext", func(a, _ uint64) uint64 { return computed(decode.OpMov32Reg)(0, a) }, func(a, _ *Bounds, _ Rules) { a.Zext() }},
	}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 200_000 {
		rules := allRules[i%len(allRules)]
		x, y := interesting(r), interesting(r)
		a, b := holding(r, x, rules), holding(r, y, rules)
		if !assert.True(t, contains(&a, x), "%+v holds %#x", a, x) {
			return
		}
		op := ops[r.UintN(uint(len(ops)))]
		got := a
		op.do(&got, &b, rules)
		got.Sync(rules)
		if !assert.True(t, contains(&got, op.value(x, y)), "%s of %#x in %+v and %#x in %+v: %+v", op.name, x, a, y, b, got) {
			return
		}
	}
}

// A comparison that is decided is decided rightly, and ranges of both branches hold what goes
// there.
func TestBranchesHoldTheirValues(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 200_000 {
		rules := allRules[i%len(allRules)]
		x, y := interesting(r), interesting(r)
		if r.UintN(4) == 0 {
			y = x
		}
		a, b := holding(r, x, rules), holding(r, y, rules)
		op := []Cond{Eq, Ne, Gt, Ge, Lt, Le, SGt, SGe, SLt, SLe, Set}[r.UintN(11)]
		w32 := r.UintN(2) == 0
		is := holds(x, y, op, w32)
		if d := Taken(&a, &b, op, w32, rules); d >= 0 {
			if !assert.Equal(t, is, d == 1, "%#x in %+v %v %#x in %+v", x, a, op, y, b) {
				return
			}
		}
		way := op
		if !is {
			way = op.Not()
		}
		yes := refined(a, y, way, w32, rules)
		if !assert.True(t, contains(&yes, x), "%#x in %+v after %v %#x (%v): %+v", x, a, op, y, is, yes) {
			return
		}
	}
}

// Operations with constants hold their results too: shifts, divisions, and loads of parts.
func TestConstantsHoldTheirResults(t *testing.T) {
	type operation struct {
		name  string
		op    decode.Op
		limit uint64 // constants are below
		do    func(a, c *Bounds, r Rules)
	}
	low := func(f func(a, c *Bounds, r Rules)) func(a, c *Bounds, r Rules) {
		return func(a, c *Bounds, r Rules) {
			f(a, c, r)
			a.Zext()
		}
	}
	all := []operation{
		{"lsh64", decode.OpLsh64Reg, 64, (*Bounds).Lsh},
		{"rsh64", decode.OpRsh64Reg, 64, (*Bounds).Rsh},
		{"arsh64", decode.OpArsh64Reg, 64, (*Bounds).Arsh},
		{"lsh32", decode.OpLsh32Reg, 32, low((*Bounds).Lsh32)},
		{"rsh32", decode.OpRsh32Reg, 32, low((*Bounds).Rsh32)},
		{"arsh32", decode.OpArsh32Reg, 32, low((*Bounds).Arsh32)},
	}
	for _, d := range []struct {
		name        string
		op          decode.Op
		w32, signed bool
		mod         bool
	}{
		{"div64", decode.OpDiv64Reg, false, false, false}, {"div32", decode.OpDiv32Reg, true, false, false},
		{"sdiv64", decode.OpSDiv64Reg, false, true, false}, {"sdiv32", decode.OpSDiv32Reg, true, true, false},
		{"mod64", decode.OpMod64Reg, false, false, true}, {"mod32", decode.OpMod32Reg, true, false, true},
		{"smod64", decode.OpSMod64Reg, false, true, true}, {"smod32", decode.OpSMod32Reg, true, true, true},
	} {
		all = append(all, operation{d.name, d.op, 0, func(a, c *Bounds, r Rules) {
			if d.mod {
				a.Mod(c, d.w32, d.signed, r)
			} else {
				a.Div(c, d.w32, d.signed, r)
			}
			if d.w32 {
				a.Zext()
			}
		}})
	}
	r := rand.New(rand.NewPCG(11, 12))
	for i := range 100_000 {
		rules := allRules[i%len(allRules)]
		o := all[r.UintN(uint(len(all)))]
		if o.limit == 0 && !rules.Div {
			continue
		}
		x, y := interesting(r), interesting(r)
		if o.limit != 0 {
			y %= o.limit
		}
		a, c := holding(r, x, rules), Exactly(y)
		got := a
		o.do(&got, &c, rules)
		got.Sync(rules)
		if !assert.True(t, contains(&got, computed(o.op)(x, y)), "%s of %#x in %+v by %#x: %+v", o.name, x, a, y, got) {
			return
		}
		size := 1 << r.UintN(3)
		got = a
		got.Truncate(size, rules)
		if !assert.True(t, contains(&got, x&(1<<(8*size)-1)), "%d bytes of %#x in %+v: %+v", size, x, a, got) {
			return
		}
		got = a
		got.SignExtend(size)
		if !assert.True(t, contains(&got, uint64(signExtend(x, size))), "%d signed bytes of %#x in %+v: %+v", size, x, a, got) {
			return
		}
	}
}

// TestSignsAreExtendedByShifts: a shift to the left by 32 makes a range of the low half's, whose
// negative ends releases before Lsh32 did not know.
func TestSignsAreExtendedByShifts(t *testing.T) {
	for _, c := range []struct{ low, high int32 }{{0, 5}, {1, 5}, {-1, 5}, {-5, -1}, {-5, 0}, {0, 0}} {
		for _, all := range []bool{false, true} {
			b := Unbounded
			b.Low.SMin, b.Low.SMax = c.low, c.high
			n := Exactly(32)
			b.Lsh(&n, Rules{Lsh32: all})
			low, high := int64(math.MinInt64), int64(math.MaxInt64)
			if all || c.low >= 0 {
				low = int64(c.low) << 32
			}
			if all || c.high >= 0 {
				high = int64(c.high) << 32
			}
			assert.Equal(t, low, b.SMin, "%+v %v", c, all)
			assert.LessOrEqual(t, b.SMax, high, "%+v %v", c, all)
			assert.GreaterOrEqual(t, b.SMax, high&^math.MaxUint32, "%+v %v", c, all)
		}
	}
}
