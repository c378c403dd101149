package maps

import (
	"slices"

	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// storage implements local storage of sockets, tasks, inodes and cgroups
// (kernel/bpf/bpf_local_storage.c) and the older cgroup storage (kernel/bpf/local_storage.c): one
// value per owner. An owner is identified by the guest address of its object, as a key of 8 bytes
// in the target's byte order. User space's keys (pidfds, sockets) have no meaning here.
type storage struct {
	base
	table
	// cgroup marks the older kind, whose values are created on attachment and cannot be deleted by
	// programs.
	cgroup bool
}

const (
	storageFlags       = uapi.MapNoPrealloc | uapi.MapClone
	storageValueMax    = 1<<16 - 1 - 128 // BPF_LOCAL_STORAGE_MAX_VALUE_SIZE, measured on 6.18: U16_MAX less the element's header
	cgroupStorageFlags = uapi.MapNumaNode | accessFlags
)

func newStorage(b base) (Map, error) {
	s := &b.spec
	switch {
	case s.Flags&^uint32(storageFlags) != 0:
		return nil, b.refuseFlags(storageFlags)
	case s.Flags&uapi.MapNoPrealloc == 0 || s.MaxEntries != 0 || s.KeySize != 4 || s.ValueSize == 0:
		return nil, b.refuse(uapi.EINVAL, "local storage needs BPF_F_NO_PREALLOC, max_entries 0, key_size 4 and a value_size")
	case s.BTF != nil && (s.KeyType == 0 || s.ValueType == 0):
		return nil, b.refuse(uapi.EINVAL, "local storage needs BTF types of key and value")
	case s.ValueSize > storageValueMax:
		return nil, b.refuse(uapi.E2BIG, "value_size is at most 65407")
	}
	return b.storage(1, false)
}

func newCgroupStorage(b base) (Map, error) {
	s := &b.spec
	percpu := s.Type == uapi.MapTypePercpuCgroupStorage
	limit := uint32(storageValueMax)
	if percpu {
		limit = perCPUMax
	}
	switch {
	case s.KeySize != 8 && s.KeySize != 16 || s.ValueSize == 0:
		return nil, b.refuse(uapi.EINVAL, "cgroup storage needs key_size 8 or 16 and a value_size")
	case s.ValueSize > limit:
		return nil, b.refuse(uapi.E2BIG, "value_size is at most 64 KiB less a header, or 32 KiB per CPU")
	case s.Flags&^uint32(cgroupStorageFlags) != 0 || !accessOK(s.Flags):
		return nil, b.refuseFlags(cgroupStorageFlags)
	case s.MaxEntries != 0:
		return nil, b.refuse(uapi.EINVAL, "max_entries must be 0")
	}
	copies := uint64(1)
	if percpu {
		copies = uint64(b.env.CPUs)
	}
	return b.storage(copies, true)
}

func (b base) storage(copies uint64, cgroup bool) (Map, error) {
	s := &storage{base: b, cgroup: cgroup}
	s.self = s
	if err := s.setFields(); err != nil {
		return nil, err
	}
	s.slab = newSlab(b.env.Mem, s.region(), uint64(b.spec.ValueSize), copies, 1<<32)
	s.delayed = true
	s.index.keySize = 8
	return s, nil
}

func (s *storage) owner(owner uint64) []byte {
	k := make([]byte, 8)
	s.env.Mem.ByteOrder().PutUint64(k, owner)
	return k
}

// Get returns the owner's value, or ENOENT if there is none and create is false.
func (s *storage) Get(owner uint64, init []byte, create bool) (uint64, uapi.Errno) {
	return s.GetCPU(owner, init, create, 0)
}

// GetCPU is Get for one CPU's copy of per-CPU cgroup storage.
func (s *storage) GetCPU(owner uint64, init []byte, create bool, cpu int) (uint64, uapi.Errno) {
	if owner == 0 || cpu < 0 || uint64(cpu) >= s.copies {
		return 0, uapi.ENOENT
	}
	key := s.owner(owner)
	h := hashKey(key)
	slot := s.find(h, key)
	if slot == noSlot {
		if !create {
			return 0, uapi.ENOENT
		}
		var err error
		if slot, err = s.add(h, key); err != nil {
			return 0, s.env.fail(err)
		}
		for c := range int(s.copies) {
			val := s.written(slot, c)
			clear(val)
			if len(init) >= len(val) {
				s.copyValue(val, init)
			}
		}
	}
	return s.addr(slot, cpu), OK
}

// DeleteOwner deletes the owner's value, as bpf_task_storage_delete does.
func (s *storage) DeleteOwner(owner uint64) uapi.Errno {
	e := s.FreeOwner(owner)
	if e == OK && !s.cgroup && s.env.has(since.StorageFreedLate) {
		s.env.late = true
	}
	return e
}

// FreeOwner deletes the value of an owner that is freed, which no program can use any more: its
// memory is free at once.
func (s *storage) FreeOwner(owner uint64) uapi.Errno {
	key := s.owner(owner)
	h := hashKey(key)
	slot := s.find(h, key)
	if slot == noSlot {
		return uapi.ENOENT
	}
	for c := range int(s.copies) {
		s.freeFields(s.addr(slot, c), s.bytes(slot, c))
	}
	s.drop(h, slot)
	return OK
}

func (s *storage) keyOwner(key []byte) (uint64, bool) {
	if len(key) != 8 {
		return 0, false
	}
	return s.env.Mem.ByteOrder().Uint64(key), true
}

// Lookup takes an owner's address as key.
func (s *storage) Lookup(cpu int, key []byte) (uint64, uapi.Errno) {
	owner, ok := s.keyOwner(key)
	if !ok {
		return 0, uapi.EINVAL
	}
	if s.copies == 1 {
		cpu = 0
	}
	return s.GetCPU(owner, nil, false, max(cpu, 0))
}

// Update takes an owner's address as key.
func (s *storage) Update(cpu int, key, value []byte, flags uint64) uapi.Errno {
	owner, ok := s.keyOwner(key)
	if !ok || len(value) < int(s.spec.ValueSize) || flags&^uapi.Lock > uapi.Exist || flags&uapi.Lock != 0 && !s.hasLock() {
		return uapi.EINVAL
	}
	slot := s.find(hashKey(key), key)
	if e := checkMode(slot != noSlot, flags&^uapi.Lock); e != OK {
		return e
	}
	if slot != noSlot && flags&uapi.Lock == 0 && !s.cgroup {
		// bpf_local_storage_update links a new element and drops the old one.
		s.DeleteOwner(owner)
		slot = noSlot
	}
	if slot == noSlot {
		_, e := s.Get(owner, value, true)
		return e
	}
	step := int(round8(s.spec.ValueSize))
	for c := range int(s.copies) {
		v := value
		if cpu == AllCPUs && len(value) >= int(s.copies)*step { // user space passes the value of each CPU
			v = value[c*step:]
		}
		s.copyValue(s.written(slot, c), v)
		s.note(slot, c)
	}
	return OK
}

// userRead takes an owner's address as key.
func (s *storage) userRead(key []byte) ([]byte, uapi.Errno) {
	slot := s.find(hashKey(key), key)
	if slot == noSlot {
		return nil, uapi.ENOENT
	}
	if s.copies == 1 {
		return s.userCopy(s.bytes(slot, 0)), OK
	}
	step := int(round8(s.spec.ValueSize))
	out := make([]byte, int(s.copies)*step)
	for c := range int(s.copies) {
		copy(out[c*step:], s.userCopy(s.bytes(slot, c)))
	}
	return out, OK
}

// Delete takes an owner's address as key.
func (s *storage) Delete(key []byte) uapi.Errno {
	owner, ok := s.keyOwner(key)
	if !ok || s.cgroup {
		return uapi.EINVAL
	}
	return s.DeleteOwner(owner)
}

// NextKey fails, because local storage has no list of owners.
func (s *storage) NextKey(key []byte) ([]byte, uapi.Errno) {
	if s.cgroup {
		return s.nextKey(key)
	}
	return nil, uapi.EOPNOTSUPP
}

// KeyOf returns the owner's address as bytes.
func (s *storage) KeyOf(addr uint64) ([]byte, int, bool) { return s.keyOf(addr) }

// Entries returns elements with the owner's address, 8 bytes, as key.
func (s *storage) Entries() []Entry {
	return s.entries(func(slot uint32) Entry {
		if s.copies == 1 {
			return Entry{Value: s.userCopy(s.bytes(slot, 0))}
		}
		var e Entry
		for c := range int(s.copies) {
			e.PerCPU = append(e.PerCPU, s.userCopy(s.bytes(slot, c)))
		}
		return e
	})
}

// Owners returns the addresses of all owners in slot order.
func (s *storage) Owners() []uint64 {
	var out []uint64
	for slot := s.live.from(0); slot != noSlot; slot = s.live.from(slot + 1) {
		out = append(out, s.env.Mem.ByteOrder().Uint64(s.key(slot)))
	}
	return slices.Clip(out)
}

func (s *storage) Snapshot() any { return s.snapshotTable() }
func (s *storage) Restore(v any) { s.restoreTable(v.(*tableState)) }
