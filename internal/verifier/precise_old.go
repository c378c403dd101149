package verifier

import "github.com/bpfrun/bpfrun/internal/uapi/since"

// Precision tracking as in releases before 6.5: within one frame, and only through whole stack
// slots addressed by r10.

// preciseOld marks a register, or a spilled one, as precise (__mark_chain_precision of 5.10 to
// 6.4).
// Later ones of these releases leave the current state alone, so that fewer marks get into
// checkpoints that are made from it.
func (t *precision) preciseOld(r, spi int) { t.markOld(t.cur.curFrame, r, spi) }

// markOld marks a register, or a slot, and follows it back from checkpoint to checkpoint.
func (t *precision) markOld(fr, r, spi int) {
	s := t.cur
	first, last := s.first, t.insn
	f := s.frames[fr]
	var regs uint32
	var stack uint64
	isNew := false
	if r >= 0 {
		x := &f.regs[r]
		if !t.r.unpreciseCheckpoints {
			if !x.precise {
				isNew = true
			}
			x.precise = true
		} else {
			isNew = true
		}
		regs = 1 << r
	}
	if spi >= 0 {
		if !f.stack[spi].isScalarSpill() && !(f.stack[spi].t[0] == slotSpill && f.stack[spi].reg.typ == scalar) {
			return
		}
		x := &f.own(spi).reg
		if !t.r.unpreciseCheckpoints {
			if !x.precise {
				isNew = true
			}
			x.precise = true
		} else {
			isNew = true
		}
		stack = 1 << spi
	}
	if !isNew || regs == 0 && stack == 0 {
		return
	}
	skip := true
	for {
		// The path begins here: what is left are arguments (see startOld).
		if t.r.unpreciseCheckpoints && last < 0 {
			t.startOld(s, regs, stack)
			return
		}
		if t.historyOld(s.hist, first, last, skip, &regs, &stack) == backGiveUp {
			t.allPreciseOld()
			return
		}
		if regs == 0 && stack == 0 {
			return
		}
		skip = false
		// What the state itself did not set, it found in its parent.
		s = s.parent
		if s == nil {
			return
		}
		// The frame did not exist yet: nothing from before it can matter.
		if fr > s.curFrame {
			return
		}
		isNew, ok := t.markFrameOld(s.frames[fr], &regs, &stack)
		if !ok {
			t.allPreciseOld()
			return
		}
		// Nothing new means that a walk has been here before.
		if regs == 0 && stack == 0 || !t.r.unpreciseCheckpoints && !isNew {
			return
		}
		last, first = s.last, s.first
	}
}

// historyOld goes back over the instructions of one state, until nothing is left in the set.
func (t *precision) historyOld(h *hist, first, last int, skip bool, regs *uint32, stack *uint64) backResult {
	for i := last; ; {
		if skip {
			skip = false
		} else if t.backOld(i, regs, stack) == backGiveUp {
			return backGiveUp
		}
		if *regs == 0 && *stack == 0 {
			return backOK
		}
		// A state may return to its first instruction before it ends.
		if i == first && (h == nil || h.prev == nil && int(h.idx) == i) {
			return backOK
		}
		p := i - 1
		if h != nil && int(h.idx) == i {
			p = int(h.prevIdx)
			h = h.prev
		}
		i = p
		if i < 0 || i >= len(t.insns) {
			t.bug("backtracking idx %d", i)
		}
	}
}

// markFrameOld marks the set in a frame of a checkpoint, and says whether any mark is new; not ok
// if a slot of the set is beyond the frame's stack.
func (t *precision) markFrameOld(f *frame, regs *uint32, stack *uint64) (isNew, ok bool) {
	for i := 0; i < 10; i++ {
		if *regs>>i&1 == 0 {
			continue
		}
		x := &f.regs[i]
		// A pointer is compared exactly, whether it is marked or not.
		if x.typ != scalar {
			*regs &^= 1 << i
			continue
		}
		if !x.precise {
			isNew = true
		} else if t.r.unpreciseCheckpoints {
			*regs &^= 1 << i
		}
		x.precise = true
	}
	for i := 0; i < 64; i++ {
		if *stack>>i&1 == 0 {
			continue
		}
		// The slot was reached through another register, which these releases do not follow.
		if i >= len(f.stack) {
			return isNew, false
		}
		sl := f.stack[i]
		if sl.t[0] != slotSpill && sl.t[7] != slotSpill || sl.reg.typ != scalar {
			*stack &^= 1 << i
			continue
		}
		if !sl.reg.precise {
			isNew = true
		} else if t.r.unpreciseCheckpoints {
			*stack &^= 1 << i
		}
		f.own(i).reg.precise = true
	}
	return isNew, true
}

// startOld handles registers that are arguments of a function verified on its own.
func (t *precision) startOld(s *state, regs uint32, stack uint64) {
	if s.curFrame == 0 && s.frames[0].sub > 0 && stack == 0 && regs&^argRegs == 0 {
		for i := 1; i <= 5; i++ {
			if regs>>i&1 != 0 && s.frames[0].regs[i].typ == scalar {
				s.frames[0].regs[i].precise = true
			}
		}
	}
}

// allPreciseOld marks all numbers, where a walk cannot go on (mark_all_scalars_precise).
func (t *precision) allPreciseOld() {
	for s := t.cur; s != nil; s = s.parent {
		if t.r.unpreciseCheckpoints && s == t.cur {
			continue
		}
		for i := 0; i <= s.curFrame; i++ {
			f := s.frames[i]
			for j := 0; j < 10; j++ {
				if f.regs[j].typ == scalar {
					f.regs[j].precise = true
				}
			}
			for j := range f.stack {
				if s := f.stack[j]; s.reg.typ == scalar && !s.reg.precise && (s.t[0] == slotSpill || s.t[7] == slotSpill) {
					f.own(j).reg.precise = true
				}
			}
		}
	}
}

// tracksParts: spills of less than 8 bytes are tracked.
func (t *precision) tracksParts() bool {
	return t.has(since.SmallSpillTracking)
}

// backOld updates the set from the state after an instruction to the state before it
// (backtrack_insn). These releases follow no calls.
func (t *precision) backOld(i int, regs *uint32, stack *uint64) backResult {
	in := &t.insns[i]
	dst, src := uint32(1)<<in.Dst, uint32(1)<<in.Src
	if in.Code == 0 {
		return backOK
	}
	switch class(in) {
	case clsALU, clsALU64:
		if *regs&dst == 0 {
			return backOK
		}
		switch {
		case opOf(in) == opMov:
			// What is moved matters in the place of what it is moved to.
			*regs &^= dst
			if isX(in) {
				*regs |= src
			}
		case isX(in):
			// Both operands go into the result.
			*regs |= src
		}
	case clsLDX:
		if *regs&dst == 0 {
			return backOK
		}
		*regs &^= dst
		// Other memory ends the walk, and so does a spill that these releases do not track.
		if in.Src != 10 || !t.tracksParts() && sizeOf(in) != 8 {
			return backOK
		}
		spi := (-int(in.Off) - 1) / 8
		if spi >= 64 {
			return backGiveUp
		}
		*stack |= 1 << spi
	case clsSTX, clsST:
		// An address that is to be exact came from a difference of pointers.
		if *regs&dst != 0 {
			return backGiveUp
		}
		if in.Dst != 10 || !t.tracksParts() && sizeOf(in) != 8 {
			return backOK
		}
		spi := (-int(in.Off) - 1) / 8
		if spi >= 64 {
			return backGiveUp
		}
		if *stack>>spi&1 == 0 {
			return backOK
		}
		*stack &^= 1 << spi
		if class(in) == clsSTX {
			*regs |= src
		}
	case clsJMP, clsJMP32:
		switch {
		case opOf(in) == opCall:
			if in.Src == 1 {
				return backGiveUp
			}
			// A callback may have run here, which is not followed.
			if t.isSyncCallback(in, i) {
				return backGiveUp
			}
			*regs &^= 1
			if *regs&0x3f != 0 {
				t.bug("backtracking call unexpected regs %x", *regs)
			}
		case opOf(in) == opExit:
			// These releases do not go back into functions, and mark everything instead.
			return backGiveUp
		case isX(in) && opOf(in) != opJA:
			if *regs&(dst|src) != 0 && t.has(since.ComparesBack) {
				*regs |= dst | src
			}
		}
	case clsLD:
		if *regs&dst == 0 {
			return backOK
		}
		*regs &^= dst
		if m := mode(in); m == modeIND || m == modeABS {
			return backGiveUp
		}
	}
	return backOK
}

// propagatePrecisionOld applies the precision marks of a kept state to the path to the current
// state (propagate_precision): what the rest of that path relied on, this path must provide.
func (t *precision) propagatePrecisionOld(old *state) {
	// Marks on what nothing reads any more are only cost.
	unread := !t.has(since.UnreadPrecision) && !t.r.unpreciseCheckpoints
	frames := []int{old.curFrame}
	if t.r.unpreciseCheckpoints {
		frames = frames[:0]
		for fr := old.curFrame; fr >= 0; fr-- {
			frames = append(frames, fr)
		}
	}
	for _, fr := range frames {
		f := old.frames[fr]
		for i := 0; i < 10; i++ {
			if r := &f.regs[i]; r.typ == scalar && r.precise && (r.live&liveRead != 0 || unread) {
				t.markOld(fr, i, -1)
			}
		}
		for i := range f.stack {
			if s := f.stack[i]; (s.t[0] == slotSpill || s.t[7] == slotSpill) && s.reg.typ == scalar && s.reg.precise && (f.uses[i]&liveRead != 0 || unread) {
				t.markOld(fr, -1, i)
			}
		}
	}
}
