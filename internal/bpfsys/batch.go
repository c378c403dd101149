package bpfsys

import (
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/bpfattr"
)

// batchKind describes the batch commands of a map type and the form of its cursor.
type batchKind struct {
	lookup, lookupDelete, update, del uapi.Release // the release that introduced it; 0: all releases have it, never: none has
	// index: the cursor is a 4-byte number instead of a key. ahead: the cursor is the key of the
	// next element instead of the last one.
	index, ahead bool
}

// batchCursor is where a batch of elements ended: after so many of them, and between which. One of
// these may be deleted before the next batch begins, while a number would then mean another place;
// the kernel's numbers are those of buckets.
type batchCursor struct {
	skip       uint32
	last, next []byte
}

// never is later than every release.
const never = ^uapi.Release(0)

// batches follows the map_*_batch operations of each type's table (kernel/bpf/hashtab.c,
// arraymap.c, lpm_trie.c).
var batches = map[uapi.MapType]batchKind{
	uapi.MapTypeHash:          {index: true},
	uapi.MapTypeLRUHash:       {index: true},
	uapi.MapTypePercpuHash:    {index: true},
	uapi.MapTypeLRUPercpuHash: {index: true},
	uapi.MapTypeArray:         {lookupDelete: never, del: never},
	uapi.MapTypePercpuArray:   {lookup: uapi.R(5, 13), update: uapi.R(5, 13), lookupDelete: never, del: never},
	uapi.MapTypeLPMTrie:       {lookupDelete: never},
	uapi.MapTypeRhash:         {ahead: true},
	uapi.MapTypeArrayOfMaps:   {lookup: uapi.R(5, 13), update: uapi.R(5, 13), lookupDelete: never, del: never},
	uapi.MapTypeHashOfMaps:    {lookup: uapi.R(5, 13), update: uapi.R(5, 13), lookupDelete: uapi.R(5, 13), del: uapi.R(5, 13), index: true},
}

// maxBatch limits the number of bytes that one call copies.
const maxBatch = 256 << 20

// batchMap checks what all batch commands check (bpf_map_do_batch).
func (s *System) batchMap(c Caller, a bpfattr.Batch, read, write bool, flags uint64, since func(batchKind) uapi.Release) (*Map, batchKind, uapi.Errno) {
	m, e := s.elemOf(c, a.MapFd(), read, write)
	if e != 0 {
		return nil, batchKind{}, e
	}
	k, ok := batches[m.def.Type]
	if at := since(k); !ok || at == never || !s.release.Has(at) {
		return nil, k, uapi.ENOTSUPP
	}
	return m, k, s.flagsOf(m, a.ElemFlags(), uint64(uapi.Lock)|flags)
}

// batchLookup implements BPF_MAP_LOOKUP_BATCH and, with del, BPF_MAP_LOOKUP_AND_DELETE_BATCH.
func (s *System) batchLookup(c Caller, a bpfattr.Batch, del bool) Result {
	flags := uint64(uapi.CPU)
	if del {
		flags = 0
	}
	m, k, e := s.batchMap(c, a, true, del, flags, func(k batchKind) uapi.Release {
		if del {
			return k.lookupDelete
		}
		return k.lookup
	})
	if e != 0 {
		return fail(e)
	}
	// Hash tables alone look at them, and only here (__htab_map_lookup_and_delete_batch).
	if (k.index || k.ahead) && a.Flags() != 0 {
		return fail(uapi.EINVAL)
	}
	count := int(a.Count())
	if count == 0 {
		return Result{}
	}
	// The count says how far the command got, also if it fails.
	if !a.PutCount(0) {
		return fail(uapi.EFAULT)
	}
	s.pull(m)
	ks, vs := int(m.def.KeySize), len(m.ofCPU(make([]byte, maps.UserValueSize(m.m)), a.ElemFlags()))
	if _, e := s.valueOf(m); e != 0 {
		return fail(e)
	}
	key, here, skip, e := s.cursor(c, a, m, k)
	if e != 0 {
		return fail(e)
	}
	began := batchCursor{skip: skip}
	if !here {
		began.last = key
	}
	out := elements{c: c, keysAt: a.Keys(), valuesAt: a.Values()}
	var seen [][]byte
	var last []byte
	n := 0
	for n < count && n*(ks+vs) < maxBatch {
		next, e := key, uapi.Errno(0)
		if !here {
			next, e = m.m.NextKey(key)
		}
		here = false
		if e != 0 {
			break
		}
		v, e := s.lookup(m, next, make([]byte, vs), a.ElemFlags()&uint64(uapi.Lock))
		if e == uapi.ENOENT { // an empty slot
			key = next
			continue
		}
		if e != 0 {
			out.flush()
			return fail(e)
		}
		if !out.add(next, m.ofCPU(v, a.ElemFlags())) {
			return fail(uapi.EFAULT)
		}
		key, last = next, next
		if del {
			seen = append(seen, next)
		}
		n++
	}
	if !out.flush() {
		return fail(uapi.EFAULT)
	}
	after, end := m.m.NextKey(key)
	if k.ahead {
		last = after
	}
	for _, d := range seen {
		s.delete(m, d)
	}
	if !a.PutCount(uint32(n)) {
		return fail(uapi.EFAULT)
	}
	if k.index {
		m.batch = batchCursor{skip + uint32(n), key, after}
		if del {
			began.next = after
			m.batch = began // the elements just read were deleted: continue at the same index
		}
		last = le.AppendUint32(nil, m.batch.skip)
	}
	if last != nil && !c.Write(a.OutBatch(), last) {
		return fail(uapi.EFAULT)
	}
	if end != 0 && (k.index || k.ahead || n < count) {
		return fail(uapi.ENOENT)
	}
	return Result{}
}

// elements are keys and values on their way to the caller's memory. A write there is a system call,
// which takes longer than all else of an element, so that many go at once.
type elements struct {
	c                Caller
	keysAt, valuesAt uint64
	keys, values     []byte
}

func (w *elements) add(key, value []byte) bool {
	w.keys, w.values = append(w.keys, key...), append(w.values, value...)
	return len(w.keys)+len(w.values) < 64<<10 || w.flush()
}

// flush writes the elements that wait and reports whether that was possible.
func (w *elements) flush() bool {
	if !w.c.Write(w.keysAt, w.keys) || !w.c.Write(w.valuesAt, w.values) {
		return false
	}
	w.keysAt, w.valuesAt = w.keysAt+uint64(len(w.keys)), w.valuesAt+uint64(len(w.values))
	w.keys, w.values = w.keys[:0], w.values[:0]
	return true
}

// cursor returns the position where a batch continues: after a key, or with here at it, and how many
// elements are before it.
func (s *System) cursor(c Caller, a bpfattr.Batch, m *Map, k batchKind) (key []byte, here bool, skip uint32, e uapi.Errno) {
	at := a.InBatch()
	switch {
	case at == 0:
		return nil, false, 0, 0
	case !k.index:
		key = make([]byte, m.def.KeySize)
		if !c.Read(at, key) {
			return nil, false, 0, uapi.EFAULT
		}
		if k.ahead {
			if _, e := m.m.Lookup(-1, key); e != 0 {
				return nil, false, 0, uapi.EAGAIN // the key was deleted: the caller starts over
			}
		}
		return key, k.ahead, 0, 0
	}
	b := make([]byte, 4)
	if !c.Read(at, b) {
		return nil, false, 0, uapi.EFAULT
	}
	skip = le.Uint32(b)
	if m.batch.skip == skip { // it goes on, as it mostly does
		for ahead, key := range [][]byte{m.batch.last, m.batch.next} {
			if key == nil {
				continue
			}
			if _, e := m.m.Lookup(-1, key); e == 0 {
				return key, ahead == 1, skip, 0
			}
		}
	}
	for range skip {
		next, e := m.m.NextKey(key)
		if e != 0 {
			break
		}
		key = next
	}
	return key, false, skip, 0
}

func (s *System) batchUpdate(c Caller, a bpfattr.Batch) Result {
	m, _, e := s.batchMap(c, a, false, true, oneValue, func(k batchKind) uapi.Release { return k.update })
	if e != 0 {
		return fail(e)
	}
	values := incoming{c: c, at: a.Values(), count: int(a.Count())}
	return s.eachElement(c, a, m, func(key []byte, i int) uapi.Errno {
		v, e := s.valueOf(m)
		if e != 0 {
			return e
		}
		if s.ofOneValue(m, a.ElemFlags()) {
			v = v[:m.def.ValueSize]
		}
		if !values.get(i, v) {
			return uapi.EFAULT
		}
		return s.update(c, m, key, v, a.ElemFlags()).Errno
	})
}

// incoming are keys or values in the caller's memory. A read there is a system call, which takes
// longer than all else of an element, so that many come at once.
type incoming struct {
	c     Caller
	at    uint64
	count int
	from  int // which is the first in have
	have  []byte
}

// get reads one of them, and reports whether that was possible.
func (r *incoming) get(i int, p []byte) bool {
	size := len(p)
	if size == 0 {
		return true
	}
	if i < r.from || (i-r.from+1)*size > len(r.have) {
		r.from, r.have = i, make([]byte, max(min(r.count-i, (64<<10)/size), 1)*size)
		if !r.c.Read(r.at+uint64(i)*uint64(size), r.have) { // some of them may be there
			r.have = nil
			return r.c.Read(r.at+uint64(i)*uint64(size), p)
		}
	}
	copy(p, r.have[(i-r.from)*size:])
	return true
}

func (s *System) batchDelete(c Caller, a bpfattr.Batch) Result {
	m, _, e := s.batchMap(c, a, false, true, 0, func(k batchKind) uapi.Release { return k.del })
	if e != 0 {
		return fail(e)
	}
	return s.eachElement(c, a, m, func(key []byte, _ int) uapi.Errno { return s.delete(m, key) })
}

// eachElement calls f for each key until a call fails, and stores the number of successful calls in
// the attributes.
func (s *System) eachElement(c Caller, a bpfattr.Batch, m *Map, f func(key []byte, i int) uapi.Errno) Result {
	count, e := int(a.Count()), uapi.Errno(0)
	if count == 0 {
		return Result{}
	}
	n, keys := 0, incoming{c: c, at: a.Keys(), count: count}
	for ; n < count; n++ {
		key := make([]byte, m.def.KeySize)
		if !keys.get(n, key) {
			e = uapi.EFAULT
			break
		}
		if e = f(key, n); e != 0 {
			break
		}
	}
	if !a.PutCount(uint32(n)) {
		return fail(uapi.EFAULT)
	}
	return fail(e)
}
