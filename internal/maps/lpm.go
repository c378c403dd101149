package maps

import (
	"bytes"
	"math/bits"
	"slices"

	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// trie implements BPF_MAP_TYPE_LPM_TRIE (kernel/bpf/lpm_trie.c). Elements are indexed by prefix:
// its length and the key's bits up to it. A lookup tries the lengths in use, longest first.
type trie struct {
	base
	table
	max     uint32   // longest prefix in bits
	full    []byte   // by slot: the stored key, with the bits beyond the prefix
	lengths []uint32 // prefix lengths in use, descending
	masks   []uint64 // by length: the bits of a key; see Probe
	count   map[uint32]int
	scratch []byte
	order   []uint32 // slots in NextKey order; nil if the trie has changed
}

const (
	trieFlags  = uapi.MapNoPrealloc | uapi.MapNumaNode | accessFlags
	trieKeyMin = 4 + 1
	trieKeyMax = 4 + 256
	// trieValMax is LPM_VAL_SIZE_MAX: less the data of the longest key and struct lpm_trie_node,
	// which had 16 bytes more before [since.SmallTrieNodes].
	trieValMax = kmallocMax - 256 - 24
)

func newTrie(b base) (Map, error) {
	s := &b.spec
	largest := uint32(trieValMax)
	if !b.env.has(since.SmallTrieNodes) {
		largest -= 16
	}
	switch {
	case s.MaxEntries == 0 || s.Flags&uapi.MapNoPrealloc == 0:
		return nil, b.refuse(uapi.EINVAL, "an LPM trie needs max_entries and BPF_F_NO_PREALLOC")
	case s.Flags&^uint32(trieFlags) != 0 || !accessOK(s.Flags):
		return nil, b.refuseFlags(trieFlags)
	case s.KeySize < trieKeyMin || s.KeySize > trieKeyMax:
		return nil, b.refuse(uapi.EINVAL, "key_size is 4 bytes of prefix length and 1 to 256 of data")
	case s.ValueSize < 1 || s.ValueSize > largest:
		return nil, b.refuse(uapi.EINVAL, "value_size must not be 0 and less than 4 MiB")
	}
	t := &trie{base: b, max: (s.KeySize - 4) * 8, count: make(map[uint32]int), scratch: make([]byte, s.KeySize)}
	t.self = t
	t.slab = newSlab(b.env.Mem, t.region(), uint64(s.ValueSize), 1, uint64(s.MaxEntries))
	t.delayed = true
	t.index.keySize = int(s.KeySize)
	return t, nil
}

// mask writes the index key for a prefix of n bits to t.scratch.
func (t *trie) mask(key []byte, n uint32) []byte {
	k := t.scratch
	t.env.Mem.ByteOrder().PutUint32(k, n)
	whole := n / 8
	copy(k[4:], key[4:4+whole])
	rest := k[4+whole:]
	if len(rest) > 0 {
		rest[0] = key[4+whole] & ^(0xff >> (n % 8))
		clear(rest[1:])
	}
	return k
}

// prefix returns the prefix length of a key; ok is false if it exceeds the key's bits.
func (t *trie) prefix(key []byte) (n uint32, ok bool) {
	if len(key) < int(t.spec.KeySize) {
		return 0, false
	}
	n = t.env.u32(key)
	return n, n <= t.max
}

// exact returns the slot of exactly this prefix.
func (t *trie) exact(key []byte, n uint32) uint32 {
	k := t.mask(key, n)
	return t.find(hashKey(k), k)
}

// Lookup finds the longest prefix that matches the key, not longer than the key's own length.
func (t *trie) Lookup(_ int, key []byte) (uint64, uapi.Errno) {
	n, ok := t.prefix(key)
	if !ok {
		return 0, uapi.ENOENT
	}
	for _, l := range t.lengths {
		if l > n {
			continue
		}
		if slot := t.exact(key, l); slot != noSlot {
			return t.addr(slot, 0), OK
		}
	}
	return 0, uapi.ENOENT
}

func (t *trie) Update(_ int, key, value []byte, flags uint64) uapi.Errno {
	n, ok := t.prefix(key)
	if !ok || flags > uapi.Exist || len(value) < int(t.spec.ValueSize) {
		return uapi.EINVAL
	}
	old := t.exact(key, n)
	// Measured: 5.10 ignores the flags.
	if t.env.has(since.TrieFlags) {
		if e := checkMode(old != noSlot, flags); e != OK {
			return e
		}
	}
	if old == noSlot && t.n >= int(t.spec.MaxEntries) {
		return uapi.ENOSPC
	}
	slot, err := t.alloc()
	if err != nil {
		return t.env.fail(err)
	}
	copy(t.written(slot, 0), value[:t.spec.ValueSize])
	t.note(slot, 0)
	k := t.mask(key, n)
	if old != noSlot { // the new node replaces the old one
		t.index.replace(hashKey(k), old, slot)
		t.live.clear(old)
		t.release(old)
	} else {
		t.insert(hashKey(k), slot, k)
		t.addLength(n)
	}
	t.live.set(slot)
	size := int(t.spec.KeySize)
	if need := (int(slot) + 1) * size; len(t.full) < need {
		t.full = slices.Grow(t.full, need-len(t.full))[:need]
	}
	copy(t.full[int(slot)*size:], key[:size])
	t.order = nil
	return OK
}

func (t *trie) addLength(n uint32) {
	if t.count[n]++; t.count[n] == 1 {
		i, _ := slices.BinarySearchFunc(t.lengths, n, func(have, want uint32) int { return int(int64(want) - int64(have)) })
		t.lengths = slices.Insert(t.lengths, i, n)
		t.setMasks()
	}
}

func (t *trie) Delete(key []byte) uapi.Errno {
	n, ok := t.prefix(key)
	if !ok {
		return uapi.EINVAL
	}
	slot := t.exact(key, n)
	if slot == noSlot {
		return uapi.ENOENT
	}
	t.drop(hashKey(t.key(slot)), slot)
	if t.count[n]--; t.count[n] == 0 {
		delete(t.count, n)
		t.lengths = slices.DeleteFunc(t.lengths, func(l uint32) bool { return l == n })
		t.setMasks()
	}
	t.order = nil
	return OK
}

func (t *trie) fullKey(slot uint32) []byte {
	size := int(t.spec.KeySize)
	return t.full[int(slot)*size : (int(slot)+1)*size]
}

// compare orders prefixes as the kernel's get_next_key does: by bits, and a prefix after all longer
// ones within it (postorder).
func (t *trie) compare(a, b []byte) int {
	order := t.env.Mem.ByteOrder()
	na, nb := order.Uint32(a), order.Uint32(b)
	common := min(na, nb)
	for i := uint32(0); i*8 < common; i++ {
		if x := a[4+i] ^ b[4+i]; x != 0 {
			at := i*8 + uint32(bits.LeadingZeros8(x))
			if at >= common {
				break
			}
			if a[4+i]&(0x80>>(at%8)) == 0 {
				return -1
			}
			return 1
		}
	}
	return int(int64(nb) - int64(na))
}

func (t *trie) sorted() []uint32 {
	if t.order == nil {
		t.order = make([]uint32, 0, t.n)
		for s := t.live.from(0); s != noSlot; s = t.live.from(s + 1) {
			t.order = append(t.order, s)
		}
		slices.SortFunc(t.order, func(a, b uint32) int { return t.compare(t.key(a), t.key(b)) })
	}
	return t.order
}

// NextKey goes from more to less specific prefixes (postorder), each with the key's bits as they
// were stored.
func (t *trie) NextKey(key []byte) ([]byte, uapi.Errno) {
	order := t.sorted()
	if len(order) == 0 {
		return nil, uapi.ENOENT
	}
	next := 0
	if n, ok := t.prefix(key); ok {
		if slot := t.exact(key, n); slot != noSlot {
			if i, found := slices.BinarySearchFunc(order, t.key(slot), func(s uint32, k []byte) int { return t.compare(t.key(s), k) }); found {
				next = i + 1
			}
		}
	}
	if next >= len(order) {
		return nil, uapi.ENOENT
	}
	return bytes.Clone(t.fullKey(order[next])), OK
}

// KeyOf returns the key of a value's address.
func (t *trie) KeyOf(addr uint64) ([]byte, int, bool) {
	slot, _, ok := t.slotOf(addr)
	if !ok || t.state[slot]&slotLive == 0 {
		return nil, 0, false
	}
	return bytes.Clone(t.fullKey(slot)), 0, true
}

func (t *trie) Entries() []Entry {
	out := make([]Entry, 0, t.n)
	for s := t.live.from(0); s != noSlot; s = t.live.from(s + 1) {
		out = append(out, Entry{Key: bytes.Clone(t.fullKey(s)), Value: bytes.Clone(t.bytes(s, 0))})
	}
	slices.SortFunc(out, func(a, b Entry) int { return bytes.Compare(a.Key, b.Key) })
	return out
}

type trieState struct {
	table   *tableState
	full    []byte
	lengths []uint32
	count   map[uint32]int
}

func (t *trie) Snapshot() any {
	return &trieState{t.snapshotTable(), slices.Clone(t.full), slices.Clone(t.lengths), cloneMap(t.count)}
}

func (t *trie) Restore(v any) {
	s := v.(*trieState)
	if t.same(s.table) {
		return // the other fields change with the table
	}
	t.restoreTable(s.table)
	t.full, t.lengths, t.count, t.order = slices.Clone(s.full), slices.Clone(s.lengths), cloneMap(s.count), nil
	t.setMasks()
}
