package vm

// Parked is a run that was taken off a thread: its registers, frames and counters, and the context it was called with.
type Parked struct {
	state    *Snapshot
	ctxBase  uint64
	ctxWords []*uint64
	recover  func(*Fault) (uint64, bool)
}

// Park takes the run off the thread, which is then as if nothing had been started: the next start gets stacks of its own. It must not be called
// from inside a helper.
func (t *Thread) Park() *Parked {
	p := &Parked{state: t.Snapshot(), recover: t.Recover}
	p.ctxBase, p.ctxWords = t.Context()
	t.Restore(&Snapshot{status: Idle, track: t.cfg.Strict, cpu: t.CPU})
	t.SetContext(0, nil)
	t.Recover = nil
	return p
}

// Unpark continues a run that Park took off a thread on the same memory. It can be done any number of times, each from the same state.
func (t *Thread) Unpark(p *Parked) {
	t.Restore(p.state)
	t.SetContext(p.ctxBase, p.ctxWords)
	t.Recover = p.recover
}

// Drop gives back the stacks of a run that nobody continues.
func (t *Thread) Drop(p *Parked) {
	for i := range p.state.frames {
		if s := p.state.frames[i].stack; s != nil {
			t.mem.Free(s)
		}
	}
}
