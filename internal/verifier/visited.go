package verifier

import (
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// bucket returns the list of kept states for an instruction (explored_state). Calls from different
// places meet in different lists.
func (p *checkpoints) bucket(i int) *(*state) {
	return &p.explored[uint32(i^p.frame().callsite)%uint32(len(p.insns))]
}

// countPeak notes the greatest number of states in memory (update_peak_states).
func (p *checkpoints) countPeak() {
	if p.r.scc {
		p.peakStates = max(p.peakStates, p.exploredCount+p.freeCount+p.backedges)
	}
}

// visited reports whether the current state was already proved safe at instruction i; otherwise it
// may keep it as a checkpoint (is_state_visited).
func (p *checkpoints) visited(i int) bool {
	cur := p.cur
	a := &p.aux[i]
	// Without a state at such an instruction a loop would not end; and a history without end would
	// make backtracking slow.
	force := a.force || p.has(since.ForceCheckpointHistory) && historyLen(cur) > maxHistory
	// A state at each place would cost more than it saves: two jumps and eight instructions since
	// the last one are the kernel's rule of thumb.
	add := force || p.jumps-p.lastJumps >= 2 && p.processed-p.lastProcessed >= 8
	head := p.bucket(i)
	// Dead registers and slots of the current state would keep it apart from others for nothing.
	if p.r.cleanCur {
		cur.insn = i
		p.cleanState(cur)
	}
	if !p.r.scc || !p.r.cleanCur {
		p.cleanExplored(*head, i)
	}
	count := 0
	var prev *state
	s := *head
	if p.o.follow != nil && p.o.follow.active {
		s = nil
	}
	for s != nil {
		count++
		next := s.next
		// The list is of all instructions with the same hash.
		if s.insn != i {
			prev, s = s, next
			continue
		}
		hit, loop := p.compare(s, i, force, &add)
		if hit {
			p.hit(s, loop)
			return true
		}
		// States that are met often in a loop before another is kept have not missed.
		if add {
			s.misses++
		}
		n := 3
		// Few states are kept there while the loop is explored, and one of them must be met again.
		if p.has(since.MissLimit64) && a.force && s.branches > 0 {
			n = 64
		}
		// A state that rarely ends a path only costs comparisons.
		if s.misses > s.hits*n+n {
			if prev == nil {
				*head = next
			} else {
				prev.next = next
			}
			p.evict(s)
		} else {
			prev = s
		}
		s = next
	}
	p.maxPerInsn = max(p.maxPerInsn, count)
	if c := p.o.Costs; c != nil {
		p.missed(c, i)
	}
	if add {
		p.checkpoint(i)
	} else if !p.r.jumpPoints {
		p.precision.pushHistory(cur, 0, 0, 0, nil)
	}
	return false
}

// compare compares the current state with a kept one; loop means that the kept one is not finished.
// An unfinished state, on the current path, is no proof yet: the same state again is a loop, which
// is endless unless something that is not in the state makes progress.
func (p *checkpoints) compare(s *state, i int, force bool, add *bool) (hit, loop bool) {
	cur := p.cur
	a := &p.aux[i]
	// All paths from it ended well.
	if s.branches == 0 {
		if p.r.scc {
			loop = p.incompleteMarks(s)
		} else if l := p.loopEntry(s); l != nil && l.branches > 0 {
			loop = true
		}
		x := notExact
		if loop {
			x = p.loopExactness()
		}
		hit = p.statesEqual(s, cur, x)
		if hit && loop && !p.r.scc {
			p.updateLoopEntry(cur, p.loopEntry(s))
		}
		return hit, loop
	}
	f := s.frames[s.curFrame]
	infinite := true
	switch {
	case f.inAsync && f.asyncEntry != p.frame().asyncEntry:
		// Another call of a callback is no loop, and the first one is no proof.
		infinite = false
	case a.iterNext:
		// A round of an iterator's loop that begins like an earlier one adds nothing: the iterator
		// ends it.
		if p.statesEqual(s, cur, p.loopExactness()) {
			r := p.reg(1)
			if r.typ == ptrStack {
				spi := int(-(r.offset())-1) / 8
				// At its end the iterator is left, and comes here no more.
				if p.funcOf(r).stack[spi].reg.istate == iterActive {
					if !p.r.scc {
						p.updateLoopEntry(cur, s)
					}
					return true, true
				}
			}
		}
		infinite = false
	case isMayGoto(&p.insns[i]):
		// The counter that the kernel adds ends the loop.
		if s.mayGoto != cur.mayGoto && p.statesEqual(s, cur, rangeWithin) {
			if !p.r.scc {
				p.updateLoopEntry(cur, s)
			}
			return true, true
		}
	case a.callback:
		// The helper ends the loop of callbacks.
		if p.statesEqual(s, cur, p.loopExactness()) {
			return true, p.has(since.CallbackLoops)
		}
		infinite = false
	}
	x := notExact
	if p.has(since.LoopsByRange) {
		x = exact
	}
	// Exactly the same state: nothing will change in the next round.
	if infinite && maybeLooping(s, cur) && p.statesEqual(s, cur, x) && !depthsDiffer(s, cur) && s.mayGoto == cur.mayGoto && s.unroll == cur.unroll {
		p.insn = i
		p.say(refusal.InfiniteLoopDetectedInsn, i)
		p.log.states(p.position, cur, s)
		panic(refused{uapi.EINVAL})
	}
	// States of a loop's rounds differ by a counter, so that few of them are kept; the numbers
	// bound both the memory and the length of a path to an endless loop.
	if !force && p.jumps-p.lastJumps < 20 && p.processed-p.lastProcessed < 100 {
		*add = false
	}
	return false, false
}

// loopExactness is how exactly a state must meet an unfinished one. What a loop relies on is not
// fully marked yet, so that all of it counts; later releases let ranges be narrower.
func (p *checkpoints) loopExactness() exactness {
	if p.has(since.LoopsByRange) {
		return rangeWithin
	}
	return exact
}

// hit applies the precision and liveness marks of the kept state to the current path: what the rest
// of the kept path needed, it needs as well.
func (p *checkpoints) hit(s *state, loop bool) {
	s.hits++
	if !p.r.static {
		p.liveness.propagateLiveness(s, p.cur)
	}
	// The jump that led here is part of the path that precision is followed back on.
	if !p.r.jumpPoints || p.aux[p.insn].jump {
		p.precision.pushHistory(p.cur, 0, 0, 0, nil)
	}
	p.propagatePrecision(s, p.cur, nil, p.insn)
	// The kept state's marks are incomplete: they are applied again when its loop is explored.
	if loop && p.r.scc {
		b := p.pool.newState()
		p.pool.copyState(b, p.cur)
		b.equal, b.insn = s, p.insn
		p.addBackedge(s, b)
	}
}

// evict takes a state out of the list. Later states may have it as their parent, so that it stays
// in memory until they are done.
func (p *checkpoints) evict(s *state) {
	if p.r.scc {
		s.inFree = true
		s.next = nil
		p.freeCount++
		p.exploredCount--
		p.maybeFree(s)
		return
	}
	if s.frames[0].regs[0].live&liveDone != 0 && !s.usedAsLoop {
		p.peakStates--
		p.pool.freeState(s)
	} else {
		s.next = nil
		p.freeList = append(p.freeList, s)
	}
}

// checkpoint keeps the current state (is_state_visited). The path goes on in the original, with the
// copy as its parent.
func (p *checkpoints) checkpoint(i int) {
	cur := p.cur
	p.totalStates++
	p.exploredCount++
	if p.r.scc {
		p.countPeak()
	} else {
		p.peakStates++
	}
	p.lastJumps, p.lastProcessed = p.jumps, p.processed
	if p.o.Costs != nil {
		p.o.Costs.kept(p.position, i)
	}
	// What follows will find out what must be precise from here on.
	if p.r.unpreciseCheckpoints {
		allImprecise(cur)
	}
	if p.r.singular {
		p.clearSingularIDs(cur)
	}
	n := p.pool.newState()
	p.pool.copyState(n, cur)
	n.insn = i
	n.misses, n.hits = 0, 0
	if p.r.scc {
		p.enterSCC(n)
	}
	cur.parent = n
	cur.first = i
	cur.dfsDepth = n.dfsDepth + 1
	// The history before is the parent's.
	cur.hist = nil
	if !p.has(since.LoopEntryKept) && p.r.converge {
		cur.loopEntry = nil
	}
	head := p.bucket(i)
	n.next = *head
	*head = n
	if p.r.static {
		return
	}
	// Reads from here on are marked in the copy, as far as they are of what it has. R0 to R5 of
	// callers are not read again.
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
		clear(f.uses)
		f.before, f.common = nf, len(f.stack)
	}
}

// propagatePrecision applies the precision marks of the kept state to the path to cur
// (propagate_precision).
func (p *checkpoints) propagatePrecision(old, cur *state, changed *bool, last int) {
	b := &p.precision.bt
	if !p.r.precise {
		p.precision.propagatePrecisionOld(old)
		return
	}
	for fr := old.curFrame; fr >= 0; fr-- {
		f := old.frames[fr]
		for i := 0; i < 10; i++ {
			if r := &f.regs[i]; r.typ == scalar && r.precise && (p.r.static || r.live&liveRead != 0) {
				b.regs[fr] |= 1 << i
			}
		}
		for i := range f.stack {
			if s := f.stack[i]; s.isScalarSpill() && s.reg.precise && (p.r.static || f.uses[i]&liveRead != 0) {
				b.stacks[fr] |= 1 << i
			}
		}
		p.log.propagates(b, fr)
	}
	b.frame = cur.curFrame
	p.precision.markChain(cur, last, changed)
}

// findEntry returns a kept state at instruction i that the path of s passed through
// (find_prev_entry).
func (p *checkpoints) findEntry(s *state, i int) *state {
	for x := *p.bucket(i); x != nil; x = x.next {
		if x.insn == i && x.branches > 0 && sameCallsites(x, s) && x.dfsDepth < s.dfsDepth {
			return x
		}
	}
	return nil
}

// widen forgets scalars that changed since an earlier iteration of a loop and whose value does not
// matter (widen_imprecise_scalars). Should it matter later, the walk back marks it, and states are
// compared with it.
func (p *checkpoints) widen(old, cur *state) {
	p.idmap.reset(p.ids)
	for fr := old.curFrame; fr >= 0; fr-- {
		o, c := old.frames[fr], cur.frames[fr]
		for i := range o.regs {
			if p.widens(&o.regs[i], &c.regs[i]) {
				c.regs[i].unknown()
			}
		}
		for i := 0; i < min(len(o.stack), len(c.stack)); i++ {
			if o.stack[i].isSpill() && c.stack[i].isSpill() {
				if p.widens(&o.stack[i].reg, &c.stack[i].reg) {
					c.own(i).reg.unknown()
				}
			}
		}
	}
}

// widens reports a number that changed and decided nothing (maybe_widen_reg). From 7.0 on another
// identity alone is no change.
func (p *checkpoints) widens(o, c *reg) bool {
	if o.typ != scalar || c.typ != scalar || o.precise || c.precise {
		return false
	}
	if p.has(since.WidenByValue) {
		return o.value != c.value
	}
	return !p.exactRegs(o, c)
}

// clearSingularIDs drops identities that only one scalar has (clear_singular_ids): they link it to
// nothing, and would keep states apart.
func (p *checkpoints) clearSingularIDs(s *state) {
	count := map[uint32]int{}
	linked := func(r *reg) bool { return r.typ == scalar && r.id != 0 }
	s.eachReg(spillMask, func(r *reg) bool {
		if linked(r) {
			count[r.id&^addConst]++
		}
		return false
	}, nil)
	s.eachReg(spillMask, func(r *reg) bool { return linked(r) && count[r.id&^addConst] == 1 }, (*reg).clearID)
}

// forget drops all states.
func (p *checkpoints) forget() {
	clear(p.explored)
	p.freeList = nil
	for i := range p.sccs {
		p.sccs[i].visits = nil
	}
}
