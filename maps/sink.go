package maps

// RingSink receives the records of a ring buffer while programs make them. With one, the map keeps no records: what is in the ring and
// how far it was read is the sink's, as it is shared memory's in the kernel (kernel/bpf/ringbuf.c). Positions count bytes since creation.
type RingSink interface {
	// Consumed returns the position up to which user space has read. It may be wrong in any way: user space writes it.
	Consumed() uint64
	// Reserve announces a record whose header is at pos and whose data has size bytes; the producer's position is end now.
	Reserve(pos, end uint64, size int)
	// Commit completes the record at pos. flags are those of the helper (BPF_RB_NO_WAKEUP, BPF_RB_FORCE_WAKEUP).
	Commit(pos uint64, data []byte, flags uint64)
	// Discard completes the record at pos, which user space skips.
	Discard(pos, flags uint64)
}

// PerfSink receives the records of a perf event array, each for the event in a slot. With one, the map keeps none.
type PerfSink interface {
	// Sample offers a record; false means that the event's buffer had no room, and the sink counts it as lost.
	Sample(slot uint32, cpu int, data []byte) bool
}

// SetSink connects a ring buffer in which nothing was sent yet to user space.
func (r *ringbuf) SetSink(s RingSink) { r.sink = s }

// SetSink connects a perf event array to user space.
func (p *perfArray) SetSink(s PerfSink) { p.sink = s }

// room reports whether n bytes fit a ring whose reader is the sink: before the consumer, and before the oldest record not completed.
func (r *ringbuf) room(n uint64) bool {
	if r.sink == nil {
		return r.prod+n-r.cons <= r.mask
	}
	r.cons = r.sink.Consumed()
	return r.prod+n-r.cons <= r.mask && (len(r.pending) == 0 || r.prod+n-r.pending[0].pos <= r.mask)
}

// sunk gives a complete record to the sink and forgets those at the front.
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
