package generate

import "github.com/bpfrun/bpfrun/decode"

// mixed generates a program of statements of all kinds.
func (p *program) mixed() {
	p.usesStack, p.usesScratch = p.chance(75), p.chance(90)
	if p.chance(12) {
		p.packet = true
		p.busy[regCtx] = true
		p.newPacket()
	}
	p.size = p.between(6, 30)
	if p.gen.cfg.Small {
		p.size = p.between(4, 14)
	}
	p.prologue()
	p.block(0, p.size)
	p.epilogue()
	p.subprograms()
}

// block emits at most n statements. depth is the number of loops and branches around it.
func (p *program) block(depth, n int) {
	for range n {
		if p.size <= 0 {
			break
		}
		p.size--
		p.statement(depth)
	}
}

// statement emits one statement.
func (p *program) statement(depth int) {
	switch k := p.rng.IntN(100); {
	case k < 26:
		p.arith(pick(p, p.gen.alu), p.dst(), p.src())
	case k < 40:
		p.pair()
	case k < 50:
		p.memoryLoad(p.randomOp(decode.FormLoad, decode.FormLoadAcq))
	case k < 60:
		p.memoryStore(p.randomOp(decode.FormStoreImm, decode.FormStoreReg, decode.FormStoreReg, decode.FormStoreRel))
	case k < 67:
		p.atomic(p.randomOp(decode.FormAtomic, decode.FormFetch, decode.FormXchg, decode.FormCmpXchg))
	case k < 71:
		p.constant(p.dst(), p.value())
	case k < 82:
		p.branch(depth)
	case k < 88:
		p.loop(depth)
	case k < 90:
		if p.gen.has(decode.OpMayGoto) {
			p.mayGotoLoop(func() { p.block(depth+1, p.between(1, 3)) })
		}
	case k < 94:
		p.callLocal()
	case k < 96:
		p.lookup(decode.OpLdMapFD)
	case k < 97:
		p.leaveEarly()
	case k < 98:
		if p.gen.has(decode.OpLdFunc) {
			p.callback()
		}
	default:
		if p.packet && !p.sub {
			p.packetLoad(p.randomOp(decode.FormLdAbs, decode.FormLdInd), p.chance(5))
			return
		}
		if p.gen.has(decode.OpAddrSpaceCast) {
			p.emit(decode.OpAddrSpaceCast, p.dst(), p.src(), 0, pick(p, []int32{1, 1 << 16}))
		}
	}
}

// randomOp returns a random instruction of one of the forms. Every kernel must have instructions of
// at least one of them.
func (p *program) randomOp(forms ...decode.Form) decode.Op {
	want := pick(p, forms)
	start := p.rng.IntN(len(p.gen.forms))
	for _, form := range append([]decode.Form{want}, forms...) {
		for i := range p.gen.forms {
			if op := p.gen.forms[(start+i)%len(p.gen.forms)]; op.Info().Form == form {
				return op
			}
		}
	}
	panic("generate: no instruction of the form in the table")
}

// pair emits a sequence whose instructions mostly depend on each other.
func (p *program) pair() {
	seq := pick(p, sequences())
	a := p.dst()
	p.sequence(seq, a)
	if p.chance(20) {
		p.arith(pick(p, p.gen.alu), a, p.src())
	}
}

// sequence emits the instructions of seq; the first one operates on register a.
func (p *program) sequence(seq []decode.Op, a int) {
	p.part(seq[0], a, p.src())
	for _, op := range seq[1:] {
		b, s := a, p.src()
		if p.chance(25) {
			b = p.dst()
		}
		if p.chance(25) {
			s = a
		}
		if op.Info().Form == decode.FormALUReg && seq[0].Info().Form == decode.FormLoad && p.chance(70) {
			b, s = p.dst(), a // the loaded value is the operand
		}
		p.part(op, b, s)
	}
}

// part emits one instruction of a sequence.
func (p *program) part(op decode.Op, d, s int) {
	info := op.Info()
	size := int(info.Size)
	switch info.Form {
	case decode.FormLoad:
		p.emit(op, d, regValue, valueScratch+p.rng.IntN(scratchSize-size+1), 0)
	case decode.FormStoreReg:
		p.emit(op, regValue, s, valueScratch+p.rng.IntN(scratchSize-size+1), 0)
	case decode.FormJumpImm, decode.FormJumpReg:
		j := p.emit(op, d, s, 0, p.imm())
		if p.chance(40) {
			over := p.emit(decode.OpJa, 0, 0, 0, 0)
			p.here(j)
			p.arith(pick(p, p.gen.alu), p.dst(), p.src())
			p.here(over)
			return
		}
		p.arith(pick(p, p.gen.alu), p.dst(), p.src())
		p.here(j)
	default:
		p.arith(op, d, s)
	}
}

// branch emits an if, or an if and else.
func (p *program) branch(depth int) {
	if depth > 3 || p.gen.cfg.Kernel && p.loops > 0 && p.chance(60) {
		return // the verifier follows both branches, in every iteration of a loop
	}
	d := p.src()
	if p.chance(25) {
		// Compare a copy of another register.
		d = p.dst()
		p.emit(decode.OpMov64Reg, d, p.src(), 0, 0)
	}
	j := p.emit(pick(p, p.gen.jumps), d, p.src(), 0, p.imm())
	p.block(depth+1, p.between(1, 4))
	if p.chance(45) {
		over := p.jump()
		p.here(j)
		p.block(depth+1, p.between(1, 3))
		p.here(over)
		return
	}
	p.here(j)
}

// leaveEarly emits a conditional return from the function.
func (p *program) leaveEarly() {
	if p.callbackBody {
		return
	}
	j := p.emit(pick(p, p.gen.jumps), p.src(), p.src(), 0, p.imm())
	p.emit(decode.OpStDW, regValue, 0, valueMark, p.imm())
	p.emit(decode.OpExit, 0, 0, 0, 0)
	p.here(j)
}
