//go:build linux && (amd64 || arm64)

package jit

import (
	"unsafe"

	"github.com/bpfrun/bpfrun/jit/plan"
	"github.com/bpfrun/bpfrun/vm"
)

// Tail calls of the first function stay in native code if the slot of the program array has a link:
// the address of the State of the program's code. The engine makes the first such call in Go,
// prepares the program's code as for any run, and then links the slot. A link holds for as long as
// everything does that code was prepared for. The array drops it when the slot changes.

// link is a slot that leads to code.
type link struct {
	slot *uint64
	to   *code
}

// linkedFor is what linked code was prepared for.
type linkedFor struct {
	thread     *vm.Thread
	generation uint64
	epoch      uint64
	cpu        int
	fp         uint64
}

// links is what the engine knows of tail calls.
type links struct {
	all []link
	key linkedFor
	// The tail call that Go makes now: the array and the slot, and the instructions executed before
	// it.
	from  *plan.Inline
	slot  uint32
	insns uint64
	by    vm.Ledger
}

// tail is a tail call in a program.
type tail struct {
	pc int
	of *plan.Inline
}

// tailsOf lists the tail calls of a program.
func tailsOf(p *plan.Program) []tail {
	var tails []tail
	for pc := range p.Insns[:p.Len()] {
		if in := &p.Insns[pc]; in.Kind == plan.KindTailCall {
			f := *p.Inline(in)
			tails = append(tails, tail{pc, &f})
		}
	}
	return tails
}

// unlink drops all links.
func (e *Engine) unlink() {
	for _, l := range e.links.all {
		*l.slot = 0
	}
	e.links.all = e.links.all[:0]
}

// mayTail prepares code for a run in which it may make tail calls.
func (e *Engine) mayTail(c *code, t *vm.Thread) {
	if len(e.links.all) > 0 && e.links.key != e.linkKey(t) {
		e.unlink()
	}
	st := c.state
	st.Tails, st.Over = 0, 0
	if len(e.links.all) == 0 {
		return
	}
	st.Tails = uint64(t.TailCallsLeft())
	if img, _ := t.TailRefused(); t.Depth() == 0 && img != nil { // the first one beyond the limit is the thread's, which notes it
		st.Over = 1
	}
	for _, l := range e.links.all { // what stays the same until code exits
		to := l.to.state
		to.Limit, to.Boot, to.Step, to.Over = st.Limit, st.Boot, st.Step, st.Over
		if to != st && to.Shut == plan.ShutLocked { // of an earlier run: code makes no tail calls while a lock is held
			to.Shut = plan.ShutOpen
		}
	}
}

func (e *Engine) linkKey(t *vm.Thread) linkedFor {
	return linkedFor{t, t.Generation(), e.mem.Epoch(), t.CPU, t.Regs()[10]}
}

// tailCalled follows the tail calls that code made of those it might, and returns the code that
// exited, at the State left.
func (e *Engine) tailCalled(c *code, t *vm.Thread, left uintptr, might uint64) *code {
	to := c
	c.calls.book(e, c)
	for _, l := range e.links.all {
		if uintptr(unsafe.Pointer(l.to.state)) == left {
			to = l.to
		} else if l.to.calls != nil {
			l.to.calls.book(e, l.to)
		}
	}
	if to.calls != nil { // it ran last, so a lock that is held is its
		to.calls.book(e, to)
	}
	t.TailCalled(to.img, int(might-to.state.Tails))
	e.last = to
	return to
}

// leaves remembers a tail call that Go makes at a slot.
func (e *Engine) leaves(c *code, t *vm.Thread, pc int) {
	for _, site := range c.tails {
		if site.pc == pc && site.of.Map == t.Regs()[2] && t.TailCallsLeft() > 0 {
			e.links.from, e.links.slot, e.links.insns, e.links.by = site.of, uint32(t.Regs()[3]), t.Insns(), c.calls.ledger
		}
	}
}

// arrives links the slot of the tail call that Go made, if it led to this code.
func (e *Engine) arrives(c *code, t *vm.Thread) {
	from, slot := e.links.from, e.links.slot
	e.links.from = nil
	if t.PC() != 0 || t.Depth() != 0 || t.Insns() != e.links.insns+1 || int(slot) >= len(from.Progs.Links) || from.Progs.Image(slot) != c.img {
		return
	}
	// Code that is still to be compiled again has to be entered by the engine; code without what
	// follows has to be too.
	if c.loops || c.mayThin || c.calls != nil && c.calls.ledger != e.links.by || c.depth != 0 {
		return
	}
	if key := e.linkKey(t); key != e.links.key {
		e.unlink()
		e.links.key = key
	}
	at := &from.Progs.Links[slot]
	*at = uint64(uintptr(unsafe.Pointer(c.state)))
	for i := range e.links.all {
		if e.links.all[i].slot == at {
			e.links.all[i].to = c
			return
		}
	}
	e.links.all = append(e.links.all, link{at, c})
}
