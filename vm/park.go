package vm

// Parked is a run that was removed from a thread: its registers, frames and counters, and its
// context.
type Parked struct {
	state    *Snapshot
	ctxBase  uint64
	ctxWords []*uint64
	recover  func(*Fault) (uint64, bool)
}

// Park removes the run from the thread, as if nothing had been started: the next start gets its own
// stacks. It must not be called from within a helper.
func (t *Thread) Park() *Parked {
	p := &Parked{state: t.Snapshot(), recover: t.Recover}
	p.ctxBase, p.ctxWords = t.Context()
	t.Restore(&Snapshot{status: Idle, track: t.cfg.Strict, cpu: t.CPU})
	t.SetContext(0, nil)
	t.Recover = nil
	return p
}

// Unpark continues a run that Park removed from a thread on the same memory. It can be called any
// number of times, each time with the same state.
func (t *Thread) Unpark(p *Parked) {
	t.Restore(p.state)
	t.SetContext(p.ctxBase, p.ctxWords)
	t.Recover = p.recover
}

// Drop frees the stacks of a run that will not be continued.
func (t *Thread) Drop(p *Parked) {
	for _, l := range append(p.state.below, level{frames: p.state.frames[:]}) {
		for i := range l.frames {
			t.mem.Free(l.frames[i].stack)
		}
	}
}
