// Package endian reads and writes integers of any length in a byte order that is known only at run
// time: the target's.
package endian

import "encoding/binary"

// IsBig reports whether an order is big-endian. It tests the order's behaviour, because callers may
// pass their own type.
func IsBig(order binary.ByteOrder) bool { return order.Uint16(one) == 1 }

// one is 1 in two big-endian bytes; a variable, so that IsBig does not allocate.
var one = []byte{0, 1}

// Uint returns the unsigned integer in b; of more than eight bytes, the low 64 bits.
func Uint(order binary.ByteOrder, b []byte) uint64 {
	switch len(b) {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(order.Uint16(b))
	case 4:
		return uint64(order.Uint32(b))
	case 8:
		return order.Uint64(b)
	}
	var v uint64
	if IsBig(order) {
		for _, c := range b {
			v = v<<8 | uint64(c)
		}
		return v
	}
	for i := min(len(b), 8) - 1; i >= 0; i-- {
		v = v<<8 | uint64(b[i])
	}
	return v
}

// Int returns the signed integer in b, which has at most eight bytes.
func Int(order binary.ByteOrder, b []byte) int64 {
	unused := 64 - 8*min(len(b), 8)
	return int64(Uint(order, b)<<unused) >> unused
}

// PutUint writes the low bytes of v to b; bytes beyond the eighth become zero.
func PutUint(order binary.ByteOrder, b []byte, v uint64) {
	big := IsBig(order)
	for i := range b {
		at := i
		if big {
			at = len(b) - 1 - i
		}
		b[at] = byte(v)
		v >>= 8
	}
}

// Bits reads the width bits, at most 64, that begin at bit off of b. Bits count from the least
// significant bit of a byte in little-endian order and from the most significant one in big-endian
// order, as compilers lay out bitfields.
func Bits(order binary.ByteOrder, b []byte, off uint64, width uint32) (v uint64) {
	big := IsBig(order)
	for got := uint32(0); got < width; {
		in := uint32(off % 8)
		n := min(8-in, width-got)
		c := uint64(b[off/8])
		if big {
			v = v<<n | c>>(8-in-n)&(1<<n-1)
		} else {
			v |= c >> in & (1<<n - 1) << got
		}
		got += n
		off += uint64(n)
	}
	return v
}

// PutBits writes the low width bits of v, at most 64, at bit off of b, counted as [Bits] does.
// Other bits stay.
func PutBits(order binary.ByteOrder, b []byte, off uint64, width uint32, v uint64) {
	big := IsBig(order)
	for done := uint32(0); done < width; {
		in := uint32(off % 8)
		n := min(8-in, width-done)
		shift, part := in, v>>done
		if big {
			shift, part = 8-in-n, v>>(width-done-n)
		}
		mask := uint64(1<<n - 1)
		b[off/8] = b[off/8]&^byte(mask<<shift) | byte(part&mask<<shift)
		done += n
		off += uint64(n)
	}
}
