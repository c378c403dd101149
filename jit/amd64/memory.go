package amd64

import (
	"unsafe"

	"github.com/bpfrun/bpfrun/jit/plan"
	"github.com/bpfrun/bpfrun/mem"
)

// operand checks an access and returns where it goes. It changes temp1 and temp2.
func (c *compiler) operand(in *plan.Insn, align bool) loc {
	switch in.Check {
	case plan.CheckNone:
		return at(hostF, int32(in.StackOff))
	case plan.CheckRange:
		c.check(in, align)
	}
	return loc{base: hostR, index: regs[in.Base], disp: int32(in.Off)}
}

// check generates the test of a range: by its cell, or by the shadow.
func (c *compiler) check(in *plan.Insn, align bool) {
	kind := plan.ColdLoads
	if in.Has(plan.FlagRangeStore) {
		kind = plan.ColdStores
	}
	k := plan.Cold{Kind: kind, PC: c.PC}
	if in.Cell >= 0 {
		cell := cellField(in)
		again := c.pos()
		c.base(in)
		c.groupMem(1, opSub, temp1, cell)
		if align {
			c.aligned(in) // runs begin at granules
		}
		cell.disp += cellCount
		c.groupMem(1, opCmp, temp1, cell)
		k.From[0] = c.jccFar(condAE)
		if in.Kind == plan.KindGuard && in.Has(plan.FlagBound) {
			c.load(temp2, cell)
			c.group(1, opSub, temp2, temp1)
			cell.disp += cellBound - cellCount
			c.store(cell, temp2)
			k.Back = again // with a cell that was set only now
			c.PutOff(k)
			return
		}
	} else {
		c.offset(in)
		if align {
			c.aligned(in)
		}
		c.groupMem(1, opCmp, temp1, field(offLimit))
		k.From[0] = c.jccFar(condAE)
		c.shift(1, 5, temp1, 3)
		c.groupMem(1, opAdd, temp1, field(offShadow))
		// With any alignment n bytes touch at most (n+14)/8 granules.
		word := int32(8)
		switch n := in.Hi - in.Lo; {
		case n == 1:
			word = 1
		case n <= 9:
			word = 2
		case n <= 25:
			word = 4
		}
		c.cmpMem0(word, at(temp1, 0))
		k.From[1] = c.jccFar(condNE)
	}
	k.Back = c.pos()
	c.PutOff(k)
}

// Bound compares an index with the bound that a guard found: beyond it the first copy of the loop continues, with its checks.
func (c *compiler) Bound(in *plan.Insn) {
	cell := cellField(in)
	cell.disp += cellBound
	c.groupMem(1, opCmp, regs[in.Base], cell)
	c.jccBack(condAE, int32(c.Out.Starts[in.Slot+1]))
}

// base puts what a range counts from into temp1.
func (c *compiler) base(in *plan.Insn) {
	if in.Base == plan.NoBase {
		c.load(temp1, at(hostF, int32(in.StackOff)))
		return
	}
	c.move(temp1, regs[in.Base])
}

// offset puts the arena offset of a range into temp1.
func (c *compiler) offset(in *plan.Insn) {
	if in.Base == plan.NoBase {
		c.base(in)
		c.groupMem(1, opAdd, temp1, field(offNegBase))
		c.groupImm(1, opAdd, temp1, in.Lo)
		return
	}
	c.load(temp1, field(offNegBase))
	c.rm(1, 0x8d, temp1, loc{base: temp1, index: regs[in.Base], disp: in.Lo}, 0)
}

// aligned leaves if temp1 is not a multiple of the access' size.
func (c *compiler) aligned(in *plan.Insn) {
	if in.Size > 1 {
		c.rr8(0, 0xf6, 0, temp1) // test cl, imm8
		c.byte(in.Size - 1)
		c.unless(condNE)
	}
}

func cellField(in *plan.Insn) loc {
	return field(unsafe.Offsetof(plan.State{}.Cells) + uintptr(in.Cell)*plan.CellSize)
}

// guardCold is what check leaves to code out of line for KindGuard: until Credit is used up the check is not even tried, since the
// loop with its checks is no slower than finding out.
func (c *compiler) guardCold(in *plan.Insn, k *plan.Cold) {
	cell := cellField(in)
	credit := cell
	credit.disp += cellCredit
	c.rm(1, 0x83, opSub, credit, 1)
	c.byte(1)
	start := int32(c.Out.Starts[in.Target])
	c.patch(c.jccFar(condGE), start)
	c.offset(in)
	c.constant(temp2, uint64(in.Hi-in.Lo))
	c.patch(c.callFar(), c.exact[k.Kind-plan.ColdLoads])
	bad := c.jccNear(condNE)
	c.offset(in)
	c.rm(1, 0x8d, temp2, cell, 0)
	c.patch(c.callFar(), c.fill)
	c.patch(c.jmpFar(), k.Back)
	c.land(bad)
	backoff := cell
	backoff.disp += cellBackoff
	c.load(temp1, backoff)
	c.shift(1, 4, temp1, 2)
	c.groupImm(1, opOr, temp1, 3)
	c.groupImm(1, opAnd, temp1, plan.MaxBackoff)
	c.store(backoff, temp1)
	c.store(credit, temp1)
	c.jmpBack(start)
}

// CheckCold is what check leaves to code out of line: the exact test, and setting the cell.
func (c *compiler) CheckCold(k *plan.Cold) {
	in := &c.Program.Insns[k.PC]
	if in.Kind == plan.KindGuard {
		c.guardCold(in, k)
		return
	}
	c.offset(in)
	c.constant(temp2, uint64(in.Hi-in.Lo))
	c.patch(c.callFar(), c.exact[k.Kind-plan.ColdLoads])
	if in.Cell < 0 {
		c.patch(c.jccFar(condE), k.Back)
		c.Leave(plan.Interpret, in.Slot)
		return
	}
	good := c.jccNear(condE)
	c.Leave(plan.Interpret, in.Slot)
	c.land(good)
	cell := cellField(in)
	cell.disp += cellCredit
	c.rm(1, 0x83, opSub, cell, 1)
	c.byte(1)
	c.patch(c.jccFar(condGE), k.Back)
	c.offset(in)
	c.rm(1, 0x8d, temp2, cellField(in), 0)
	c.patch(c.callFar(), c.fill)
	c.patch(c.jmpFar(), k.Back)
}

// fillCode sets the cell at temp2 to the run of accessible bytes around arena offset temp1, which is in one. The run has the class of
// its first byte but for a last granule of which a part is accessible. Memory begins and ends with inaccessible granules, so
// that the search ends.
func (c *compiler) fillCode() {
	c.fill = c.pos()
	for _, r := range []byte{rax8, rsi8, rdi8} {
		c.byte(0x50 | r)
	}
	c.move(rsi, temp1)
	c.shift(1, 5, rsi, 3)
	c.groupMem(1, opAdd, rsi, field(offShadow))
	c.rm(0, 0x0fb6, rax, at(rsi, 0), 0)
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
	// temp1 is how much of the granule after is accessible.
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
	c.groupMem(1, opSub, temp1, at(temp2, cellN))
	some := c.jccNear(condG)
	c.constant(temp1, 0)
	c.land(some)
	c.store(at(temp2, cellCount), temp1)
	// Key = base + start - Lo
	c.groupMem(1, opSub, rsi, field(offShadow))
	c.shift(1, 4, rsi, 3)
	c.groupMem(1, opSub, rsi, field(offNegBase))
	c.groupMem(1, opSub, rsi, at(temp2, cellLo))
	c.store(at(temp2, 0), rsi)
	c.load(rax, at(temp2, cellBackoff))
	c.shift(1, 4, rax, 2)
	c.groupImm(1, opOr, rax, 3)
	c.groupImm(1, opAnd, rax, plan.MaxBackoff)
	c.store(at(temp2, cellBackoff), rax)
	c.store(at(temp2, cellCredit), rax)
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

// exactCode is the exact test of temp2 bytes at arena offset temp1, for stores if that is 1: the zero flag says yes. It keeps all
// registers but temp1 and temp2.
func (c *compiler) exactCode(store int) {
	c.exact[store] = c.pos()
	c.groupMem(1, opCmp, temp1, field(offLimit))
	beyond := c.jccNear(condAE)
	c.byte(0x50) // push rax
	// temp2 becomes the end of the bytes, counted from the start of the first granule, temp1 the address of its shadow.
	c.rr(0, 0x89, temp1, rax)
	c.groupImm(0, opAnd, rax, 7)
	c.group(0, opAdd, temp2, rax)
	c.shift(1, 5, temp1, 3)
	c.groupMem(1, opAdd, temp1, field(offShadow))
	again := c.pos()
	c.rm(0, 0x0fb6, rax, at(temp1, 0), 0)
	if store == 0 {
		c.groupImm(0, opAnd, rax, int32(^mem.ClassStoreTrap))
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
	c.group(0, opCmp, rax, rax)
	c.byte(0x58, 0xc3) // pop rax, ret
	c.land(bad1)
	c.land(bad2)
	c.land(bad3)
	c.byte(0x58)
	c.land(beyond)
	c.test(1, rsp) // not 0
	c.byte(0xc3)
}

// load zero-extends. 32-bit registers clear the upper half.
func load(c *compiler, in *plan.Insn, r *rule) {
	done := int32(0)
	if in.Has(plan.FlagWord) {
		done = c.contextWord(in)
	}
	m := c.operand(in, r.aligned)
	c.rm(r.w, r.op, regs[in.Dst], m, 0)
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

// atomic is a read-modify-write operation. A thread is alone on its memory, so that none needs a lock.
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
