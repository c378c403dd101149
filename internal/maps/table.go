package maps

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// table holds keyed values in simulated memory, as used by hashes, tries, device hashes and local
// storage.
type table struct {
	slab
	index
	live live
	at   *tableState // what the table was when its parts last counted as unchanged
}

// add adds an element for a key that has none.
func (t *table) add(h uint32, key []byte) (uint32, error) {
	slot, err := t.alloc()
	if err != nil {
		return 0, err
	}
	t.insert(h, slot, key)
	t.live.set(slot)
	return slot, nil
}

// drop removes the element of a slot.
func (t *table) drop(h, slot uint32) {
	t.remove(h, slot)
	t.live.clear(slot)
	t.release(slot)
}

// nextKey returns the key after key in slot order.
func (t *table) nextKey(key []byte) ([]byte, uapi.Errno) {
	next := uint32(0)
	if key != nil {
		if slot := t.find(hashKey(key), key); slot != noSlot {
			next = slot + 1
		}
	}
	slot := t.live.from(next)
	if slot == noSlot {
		return nil, uapi.ENOENT
	}
	return bytes.Clone(t.key(slot)), OK
}

func (t *table) walk(cpu int, c *Cursor) (key []byte, addr uint64, ok bool) {
	if c.next == noSlot {
		return nil, 0, false
	}
	slot := t.live.from(c.next)
	if slot == noSlot {
		c.next = noSlot
		return nil, 0, false
	}
	c.next = slot + 1
	if cpu < 0 || uint64(cpu) >= t.copies {
		cpu = 0
	}
	return t.key(slot), t.addr(slot, cpu), true
}

func (t *table) keyOf(addr uint64) (key []byte, cpu int, ok bool) {
	slot, cpu, ok := t.slotOf(addr)
	if !ok || t.state[slot]&slotLive == 0 {
		return nil, 0, false
	}
	return bytes.Clone(t.key(slot)), cpu, true
}

// ElemName returns the key of the value at an address, for a deleted one its last key: as a number
// if it has the size of one, else as hex digits.
func (t *table) ElemName(addr uint64) string {
	slot, _, ok := t.slotOf(addr)
	if !ok || (int(slot)+1)*t.keySize > len(t.keys) { // a slot that no element had yet
		return ""
	}
	const most = 16
	key := t.key(slot)
	switch len(key) {
	case 1, 2, 4, 8:
		return fmt.Sprint(endian.Uint(t.mem.ByteOrder(), key))
	}
	if len(key) > most {
		return fmt.Sprintf("%x...", key[:most])
	}
	return fmt.Sprintf("%x", key)
}

// entries returns the contents, sorted by key.
func (t *table) entries(entry func(slot uint32) Entry) []Entry {
	out := make([]Entry, 0, t.n)
	var keys []byte // one allocation for all
	for slot := t.live.from(0); slot != noSlot; slot = t.live.from(slot + 1) {
		e := entry(slot)
		key, at := t.key(slot), len(keys)
		if keys == nil {
			keys = make([]byte, 0, t.n*len(key))
		}
		keys = append(keys, key...)
		e.Key = keys[at:len(keys):len(keys)]
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b Entry) int { return bytes.Compare(a.Key, b.Key) })
	return out
}

type tableState struct {
	slab  slabState
	index index
	live  live
}

func (t *table) snapshotTable() *tableState {
	if !t.same(t.at) {
		t.at = &tableState{t.slab.snapshot(), t.index.clone(), t.live.clone()}
		t.settled()
	}
	return t.at
}

// same reports whether the table is what it was in a snapshot.
func (t *table) same(s *tableState) bool {
	return s != nil && t.at == s && !t.slab.changed && !t.index.changed
}

func (t *table) settled() { t.slab.changed, t.index.changed = false, false }

func (t *table) restoreTable(s *tableState) {
	if t.same(s) {
		return
	}
	t.slab.restore(&s.slab)
	t.index.restore(&s.index)
	t.live.words, t.live.low = append(t.live.words[:0], s.live.words...), s.live.low
	t.at = s
	t.settled()
}
