package maps

import (
	"bytes"
	"slices"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// checkInner mirrors bpf_map_meta_alloc: it checks which maps can be inner maps.
func (b *base) checkInner() *CreateError {
	in := b.spec.Inner
	if in == nil {
		return b.refuse(uapi.EBADF, "a map of maps needs an inner map as template")
	}
	switch in.Type {
	case uapi.MapTypeArrayOfMaps, uapi.MapTypeHashOfMaps:
		return b.refuse(uapi.EINVAL, "maps of maps cannot be nested")
	case uapi.MapTypeProgArray, uapi.MapTypeCgroupStorage, uapi.MapTypePercpuCgroupStorage, uapi.MapTypeStructOps, uapi.MapTypeInsnArray:
		return b.refuse(uapi.ENOTSUPP, "maps of type "+in.Type.String()+" cannot be inner maps")
	}
	return nil
}

// matches mirrors map_meta_equal: it reports whether m may be stored in a map with this template.
func matches(in *Spec, m Map) bool {
	s := m.Spec()
	if s.Type != in.Type || s.KeySize != in.KeySize || s.ValueSize != in.ValueSize || s.Flags != normalFlags(in) {
		return false
	}
	version := m.(interface{ baseOf() *base }).baseOf().env.KernelVersion
	a, errA := FieldSpecials(in, version)
	b, errB := FieldSpecials(s, version)
	if errA != nil || errB != nil || !slices.EqualFunc(a, b, func(x, y Special) bool {
		return x.Kind == y.Kind && x.Off == y.Off && x.Size == y.Size
	}) {
		return false
	}
	switch s.Type {
	case uapi.MapTypeArray: // array_map_meta_equal
		return s.Flags&uapi.MapInnerMap != 0 || s.MaxEntries == in.MaxEntries
	case uapi.MapTypeXskmap: // xsk_map_meta_equal
		return s.MaxEntries == in.MaxEntries
	}
	return true
}

// normalFlags returns the flags of a map created from the template.
func normalFlags(s *Spec) uint32 {
	if s.Type == uapi.MapTypeDevmap || s.Type == uapi.MapTypeDevmapHash {
		return s.Flags | uapi.MapRdonlyProg
	}
	return s.Flags
}

// arrayOfMaps is BPF_MAP_TYPE_ARRAY_OF_MAPS.
type arrayOfMaps struct {
	base
	slots []Map
}

func newArrayOfMaps(b base) (Map, error) {
	if err := b.checkInner(); err != nil {
		return nil, err
	}
	if err := b.checkFDArray(); err != nil {
		return nil, err
	}
	if n := b.spec.MaxEntries; n > refLimit {
		return nil, &LimitError{Map: b.spec.Name, Need: uint64(n) * 8, Limit: refLimit * 8}
	}
	if err := b.reserve(uint64(b.spec.MaxEntries) * slotBytes); err != nil {
		return nil, err
	}
	m := &arrayOfMaps{base: b, slots: make([]Map, b.spec.MaxEntries)}
	m.self = m
	return m, nil
}

func (m *arrayOfMaps) index(key []byte) (uint32, bool) {
	if len(key) < 4 {
		return 0, false
	}
	i := m.env.u32(key)
	return i, uint64(i) < uint64(len(m.slots))
}

func (m *arrayOfMaps) Inner(key []byte) (Map, bool) {
	i, ok := m.index(key)
	if !ok || m.slots[i] == nil {
		return nil, false
	}
	return m.slots[i], true
}

func (m *arrayOfMaps) Lookup(_ int, key []byte) (uint64, uapi.Errno) {
	if in, ok := m.Inner(key); ok {
		return in.Addr(), OK
	}
	return 0, uapi.ENOENT
}

// Update takes the id of a map in place of a file descriptor; EBADF if there is no such map.
func (m *arrayOfMaps) Update(_ int, key, value []byte, flags uint64) uapi.Errno {
	return updateInner(m.env, m, key, value, flags)
}

func updateInner(e *Env, m OuterMap, key, value []byte, flags uint64) uapi.Errno {
	if len(value) < 4 {
		return uapi.EINVAL
	}
	in, ok := e.ByID(e.u32(value))
	if !ok {
		in = nil
	}
	return m.SetInner(key, in, flags)
}

func (m *arrayOfMaps) SetInner(key []byte, inner Map, flags uint64) uapi.Errno {
	i, ok := m.index(key)
	switch {
	case flags != uapi.Any || len(key) < 4:
		return uapi.EINVAL
	case !ok:
		return uapi.E2BIG
	case inner == nil:
		return uapi.EBADF
	case !matches(m.spec.Inner, inner):
		return uapi.EINVAL
	}
	m.slots[i] = inner
	return OK
}

func (m *arrayOfMaps) Delete(key []byte) uapi.Errno {
	i, ok := m.index(key)
	switch {
	case !ok:
		return uapi.E2BIG
	case m.slots[i] == nil:
		return uapi.ENOENT
	}
	m.slots[i] = nil
	return OK
}

func (m *arrayOfMaps) NextKey(key []byte) ([]byte, uapi.Errno) {
	return nextIndex(m.env, key, m.spec.MaxEntries)
}

// Entries returns elements with the inner map's id as value and the map as Ref.
func (m *arrayOfMaps) Entries() []Entry {
	var out []Entry
	for i, in := range m.slots {
		if in != nil {
			out = append(out, Entry{Key: m.env.key32(uint32(i)), Value: m.env.key32(in.ID()), Ref: in})
		}
	}
	return out
}

func (m *arrayOfMaps) Snapshot() any { return slices.Clone(m.slots) }
func (m *arrayOfMaps) Restore(v any) { copy(m.slots, v.([]Map)) }

// hashOfMaps is BPF_MAP_TYPE_HASH_OF_MAPS. It uses the index of a hash; the inner maps are Go
// values by slot.
type hashOfMaps struct {
	base
	index
	live live
	free []uint32
	used uint32
	maps []Map
}

func newHashOfMaps(b base) (Map, error) {
	if err := b.checkInner(); err != nil {
		return nil, err
	}
	if b.spec.ValueSize != 4 {
		return nil, b.refuse(uapi.EINVAL, "value_size must be 4: elements are file descriptors")
	}
	if err := b.checkHash(false, false); err != nil {
		return nil, err
	}
	m := &hashOfMaps{base: b}
	m.self, m.keySize = m, int(b.spec.KeySize)
	return m, nil
}

func (m *hashOfMaps) slot(key []byte) uint32 {
	if len(key) < m.keySize {
		return noSlot
	}
	key = key[:m.keySize]
	return m.find(hashKey(key), key)
}

func (m *hashOfMaps) Inner(key []byte) (Map, bool) {
	if s := m.slot(key); s != noSlot {
		return m.maps[s], true
	}
	return nil, false
}

func (m *hashOfMaps) Lookup(_ int, key []byte) (uint64, uapi.Errno) {
	if in, ok := m.Inner(key); ok {
		return in.Addr(), OK
	}
	return 0, uapi.ENOENT
}

// Update takes the id of a map in place of a file descriptor.
func (m *hashOfMaps) Update(_ int, key, value []byte, flags uint64) uapi.Errno {
	return updateInner(m.env, m, key, value, flags)
}

func (m *hashOfMaps) SetInner(key []byte, inner Map, flags uint64) uapi.Errno {
	switch {
	case len(key) < m.keySize:
		return uapi.EINVAL
	case inner == nil:
		return uapi.EBADF
	case !matches(m.spec.Inner, inner), flags > uapi.Exist:
		return uapi.EINVAL
	}
	key = key[:m.keySize]
	s := m.slot(key)
	if e := checkMode(s != noSlot, flags); e != OK {
		return e
	}
	if s == noSlot {
		if m.n >= int(m.spec.MaxEntries) {
			return uapi.E2BIG
		}
		if n := len(m.free); n > 0 {
			s, m.free = m.free[n-1], m.free[:n-1]
		} else {
			s = m.used
			m.used++
			m.maps = append(m.maps, nil)
		}
		m.insert(hashKey(key), s, key)
		m.live.set(s)
	}
	m.maps[s] = inner
	return OK
}

func (m *hashOfMaps) Delete(key []byte) uapi.Errno {
	s := m.slot(key)
	if s == noSlot {
		return uapi.ENOENT
	}
	m.remove(hashKey(m.key(s)), s)
	m.live.clear(s)
	m.maps[s] = nil
	m.free = append(m.free, s)
	return OK
}

func (m *hashOfMaps) NextKey(key []byte) ([]byte, uapi.Errno) {
	next := uint32(0)
	if key != nil {
		if s := m.slot(key); s != noSlot {
			next = s + 1
		}
	}
	s := m.live.from(next)
	if s == noSlot {
		return nil, uapi.ENOENT
	}
	return bytes.Clone(m.key(s)), OK
}

func (m *hashOfMaps) Entries() []Entry {
	var out []Entry
	for s := m.live.from(0); s != noSlot; s = m.live.from(s + 1) {
		out = append(out, Entry{Key: bytes.Clone(m.key(s)), Value: m.env.key32(m.maps[s].ID()), Ref: m.maps[s]})
	}
	slices.SortFunc(out, func(a, b Entry) int { return bytes.Compare(a.Key, b.Key) })
	return out
}

type hashOfMapsState struct {
	index index
	live  live
	free  []uint32
	used  uint32
	maps  []Map
}

func (m *hashOfMaps) Snapshot() any {
	return &hashOfMapsState{m.index.clone(), m.live.clone(), slices.Clone(m.free), m.used, slices.Clone(m.maps)}
}

func (m *hashOfMaps) Restore(v any) {
	s := v.(*hashOfMapsState)
	m.index.restore(&s.index)
	m.live.words, m.live.low = append(m.live.words[:0], s.live.words...), s.live.low
	m.free, m.used, m.maps = append(m.free[:0], s.free...), s.used, append(m.maps[:0], s.maps...)
}
