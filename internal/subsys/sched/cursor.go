package sched

import "slices"

// Cursor visits the tasks that were in a queue when it was made (struct bpf_iter_scx_dsq_kern).
// Others may come and go meanwhile; [Cursor.Close] ends it.
type Cursor struct {
	q       *DSQ
	reverse bool
	seq     uint64 // the last task of then
	at      *Task  // the last one that it has gone past, nil at the beginning
	over    bool
	// Slice and Vtime replace those of the next task that is moved, if set.
	Slice, Vtime *uint64
}

// Visit returns a cursor for a queue, backwards with reverse, or nil if there is no such queue.
func (s *Sim) Visit(id uint64, reverse bool) *Cursor {
	q := s.dsqs[id]
	if q == nil {
		return nil
	}
	return visit(q, reverse)
}

func visit(q *DSQ, reverse bool) *Cursor {
	v := &Cursor{q: q, reverse: reverse, seq: q.seq}
	q.cursors = append(q.cursors, v)
	return v
}

// Close ends the visit.
func (v *Cursor) Close() {
	v.over = true
	v.q.cursors = slices.DeleteFunc(v.q.cursors, func(o *Cursor) bool { return o == v })
}

// Next returns the next task that has been in the queue all the time, or nil.
func (v *Cursor) Next() *Task {
	for !v.over {
		next := v.q.tasks.after(v.at)
		if v.reverse {
			next = v.q.tasks.before(v.at)
		}
		if next == nil {
			v.over = true
			break
		}
		if v.at = next; next.dsqSeq <= v.seq {
			return next
		}
	}
	return nil
}

// has reports whether a task is among those to visit and still in the queue.
func (v *Cursor) has(t *Task) bool { return t.dsq == v.q && t.dsqSeq <= v.seq }

// passes steps back from a task that is about to leave the queue.
func (v *Cursor) passes(t *Task) {
	switch {
	case v.at != t:
	case v.reverse:
		v.at = t.links[inQueue].next
	default:
		v.at = t.links[inQueue].prev
	}
}
