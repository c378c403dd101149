package border

import (
	"math/rand/v2"

	"github.com/bpfrun/bpfrun/decode"
)

// Parts of opcodes (RFC 9669 section 3).
const (
	add, sub, mul, div, or, and, lsh, rsh, neg, mod, xor, mov, arsh, end = 0x00, 0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0x80, 0x90, 0xa0, 0xb0, 0xc0, 0xd0

	ja, jeq, jgt, jge, jset, jne, jsgt, jsge, jlt, jle, jslt, jsle = 0x00, 0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0xa0, 0xb0, 0xc0, 0xd0

	fromReg             = 0x08
	modeMem, modeMemSX  = 0x60, 0x80
	modeAtomic, modeAbs = 0xc0, 0x20
	opCall, opExit      = 0x85, 0x95
)

var sizeCodes = map[int]uint8{1: 0x10, 2: 0x08, 4: 0x00, 8: 0x18}

// generator builds one program.
type generator struct {
	rng    *rand.Rand
	fl     *flavour
	insns  []decode.Insn
	st     state
	ids    int
	wild   float64 // probability that a statement uses registers regardless of their contents
	sloppy float64 // probability that a check is wrong
	subs   []call
	depth  int
	inSub  bool
}

// call is a call of a subprogram whose target is set at the end.
type call struct{ pc, args int }

func (g *generator) chance(p float64) bool { return g.rng.Float64() < p }

func (g *generator) emit(code uint8, dst, src, off int, imm int32) int {
	g.insns = append(g.insns, decode.Insn{Code: code, Dst: uint8(dst), Src: uint8(src), Off: int16(off), Imm: imm})
	return len(g.insns) - 1
}

func (g *generator) alu(op uint8, wide bool, dst int, imm int32) {
	g.emit(aluClass(wide)|op, dst, 0, 0, imm)
}

func (g *generator) aluReg(op uint8, wide bool, dst, src int) {
	g.emit(aluClass(wide)|op|fromReg, dst, src, 0, 0)
}

func aluClass(wide bool) uint8 {
	if wide {
		return decode.ClassALU64
	}
	return decode.ClassALU
}

func (g *generator) load(size, dst, src, off int) {
	g.emit(decode.ClassLDX|modeMem|sizeCodes[size], dst, src, off, 0)
}

func (g *generator) store(size, dst, src, off int) {
	g.emit(decode.ClassSTX|modeMem|sizeCodes[size], dst, src, off, 0)
}

func (g *generator) storeImm(size, dst, off int, imm int32) {
	g.emit(decode.ClassST|modeMem|sizeCodes[size], dst, 0, off, imm)
}

func (g *generator) mapFD(dst, m int) {
	g.emit(0x18, dst, decode.PseudoMapFD, 0, int32(m))
	g.insns = append(g.insns, decode.Insn{})
	g.st.regs[dst] = reg{kind: mapPtr, m: m}
}

func (g *generator) mapValue(dst, m, off int) {
	g.emit(0x18, dst, decode.PseudoMapValue, 0, int32(m))
	g.insns = append(g.insns, decode.Insn{Imm: int32(off)})
	g.st.regs[dst] = reg{kind: value, m: m, off: off, size: int(mapDefs[m].Value)}
}

// land sets the target of the jump at pc to the next instruction.
func (g *generator) land(pc int) { g.insns[pc].Off = int16(len(g.insns) - pc - 1) }

func (g *generator) id() int { g.ids++; return g.ids }

// regsOf lists the registers that hold a value of one of the kinds.
func (g *generator) regsOf(kinds ...kind) []int {
	var out []int
	for i, r := range g.st.regs {
		for _, k := range kinds {
			if r.kind == k {
				out = append(out, i)
			}
		}
	}
	return out
}

// any picks an element, or returns -1 if there is none.
func (g *generator) any(list []int) int {
	if len(list) == 0 {
		return -1
	}
	return list[g.rng.IntN(len(list))]
}

// target picks a register to overwrite: rarely r6, which holds the context.
func (g *generator) target() int {
	for {
		if r := g.rng.IntN(10); r != 6 || g.chance(0.02) {
			return r
		}
	}
}

var edges = []int64{0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 40, 47, 48, 63, 64, 100, 127, 128, 255, 256, 4095, 65535, 0x7fffffff, -1, -2, -8, -128, -0x80000000}

func (g *generator) imm() int32 {
	if g.chance(0.2) {
		return int32(g.rng.Uint32()) >> g.rng.IntN(32)
	}
	return int32(edges[g.rng.IntN(len(edges))])
}

func (g *generator) size() int { return 1 << g.rng.IntN(4) }

// slip returns the error of a bounds check, in bytes: usually 0.
func (g *generator) slip() int {
	if !g.chance(g.sloppy) {
		return 0
	}
	return []int{-1, 1, 1, 2, 4, 8, -8}[g.rng.IntN(7)]
}

// main emits the program and its subprograms.
func (g *generator) main() {
	g.st.regs[1] = reg{kind: ctx}
	g.aluReg(mov, true, 6, 1)
	g.st.regs[6] = reg{kind: ctx}
	g.block(4 + g.rng.IntN(22))
	g.exit()
	for i := 0; i < len(g.subs); i++ {
		c := g.subs[i]
		g.insns[c.pc].Imm = int32(len(g.insns) - c.pc - 1)
		g.st, g.inSub, g.depth = state{}, true, 0
		for a := 1; a <= 5; a++ {
			if c.args&(1<<a) != 0 {
				g.st.regs[a] = reg{kind: scalar}
			}
		}
		if c.args&1 != 0 {
			g.st.regs[1] = reg{kind: ctx}
		}
		g.block(2 + g.rng.IntN(8))
		g.exit()
	}
}

// exit emits the end of a function, with a return value.
func (g *generator) exit() {
	if !g.chance(g.sloppy / 3) {
		for len(g.st.refs) > 0 {
			g.release()
		}
	}
	r := g.any(g.regsOf(scalar))
	switch {
	case g.inSub && r >= 0:
		g.aluReg(mov, true, 0, r)
	case r >= 0 && g.chance(0.15):
		g.aluReg(mov, true, 0, r)
		g.alu(and, true, 0, g.fl.hi+int32(g.slip()))
	case g.chance(g.wild / 2):
	default:
		g.alu(mov, g.chance(0.5), 0, g.fl.lo+g.rng.Int32N(g.fl.hi-g.fl.lo+1))
	}
	g.emit(opExit, 0, 0, 0, 0)
}

// block emits n statements.
func (g *generator) block(n int) {
	for range n {
		if len(g.insns) > 400 {
			return
		}
		g.statement()
	}
}

func (g *generator) statement() {
	if g.chance(g.wild) {
		g.anything()
		return
	}
	switch pick(g.rng, 10, 12, 8, 8, 10, 5, 8, 6, 10, 3, 4, 3, 3, 2, 3) {
	case 0:
		g.fresh()
	case 1:
		g.arithmetic()
	case 2:
		g.branch()
	case 3:
		g.lookup()
	case 4:
		g.valueAccess()
	case 5:
		g.nullCheck()
	case 6:
		g.packetCheck()
	case 7:
		g.packetAccess()
	case 8:
		g.stackAccess()
	case 9:
		g.loop()
	case 10:
		g.helper()
	case 11:
		g.ring()
	case 12:
		g.subprogram()
	case 13:
		g.atomic()
	case 14:
		g.pointerMath()
	}
}
