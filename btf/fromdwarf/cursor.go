package fromdwarf

import (
	"encoding/binary"
	"math/bits"
)

// cursor reads integers from bytes. Reading past the end returns zeros and sets bad.
type cursor struct {
	b   []byte
	at  int
	big bool
	bad bool
}

// take returns the next n bytes, or nil.
func (c *cursor) take(n uint64) []byte {
	if c.bad || n > uint64(len(c.b)-c.at) {
		c.bad = true
		return nil
	}
	b := c.b[c.at : c.at+int(n)]
	c.at += int(n)
	return b
}

func (c *cursor) skip(n uint64) {
	if c.bad || n > uint64(len(c.b)-c.at) {
		c.bad = true
		return
	}
	c.at += int(n)
}

func (c *cursor) u8() uint8 {
	if c.at >= len(c.b) {
		c.bad = true
		return 0
	}
	c.at++
	return c.b[c.at-1]
}

// number reads an unsigned integer of 1 to 8 bytes.
func (c *cursor) number(n uint64) uint64 {
	at := c.b[c.at:]
	if c.take(n) == nil {
		return 0
	}
	if len(at) < 8 {
		var word [8]byte
		copy(word[:], at)
		at = word[:]
	}
	v := binary.LittleEndian.Uint64(at)
	if c.big {
		return bits.ReverseBytes64(v) >> (64 - 8*n)
	}
	return v & (1<<(8*n) - 1)
}

func (c *cursor) u16() uint16 { return uint16(c.number(2)) }
func (c *cursor) u24() uint32 { return uint32(c.number(3)) }
func (c *cursor) u32() uint32 { return uint32(c.number(4)) }
func (c *cursor) u64() uint64 { return c.number(8) }

// sized reads a number of 1, 2, 4 or 8 bytes.
func (c *cursor) sized(n uint8) uint64 {
	switch n {
	case 1, 2, 4, 8:
		return c.number(uint64(n))
	}
	c.bad = true
	return 0
}

// uleb reads an unsigned LEB128 integer; bits beyond 64 are lost.
func (c *cursor) uleb() uint64 {
	if c.at < len(c.b) && c.b[c.at] < 0x80 {
		c.at++
		return uint64(c.b[c.at-1])
	}
	var v uint64
	for shift := uint(0); ; shift += 7 {
		b := c.u8()
		v |= uint64(b&0x7f) << shift
		if b&0x80 == 0 || c.bad {
			return v
		}
	}
}

func (c *cursor) sleb() int64 {
	var v int64
	for shift := uint(0); ; {
		b := c.u8()
		v |= int64(b&0x7f) << shift
		shift += 7
		if b&0x80 == 0 || c.bad {
			if b&0x40 != 0 && shift < 64 {
				v |= -1 << shift
			}
			return v
		}
	}
}

// text skips a NUL-terminated string.
func (c *cursor) text() {
	for i := c.at; i < len(c.b); i++ {
		if c.b[i] == 0 {
			c.at = i + 1
			return
		}
	}
	c.bad = true
}
