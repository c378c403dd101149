package debug

// lineStops returns the instructions at which a step from a line may end: where other lines begin, in this function from least on. Calls
// are entered with into; inlined ones up to a depth.
func (cm *codeMap) lineStops(here Place, into bool, least int, inlined uint8) []Place {
	cur := cm.codeOf(here.Prog)
	var out []Place
	for _, lp := range cm.linked.Programs {
		c := cm.codeOf(lp)
		for pc, start := range c.starts {
			switch {
			case !start:
			case lp != here.Prog: // a tail call
			case c.fn[pc] == cur.fn[here.PC]:
				// A function that is entered again ends the step where it begins.
				start = c.line[pc] != cur.line[here.PC] && pc >= least && c.inlined[pc] <= inlined || into && lp.Funcs[c.fn[pc]].Start == pc
			default:
				start = into || pc == lp.ExceptionCallback
			}
			if start {
				out = append(out, Place{lp, pc})
			}
		}
	}
	return out
}
