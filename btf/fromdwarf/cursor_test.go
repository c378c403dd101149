package fromdwarf

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestReadsUpToTheEnd: what ends before it is complete is 0, and nothing is read from then on. What
// is behind the bytes, in the same memory, is never read.
func TestReadsUpToTheEnd(t *testing.T) {
	memory := []byte{0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89}
	for name, tt := range map[string]struct {
		n    int
		read func(*cursor) uint64
		want uint64
		big  uint64
	}{
		"one byte":    {1, func(c *cursor) uint64 { return uint64(c.u8()) }, 0x81, 0x81},
		"two bytes":   {2, func(c *cursor) uint64 { return uint64(c.u16()) }, 0x8281, 0x8182},
		"three bytes": {3, func(c *cursor) uint64 { return uint64(c.u24()) }, 0x838281, 0x818283},
		"four bytes":  {4, func(c *cursor) uint64 { return uint64(c.u32()) }, 0x84838281, 0x81828384},
		"eight bytes": {8, func(c *cursor) uint64 { return c.u64() }, 0x8887868584838281, 0x8182838485868788},
		"sized":       {4, func(c *cursor) uint64 { return c.sized(4) }, 0x84838281, 0x81828384},
		"taken":       {5, func(c *cursor) uint64 { return uint64(len(c.take(5))) }, 5, 5},
		"skipped":     {5, func(c *cursor) uint64 { c.skip(5); return 0 }, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			for have := range len(memory) {
				for _, big := range []bool{false, true} {
					c := cursor{b: memory[:have], big: big}
					got := tt.read(&c)
					assert.Equal(t, have < tt.n, c.bad, "%d bytes", have)
					switch {
					case c.bad:
						if name != "skipped" {
							assert.Zero(t, got, "%d bytes", have)
						}
						assert.Nil(t, c.take(0), "nothing after that")
						c.skip(0)
						assert.Zero(t, c.at, "nothing was read")
					case big:
						assert.Equal(t, tt.big, got)
					default:
						assert.Equal(t, tt.want, got)
					}
				}
			}
		})
	}
	for _, n := range []uint64{10, math.MaxInt64, math.MaxUint64} {
		c := cursor{b: memory, at: 1}
		assert.Nil(t, c.take(n))
		assert.True(t, c.bad)
		c = cursor{b: memory, at: 1}
		c.skip(n)
		assert.True(t, c.bad)
		assert.Equal(t, 1, c.at)
	}
	for n, want := range map[uint8]bool{0: false, 1: true, 2: true, 3: false, 4: true, 5: false, 8: true, 9: false} {
		c := cursor{b: memory}
		c.sized(n)
		assert.Equal(t, want, !c.bad, "%d bytes", n)
	}
}

// TestNumbersOfAnyLength: LEB128 integers, whole and cut.
func TestNumbersOfAnyLength(t *testing.T) {
	for _, tt := range []struct {
		b        []byte
		unsigned uint64
		signed   int64
	}{
		{[]byte{0}, 0, 0}, {[]byte{0x3f}, 63, 63}, {[]byte{0x40}, 64, -64}, {[]byte{0x7f}, 127, -1},
		{[]byte{0x80, 1}, 128, 128}, {[]byte{0xff, 0x7f}, 1<<14 - 1, -1}, {[]byte{0x80, 0x40}, 1 << 13, -1 << 13},
		{[]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, math.MaxUint64, -1},
		{[]byte{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f}, 1 << 63, math.MinInt64},
		{[]byte{0x81, 0x80, 0x80, 0}, 1, 1}, // longer than it need be
	} {
		c := cursor{b: tt.b}
		assert.Equal(t, tt.unsigned, c.uleb(), "%x", tt.b)
		assert.Equal(t, len(tt.b), c.at)
		c = cursor{b: tt.b}
		assert.Equal(t, tt.signed, c.sleb(), "%x", tt.b)
		assert.Equal(t, len(tt.b), c.at)
		for cut := range len(tt.b) {
			c = cursor{b: tt.b[:cut]}
			c.uleb()
			assert.True(t, c.bad)
			c = cursor{b: tt.b[:cut]}
			c.sleb()
			assert.True(t, c.bad)
		}
	}
}

// TestTextsEnd: a string ends with a zero.
func TestTextsEnd(t *testing.T) {
	for text, want := range map[string]int{"": -1, "\x00": 1, "a\x00": 2, "a\x00b": 2, "ab": -1} {
		c := cursor{b: []byte(text)}
		c.text()
		if assert.Equal(t, want < 0, c.bad, "%q", text); want >= 0 {
			assert.Equal(t, want, c.at, "%q", text)
		}
	}
}
