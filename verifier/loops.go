package verifier

// sccInfo holds the visits of a loop: one for each chain of calls that led to it.
type sccInfo struct{ visits []*sccVisit }

// sccVisit is one visit of a loop.
type sccVisit struct {
	chain     callchain
	entry     *state
	backedges []*state
}

// callchain is the calls that lead to a loop, and its number.
type callchain struct {
	sites [maxFrames]int
	scc   uint32
}

// chainOf is the chain of calls to the outermost loop a state is in.
func (e *env) chainOf(s *state) (c callchain, ok bool) {
	for i := 0; i <= s.curFrame; i++ {
		at := s.at(i)
		if n := e.aux[at].scc; n != 0 {
			c.scc = n
			return c, true
		}
		if i == s.curFrame {
			break
		}
		c.sites[i] = at
	}
	return c, false
}

func (e *env) visitOf(c *callchain) *sccVisit {
	for _, v := range e.sccs[c.scc].visits {
		if v.chain == *c {
			return v
		}
	}
	return nil
}

func (e *env) enterSCC(s *state) {
	c, ok := e.chainOf(s)
	if !ok {
		return
	}
	v := e.visitOf(&c)
	if v == nil {
		v = &sccVisit{chain: c}
		e.sccs[c.scc].visits = append(e.sccs[c.scc].visits, v)
	}
	if v.entry == nil {
		v.entry = s
	}
}

func (e *env) exitSCC(s *state) {
	c, ok := e.chainOf(s)
	if !ok {
		return
	}
	v := e.visitOf(&c)
	if v == nil {
		e.bug("scc exit: no visit info for call chain")
	}
	if v.entry != s {
		return
	}
	v.entry = nil
	e.backedges -= len(v.backedges)
	e.countPeak()
	e.propagateBackedges(v)
}

func (e *env) addBackedge(s, back *state) {
	c, ok := e.chainOf(s)
	v := (*sccVisit)(nil)
	if ok {
		v = e.visitOf(&c)
	}
	if v == nil {
		e.bug("add backedge: no visit info")
	}
	v.backedges = append(v.backedges, back)
	e.backedges++
	e.countPeak()
}

// incompleteMarks: the loop a state is in is not explored to its end.
func (e *env) incompleteMarks(s *state) bool {
	c, ok := e.chainOf(s)
	if !ok {
		return false
	}
	v := e.visitOf(&c)
	return v != nil && len(v.backedges) > 0
}

const maxBackedgeTurns = 64

// propagateBackedges carries demands along the back edges of a loop until nothing changes.
func (e *env) propagateBackedges(v *sccVisit) {
	changed := true
	for n := 0; changed; n++ {
		if n > maxBackedgeTurns {
			for _, b := range v.backedges {
				e.allPrecise(b)
			}
			break
		}
		changed = false
		// The kernel's list has the newest first.
		for i := len(v.backedges) - 1; i >= 0; i-- {
			b := v.backedges[i]
			if !e.r.static {
				e.propagateLivenessChanged(b.equal, b, &changed)
			}
			e.propagatePrecision(b.equal, b, &changed, b.insn)
		}
	}
	for _, b := range v.backedges {
		e.freeState(b)
	}
	v.backedges = nil
}

// maybeFree gives an evicted state back when nothing refers to it.
func (e *env) maybeFree(s *state) {
	if !s.inFree || s.branches != 0 || e.incompleteMarks(s) {
		return
	}
	s.inFree = false
	e.freeCount--
	e.freeState(s)
}

// finish counts a path as explored to its end, and its checkpoints as far as nothing of them is pending.
func (e *env) finish(s *state) {
	var sl *state
	for s != nil {
		s.branches--
		if s.branches == 0 && !e.r.scc && s.parent != nil && s.loopEntry != nil {
			e.updateLoopEntry(s.parent, s.loopEntry)
		}
		if s.branches > 0 {
			break
		}
		if e.r.scc {
			e.exitSCC(s)
		}
		parent := s.parent
		if e.r.scc && sl != nil {
			e.maybeFree(sl)
		}
		s = parent
		sl = parent
	}
}

// loopEntry is the topmost entry of the loop a state is in; releases before 6.17.
func (e *env) loopEntry(s *state) *state {
	top := s.loopEntry
	for top != nil && top.loopEntry != nil && top != top.loopEntry {
		top = top.loopEntry
	}
	for s != nil && s.loopEntry != top {
		old := s.loopEntry
		s.loopEntry = top
		s = old
	}
	return top
}

func (e *env) updateLoopEntry(cur, hdr *state) {
	if !e.r.converge {
		return
	}
	c, h := e.loopEntry(cur), e.loopEntry(hdr)
	if c == nil {
		c = cur
	}
	if h == nil {
		h = hdr
	}
	if h.branches > 0 && h.dfsDepth <= c.dfsDepth {
		cur.loopEntry = hdr
		hdr.usedAsLoop = true
	}
}
