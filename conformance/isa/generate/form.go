package generate

import "github.com/bpfrun/bpfrun/decode"

var (
	loadOfSize     = map[uint8]decode.Op{1: decode.OpLdxB, 2: decode.OpLdxH, 4: decode.OpLdxW, 8: decode.OpLdxDW}
	storeOfSize    = map[uint8]decode.Op{1: decode.OpStxB, 2: decode.OpStxH, 4: decode.OpStxW, 8: decode.OpStxDW}
	storeImmOfSize = map[uint8]decode.Op{1: decode.OpStB, 2: decode.OpStH, 4: decode.OpStW, 8: decode.OpStDW}
)

// form generates a program that tests one instruction: several instances with operands of their
// own, each of which stores its result in a slot of its own.
func (p *program) form(op decode.Op) {
	info := op.Info()
	switch info.Form {
	case decode.FormLdAbs, decode.FormLdInd:
		p.packetForm(op)
		return
	case decode.FormLoad, decode.FormStoreImm, decode.FormStoreReg, decode.FormAtomic, decode.FormFetch, decode.FormXchg,
		decode.FormCmpXchg, decode.FormLoadAcq, decode.FormStoreRel:
		p.usesStack = p.chance(40)
	}
	p.usesScratch = true
	p.prologue()
	for i := range p.between(4, 7) {
		p.instance(op, info, i)
	}
	if op == decode.OpExit {
		// Only some inputs take the exits so far; the others reach this one.
		p.emit(decode.OpStDW, regValue, 0, valueMark, 1)
	}
	p.epilogue()
	p.subprograms()
}

// slot returns the offset in the map value of the result of instance i.
func slot(i int) int { return valueScratch + 8*(13-i) }

// reload sets a register to a value, usually from the input.
func (p *program) reload(r int) {
	if p.chance(85) {
		p.emit(decode.OpLdxDW, r, regValue, 8*p.rng.IntN(9), 0)
		return
	}
	p.constant(r, p.related())
}

// apart sometimes emits a statement on a register other than regs, so that an instance is not
// always part of the same sequence.
func (p *program) apart(regs ...int) {
	if p.chance(50) {
		r := p.dstNot(regs...)
		p.arith(pick(p, p.gen.alu), r, p.src())
	}
}

func (p *program) instance(op decode.Op, info *decode.Info, i int) {
	d := p.dst()
	s := p.src()
	if p.chance(90) {
		s = p.dstNot(d)
	}
	switch info.Form {
	case decode.FormALUImm, decode.FormNeg, decode.FormEnd:
		p.reload(d)
		p.apart(d)
		p.arith(op, d, 0)
		p.apart(d)
		p.emit(decode.OpStxDW, regValue, d, slot(i), 0)
	case decode.FormALUReg, decode.FormMovSX:
		p.reload(d)
		p.reload(s)
		p.apart(d, s)
		p.arith(op, d, s)
		p.apart(d)
		p.emit(decode.OpStxDW, regValue, d, slot(i), 0)
	case decode.FormAddrCast:
		p.reload(s)
		p.emit(op, d, s, 0, pick(p, []int32{1, 1 << 16}))
		p.emit(decode.OpStxDW, regValue, d, slot(i), 0)
	case decode.FormJumpImm, decode.FormJumpReg:
		p.conditional(op, d, s, i)
	case decode.FormLoad, decode.FormLoadAcq:
		p.emit(decode.OpStxDW, regValue, p.memoryLoad(op), slot(i), 0)
	case decode.FormStoreImm, decode.FormStoreReg, decode.FormStoreRel:
		p.memoryStore(op)
	case decode.FormAtomic, decode.FormFetch, decode.FormXchg, decode.FormCmpXchg:
		p.atomic(op)
	default:
		p.control(op, d, i)
	}
}

// conditional emits a conditional jump and code that stores which branch was taken.
func (p *program) conditional(op decode.Op, d, s, i int) {
	p.reload(d)
	if op.Info().Form == decode.FormJumpReg {
		p.reload(s)
		if s != d && p.chance(25) {
			p.emit(decode.OpMov64Reg, s, d, 0, 0)
			if p.chance(40) {
				p.emit(decode.OpAdd64Imm, s, 0, 0, pick(p, []int32{-1, 1}))
			}
		}
	}
	p.emit(decode.OpStDW, regValue, 0, slot(i), 1)
	p.apart(d, s)
	if p.chance(60) {
		j := p.emit(op, d, s, 0, p.imm())
		p.emit(decode.OpStDW, regValue, 0, slot(i), int32(p.between(2, 9)))
		p.here(j)
		return
	}
	// Both branches lead to different code, and the fall-through branch begins with a jump.
	j := p.emit(op, d, s, 0, p.imm())
	over := p.jump()
	p.here(j)
	p.emit(decode.OpStDW, regValue, 0, slot(i), 3)
	p.here(over)
}

// control emits an instance of a control flow instruction or of a 64-bit immediate.
func (p *program) control(op decode.Op, d, i int) {
	switch op {
	case decode.OpLdImm64:
		v := p.value()
		p.imm64(op, d, uint32(v), uint32(v>>32))
		p.apart(d)
		p.emit(decode.OpStxDW, regValue, d, slot(i), 0)
	case decode.OpLdMapFD, decode.OpLdMapIdx, decode.OpCallHelper:
		p.lookup(op)
	case decode.OpLdMapValue, decode.OpLdMapIdxValue:
		off := p.between(0, ValueSize-8)
		p.imm64(op, d, 0, uint32(off))
		if off >= valueScratch && p.chance(40) {
			p.emit(decode.OpStDW, d, 0, 0, p.imm())
		}
		p.emit(decode.OpLdxDW, d, d, 0, 0)
		p.emit(decode.OpStxDW, regValue, d, slot(i), 0)
	case decode.OpJa, decode.OpJa32:
		p.reload(d)
		j := p.emit(decode.OpJset64Imm, d, 0, 0, 1)
		over := p.emit(op, 0, 0, 0, 0)
		p.here(j)
		p.emit(decode.OpAdd64Imm, d, 0, 0, p.imm())
		p.here(over)
		p.emit(decode.OpStxDW, regValue, d, slot(i), 0)
	case decode.OpMayGoto:
		p.mayGotoLoop(func() { p.arith(pick(p, p.gen.alu), p.dst(), p.src()) })
	case decode.OpCallLocal:
		p.callLocal()
	case decode.OpLdFunc:
		p.callback()
	case decode.OpExit:
		p.reload(d)
		j := p.emit(pick(p, p.gen.jumps), d, p.src(), 0, p.imm())
		p.emit(op, 0, 0, 0, 0)
		p.here(j)
		p.emit(decode.OpAdd64Imm, d, 0, 0, 1)
		p.emit(decode.OpStxDW, regValue, d, slot(i), 0)
	}
}

// packetForm generates a program of packet loads. A load outside the packet ends the program, so
// only the last instance may be one.
func (p *program) packetForm(op decode.Op) {
	p.packet, p.usesScratch = true, false
	p.newPacket()
	p.busy[regCtx] = true
	p.prologue()
	n := p.between(4, 6)
	for i := range n {
		p.emit(decode.OpStDW, regValue, 0, valueMark, int32(i+1))
		p.packetLoad(op, i == n-1)
		p.emit(decode.OpStxDW, regValue, 0, slot(i), 0)
	}
	p.epilogue()
}
