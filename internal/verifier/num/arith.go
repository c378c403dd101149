package num

import "golang.org/x/exp/constraints"

// Sums and differences, and whether they overflow.

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
	b.Low.add(&c.Low, r.WrapBoth)
	b.add(&c.Ranges, r.WrapBoth)
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
	b.Low.sub(&c.Low, r.WrapBoth)
	b.sub(&c.Ranges, r.WrapBoth)
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
	if !r.MulSigned {
		b.Low.mulPositive(&c.Low)
		b.mulPositive(&c.Ranges)
		return
	}
	b.Low.mulSigned(&c.Low)
	b.mulSigned(&c.Ranges)
	if r.Arcs {
		b.settle()
	}
}

// The products of factors, and whether they overflow.

func mulU[U constraints.Unsigned](a, b U) (U, bool) {
	p := a * b
	return p, a != 0 && p/a != b
}

func mulS[S constraints.Signed](a, b S) (S, bool) {
	p := a * b
	if a == 0 || b == 0 {
		return 0, false
	}
	return p, p/b != a || a == -1 && b == -b || b == -1 && a == -a
}
