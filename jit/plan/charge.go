package plan

// charge decides the Count of every block so that most forward jumps charge nothing: it walks the edges, those first on which
// a charge costs most, and ties the counts of both ends together unless they are tied already.
func (p *Program) charge() {
	p.tieFunctions()
	p.tieEdges(0)
	p.settle()
}

// recharge decides again, with the edges of inner loops first: it takes as long as charge for each depth. Instructions have their counts
// already.
func (p *Program) recharge() {
	blocks := p.blocks
	for i := range blocks {
		b := &blocks[i]
		b.parent, b.offset, b.size = int32(i), 0, 1
	}
	p.tieFunctions()
	for depth := min(p.nest(), maxNest); depth >= 0; depth-- {
		p.tieEdges(depth)
	}
	p.settle()
	for i := range blocks {
		b := &blocks[i]
		if moved := b.count - p.Insns[b.start].Count; moved != 0 {
			for pc := b.start; pc < b.end; pc++ {
				p.Insns[pc].Count += moved
			}
		}
	}
}

// tieFunctions gives functions a count of 0 at their beginning, and so to what follows a call, since callees are many and charge when they
// return. Block 0 is the start of a function.
func (p *Program) tieFunctions() {
	blocks := p.blocks
	if p.Calls {
		for i := range blocks {
			if b := &blocks[i]; b.kind == KindCall {
				p.tie(0, b.target, 0)
				if i+1 < len(blocks) {
					p.tie(0, int32(i+1), 0)
				}
			}
		}
	}
	for _, s := range p.Image.Subprograms() {
		p.tie(0, p.leaders.index(int32(s)), 0)
	}
}

// maxNest is up to which depth loops are told apart.
const maxNest = 3

// nest finds out how many jumps back lead from after each block to before it, which is how many loops it is in, but for blocks that
// compilers put elsewhere, and returns the most.
func (p *Program) nest() int32 {
	blocks := p.blocks
	for i := range blocks {
		if b := &blocks[i]; b.back {
			blocks[b.target].depth++
			if i+1 < len(blocks) {
				blocks[i+1].depth--
			}
		}
	}
	depth, most := int32(0), int32(0)
	for i := range blocks {
		depth += blocks[i].depth
		blocks[i].depth, most = depth, max(most, depth)
	}
	return most
}

// tieEdges ties the ends of edges inside depth loops.
func (p *Program) tieEdges(depth int32) {
	blocks := p.blocks
	inside := func(i, to int32) bool { return blocks[i].depth >= depth && blocks[to].depth >= depth }
	for i := range blocks { // taken branches: a charge needs code of its own
		if b := &blocks[i]; b.kind == KindBranch && !b.back && inside(int32(i), b.target) {
			p.tie(int32(i), b.target, b.length)
		}
	}
	for i := range blocks[:len(blocks)-1] { // a charge is one more instruction
		if b := &blocks[i]; b.falls() && inside(int32(i), int32(i+1)) {
			p.tie(int32(i), int32(i+1), b.length)
		}
	}
	for i := range blocks {
		if b := &blocks[i]; b.kind == KindJump && !b.back && inside(int32(i), b.target) {
			p.tie(int32(i), b.target, b.length)
		}
	}
}

// settle makes Count of every block, and what is charged between them, of what is tied.
func (p *Program) settle() {
	blocks := p.blocks
	top, zero := p.root(0)
	for i := range blocks {
		root, c := p.root(int32(i))
		if root == top {
			c -= zero
		}
		blocks[i].count = c
	}
	for i := range blocks {
		b := &blocks[i]
		in, end := &p.Insns[b.last], b.count+b.length
		switch b.kind {
		case KindBranch, KindJump, KindMayGoto:
			in.Taken = end - blocks[b.target].count
		case KindCall, KindExit:
			in.Taken = end
		}
		if b.falls() {
			in.Next = end // after the end of the program Count is 0
			if i+1 < len(blocks) {
				in.Next -= blocks[i+1].count
			}
		}
	}
}

// tie makes the count of block b that of block a plus d, unless both were given already.
func (p *Program) tie(a, b, d int32) {
	ra, ca := p.root(a)
	rb, cb := p.root(b)
	if ra == rb {
		return
	}
	d += ca - cb // count of rb relative to ra
	if p.blocks[ra].size < p.blocks[rb].size {
		ra, rb, d = rb, ra, -d
	}
	p.blocks[rb].parent, p.blocks[rb].offset = ra, d
	p.blocks[ra].size += p.blocks[rb].size
}

// root finds the root of a block's tree and the block's count relative to it.
func (p *Program) root(b int32) (root, count int32) {
	for p.blocks[b].parent != b {
		count += p.blocks[b].offset
		b = p.blocks[b].parent
	}
	return b, count
}
