package plan

import "slices"

// block is a run of slots that is entered at its first and left behind its last.
type block struct {
	start, end int32 // slots
	parent     int32 // in the forest of blocks whose counts depend on each other
	count      int32 // relative to parent's
	size       int32 // of the tree, at its root
}

// findBlocks marks leaders and lists the blocks.
func (p *Program) findBlocks() {
	insns := p.Insns
	leader := func(pc int32) { insns[pc].Flags |= FlagLeader }
	leader(0)
	for _, s := range p.Image.Subprograms() {
		leader(int32(s))
	}
	for pc := range insns {
		in := &insns[pc]
		next := pc + 1
		switch in.Kind {
		case KindJump, KindBranch, KindMayGoto:
			leader(in.Target)
			if int(in.Target) <= pc {
				in.Flags |= FlagBack
			}
		case KindCall:
			leader(in.Target)
		case KindExit, KindInterpret:
		default:
			continue
		}
		if next < len(insns) {
			leader(int32(next))
		}
	}
	p.blocks = p.blocks[:0]
	for pc := range insns {
		if insns[pc].Flags&FlagLeader != 0 {
			if n := len(p.blocks); n > 0 {
				p.blocks[n-1].end = int32(pc)
			}
			p.blocks = append(p.blocks, block{start: int32(pc), end: int32(len(insns)), parent: int32(len(p.blocks)), size: 1})
		}
		// Until charge replaces it by the count, this is the number of the block.
		insns[pc].Count = int32(len(p.blocks) - 1)
	}
}

// last returns the last instruction of a block.
func (p *Program) last(b *block) *Insn {
	return p.lastBefore(int(b.end))
}

// length is the number of instructions of a block.
func (p *Program) length(b *block) int32 {
	n := int32(0)
	for pc := b.start; pc < b.end; pc++ {
		if p.Insns[pc].Kind != KindSecond {
			n++
		}
	}
	return n
}

// charge decides the Count of every block so that most forward jumps charge nothing: it walks the edges, those first on which
// a charge costs most, and ties the counts of both ends together unless they are tied already.
func (p *Program) charge() {
	insns, blocks := p.Insns, p.blocks
	lengths := p.scan.lengths[:0]
	for i := range blocks {
		lengths = append(lengths, p.length(&blocks[i]))
	}
	p.scan.lengths = lengths
	// Functions begin with a count of 0, and so does what follows a call, since callees are many and charge when they
	// return. Block 0 is the start of a function.
	for i := range blocks {
		in := p.last(&blocks[i])
		if in.Kind == KindCall {
			p.tie(0, insns[in.Target].Count, 0)
			if i+1 < len(blocks) {
				p.tie(0, int32(i+1), 0)
			}
		}
	}
	for _, s := range p.Image.Subprograms() {
		p.tie(0, insns[s].Count, 0)
	}
	for i := range blocks { // taken branches: a charge needs code of its own
		if in := p.last(&blocks[i]); in.Kind == KindBranch && in.Flags&FlagBack == 0 {
			p.tie(int32(i), insns[in.Target].Count, lengths[i])
		}
	}
	for i := range blocks[:len(blocks)-1] { // a charge is one more instruction
		in := p.last(&blocks[i])
		switch in.Kind {
		case KindJump, KindCall, KindExit, KindInterpret:
			continue
		}
		p.tie(int32(i), int32(i+1), lengths[i])
	}
	for i := range blocks {
		if in := p.last(&blocks[i]); in.Kind == KindJump && in.Flags&FlagBack == 0 {
			p.tie(int32(i), insns[in.Target].Count, lengths[i])
		}
	}
	_, zero := p.root(0)
	counts := p.scan.counts[:0]
	for i := range blocks {
		root, c := p.root(int32(i))
		if r0, _ := p.root(0); r0 == root {
			c -= zero
		}
		counts = append(counts, c)
	}
	p.scan.counts = counts
	for i := range blocks {
		b := &blocks[i]
		in := p.last(b)
		end := counts[i] + lengths[i]
		switch in.Kind {
		case KindBranch, KindJump, KindMayGoto:
			in.Taken = end - counts[insns[in.Target].Count]
		case KindCall, KindExit:
			in.Taken = end
		}
		if int(b.end) < len(insns) {
			switch in.Kind {
			case KindJump, KindCall, KindExit, KindInterpret:
			default:
				in.Next = end - counts[i+1]
			}
		}
	}
	for i := range blocks {
		b := &blocks[i]
		p.last(b).Mark = int32(i)
		n := counts[i]
		for pc := b.start; pc < b.end; pc++ {
			insns[pc].Count = n
			if insns[pc].Kind != KindSecond {
				n++
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
	p.blocks[rb].parent, p.blocks[rb].count = ra, d
	p.blocks[ra].size += p.blocks[rb].size
}

// root finds the root of a block's tree and the block's count relative to it.
func (p *Program) root(b int32) (root, count int32) {
	for p.blocks[b].parent != b {
		count += p.blocks[b].count
		b = p.blocks[b].parent
	}
	return b, count
}

// saves decides which of r6 to r9 calls save and exits restore: those that the function called writes itself, since what it
// calls restores what that writes.
func (p *Program) saves() {
	insns, starts := p.Insns, p.Image.Subprograms()
	if len(starts) < 2 {
		return
	}
	all := uint8(0)
	whole := true // functions are entered by calls alone
	masks := p.scan.masks[:0]
	for i, s := range starts {
		end := len(insns)
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		m := uint8(0)
		for pc := s; pc < end; pc++ {
			in := &insns[pc]
			row := &rows[in.Op]
			switch in.Kind {
			case KindJump, KindBranch, KindMayGoto:
				whole = whole && int(in.Target) >= s && int(in.Target) < end
				continue
			case KindCallFunc, KindSecond, KindInterpret:
				continue
			}
			if row.writesDst && in.Dst >= 6 {
				m |= 1 << (in.Dst - 6)
			}
			if row.writesSrc && in.Src >= 6 {
				m |= 1 << (in.Src - 6)
			}
		}
		switch p.lastBefore(end).Kind {
		case KindJump, KindExit, KindInterpret:
		default:
			whole = false // falls through into the next
		}
		all |= m & 15
		masks = append(masks, m&15)
	}
	p.scan.masks = masks
	at := 0
	for pc := range insns {
		for at+1 < len(starts) && pc >= starts[at+1] {
			at++
		}
		in := &insns[pc]
		if in.Kind != KindCall && in.Kind != KindExit {
			continue
		}
		in.Saves = all
		if !whole {
			continue
		}
		if in.Kind == KindExit {
			in.Saves = masks[at]
			continue
		}
		if f, ok := slices.BinarySearch(starts, int(in.Target)); ok {
			in.Saves = masks[f]
		}
	}
}

// lastBefore returns the last instruction in front of slot end.
func (p *Program) lastBefore(end int) *Insn {
	pc := end - 1
	for pc > 0 && p.Insns[pc].Kind == KindSecond {
		pc--
	}
	return &p.Insns[pc]
}
