package amd64

import (
	"unsafe"

	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/jit/plan"
	"github.com/bpfrun/bpfrun/vm"
)

// TestShut tests whether calls have to exit to Go.
func (c *compiler) TestShut() { c.cmpMem0(8, field(plan.OffShut)) }

// Inline generates a call that code executes itself. If it cannot at run time, it exits before it
// has changed anything.
func (c *compiler) Inline(in *plan.Insn) {
	f := c.Program.Inline(in)
	r0 := regs[0]
	switch f.Kind {
	case vm.InlineLookup:
		c.lookup(in, f)
		c.tick()
	case vm.InlineOwned:
		c.owned(in, f)
		c.tick()
	case vm.InlineNext:
		c.iterate(in)
		c.tick()
	case vm.InlineCPU:
		c.load(r0, field(plan.OffCPU))
		c.tick()
	case vm.InlineLock:
		c.lock(in)
		c.tick()
	case vm.InlineUnlock:
		c.unlock()
		c.tick()
	case vm.InlineReserve:
		c.reserve(in, f)
		c.tick()
	case vm.InlineSubmit:
		c.endRecord(in, 0)
	case vm.InlineDiscard:
		c.endRecord(in, 1)
	default:
		c.load(r0, field(plan.OffStep))
		c.groupMem(1, opAdd, r0, field(plan.OffNow))
		c.store(field(plan.OffNow), r0)
		if f.Kind == vm.InlineBoot {
			c.groupMem(1, opAdd, r0, field(plan.OffBoot))
		}
	}
	c.made(f.Kind)
	c.Charge(in.Next)
}

// made counts a call.
func (c *compiler) made(kind vm.InlineKind) {
	c.rm(1, 0x83, opAdd, field(plan.OffCalls+8*int32(kind)), 1)
	c.byte(1)
}

// tick advances the time by one call, if the program reads the time.
func (c *compiler) tick() {
	if c.Program.Timed {
		c.load(temp1, field(plan.OffStep))
		c.rm(1, 0x01, temp1, field(plan.OffNow), 0)
	}
}

// lookup puts the address of a map's element into r0, 0 if there is none.
func (c *compiler) lookup(in *plan.Insn, f *plan.Inline) {
	a, r0, index := &f.Array, regs[0], temp2
	if !f.Known {
		c.constant(temp1, f.Map)
		c.group(1, opCmp, regs[1], temp1)
		c.CallUnless(plan.Equal)
	}
	if f.Hash != nil {
		c.search(in, f)
		return
	}
	key := c.operand(in, false)
	c.rm(0, 0x8b, index, key, 0)
	if a.Table != nil {
		c.chunk(f, key)
		return
	}
	c.constant(r0, 0)
	c.groupImm(0, opCmp, index, int32(a.Elements))
	beyond := c.jccFar(condAE)
	c.constant(temp1, a.Base)
	c.element(a)
	c.fillCells(f)
	c.Land(beyond)
}

// fillCells sets the cells of accesses to the element at r0.
func (c *compiler) fillCells(f *plan.Inline) {
	for cell := range c.Program.FillsOf(f) {
		key := regs[0]
		if cell.Lo != 0 {
			key = temp1
			c.rm(1, 0x8d, key, at(regs[0], -cell.Lo), 0)
		}
		c.store(field(cell.Off), key)
		c.storeImm(field(cell.Off+plan.CellCount), cell.Count)
	}
}

// chunk is the part of lookup for arrays stored in chunks, with the index in temp2.
func (c *compiler) chunk(f *plan.Inline, key loc) {
	a, index := &f.Array, temp2
	c.groupImm(0, opCmp, index, int32(a.Elements))
	beyond := c.jccFar(condAE)
	if a.Shift != 0 {
		c.shift(0, 5, index, byte(a.Shift))
	}
	c.constant(temp1, uint64(uintptr(unsafe.Pointer(unsafe.SliceData(a.Table)))))
	c.load(temp1, loc{base: temp1, index: index, scale: 3})
	c.test(1, temp1)
	c.CallUnless(plan.NotEqual)
	c.rm(0, 0x8b, index, key, 0)
	c.groupImm(0, opAnd, index, int32(uint32(1)<<a.Shift-1))
	c.element(a)
	c.fillCells(f)
	done := c.jmpNear()
	c.Land(beyond)
	c.constant(regs[0], 0)
	c.land(done)
}

// element puts the address of element temp2, relative to temp1, into r0.
func (c *compiler) element(a *vm.Array) {
	c.mul(1, temp2, temp2, int32(a.Stride))
	if a.CPUStride != 0 {
		c.group(1, opAdd, temp1, temp2)
		c.load(temp2, field(plan.OffCPU))
		c.mul(1, temp2, temp2, int32(a.CPUStride))
	}
	c.rm(1, 0x8d, regs[0], loc{base: temp1, index: temp2}, 0)
}

// iterate advances an iterator over numbers.
func (c *compiler) iterate(in *plan.Insn) {
	it := c.operand(in, false)
	end := it
	end.disp += 4
	c.rm(0, 0x8b, temp2, it, 0)
	c.groupImm(0, opAdd, temp2, 1)
	c.groupMem(0, opCmp, temp2, end)
	over := c.jccNear(condGE)
	c.rm(0, 0x89, temp2, it, 0)
	c.move(regs[0], regs[1])
	done := c.jmpNear()
	c.land(over)
	c.constant(regs[0], 0)
	c.store(it, regs[0])
	c.land(done)
}

// lock takes the spin lock r1 if code knows it and it is free.
func (c *compiler) lock(in *plan.Insn) {
	r1 := regs[1]
	word := loc{base: r1, index: hostR}
	c.move32(temp1, r1)
	c.groupImm(0, opAnd, temp1, plan.LockMask)
	c.rm(1, 0x8d, temp2, field(plan.OffLocks), 0)
	c.groupMem(1, opCmp, r1, loc{base: temp2, index: temp1})
	c.CallUnless(plan.Equal)
	c.cmpMem0(4, word)
	c.CallUnless(plan.Equal)
	c.storeImm32(word, 1)
	c.store(field(plan.OffLock), r1)
	c.storeImm(field(plan.OffLockedAt), in.Slot)
	c.storeImm(field(plan.OffShut), plan.ShutLocked)
	c.constant(regs[0], 0)
}

// unlock releases the spin lock r1 if it is the one that is held.
func (c *compiler) unlock() {
	r1 := regs[1]
	c.rm(1, 0x83, opCmp, field(plan.OffShut), 1)
	c.byte(plan.ShutLocked)
	c.CallUnless(plan.Equal)
	c.groupMem(1, opCmp, r1, field(plan.OffLock))
	c.CallUnless(plan.Equal)
	c.storeImm32(loc{base: r1, index: hostR}, 0)
	c.storeImm(field(plan.OffShut), plan.ShutOpen)
	c.constant(regs[0], 0)
}

// owned puts the address of an owner's value into r0.
func (c *compiler) owned(in *plan.Insn, f *plan.Inline) {
	if !f.Known {
		c.constant(temp1, f.Map)
		c.group(1, opCmp, regs[1], temp1)
		c.CallUnless(plan.Equal)
	}
	c.test(1, regs[3])
	c.CallUnless(plan.Equal)
	c.groupImm(1, opCmp, regs[4], 1)
	c.CallUnless(plan.AtMost)
	c.load(temp1, field(plan.OffNegBase))
	c.group(1, opAdd, temp1, regs[2])
	c.groupMem(1, opCmp, temp1, field(plan.OffLimit))
	c.CallUnless(plan.Less)
	c.shift(1, 5, temp1, 3)
	c.groupMem(1, opAdd, temp1, field(plan.OffShadow))
	c.rm(0, 0x0fb6, temp1, at(temp1, 0), 0)
	c.groupImm(0, opCmp, temp1, int32(mem.ClassFreed))
	c.CallUnless(plan.Less)
	c.search(in, f)
}
