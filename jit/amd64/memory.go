package amd64

import (
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
	return loc{hostR, regs[in.Base], int32(in.Off)}
}

// check generates the test of a range: quickly, whether the shadow of all granules is 0.
func (c *compiler) check(in *plan.Insn, align bool) {
	base := regs[in.Base]
	if c.baseR != none {
		c.rm(1, 0x8d, temp1, loc{c.baseR, base, in.Lo}, 0)
	} else {
		c.load(temp1, field(offNegBase))
		c.rm(1, 0x8d, temp1, loc{temp1, base, in.Lo}, 0)
	}
	if align && in.Size > 1 {
		c.rr8(0, 0xf6, 0, temp1) // test cl, imm8
		c.byte(in.Size - 1)
		c.unless(condNE)
	}
	kind := coldLoads
	if in.Has(plan.FlagRangeStore) {
		kind = coldStores
	}
	c.groupMem(1, opCmp, temp1, field(offLimit))
	far := c.jccFar(condAE)
	c.move(temp2, temp1)
	c.shift(1, 5, temp2, 3)
	n := in.Hi - in.Lo
	word := int32(8)
	switch {
	case n == 1:
		word = 1
	case n <= 9:
		word = 2
	case n <= 25:
		word = 4
	}
	if c.shadowR != none {
		c.cmpMem0(word, loc{c.shadowR, temp2, 0})
	} else {
		c.groupMem(1, opAdd, temp2, field(offShadow))
		c.cmpMem0(word, at(temp2, 0))
	}
	set := c.jccFar(condNE)
	c.colds = append(c.colds, cold{kind: kind, from: [2]int32{far, set}, pc: c.pc, n: n, back: c.pos()})
}

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
	m := c.operand(in, r.aligned)
	c.rm(r.w, r.op, regs[in.Dst], m, 0)
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
