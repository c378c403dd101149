package amd64

import (
	"unsafe"

	"github.com/bpfrun/bpfrun/jit/plan"
	"github.com/bpfrun/bpfrun/vm"
)

// TailTarget leaves the address of the target's State in temp1.
func (c *compiler) TailTarget(f *plan.Inline) {
	c.constant(temp1, f.Map)
	c.group(1, opCmp, regs[2], temp1)
	c.CallUnless(plan.Equal)
	c.move32(temp1, regs[3])
	c.groupImm(0, opCmp, temp1, int32(len(f.Progs.Links)))
	c.CallUnless(plan.Less)
	c.pointer(temp2, unsafe.Pointer(unsafe.SliceData(f.Progs.Links)))
	c.load(temp1, loc{base: temp2, index: temp1, scale: 3})
	c.test(1, temp1)
	c.CallUnless(plan.NotEqual)
}

// TestTails tests whether there are tail calls left.
func (c *compiler) TestTails() { c.cmpMem0(8, field(plan.OffTails)) }

// TailRoom leaves the room in temp2.
func (c *compiler) TailRoom(n int32) {
	c.rm(1, 0x8d, temp2, at(roomR, n), 0)
	c.groupMem(1, opSub, temp2, at(temp1, plan.OffSlack))
}

// TailCall hands over what is not in a register, and the stack pointer that exits restore.
func (c *compiler) TailCall(f *plan.Inline) {
	c.move(roomR, temp2)
	c.made(f.Kind)
	c.load(temp2, field(plan.OffStep))
	c.groupMem(1, opAdd, temp2, field(plan.OffNow))
	c.store(at(temp1, plan.OffNow), temp2)
	c.load(temp2, field(plan.OffTails))
	c.groupImm(1, opSub, temp2, 1)
	c.store(at(temp1, plan.OffTails), temp2)
	c.load(temp2, field(plan.OffSP))
	c.store(at(temp1, plan.OffSP), temp2)
	c.rm(0, 0xff, 4, at(temp1, plan.OffArrive), 0)
}

// Arrive is the tail call's entry, where another program's TailCall ends, with r0 to r9, hostR and
// roomR in their registers. Exits store no registers that the program does not use: those are
// stored here.
func (c *compiler) Arrive() {
	if c.Program.Used&(1<<10-1) != 1<<10-1 {
		c.load(temp1, field(plan.OffRegs))
	}
	for i, r := range regs {
		if c.Program.Used>>i&1 == 0 {
			c.store(at(temp1, int32(8*i)), r)
		}
	}
	c.rm(1, 0x8d, rsp, field(plan.OffFrame0), 0)
	if c.usesStack() {
		c.load(hostF, at(rsp, plan.FrameHost))
	}
	if c.Program.MayGoto {
		c.storeImm(field(plan.OffMay), vm.MaxMayGoto)
	}
}

// TestOver tests whether the call after the last one is beyond the limit.
func (c *compiler) TestOver() { c.cmpMem0(8, field(plan.OffOver)) }

// TailOver executes that call.
func (c *compiler) TailOver(f *plan.Inline) {
	c.constant(regs[0], 0)
	c.tick()
	c.made(f.Kind)
}
