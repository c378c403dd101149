package maps

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/bpfrun/bpfrun/internal/keyhash"
)

// index finds slots by key. It is an open-addressing table with linear probing and backward-shift
// deletion. An entry is the upper half of a key's hash and the slot plus one; 0 means empty.
type index struct {
	keySize int
	keys    []byte // key of slot i at i*keySize
	tab     []uint64
	n       int
	changed bool // set by everything that changes it
}

// hashKey hashes a key.
func hashKey(key []byte) uint32 { return keyhash.Of(key) }

func (x *index) key(slot uint32) []byte {
	off := int(slot) * x.keySize
	return x.keys[off : off+x.keySize : off+x.keySize]
}

// find returns the slot of a key with hash h, or noSlot.
func (x *index) find(h uint32, key []byte) uint32 {
	if len(x.tab) == 0 {
		return noSlot
	}
	mask := uint32(len(x.tab) - 1)
	switch x.keySize {
	case 4:
		want := binary.LittleEndian.Uint32(key)
		for i := h & mask; ; i = (i + 1) & mask {
			e := x.tab[i]
			if e == 0 {
				return noSlot
			}
			if uint32(e>>32) == h {
				slot := uint32(e) - 1
				if binary.LittleEndian.Uint32(x.keys[int(slot)*4:]) == want {
					return slot
				}
			}
		}
	case 8:
		want := binary.LittleEndian.Uint64(key)
		for i := h & mask; ; i = (i + 1) & mask {
			e := x.tab[i]
			if e == 0 {
				return noSlot
			}
			if uint32(e>>32) == h {
				slot := uint32(e) - 1
				if binary.LittleEndian.Uint64(x.keys[int(slot)*8:]) == want {
					return slot
				}
			}
		}
	}
	for i := h & mask; ; i = (i + 1) & mask {
		e := x.tab[i]
		if e == 0 {
			return noSlot
		}
		if uint32(e>>32) == h {
			if slot := uint32(e) - 1; bytes.Equal(x.key(slot), key) {
				return slot
			}
		}
	}
}

// insert adds a key that is not in the index yet.
func (x *index) insert(h, slot uint32, key []byte) {
	x.changed = true
	if need := (int(slot) + 1) * x.keySize; len(x.keys) < need {
		x.keys = slices.Grow(x.keys, need-len(x.keys))[:need]
	}
	copy(x.key(slot), key)
	if (x.n+1)*4 > len(x.tab)*3 {
		x.grow()
	}
	x.place(uint64(h)<<32 | uint64(slot+1))
	x.n++
}

func (x *index) place(e uint64) {
	mask := uint32(len(x.tab) - 1)
	i := uint32(e>>32) & mask
	for x.tab[i] != 0 {
		i = (i + 1) & mask
	}
	x.tab[i] = e
}

func (x *index) grow() {
	old := x.tab
	x.tab = make([]uint64, max(16, 2*len(old)))
	for _, e := range old {
		if e != 0 {
			x.place(e)
		}
	}
}

// position returns the index of a slot's entry.
func (x *index) position(h, slot uint32) uint32 {
	mask := uint32(len(x.tab) - 1)
	want := uint64(h)<<32 | uint64(slot+1)
	i := h & mask
	for x.tab[i] != want {
		i = (i + 1) & mask
	}
	return i
}

// remove deletes the entry of a slot that is in the index.
func (x *index) remove(h, slot uint32) {
	x.changed = true
	mask := uint32(len(x.tab) - 1)
	i := x.position(h, slot)
	for j := i; ; {
		j = (j + 1) & mask
		e := x.tab[j]
		if e == 0 {
			break
		}
		// e may move to i when its home is not in (i, j].
		if home := uint32(e>>32) & mask; (j-home)&mask >= (j-i)&mask {
			x.tab[i] = e
			i = j
		}
	}
	x.tab[i] = 0
	x.n--
}

// replace points the entry of a key from one slot to another.
func (x *index) replace(h, old, slot uint32) {
	x.changed = true
	i := x.position(h, old)
	if need := (int(slot) + 1) * x.keySize; len(x.keys) < need {
		x.keys = slices.Grow(x.keys, need-len(x.keys))[:need]
	}
	copy(x.key(slot), x.key(old))
	x.tab[i] = uint64(h)<<32 | uint64(slot+1)
}

func (x *index) clone() index {
	y := *x
	y.keys, y.tab = slices.Clone(x.keys), slices.Clone(x.tab)
	return y
}

// restore returns to a clone.
func (x *index) restore(to *index) {
	x.keys, x.tab, x.n = append(x.keys[:0], to.keys...), append(x.tab[:0], to.tab...), to.n
}

// live is the set of slots in use, with ordered iteration.
type live struct {
	words []uint64
	low   uint32 // no word below it has a bit
}

const wordBits = 64

func (l *live) set(i uint32) {
	w := i / wordBits
	for uint32(len(l.words)) <= w {
		l.words = append(l.words, 0)
	}
	l.words[w] |= 1 << (i % wordBits)
	l.low = min(l.low, w)
}

func (l *live) clear(i uint32) {
	l.words[i/wordBits] &^= 1 << (i % wordBits)
	for l.low < uint32(len(l.words)) && l.words[l.low] == 0 {
		l.low++
	}
}

// from returns the first slot >= i, or noSlot.
func (l *live) from(i uint32) uint32 {
	w, skip := i/wordBits, i%wordBits
	if w < l.low {
		w, skip = l.low, 0
	}
	for ; w < uint32(len(l.words)); w++ {
		if rest := l.words[w] >> skip; rest != 0 {
			return w*wordBits + skip + uint32(bits.TrailingZeros64(rest))
		}
		skip = 0
	}
	return noSlot
}

func (l *live) clone() live { return live{slices.Clone(l.words), l.low} }
