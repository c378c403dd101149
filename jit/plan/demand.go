package plan

// findNeeds marks the instructions whose results may be part of a checked address or of a
// comparison. The analysis does not have to follow any others.
func (p *Program) findNeeds() {
	f, l := &p.loop, p.loop.l
	for _, b := range l.body {
		f.needs[b] = 0
	}
	const passes = 8 // two or three suffice except for nested loops that pass registers on
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

// needsOf returns the registers needed at the start of a block, given those needed at its end.
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
