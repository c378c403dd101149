package maps

import "github.com/bpfrun/bpfrun/internal/uapi"

// RingSink receives the records of a ring buffer while programs create them. With a sink the map
// keeps no records: the sink knows the contents of the ring and how far it was read, as shared
// memory does in the kernel (kernel/bpf/ringbuf.c). Positions count bytes since creation.
type RingSink interface {
	// Consumed returns the position up to which user space has read. It cannot be trusted: user
	// space writes it.
	Consumed() uint64
	// Reserve announces a record with its header at pos and size bytes of data; end is the new
	// producer position.
	Reserve(pos, end uint64, size int)
	// Overwrite announces, before Reserve, the position up to which a ring buffer that overwrites
	// gave up its oldest records.
	Overwrite(pos uint64)
	// Commit completes the record at pos. flags are those of the helper (BPF_RB_NO_WAKEUP,
	// BPF_RB_FORCE_WAKEUP).
	Commit(pos uint64, data []byte, flags uint64)
	// Discard completes the record at pos, which user space skips.
	Discard(pos, flags uint64)
}

// PerfSink receives the records of a perf event array, each for the event in a slot. With a sink
// the map keeps none.
type PerfSink interface {
	// Sample offers a record; false means that the event's buffer was full, and the sink counts the
	// record as lost.
	Sample(slot uint32, cpu int, data []byte) bool
	// Count returns what the event in a slot has counted, for a program on that CPU: ENOENT if
	// there is none, EINVAL if it is another CPU's or task's.
	Count(slot uint32, cpu int) (PerfCount, uapi.Errno)
}

// PerfCount is the count of a perf event, and for how many nanoseconds the event was enabled and
// running (struct bpf_perf_event_value).
type PerfCount struct{ Value, Enabled, Running uint64 }

// UserSource provides the samples of a user ring buffer, as shared memory does in the kernel. With
// a source the map keeps no samples.
type UserSource interface {
	// Peek returns a copy of the oldest sample: ENODATA if there is none, another errno if user
	// space wrote what makes no sense.
	Peek() ([]byte, uapi.Errno)
	// Release frees the room of the sample that Peek returned.
	Release()
}

// SetSource connects a user ring buffer, which must be unused, to user space.
func (u *userRing) SetSource(s UserSource) { u.source = s }

// SetSink connects a ring buffer, which must be unused, to user space.
func (r *ringbuf) SetSink(s RingSink) { r.sink = s }

// SetSink connects a perf event array to user space.
func (p *perfArray) SetSink(s PerfSink) { p.sink = s }

// room reports whether n bytes fit in a ring: neither the oldest incomplete record nor, unless old
// records are overwritten, the consumer may be overtaken (bpf_ringbuf_has_space).
func (r *ringbuf) room(n uint64) bool {
	if r.sink != nil {
		r.cons = r.sink.Consumed()
	}
	if r.overwrites() {
		return r.prod+n-r.oldestOpen() <= r.mask
	}
	// Without a sink, the consumer stops at the oldest incomplete record.
	return r.prod+n-r.cons <= r.mask && (r.sink == nil || len(r.pending) == 0 || r.prod+n-r.pending[0].pos <= r.mask)
}

// sunk passes a completed record to the sink and drops completed ones at the front.
func (r *ringbuf) sunk(rec *ringRec, flags uint64) {
	if rec.state == ringSubmitted {
		r.sink.Commit(rec.pos, rec.rec.Data, flags)
		r.env.unhost(len(rec.rec.Data))
		rec.rec.Data = nil
	} else {
		r.sink.Discard(rec.pos, flags)
	}
	for len(r.pending) > 0 && r.pending[0].state != ringOpen {
		r.first++
		r.pending = r.pending[1:]
	}
}
