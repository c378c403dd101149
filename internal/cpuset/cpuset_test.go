package cpuset

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestSetsAreLists compares sets with sorted lists of numbers.
func TestSetsAreLists(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	list := func() (out []int) {
		for cpu := range Most {
			if r.IntN(3) == 0 {
				out = append(out, cpu)
			}
		}
		return out
	}
	pick := func(keep func(cpu int) bool) (out []int) {
		for cpu := range Most {
			if keep(cpu) {
				out = append(out, cpu)
			}
		}
		return out
	}
	for range 10 {
		a, b := list(), list()
		x, y := Of(a...), Of(b...)
		has := func(l []int, cpu int) bool { _, ok := slices.BinarySearch(l, cpu); return ok }
		assert.Equal(t, a, slices.Collect(x.All))
		assert.Equal(t, len(a), x.Count())
		assert.Equal(t, a[0], x.First())
		for name, tt := range map[string]struct {
			got  Set
			keep func(inA, inB bool) bool
		}{
			"and":   {x.And(y), func(a, b bool) bool { return a && b }},
			"or":    {x.Or(y), func(a, b bool) bool { return a || b }},
			"xor":   {x.Xor(y), func(a, b bool) bool { return a != b }},
			"minus": {x.Minus(y), func(a, b bool) bool { return a && !b }},
		} {
			want := pick(func(cpu int) bool { return tt.keep(has(a, cpu), has(b, cpu)) })
			assert.Equal(t, want, slices.Collect(tt.got.All), name)
		}
		for cpu := range Most {
			assert.Equal(t, has(a, cpu), x.Has(cpu))
		}
		for _, cpu := range a {
			x.Remove(cpu)
		}
		assert.True(t, x.Empty())
		assert.Equal(t, -1, x.First())
	}
}

func TestNumbersThatNoSetHas(t *testing.T) {
	s := Of(-1, Most, Most-1)
	assert.Equal(t, []int{Most - 1}, slices.Collect(s.All))
	assert.False(t, s.Has(-1) || s.Has(Most))
	s.Remove(-1)
	s.Remove(Most)
	assert.Equal(t, -1, s.Next(-1))
	assert.Equal(t, -1, s.Next(Most))
	assert.Equal(t, "[1023]", s.String())
	assert.Equal(t, "[]", Set{}.String())
}

func TestBelow(t *testing.T) {
	for _, n := range []int{-1, 0, 1, 63, 64, 65, 512, Most, Most + 1} {
		s := Below(n)
		assert.Equal(t, min(max(n, 0), Most), s.Count(), n)
		assert.Equal(t, n > 0, s.Has(min(n, Most)-1), n)
		assert.False(t, s.Has(n), n)
	}
}

// TestBitmaps: CPU n is bit n of the bitmap, whose words are in the machine's byte order.
func TestBitmaps(t *testing.T) {
	for _, tt := range []struct {
		name  string
		order binary.ByteOrder
		word  int
		cpu   int
		at    int
		bit   byte
	}{
		{"little", binary.LittleEndian, 8, 70, 8, 1 << 6},
		{"big", binary.BigEndian, 8, 70, 15, 1 << 6},
		{"32 bits", binary.LittleEndian, 4, 70, 8, 1 << 6},
		{"32 bits, big", binary.BigEndian, 4, 70, 11, 1 << 6},
		{"high bits of a small word", binary.BigEndian, 4, 63, 4, 1 << 7},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := slices.Repeat([]byte{0xff}, 16)
			s := Of(tt.cpu)
			s.Put(b, tt.order, tt.word)
			want := make([]byte, 16)
			want[tt.at] = tt.bit
			assert.Equal(t, want, b)
			assert.Equal(t, s, From(b, tt.order, tt.word))
			s.Add(500)
			assert.Equal(t, Of(tt.cpu), From(b[:16], tt.order, tt.word))
		})
	}
	long := slices.Repeat([]byte{0xff}, 2*Most/8+3)
	assert.Equal(t, Below(Most), From(long, binary.LittleEndian, 8))
	full := Below(Most)
	full.Put(long, binary.LittleEndian, 4)
	assert.Equal(t, make([]byte, Most/8+3), long[Most/8:], "zeros beyond")
	short := make([]byte, 13)
	full.Put(short, binary.LittleEndian, 8)
	assert.Equal(t, Below(64), From(short, binary.LittleEndian, 8), "a part of a word does not count")
}
