package jit

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/keyhash"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/recent"
	"github.com/bpfrun/bpfrun/jit/plan"
	"github.com/bpfrun/bpfrun/vm"
)

// testHash is a table as vm.Hash describes it, with a search of its own.
type testHash struct {
	vm.Hash
	w       *world
	tab     []uint64
	keys    []byte
	bases   []uint64
	data    []*mem.Region
	n       uint32 // slots in use
	order   *recent.Order
	lengths []uint32
	masks   []uint64
}

// hashShift makes chunks of 8 slots.
const hashShift = 3

// addHashes makes hashes with elements for some of the keys that programs look up. One of 4 bytes
// is empty until change is called.
func (w *world) addHashes(t testing.TB) {
	for _, m := range []struct {
		addr     uint64
		key      int
		cpus     int
		keys     int
		lru, lpm bool
	}{{mapHash4, 4, 1, 0, false, false}, {mapHash8, 8, 1, 40, false, false}, {mapHash23, 23, 4, 30, false, false}, {mapHash2, 2, 1, 60, false, false}, {mapLRU, 4, 1, 20, true, false}, {mapTrie, 8, 1, 0, false, true}, {mapWide, 20, 1, 0, false, true}, {mapOwned, 8, 1, 0, false, false}} {
		h := &testHash{w: w}
		h.Hash = vm.Hash{KeySize: m.key, Tab: &h.tab, Keys: &h.keys, Bases: &h.bases, Shift: hashShift, Stride: 32 * uint64(m.cpus), CPUs: m.cpus, Open: 12}
		if m.cpus > 1 {
			h.CPUStride = 32
		}
		if m.lru {
			h.order = recent.New(2, 200)
			h.Order = h.order
		}
		if m.lpm {
			h.Lengths, h.Masks = &h.lengths, &h.masks
		}
		w.hashes[m.addr] = h
		for i := range m.keys {
			key := make([]byte, m.key)
			key[m.key-1] = byte(3 * i)
			if m.key <= 8 {
				clear(key)
				key[0], key[m.key/2] = byte(3*i), byte(i&1)*0x3b
			}
			require.NoError(t, h.insert(key))
		}
	}
}

// insert adds an element. Keys that are there get another slot.
func (h *testHash) insert(key []byte) error {
	slot := h.n
	if int(slot>>hashShift) == len(h.bases) {
		r, err := h.w.mem.AllocArray(uint64(max(h.CPUs, 1))<<hashShift, 12, 32, mem.Region{Name: "hash"})
		if err != nil {
			return err
		}
		h.bases, h.data = append(h.bases, r.Base), append(h.data, r)
	}
	h.n++
	h.keys = append(h.keys, key...)
	live := []uint32{slot}
	for _, e := range h.tab {
		switch old := uint32(e) - 1; {
		case e == 0:
		case string(h.key(old)) != string(key):
			live = append(live, old)
		case h.order != nil:
			h.order.Remove(old)
		}
	}
	if h.order != nil {
		h.order.Add(slot, int(slot&1))
	}
	slices.Sort(live)
	h.tab = make([]uint64, 1<<bits.Len(uint(len(live)*4/3+1)))
	for _, slot := range live {
		v := keyhash.Of(h.key(slot))
		i := int(v) & (len(h.tab) - 1)
		for h.tab[i] != 0 {
			i = (i + 1) & (len(h.tab) - 1)
		}
		h.tab[i] = uint64(v)<<32 | uint64(slot+1)
	}
	return nil
}

func (h *testHash) key(slot uint32) []byte {
	return h.keys[int(slot)*h.KeySize : (int(slot)+1)*h.KeySize]
}

// prefix adds a prefix of a trie, with data in every word.
func (h *testHash) prefix(length uint32, data uint32) error {
	mask := make([]byte, (h.KeySize+7)&^7)
	for i := range length {
		mask[4+i/8] |= 0x80 >> (i % 8)
	}
	if i, ok := slices.BinarySearchFunc(h.lengths, length, func(a, b uint32) int { return int(b) - int(a) }); !ok {
		h.lengths = slices.Insert(h.lengths, i, length)
		for j := range len(mask) / 8 {
			h.masks = slices.Insert(h.masks, i*len(mask)/8+j, binary.LittleEndian.Uint64(mask[8*j:]))
		}
	}
	key := h.trieKey(length, data)
	for i := range key[4:] {
		key[4+i] &= mask[4+i]
	}
	return h.insert(key)
}

// trieKey is a key with data in every word.
func (h *testHash) trieKey(length, data uint32) []byte {
	key := binary.LittleEndian.AppendUint32(nil, length)
	for len(key) < h.KeySize {
		key = binary.BigEndian.AppendUint32(key, data)
	}
	return key[:h.KeySize]
}

// matches reports whether a prefix has the first bits of a key.
func matches(prefix, key []byte) bool {
	for i := range binary.LittleEndian.Uint32(prefix) {
		if (prefix[4+i/8]^key[4+i/8])&(0x80>>(i%8)) != 0 {
			return false
		}
	}
	return true
}

// find searches all live elements.
func (h *testHash) find(key []byte) (slot uint32, ok bool) {
	if h.Lengths != nil {
		best := -1
		n := binary.LittleEndian.Uint32(key)
		for _, e := range h.tab {
			if e == 0 || n > uint32(8*(h.KeySize-4)) {
				continue
			}
			k := h.key(uint32(e) - 1)
			if l := binary.LittleEndian.Uint32(k); l <= n && int(l) > best && matches(k, key) {
				best, slot = int(l), uint32(e)-1
			}
		}
		return slot, best >= 0
	}
	for _, e := range h.tab {
		if e != 0 && string(h.key(uint32(e)-1)) == string(key) {
			return uint32(e) - 1, true
		}
	}
	return 0, false
}

// call is the lookup that Go makes.
func (h *testHash) call(t *vm.Thread, addr uint64) (uint64, *vm.Action) {
	key := make([]byte, h.KeySize)
	if f := h.w.mem.Read(addr, key); f != nil {
		return 0, vm.MemFault(f)
	}
	slot, ok := h.find(key)
	if !ok || h.CPUStride != 0 && t.CPU >= h.CPUs {
		return 0, nil
	}
	if h.order != nil {
		h.order.Use(slot)
	}
	return h.bases[slot>>hashShift] + uint64(slot&(1<<hashShift-1))*h.Stride + uint64(t.CPU)*h.CPUStride, nil
}

// change adds elements for a number, up to a limit.
var change = &vm.Func{Name: "change", Fn: func(t *vm.Thread, args *[5]uint64) (uint64, *vm.Action) {
	w, v := t.User.(*world), uint32(args[0])
	for _, addr := range []uint64{mapHash4, mapHash8, mapHash2, mapLRU} {
		h := w.hashes[addr]
		key := binary.LittleEndian.AppendUint64(nil, uint64(v))[:h.KeySize]
		if h.n < 100 {
			if err := h.insert(key); err != nil {
				panic(err)
			}
		}
	}
	for _, addr := range []uint64{mapTrie, mapWide} {
		if h := w.hashes[addr]; h.n < 100 {
			if err := h.prefix(v*uint32(h.KeySize-4)/4, bits.ReverseBytes32(v*0x01010101)); err != nil {
				panic(err)
			}
		}
	}
	return args[0], nil
}}

// sameHashes requires the hashes of two worlds to be the same.
func sameHashes(t *testing.T, native, plain *world, where string) {
	t.Helper()
	for addr, a := range plain.hashes {
		b := native.hashes[addr]
		require.Equal(t, a.order, b.order, where)
		require.Equal(t, a.tab, b.tab, where)
		for i := range a.data {
			require.Equal(t, plain.mem.Bytes(a.data[i]), native.mem.Bytes(b.data[i]), where)
		}
	}
}

// TestHashLookups: native code finds what a search of all elements finds, in hashes that grow and
// shrink chains, with keys of every size, and in tries.
func TestHashLookups(t *testing.T) { eachTier(t, testHashLookups) }

func testHashLookups(t *testing.T) {
	for size := 1; size <= plan.MaxKey+1; size++ {
		w := newWorld(t)
		h := &testHash{w: w}
		h.Hash = vm.Hash{KeySize: size, Tab: &h.tab, Keys: &h.keys, Bases: &h.bases, Shift: hashShift, Stride: 32, CPUs: 1, Open: 12}
		w.hashes[mapHash4] = h
		img := lower(t, mapNames.Replace("r2 = r1\nr1 = HASH4\ncall 1\nr0 -= r6\nexit"), functions(w))
		key := make([]byte, size)
		for i := range 300 {
			for j := range key {
				key[j] = byte(i * (j + 1) >> (j & 3))
			}
			if i%3 == 0 {
				require.NoError(t, h.insert(key))
			}
			copy(w.mem.Bytes(w.buffer), key)
			want, _ := h.call(w.thread, w.buffer.Base)
			for range 2 {
				w.thread.Start(img, w.buffer.Base)
				require.Equal(t, vm.Done, w.thread.Run(100))
				require.Equal(t, want, w.thread.Ret(), "key %x", key)
			}
		}
		if size <= plan.MaxKey {
			require.Zero(t, w.called, size)
		} else {
			require.NotZero(t, w.called)
		}
	}
}

// TestEveryByteOfAKeyIsCompared: an element whose key differs in one byte is not found, also if it
// has the same hash.
func TestEveryByteOfAKeyIsCompared(t *testing.T) { eachTier(t, testEveryByteOfAKey) }

func testEveryByteOfAKey(t *testing.T) {
	for size := 1; size <= plan.MaxKey; size++ {
		w := newWorld(t)
		h := &testHash{w: w}
		h.Hash = vm.Hash{KeySize: size, Tab: &h.tab, Keys: &h.keys, Bases: &h.bases, Shift: hashShift, Stride: 32, CPUs: 1, Open: 12}
		w.hashes[mapHash4] = h
		img := lower(t, mapNames.Replace("r2 = r1\nr1 = HASH4\ncall 1\nexit"), functions(w))
		key := bytes.Repeat([]byte{7}, size)
		require.NoError(t, h.insert(key))
		copy(w.mem.Bytes(w.buffer), key)
		found := func() bool {
			w.thread.Start(img, w.buffer.Base)
			require.Equal(t, vm.Done, w.thread.Run(100))
			return w.thread.Ret() != 0
		}
		require.True(t, found(), size)
		for i := range size {
			h.key(0)[i]++ // of the element, which is still where the hash of the other key leads
			require.False(t, found(), "byte %d of %d", i, size)
			h.key(0)[i]--
		}
		require.Zero(t, w.called, size)
	}
}

// TestLRULookups: native code moves what it finds to the front of its list, from every place, as
// recent.Order.Use does, and leaves slots that are in no list to Go.
func TestLRULookups(t *testing.T) { eachTier(t, testLRULookups) }

func testLRULookups(t *testing.T) {
	w := newWorld(t)
	h := w.hashes[mapLRU]
	img := lower(t, mapNames.Replace("r2 = r1\nr1 = LRU\ncall 1\nexit"), functions(w))
	run := func(slot uint32) {
		copy(w.mem.Bytes(w.buffer), h.key(slot))
		w.thread.Start(img, w.buffer.Base)
		require.Equal(t, vm.Done, w.thread.Run(100))
		require.NotZero(t, w.thread.Ret())
	}
	want := h.order.Clone()
	for i := range uint32(300) {
		slot := i * i * 7 % h.n
		want.Use(slot)
		before := h.order.Lists[h.order.Nodes[slot].List].Head
		h.order.Changed = false
		run(slot)
		require.Equal(t, before != slot, h.order.Changed)
		require.Equal(t, want.Lists, h.order.Lists)
		require.Equal(t, want.Nodes, h.order.Nodes)
	}
	require.Zero(t, w.called)

	last := h.order.Lists[0].Tail
	for _, damage := range []func(){
		func() { h.order.Nodes[last].Prev = recent.None },
		func() { h.order.Nodes = h.order.Nodes[:last] },
	} {
		whole := slices.Clone(h.order.Nodes)
		w.called = 0
		damage()
		copy(w.mem.Bytes(w.buffer), h.key(last))
		w.thread.Start(img, w.buffer.Base)
		func() {
			defer func() { _ = recover() }() // Go's index check
			w.thread.Run(100)
		}()
		require.Equal(t, 1, w.called)
		h.order.Nodes = append(h.order.Nodes[:0], whole...)
	}
}

// TestTrieLookups: the same for tries, with all prefix lengths.
func TestTrieLookups(t *testing.T) { eachTier(t, testTrieLookups) }

func testTrieLookups(t *testing.T) {
	for _, size := range []int{5, 6, 7, 8, 9, 11, 12, 16, 19, 20, 24, 31, 32, 40, 45, 53, 55, plan.MaxKey} {
		searchTrie(t, size)
	}
}

func searchTrie(t *testing.T, size int) {
	w := newWorld(t)
	h := &testHash{w: w}
	h.Hash = vm.Hash{
		KeySize: size, Tab: &h.tab, Keys: &h.keys, Bases: &h.bases, Shift: hashShift, Stride: 32, CPUs: 1, Open: 12,
		Lengths: &h.lengths, Masks: &h.masks,
	}
	w.hashes[mapTrie] = h
	img := lower(t, mapNames.Replace("r2 = r1\nr1 = TRIE\ncall 1\nexit"), functions(w))
	found, most := 0, uint32(8*(size-4))
	for i := range uint32(200) {
		if i%4 == 0 && i > 20 {
			require.NoError(t, h.prefix(i*7%(most+1), 0x0a000000|i*0x10101))
		}
		for n := range min(most+8, 40) {
			key := h.trieKey(n*(most+8)/min(most+8, 40), 0x0a000000|(i-i%4)*0x10101^(1<<(n&31)>>1))
			copy(w.mem.Bytes(w.buffer), key)
			want, _ := h.call(w.thread, w.buffer.Base)
			w.thread.Start(img, w.buffer.Base)
			require.Equal(t, vm.Done, w.thread.Run(100))
			require.Equal(t, want, w.thread.Ret(), "key %x", key)
			if want != 0 {
				found++
			}
		}
	}
	require.Zero(t, w.called)
	require.Greater(t, found, 100, "keys of %d bytes", size)
}
