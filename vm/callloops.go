package vm

import "github.com/bpfrun/bpfrun/decode"

// Turns is the state of a helper that calls a function again and again: the calls that are still to
// be made follow from it. For [InlineLoop] call I has the arguments I, Ctx; for [InlineEach] it has
// Map, Key, Value, Ctx, with I stored as a 32-bit number at Key, and the next one has Value+Stride.
type Turns struct {
	Entry                        uint64 // address of the function
	I, N                         uint64 // the running call, and the first one that does not follow from it
	Ctx, Map, Key, Value, Stride uint64
}

// Turner is a [Continuation] whose next calls engines can make themselves, as long as the function
// returns 0.
type Turner interface {
	Continuation
	// Turns returns the state while the function runs; ok is false if only Resume can continue.
	Turns() (s Turns, ok bool)
	// At returns the continuation for another state that follows from Turns.
	At(s Turns) Continuation
}

// Turner returns the continuation of the helper that called the running function, the slot after
// the helper's call, and r6 to r9 at the call. It returns nil if no helper of the running program
// called it, or if only Resume can continue.
func (t *Thread) Turner() (c Turner, ret int, saved *[4]uint64) {
	f := &t.frames[t.depth]
	if t.depth == 0 || f.cont == nil || f.img != t.img {
		return nil, 0, nil
	}
	c, _ = f.cont.(Turner)
	return c, f.ret, &f.saved
}

// Reenter undoes Resume(1).
func (t *Thread) Reenter() {
	t.depth++
	t.regs[10] = t.frames[t.depth].fp
}

// Returned tells the thread that an engine executed the exit of a function that a helper called,
// and that c, at whose call instruction the thread is, continues with r0. The engine must return,
// and the thread does the rest.
func (t *Thread) Returned(c Continuation) { t.left, t.leftCont = leftReturned, c }

// resume continues a helper after Returned.
func (t *Thread) resume() exit {
	c := t.leftCont
	t.leftCont = nil
	r0, a := c.Resume(t, t.regs[0])
	return t.act(r0, a)
}

// Popped returns the snapshot as if the function that a helper called had returned, and the helper
// had not continued yet. ok is false if no helper called the running function or it is not at an
// exit.
func (s *Snapshot) Popped() (popped *Snapshot, ok bool) {
	f := s.frames[s.depth]
	if s.depth == 0 || f.cont == nil || s.img.Slot(s.pc).Kind() != SlotPlain || s.img.Slot(s.pc).Op() != decode.OpExit {
		return nil, false
	}
	p := *s
	p.depth--
	copy(p.regs[6:10], f.saved[:])
	p.regs[10] = p.frames[p.depth].fp
	p.img, p.pc = f.img, f.ret-1
	p.insns++
	return &p, true
}
