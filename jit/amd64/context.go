package amd64

import "github.com/bpfrun/bpfrun/jit/plan"

// contextWord loads a word of the context and jumps over the ordinary load, which follows for all
// other cases. It returns the position of the jump.
func (c *compiler) contextWord(in *plan.Insn) int32 {
	c.groupMem(1, opCmp, regs[in.Base], field(plan.OffContext))
	other := c.jccNear(condNE)
	c.load(temp1, field(plan.OffWords+8*in.Target))
	c.test(1, temp1)
	none := c.jccNear(condE)
	c.load(regs[in.Dst], at(temp1, 0))
	done := c.jmpNear()
	c.land(other)
	c.land(none)
	return done
}
