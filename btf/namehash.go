package btf

import (
	"encoding/binary"
	"math/bits"
)

const (
	hashFactor  = 0x9e3779b97f4a7c15
	eachByte    = 0x0101010101010101
	underscores = '_' * eachByte
)

// hashName hashes a name in words of 8 bytes, the last one padded with zeros.
func hashName(name string) uint32 {
	h := uint64(0)
	for ; len(name) > 0; name = name[min(8, len(name)):] {
		var w [8]byte
		copy(w[:], name)
		h = mixHash(h, binary.LittleEndian.Uint64(w[:]))
	}
	return uint32(h >> 32)
}

func mixHash(h, word uint64) uint64 {
	h = (h ^ word) * hashFactor
	return h ^ h>>29
}

// zeroBytes returns a word in which the highest bit is set of every byte that is zero in w.
func zeroBytes(w uint64) uint64 {
	const low = 0x7f * eachByte
	return ^((w&low + low) | w | low)
}

// hashEssential returns hashName(EssentialName(s.str(off))) in one pass over the string table,
// unless the name contains "___".
func (s *Spec) hashEssential(off uint32) uint32 {
	start, table := off-s.strBase, s.strTable
	h, before := uint64(0), uint64(0)
	for i := uint64(start); off >= s.strBase && i+8 <= uint64(len(table)); i += 8 {
		w := binary.LittleEndian.Uint64(table[i:])
		line := zeroBytes(w ^ underscores)
		if line&(line<<8|before>>56)&(line<<16|before>>48) != 0 {
			break
		}
		if zero := zeroBytes(w); zero != 0 {
			n := bits.TrailingZeros64(zero) &^ 7
			if n > 0 {
				h = mixHash(h, w&(1<<n-1))
			}
			return uint32(h >> 32)
		}
		h = mixHash(h, w)
		before = line
	}
	return hashName(EssentialName(s.str(off)))
}
