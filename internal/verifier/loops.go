package verifier

import (
	"fmt"
	"strings"
)

// sccInfo holds the visits of a loop: one for each chain of calls that leads to it.
type sccInfo struct{ visits []*sccVisit }

// sccVisit is one visit of a loop.
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

// chainOf returns the chain of calls to the outermost loop that contains a state.
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

func (p *checkpoints) visitOf(c *callchain) *sccVisit {
	for _, v := range p.sccs[c.scc].visits {
		if v.chain == *c {
			return v
		}
	}
	return nil
}

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

// incompleteMarks reports whether the loop that contains a state has not been fully explored.
func (p *checkpoints) incompleteMarks(s *state) bool {
	c, ok := p.chainOf(s)
	if !ok {
		return false
	}
	v := p.visitOf(&c)
	return v != nil && len(v.backedges) > 0
}

const maxBackedgeTurns = 64

// propagateBackedges propagates precision marks along the back edges of a loop until nothing
// changes.
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

// maybeFree frees an evicted state when nothing refers to it.
func (p *checkpoints) maybeFree(s *state) {
	if !s.inFree || s.branches != 0 || p.incompleteMarks(s) {
		return
	}
	s.inFree = false
	p.freeCount--
	p.pool.freeState(s)
}

// finish marks a path as fully explored, and its checkpoints too if none of their paths is pending.
func (p *checkpoints) finish(s *state) {
	var sl *state
	for s != nil {
		s.branches--
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

// loopEntry returns the topmost entry of the loop that contains a state; releases before 6.17.
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
