package maps

import (
	"slices"

	"github.com/bpfrun/bpfrun/internal/recent"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// hash implements hash, percpu_hash, lru_hash and lru_percpu_hash (kernel/bpf/hashtab.c).
type hash struct {
	base
	table
	percpu   bool
	prealloc bool
	// lru orders the elements of LRU maps. With BPF_F_NO_COMMON_LRU every CPU has its own list and an
	// equal share of the elements; otherwise there is one list. An element belongs to the list of the
	// CPU that created it.
	lru *recent.Order
	// spare is the slot that each CPU uses for its next replacement of an element (extra_elems of
	// preallocated maps). The replaced one becomes the new spare.
	spare []uint32
}

const (
	kmallocMax = 4 << 20  // KMALLOC_MAX_SIZE with 4 KiB pages
	perCPUMax  = 32 << 10 // PCPU_MIN_UNIT_SIZE
	hashFlags  = uapi.MapNoPrealloc | uapi.MapNoCommonLRU | uapi.MapNumaNode | uapi.MapZeroSeed | accessFlags
)

func newHash(b base) (Map, error) {
	s := &b.spec
	percpu := s.Type == uapi.MapTypePercpuHash || s.Type == uapi.MapTypeLRUPercpuHash
	isLRU := s.Type == uapi.MapTypeLRUHash || s.Type == uapi.MapTypeLRUPercpuHash
	if err := b.checkHash(percpu, isLRU); err != nil {
		return nil, err
	}
	h := &hash{base: b, percpu: percpu, prealloc: s.Flags&uapi.MapNoPrealloc == 0}
	h.self = h
	if err := h.setFields(); err != nil {
		return nil, err
	}
	cpus := b.env.CPUs
	if isLRU && s.Flags&uapi.MapNoCommonLRU != 0 {
		// htab_map_alloc ensures that each CPU's LRU list has at least one element; rounding never
		// reduces the number requested.
		n := uint32(cpus)
		if up := (s.MaxEntries + n - 1) / n * n; up >= s.MaxEntries {
			h.spec.MaxEntries = up
		} else {
			h.spec.MaxEntries = s.MaxEntries / n * n
		}
	}
	copies := uint64(1)
	if percpu {
		copies = uint64(cpus)
	}
	extra := uint64(0)
	if h.prealloc && !percpu && !isLRU {
		extra = uint64(cpus)
		h.spare = slices.Repeat([]uint32{noSlot}, cpus)
	}
	h.slab = newSlab(b.env.Mem, h.region(), uint64(s.ValueSize), copies, uint64(h.spec.MaxEntries)+extra)
	h.delayed = !h.prealloc
	h.index.keySize = int(s.KeySize)
	if isLRU {
		parts := 1
		if s.Flags&uapi.MapNoCommonLRU != 0 {
			parts = cpus
		}
		h.lru = recent.New(parts, h.spec.MaxEntries)
	}
	return h, nil
}

// checkHash mirrors htab_map_alloc_check and the checks of htab_map_alloc.
func (b *base) checkHash(percpu, isLRU bool) *CreateError {
	s := &b.spec
	switch {
	case s.Flags&^uint32(hashFlags) != 0 || !accessOK(s.Flags):
		return b.refuseFlags(hashFlags)
	case s.Flags&uapi.MapNoCommonLRU != 0 && !isLRU:
		return b.refuse(uapi.EINVAL, "BPF_F_NO_COMMON_LRU is for LRU maps")
	case isLRU && s.Flags&uapi.MapNoPrealloc != 0:
		return b.refuse(uapi.ENOTSUPP, "LRU maps are preallocated: BPF_F_NO_PREALLOC is not supported")
	case s.Flags&uapi.MapNoCommonLRU != 0 && s.Flags&uapi.MapNumaNode != 0:
		return b.refuse(uapi.EINVAL, "a NUMA node cannot be combined with BPF_F_NO_COMMON_LRU")
	case percpu && s.Flags&uapi.MapNumaNode != 0:
		return b.refuse(uapi.EINVAL, "a NUMA node cannot be chosen for a per-CPU map")
	case s.MaxEntries == 0 || s.KeySize == 0 || s.ValueSize == 0:
		return b.refuse(uapi.EINVAL, "key_size, value_size and max_entries must not be 0")
	case uint64(s.KeySize)+uint64(s.ValueSize) >= kmallocMax-hashElemSize:
		return b.refuse(uapi.E2BIG, "key and value together must be smaller than 4 MiB")
	case percpu && round8(s.ValueSize) > perCPUMax:
		return b.refuse(uapi.E2BIG, "a per-CPU value is at most 32 KiB")
	case s.MaxEntries > 1<<31:
		return b.refuse(uapi.E2BIG, "max_entries is at most 2^31")
	}
	return nil
}

const hashElemSize = 48 // sizeof(struct htab_elem) on 64-bit kernels

func (h *hash) Lookup(cpu int, key []byte) (uint64, uapi.Errno) {
	if len(key) < h.index.keySize {
		return 0, uapi.EINVAL
	}
	key = key[:h.index.keySize]
	slot := h.find(hashKey(key), key)
	if slot == noSlot {
		return 0, uapi.ENOENT
	}
	if cpu < 0 {
		return h.addr(slot, 0), OK
	}
	if h.lru != nil {
		h.lru.Use(slot)
	}
	if !h.percpu {
		cpu = 0
	} else if uint64(cpu) >= h.copies {
		return 0, uapi.ENOENT
	}
	return h.addr(slot, cpu), OK
}

// LookupCPU implements bpf_map_lookup_percpu_elem: a CPU that does not exist gives ENOENT (NULL).
func (h *hash) LookupCPU(key []byte, cpu int) (uint64, uapi.Errno) {
	switch {
	case !h.percpu:
		return 0, uapi.EOPNOTSUPP
	case cpu < 0 || cpu >= h.env.CPUs:
		return 0, uapi.ENOENT
	}
	return h.Lookup(cpu, key)
}

func (h *hash) Update(cpu int, key, value []byte, flags uint64) uapi.Errno {
	need := uint64(h.spec.ValueSize)
	if h.percpu && cpu < 0 {
		need = round8(h.spec.ValueSize) * uint64(h.env.CPUs)
	}
	if len(key) < h.index.keySize || uint64(len(value)) < need {
		return uapi.EINVAL
	}
	key = key[:h.index.keySize]
	lock := flags&uapi.Lock != 0 && !h.percpu && h.lru == nil
	mode := flags
	if lock {
		mode &^= uapi.Lock
	}
	if mode > uapi.Exist || lock && !h.hasLock() {
		return uapi.EINVAL
	}
	hk := hashKey(key)
	switch {
	case h.percpu:
		return h.updatePercpu(hk, cpu, key, value, mode)
	case h.lru != nil:
		return h.updateLRU(hk, cpu, key, value, mode)
	}
	old := h.find(hk, key)
	if e := checkMode(old != noSlot, mode); e != OK {
		return e
	}
	if old == noSlot {
		if h.n >= int(h.spec.MaxEntries) {
			return uapi.E2BIG
		}
		slot, err := h.add(hk, key)
		if err != nil {
			return h.env.fail(err)
		}
		h.set(slot, value)
		return OK
	}
	if lock { // in place
		h.copyValue(h.written(old, 0), value)
		h.note(old, 0)
		return OK
	}
	return h.replaceElem(hk, old, cpu, value)
}

// checkMode mirrors check_flags.
func checkMode(exists bool, mode uint64) uapi.Errno {
	switch {
	case exists && mode == uapi.NoExist:
		return uapi.EEXIST
	case !exists && mode == uapi.Exist:
		return uapi.ENOENT
	}
	return OK
}

// set initialises a new element.
func (h *hash) set(slot uint32, value []byte) {
	val := h.written(slot, 0)
	h.initFields(val)
	h.copyValue(val, value)
	h.note(slot, 0)
}

// replaceElem gives the key a new element, as the kernel does: through a pointer to the old one the
// old value remains visible.
func (h *hash) replaceElem(hk, old uint32, cpu int, value []byte) uapi.Errno {
	var slot uint32
	i := max(cpu, 0)
	if i < len(h.spare) && h.spare[i] != noSlot {
		slot = h.spare[i]
		h.revive(slot)
	} else {
		var err error
		if slot, err = h.alloc(); err != nil {
			return h.env.fail(err)
		}
	}
	h.set(slot, value)
	h.index.replace(hk, old, slot)
	h.live.clear(old)
	h.live.set(slot)
	h.freeFields(h.addr(old, 0), h.bytes(old, 0))
	if i < len(h.spare) {
		h.retire(old)
		h.spare[i] = old
	} else {
		h.release(old)
	}
	return OK
}

// updateLRU evicts only for a new key that will be stored. The kernel allocates the new element
// before it looks for the old one and checks the flags (htab_lru_map_update_elem), so that even an
// update of an existing key, or one that fails, may evict an element if none is free. In a list of
// one element that is always so: see evictOnly.
func (h *hash) updateLRU(hk uint32, cpu int, key, value []byte, mode uint64) uapi.Errno {
	h.evictOnly(cpu)
	old := h.find(hk, key)
	if e := checkMode(old != noSlot, mode); e != OK {
		return e
	}
	if old == noSlot {
		slot, err := h.lruAdd(hk, cpu, key)
		if err != nil {
			return h.env.fail(err)
		}
		h.set(slot, value)
		return OK
	}
	slot, err := h.alloc()
	if err != nil {
		return h.env.fail(err)
	}
	h.set(slot, value)
	h.index.replace(hk, old, slot)
	h.live.clear(old)
	h.live.set(slot)
	h.lru.Remove(old)
	h.lru.Add(slot, max(cpu, 0))
	h.freeFields(h.addr(old, 0), h.bytes(old, 0))
	h.release(old)
	return OK
}

// evictOnly makes room for an update in a list of one element. The kernel allocates a new element
// before it looks for the key, so the only one is evicted, whatever its key: BPF_NOEXIST succeeds,
// and BPF_EXIST fails and leaves the list empty (measured on Linux 6.18).
func (h *hash) evictOnly(cpu int) {
	if victim, full := h.lru.Victim(max(cpu, 0)); full && h.lru.Room(max(cpu, 0)) == 1 {
		h.dropElem(victim)
	}
}

// lruAdd adds an element for a new key and, if the map is full, evicts the least recently used one.
func (h *hash) lruAdd(hk uint32, cpu int, key []byte) (uint32, error) {
	if victim, full := h.lru.Victim(max(cpu, 0)); full {
		h.dropElem(victim)
	}
	slot, err := h.add(hk, key)
	if err == nil {
		h.lru.Add(slot, max(cpu, 0))
	}
	return slot, err
}

func (h *hash) updatePercpu(hk uint32, cpu int, key, value []byte, mode uint64) uapi.Errno {
	if h.lru != nil && mode != uapi.Exist { // BPF_EXIST needs no new element
		h.evictOnly(cpu)
	}
	slot := h.find(hk, key)
	if e := checkMode(slot != noSlot, mode); e != OK {
		return e
	}
	fresh := slot == noSlot
	var err error
	switch {
	case h.lru != nil && fresh:
		slot, err = h.lruAdd(hk, cpu, key)
	case h.lru != nil:
		h.lru.Use(slot)
	case fresh && h.n >= int(h.spec.MaxEntries):
		return uapi.E2BIG
	case fresh:
		slot, err = h.add(hk, key)
	}
	if err != nil {
		return h.env.fail(err)
	}
	h.setCopies(slot, cpu, value, fresh)
	return OK
}

// setCopies stores the value for one CPU, or for all in an update by user space. In a new element
// the other CPUs' copies are zero (pcpu_init_value).
func (h *hash) setCopies(slot uint32, cpu int, value []byte, fresh bool) {
	step := round8(h.spec.ValueSize)
	for c := range h.env.CPUs {
		val := h.written(slot, c)
		if fresh {
			clear(val)
		}
		switch {
		case cpu < 0:
			h.copyValue(val, value[uint64(c)*step:])
		case c == cpu:
			h.copyValue(val, value)
		default:
			continue
		}
		if !fresh {
			h.freeFields(h.addr(slot, c), val)
		}
		h.note(slot, c)
	}
}

// dropElem removes an element and what it owns.
func (h *hash) dropElem(slot uint32) {
	if h.lru != nil {
		h.lru.Remove(slot)
	}
	for c := range int(h.copies) {
		h.freeFields(h.addr(slot, c), h.bytes(slot, c))
	}
	h.drop(hashKey(h.key(slot)), slot)
}

func (h *hash) Delete(key []byte) uapi.Errno {
	if len(key) < h.index.keySize {
		return uapi.EINVAL
	}
	key = key[:h.index.keySize]
	slot := h.find(hashKey(key), key)
	if slot == noSlot {
		return uapi.ENOENT
	}
	h.dropElem(slot)
	return OK
}

// LookupDelete implements BPF_MAP_LOOKUP_AND_DELETE_ELEM.
func (h *hash) LookupDelete(key, value []byte, flags uint64) uapi.Errno {
	if flags&^uapi.Lock != 0 || flags&uapi.Lock != 0 && !h.hasLock() || len(key) < h.index.keySize {
		return uapi.EINVAL
	}
	key = key[:h.index.keySize]
	slot := h.find(hashKey(key), key)
	if slot == noSlot {
		return uapi.ENOENT
	}
	if h.percpu {
		h.copyAll(slot, value)
	} else {
		copy(value, h.userCopy(h.bytes(slot, 0)))
	}
	h.dropElem(slot)
	return OK
}

// copyAll writes the copies of all CPUs, each rounded up to 8 bytes.
func (h *hash) copyAll(slot uint32, value []byte) {
	step := round8(h.spec.ValueSize)
	for c := range uint64(h.env.CPUs) {
		if c*step < uint64(len(value)) {
			copy(value[c*step:], h.userCopy(h.bytes(slot, int(c))))
		}
	}
}

// NextValue implements [Placer].
func (h *hash) NextValue(cpu int, key []byte) (uint64, bool) {
	if len(key) < h.index.keySize {
		return 0, false
	}
	key = key[:h.index.keySize]
	old := h.find(hashKey(key), key)
	if h.percpu && old != noSlot {
		return 0, false // in place
	}
	if i := max(cpu, 0); old != noSlot && i < len(h.spare) && h.spare[i] != noSlot {
		return h.addr(h.spare[i], 0), true
	}
	slot, ok := h.nextSlot()
	if !ok {
		return 0, false
	}
	return h.addr(slot, 0), true
}

func (h *hash) NextKey(key []byte) ([]byte, uapi.Errno) {
	if key != nil {
		if len(key) < h.index.keySize {
			return nil, uapi.EINVAL
		}
		key = key[:h.index.keySize]
	}
	return h.nextKey(key)
}

func (h *hash) Walk(cpu int, c *Cursor) ([]byte, uint64, bool) { return h.walk(cpu, c) }
func (h *hash) KeyOf(addr uint64) ([]byte, int, bool)          { return h.keyOf(addr) }

func (h *hash) Entries() []Entry {
	return h.entries(func(slot uint32) Entry {
		if !h.percpu {
			return Entry{Value: h.userCopy(h.bytes(slot, 0))}
		}
		var e Entry
		for c := range h.env.CPUs {
			e.PerCPU = append(e.PerCPU, h.userCopy(h.bytes(slot, c)))
		}
		return e
	})
}

type hashState struct {
	table *tableState
	lru   *recent.Order
	spare []uint32
}

func (h *hash) Snapshot() any {
	return &hashState{h.snapshotTable(), h.lru.Clone(), slices.Clone(h.spare)}
}

func (h *hash) Restore(v any) {
	s := v.(*hashState)
	h.restoreTable(s.table)
	h.lru.Restore(s.lru)
	copy(h.spare, s.spare)
}
