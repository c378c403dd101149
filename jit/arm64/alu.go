package arm64

import (
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/jit/plan"
)

func aluReg(c *compiler, in *plan.Insn, r *rule) {
	c.rrr(r.w, r.op, reg(in.Dst), reg(in.Dst), reg(in.Src))
}

// addSubImm adds, or subtracts if op is opSub.
func addSubImm(c *compiler, in *plan.Insn, r *rule) {
	v := int64(int32(in.Imm))
	if r.op == opSub {
		v = -v
	}
	c.addImm(r.w, reg(in.Dst), reg(in.Dst), v, temp1)
}

// logic is a bitwise operation with a constant.
func logic(c *compiler, in *plan.Insn, r *rule) {
	v, d := uint64(int64(int32(in.Imm))), reg(in.Dst)
	imm := uint32(opAndImm)
	switch r.op {
	case opOrr:
		imm = opOrrImm
	case opEor:
		imm = opEorImm
	}
	c.logicImm(r.w, imm, r.op, d, d, v, temp1)
}

func mulReg(c *compiler, in *plan.Insn, r *rule) {
	c.multiply(r.w, opMadd, reg(in.Dst), reg(in.Dst), reg(in.Src), zr)
}

func mulImm(c *compiler, in *plan.Insn, r *rule) {
	c.mul(r.w, reg(in.Dst), reg(in.Dst), in.Imm)
}

// mul is dst = src * v.
func (c *compiler) mul(w uint8, dst, src reg, v uint64) {
	c.constant(temp1, uint64(int64(int32(v))))
	c.multiply(w, opMadd, dst, src, temp1, zr)
}

func neg(c *compiler, in *plan.Insn, r *rule) { c.rrr(r.w, opSub, reg(in.Dst), zr, reg(in.Dst)) }

func divReg(c *compiler, in *plan.Insn, r *rule) { c.divide(r, reg(in.Dst), reg(in.Src)) }

func divImm(c *compiler, in *plan.Insn, r *rule) {
	v := uint64(int64(int32(in.Imm)))
	if v == 0 && !r.mod {
		c.constant(reg(in.Dst), 0)
		return
	}
	if r.w == 0 {
		v = uint64(uint32(v))
	}
	if v != 0 && v&(v-1) == 0 && !r.signed {
		c.dividePower(r, reg(in.Dst), v)
		return
	}
	c.constant(temp1, v)
	c.divide(r, reg(in.Dst), temp1)
}

// divide is d /= s or d %= s. The processor's results are those of RFC 9669: division by zero
// yields 0, so the remainder is the dividend, and the smallest number divided by -1 is itself.
func (c *compiler) divide(r *rule, d, s reg) {
	op := uint32(opUdiv)
	if r.signed {
		op = opSdiv
	}
	if !r.mod {
		c.rrr(r.w, op, d, d, s)
		return
	}
	c.rrr(r.w, op, temp2, d, s)
	c.multiply(r.w, opMsub, d, temp2, s, d)
}

// dividePower divides by a power of two.
func (c *compiler) dividePower(r *rule, d reg, v uint64) {
	n := uint32(0)
	for v>>n != 1 {
		n++
	}
	switch {
	case !r.mod && (n != 0 || r.w == 0):
		c.shift(r.w, opLsrv, d, d, n)
	case r.mod && n == 0:
		c.constant(d, 0)
	case r.mod:
		c.logicImm(r.w, opAndImm, opAnd, d, d, v-1, temp1)
	}
}

func shiftReg(c *compiler, in *plan.Insn, r *rule) {
	c.rrr(r.w, r.op, reg(in.Dst), reg(in.Dst), reg(in.Src))
}

func shiftImm(c *compiler, in *plan.Insn, r *rule) {
	c.shiftBy(in, r, reg(in.Dst), reg(in.Dst))
}

// shiftBy is d = s shifted or rotated by a constant.
func (c *compiler) shiftBy(in *plan.Insn, r *rule, d, s reg) {
	top := 31 | uint32(r.w)<<5
	n := uint32(in.Imm) & top
	switch {
	case in.Has(plan.FlagRotate):
		if r.op == opLslv {
			n = -n & top
		}
		c.rotate(r.w, d, s, n)
	case n != 0 || r.w == 0 || d != s:
		c.shift(r.w, r.op, d, s, n)
	}
}

func movReg(c *compiler, in *plan.Insn, r *rule) {
	d := reg(in.Dst)
	if in.Src == 10 {
		c.stackAddress(d, 0)
		return
	}
	if in.Src != in.Dst || r.w == 0 {
		c.rrr(r.w, opOrr, d, zr, reg(in.Src))
	}
}

// stackAddress is d = r10 + off.
func (c *compiler) stackAddress(d reg, off int64) {
	c.rrr(1, opSub, d, hostF, hostR)
	c.addImm(1, d, d, stackBias+off, temp1)
}

func mov64Imm(c *compiler, in *plan.Insn, _ *rule) { c.constant(reg(in.Dst), in.Imm) }

func mov32Imm(c *compiler, in *plan.Insn, _ *rule) { c.constant(reg(in.Dst), uint64(uint32(in.Imm))) }

// movSX sign-extends a number whose top bit is r.op.
func movSX(c *compiler, in *plan.Insn, r *rule) {
	c.field(r.w, opSbfm, reg(in.Dst), reg(in.Src), 0, r.op)
}

// swap changes the byte order, or only truncates if the byte order is already right.
func swap(c *compiler, in *plan.Insn, _ *rule) {
	d := reg(in.Dst)
	switch in.Op {
	case decode.OpLE64:
	case decode.OpLE32:
		c.move32(d, d)
	case decode.OpLE16:
		c.field(0, opUbfm, d, d, 0, 15)
	case decode.OpBE16, decode.OpBswap16:
		c.reverse(2, d)
		c.field(0, opUbfm, d, d, 0, 15)
	case decode.OpBE32, decode.OpBswap32:
		c.reverse(4, d)
	default:
		c.reverse(8, d)
	}
}

// reverse changes the order of the lower bytes of a register whose other bytes are 0 or do not
// matter.
func (c *compiler) reverse(size uint8, d reg) {
	op := uint32(opRev)
	switch size {
	case 2:
		op = opRev16
	case 4:
		op = opRev32
	}
	c.word(op | uint32(d)<<5 | uint32(d))
}

// addrCast is addr_space_cast.
func addrCast(c *compiler, in *plan.Insn, _ *rule) {
	d := reg(in.Dst)
	c.get(temp1, plan.OffArenaKern)
	c.cmpImm(1, temp1, 0, temp2)
	c.LeaveIf(plan.Equal)
	c.move32(d, reg(in.Src))
	null := c.ifZero(0, d)
	if in.Imm == 1<<16 {
		c.get(temp1, plan.OffArenaUser)
		c.shift(1, opLsrv, temp1, temp1, 32)
		c.shift(1, opLslv, temp1, temp1, 32)
		c.rrr(1, opOrr, d, d, temp1)
	} else {
		c.rrr(1, opAdd, d, d, temp1)
	}
	c.land(null)
}

// Pair generates a move and the operation on its result as one, or reports that it cannot.
func (c *compiler) Pair(in, next *plan.Insn) bool {
	d, v := reg(in.Dst), int64(int32(next.Imm))
	if in.Src == 10 {
		if next.Op != decode.OpAdd64Imm {
			return false
		}
		c.stackAddress(d, v)
		return true
	}
	s := reg(in.Src)
	switch next.Op {
	case decode.OpAdd64Imm:
		c.addImm(1, d, s, v, temp1)
	case decode.OpAdd32Imm:
		c.addImm(0, d, s, v, temp1)
	case decode.OpAdd64Reg, decode.OpAdd32Reg:
		w := uint8(1)
		if next.Op == decode.OpAdd32Reg {
			w = 0
		}
		c.rrr(w, opAdd, d, s, reg(next.Src))
	case decode.OpLsh64Imm, decode.OpRsh64Imm, decode.OpArsh64Imm, decode.OpLsh32Imm, decode.OpRsh32Imm:
		c.shiftBy(next, &rules[next.Op], d, s)
	case decode.OpAnd64Imm:
		c.logicImm(1, opAndImm, opAnd, d, s, uint64(v), temp1)
	case decode.OpAnd32Imm:
		c.logicImm(0, opAndImm, opAnd, d, s, uint64(v), temp1)
	case decode.OpMul64Imm:
		c.mul(1, d, s, next.Imm)
	case decode.OpMul32Imm:
		c.mul(0, d, s, next.Imm)
	default:
		return false
	}
	return true
}
