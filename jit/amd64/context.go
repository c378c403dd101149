package amd64

import (
	"unsafe"

	"github.com/bpfrun/bpfrun/jit/plan"
)

const (
	offContext = unsafe.Offsetof(plan.State{}.Context)
	offWords   = unsafe.Offsetof(plan.State{}.Words)
)

// contextWord loads a word of the context and jumps over the load that follows for everything else. It returns where.
func (c *compiler) contextWord(in *plan.Insn) int32 {
	c.groupMem(1, opCmp, regs[in.Base], field(offContext))
	other := c.jccNear(condNE)
	c.load(temp1, field(offWords+8*uintptr(in.Target)))
	c.test(1, temp1)
	none := c.jccNear(condE)
	c.load(regs[in.Dst], at(temp1, 0))
	done := c.jmpNear()
	c.land(other)
	c.land(none)
	return done
}
