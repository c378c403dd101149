package maps

import (
	"slices"

	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// ringbuf implements BPF_MAP_TYPE_RINGBUF (kernel/bpf/ringbuf.c). Positions count bytes since
// creation, like the kernel's consumer and producer positions, with 8 bytes of header per record
// and records rounded up to 8 bytes. The data is not in a ring: each record is a region of its own,
// which ends at submit or discard; see ringRow.
type ringbuf struct {
	base
	mask    uint64
	cons    uint64 // position up to which user space has read
	prod    uint64 // position of the next record
	pending []ringRec
	records []Record
	last    uint64       // sequence number of the last record read
	open    int          // records that the program has reserved and not ended
	first   int          // index of pending[0] since creation
	sink    RingSink     // nil: the records are kept here
	over    *overwriting // nil: a full ring accepts no record
	lost    uint64       // records for which there was no room
	rows    [rowSizes]ringRow
}

// ringRec is a record that user space has not read yet.
type ringRec struct {
	addr  uint64 // of the data; 0 if complete
	pos   uint64 // of the header
	len   uint64 // in the ring, with header
	state ringState
	rec   Record
	size  uint64
}

type ringState uint8

const (
	ringOpen ringState = iota
	ringSubmitted
	ringDiscarded
)

const (
	ringFlags     = uapi.MapNumaNode
	ringMaxRecord = 1<<32/4 - 1 // RINGBUF_MAX_RECORD_SZ = UINT_MAX/4
)

// checkRing mirrors ringbuf_map_alloc.
func (b *base) checkRing(flags uint32) *CreateError {
	s := &b.spec
	switch {
	case s.Flags&^flags != 0:
		return b.refuseFlags(flags)
	case s.KeySize != 0 || s.ValueSize != 0:
		return b.refuse(uapi.EINVAL, "key_size and value_size must be 0")
	case s.MaxEntries == 0 || s.MaxEntries&(s.MaxEntries-1) != 0 || s.MaxEntries%b.env.pageSize() != 0:
		return b.refuse(uapi.EINVAL, "max_entries is the size in bytes: a power of two and a multiple of the page size")
	}
	return nil
}

func newRingbuf(b base) (Map, error) {
	flags := uint32(ringFlags)
	if b.env.has(since.RingOverwrite) {
		flags |= uapi.MapRbOverwrite
	}
	if err := b.checkRing(flags); err != nil {
		return nil, err
	}
	r := &ringbuf{base: b, mask: uint64(b.spec.MaxEntries) - 1}
	r.self = r
	if b.spec.Flags&uapi.MapRbOverwrite != 0 {
		r.over = &overwriting{}
	}
	return r, nil
}

// reserve reserves room for a record (__bpf_ringbuf_reserve).
func (r *ringbuf) reserve(size uint64) (int, bool) {
	if size > ringMaxRecord {
		return 0, false
	}
	n := ringLength(size)
	if n > r.mask+1 || !r.room(n) {
		r.lost++
		return 0, false
	}
	if r.overwrites() {
		r.overwrite(n)
	}
	r.pending = append(r.pending, ringRec{pos: r.prod, len: n, size: size})
	r.prod += n
	if r.sink != nil {
		r.sink.Reserve(r.prod-n, r.prod, int(size))
	}
	return r.first + len(r.pending) - 1, true
}

func (r *ringbuf) at(i int) *ringRec { return &r.pending[i-r.first] }

func (r *ringbuf) Reserve(size, flags uint64) (uint64, bool) {
	if flags != 0 {
		return 0, false
	}
	i, ok := r.reserve(size)
	if !ok {
		return 0, false
	}
	reg, err := r.allocRecord(size)
	if err != nil {
		r.env.fail(err)
		r.at(i).state = ringDiscarded
		r.done(r.at(i), 0)
		return 0, false
	}
	if size == 0 {
		_ = r.env.Mem.SetBounds(reg, reg.Base, reg.Base)
	}
	r.at(i).addr = reg.Base
	r.open++
	return reg.Base, true
}

func (r *ringbuf) finish(addr uint64, state ringState, flags uint64) uapi.Errno {
	rec := r.openAt(addr)
	if rec == nil {
		return uapi.ENOENT
	}
	r.open--
	rec.state, rec.addr = state, 0
	if reg := r.region0(addr, rec.size); reg != nil {
		if state == ringSubmitted && r.env.host(&r.base, int(rec.size)) != OK {
			rec.state = ringDiscarded
		} else if state == ringSubmitted {
			rec.rec = r.env.record(0, r.env.Mem.Bytes(reg))
		}
		r.freeRecord(reg, rec.size)
	}
	r.done(rec, flags)
	return OK
}

// openAt returns the open record at an address, nil if there is none: probably one of the last.
func (r *ringbuf) openAt(addr uint64) *ringRec {
	for i := len(r.pending) - 1; i >= 0 && r.open > 0 && addr != 0; i-- {
		if r.pending[i].addr == addr {
			return &r.pending[i]
		}
	}
	return nil
}

// regions returns the regions of open records, and the rows.
func (r *ringbuf) regions() []*mem.Region {
	out := r.rowRegions()
	for i := range r.pending {
		if p := &r.pending[i]; p.addr != 0 {
			out = append(out, r.region0(p.addr, p.size))
		}
	}
	return out
}

// region0 finds the region of an open record; one of size 0 contains no address, so it is found
// through its neighbour.
func (r *ringbuf) region0(addr, size uint64) *mem.Region {
	if size != 0 {
		return r.env.Mem.Find(addr)
	}
	if reg, _, _ := r.env.Mem.Nearest(addr); reg != nil && reg.Base == addr && !reg.Freed {
		return reg
	}
	return nil
}

// done processes a record that has been completed.
func (r *ringbuf) done(rec *ringRec, flags uint64) {
	if r.sink != nil {
		r.sunk(rec, flags)
	} else if r.env.Consume == ConsumeAtOnce {
		r.Consume()
	}
}

// Submit and Discard accept all flags, as the kernel does: they only control wakeups of user space.
func (r *ringbuf) Submit(addr, flags uint64) uapi.Errno  { return r.finish(addr, ringSubmitted, flags) }
func (r *ringbuf) Discard(addr, flags uint64) uapi.Errno { return r.finish(addr, ringDiscarded, flags) }

func (r *ringbuf) Output(data []byte, flags uint64) uapi.Errno {
	if flags&^(uapi.RbNoWakeup|uapi.RbForceWakeup) != 0 {
		return uapi.EINVAL
	}
	i, ok := r.reserve(uint64(len(data)))
	if !ok {
		return uapi.EAGAIN
	}
	if e := r.env.host(&r.base, len(data)); e != OK {
		r.at(i).state = ringDiscarded
		r.done(r.at(i), 0)
		return e
	}
	rec := r.at(i)
	rec.state, rec.rec = ringSubmitted, r.env.record(0, data)
	r.done(rec, flags)
	return OK
}

func (r *ringbuf) Query(flags uint64) uint64 {
	if r.sink != nil {
		r.cons = r.sink.Consumed()
	}
	switch flags {
	case uapi.RbAvailData:
		return r.prod - r.oldest()
	case uapi.RbRingSize:
		return r.mask + 1
	case uapi.RbConsPos:
		return r.cons
	case uapi.RbProdPos:
		return r.prod
	case uapi.RbOverwritePos:
		if r.overwrites() {
			return r.over.pos
		}
	}
	return 0
}

func (r *ringbuf) Open() []uint64 {
	var out []uint64
	for i := range r.pending {
		if r.pending[i].state == ringOpen && r.pending[i].addr != 0 {
			out = append(out, r.pending[i].addr)
		}
	}
	return out
}

// Consume reads up to the oldest open record, which blocks those after it.
func (r *ringbuf) Consume() {
	if r.sink != nil {
		return
	}
	n := 0
	for ; n < len(r.pending) && r.pending[n].state != ringOpen; n++ {
		p := &r.pending[n]
		if p.state == ringSubmitted {
			// Records are read in the order of their reservation, whatever the order of submission.
			r.last = max(r.last, p.rec.Seq)
			p.rec.Seq = r.last
			r.records = append(r.records, p.rec)
		}
		r.cons = p.pos + p.len
	}
	r.first += n
	if n < len(r.pending) {
		r.pending = r.pending[n:]
		return
	}
	clear(r.pending)
	r.pending = r.pending[:0] // the memory is used again
}

func (r *ringbuf) endRun() {
	if r.env.Consume != ConsumeNever {
		r.Consume()
	}
}

func (r *ringbuf) Records() []Record {
	out := slices.Clone(r.records)
	for i := range r.pending {
		if r.pending[i].state == ringOpen {
			break
		}
		if r.pending[i].state == ringSubmitted {
			out = append(out, r.pending[i].rec)
		}
	}
	return out
}

// Lost counts records that were larger than the buffer, too.
func (r *ringbuf) Lost() uint64 { return r.lost }

// Shared reports whether a process reads the buffer, at its own pace, so that what is lost is not
// the program's fault alone.
func (r *ringbuf) Shared() bool { return r.sink != nil }

// TakeRecords reads everything that is complete and forgets it.
func (r *ringbuf) TakeRecords() []Record {
	r.Consume()
	out := r.records
	r.env.unhostRecords(out)
	r.records = nil
	return out
}

func (r *ringbuf) Lookup(int, []byte) (uint64, uapi.Errno)       { return 0, uapi.ENOTSUPP }
func (r *ringbuf) Update(int, []byte, []byte, uint64) uapi.Errno { return uapi.ENOTSUPP }
func (r *ringbuf) Delete([]byte) uapi.Errno                      { return uapi.ENOTSUPP }
func (r *ringbuf) NextKey([]byte) ([]byte, uapi.Errno)           { return nil, uapi.ENOTSUPP }

type ringbufState struct {
	cons, prod uint64
	pending    []ringRec
	records    []Record
	open       int
	first      int
	last       uint64
	over       overwriting
	lost       uint64
	rows       [rowSizes]ringRow
}

func (r *ringbuf) Snapshot() any {
	s := &ringbufState{r.cons, r.prod, slices.Clone(r.pending), slices.Clone(r.records), r.open, r.first, r.last, overwriting{}, r.lost, r.rows}
	if r.overwrites() {
		s.over = overwriting{r.over.pos, slices.Clone(r.over.lens)}
	}
	return s
}

func (r *ringbuf) Restore(v any) {
	s := v.(*ringbufState)
	r.cons, r.prod, r.first, r.last, r.lost, r.open, r.rows = s.cons, s.prod, s.first, s.last, s.lost, s.open, s.rows
	r.pending, r.records = append(r.pending[:0], s.pending...), append(r.records[:0], s.records...)
	if r.overwrites() {
		*r.over = overwriting{s.over.pos, slices.Clone(s.over.lens)}
	}
}

// RingSize rounds a size in bytes for max_entries of ring buffers as libbpf does: up to a power of
// two and a multiple of the page size. 0 stays 0, and a size whose rounded value exceeds 32 bits
// stays unchanged.
func RingSize(n, page uint32) uint32 {
	if n == 0 {
		return 0
	}
	for size := uint64(page); size < 1<<32; size *= 2 {
		if size >= uint64(n) {
			return uint32(size)
		}
	}
	return n
}
