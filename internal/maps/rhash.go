package maps

import "github.com/bpfrun/bpfrun/internal/uapi"

// rhash implements BPF_MAP_TYPE_RHASH, the resizable hash table of Linux 7.2 (kernel/bpf/hashtab.c
// rhtab_map_ops). Its elements are allocated one by one. An update modifies an existing element in
// place, whereas a hash replaces it.
type rhash struct{ hash }

func newRhash(b base) (Map, error) {
	if err := b.checkRhash(); err != nil {
		return nil, err
	}
	m := &rhash{hash{base: b}}
	m.self = m
	if err := m.setFields(); err != nil {
		return nil, err
	}
	m.slab = newSlab(b.env.Mem, m.region(), uint64(b.spec.ValueSize), 1, uint64(b.spec.MaxEntries))
	m.delayed = true
	m.index.keySize = int(b.spec.KeySize)
	return m, nil
}

// checkRhash mirrors rhtab_map_alloc_check. map_extra is the initial number of elements, a hint
// that the simulation does not need.
func (b *base) checkRhash() *CreateError {
	s := &b.spec
	switch {
	case s.Flags&uapi.MapNoPrealloc == 0:
		return b.refuse(uapi.EINVAL, "elements are never allocated in advance: BPF_F_NO_PREALLOC must be set")
	case s.Flags&uapi.MapZeroSeed != 0:
		return b.refuse(uapi.EINVAL, "BPF_F_ZERO_SEED is not supported")
	case s.KeySize > 0xffff:
		return b.refuse(uapi.E2BIG, "key_size is at most 65535")
	case s.Extra>>32 != 0:
		return b.refuse(uapi.EINVAL, "map_extra is the number of elements to make room for, 32 bits")
	case s.Extra > 0xffff:
		return b.refuse(uapi.E2BIG, "map_extra is at most 65535")
	case s.Extra > uint64(s.MaxEntries):
		return b.refuse(uapi.EINVAL, "map_extra is larger than max_entries")
	}
	return b.checkHash(false, false)
}

// Update mirrors rhtab_map_update_elem.
func (m *rhash) Update(_ int, key, value []byte, flags uint64) uapi.Errno {
	mode := flags &^ uapi.Lock
	if len(key) < m.index.keySize || len(value) < int(m.spec.ValueSize) || mode > uapi.Exist || flags&uapi.Lock != 0 && !m.hasLock() {
		return uapi.EINVAL
	}
	key = key[:m.index.keySize]
	hk := hashKey(key)
	slot := m.find(hk, key)
	if e := checkMode(slot != noSlot, mode); e != OK {
		return e
	}
	if slot != noSlot {
		m.copyValue(m.written(slot, 0), value)
		m.cancelFields(slot)
		m.note(slot, 0)
		return OK
	}
	if m.n >= int(m.spec.MaxEntries) {
		return uapi.E2BIG
	}
	slot, err := m.add(hk, key)
	if err != nil {
		return m.env.fail(err)
	}
	m.set(slot, value)
	return OK
}

// cancelFields cancels timers and work items of an element that gets another value; whatever else
// its special fields own is kept (bpf_obj_cancel_fields).
func (m *rhash) cancelFields(slot uint32) {
	val := m.written(slot, 0)
	for _, f := range m.fields {
		if f.Kind != Timer && f.Kind != Workqueue && f.Kind != TaskWork {
			continue
		}
		if m.env.FreeField != nil {
			m.env.FreeField(m.self, f, m.addr(slot, 0)+uint64(f.Off))
		}
		clear(val[f.Off : f.Off+f.Size])
	}
}
