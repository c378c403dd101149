package plan

// findNeeds marks the instructions whose results can be part of an address that is checked, or of a comparison: what others compute
// needs not be followed.
func (p *Program) findNeeds() {
	f, l := &p.loop, p.loop.l
	for _, b := range l.body {
		f.needs[b] = 0
	}
	const passes = 8 // two or three suffice but for loops in loops that hand registers on
	for pass := range passes {
		changed := false
		for i := len(l.body) - 1; i >= 0; i-- {
			b := l.body[i]
			needs := uint16(0)
			for _, to := range f.succ[b] {
				if to >= 0 && f.in[to] == f.n {
					needs |= f.needs[to]
				}
			}
			if pass == passes-1 {
				needs = all
			}
			if needs = p.needsOf(b, needs); needs != f.needs[b] {
				f.needs[b], changed = needs, true
			}
		}
		if !changed {
			return
		}
	}
}

// needsOf returns what matters at the start of a block if needs matters at its end.
func (p *Program) needsOf(b int32, needs uint16) uint16 {
	blk := &p.blocks[b]
	for pc := blk.end - 1; pc >= blk.start; pc-- {
		in := &p.Insns[pc]
		switch in.Kind {
		case KindOp, KindImm64, KindLoad:
			in.Flags &^= flagNeeded
			if in.writes&needs != 0 {
				in.Flags |= flagNeeded
				needs &^= in.writes
				if in.Kind == KindOp {
					needs |= in.reads
				}
			}
			if in.Kind == KindLoad && in.Check == CheckRange {
				needs |= 1 << in.Base
			}
		case KindStore:
			if in.Check == CheckRange {
				needs |= 1 << in.Base
			}
		case KindBranch:
			needs |= 1<<in.Dst | uint16(rows[in.Op].srcRead)&(1<<in.Src)
		}
	}
	return needs
}
