package amd64

import (
	"golang.org/x/sys/cpu"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/jit/plan"
)

func aluReg(c *compiler, in *plan.Insn, r *rule) {
	c.group(r.w, byte(r.op), regs[in.Dst], regs[in.Src])
}

func aluImm(c *compiler, in *plan.Insn, r *rule) {
	c.groupImm(r.w, byte(r.op), regs[in.Dst], int32(in.Imm))
}

func mulReg(c *compiler, in *plan.Insn, r *rule) { c.rr(r.w, 0x0faf, regs[in.Dst], regs[in.Src]) }

func mulImm(c *compiler, in *plan.Insn, r *rule) {
	c.mul(r.w, regs[in.Dst], regs[in.Dst], int32(in.Imm))
}

// mul is dst = src * v.
func (c *compiler) mul(w uint8, dst, src reg, v int32) {
	if v == int32(int8(v)) {
		c.rr(w, 0x6b, dst, src)
		c.byte(byte(v))
		return
	}
	c.rr(w, 0x69, dst, src)
	c.imm32(v)
}

func neg(c *compiler, in *plan.Insn, r *rule) { c.rr(r.w, 0xf7, 3, regs[in.Dst]) }

func movReg(c *compiler, in *plan.Insn, r *rule) {
	d := regs[in.Dst]
	if in.Src == 10 {
		c.move(d, hostF)
		c.group(1, opSub, d, hostR)
		return
	}
	if in.Src != in.Dst || r.w == 0 {
		c.rr(r.w, 0x89, regs[in.Src], d)
	}
}

func mov64Imm(c *compiler, in *plan.Insn, _ *rule) { c.constant(regs[in.Dst], in.Imm) }

func mov32Imm(c *compiler, in *plan.Insn, _ *rule) { c.constant(regs[in.Dst], uint64(uint32(in.Imm))) }

func movSX(c *compiler, in *plan.Insn, r *rule) {
	if r.op == 0x0fbe {
		c.rr8(r.w, r.op, regs[in.Dst], regs[in.Src])
		return
	}
	c.rr(r.w, r.op, regs[in.Dst], regs[in.Src])
}

// hasBMI2: the processor has shifts by any register.
var hasBMI2 = cpu.X86.HasBMI2

func shiftReg(c *compiler, in *plan.Insn, r *rule) {
	d, s := regs[in.Dst], regs[in.Src]
	if !hasBMI2 {
		c.move32(temp1, s)
		c.rr(r.w, 0xd3, reg(r.op), d)
		return
	}
	// VEX: map 0f38, count in vvvv, pp is 1 for shlx, 3 for shrx, 2 for sarx.
	pp := byte(1)
	switch r.op {
	case 5:
		pp = 3
	case 7:
		pp = 2
	}
	c.byte(0xc4, byte(^d>>3&1)<<7|1<<6|byte(^d>>3&1)<<5|2, r.w<<7|byte(^s&15)<<3|pp, 0xf7, 0xc0|byte(d&7)<<3|byte(d&7))
}

func shiftImm(c *compiler, in *plan.Insn, r *rule) {
	d := regs[in.Dst]
	n := byte(in.Imm) & (31 | r.w<<5)
	switch {
	case in.Has(plan.FlagRotate):
		c.shift(r.w, byte(r.op)-4, d, n) // left if op is 0, right if 1
	case n != 0:
		c.shift(r.w, byte(r.op), d, n)
	case r.w == 0:
		c.move32(d, d)
	}
}

// swap changes the byte order, or only truncates if the byte order is already right.
func swap(c *compiler, in *plan.Insn, r *rule) {
	d := regs[in.Dst]
	switch in.Op {
	case decode.OpLE64:
	case decode.OpLE32:
		c.move32(d, d)
	case decode.OpLE16:
		c.rr(0, 0x0fb7, d, d)
	case decode.OpBE16, decode.OpBswap16:
		c.reverse(2, d)
		c.rr(0, 0x0fb7, d, d)
	default:
		c.reverse(4<<r.w, d)
	}
}

// reverse changes the order of the lower bytes of a register.
func (c *compiler) reverse(size uint8, d reg) {
	if size == 2 {
		c.byte(0x66)
		c.shift(0, 0, d, 8)
		return
	}
	if rex := size&8 | uint8(d>>3); rex != 0 {
		c.byte(0x40 | rex)
	}
	c.byte(0x0f, 0xc8|byte(d&7))
}

// addrCast is addr_space_cast.
func addrCast(c *compiler, in *plan.Insn, _ *rule) {
	d := regs[in.Dst]
	c.cmpMem0(8, field(plan.OffArenaKern))
	c.LeaveIf(plan.Equal)
	c.move32(d, regs[in.Src])
	c.test(0, d)
	null := c.jccNear(condE)
	if in.Imm == 1<<16 {
		c.load(temp1, field(plan.OffArenaUser))
		c.shift(1, 5, temp1, 32)
		c.shift(1, 4, temp1, 32)
		c.group(1, opOr, d, temp1)
	} else {
		c.groupMem(1, opAdd, d, field(plan.OffArenaKern))
	}
	c.land(null)
}

// Pair generates a move and the operation on its result as one, or reports that it cannot.
func (c *compiler) Pair(in, next *plan.Insn) bool {
	d, v := regs[in.Dst], int32(next.Imm)
	if in.Src == 10 {
		if next.Op != decode.OpAdd64Imm {
			return false
		}
		c.rm(1, 0x8d, d, at(hostF, v), 0)
		c.group(1, opSub, d, hostR)
		return true
	}
	s := regs[in.Src]
	switch next.Op {
	case decode.OpAdd64Imm:
		c.rm(1, 0x8d, d, at(s, v), 0)
	case decode.OpAdd32Imm:
		c.rm(0, 0x8d, d, at(s, v), 0)
	case decode.OpAdd64Reg, decode.OpAdd32Reg:
		w := uint8(1)
		if next.Op == decode.OpAdd32Reg {
			w = 0
		}
		c.rm(w, 0x8d, d, loc{base: s, index: regs[next.Src], disp: 0}, 0)
	case decode.OpAnd64Imm, decode.OpAnd32Imm:
		switch v {
		case 0xff:
			c.rr8(0, 0x0fb6, d, s)
		case 0xffff:
			c.rr(0, 0x0fb7, d, s)
		default:
			return false
		}
	case decode.OpMul64Imm:
		c.mul(1, d, s, v)
	case decode.OpMul32Imm:
		c.mul(0, d, s, v)
	case decode.OpLsh64Imm, decode.OpRsh64Imm:
		if !hasBMI2 || !next.Has(plan.FlagRotate) {
			return false
		}
		n := byte(v) & 63
		if next.Op == decode.OpLsh64Imm {
			n = 64 - n
		}
		c.rorx(1, d, s, n)
	case decode.OpLsh32Imm, decode.OpRsh32Imm:
		if !hasBMI2 || !next.Has(plan.FlagRotate) {
			return false
		}
		n := byte(v) & 31
		if next.Op == decode.OpLsh32Imm {
			n = 32 - n
		}
		c.rorx(0, d, s, n)
	default:
		return false
	}
	return true
}

// rorx is dst = src rotated to the right. VEX: map 0f3a, pp f2.
func (c *compiler) rorx(w uint8, dst, src reg, n byte) {
	c.byte(0xc4, byte(^dst>>3&1)<<7|1<<6|byte(^src>>3&1)<<5|3, w<<7|0x7b, 0xf0, 0xc0|byte(dst&7)<<3|byte(src&7), n)
}

// mulx is hi = the upper half of temp2 * src. VEX: map 0f38, pp f2. The lower half is written to hi
// first.
func (c *compiler) mulx(hi, src reg) {
	c.byte(0xc4, byte(^hi>>3&1)<<7|1<<6|byte(^src>>3&1)<<5|2, 1<<7|byte(^hi&15)<<3|3, 0xf6, 0xc0|byte(hi&7)<<3|byte(src&7))
}
