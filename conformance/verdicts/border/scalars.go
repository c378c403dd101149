package border

import "github.com/bpfrun/bpfrun/decode"

// fresh loads a scalar or a map pointer into a register.
func (g *generator) fresh() {
	dst := g.target()
	r := &g.st.regs[dst]
	switch g.rng.IntN(7) {
	case 0:
		n := g.imm()
		g.alu(mov, true, dst, n)
		*r = reg{kind: scalar, bounded: true, lo: int64(n), hi: int64(n)}
	case 1:
		n := uint64(edges[g.rng.IntN(len(edges))]) << g.rng.IntN(33)
		g.emit(0x18, dst, 0, 0, int32(n))
		g.insns = append(g.insns, decode.Insn{Imm: int32(n >> 32)})
		*r = reg{kind: scalar}
	case 2:
		g.mapValue(dst, []int{mapGlobal, mapConst}[g.rng.IntN(2)], g.rng.IntN(32)&^3)
	case 3:
		if g.st.regs[6].kind == ctx && g.fl.ctx > 0 {
			size := 4
			if g.fl.ctx%8 == 0 && !g.fl.skb {
				size = 8
			}
			g.load(size, dst, 6, g.rng.IntN(g.fl.ctx/size)*size)
			*r = reg{kind: scalar}
		}
	case 4:
		g.call(7) // bpf_get_prandom_u32
		g.st.regs[0] = reg{kind: scalar, bounded: true, hi: 1<<32 - 1}
	case 5:
		if src := g.any(g.regsOf(scalar)); src >= 0 {
			g.aluReg(mov, g.chance(0.7), dst, src)
			*r = reg{kind: scalar}
			if g.chance(0.3) { // sign extension
				g.insns[len(g.insns)-1].Off = int16(8 << g.rng.IntN(2))
			} else {
				*r = g.st.regs[src]
			}
		}
	case 6:
		g.mapValue(dst, mapConst, g.rng.IntN(7)*4)
		g.load(4, dst, dst, 0)
		*r = reg{kind: scalar}
	}
}

// call emits a helper call.
func (g *generator) call(id int32) {
	g.emit(opCall, 0, 0, 0, id)
	g.st.forget(1, 5)
	g.st.regs[0] = reg{kind: scalar}
}

// arithmetic emits an ALU operation on a scalar.
func (g *generator) arithmetic() {
	dst := g.any(g.regsOf(scalar))
	if dst < 0 {
		g.fresh()
		return
	}
	r := &g.st.regs[dst]
	wide := g.chance(0.65)
	switch g.rng.IntN(9) {
	case 0, 1: // bound the value with a mask or shift
		n := int32(1)<<g.rng.IntN(8) - 1
		if g.chance(0.3) {
			n = int32(edges[g.rng.IntN(18)])
		}
		g.alu(and, wide, dst, n)
		*r = reg{kind: scalar, bounded: n >= 0, hi: int64(n)}
		return
	case 2:
		n := int32(g.rng.IntN(64))
		if !wide {
			n &= 31
		}
		g.alu([]uint8{lsh, rsh, arsh}[g.rng.IntN(3)], wide, dst, n)
	case 3:
		g.alu([]uint8{div, mod}[g.rng.IntN(2)], wide, dst, max(g.imm(), 1))
		if g.chance(0.3) {
			g.insns[len(g.insns)-1].Off = 1 // signed
		}
	case 4:
		if g.chance(0.5) {
			g.alu(neg, wide, dst, 0)
		} else {
			code := uint8(decode.ClassALU | end)
			switch g.rng.IntN(3) {
			case 0:
				code |= fromReg
			case 1:
				code = decode.ClassALU64 | end
			}
			g.emit(code, dst, 0, 0, int32(16<<g.rng.IntN(3)))
		}
	case 5, 6:
		n := g.imm()
		op := []uint8{add, sub, mul, or, xor, and}[g.rng.IntN(6)]
		g.alu(op, wide, dst, n)
		if op == add && wide && r.bounded && n > -4096 && n < 4096 {
			r.lo, r.hi = r.lo+int64(n), r.hi+int64(n)
			return
		}
	default:
		src := g.any(g.regsOf(scalar))
		g.aluReg([]uint8{add, sub, mul, or, xor, and, lsh, rsh, arsh, div, mod}[g.rng.IntN(11)], wide, dst, src)
	}
	*r = reg{kind: scalar}
}

// jumpOps lists the conditions of jumps.
var jumpOps = []uint8{jeq, jne, jgt, jge, jlt, jle, jsgt, jsge, jslt, jsle, jset}

// branch compares a scalar, and guards some statements or exits.
func (g *generator) branch() {
	r := g.any(g.regsOf(scalar))
	if r < 0 || g.depth > 4 {
		g.fresh()
		return
	}
	class := uint8(decode.ClassJMP)
	if g.chance(0.3) {
		class = decode.ClassJMP32
	}
	op := jumpOps[g.rng.IntN(len(jumpOps))]
	var pc int
	if src := g.any(g.regsOf(scalar)); g.chance(0.3) {
		pc = g.emit(class|op|fromReg, r, src, 0, 0)
	} else {
		n := g.imm()
		pc = g.emit(class|op, r, 0, 0, n)
		if class == decode.ClassJMP && n >= 0 && (op == jgt || op == jge) && g.chance(0.5) {
			g.st.regs[r] = reg{kind: scalar, bounded: true, hi: int64(n)}
		}
	}
	before := g.st
	g.depth++
	g.block(1 + g.rng.IntN(4))
	g.depth--
	switch {
	case g.chance(0.25):
		g.exit()
		g.land(pc)
		g.st = before
	case g.chance(0.4): // else
		skip := g.emit(decode.ClassJMP|ja, 0, 0, 0, 0)
		g.land(pc)
		after := g.st
		g.st = before
		g.depth++
		g.block(1 + g.rng.IntN(3))
		g.depth--
		g.land(skip)
		g.join(&after)
	default:
		g.land(pc)
		g.join(&before)
	}
	g.st.regs[r].bounded = g.st.regs[r].bounded && g.st.regs[r].kind == scalar
}

// join merges the state of another path into the current one. If the paths hold different
// references, the generator usually keeps the shorter list of them: either list leads to a leak or
// a double release on one path, which the verifier has to find.
func (g *generator) join(o *state) {
	refs := g.st.refs
	if len(o.refs) < len(refs) && !g.chance(0.1) {
		refs = o.refs
	}
	g.st.join(o)
	g.st.refs = refs
}

// loop emits a loop: bounded, with may_goto, or potentially infinite.
func (g *generator) loop() {
	if g.depth > 1 {
		return
	}
	counter := 7 + g.rng.IntN(3)
	limit := []int32{1, 2, 3, 5, 8, 10, 16, 30, 64}[g.rng.IntN(9)]
	g.alu(mov, true, counter, 0)
	g.st.regs[counter] = reg{kind: scalar, bounded: true, hi: int64(limit)}
	head := len(g.insns)
	may := g.chance(0.15)
	skip := -1
	if may {
		skip = g.emit(decode.ClassJMP|0xe0, 0, 0, 0, 0) // may_goto
	}
	if !g.chance(g.sloppy / 4) {
		g.st.forget(0, 5) // calls in the body clobber them
	}
	before := g.st
	g.depth += 2
	if g.chance(0.5) { // access memory at the counter
		g.indexed(counter, int(limit))
	}
	g.block(g.rng.IntN(3))
	g.depth -= 2
	g.st.regs[counter] = reg{kind: scalar, bounded: true, hi: int64(limit)}
	step := int32(1)
	if g.chance(g.sloppy / 3) {
		step = 0
	}
	g.alu(add, true, counter, step)
	class := uint8(decode.ClassJMP)
	if g.chance(0.3) {
		class = decode.ClassJMP32
	}
	op := []uint8{jlt, jne, jslt}[g.rng.IntN(3)]
	pc := g.emit(class|op, counter, 0, 0, limit)
	g.insns[pc].Off = int16(head - pc - 1)
	if may {
		g.land(skip)
	}
	g.join(&before)
}
