package arm64

import (
	"unsafe"

	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/jit/plan"
	"github.com/bpfrun/bpfrun/vm"
)

// TestShut tests whether calls have to exit to Go.
func (c *compiler) TestShut() {
	c.get(temp1, plan.OffShut)
	c.cmpImm(1, temp1, 0, temp2)
}

// Inline generates a call that code executes itself. If it cannot at run time, it exits before it
// has changed anything.
func (c *compiler) Inline(in *plan.Insn) {
	f := c.Program.Inline(in)
	switch f.Kind {
	case vm.InlineLookup:
		c.lookup(in, f)
	case vm.InlineOwned:
		c.owned(in, f)
	case vm.InlineNext:
		c.iterate(in)
	case vm.InlineLock:
		c.lock(in)
	case vm.InlineUnlock:
		c.unlock()
	case vm.InlineReserve:
		c.reserve(in, f)
	case vm.InlineSubmit:
		c.endRecord(in, 0)
	case vm.InlineDiscard:
		c.endRecord(in, 1)
	}
	c.tick()
	switch f.Kind {
	case vm.InlineCPU:
		c.get(0, plan.OffCPU)
	case vm.InlineMono:
		c.move(0, temp2)
	case vm.InlineBoot:
		c.get(temp1, plan.OffBoot)
		c.rrr(1, opAdd, 0, temp1, temp2)
	}
	c.made(f.Kind)
	c.Charge(in.Next)
}

// tick advances the time by one call, if the program reads the time. It leaves the new time in
// temp2.
func (c *compiler) tick() {
	if c.Program.Timed {
		c.get(temp1, plan.OffStep)
		c.get(temp2, plan.OffNow)
		c.rrr(1, opAdd, temp2, temp2, temp1)
		c.put(temp2, plan.OffNow)
	}
}

// made counts a call.
func (c *compiler) made(kind vm.InlineKind) {
	c.get(temp1, plan.OffCalls+8*int32(kind))
	c.addImm(1, temp1, temp1, 1, temp2)
	c.put(temp1, plan.OffCalls+8*int32(kind))
}

// lookup puts the address of a map's element into r0, 0 if there is none.
func (c *compiler) lookup(in *plan.Insn, f *plan.Inline) {
	a, index, base := &f.Array, temp2, temp4
	if !f.Known {
		c.constant(temp1, f.Map)
		c.cmp(1, 1, temp1)
		c.CallUnless(plan.Equal)
	}
	if f.Hash != nil {
		c.search(in, f)
		return
	}
	c.access(loads[2], index, c.operand(in, false))
	c.cmpImm(0, index, int64(a.Elements), temp3)
	beyond := c.near(condHS)
	if a.Table == nil {
		c.constant(base, a.Base)
	} else {
		c.constant(base, uint64(uintptr(unsafe.Pointer(unsafe.SliceData(a.Table)))))
		c.shift(0, opLsrv, temp3, index, uint32(a.Shift))
		c.shift(1, opLslv, temp3, temp3, 3)
		c.index(loads[3], base, base, temp3)
		c.cmpImm(1, base, 0, temp3)
		c.CallUnless(plan.NotEqual)
		c.logicImm(0, opAndImm, opAnd, index, index, uint64(1)<<a.Shift-1, temp3)
	}
	c.constant(temp3, a.Stride)
	c.multiply(1, opMadd, base, index, temp3, base)
	if a.CPUStride != 0 {
		c.get(temp2, plan.OffCPU)
		c.constant(temp3, a.CPUStride)
		c.multiply(1, opMadd, base, temp2, temp3, base)
	}
	c.move(0, base)
	c.fillCells(f)
	done := c.branch(opB)
	c.land(beyond)
	c.constant(0, 0)
	c.land(done)
}

// fillCells sets the cells of accesses to the element at r0.
func (c *compiler) fillCells(f *plan.Inline) {
	for cell := range c.Program.FillsOf(f) {
		c.addImm(1, temp1, 0, int64(-cell.Lo), temp2)
		c.put(temp1, cell.Off)
		c.constant(temp1, uint64(cell.Count))
		c.put(temp1, cell.Off+plan.CellCount)
	}
}

// iterate advances an iterator over numbers.
func (c *compiler) iterate(in *plan.Insn) {
	it, next, end := c.operand(in, false), temp2, temp4
	c.access(loads[3], next, it)
	c.shift(1, opLsrv, end, next, 32)
	c.addImm(0, next, next, 1, temp3)
	c.cmp(0, next, end)
	over := c.near(condGE)
	c.access(stores[2], next, it)
	c.move(0, 1)
	done := c.branch(opB)
	c.land(over)
	c.access(stores[3], zr, it)
	c.constant(0, 0)
	c.land(done)
}

// lock takes the spin lock r1 if code knows it and it is free.
func (c *compiler) lock(in *plan.Insn) {
	c.logicImm(1, opAndImm, opAnd, temp1, 1, plan.LockMask, temp3)
	c.addImm(1, temp2, state, int64(plan.OffLocks), temp3)
	c.index(loads[3], temp2, temp2, temp1)
	c.cmp(1, temp2, 1)
	c.CallUnless(plan.Equal)
	c.index(loads[2], temp1, hostR, 1)
	c.cmpImm(0, temp1, 0, temp3)
	c.CallUnless(plan.Equal)
	c.constant(temp1, 1)
	c.index(stores[2], temp1, hostR, 1)
	c.put(1, plan.OffLock)
	c.constant(temp1, uint64(in.Slot))
	c.put(temp1, plan.OffLockedAt)
	c.constant(temp1, plan.ShutLocked)
	c.put(temp1, plan.OffShut)
	c.constant(0, 0)
}

// unlock releases the spin lock r1 if it is the one that is held.
func (c *compiler) unlock() {
	c.get(temp1, plan.OffShut)
	c.cmpImm(1, temp1, plan.ShutLocked, temp3)
	c.CallUnless(plan.Equal)
	c.get(temp1, plan.OffLock)
	c.cmp(1, temp1, 1)
	c.CallUnless(plan.Equal)
	c.index(stores[2], zr, hostR, 1)
	c.put(zr, plan.OffShut)
	c.constant(0, 0)
}

// owned puts the address of an owner's value into r0.
func (c *compiler) owned(in *plan.Insn, f *plan.Inline) {
	if !f.Known {
		c.constant(temp1, f.Map)
		c.cmp(1, 1, temp1)
		c.CallUnless(plan.Equal)
	}
	c.cmpImm(1, 3, 0, temp3)
	c.CallUnless(plan.Equal)
	c.cmpImm(1, 4, 1, temp3)
	c.CallUnless(plan.AtMost)
	c.rrr(1, opAdd, temp1, negB, 2)
	c.cmp(1, temp1, limit)
	c.CallUnless(plan.Less)
	c.shift(1, opLsrv, temp1, temp1, 3)
	c.index(loads[0], temp1, shad, temp1)
	c.cmpImm(0, temp1, int64(mem.ClassFreed), temp3)
	c.CallUnless(plan.Less)
	c.search(in, f)
}
