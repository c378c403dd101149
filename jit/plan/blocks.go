package plan

import (
	"math/bits"
	"slices"
)

// slotSet is a set of slots. rank is the number of elements before each word, once blocks are
// numbered.
type slotSet struct {
	words []uint64
	rank  []int32
}

// reset empties the set, for slots up to n.
func (s *slotSet) reset(n int) *slotSet {
	words := n/64 + 1
	if cap(s.words) < words {
		s.words, s.rank = make([]uint64, words), make([]int32, words)
	}
	s.words, s.rank = s.words[:words], s.rank[:words]
	clear(s.words)
	return s
}

func (s *slotSet) add(pc int) { s.words[uint(pc)/64] |= 1 << (uint(pc) % 64) }

// index returns the number of the last element that is not after pc.
func (s *slotSet) index(pc int32) int32 {
	w := uint(pc) / 64
	return s.rank[w] + int32(bits.OnesCount64(s.words[w]<<(63-uint(pc)%64))) - 1
}

// block is a run of slots that is entered only at its first slot and left only after its last.
type block struct {
	start, end int32 // slots
	length     int32 // in instructions
	count      int32 // Count of the first instruction
	last       int32 // slot of the last instruction
	target     int32 // block that it jumps to or calls
	kind       Kind  // of the last instruction
	back       bool  // it has FlagBack
	depth      int32 // number of backward jumps around it, see nest

	// The forest of blocks whose counts depend on each other.
	parent int32
	offset int32 // count relative to the parent's
	size   int32 // size of the tree, at its root
}

// findBlocks lists the blocks.
func (p *Program) findBlocks() {
	insns, leaders := p.Insns, &p.leaders
	leaders.add(0)
	for _, s := range p.Image.Subprograms() {
		leaders.add(s)
	}
	n := int32(len(insns))
	blocks := p.blocks[:0]
	for w, word := range leaders.words {
		leaders.rank[w] = int32(len(blocks))
		for ; word != 0; word &= word - 1 {
			if pc := int32(w*64 + bits.TrailingZeros64(word)); pc < n {
				blocks = append(blocks, block{start: pc, parent: int32(len(blocks)), size: 1})
			}
		}
	}
	end, count := n, p.count
	for i := len(blocks) - 1; i >= 0; i-- {
		b := &blocks[i]
		first := &insns[b.start]
		first.Flags |= FlagLeader
		b.end, b.length = end, count-first.Count
		end, count = b.start, first.Count
		b.last = b.end - 1
		if insns[b.last].Kind == KindSecond && b.last > 0 {
			b.last--
		}
		in := &insns[b.last]
		if in.Mark < 0 {
			in.Mark = int32(i)
		}
		switch b.kind = in.Kind; b.kind {
		case KindJump, KindBranch, KindMayGoto, KindCall:
			b.target, b.back = leaders.index(in.Target), in.Flags&FlagBack != 0
			p.Loops = p.Loops || b.back
		}
	}
	p.blocks = blocks
}

// MarkWays gives branches FlagWayTaken and FlagWayFell. It has to run before loops are copied.
func (p *Program) MarkWays() {
	for i := range p.blocks {
		switch b := &p.blocks[i]; b.kind {
		case KindBranch, KindMayGoto:
			in := &p.Insns[b.last]
			_, taken, fell := p.Image.Branches(int(b.last))
			if taken {
				in.Flags |= FlagWayTaken
			}
			if fell {
				in.Flags |= FlagWayFell
			}
		}
	}
}

// falls reports whether a block falls through to the next.
func (b *block) falls() bool {
	switch b.kind {
	case KindJump, KindCall, KindExit, KindInterpret:
		return false
	}
	return true
}

// saves decides which of r6 to r9 calls save and exits restore: those that the callee writes
// itself, since its own callees restore theirs. A function that neither uses r10 nor calls
// functions needs no Frame.Host either. It also finds Inline.Writes.
func (p *Program) saves() {
	insns, starts := p.Insns, p.Image.Subprograms()
	if !p.Calls { // without calls, nothing has to be saved
		return
	}
	all := uint8(0)
	whole := true // functions are entered only by calls
	masks := p.scan.masks[:0]
	for i, s := range starts {
		end := len(insns)
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		m, writes := uint8(0), uint16(0)
		for pc := s; pc < end; pc++ {
			in := &insns[pc]
			writes |= in.writes
			switch in.Kind {
			case KindInterpret, KindCall, KindTailCall:
				writes |= arguments // what it calls does
			}
			switch in.Kind {
			case KindJump, KindBranch, KindMayGoto:
				whole = whole && int(in.Target) >= s && int(in.Target) < end
				continue
			case KindSecond:
				continue
			case KindTailCall:
				continue
			case KindCallFunc:
				if in.Has(FlagTurns) {
					m |= SavesHost
				}
				continue
			case KindInterpret: // may be anything, but registers that do not occur are in no host register
				m |= uint8(p.Used>>6) & 15
				continue
			case KindCall:
				m |= SavesHost
			}
			m |= uint8(in.writes>>6) & 15
			if in.reads>>10 != 0 {
				m |= SavesHost
			}
		}
		switch p.lastBefore(end).Kind {
		case KindJump, KindExit:
		default:
			whole = false // falls through into the next function, as an interpreted instruction may
		}
		all |= m
		masks = append(masks, uint16(m)|writes&arguments<<written)
	}
	p.scan.masks = masks
	at := 0
	for pc := range insns {
		for at+1 < len(starts) && pc >= starts[at+1] {
			at++
		}
		in := &insns[pc]
		if in.Kind != KindCall && in.Kind != KindExit && !in.Has(FlagTurns) {
			continue
		}
		in.Saves = all
		if !whole {
			continue
		}
		if in.Kind == KindExit {
			in.Saves = uint8(masks[at])
			continue
		}
		if f, ok := slices.BinarySearch(starts, int(in.Target)); ok {
			in.Saves = uint8(masks[f])
			if in.Has(FlagTurns) {
				p.Inline(in).Writes = masks[f] >> written
			}
		}
	}
}

// written is where the written arguments are in the masks of saves.
const written = 8

// lastBefore returns the last instruction before slot end.
func (p *Program) lastBefore(end int) *Insn {
	pc := end - 1
	for pc > 0 && p.Insns[pc].Kind == KindSecond {
		pc--
	}
	return &p.Insns[pc]
}
