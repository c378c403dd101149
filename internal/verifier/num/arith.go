package num

import (
	"math"

	"golang.org/x/exp/constraints"
)

func addS[T constraints.Signed](a, b T) (T, bool) {
	s := a + b
	return s, (s > a) != (b > 0) && b != 0
}

func subS[T constraints.Signed](a, b T) (T, bool) {
	d := a - b
	return d, (d < a) != (b > 0) && b != 0
}

func addU[T constraints.Unsigned](a, b T) (T, bool) { s := a + b; return s, s < a }
func subU[T constraints.Unsigned](a, b T) (T, bool) { return a - b, a < b }

// addRange is scalar_min_max_add for one width.
func addRange[S constraints.Signed, U constraints.Unsigned](smin, smax *S, umin, umax *U, bs, bS S, bu, bU U, minS, maxS S, maxU U, both bool) {
	lo, o1 := addS(*smin, bs)
	hi, o2 := addS(*smax, bS)
	if o1 || o2 {
		lo, hi = minS, maxS
	}
	*smin, *smax = lo, hi
	l, p1 := addU(*umin, bu)
	h, p2 := addU(*umax, bU)
	if both && !p1 && p2 || !both && (p1 || p2) {
		l, h = 0, maxU
	}
	*umin, *umax = l, h
}

// Add adds c to b. Call Sync afterwards.
func (b *Bounds) Add(c *Bounds, r Rules) {
	b.AddRanges(c, r)
	b.Var = b.Var.Add(c.Var)
}

// AddRanges adds the ranges of c and leaves the bits unchanged.
func (b *Bounds) AddRanges(c *Bounds, r Rules) {
	if r.Arcs {
		b.addArcs(c)
		return
	}
	addRange(&b.SMin32, &b.SMax32, &b.UMin32, &b.UMax32, c.SMin32, c.SMax32, c.UMin32, c.UMax32, math.MinInt32, math.MaxInt32, math.MaxUint32, r.WrapBoth)
	addRange(&b.SMin, &b.SMax, &b.UMin, &b.UMax, c.SMin, c.SMax, c.UMin, c.UMax, math.MinInt64, math.MaxInt64, math.MaxUint64, r.WrapBoth)
}

func subRange[S constraints.Signed, U constraints.Unsigned](smin, smax *S, umin, umax *U, bs, bS S, bu, bU U, minS, maxS S, maxU U, both bool) {
	lo, o1 := subS(*smin, bS)
	hi, o2 := subS(*smax, bs)
	if o1 || o2 {
		lo, hi = minS, maxS
	}
	*smin, *smax = lo, hi
	l, p1 := subU(*umin, bU)
	h, p2 := subU(*umax, bu)
	if both && p1 && !p2 || !both && p1 {
		l, h = 0, maxU
	}
	*umin, *umax = l, h
}

// Sub subtracts c from b.
func (b *Bounds) Sub(c *Bounds, r Rules) {
	b.subRanges(c, r)
	b.Var = b.Var.Sub(c.Var)
}

func (b *Bounds) subRanges(c *Bounds, r Rules) {
	if r.Arcs {
		b.subArcs(c)
		return
	}
	subRange(&b.SMin32, &b.SMax32, &b.UMin32, &b.UMax32, c.SMin32, c.SMax32, c.UMin32, c.UMax32, math.MinInt32, math.MaxInt32, math.MaxUint32, r.WrapBoth)
	subRange(&b.SMin, &b.SMax, &b.UMin, &b.UMax, c.SMin, c.SMax, c.UMin, c.UMax, math.MinInt64, math.MaxInt64, math.MaxUint64, r.WrapBoth)
}

// Negate replaces b with 0 - b.
func (b *Bounds) Negate(r Rules) {
	old := *b
	b.Set(0)
	b.subRanges(&old, r)
	b.Var = old.Var.Neg()
}

// Mul multiplies b by c.
func (b *Bounds) Mul(c *Bounds, r Rules) {
	b.Var = b.Var.Mul(c.Var, r.Mul)
	if r.MulSigned {
		b.mulSigned(c)
		if r.Arcs {
			b.settle()
		}
		return
	}
	b.mulPositive32(c)
	if c.SMin < 0 || b.SMin < 0 || c.UMax > math.MaxUint32 || b.UMax > math.MaxUint32 {
		b.Forget64()
		return
	}
	b.UMin *= c.UMin
	b.UMax *= c.UMax
	if b.UMax > math.MaxInt64 {
		b.SMin, b.SMax = math.MinInt64, math.MaxInt64
	} else {
		b.SMin, b.SMax = int64(b.UMin), int64(b.UMax)
	}
}

func (b *Bounds) mulPositive32(c *Bounds) {
	if c.SMin32 < 0 || b.SMin32 < 0 || c.UMax32 > math.MaxUint16 || b.UMax32 > math.MaxUint16 {
		b.Forget32()
		return
	}
	b.UMin32 *= c.UMin32
	b.UMax32 *= c.UMax32
	if b.UMax32 > math.MaxInt32 {
		b.SMin32, b.SMax32 = math.MinInt32, math.MaxInt32
	} else {
		b.SMin32, b.SMax32 = int32(b.UMin32), int32(b.UMax32)
	}
}

func (b *Bounds) mulSigned(c *Bounds) {
	if hi, lo := uint64(b.UMax32)*uint64(c.UMax32), uint64(b.UMin32)*uint64(c.UMin32); hi > math.MaxUint32 {
		b.UMin32, b.UMax32 = 0, math.MaxUint32
	} else {
		b.UMin32, b.UMax32 = uint32(lo), uint32(hi)
	}
	p := [4]int64{int64(b.SMin32) * int64(c.SMin32), int64(b.SMin32) * int64(c.SMax32), int64(b.SMax32) * int64(c.SMin32), int64(b.SMax32) * int64(c.SMax32)}
	lo, hi := min(p[0], p[1], p[2], p[3]), max(p[0], p[1], p[2], p[3])
	if lo < math.MinInt32 || hi > math.MaxInt32 {
		lo, hi = math.MinInt32, math.MaxInt32
	}
	b.SMin32, b.SMax32 = int32(lo), int32(hi)
	l, o1 := mulU(b.UMin, c.UMin)
	h, o2 := mulU(b.UMax, c.UMax)
	if o1 || o2 {
		l, h = 0, math.MaxUint64
	}
	b.UMin, b.UMax = l, h
	q := [4]int64{}
	over := false
	for i, v := range [4][2]int64{{b.SMin, c.SMin}, {b.SMin, c.SMax}, {b.SMax, c.SMin}, {b.SMax, c.SMax}} {
		var o bool
		q[i], o = mulS(v[0], v[1])
		over = over || o
	}
	if over {
		b.SMin, b.SMax = math.MinInt64, math.MaxInt64
	} else {
		b.SMin, b.SMax = min(q[0], q[1], q[2], q[3]), max(q[0], q[1], q[2], q[3])
	}
}

func mulU(a, b uint64) (uint64, bool) {
	p := a * b
	return p, a != 0 && p/a != b
}

func mulS(a, b int64) (int64, bool) {
	p := a * b
	if a == 0 || b == 0 {
		return 0, false
	}
	return p, p/b != a || a == -1 && b == math.MinInt64 || b == -1 && a == math.MinInt64
}
