package plan

// refine improves a block of the copy of a loop, which has fewer checks, at which code might exit,
// than the original, and is not entered in the middle.
func (p *Program) refine(code []Insn) {
	p.rebase(code)
	live := uint16(all)
	for i := len(code) - 1; i >= 0; i-- {
		in := &code[i]
		if in.Has(FlagDead) {
			continue
		}
		if in.Check == CheckDone && (in.Kind == KindLoad || in.Kind == KindStore) {
			row := &rows[in.Op]
			in.reads = uint16(row.dstRead)&(1<<in.Dst) | uint16(row.srcRead)&(1<<in.Src)
		}
		if in.Has(FlagBound) { // it may exit behind the addition
			live = all
		}
		if in.writes&live == 0 && in.writes != 0 && in.reads != all {
			in.Flags |= FlagDead
			continue
		}
		live = live&^in.writes | in.reads
	}
}

// rebase lets loads that overwrite the register with their address take it from another register
// that holds it up to a constant, so that the address need not be computed.
func (p *Program) rebase(code []Insn) {
	s := &p.scan
	s.reset()
	for i := range code {
		in, pc := &code[i], int32(i)
		switch in.Kind {
		case KindLoad:
			if root := s.values[in.Base].root; in.Check == CheckDone && in.Dst == in.Base && root != 0 && !in.Has(FlagDead) {
				delta := s.values[in.Base].delta
				s.wrote(in.Dst, pc)
				if r := s.holder(root); r >= 0 {
					in.Off += delta - s.values[r].delta
					in.Base, in.Src = uint8(r), uint8(r)
				}
				continue
			}
			s.wrote(in.Dst, pc)
		case KindOp:
			switch class := rows[in.Op].class; {
			case in.Has(FlagDead): // its register keeps another value
				s.wrote(in.Dst, pc)
			case class == classMov64 && in.Src != in.Dst:
				s.values[in.Dst] = s.values[in.Src]
			case class == classMov64:
			case class == classAdd:
				s.add(in.Dst, int64(in.Imm), pc)
			case class == classSub:
				s.add(in.Dst, -int64(in.Imm), pc)
			default:
				s.wrote(in.Dst, pc)
			}
		case KindSecond, KindStore:
		case KindImm64:
			s.wrote(in.Dst, pc)
		default:
			s.reset()
		}
	}
}
