package maps

// overwriting is what a ring buffer with BPF_F_RB_OVERWRITE adds: a new record takes the place of
// the oldest ones, whether or not user space read them (kernel/bpf/ringbuf.c
// __bpf_ringbuf_reserve).
type overwriting struct {
	pos  uint64   // position after the last record that was overwritten
	lens []uint32 // lengths in the ring of the records between pos and the producer's position
}

// overwrites reports whether new records take the place of old ones.
func (r *ringbuf) overwrites() bool { return r.over != nil }

// oldest is the position of the first record that a reader can still see.
func (r *ringbuf) oldest() uint64 {
	if r.over == nil {
		return r.cons
	}
	return max(r.cons, r.over.pos)
}

// oldestOpen is the position of the first record that is not complete, else that of the next one.
func (r *ringbuf) oldestOpen() uint64 {
	for i := 0; r.open > 0 && i < len(r.pending); i++ {
		if r.pending[i].state == ringOpen {
			return r.pending[i].pos
		}
	}
	return r.prod
}

// overwrite makes room for a record of n bytes in the ring, which must fit behind the oldest open
// one, and forgets what nobody can read any more.
func (r *ringbuf) overwrite(n uint64) {
	o := r.over
	gone := 0
	for r.prod+n-o.pos > r.mask {
		o.pos += uint64(o.lens[gone])
		gone++
	}
	o.lens = append(o.lens[gone:], uint32(n))
	for len(r.pending) > 0 && r.pending[0].pos < o.pos {
		if r.pending[0].state == ringSubmitted {
			r.env.unhost(len(r.pending[0].rec.Data))
		}
		r.first++
		r.pending = r.pending[1:]
	}
	if r.sink != nil {
		r.sink.Overwrite(o.pos)
	}
}
