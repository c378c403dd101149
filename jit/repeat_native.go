//go:build linux && (amd64 || arm64)

package jit

import (
	"slices"
	"unsafe"

	"github.com/bpfrun/bpfrun/jit/plan"
	"github.com/bpfrun/bpfrun/vm"
)

var (
	_ vm.Repeater = (*Engine)(nil)
	_ vm.Streamer = (*Engine)(nil)
)

// repeats reports whether runs that begin in code may follow each other directly: nothing has to be
// looked at between them.
func (e *Engine) repeats(c *code) bool {
	if c.tails != nil && slices.ContainsFunc(e.links.all, func(l link) bool { return l.to.turns != nil }) {
		return false // helpers may have to continue
	}
	if c.calls != nil && c.calls.stocks != nil {
		return false // records are read between two runs
	}
	return !c.loops && c.turns == nil && e.check == nil && e.links.from == nil && c.slots[0].entry != 0
}

// Again is the loop around native code for runs that follow each other, see [vm.Repeater]. Nothing
// happens between two of them, so what they need from Go is set up once, and their calls are
// accounted for together.
func (e *Engine) Again(t *vm.Thread, n int, limit uint64) (ended int, insns uint64) {
	c := e.last
	if c != nil && c.img != t.Image() && len(e.links.all) > 0 { // the last run ended in another program
		c = e.codes[t.Image()]
	}
	if c == nil || !c.fits(e, t, 0) || c.mayThin || e.cover != nil || !e.repeats(c) {
		return 0, 0
	}
	room := int64(min(limit, 1<<40)) - c.slack
	if room < c.slack {
		return 0, 0
	}
	e.last = c
	st, at, regs := c.state, c.slots[0], (*[10]uint64)(t.Regs()[:10])
	begin := *regs
	st.Limit = e.mem.Limit()
	if c.calls != nil {
		c.calls.open(e, st, t)
	}
	if c.saves != nil {
		c.begin(t, 0)
	}
	tails := uint64(0)
	if c.tails != nil {
		e.mayTail(c, t)
		tails = st.Tails
	}
	for native := uint64(0); ; {
		st.Room = room + int64(at.count)
		st.Entry = c.text + uintptr(at.entry)
		if c.mayGoto {
			st.May = vm.MaxMayGoto
		}
		to := c
		st.Tails = tails
		left := backendEnter(c.text, uintptr(unsafe.Pointer(st)))
		tailed := c.tails != nil && (left != uintptr(unsafe.Pointer(st)) || st.Tails != tails)
		if tailed {
			to = e.tailCalled(c, t, left, tails)
		}
		exit := to.state.Exit
		why, pc := plan.Reason(exit&(1<<plan.ReasonBits-1)), int(exit>>plan.ReasonBits)
		ran := uint64(room + c.slack - to.state.Room - to.slack + int64(to.slots[pc].count))
		native += ran
		if why == plan.Leave && to.state.Shut != plan.ShutLocked { // a lock that is held then is a mistake
			ended++
			insns += ran + 1
			if ended < n {
				if *regs = begin; tailed {
					e.last = c
					t.Restart(c.img)
					c.calls.open(e, st, t) // what was executed is accounted for
				}
				continue
			}
		}
		e.native += native
		t.Advance(pc, ran)
		e.after(to, t, why, ran)
		return ended, insns
	}
}

// Stream is Again for runs on different input, which next prepares, see [vm.Streamer]. Programs with
// tail calls are left to Run.
func (e *Engine) Stream(t *vm.Thread, limit uint64, next func(ret, insns uint64) (gap uint64, more bool)) (begun bool) {
	c := e.last
	if c == nil || !c.fits(e, t, 0) || c.tails != nil || !e.repeats(c) {
		return true
	}
	most := int64(min(limit, 1<<40)) - c.slack
	if most < c.slack {
		return true
	}
	st, at, regs := c.state, c.slots[0], (*[10]uint64)(t.Regs()[:10])
	begin := *regs
	if e.dirty = true; c.calls != nil {
		c.calls.open(e, st, t)
	}
	for native := uint64(0); ; {
		room := most
		if c.mayThin {
			room = min(room, int64(max(c.trial, uint64(c.slack))))
		}
		st.Room, st.Entry, st.Limit = room+int64(at.count), c.text+uintptr(at.entry), e.mem.Limit()
		if c.mayGoto {
			st.May = vm.MaxMayGoto
		}
		if c.saves != nil {
			c.begin(t, 0)
		}
		backendEnter(c.text, uintptr(unsafe.Pointer(st)))
		exit := st.Exit
		why, pc := plan.Reason(exit&(1<<plan.ReasonBits-1)), int(exit>>plan.ReasonBits)
		ran := uint64(room - st.Room + int64(c.slots[pc].count))
		native += ran
		if why != plan.Leave || st.Shut == plan.ShutLocked { // a lock that is held then is a mistake
			e.native += native
			t.Advance(pc, ran)
			e.after(c, t, why, ran)
			return true
		}
		if e.leftBlock(c, pc); c.mayThin {
			if c.trial -= min(c.trial, ran); c.trial == 0 {
				c.thread = nil // prepare continues
			}
		}
		gap, more := next(regs[0], ran+1)
		if !more {
			e.native += native
			if c.calls != nil {
				c.calls.book(e, c)
			}
			return false
		}
		st.Now += gap
		*regs = begin
		if t.Anew(); !e.stays(c, t) {
			e.native += native
			if c.calls != nil {
				c.calls.book(e, c)
			}
			return true // Run begins it
		}
	}
}

// stays reports whether code can be entered again after something that may have moved the bounds of
// memory.
func (e *Engine) stays(c *code, t *vm.Thread) bool {
	if now := e.mem.Epoch(); now != c.epoch {
		e.forget(c, now)
		c.epoch = now
	}
	return c.fits(e, t, 0) && e.last == c
}
