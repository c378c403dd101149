// Package keyhash is the hash of map keys: package maps stores it in its tables, and native code
// (package jit) computes it to search them.
package keyhash

import (
	"encoding/binary"
	"math/bits"
)

// K0 and K1 are the multiplier, and what is mixed in: odd numbers without structure.
const (
	K0 = 0x9e3779b97f4a7c15
	K1 = 0xbf58476d1ce4e5b9
)

// The shifts of the 64-bit state whose low halves, combined by exclusive or, are the hash.
const (
	FoldHigh = 32
	FoldLow  = 11
)

// Of hashes the bytes of a key. It is not seeded, so order and speed are the same in every run.
// Keys come from the user's own programs, so there is no attacker to defend against.
func Of(key []byte) uint32 {
	var h uint64
	switch len(key) {
	case 4:
		h = uint64(binary.LittleEndian.Uint32(key)) * K0
	case 8:
		h = mix(binary.LittleEndian.Uint64(key) ^ K1)
	default:
		h = Start(len(key))
		p := key
		for len(p) >= 8 {
			h = mix(binary.LittleEndian.Uint64(p) ^ h)
			p = p[8:]
		}
		var tail uint64
		for i, c := range p {
			tail |= uint64(c) << (8 * i)
		}
		h = mix(tail ^ h ^ K1)
	}
	return uint32(h>>FoldHigh) ^ uint32(h>>FoldLow)
}

// Start is the state before the first bytes of a key of n bytes, for n other than 4 and 8.
func Start(n int) uint64 {
	h := uint64(n)
	return h * K1
}

// mix multiplies and combines both halves of the product.
func mix(v uint64) uint64 {
	hi, lo := bits.Mul64(v, K0)
	return hi ^ lo
}
