package arm64

import "github.com/bpfrun/bpfrun/jit/plan"

// contextWord loads a word of the context and jumps over the ordinary load, which follows for all
// other cases. It returns the branch.
func (c *compiler) contextWord(in *plan.Insn) int32 {
	c.get(temp1, plan.OffContext)
	c.cmp(1, reg(in.Base), temp1)
	other := c.near(condNE)
	c.get(temp1, plan.OffWords+8*in.Target)
	none := c.ifZero(1, temp1)
	c.mem(loads[3], reg(in.Dst), temp1, 0, temp2)
	done := c.branch(opB)
	c.land(other)
	c.land(none)
	return done
}
