package maps

import (
	"encoding/binary"
	"slices"

	"github.com/bpfrun/bpfrun/internal/recent"
)

// Probe describes how to find the value of a key in memory: what Lookup does for programs, without
// a call of it. It is valid for as long as the map exists, even across Restore. What the pointers
// lead to changes with the map.
type Probe struct {
	KeySize int
	// Tab is a table with linear probing whose length is a power of two, or 0. It is searched from
	// the hash of the key (internal/keyhash), modulo its length. The upper half of an entry is the
	// hash of its key, the lower half is its slot plus one; 0 ends the search. The key of slot i is
	// at i*KeySize in Keys.
	Tab  *[]uint64
	Keys *[]byte
	// Bases are the addresses of the chunks of 1<<Shift slots. Stride is the distance between the
	// values of slots, CopyStride that between the copies for different CPUs, both in bytes. Copies
	// is the number of copies.
	Bases              *[]uint64
	Shift              uint
	Stride, CopyStride uint64
	Copies             int
	// Order, if not nil, is the order of an LRU map: a lookup uses the slot that it finds.
	Order *recent.Order
	// Lengths and Masks, if not nil, are those of the prefixes in a trie: its keys are a 32-bit
	// prefix length, then the data. A lookup tries the prefixes that are not longer than the key's
	// length, in order: the key looked for is the prefix length and, of the data, the bits of the
	// mask. Keys with a length above the bits of the data are not found. Each mask is as long as a
	// key, rounded up to words, and has its bytes in the order of a key's.
	Lengths *[]uint32
	Masks   *[]uint64
	// Open is as in [Layout].
	Open uint64
}

// Probed is implemented by maps whose values can be found in memory.
type Probed interface {
	Map
	// Probe describes the map; ok is false if only Lookup finds values.
	Probe() (p Probe, ok bool)
}

func (t *table) probe() Probe {
	return Probe{
		KeySize: t.keySize, Tab: &t.tab, Keys: &t.keys,
		Bases: &t.bases, Shift: t.shift, Stride: t.stride * t.copies, CopyStride: t.stride, Copies: int(t.copies),
	}
}

// Probe implements [Probed].
func (h *hash) Probe() (Probe, bool) {
	p := h.probe()
	p.Open, p.Order = h.open(), h.lru
	return p, true
}

// maxMasked is the key size of the largest tries that have masks.
const maxMasked = 56

// Probe implements [Probed], for tries whose keys are not very long.
func (t *trie) Probe() (Probe, bool) {
	if t.keySize > maxMasked {
		return Probe{}, false
	}
	p := t.probe()
	p.Lengths, p.Masks, p.Open = &t.lengths, &t.masks, t.open()
	return p, true
}

// OwnerProbed is implemented by local storage whose values can be found in memory.
type OwnerProbed interface {
	LocalStorage
	// ProbeOwners describes the map; its keys are owners. ok is false if only Get finds values.
	ProbeOwners() (p Probe, ok bool)
}

// ProbeOwners implements [OwnerProbed].
func (s *storage) ProbeOwners() (Probe, bool) {
	p := s.probe()
	p.Open = s.open()
	return p, !s.cgroup
}

// setMasks computes the masks of the lengths in use.
func (t *trie) setMasks() {
	if t.keySize > maxMasked {
		return
	}
	words := (t.keySize + 7) / 8
	t.masks = slices.Grow(t.masks[:0], len(t.lengths)*words)
	for _, n := range t.lengths {
		var key [maxMasked]byte
		for i := range n / 8 {
			key[4+i] = 0xff
		}
		if n%8 != 0 {
			key[4+n/8] = ^byte(0xff >> (n % 8))
		}
		for i := range words {
			t.masks = append(t.masks, binary.LittleEndian.Uint64(key[8*i:]))
		}
	}
}
