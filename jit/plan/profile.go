package plan

// Profile describes how often instructions of a program were executed for a while, to decide what is worth optimising.
type Profile struct {
	// Seen has by slot how often the instruction was executed, Taken how often a branch or jump there was taken.
	Seen, Taken []uint32
}

// minTurns is how many turns a loop makes on average for its guards to pay.
const minTurns = 4

// short reports whether a loop is known to make few turns.
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
