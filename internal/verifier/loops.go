package verifier

import (
	"fmt"
	"strings"
)

// sccInfo holds the visits of a loop: one for each chain of calls that leads to it. In each the
// loop starts with other states, and is explored anew (struct bpf_scc_info).
type sccInfo struct{ visits []*sccVisit }

// sccVisit is one visit of a loop (struct bpf_scc_visit): the state with which it was entered, and
// the states that ended because they were like an earlier one of the loop.
type sccVisit struct {
	chain     callchain
	entry     *state
	backedges []*state
}

// callchain is the chain of calls that leads to a loop, and the loop's number.
type callchain struct {
	sites [maxFrames]int
	scc   uint32
}

// String formats the chain as the kernel's log does.
func (c *callchain) String() string {
	var b strings.Builder
	for _, at := range c.sites {
		if at == 0 {
			break
		}
		fmt.Fprintf(&b, "%d,", at)
	}
	return fmt.Sprintf("(%s%d)", b.String(), c.scc)
}

// chainOf returns the chain of calls to the outermost loop that contains a state
// (compute_scc_callchain).
func (p *checkpoints) chainOf(s *state) (c callchain, ok bool) {
	for i := 0; i <= s.curFrame; i++ {
		at := s.at(i)
		if n := p.aux[at].scc; n != 0 {
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

// visitOf returns the visit of a chain (scc_visit_lookup).
func (p *checkpoints) visitOf(c *callchain) *sccVisit {
	for _, v := range p.sccs[c.scc].visits {
		if v.chain == *c {
			return v
		}
	}
	return nil
}

// enterSCC notes the first state of a loop (maybe_enter_scc).
func (p *checkpoints) enterSCC(s *state) {
	c, ok := p.chainOf(s)
	if !ok {
		return
	}
	v := p.visitOf(&c)
	if v == nil {
		v = &sccVisit{chain: c}
		p.sccs[c.scc].visits = append(p.sccs[c.scc].visits, v)
	}
	if v.entry == nil {
		v.entry = s
		p.log.loop("enter", &c)
	}
}

// exitSCC completes the marks of a loop's states, once all paths from its first state are explored
// (maybe_exit_scc).
func (p *checkpoints) exitSCC(s *state) {
	c, ok := p.chainOf(s)
	if !ok {
		return
	}
	v := p.visitOf(&c)
	if v == nil {
		p.bug("scc exit: no visit info for call chain %s", &c)
	}
	if v.entry != s {
		return
	}
	p.log.loop("exit", &c)
	v.entry = nil
	p.backedges -= len(v.backedges)
	p.countPeak()
	p.propagateBackedges(v)
}

// addBackedge keeps a state that goes on as an earlier one of the loop (add_scc_backedge). What
// that one needs is not complete yet: paths from it are still explored.
func (p *checkpoints) addBackedge(s, back *state) {
	c, ok := p.chainOf(s)
	v := (*sccVisit)(nil)
	if ok {
		v = p.visitOf(&c)
	}
	if v == nil {
		p.bug("add backedge: no visit info for call chain %s", &c)
	}
	p.log.loop("backedge", &c)
	v.backedges = append(v.backedges, back)
	p.backedges++
	p.countPeak()
}

// incompleteMarks reports whether the loop that contains a state has not been fully explored
// (incomplete_read_marks). Until then other states must be within its ranges, marked or not.
func (p *checkpoints) incompleteMarks(s *state) bool {
	c, ok := p.chainOf(s)
	if !ok {
		return false
	}
	v := p.visitOf(&c)
	return v != nil && len(v.backedges) > 0
}

// maxBackedgeTurns bounds the work (MAX_BACKEDGE_ITERS): after that everything is precise, which is
// safe.
const maxBackedgeTurns = 64

// propagateBackedges propagates precision marks along the back edges of a loop until nothing
// changes (propagate_backedges): a mark found on the second round may need others on the first.
func (p *checkpoints) propagateBackedges(v *sccVisit) {
	changed := true
	for n := 0; changed; n++ {
		if n > maxBackedgeTurns {
			for _, b := range v.backedges {
				p.precision.allPrecise(b)
			}
			break
		}
		changed = false
		// The kernel's list is newest first.
		for i := len(v.backedges) - 1; i >= 0; i-- {
			b := v.backedges[i]
			if !p.r.static {
				p.liveness.propagateLivenessChanged(b.equal, b, &changed)
			}
			p.propagatePrecision(b.equal, b, &changed, b.insn)
		}
	}
	for _, b := range v.backedges {
		p.pool.freeState(b)
	}
	v.backedges = nil
}

// maybeFree frees an evicted state when nothing refers to it (maybe_free_verifier_state).
func (p *checkpoints) maybeFree(s *state) {
	if !s.inFree || s.branches != 0 || p.incompleteMarks(s) {
		return
	}
	s.inFree = false
	p.freeCount--
	p.pool.freeState(s)
}

// finish marks a path as fully explored, and its checkpoints too if none of their paths is pending
// (update_branch_counts). A state without pending paths is proved safe and may end others.
func (p *checkpoints) finish(s *state) {
	var sl *state
	for s != nil {
		s.branches--
		// A checkpoint between is in the loop as well.
		if s.branches == 0 && !p.r.scc && s.parent != nil && s.loopEntry != nil {
			p.updateLoopEntry(s.parent, s.loopEntry)
		}
		if s.branches > 0 {
			break
		}
		if p.r.scc {
			p.exitSCC(s)
		}
		parent := s.parent
		if p.r.scc && sl != nil {
			p.maybeFree(sl)
		}
		s = parent
		sl = parent
	}
}

// loopEntry returns the topmost entry of the loop that contains a state; releases before 6.17,
// which find loops by the states that are met again (get_loop_entry).
func (p *checkpoints) loopEntry(s *state) *state {
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

// updateLoopEntry notes that cur is in the loop that hdr begins, if that one is an ancestor which
// is still explored (update_loop_entry).
func (p *checkpoints) updateLoopEntry(cur, hdr *state) {
	if !p.r.converge {
		return
	}
	c, h := p.loopEntry(cur), p.loopEntry(hdr)
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
