package plan

import (
	"slices"

	"github.com/bpfrun/bpfrun/decode"
)

// bound checks an address that is the sum of a loop-invariant register and an index: it compares
// the index with the extent of the accessible memory around the register, which the guard computes.
type bound struct {
	pc    int32 // of the addition
	index uint8 // register
	guard int   // number in loop.guards
}

// bounds finds the checks that no guard can make for the whole loop but that can become
// comparisons.
func (p *Program) bounds() {
	l := p.loop.l
	for i := range l.covers {
		c := &l.covers[i]
		if c.found {
			continue
		}
		in := &p.Insns[c.pc]
		pc, off, ok := p.sum(c.pc, in.Base)
		if !ok {
			continue
		}
		base, index, ok := p.operands(pc)
		if !ok {
			continue
		}
		lo, hi := off+int64(in.Lo), off+int64(in.Hi)
		c.found = p.bound(bound{pc: pc, index: index}, guard{base: base, lo: lo, hi: hi, store: in.Has(FlagRangeStore), bounds: true})
	}
}

// bound adds a bound to the guard of its base, if there is one.
func (p *Program) bound(b bound, g guard) bool {
	l := p.loop.l
	b.guard = slices.IndexFunc(l.guards, func(old guard) bool { return old.base == g.base && old.bounds })
	if b.guard < 0 {
		b.guard = len(l.guards)
		l.guards = append(l.guards, g)
	}
	old := &l.guards[b.guard]
	lo, hi := min(old.lo, g.lo), max(old.hi, g.hi)
	if hi-lo > maxRange {
		return false
	}
	old.lo, old.hi, old.store = lo, hi, old.store || g.store
	if !slices.Contains(l.bounds, b) { // several accesses may share one
		l.bounds = append(l.bounds, b)
	}
	return true
}

// sum finds the addition that computes a register, and the constant added to the sum since. It is
// in the same block, or in one of those that the copy of the loop must have passed before.
func (p *Program) sum(pc int32, r uint8) (at int32, off int64, ok bool) {
	b := p.leaders.index(pc)
	for pc--; ; pc-- {
		for pc < p.blocks[b].start {
			if b, ok = p.before(b); !ok {
				return 0, 0, false
			}
			pc = p.blocks[b].end - 1
		}
		in := &p.Insns[pc]
		if in.changes()>>r&1 == 0 {
			continue
		}
		switch {
		case in.Kind != KindOp || in.Flags&FlagDead != 0:
			return 0, 0, false
		case in.Op == decode.OpAdd64Imm:
			off += int64(in.Imm)
		case in.Op == decode.OpSub64Imm:
			off -= int64(in.Imm)
		case in.Op == decode.OpAdd64Reg && in.Src != r:
			return pc, off, off > -maxRange && off < maxGuard
		default:
			return 0, 0, false
		}
		if off <= -maxGuard || off >= maxGuard {
			return 0, 0, false
		}
	}
}

// before returns the block from which alone a block is reached, if that is in the same copy of a
// loop.
func (p *Program) before(b int32) (int32, bool) {
	f := &p.loop
	preds := f.predsOf(b)
	if b == f.l.header || f.root[b] || len(preds) != 1 || f.in[preds[0]] != f.n || f.done[preds[0]] {
		return 0, false
	}
	return preds[0], true
}

// operands returns the loop-invariant register and the other register of an addition. The previous
// instruction copies one of them.
func (p *Program) operands(pc int32) (base int8, index uint8, ok bool) {
	l := p.loop.l
	in := &p.Insns[pc]
	if pc == p.blocks[p.leaders.index(pc)].start {
		return 0, 0, false
	}
	mov := &p.Insns[pc-1]
	if mov.Kind != KindOp || mov.Op != decode.OpMov64Reg || mov.Dst != in.Dst || mov.Src == 10 || mov.Src == in.Dst || mov.Has(FlagDead) {
		return 0, 0, false
	}
	switch a, b := mov.Src, in.Src; {
	case l.written>>a&1 == 0:
		return int8(a), b, true
	case l.written>>b&1 == 0:
		return int8(b), a, true
	}
	return 0, 0, false
}
