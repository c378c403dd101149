package num

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// interval is a range of integers of any size.
type interval struct{ lo, hi int }

// in returns the interval, or the whole range of a type if it is not in it.
func (i interval) in(least, most int) interval {
	if i.lo < least || i.hi > most {
		return interval{least, most}
	}
	return i
}

// hull returns the interval from the least to the greatest result.
func hull(a, b interval, of func(x, y int) int) interval {
	out := interval{1 << 30, -1 << 30}
	for x := a.lo; x <= a.hi; x++ {
		for y := b.lo; y <= b.hi; y++ {
			out.lo, out.hi = min(out.lo, of(x, y)), max(out.hi, of(x, y))
		}
	}
	return out
}

// TestRangesOfBytesAreTight: with numbers of eight bits, a range of sums, differences or products is
// from the least to the greatest of them, or it is forgotten because one of them overflows.
func TestRangesOfBytesAreTight(t *testing.T) {
	type bytes = Ranges[int8, uint8]
	r := rand.New(rand.NewPCG(8, 9))
	random := func() bytes {
		ends := func(least, most int) (int, int) {
			a, b := least+r.IntN(most-least+1), least+r.IntN(most-least+1)
			if r.IntN(2) == 0 { // a short one near a border
				at := []int{least, 0, most, (least + most) / 2}[r.IntN(4)]
				a, b = min(max(at-r.IntN(6), least), most), min(max(at+r.IntN(6), least), most)
			}
			return min(a, b), max(a, b)
		}
		sl, sh := ends(-128, 127)
		ul, uh := ends(0, 255)
		return bytes{int8(sl), int8(sh), uint8(ul), uint8(uh)}
	}
	signed := func(x *bytes) interval { return interval{int(x.SMin), int(x.SMax)} }
	unsigned := func(x *bytes) interval { return interval{int(x.UMin), int(x.UMax)} }
	plus := func(x, y int) int { return x + y }
	minus := func(x, y int) int { return x - y }
	times := func(x, y int) int { return x * y }
	for range 2_000 {
		x, y := random(), random()
		for _, both := range []bool{false, true} {
			for name, of := range map[string]func(x, y int) int{"sum": plus, "difference": minus} {
				got := x
				if name == "sum" {
					got.add(&y, both)
				} else {
					got.sub(&y, both)
				}
				assert.Equal(t, hull(signed(&x), signed(&y), of).in(-128, 127), signed(&got), "signed %s of %+v and %+v", name, x, y)
				u := hull(unsigned(&x), unsigned(&y), of)
				switch wrapped := (interval{(u.lo + 256) % 256, (u.hi + 256) % 256}); {
				case both && (u.hi < 0 || u.lo > 255): // all of them overflow
					assert.Equal(t, wrapped, unsigned(&got), "unsigned %s of %+v and %+v", name, x, y)
				default:
					assert.Equal(t, u.in(0, 255), unsigned(&got), "unsigned %s of %+v and %+v, both: %v", name, x, y, both)
				}
			}
		}
		got := x
		got.mulSigned(&y)
		assert.Equal(t, hull(signed(&x), signed(&y), times).in(-128, 127), signed(&got), "signed product of %+v and %+v", x, y)
		assert.Equal(t, hull(unsigned(&x), unsigned(&y), times).in(0, 255), unsigned(&got), "unsigned product of %+v and %+v", x, y)

		got = x
		got.mulPositive(&y)
		all := interval{-128, 127}
		if x.SMin < 0 || y.SMin < 0 || x.UMax > 15 || y.UMax > 15 {
			assert.Equal(t, []interval{all, {0, 255}}, []interval{signed(&got), unsigned(&got)}, "%+v and %+v are no halves", x, y)
		} else {
			u := hull(unsigned(&x), unsigned(&y), times)
			assert.Equal(t, []interval{u.in(-128, 127), u}, []interval{signed(&got), unsigned(&got)}, "product of %+v and %+v", x, y)
		}
		if t.Failed() {
			return
		}
	}
}
