package maps

import (
	"encoding/binary"
	"math/bits"
)

// Bob Jenkins' lookup3 hash as in include/linux/jhash.h. Stack ids and bloom filter bits follow
// from it and are visible to programs and users.

const jhashInit = 0xdeadbeef

func jmix(a, b, c uint32) (uint32, uint32, uint32) {
	for _, s := range [2][3]int{{4, 6, 8}, {16, 19, 4}} {
		a -= c
		a ^= bits.RotateLeft32(c, s[0])
		c += b
		b -= a
		b ^= bits.RotateLeft32(a, s[1])
		a += c
		c -= b
		c ^= bits.RotateLeft32(b, s[2])
		b += a
	}
	return a, b, c
}

func jfinal(a, b, c uint32) uint32 {
	c ^= b
	c -= bits.RotateLeft32(b, 14)
	a ^= c
	a -= bits.RotateLeft32(c, 11)
	b ^= a
	b -= bits.RotateLeft32(a, 25)
	c ^= b
	c -= bits.RotateLeft32(b, 16)
	a ^= c
	a -= bits.RotateLeft32(c, 4)
	b ^= a
	b -= bits.RotateLeft32(a, 14)
	c ^= b
	c -= bits.RotateLeft32(b, 24)
	return c
}

// jhash2 hashes 32-bit words.
func jhash2(k []uint32, seed uint32) uint32 {
	x := uint32(jhashInit) + uint32(len(k))<<2 + seed
	a, b, c := x, x, x
	for len(k) > 3 {
		a, b, c = jmix(a+k[0], b+k[1], c+k[2])
		k = k[3:]
	}
	switch len(k) {
	case 0:
		return c
	case 3:
		c += k[2]
		fallthrough
	case 2:
		b += k[1]
		fallthrough
	case 1:
		a += k[0]
	}
	return jfinal(a, b, c)
}

// jhash hashes bytes as little-endian words.
func jhash(k []byte, seed uint32) uint32 {
	x := uint32(jhashInit) + uint32(len(k)) + seed
	a, b, c := x, x, x
	for len(k) > 12 {
		a, b, c = jmix(a+binary.LittleEndian.Uint32(k), b+binary.LittleEndian.Uint32(k[4:]), c+binary.LittleEndian.Uint32(k[8:]))
		k = k[12:]
	}
	if len(k) == 0 {
		return c
	}
	var tail [12]byte
	copy(tail[:], k)
	return jfinal(a+binary.LittleEndian.Uint32(tail[:]), b+binary.LittleEndian.Uint32(tail[4:]), c+binary.LittleEndian.Uint32(tail[8:]))
}
