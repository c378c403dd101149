package verifier

import "github.com/bpfrun/bpfrun/internal/uapi/since"

// cleanExplored clears what is dead in the finished states of instruction i (clean_live_states).
// What no path from there reads cannot make a later state unsafe, so clearing it lets more states
// match.
func (p *checkpoints) cleanExplored(s *state, i int) {
	for ; s != nil; s = s.next {
		// Paths from it are still being explored, and may read more.
		if s.branches > 0 {
			continue
		}
		if p.r.scc {
			if s.insn != i || !sameCallsites(s, p.cur) {
				continue
			}
			// Inside a loop, marks are complete once all paths that go round it have passed theirs
			// on (incomplete_read_marks).
			if s.frames[0].regs[0].live&liveDone != 0 || p.incompleteMarks(s) {
				continue
			}
		} else {
			if l := p.loopEntry(s); l != nil && l.branches > 0 {
				continue
			}
			if s.insn != i || !sameCallsites(s, p.cur) || s.frames[0].regs[0].live&liveDone != 0 {
				continue
			}
		}
		p.cleanState(s)
	}
}

// cleanState marks registers and slots that are never read again as uninitialised
// (clean_verifier_state). regsafe and stacksafe take uninitialised places of a kept state as equal
// to anything.
func (p *checkpoints) cleanState(s *state) {
	switch {
	case p.liveness.flow != nil:
		// What is live was computed before exploration (7.1) or is collected during it (6.18).
		p.liveness.flow.query(p.position, s)
	case p.liveness.live != nil:
		p.liveness.live.query(p.position, s)
	}
	for i := 0; i <= s.curFrame; i++ {
		f := s.frames[i]
		live := uint16(0xffff)
		if p.r.liveRegs {
			live = p.aux[s.at(i)].live
		}
		for j := 0; j < 10; j++ {
			r := &f.regs[j]
			was := r.live
			if !p.r.cleanCur {
				r.live |= liveDone
			}
			dead := live>>j&1 == 0
			if !p.r.static {
				// Older releases mark reads in the states themselves (mark_reg_read).
				dead = was&liveRead == 0
			}
			if dead {
				r.notInit()
			}
		}
		for j := range f.stack {
			p.cleanSlot(f, i, j)
		}
	}
}

// cleanSlot clears a dead slot: by halves where the analysis has them, as a whole by the marks of
// states or the analysis of 6.18 (__clean_func_state).
func (p *checkpoints) cleanSlot(f *frame, fr, j int) {
	switch {
	case p.r.half:
		p.cleanHalves(f, j, p.liveness.flow.alive(p.position, fr, 2*j), p.liveness.flow.alive(p.position, fr, 2*j+1))
	case p.r.static:
		if !p.liveness.live.alive(p.position, fr, j) {
			f.replace(j, clearedSlot)
		}
	default:
		was := f.uses[j]
		f.uses[j] |= liveDone
		if was&liveRead == 0 {
			f.replace(j, clearedSlot)
		}
	}
}

// cleanHalves poisons the dead halves of a slot (__clean_func_state).
func (p *checkpoints) cleanHalves(f *frame, j int, lo, hi bool) {
	sl := f.stack[j]
	if lo && hi || sl == poisonedSlot {
		return
	}
	start, end := 0, 8
	if lo {
		start = 4
	}
	if hi {
		end = 4
	}
	// Overwriting these must still be noticed: it would end their objects or invalidate what points
	// into them.
	switch sl.t[7] {
	case slotDynptr, slotIter, slotIRQ:
		return
	}
	if !hi {
		// With its upper half dead, a spilled number is four bytes of any value. A pointer stays
		// whole, so that a load of half of it is still refused, and so does a known 0.
		if lo && sl.t[7] == slotSpill {
			null := sl.reg.isNull()
			if sl.reg.typ != scalar && p.has(since.HalfPointers) || null && p.has(since.HalfZeros) {
				return
			}
			rest := uint8(slotMisc)
			if null {
				rest = slotZero
			}
			sl = f.own(j)
			for i := 0; i < 4; i++ {
				if sl.t[i] == slotSpill {
					sl.t[i] = rest
				}
			}
		}
		if !lo {
			f.replace(j, poisonedSlot)
			return
		}
		sl = f.own(j)
		sl.reg.notInit()
	}
	dead := true
	for _, t := range sl.t[start:end] {
		dead = dead && t == slotPoison
	}
	if dead {
		return
	}
	sl = f.own(j)
	for i := start; i < end; i++ {
		sl.t[i] = slotPoison
	}
}

// scalarSlots reports whether a spilled scalar and bytes of any value are compared by what loading
// them yields.
func (p *checkpoints) scalarSlots() bool { return p.has(since.SlotsAsScalars) }
