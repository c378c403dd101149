package bpfsys

import (
	"sync/atomic"

	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// fence orders stores to shared memory: stores before an Add become visible before stores after it.
var fence atomic.Uint32

// Bits of a record's length in its header (include/uapi/linux/bpf.h).
const (
	ringBusy    = 1 << 31
	ringDiscard = 1 << 30
	ringHeader  = 8
)

// ringSink writes the records of a ring buffer to the memory that user space maps: one page with
// the consumer position, one page with the producer position, and the data pages mapped twice, so
// that every record is contiguous (kernel/bpf/ringbuf.c).
type ringSink struct {
	s    *System
	m    *Map
	mem  []byte
	size uint64
}

const ringData = 2 * uapi.PageSize

func (r *ringSink) Consumed() uint64 { return le.Uint64(r.mem) }

// put writes bytes at a position of the ring, to both copies of the data.
func (r *ringSink) put(pos uint64, b []byte) {
	at := pos & (r.size - 1)
	first := r.mem[ringData : ringData+r.size]
	second := r.mem[ringData+r.size : ringData+2*r.size]
	n := copy(first[at:], b)
	copy(first, b[n:])
	n = copy(second[at:], b)
	copy(second, b[n:])
}

func (r *ringSink) header(pos uint64, size uint32) {
	h := make([]byte, 4)
	le.PutUint32(h, size)
	r.put(pos, h)
}

func (r *ringSink) Reserve(pos, end uint64, size int) {
	h := make([]byte, ringHeader)
	le.PutUint32(h, uint32(size)|ringBusy)
	le.PutUint32(h[4:], uint32((pos&(r.size-1)+ringData)/uapi.PageSize)) // pg_off
	r.put(pos, h)
	fence.Add(1)
	le.PutUint64(r.mem[uapi.PageSize:], end)
}

// ringOverwrite is the place of the position of overwritten records: two words behind that of the
// producer.
const ringOverwrite = uapi.PageSize + 16

func (r *ringSink) Overwrite(pos uint64) { le.PutUint64(r.mem[ringOverwrite:], pos) }

func (r *ringSink) Commit(pos uint64, data []byte, flags uint64) {
	r.put(pos+ringHeader, data)
	fence.Add(1)
	r.header(pos, uint32(len(data)))
	r.wake(pos, flags)
}

func (r *ringSink) Discard(pos, flags uint64) {
	at := pos & (r.size - 1)
	size := le.Uint32(r.mem[ringData+at:]) &^ ringBusy
	r.header(pos, size|ringDiscard)
	r.wake(pos, flags)
}

// wake wakes readers by the rule of bpf_ringbuf_commit: if a flag forces it, or if the reader's
// position in the ring is that of this record.
func (r *ringSink) wake(pos, flags uint64) {
	switch {
	case flags&uapi.RbForceWakeup != 0, flags&uapi.RbNoWakeup == 0 && (r.Consumed()^pos)&(r.size-1) == 0:
		r.s.woken(r.m)
	}
}

// woken tells the owner of the system that poll(2) of the object now returns.
func (s *System) woken(o Object) {
	if s.cfg.Wake != nil {
		s.cfg.Wake(o)
	}
}

// Readable reports whether poll(2) of an object returns POLLIN at once, which is the case if its
// ring has unread records (in a ring buffer, also reserved ones).
func (s *System) Readable(o Object) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return readable(o)
}

func readable(o Object) bool {
	switch o := o.(type) {
	case *Map:
		if _, ok := o.m.(maps.RingBuffer); ok && o.mem != nil {
			b := o.mem.Bytes()
			return max(le.Uint64(b), le.Uint64(b[ringOverwrite:])) != le.Uint64(b[uapi.PageSize:])
		}
	case *PerfEvent:
		return o.pending()
	}
	return false
}

// MapRange checks an mmap(2) of an object and allocates the object's shared memory on first use. It
// returns the errno of the call. shared is not set for a mapping that copies what it writes
// (MAP_PRIVATE).
func (s *System) MapRange(o Object, access uint32, off, length uint64, write, shared bool) uapi.Errno {
	s.mu.Lock()
	defer s.mu.Unlock()
	end := off + length
	if end < off || off%uapi.PageSize != 0 || length == 0 {
		return uapi.EINVAL
	}
	if access == WriteOnly || access == ReadOnly && write && shared { // do_mmap
		return uapi.EACCES
	}
	shared = shared && access != ReadOnly // which it does not tell from a copy
	switch o := o.(type) {
	case *Map:
		return s.mapRange(o, off, end, write, shared)
	case *PerfEvent:
		if off != 0 || !shared {
			return uapi.EINVAL
		}
		return o.mapped(s, length)
	}
	return uapi.ENODEV
}

// mapRange is bpf_map_mmap, with what types of maps check.
func (s *System) mapRange(m *Map, off, end uint64, write, shared bool) uapi.Errno {
	_, ring := m.m.(maps.RingBuffer)
	_, user := m.m.(maps.UserRing)
	_, arena := m.m.(maps.Arena)
	switch {
	case m.def.Type != uapi.MapTypeArray && !ring && !user && !arena, len(s.special(m)) > 0:
		return uapi.ENOTSUPP
	case !shared, arena: // see MapArena
		return uapi.EINVAL
	case write && m.frozen:
		return uapi.EPERM
	case write && m.def.Flags&uapi.MapRdonlyProg != 0:
		return uapi.EACCES
	case ring && write && (off != 0 || end != uapi.PageSize): // but the page with the consumer's position
		return uapi.EPERM
	case user && write && off == 0: // the page with the consumer's position (ringbuf_map_mmap_user)
		return uapi.EPERM
	}
	check := s.mapArray
	if ring || user {
		check = mapRing
	}
	if e := check(m, end); e != 0 {
		return e
	}
	if write {
		m.mapped++
	}
	return 0
}

// mapRing checks the end of a mapping of a ring, which has its memory since it was created.
func mapRing(m *Map, end uint64) uapi.Errno {
	if end > uint64(len(m.mem.Bytes())) {
		return uapi.EINVAL
	}
	return 0
}

// mapArray is array_map_mmap.
func (s *System) mapArray(m *Map, end uint64) uapi.Errno {
	size := uint64(m.stride())*uint64(m.def.MaxEntries) + uapi.PageSize - 1
	size -= size % uapi.PageSize
	if m.def.Flags&uapi.MapMmapable == 0 || end > size {
		return uapi.EINVAL
	}
	if m.mem == nil {
		if e := s.share(m, int(size)); e != 0 {
			return e
		}
		m.copied = make([]byte, size)
		s.push(m)
	}
	m.views++
	return 0
}

func (m *Map) stride() int { return int(m.def.ValueSize+7) &^ 7 }

// pull copies into the map what user space stored through its mapping of an array.
func (s *System) pull(m *Map) {
	if m.def.Type == uapi.MapTypeArena {
		s.pullArena(m)
		return
	}
	if m.views == 0 || m.mem == nil || m.copied == nil || m.frozen {
		return
	}
	b, step, key := m.mem.Bytes(), m.stride(), make([]byte, 4)
	for i := range int(m.def.MaxEntries) {
		cell := b[i*step : i*step+int(m.def.ValueSize)]
		seen := m.copied[i*step : i*step+int(m.def.ValueSize)]
		if string(cell) == string(seen) {
			continue
		}
		copy(seen, cell)
		le.PutUint32(key, uint32(i))
		_ = m.m.Update(maps.AllCPUs, key, seen, 0)
	}
}

// push copies what programs stored to the shared memory. It writes only the words that changed, so
// that concurrent stores by user space survive.
func (s *System) push(m *Map) {
	if m.def.Type == uapi.MapTypeArena {
		s.pushArena(m)
		return
	}
	if m.views == 0 && m.copied == nil || m.mem == nil || m.copied == nil {
		return
	}
	b, step, key := m.mem.Bytes(), m.stride(), make([]byte, 4)
	for i := range int(m.def.MaxEntries) {
		le.PutUint32(key, uint32(i))
		v, e := maps.UserLookup(m.m, key, nil, 0)
		if e != 0 {
			continue
		}
		seen, cell := m.copied[i*step:], b[i*step:]
		for at := 0; at < len(v); at += 8 {
			to := min(at+8, len(v))
			if string(v[at:to]) != string(seen[at:to]) {
				copy(cell[at:to], v[at:to])
				copy(seen[at:to], v[at:to])
			}
		}
	}
}

// pullAll runs before programs; pushAll runs after them.
func (s *System) pullAll() {
	for o := range s.byID[KindMap].All() {
		s.pull(o.(*Map))
	}
	s.pullPages()
}

func (s *System) pushAll() {
	for o := range s.byID[KindMap].All() {
		s.push(o.(*Map))
	}
	s.pushPages()
}
