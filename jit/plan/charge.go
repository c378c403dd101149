package plan

// charge assigns the Count of every block so that most forward jumps charge nothing. It visits the
// edges, most expensive charges first, and ties the counts of both ends together unless they are
// tied already.
func (p *Program) charge() {
	p.tieFunctions()
	p.tieEdges(0)
	p.settle()
}

// recharge assigns the counts again, edges of inner loops first. It takes as long as charge for
// each nesting depth. Instructions have their counts already.
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

// tieFunctions assigns a count of 0 to the start of functions, and so to the instruction after each
// call, since there are many calls and callees charge when they return. Block 0 starts a function.
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

// maxNest is the nesting depth up to which loops are distinguished.
const maxNest = 3

// nest computes how many backward jumps after each block lead to or before it, and returns the
// maximum. That is the block's loop depth, except for blocks that compilers moved elsewhere.
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

// tieEdges ties the ends of edges inside loops of a depth.
func (p *Program) tieEdges(depth int32) {
	blocks := p.blocks
	inside := func(i, to int32) bool { return blocks[i].depth >= depth && blocks[to].depth >= depth }
	for i := range blocks { // taken branches: a charge needs extra code
		if b := &blocks[i]; b.kind == KindBranch && !b.back && inside(int32(i), b.target) {
			p.tie(int32(i), b.target, b.length)
		}
	}
	for i := range blocks[:len(blocks)-1] { // fall-through: a charge is one more instruction
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

// settle computes the Count of every block, and the charges between blocks, from the ties.
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

// tie sets the count of block b to that of block a plus d, unless both are already fixed.
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

// root returns the root of a block's tree and the block's count relative to it.
func (p *Program) root(b int32) (root, count int32) {
	for p.blocks[b].parent != b {
		count += p.blocks[b].offset
		b = p.blocks[b].parent
	}
	return b, count
}
