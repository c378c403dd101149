package plan

// Profile counts executions of a program's instructions over a period, to decide what is worth
// optimising.
type Profile struct {
	// Seen counts, by slot, executions of the instruction; Taken counts how often its branch or
	// jump was taken.
	Seen, Taken []uint32
}

// minTurns is the average number of iterations from which the guards of a loop pay off.
const minTurns = 4

// short reports whether a loop is known to run few iterations.
func (p *Program) short(l *loop, by *Profile) bool {
	if by == nil {
		return false
	}
	turns, entered := by.Seen[p.blocks[l.header].start], uint32(0)
	for _, b := range p.loop.predsOf(l.header) {
		if p.loop.in[b] == p.loop.n {
			continue
		}
		blk := &p.blocks[b]
		seen, taken := by.Seen[blk.last], by.Taken[blk.last]
		switch blk.kind {
		case KindBranch, KindMayGoto:
			if blk.target == l.header {
				entered += taken
			}
			if b+1 == l.header {
				entered += seen - taken
			}
		default:
			entered += seen
		}
	}
	return turns < minTurns*entered
}
