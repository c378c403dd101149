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
	c.get(temp1, plan.OffTails)
	c.cmpImm(1, temp1, 0, temp2)
	c.CallUnless(plan.NotEqual)
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

// TailRoom leaves the room in temp4.
func (c *compiler) TailRoom(n int32) {
	c.addImm(1, temp4, roomR, int64(n), temp2)
	c.mem(loads[3], temp2, target, plan.OffSlack, temp3)
	c.rrr(1, opSubs, temp4, temp4, temp2)
}

// TailCall enters the other code as Enter does.
func (c *compiler) TailCall(f *plan.Inline) {
	give := func(r reg, off int32) { c.mem(stores[3], r, target, off, temp3) }
	give(temp4, plan.OffRoom)
	c.made(f.Kind)
	c.get(temp1, plan.OffStep)
	give(temp1, plan.OffStep)
	c.get(temp2, plan.OffNow)
	c.rrr(1, opAdd, temp2, temp2, temp1)
	give(temp2, plan.OffNow)
	for _, off := range []int32{plan.OffBoot, plan.OffLimit} {
		c.get(temp1, off)
		give(temp1, off)
	}
	c.get(temp1, plan.OffTails)
	c.addImm(1, temp1, temp1, -1, temp2)
	give(temp1, plan.OffTails)
	c.constant(temp1, vm.MaxMayGoto)
	give(temp1, plan.OffMay)
	c.addImm(1, temp1, target, int64(plan.OffFrame0), temp2)
	give(temp1, plan.OffTop)
	c.mem(loads[3], temp2, temp1, plan.FrameHost, temp3)
	give(temp2, plan.OffHost)
	c.mem(loads[3], temp1, target, plan.OffBegin, temp3)
	give(temp1, plan.OffEntry)
	c.get(temp1, plan.OffRegs)
	for i := range reg(10) {
		if c.Program.Used>>i&1 != 0 {
			c.mem(stores[3], i, temp1, int32(8*i), temp2)
		}
	}
	c.get(lr, plan.OffSP)
	c.mem(loads[3], temp1, target, plan.OffText, temp3)
	c.move(state, target)
	c.word(opBr | uint32(temp1)<<5)
}
