package verifier

import (
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/verifier/since"
)

func (e *env) bucket(i int) *(*state) {
	return &e.explored[uint32(i^e.frame().callsite)%uint32(len(e.insns))]
}

func (e *env) countPeak() {
	if e.r.scc {
		e.peakStates = max(e.peakStates, e.exploredCount+e.freeCount+e.backedges)
	}
}

// visited reports whether the current state was proved safe at instruction i already; otherwise it may keep it as a checkpoint
// (is_state_visited).
func (e *env) visited(i int) bool {
	cur := e.cur
	a := &e.aux[i]
	force := a.force || e.has(since.ForceCheckpointHistory) && historyLen(cur) > maxHistory
	add := force || e.jumps-e.lastJumps >= 2 && e.processed-e.lastProcessed >= 8
	head := e.bucket(i)
	if e.r.cleanCur {
		cur.insn = i
		e.cleanState(cur)
	}
	if !e.r.scc || !e.r.cleanCur {
		e.cleanExplored(*head, i)
	}
	count := 0
	var prev *state
	for s := *head; s != nil; {
		count++
		next := s.next
		if s.insn != i {
			prev, s = s, next
			continue
		}
		hit, loop := e.compare(s, i, force, &add)
		if hit {
			e.hit(s, loop)
			return true
		}
		if add {
			s.misses++
		}
		n := 3
		if e.has(since.MissLimit64) && a.force && s.branches > 0 {
			n = 64
		}
		if s.misses > s.hits*n+n {
			if prev == nil {
				*head = next
			} else {
				prev.next = next
			}
			e.evict(s)
		} else {
			prev = s
		}
		s = next
	}
	e.maxPerInsn = max(e.maxPerInsn, count)
	if add {
		e.checkpoint(i)
	} else if !e.r.jumpPoints {
		e.pushHistory(cur, 0, 0, 0, nil)
	}
	return false
}

// compare compares the current state with a kept one; loop says that the kept one is not finished.
func (e *env) compare(s *state, i int, force bool, add *bool) (hit, loop bool) {
	cur := e.cur
	a := &e.aux[i]
	if s.branches == 0 {
		if e.r.scc {
			loop = e.incompleteMarks(s)
		} else if l := e.loopEntry(s); l != nil && l.branches > 0 {
			loop = true
		}
		x := notExact
		if loop {
			x = rangeWithin
		}
		hit = e.statesEqual(s, cur, x)
		if hit && loop && !e.r.scc {
			e.updateLoopEntry(cur, e.loopEntry(s))
		}
		return hit, loop
	}
	f := s.frames[s.curFrame]
	infinite := true
	switch {
	case f.inAsync && f.asyncEntry != e.frame().asyncEntry:
		infinite = false
	case a.iterNext:
		if e.statesEqual(s, cur, e.loopExactness()) {
			r := e.reg(1)
			if r.typ == ptrStack {
				spi := int(-(r.offset())-1) / 8
				if e.funcOf(r).stack[spi].reg.istate == iterActive {
					if !e.r.scc {
						e.updateLoopEntry(cur, s)
					}
					return true, true
				}
			}
		}
		infinite = false
	case isMayGoto(&e.insns[i]):
		if s.mayGoto != cur.mayGoto && e.statesEqual(s, cur, rangeWithin) {
			if !e.r.scc {
				e.updateLoopEntry(cur, s)
			}
			return true, true
		}
	case a.callback:
		if e.statesEqual(s, cur, e.loopExactness()) {
			return true, e.has(since.CallbackLoops)
		}
		infinite = false
	}
	if infinite && maybeLooping(s, cur) && e.statesEqual(s, cur, exact) && !depthsDiffer(s, cur) && s.mayGoto == cur.mayGoto && s.unroll == cur.unroll {
		e.insn = i
		e.verbose("infinite loop detected at insn %d", i)
		e.log.states(e, cur, s)
		panic(refusal{uapi.EINVAL})
	}
	if !force && e.jumps-e.lastJumps < 20 && e.processed-e.lastProcessed < 100 {
		*add = false
	}
	return false, false
}

func (e *env) loopExactness() exactness {
	if e.rel >= since.R(6, 8) {
		return rangeWithin
	}
	return exact
}

// hit carries the demands of the kept state over to the current path.
func (e *env) hit(s *state, loop bool) {
	s.hits++
	if !e.r.static {
		e.propagateLiveness(s, e.cur)
	}
	if !e.r.jumpPoints || e.aux[e.insn].jump {
		e.pushHistory(e.cur, 0, 0, 0, nil)
	}
	e.propagatePrecision(s, e.cur, nil, e.insn)
	if loop && e.r.scc {
		b := e.newState()
		e.copyState(b, e.cur)
		b.equal, b.insn = s, e.insn
		e.addBackedge(s, b)
	}
}

func (e *env) evict(s *state) {
	if e.r.scc {
		s.inFree = true
		s.next = nil
		e.freeCount++
		e.exploredCount--
		e.maybeFree(s)
		return
	}
	if s.frames[0].regs[0].live&liveDone != 0 && !s.usedAsLoop {
		e.peakStates--
		e.freeState(s)
	} else {
		s.next = nil
		e.freeList = append(e.freeList, s)
	}
}

// checkpoint keeps the current state.
func (e *env) checkpoint(i int) {
	cur := e.cur
	e.totalStates++
	e.exploredCount++
	if e.r.scc {
		e.countPeak()
	} else {
		e.peakStates++
	}
	e.lastJumps, e.lastProcessed = e.jumps, e.processed
	if e.r.unpreciseCheckpoints {
		allImprecise(cur)
	}
	if e.r.singular {
		e.clearSingularIDs(cur)
	}
	n := e.newState()
	e.copyState(n, cur)
	n.insn = i
	n.misses, n.hits = 0, 0
	if e.r.scc {
		e.enterSCC(n)
	}
	cur.parent = n
	cur.first = i
	cur.dfsDepth = n.dfsDepth + 1
	cur.hist = nil
	if e.rel < since.R(6, 15) && e.r.converge {
		cur.loopEntry = nil
	}
	head := e.bucket(i)
	n.next = *head
	*head = n
	if e.r.static {
		return
	}
	for j := 0; j <= cur.curFrame; j++ {
		f, nf := cur.frames[j], n.frames[j]
		first := 0
		if j < cur.curFrame {
			first = 6
		}
		for r := first; r < 10; r++ {
			f.regs[r].parent = &nf.regs[r]
		}
		for r := 0; r < 10; r++ {
			f.regs[r].live = 0
		}
		for r := range f.stack {
			f.stack[r].reg.live = 0
			f.stack[r].reg.parent = &nf.stack[r].reg
		}
	}
}

// propagatePrecision demands of the path to cur what the kept state demands.
func (e *env) propagatePrecision(old, cur *state, changed *bool, last int) {
	b := &e.bt
	if !e.r.precise {
		e.propagatePrecisionOld(old)
		return
	}
	for fr := old.curFrame; fr >= 0; fr-- {
		f := old.frames[fr]
		for i := 0; i < 10; i++ {
			if r := &f.regs[i]; r.typ == scalar && r.precise && (e.r.static || r.live&liveRead != 0) {
				b.regs[fr] |= 1 << i
			}
		}
		for i := range f.stack {
			if s := &f.stack[i]; s.isScalarSpill() && s.reg.precise && (e.r.static || s.reg.live&liveRead != 0) {
				b.stacks[fr] |= 1 << i
			}
		}
	}
	b.frame = cur.curFrame
	e.markChain(cur, last, changed)
}

// cleanExplored forgets what is dead in the finished states of instruction i.
func (e *env) cleanExplored(s *state, i int) {
	for ; s != nil; s = s.next {
		if s.branches > 0 {
			continue
		}
		if e.r.scc {
			if s.insn != i || !sameCallsites(s, e.cur) {
				continue
			}
			if s.frames[0].regs[0].live&liveDone != 0 || e.incompleteMarks(s) {
				continue
			}
		} else {
			if l := e.loopEntry(s); l != nil && l.branches > 0 {
				continue
			}
			if s.insn != i || !sameCallsites(s, e.cur) || s.frames[0].regs[0].live&liveDone != 0 {
				continue
			}
		}
		e.cleanState(s)
	}
}

// cleanState makes registers and slots that nothing reads any more not initialised.
func (e *env) cleanState(s *state) {
	switch {
	case e.flow != nil:
		e.flow.query(e, s)
	case e.live != nil:
		e.live.query(e, s)
	}
	for i := 0; i <= s.curFrame; i++ {
		f := s.frames[i]
		live := uint16(0xffff)
		if e.r.liveRegs {
			live = e.aux[s.at(i)].live
		}
		for j := 0; j < 10; j++ {
			r := &f.regs[j]
			was := r.live
			if !e.r.cleanCur {
				r.live |= liveDone
			}
			dead := live>>j&1 == 0
			if !e.r.static {
				dead = was&liveRead == 0
			}
			if dead {
				r.notInit()
			}
		}
		for j := range f.stack {
			e.cleanSlot(s, f, i, j)
		}
	}
}

func (e *env) cleanSlot(s *state, f *frame, fr, j int) {
	sl := &f.stack[j]
	switch {
	case e.r.half:
		e.cleanHalves(sl, e.flow.alive(e, fr, 2*j), e.flow.alive(e, fr, 2*j+1))
	case e.r.static:
		sl.reg.live |= liveDone
		if !e.live.alive(e, fr, j) {
			sl.reg.notInit()
			sl.t = [8]uint8{}
		}
	default:
		was := sl.reg.live
		sl.reg.live |= liveDone
		if was&liveRead == 0 {
			sl.reg.notInit()
			sl.t = [8]uint8{}
		}
	}
}

// cleanHalves poisons the dead halves of a slot.
func (e *env) cleanHalves(sl *slot, lo, hi bool) {
	if lo && hi {
		return
	}
	start, end := 0, 8
	if lo {
		start = 4
	}
	if hi {
		end = 4
	}
	switch sl.t[7] {
	case slotDynptr, slotIter, slotIRQ:
		return
	}
	if !hi {
		if lo && sl.t[7] == slotSpill {
			if sl.reg.typ != scalar || sl.reg.isNull() {
				return
			}
			for i := 0; i < 4; i++ {
				if sl.t[i] == slotSpill {
					sl.t[i] = slotMisc
				}
			}
		}
		sl.reg.notInit()
	}
	for i := start; i < end; i++ {
		sl.t[i] = slotPoison
	}
}

// scalarSlots: a spilled scalar and bytes of any value are compared by what a load of them yields.
func (e *env) scalarSlots() bool { return e.rel >= since.R(6, 9) }

// findEntry is a kept state that the path of s went through at instruction i.
func (e *env) findEntry(s *state, i int) *state {
	for x := *e.bucket(i); x != nil; x = x.next {
		if x.insn == i && x.branches > 0 && sameCallsites(x, s) && x.dfsDepth < s.dfsDepth {
			return x
		}
	}
	return nil
}

// widen forgets scalars that changed since an earlier turn of a loop and whose value does not matter.
func (e *env) widen(old, cur *state) {
	e.idmap.reset(e.ids)
	for fr := old.curFrame; fr >= 0; fr-- {
		o, c := old.frames[fr], cur.frames[fr]
		for i := range o.regs {
			e.widenReg(&o.regs[i], &c.regs[i])
		}
		for i := 0; i < min(len(o.stack), len(c.stack)); i++ {
			if o.stack[i].isSpill() && c.stack[i].isSpill() {
				e.widenReg(&o.stack[i].reg, &c.stack[i].reg)
			}
		}
	}
}

func (e *env) widenReg(o, c *reg) {
	if o.typ != scalar || c.typ != scalar || o.precise || c.precise || e.exactRegs(o, c) {
		return
	}
	c.unknown()
}
