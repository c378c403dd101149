package arm64

import (
	"unsafe"

	"github.com/bpfrun/bpfrun/jit/plan"
	"github.com/bpfrun/bpfrun/vm"
)

// target is the State of the program that a tail call leads to.
const target = temp5

// TailTarget leaves the address of the target's State in target.
func (c *compiler) TailTarget(f *plan.Inline) {
	c.constant(temp1, f.Map)
	c.cmp(1, 2, temp1)
	c.CallUnless(plan.Equal)
	c.move32(temp1, 3)
	c.cmpImm(0, temp1, int64(len(f.Progs.Links)), temp2)
	c.CallUnless(plan.Less)
	c.pointer(temp2, unsafe.Pointer(unsafe.SliceData(f.Progs.Links)))
	c.shift(1, opLslv, temp1, temp1, 3)
	c.index(loads[3], target, temp2, temp1)
	c.cmpImm(1, target, 0, temp2)
	c.CallUnless(plan.NotEqual)
}

// TestTails tests whether there are tail calls left.
func (c *compiler) TestTails() {
	c.get(temp1, plan.OffTails)
	c.cmpImm(1, temp1, 0, temp2)
}

// TailRoom leaves the room in temp4.
func (c *compiler) TailRoom(n int32) {
	c.addImm(1, temp4, roomR, int64(n), temp2)
	c.mem(loads[3], temp2, target, plan.OffSlack, temp3)
	c.rrr(1, opSubs, temp4, temp4, temp2)
}

// TailCall hands over what is not in a register, and the return address of exits.
func (c *compiler) TailCall(f *plan.Inline) {
	give := func(r reg, off int32) { c.mem(stores[3], r, target, off, temp3) }
	c.move(roomR, temp4)
	c.made(f.Kind)
	c.get(temp1, plan.OffStep)
	c.get(temp2, plan.OffNow)
	c.rrr(1, opAdd, temp2, temp2, temp1)
	give(temp2, plan.OffNow)
	c.get(temp1, plan.OffTails)
	c.addImm(1, temp1, temp1, -1, temp2)
	give(temp1, plan.OffTails)
	c.get(temp1, plan.OffSP)
	give(temp1, plan.OffSP)
	c.mem(loads[3], temp1, target, plan.OffArrive, temp3)
	c.move(state, target)
	c.word(opBr | uint32(temp1)<<5)
}

// Arrive is the tail call's entry, where another program's TailCall ends, with r0 to r9, state, and
// the constants of all code and roomR in their registers. Exits store no registers that the program
// does not use: those are stored here.
func (c *compiler) Arrive() {
	if c.Program.Used&(1<<10-1) != 1<<10-1 {
		c.get(temp1, plan.OffRegs)
	}
	for i := range reg(10) {
		if c.Program.Used>>i&1 == 0 {
			c.mem(stores[3], i, temp1, int32(8*i), temp2)
		}
	}
	c.addImm(1, frame, state, int64(plan.OffFrame0), temp1)
	c.mem(loads[3], hostF, frame, plan.FrameHost, temp1)
	c.addImm(1, hostF, hostF, -stackBias, temp1)
	if c.Program.MayGoto {
		c.constant(temp1, vm.MaxMayGoto)
		c.put(temp1, plan.OffMay)
	}
}

// TestOver tests whether the call after the last one is beyond the limit.
func (c *compiler) TestOver() {
	c.get(temp1, plan.OffOver)
	c.cmpImm(1, temp1, 0, temp2)
}

// TailOver executes that call.
func (c *compiler) TailOver(f *plan.Inline) {
	c.constant(0, 0)
	c.tick()
	c.made(f.Kind)
}
