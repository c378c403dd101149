package maps

import (
	"slices"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// The functions in this file are the element commands of bpf(2) (kernel/bpf/syscall.c), as used by
// user space. They differ from a program's operations in flags, in per-CPU values and for maps that
// only user space may change.

// userReader is implemented by maps whose values user space can read by key.
type userReader interface {
	userRead(key []byte) ([]byte, uapi.Errno)
}

// UserValueSize returns the size in bytes of the value buffer that user space passes
// (bpf_map_value_size).
func UserValueSize(m Map) int {
	s := m.Spec()
	if s.Type.PerCPU() {
		return int(round8(s.ValueSize)) * envOf(m).CPUs
	}
	return int(s.ValueSize)
}

func envOf(m Map) *Env { return m.(interface{ envOf() *Env }).envOf() }

func (b *base) envOf() *Env { return b.env }

// UserLookup implements BPF_MAP_LOOKUP_ELEM. value is the caller's buffer, which a bloom filter
// reads; the result is a copy of the element, for all CPUs in per-CPU maps.
func UserLookup(m Map, key, value []byte, flags uint64) ([]byte, uapi.Errno) {
	switch {
	case flags&^uapi.Lock != 0:
		return nil, uapi.EINVAL
	case m.Spec().Flags&uapi.MapWronly != 0:
		return nil, uapi.EPERM
	case flags&uapi.Lock != 0 && !HasLock(m):
		return nil, uapi.EINVAL
	}
	if q, ok := m.(Queue); ok {
		if m.Spec().Type == uapi.MapTypeBloomFilter {
			return value, q.Peek(value)
		}
		out := make([]byte, m.Spec().ValueSize)
		if e := q.Peek(out); e != OK {
			return nil, e
		}
		return out, OK
	}
	if !isStorage(m) && len(key) < int(m.Spec().KeySize) {
		return nil, uapi.EFAULT
	}
	if r, ok := m.(userReader); ok {
		return r.userRead(key)
	}
	_, e := m.Lookup(AllCPUs, key)
	return nil, e
}

// isStorage reports whether the map's keys are owners, 8 bytes, whatever its key size.
func isStorage(m Map) bool {
	_, ok := m.(LocalStorage)
	return ok
}

// UserUpdate implements BPF_MAP_UPDATE_ELEM. Maps whose elements are file descriptors take a map's
// id (maps of maps) or are changed by methods of their own (RefArray.SetRef and others).
func UserUpdate(m Map, key, value []byte, flags uint64) uapi.Errno {
	switch {
	case m.Spec().Flags&uapi.MapRdonly != 0:
		return uapi.EPERM
	case flags&uapi.Lock != 0 && !HasLock(m):
		return uapi.EINVAL
	case len(key) < int(m.Spec().KeySize) || len(value) < UserValueSize(m):
		return uapi.EFAULT
	}
	if q, ok := m.(Queue); ok {
		return q.Push(value, flags)
	}
	return m.Update(AllCPUs, key, value, flags)
}

// UserDelete implements BPF_MAP_DELETE_ELEM.
func UserDelete(m Map, key []byte) uapi.Errno {
	switch {
	case m.Spec().Flags&uapi.MapRdonly != 0:
		return uapi.EPERM
	case !isStorage(m) && len(key) < int(m.Spec().KeySize):
		return uapi.EFAULT
	}
	return m.Delete(key)
}

// UserNextKey implements BPF_MAP_GET_NEXT_KEY; a nil key requests the first.
func UserNextKey(m Map, key []byte) ([]byte, uapi.Errno) {
	if m.Spec().Flags&uapi.MapWronly != 0 {
		return nil, uapi.EPERM
	}
	return m.NextKey(key)
}

// UserLookupDelete implements BPF_MAP_LOOKUP_AND_DELETE_ELEM.
func UserLookupDelete(m Map, key []byte, flags uint64) ([]byte, uapi.Errno) {
	t := m.Spec().Type
	switch {
	case flags&^uapi.Lock != 0, flags != 0 && (t == uapi.MapTypeQueue || t == uapi.MapTypeStack):
		return nil, uapi.EINVAL
	case m.Spec().Flags&(uapi.MapRdonly|uapi.MapWronly) != 0:
		return nil, uapi.EPERM
	case flags&uapi.Lock != 0 && !HasLock(m):
		return nil, uapi.EINVAL
	}
	value := make([]byte, UserValueSize(m))
	e := uapi.ENOTSUPP
	switch x := m.(type) {
	case Queue:
		if t != uapi.MapTypeBloomFilter {
			e = x.Pop(value)
		}
	case LookupDeleter:
		e = x.LookupDelete(key, value, flags)
	}
	if e != OK {
		return nil, e
	}
	return value, OK
}

// HasLock reports whether the values of a map have a lock, without which no flag asks for it.
func HasLock(m Map) bool {
	l, ok := m.(interface{ hasLock() bool })
	return ok && l.hasLock()
}

func (h *hash) userRead(key []byte) ([]byte, uapi.Errno) {
	key = key[:h.index.keySize]
	slot := h.find(hashKey(key), key)
	if slot == noSlot {
		return nil, uapi.ENOENT
	}
	if !h.percpu {
		return h.userCopy(h.bytes(slot, 0)), OK
	}
	out := make([]byte, UserValueSize(h))
	h.copyAll(slot, out)
	return out, OK
}

func (a *array) userRead(key []byte) ([]byte, uapi.Errno) {
	i, ok := a.index(key)
	if !ok {
		return nil, uapi.ENOENT
	}
	out := make([]byte, UserValueSize(a))
	if a.data[i>>a.shift] == nil {
		return out, OK
	}
	for c := range a.copies {
		copy(out[c*round8(a.spec.ValueSize):], a.userCopy(a.bytes(i, int(c))))
	}
	return out, OK
}

// userRead fails: the kernel returns the id of the program, but here programs are the caller's
// values without ids.
func (a *refArray) userRead(key []byte) ([]byte, uapi.Errno) {
	i, ok := a.index(key)
	switch {
	case a.spec.Type == uapi.MapTypeXskmap:
		return nil, uapi.EOPNOTSUPP // xsk_map_lookup_elem_sys_only
	case a.spec.Type == uapi.MapTypeCgroupArray:
		return nil, uapi.ENOTSUPP
	case !ok || a.slots[i] == nil:
		return nil, uapi.ENOENT
	}
	return make([]byte, a.spec.ValueSize), OK
}

func (p *perfArray) userRead([]byte) ([]byte, uapi.Errno) { return nil, uapi.ENOTSUPP }

func (m *arrayOfMaps) userRead(key []byte) ([]byte, uapi.Errno) { return innerID(m.env, m, key) }
func (m *hashOfMaps) userRead(key []byte) ([]byte, uapi.Errno)  { return innerID(m.env, m, key) }

func innerID(e *Env, m OuterMap, key []byte) ([]byte, uapi.Errno) {
	if in, ok := m.Inner(key); ok {
		return e.key32(in.ID()), OK
	}
	return nil, uapi.ENOENT
}

func (t *trie) userRead(key []byte) ([]byte, uapi.Errno) {
	addr, e := t.Lookup(AllCPUs, key)
	if e != OK {
		return nil, e
	}
	slot, _, _ := t.slotOf(addr)
	return slices.Clone(t.bytes(slot, 0)), OK
}

func (m *stackTrace) userRead(key []byte) ([]byte, uapi.Errno) {
	id := m.env.u32(key)
	if _, ok := m.stack[id]; !ok {
		return nil, uapi.ENOENT
	}
	return m.value(id), OK
}

func (d *devmap) userRead(key []byte) ([]byte, uapi.Errno) {
	s := d.slot(key)
	if s == noSlot {
		return nil, uapi.ENOENT
	}
	return slices.Clone(d.bytes(s, 0)), OK
}

func (m *structOps) userRead(key []byte) ([]byte, uapi.Errno) {
	if !m.zeroKey(key) || m.value == nil {
		return nil, uapi.ENOENT
	}
	return slices.Clone(m.value), OK
}
