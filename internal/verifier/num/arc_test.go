package num

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// numbers lists the 8-bit numbers of an arc.
func numbers(a arc[uint8]) (set [256]bool, n int) {
	for v := range 256 {
		if a.has(uint8(v)) {
			set[v] = true
			n++
		}
	}
	return set, n
}

func arcs8(r *rand.Rand) arc[uint8] {
	if r.UintN(50) == 0 {
		return noArc[uint8]()
	}
	return arc[uint8]{uint8(r.Uint32()), uint8(r.Uint32())}.canonical()
}

// Every 8-bit arc has size+1 numbers, its views are the least ranges around them, and its opposite
// has their opposites.
func TestArcsHaveTheirNumbers(t *testing.T) {
	for base := range 256 {
		for size := range 256 {
			a := arc[uint8]{uint8(base), uint8(size)}.canonical()
			set, n := numbers(a)
			lo, hi := a.unsigned()
			slo, shi := a.signed()
			ulo, uhi, least, greatest := 255, 0, 127, -128
			neg := a.neg()
			for v, in := range set {
				if neg.has(-uint8(v)) != in {
					t.Fatalf("-%d of %+v", v, a)
				}
				if in {
					ulo, uhi, least, greatest = min(ulo, v), max(uhi, v), min(least, int(int8(v))), max(greatest, int(int8(v)))
				}
			}
			if got := [5]int{int(lo), int(hi), int(int8(slo)), int(int8(shi)), size + 1}; got != [5]int{ulo, uhi, least, greatest, n} {
				t.Fatalf("%+v: %v", a, got)
			}
		}
	}
}

// Intersections, sums and subsets of arcs are those of their numbers; two pieces of an intersection
// are one of its sides.
func TestArcsComputeWithTheirNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 10_000 {
		a, b := arcs8(r), arcs8(r)
		as, an := numbers(a)
		bs, bn := numbers(b)
		both, bothN := numbers(a.and(b))
		sum, sumN := numbers(a.add(b))
		within, common := true, 0
		for v := range 256 {
			if as[v] && bs[v] {
				common++
				if !both[v] {
					t.Fatalf("%d in %+v and %+v", v, a, b)
				}
			}
			within = within && (as[v] || !bs[v])
		}
		require.Equal(t, within, a.holds(b), "%+v holds %+v", a, b)
		if bothN != common {
			require.Equal(t, min(an, bn), bothN, "%+v and %+v: two pieces", a, b)
		}
		if an == 0 || bn == 0 {
			require.Zero(t, sumN)
			continue
		}
		require.Equal(t, min(256, an+bn-1), sumN, "%+v + %+v", a, b)
		x, y := a.base+uint8(r.UintN(uint(an))), b.base+uint8(r.UintN(uint(bn)))
		require.True(t, sum[x+y], "%d + %d", x, y)
	}
}

// The numbers with a right low half stay, and where the low halves are one piece both ends of the
// result have right ones.
func TestLowHalvesNarrowArcs(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	low := func() uint32 { return uint32(interesting(r)) }
	pieces := 0
	for range 50_000 {
		a := arc[uint64]{interesting(r), uint64(r.UintN(4))<<32 + uint64(low())}
		l := arc[uint32]{low(), low()}.canonical()
		got := withLow(a, l)
		require.True(t, a.holds(got), "%+v of %+v with %+v", got, a, l)
		v := a.base + r.Uint64N(a.size+1)
		if r.UintN(2) == 0 { // one with a right low half
			v = a.base&^(1<<32-1) + uint64(r.UintN(4))<<32 + uint64(l.base+r.Uint32N(l.size|1))
		}
		if a.has(v) && l.has(uint32(v)) {
			require.True(t, got.has(v), "%#x in %+v with %+v: %+v", v, a, l, got)
			pieces++
		}
		if x := (arc[uint32]{l.base - uint32(a.base), l.size}); !got.empty() && !x.wraps() {
			require.True(t, l.has(uint32(got.base)) && l.has(uint32(got.last())), "%+v with %+v: %+v", a, l, got)
		}
	}
	require.Greater(t, pieces, 3_000)
}

// The next number with known bits is the least one, and the last one has itself after it.
func TestNumberAfter(t *testing.T) {
	for mask := range uint64(64) {
		for value := range uint64(64) {
			if value&mask != 0 {
				continue
			}
			b := Tnum{value, mask}
			for v := range uint64(70) {
				want := value | mask
				for x := v + 1; x <= value|mask; x++ {
					if b.Contains(Const(x)) {
						want = x
						break
					}
				}
				require.Equal(t, want, b.After(v), "%v after %d", b, v)
			}
		}
	}
}

// Arcs stay what they are in the views, whatever the views say.
func TestBoundsKeepArcs(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 20_000 {
		wide := arc[uint64]{interesting(r), interesting(r)}.canonical()
		low := arc[uint32]{uint32(interesting(r)), uint32(interesting(r))}.canonical()
		if r.UintN(100) == 0 {
			wide = noArc[uint64]()
		}
		b := Unbounded
		b.setArc64(wide)
		b.setArc32(low)
		require.Equal(t, wide, b.arc64())
		require.Equal(t, low, b.arc32())
		v := interesting(r)
		require.Equal(t, wide.has(v) && low.has(uint32(v)), b.Holds(v), "%#x in %+v and %+v", v, wide, low)
	}
}

// What no view can say decides branches: a number that is not 5 is not compared with 5 again.
func TestHolesDecideBranches(t *testing.T) {
	rules := allRules[len(allRules)-1]
	b, five := Unbounded, Exactly(5)
	require.Equal(t, Maybe, Taken(&b, &five, Eq, false, rules))
	Refine(&b, &five, Ne, false, rules)
	b.Sync(rules)
	assert.Equal(t, Never, Taken(&b, &five, Eq, false, rules))
	assert.Equal(t, Sure, Taken(&b, &five, Ne, false, rules))
	assert.False(t, b.Holds(5))
	one := Exactly(1)
	b.Add(&one, rules)
	b.Sync(rules)
	six := Exactly(6)
	assert.Equal(t, Never, Taken(&b, &six, Eq, false, rules))
	assert.Equal(t, Maybe, Taken(&b, &five, Eq, false, rules))
	c := Unbounded
	assert.True(t, c.Within(&b))
	assert.False(t, b.Within(&c))
	assert.True(t, b.Within(&b))
}
