package amd64

import (
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/jit/plan"
)

// operand checks an access and returns its address. It clobbers temp1 and temp2.
func (c *compiler) operand(in *plan.Insn, align bool) loc {
	switch in.Check {
	case plan.CheckNone:
		return at(hostF, in.Off)
	case plan.CheckRange:
		c.Check(in, align)
	}
	return loc{base: hostR, index: regs[in.Base], disp: int32(in.Off)}
}

// CellOffset computes the value to compare with the cell's Count, in temp1.
func (c *compiler) CellOffset(in *plan.Insn) {
	c.base(in)
	c.groupMem(1, opSub, temp1, cellField(in, 0))
}

// CompareCell compares temp1 with the cell's Count.
func (c *compiler) CompareCell(in *plan.Insn) {
	c.groupMem(1, opCmp, temp1, cellField(in, plan.CellCount))
}

// SetBound sets Bound to Count - temp1.
func (c *compiler) SetBound(in *plan.Insn) {
	c.load(temp2, cellField(in, plan.CellCount))
	c.group(1, opSub, temp2, temp1)
	c.store(cellField(in, plan.CellBound), temp2)
}

// CompareBound compares a register with Bound.
func (c *compiler) CompareBound(in *plan.Insn) {
	c.groupMem(1, opCmp, regs[in.Base], cellField(in, plan.CellBound))
}

// CompareLimit compares temp1 with State.Limit.
func (c *compiler) CompareLimit() { c.groupMem(1, opCmp, temp1, field(plan.OffLimit)) }

// CompareShadow tests the shadow at the arena offset in temp1.
func (c *compiler) CompareShadow(log int) {
	c.shift(1, 5, temp1, 3)
	c.groupMem(1, opAdd, temp1, field(plan.OffShadow))
	c.cmpMem0(1<<log, at(temp1, 0))
}

// base loads the base of a range into temp1.
func (c *compiler) base(in *plan.Insn) {
	if in.Base == plan.NoBase {
		c.load(temp1, at(hostF, in.Off))
		return
	}
	c.move(temp1, regs[in.Base])
}

// ArenaOffset computes the arena offset of a range in temp1.
func (c *compiler) ArenaOffset(in *plan.Insn) {
	if in.Base == plan.NoBase {
		c.base(in)
		c.groupMem(1, opAdd, temp1, field(plan.OffNegBase))
		c.groupImm(1, opAdd, temp1, in.Lo)
		return
	}
	c.load(temp1, field(plan.OffNegBase))
	c.rm(1, 0x8d, temp1, loc{base: temp1, index: regs[in.Base], disp: in.Lo}, 0)
}

// TestAligned tests the low bits of temp1.
func (c *compiler) TestAligned(size uint8) {
	c.rr8(0, 0xf6, 0, temp1) // test cl, imm8
	c.byte(size - 1)
}

// cellField returns a field of the cell of a check.
func cellField(in *plan.Insn, off int32) loc { return field(in.CellOffset() + off) }

// Exact generates the exact test. The zero flag is set if the range is accessible.
func (c *compiler) Exact(in *plan.Insn, stores int) {
	c.ArenaOffset(in)
	c.constant(temp2, uint64(in.Hi-in.Lo))
	c.patch(c.callFar(), c.exact[stores])
}

// SkipIfExact skips depending on the result of the exact test.
func (c *compiler) SkipIfExact(want bool) int32 {
	if want {
		return c.jccNear(condE)
	}
	return c.jccNear(condNE)
}

// JumpBackIfExact jumps depending on the result of the exact test.
func (c *compiler) JumpBackIfExact(to int32) bool {
	c.patch(c.jccFar(condE), to)
	return true
}

// TakeCredit decrements Credit and jumps if there was some.
func (c *compiler) TakeCredit(in *plan.Insn, to int32) {
	c.rm(1, 0x83, opSub, cellField(in, plan.CellCredit), 1)
	c.byte(1)
	c.patch(c.jccFar(condGE), to)
}

// FillCell sets the cell to the run around the range.
func (c *compiler) FillCell(in *plan.Insn) {
	c.ArenaOffset(in)
	c.rm(1, 0x8d, temp2, cellField(in, 0), 0)
	c.patch(c.callFar(), c.fill)
}

// BackOff sets Credit and Backoff.
func (c *compiler) BackOff(in *plan.Insn) {
	c.load(temp1, cellField(in, plan.CellBackoff))
	c.shift(1, 4, temp1, 2)
	c.groupImm(1, opOr, temp1, 3)
	c.groupImm(1, opAnd, temp1, plan.MaxBackoff)
	c.store(cellField(in, plan.CellBackoff), temp1)
	c.store(cellField(in, plan.CellCredit), temp1)
}

// fillCode sets the cell at temp2 to the run of accessible bytes around arena offset temp1, which
// is accessible. The run has the class of its first byte, except that its last granule may be
// partly accessible. Memory starts and ends with inaccessible granules, so the search ends. There
// is no run around bytes beside a guard: a cell would let stores to the guard pass.
func (c *compiler) fillCode() {
	c.fill = c.pos()
	c.storeImm(field(plan.OffFilled), 1)
	for _, r := range []byte{rax8, rsi8, rdi8} {
		c.byte(0x50 | r)
	}
	c.move(rsi, temp1)
	c.shift(1, 5, rsi, 3)
	c.groupMem(1, opAdd, rsi, field(plan.OffShadow))
	c.rm(0, 0x0fb6, rax, at(rsi, 0), 0)
	c.groupImm(0, opCmp, rax, int32(mem.ClassHeadGuarded))
	guarded := c.jccFar(condE)
	c.groupImm(0, opAnd, rax, int32(mem.ClassStoreTrap))
	c.constant(temp1, 0x0101010101010101)
	c.rr(1, 0x0faf, rax, temp1) // the class of the run, eight times
	c.move(rdi, rsi)
	again := c.pos()
	c.rm(1, 0x39, rax, at(rdi, 0), 0)
	words := c.jccNear(condNE)
	c.groupImm(1, opAdd, rdi, 8)
	c.jmpBack(again)
	c.land(words)
	again = c.pos()
	c.rm8(0x38, rax, at(rdi, 0))
	bytes := c.jccNear(condNE)
	c.groupImm(1, opAdd, rdi, 1)
	c.jmpBack(again)
	c.land(bytes)
	// temp1 becomes the number of accessible bytes in the next granule.
	c.rm(0, 0x0fb6, temp1, at(rdi, 0), 0)
	c.group(0, opXor, temp1, rax)
	c.rr8(0, 0x0fb6, temp1, temp1)
	c.groupImm(0, opCmp, temp1, 8)
	part := c.jccNear(condB)
	c.constant(temp1, 0)
	c.land(part)
	c.rm(1, 0x8d, temp1, loc{base: temp1, index: rdi, disp: 0}, 0)
	c.group(1, opSub, temp1, rdi) // clears the upper half of what was a byte
	again = c.pos()
	c.rm8(0x38, rax, at(rsi, -1))
	start := c.jccNear(condNE)
	c.groupImm(1, opSub, rsi, 1)
	c.jmpBack(again)
	c.land(start)
	// Count = (end - start granules)*8 + part - N + 1, 0 if that is not above 0.
	c.group(1, opSub, rdi, rsi)
	c.rm(1, 0x8d, temp1, loc{base: temp1, index: rdi, disp: 1, scale: 3}, 0)
	c.groupMem(1, opSub, temp1, at(temp2, plan.CellN))
	some := c.jccNear(condG)
	c.patch(guarded, c.pos())
	c.constant(temp1, 0)
	c.land(some)
	c.store(at(temp2, plan.CellCount), temp1)
	// Key = base + start - Lo
	c.groupMem(1, opSub, rsi, field(plan.OffShadow))
	c.shift(1, 4, rsi, 3)
	c.groupMem(1, opSub, rsi, field(plan.OffNegBase))
	c.groupMem(1, opSub, rsi, at(temp2, plan.CellLo))
	c.store(at(temp2, 0), rsi)
	c.load(rax, at(temp2, plan.CellBackoff))
	c.shift(1, 4, rax, 2)
	c.groupImm(1, opOr, rax, 3)
	c.groupImm(1, opAnd, rax, plan.MaxBackoff)
	c.store(at(temp2, plan.CellBackoff), rax)
	c.store(at(temp2, plan.CellCredit), rax)
	for _, r := range []byte{rdi8, rsi8, rax8} {
		c.byte(0x58 | r)
	}
	c.byte(0xc3)
}

// The numbers of registers in push and pop.
const (
	rax8 = byte(rax)
	rsi8 = byte(rsi)
	rdi8 = byte(rdi)
)

// exactCode is the exact test of temp2 bytes at arena offset temp1, for stores if that is 1. It
// sets the zero flag if they are accessible. It preserves all registers except temp1 and temp2.
func (c *compiler) exactCode(store int) {
	c.exact[store] = c.pos()
	c.groupMem(1, opCmp, temp1, field(plan.OffLimit))
	beyond := c.jccFar(condAE)
	c.byte(0x50) // push rax
	// temp2 becomes the end of the bytes, counted from the start of the first granule, temp1 the
	// address of its shadow.
	c.rr(0, 0x89, temp1, rax)
	c.groupImm(0, opAnd, rax, 7)
	c.group(0, opAdd, temp2, rax)
	c.shift(1, 5, temp1, 3)
	c.groupMem(1, opAdd, temp1, field(plan.OffShadow))
	beside := c.besideGuard(store)
	again := c.pos()
	c.rm(0, 0x0fb6, rax, at(temp1, 0), 0)
	if store == 0 {
		c.groupImm(0, opAnd, rax, int32(^mem.LoadsIgnore))
	}
	c.groupImm(0, opCmp, temp2, 8)
	last := c.jccNear(condBE)
	c.test(0, rax)
	bad1 := c.jccNear(condNE)
	c.groupImm(1, opAdd, temp1, 1)
	c.groupImm(0, opSub, temp2, 8)
	c.jmpBack(again)
	c.land(last)
	c.test(0, rax)
	good := c.jccNear(condE)
	c.groupImm(0, opCmp, rax, 7)
	bad2 := c.jccNear(condA)
	c.group(0, opCmp, temp2, rax)
	bad3 := c.jccNear(condA)
	c.land(good)
	if beside != 0 {
		c.land(beside)
	}
	c.group(0, opCmp, rax, rax)
	c.byte(0x58, 0xc3) // pop rax, ret
	c.land(bad1)
	c.land(bad2)
	c.land(bad3)
	c.byte(0x58)
	c.patch(beyond, c.pos())
	c.test(1, rsp) // not 0
	c.byte(0xc3)
}

// besideGuard is the part of the exact test of stores that lets those pass that begin in the last
// four bytes of a granule whose first four are guarded; rax is where they begin in it. It returns
// the jump of those that end there, too, 0 for loads.
func (c *compiler) besideGuard(store int) (done int32) {
	if store == 0 {
		return 0
	}
	c.groupImm(0, opCmp, rax, 4)
	first := c.jccNear(condB)
	c.rm(0, 0x0fb6, rax, at(temp1, 0), 0)
	c.groupImm(0, opCmp, rax, int32(mem.ClassHeadGuarded))
	other := c.jccNear(condNE)
	c.groupImm(0, opCmp, temp2, 8)
	done = c.jccNear(condBE)
	c.groupImm(1, opAdd, temp1, 1)
	c.groupImm(0, opSub, temp2, 8)
	c.land(first)
	c.land(other)
	return done
}

// load zero-extends. 32-bit registers clear the upper half.
func load(c *compiler, in *plan.Insn, r *rule) {
	done := int32(0)
	if in.Has(plan.FlagWord) {
		done = c.contextWord(in)
	}
	m := c.operand(in, r.aligned)
	c.rm(r.w, r.op, regs[in.Dst], m, 0)
	if in.Has(plan.FlagSwap) {
		c.reverse(in.Size, regs[in.Dst])
	}
	if done != 0 {
		c.land(done)
	}
}

func store(c *compiler, in *plan.Insn, r *rule) {
	c.storeReg(in.Size, c.operand(in, r.aligned), regs[in.Src])
}

func (c *compiler) storeReg(size uint8, m loc, src reg) {
	switch size {
	case 1:
		c.rm8(0x88, src, m)
	case 2:
		c.byte(0x66)
		c.rm(0, 0x89, src, m, 0)
	case 4:
		c.rm(0, 0x89, src, m, 0)
	default:
		c.rm(1, 0x89, src, m, 0)
	}
}

func storeImm(c *compiler, in *plan.Insn, _ *rule) {
	m := c.operand(in, false)
	switch in.Size {
	case 1:
		c.rm(0, 0xc6, 0, m, 1)
		c.byte(byte(in.Imm))
	case 2:
		c.byte(0x66)
		c.rm(0, 0xc7, 0, m, 2)
		c.byte(byte(in.Imm), byte(in.Imm>>8))
	case 4:
		c.rm(0, 0xc7, 0, m, 4)
		c.imm32(int32(in.Imm))
	default:
		c.storeImm(m, int32(in.Imm))
	}
}

// atomic generates a read-modify-write operation. No other thread uses the memory, so no lock
// prefix is needed.
func atomic(c *compiler, in *plan.Insn, r *rule) {
	m := c.operand(in, true)
	src := regs[in.Src]
	w := uint8(0)
	if in.Size == 8 {
		w = 1
	}
	if r.fetch {
		c.rm(w, 0x8b, temp1, m, 0)
	}
	c.rm(w, r.op, src, m, 0)
	if r.fetch {
		c.rr(w, 0x89, temp1, src)
	}
}

func cmpXchg(c *compiler, in *plan.Insn, r *rule) {
	m := c.operand(in, true)
	w := uint8(0)
	if in.Size == 8 {
		w = 1
	}
	c.rm(w, 0x8b, temp1, m, 0)
	c.group(w, opCmp, temp1, rax)
	differ := c.jccNear(condNE)
	c.rm(w, 0x89, regs[in.Src], m, 0)
	c.land(differ)
	c.rr(w, 0x89, temp1, rax)
}
