package plan

// graph is the control flow graph.
type graph struct {
	succ   [][2]int32 // by block: its successors, -1 for none
	at     []int32    // by block: where its predecessors start in preds
	preds  []int32
	root   []bool  // by block: it is entered by calls
	order  []int32 // blocks in reverse postorder of a depth-first search
	number []int32 // by block: its index in order, -1 if unreachable
	header []bool  // by block: it is the target of a back edge
	state  []uint8
	stack  []int32
}

// resize returns a zeroed slice of length n.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	s = s[:n]
	clear(s)
	return s
}

// predsOf returns the predecessors of a block.
func (g *graph) predsOf(b int32) []int32 { return g.preds[g.at[b]:g.at[b+1]] }

// findGraph builds the graph and reports whether there is a loop to optimise. Programs that jump to
// computed addresses, leave branches to the interpreter, or run past their end are not optimised.
func (p *Program) findGraph() bool {
	back, hidden := false, p.Computed
	for i := range p.blocks {
		back = back || p.blocks[i].back
		in := &p.Insns[p.blocks[i].last]
		hidden = hidden || in.Kind == KindInterpret && rows[in.Op].blank.Kind == KindBranch
	}
	if !back || hidden || goesOn(&p.Insns[p.blocks[len(p.blocks)-1].last]) {
		return false
	}
	g, n := &p.loop.graph, len(p.blocks)
	g.succ, g.at = resize(g.succ, n), resize(g.at, n+1)
	for i := range p.blocks {
		s := &g.succ[i]
		*s = [2]int32{-1, -1}
		b := &p.blocks[i]
		switch b.kind {
		case KindJump, KindBranch, KindMayGoto:
			s[0] = b.target
			g.at[s[0]]++
		}
		// Code continues after an interpreted instruction.
		if b.kind != KindJump && b.kind != KindExit && i+1 < n {
			s[1] = int32(i) + 1
			g.at[s[1]]++
		}
	}
	total := int32(0)
	for i := range g.at {
		total += g.at[i]
		g.at[i] = total
	}
	g.preds = resize(g.preds, int(total))
	for i := range g.succ {
		for _, to := range g.succ[i] {
			if to >= 0 {
				g.at[to]--
				g.preds[g.at[to]] = int32(i)
			}
		}
	}
	g.walk(p)
	return true
}

// walk visits the blocks depth-first.
func (g *graph) walk(p *Program) {
	n := len(g.succ)
	g.root, g.header, g.state = resize(g.root, n), resize(g.header, n), resize(g.state, n)
	g.number, g.order, g.stack = resize(g.number, n), g.order[:0], g.stack[:0]
	for i := range g.number {
		g.number[i] = -1
	}
	g.visit(0)
	for _, s := range p.Image.Subprograms() {
		g.visit(p.leaders.index(int32(s)))
	}
	for i, j := 0, len(g.order)-1; i < j; i, j = i+1, j-1 {
		g.order[i], g.order[j] = g.order[j], g.order[i]
	}
	for i, b := range g.order {
		g.number[b] = int32(i)
	}
}

// visit states: 0 new; 1 and 2 in progress, with that many edges followed; 4 done.
const visited = 4

func (g *graph) visit(root int32) {
	g.root[root] = true
	if g.state[root] != 0 {
		return
	}
	g.stack = append(g.stack[:0], root)
	g.state[root] = 1
	for len(g.stack) > 0 {
		b := g.stack[len(g.stack)-1]
		if g.state[b] == 3 {
			g.state[b] = visited
			g.order = append(g.order, b)
			g.stack = g.stack[:len(g.stack)-1]
			continue
		}
		to := g.succ[b][g.state[b]-1]
		g.state[b]++
		switch {
		case to < 0:
		case g.state[to] == 0:
			g.state[to] = 1
			g.stack = append(g.stack, to)
		case g.state[to] != visited:
			g.header[to] = true
		}
	}
}
