package amd64

import (
	"unsafe"

	"github.com/bpfrun/bpfrun/jit/plan"
	"github.com/bpfrun/bpfrun/vm"
)

// TailTarget leaves the address of the target's State in temp1.
func (c *compiler) TailTarget(f *plan.Inline) {
	c.cmpMem0(8, field(plan.OffTails))
	c.CallUnless(plan.NotEqual)
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

// TailRoom leaves the room in temp2.
func (c *compiler) TailRoom(n int32) {
	c.rm(1, 0x8d, temp2, at(roomR, n), 0)
	c.groupMem(1, opSub, temp2, at(temp1, plan.OffSlack))
}

// TailCall enters the other code as Enter does.
func (c *compiler) TailCall(f *plan.Inline) {
	c.store(at(temp1, plan.OffRoom), temp2)
	c.made(f.Kind)
	c.load(temp2, field(plan.OffStep))
	c.store(at(temp1, plan.OffStep), temp2)
	c.groupMem(1, opAdd, temp2, field(plan.OffNow))
	c.store(at(temp1, plan.OffNow), temp2)
	for _, off := range []int32{plan.OffBoot, plan.OffLimit} {
		c.load(temp2, field(off))
		c.store(at(temp1, off), temp2)
	}
	c.load(temp2, field(plan.OffTails))
	c.groupImm(1, opSub, temp2, 1)
	c.store(at(temp1, plan.OffTails), temp2)
	c.storeImm(at(temp1, plan.OffMay), vm.MaxMayGoto)
	c.rm(1, 0x8d, temp2, at(temp1, plan.OffFrame0), 0)
	c.store(at(temp1, plan.OffTop), temp2)
	c.load(temp2, at(temp2, plan.FrameHost))
	c.store(at(temp1, plan.OffHost), temp2)
	c.load(temp2, at(temp1, plan.OffBegin))
	c.store(at(temp1, plan.OffEntry), temp2)
	c.load(temp2, field(plan.OffRegs))
	for i, r := range regs {
		if c.Program.Used>>i&1 != 0 {
			c.store(at(temp2, int32(8*i)), r)
		}
	}
	c.load(rsp, field(plan.OffSP))
	c.rm(0, 0xff, 4, at(temp1, plan.OffText), 0)
}
