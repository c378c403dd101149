package loader

import "github.com/bpfrun/bpfrun/decode"

// AccessReloc returns the CO-RE relocation that gave the load, store or helper call at pc its offset: that of the
// instruction itself, or of one before it in the same straight line of code that computed an address for a helper. It is
// the evidence behind [LinkedProgram.RelocatedAccess].
func (lp *LinkedProgram) AccessReloc(pc int) (*Reloc, bool) {
	if pc < 0 || pc >= len(lp.Insns) || !lp.RelocatedAccess(pc) {
		return nil, false
	}
	for i := pc; i >= 0; i-- {
		if r, ok := lp.RelocAt(i); ok && r.Err == nil && r.Kind.IsField() {
			return r, true
		}
		if i < pc && lp.Insns[i].Info().Flags&(decode.FlagCall|decode.FlagExit|decode.FlagJump|decode.FlagBranch) != 0 {
			break
		}
	}
	return nil, false
}
