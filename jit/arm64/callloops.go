package arm64

import (
	"github.com/bpfrun/bpfrun/jit/plan"
	"github.com/bpfrun/bpfrun/vm"
)

// turns and setTurns access a field of plan.Turns in the next frame.
func (c *compiler) turns(d reg, off int32)    { c.mem(loads[3], d, frame, off-frameSize, temp4) }
func (c *compiler) setTurns(s reg, off int32) { c.mem(stores[3], s, frame, off-frameSize, temp4) }

// TestLoop leaves the call to Go unless code can begin it.
func (c *compiler) TestLoop(_ *plan.Insn, f *plan.Inline) {
	c.constant(temp1, f.Entry)
	c.cmp(1, 2, temp1)
	c.CallUnless(plan.Equal)
	c.cmpImm(1, 4, 0, temp1)
	c.CallUnless(plan.Equal)
	c.addImm(0, temp1, 1, -1, temp2)
	c.cmpImm(0, temp1, vm.MaxTurns, temp2)
	c.CallUnless(plan.Less)
}

// BeginLoop accounts for the call and prepares the first turn.
func (c *compiler) BeginLoop(_ *plan.Insn, f *plan.Inline) {
	c.tick()
	c.made(f.Kind)
	c.move32(temp1, 1)
	c.setTurns(temp1, plan.TurnsN)
	c.setTurns(3, plan.TurnsCtx)
	c.setTurns(zr, plan.TurnsI)
	c.constant(1, 0)
	c.move(2, 3)
	for r := reg(3); r < 6; r++ {
		c.constant(r, 0)
	}
}

// CompareResult compares r0 with 1.
func (c *compiler) CompareResult() { c.cmpImm(1, 0, 1, temp2) }

// NextTurn leaves the number in temp1.
func (c *compiler) NextTurn(f *plan.Inline) {
	turn := temp1
	if f.KeepsTurn() {
		turn = reg(1)
	} else {
		c.turns(turn, plan.TurnsI)
	}
	c.turns(temp2, plan.TurnsN)
	c.addImm(1, temp1, turn, 1, temp3)
	c.cmp(1, temp1, temp2)
}

// BeginTurn prepares turn temp1.
func (c *compiler) BeginTurn(f *plan.Inline) {
	c.setTurns(temp1, plan.TurnsI)
	written := func(r reg) bool { return f.Writes>>r&1 != 0 }
	again := func(r reg, off int32) {
		if written(r) {
			c.turns(r, off)
		}
	}
	zero := func(r reg) {
		if written(r) {
			c.constant(r, 0)
		}
	}
	zero(5)
	if f.Kind == vm.InlineLoop {
		c.move(1, temp1)
		again(2, plan.TurnsCtx)
		zero(3)
		zero(4)
		return
	}
	again(1, plan.TurnsMap)
	again(2, plan.TurnsKey)
	c.index(stores[2], temp1, hostR, 2)
	again(3, plan.TurnsValue)
	c.turns(temp2, plan.TurnsStride)
	c.rrr(1, opAdd, 3, 3, temp2)
	c.setTurns(3, plan.TurnsValue)
	again(4, plan.TurnsCtx)
}

// EndLoop moves the number to r0.
func (c *compiler) EndLoop() { c.move(0, temp1) }
