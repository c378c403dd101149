package debug

// lineStops returns the instructions at which a step from a line may end: the starts of other
// lines, in this function from least on. With into, called functions are included; functions
// inlined are included up to a depth.
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
				// If the function is called again, the step ends at its start.
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
