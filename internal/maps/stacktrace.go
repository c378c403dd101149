package maps

import (
	"bytes"
	"slices"

	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// stackTrace implements BPF_MAP_TYPE_STACK_TRACE (kernel/bpf/stackmap.c). An id is a bucket number:
// the masked hash of the chain.
type stackTrace struct {
	base
	mask  uint32
	stack map[uint32]stackBucket
}

type stackBucket struct {
	hash uint32
	ips  []uint64
}

const (
	stackFlags    = uapi.MapNumaNode | uapi.MapRdonly | uapi.MapWronly | uapi.MapStackBuildID
	maxStackDepth = 127 // default of kernel.perf_event_max_stack
	stackBuildID  = 32  // sizeof(struct bpf_stack_build_id)
	// stackBuildIDIP is BPF_STACK_BUILD_ID_IP: the build id could not be found.
	stackBuildIDIP = 2
)

// stackElem returns the size in bytes of one frame in a value.
func stackElem(s *Spec) uint32 {
	if s.Flags&uapi.MapStackBuildID != 0 {
		return stackBuildID
	}
	return 8
}

func newStackTrace(b base) (Map, error) {
	s := &b.spec
	switch {
	case s.Flags&^uint32(stackFlags) != 0:
		return nil, b.refuseFlags(stackFlags)
	case s.MaxEntries == 0 || s.KeySize != 4 || s.ValueSize < 8 || s.ValueSize%8 != 0:
		return nil, b.refuse(uapi.EINVAL, "a stack trace map needs key_size 4, max_entries, and a value_size that is a multiple of 8")
	case s.Flags&uapi.MapStackBuildID != 0 && s.ValueSize%stackBuildID != 0:
		return nil, b.refuse(uapi.EINVAL, "with BPF_F_STACK_BUILD_ID value_size is a multiple of 32")
	case s.ValueSize/stackElem(s) > maxStackDepth:
		return nil, b.refuse(uapi.EINVAL, "value_size holds more than 127 frames (kernel.perf_event_max_stack)")
	case s.MaxEntries > 1<<31:
		return nil, b.refuse(uapi.E2BIG, "max_entries is at most 2^31")
	}
	n := uint32(1)
	for n < s.MaxEntries {
		n *= 2
	}
	m := &stackTrace{base: b, mask: n - 1, stack: make(map[uint32]stackBucket)}
	m.self = m
	return m, nil
}

// StackID mirrors __bpf_get_stackid.
func (m *stackTrace) StackID(ips []uint64, flags uint64) int64 {
	if flags&^(uapi.StackSkipMask|uapi.StackUser|uapi.StackFastCmp|uapi.StackReuseID) != 0 {
		return uapi.EINVAL.Neg()
	}
	skip := int(flags & uapi.StackSkipMask)
	depth := int(m.spec.ValueSize / stackElem(&m.spec))
	ips = ips[:min(len(ips), min(depth+skip, maxStackDepth))]
	if len(ips) <= skip {
		return uapi.EFAULT.Neg() // skips more frames than the chain has
	}
	ips = ips[skip:]
	words := make([]uint32, 0, 2*len(ips))
	for _, ip := range ips {
		words = append(words, uint32(ip), uint32(ip>>32))
	}
	hash := jhash2(words, 0)
	id := hash & m.mask
	b, used := m.stack[id]
	if used && b.hash == hash && (flags&uapi.StackFastCmp != 0 || slices.Equal(b.ips, ips)) {
		return int64(id)
	}
	if used && flags&uapi.StackReuseID == 0 {
		return uapi.EEXIST.Neg()
	}
	if !used && len(m.stack) >= int(m.spec.MaxEntries) {
		return uapi.ENOMEM.Neg()
	}
	m.stack[id] = stackBucket{hash, slices.Clone(ips)}
	return int64(id)
}

func (m *stackTrace) Stack(id uint32) ([]uint64, bool) {
	b, ok := m.stack[id]
	return slices.Clone(b.ips), ok
}

func (m *stackTrace) value(id uint32) []byte {
	out := make([]byte, m.spec.ValueSize)
	order := m.env.Mem.ByteOrder()
	for i, ip := range m.stack[id].ips {
		if m.spec.Flags&uapi.MapStackBuildID == 0 {
			order.PutUint64(out[8*i:], ip)
			continue
		}
		// {status, build id, ip}: no files are mapped, so the kernel falls back to the address.
		order.PutUint32(out[stackBuildID*i:], stackBuildIDIP)
		order.PutUint64(out[stackBuildID*i+24:], ip)
	}
	return out
}

func (m *stackTrace) Delete(key []byte) uapi.Errno {
	if len(key) < 4 {
		return uapi.EINVAL
	}
	id := m.env.u32(key)
	if id > m.mask {
		return uapi.E2BIG
	}
	if _, ok := m.stack[id]; !ok {
		return uapi.ENOENT
	}
	delete(m.stack, id)
	return OK
}

// LookupDelete implements BPF_MAP_LOOKUP_AND_DELETE_ELEM, as measured on 6.18; older kernels lack
// it.
func (m *stackTrace) LookupDelete(key, value []byte, flags uint64) uapi.Errno {
	switch {
	case !m.env.has(since.StackTraceDelete):
		return uapi.ENOTSUPP
	case flags != 0 || len(key) < 4:
		return uapi.EINVAL
	}
	id := m.env.u32(key)
	if _, ok := m.stack[id]; !ok {
		return uapi.ENOENT
	}
	copy(value, m.value(id))
	delete(m.stack, id)
	return OK
}

// NextKey returns the ids in ascending order.
func (m *stackTrace) NextKey(key []byte) ([]byte, uapi.Errno) {
	ids := m.ids()
	next := uint32(0)
	if len(key) >= 4 {
		if id := m.env.u32(key); id <= m.mask {
			if _, ok := m.stack[id]; ok {
				next = id + 1
			}
		}
	}
	i, _ := slices.BinarySearch(ids, next)
	if i == len(ids) {
		return nil, uapi.ENOENT
	}
	return m.env.key32(ids[i]), OK
}

func (m *stackTrace) ids() []uint32 {
	ids := make([]uint32, 0, len(m.stack))
	for id := range m.stack {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// Entries returns the stored chains, sorted by key bytes and zero-padded to value_size.
func (m *stackTrace) Entries() []Entry {
	var out []Entry
	for _, id := range m.ids() {
		out = append(out, Entry{Key: m.env.key32(id), Value: m.value(id)})
	}
	slices.SortFunc(out, func(a, b Entry) int { return bytes.Compare(a.Key, b.Key) })
	return out
}

// Snapshot shares the chains, which never change once stored.
func (m *stackTrace) Snapshot() any { return cloneMap(m.stack) }
func (m *stackTrace) Restore(v any) { restoreMap(&m.stack, v.(map[uint32]stackBucket)) }
