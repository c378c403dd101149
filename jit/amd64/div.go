package amd64

import (
	"math/bits"

	"github.com/bpfrun/bpfrun/jit/plan"
)

// Division. The instruction divides temp2:rax and leaves the quotient and the remainder there, so
// rax is saved in temp1, or in the destination if that is another register. By RFC 9669, division
// by zero yields 0, modulo by zero the dividend, and the smallest number divided by -1 itself.

func divReg(c *compiler, in *plan.Insn, r *rule) {
	d, s := regs[in.Dst], regs[in.Src]
	c.test(r.w, s)
	zero := c.jccNear(condE)
	var minus int32
	if r.signed {
		c.groupImm(r.w, opCmp, s, -1)
		minus = c.jccNear(condE)
	}
	narrow := c.narrow(r, d, s, func(r *rule) { c.divide(r, d, s) })
	c.divide(r, d, s)
	end := c.jmpNear()
	if r.signed {
		c.land(minus)
		if r.mod {
			c.constant(d, 0)
		} else {
			c.rr(r.w, 0xf7, 3, d)
		}
		over := c.jmpNear()
		c.land(zero)
		c.byZero(r, d)
		c.land(over)
	} else {
		c.land(zero)
		c.byZero(r, d)
	}
	if narrow != 0 {
		c.land(narrow)
	}
	c.land(end)
}

// narrow generates a 64-bit unsigned division by f as a 32-bit one for operands that allow it,
// since most numbers are small and processors take longer for the 64-bit instruction even then. It
// returns the jump after it, 0 if there is none.
func (c *compiler) narrow(r *rule, d, s reg, f func(r *rule)) int32 {
	if r.w == 0 || r.signed {
		return 0
	}
	c.move(temp2, d)
	c.group(1, opOr, temp2, s)
	c.shift(1, 5, temp2, 32)
	wide := c.jccNear(condNE)
	short := *r
	short.w = 0
	f(&short)
	end := c.jmpNear()
	c.land(wide)
	return end
}

// Remainder generates a division with FlagRemainder.
func (c *compiler) Remainder(in *plan.Insn) bool {
	r := &rules[in.Op]
	q, d, n := regs[in.Dst], regs[in.Src], regs[c.Program.Insns[c.PC-1].Src]
	rest := regs[c.Program.Insns[c.PC+int32(in.Size)].Dst]
	divide := func(r *rule) {
		s := d
		if q != rax {
			c.move(temp1, rax)
			if s == rax {
				s = temp1
			}
			c.move(rax, q)
		}
		c.constant(temp2, 0)
		c.rr(r.w, 0xf7, 6, s)
		if q == rax {
			c.move(rax, n)
		} else {
			c.move(rax, temp1)
		}
	}
	c.test(r.w, d)
	zero := c.jccNear(condE)
	narrow := c.narrow(r, q, d, divide)
	divide(r)
	end := c.jmpNear()
	c.land(zero)
	c.move(temp2, q)
	if narrow != 0 {
		c.land(narrow)
	}
	c.land(end)
	c.group(r.w, opSub, q, temp2)
	c.rr(r.w, 0x89, temp2, rest)
	return true
}

// byZero is the result of dividing d by zero.
func (c *compiler) byZero(r *rule, d reg) {
	switch {
	case !r.mod:
		c.constant(d, 0)
	case r.w == 0:
		c.move32(d, d)
	}
}

// divide is d /= s or d %= s for any s for which the instruction has a result.
func (c *compiler) divide(r *rule, d, s reg) {
	if d != rax {
		c.move(temp1, rax)
		if s == rax {
			s = temp1
		}
		c.rr(r.w, 0x89, d, rax)
	} else if s == rax {
		c.move(temp1, rax)
		s = temp1
	}
	if r.signed {
		if r.w != 0 {
			c.byte(0x48)
		}
		c.byte(0x99) // cdq, cqo
		c.rr(r.w, 0xf7, 7, s)
	} else {
		c.constant(temp2, 0)
		c.rr(r.w, 0xf7, 6, s)
	}
	res := rax
	if r.mod {
		res = temp2
	}
	if d != res {
		c.rr(r.w, 0x89, res, d)
	}
	if d != rax {
		c.move(rax, temp1)
	}
}

func divImm(c *compiler, in *plan.Insn, r *rule) {
	d := regs[in.Dst]
	v := int64(in.Imm)
	if r.w == 0 {
		if v = int64(uint32(in.Imm)); r.signed {
			v = int64(int32(in.Imm))
		}
	}
	switch {
	case v == 0:
		c.byZero(r, d)
		return
	case r.signed && v == -1:
		if r.mod {
			c.constant(d, 0)
		} else {
			c.rr(r.w, 0xf7, 3, d)
		}
		return
	case !r.signed && v > 0 && v&(v-1) == 0:
		c.dividePower(r, d, uint64(v))
		return
	}
	if !r.signed && v > 0 && hasBMI2 {
		c.divideMagic(r, d, uint64(v))
		return
	}
	// The divisor is passed on the stack: temp1 and temp2 are in use.
	c.byte(0x68)
	c.imm32(int32(in.Imm)) // push, sign-extended
	if d != rax {
		c.move(temp1, rax)
		c.rr(r.w, 0x89, d, rax)
	}
	if r.signed {
		if r.w != 0 {
			c.byte(0x48)
		}
		c.byte(0x99)
		c.rm(r.w, 0xf7, 7, at(rsp, 0), 0)
	} else {
		c.constant(temp2, 0)
		c.rm(r.w, 0xf7, 6, at(rsp, 0), 0)
	}
	res := rax
	if r.mod {
		res = temp2
	}
	if d != res {
		c.rr(r.w, 0x89, res, d)
	}
	if d != rax {
		c.move(rax, temp1)
	}
	c.rm(1, 0x8d, rsp, at(rsp, 8), 0)
}

// divideMagic divides by a constant that is not a power of two by multiplying by its reciprocal
// (Granlund and Montgomery 1994).
func (c *compiler) divideMagic(r *rule, d reg, v uint64) {
	q := temp1
	if r.w == 0 {
		// For dividends below 2^32 the reciprocal rounded up to 64 bits is exact enough: its error
		// is below v/2^64.
		m, _ := bits.Div64(1, 0, v)
		c.move32(d, d)
		c.constant(temp2, m+1)
		c.mulx(q, d)
	} else {
		n := byte(bits.Len64(v)) // 2^(n-1) < v < 2^n
		// The multiplier has 65 bits, the first of them 1: (d-t)/2+t cannot overflow where d+t
		// could.
		m, _ := bits.Div64(1<<n-v, 0, v)
		c.constant(temp2, m+1)
		c.mulx(q, d)
		c.move(temp2, d)
		c.group(1, opSub, temp2, q)
		c.shift(1, 5, temp2, 1)
		c.group(1, opAdd, q, temp2)
		if n > 1 {
			c.shift(1, 5, q, n-1)
		}
	}
	if !r.mod {
		c.rr(r.w, 0x89, q, d)
		return
	}
	c.mul(r.w, q, q, int32(uint32(v)))
	c.group(r.w, opSub, d, q)
}

// dividePower divides by a power of two.
func (c *compiler) dividePower(r *rule, d reg, v uint64) {
	n := byte(0)
	for v>>n != 1 {
		n++
	}
	switch {
	case !r.mod && n != 0:
		c.shift(r.w, 5, d, n)
	case !r.mod:
		if r.w == 0 {
			c.move32(d, d)
		}
	case n == 0:
		c.constant(d, 0)
	case n < 32:
		c.groupImm(0, opAnd, d, int32(v-1)) // clears the upper half too
	default:
		c.constant(temp1, v-1)
		c.group(1, opAnd, d, temp1)
	}
}
