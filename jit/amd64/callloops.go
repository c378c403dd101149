package amd64

import (
	"github.com/bpfrun/bpfrun/jit/plan"
	"github.com/bpfrun/bpfrun/vm"
)

// turnsField returns a field of plan.Turns in the next frame.
func turnsField(off int32) loc { return at(rsp, off-frameSize) }

// TestLoop leaves the call to Go unless code can begin it.
func (c *compiler) TestLoop(_ *plan.Insn, f *plan.Inline) {
	c.constant(temp1, f.Entry)
	c.group(1, opCmp, regs[2], temp1)
	c.CallUnless(plan.Equal)
	c.test(1, regs[4])
	c.CallUnless(plan.Equal)
	c.move32(temp1, regs[1])
	c.groupImm(0, opSub, temp1, 1)
	c.groupImm(0, opCmp, temp1, vm.MaxTurns)
	c.CallUnless(plan.Less)
}

// BeginLoop accounts for the call and prepares the first turn.
func (c *compiler) BeginLoop(_ *plan.Insn, f *plan.Inline) {
	c.tick()
	c.made(f.Kind)
	c.move32(temp1, regs[1])
	c.store(turnsField(plan.TurnsN), temp1)
	c.store(turnsField(plan.TurnsCtx), regs[3])
	c.storeImm(turnsField(plan.TurnsI), 0)
	c.constant(regs[1], 0)
	c.move(regs[2], regs[3])
	for _, r := range regs[3:6] {
		c.constant(r, 0)
	}
}

// CompareResult compares r0 with 1.
func (c *compiler) CompareResult() { c.groupImm(1, opCmp, regs[0], 1) }

// NextTurn leaves the number in temp1.
func (c *compiler) NextTurn(f *plan.Inline) {
	if f.KeepsTurn() {
		c.rm(1, 0x8d, temp1, at(regs[1], 1), 0)
	} else {
		c.load(temp1, turnsField(plan.TurnsI))
		c.groupImm(1, opAdd, temp1, 1)
	}
	c.groupMem(1, opCmp, temp1, turnsField(plan.TurnsN))
}

// BeginTurn prepares turn temp1.
func (c *compiler) BeginTurn(f *plan.Inline) {
	c.store(turnsField(plan.TurnsI), temp1)
	written := func(r int) bool { return f.Writes>>r&1 != 0 }
	again := func(r int, off int32) {
		if written(r) {
			c.load(regs[r], turnsField(off))
		}
	}
	zero := func(r int) {
		if written(r) {
			c.constant(regs[r], 0)
		}
	}
	zero(5)
	if f.Kind == vm.InlineLoop {
		c.move(regs[1], temp1)
		again(2, plan.TurnsCtx)
		zero(3)
		zero(4)
		return
	}
	again(1, plan.TurnsMap)
	again(2, plan.TurnsKey)
	c.rm(0, 0x89, temp1, loc{base: regs[2], index: hostR}, 0)
	again(3, plan.TurnsValue)
	c.groupMem(1, opAdd, regs[3], turnsField(plan.TurnsStride))
	c.store(turnsField(plan.TurnsValue), regs[3])
	again(4, plan.TurnsCtx)
}

// EndLoop moves the number to r0.
func (c *compiler) EndLoop() { c.move(regs[0], temp1) }
