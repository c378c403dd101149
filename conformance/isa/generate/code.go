package generate

import (
	"math/rand/v2"

	"github.com/bpfrun/bpfrun/decode"
)

const (
	regValue = 9 // address of the map value
	regFrame = 10
	regCtx   = 6 // the context, in programs with packet loads
)

// program is one program under construction.
type program struct {
	gen    *Generator
	cs     *Case
	rng    *rand.Rand
	insns  []decode.Insn
	values []uint64 // shared with the inputs; see pool

	usesStack, usesScratch bool
	packet                 bool        // r6 holds the context
	sub                    bool        // the code belongs to a subprogram
	calls                  []localCall // calls and function pointers to resolve
	targets                []target    // subprograms to emit
	subs                   []int       // first slots of the subprograms
	current                int         // index of the subprogram being emitted; -1 in the main program
	callbackBody           bool        // the current subprogram is a callback
	busy                   [11]bool    // registers that statements must not write
	pointer                [11]bool    // registers among them that hold pointers
	size                   int         // number of statements left to emit
	recursive              bool        // functions may call themselves
	loops                  int         // number of loops around the next statement
}

// localCall is a call or function pointer whose target is not known yet.
type localCall struct{ pc, sub int }

func (p *program) emit(op decode.Op, dst, src, off int, imm int32) int {
	p.insns = append(p.insns, op.Encode(uint8(dst), uint8(src), int16(off), imm))
	return len(p.insns) - 1
}

// imm64 emits an LD_IMM64, which takes two slots.
func (p *program) imm64(op decode.Op, dst int, lo, hi uint32) {
	p.emit(op, dst, 0, 0, int32(lo))
	p.insns = append(p.insns, decode.Insn{Imm: int32(hi)})
}

func (p *program) constant(dst int, v uint64) {
	switch {
	case v == uint64(int64(int32(v))) && p.chance(60):
		p.emit(decode.OpMov64Imm, dst, 0, 0, int32(v))
	case v == uint64(uint32(v)) && p.chance(60):
		p.emit(decode.OpMov32Imm, dst, 0, 0, int32(v))
	default:
		p.imm64(decode.OpLdImm64, dst, uint32(v), uint32(v>>32))
	}
}

// here makes the next slot the target of the jump at slot pc.
func (p *program) here(pc int) {
	d := len(p.insns) - pc - 1
	if p.insns[pc].Op() == decode.OpJa32 {
		p.insns[pc].Imm = int32(d)
		return
	}
	p.insns[pc].Off = int16(d)
}

// back emits a jump back to slot target.
func (p *program) back(op decode.Op, dst, src, target int, imm int32) {
	pc := p.emit(op, dst, src, 0, imm)
	d := target - pc - 1
	if op == decode.OpJa32 {
		p.insns[pc].Imm = int32(d)
		return
	}
	p.insns[pc].Off = int16(d)
}

// jump emits an unconditional forward jump, whose target is set by here.
func (p *program) jump() int {
	if p.gen.has(decode.OpJa32) && p.chance(40) {
		return p.emit(decode.OpJa32, 0, 0, 0, 0)
	}
	return p.emit(decode.OpJa, 0, 0, 0, 0)
}

// prologue points r9 to the map value and loads the registers and the stack image from it.
func (p *program) prologue() {
	if p.packet {
		p.emit(decode.OpMov64Reg, regCtx, 1, 0, 0)
	}
	op := decode.OpLdMapValue
	if p.chance(10) && p.gen.has(decode.OpLdMapIdxValue) {
		op = decode.OpLdMapIdxValue
	}
	p.imm64(op, regValue, 0, 0)
	if p.usesStack {
		for off := 0; off < stackImage; off += 8 {
			p.emit(decode.OpLdxDW, 0, regValue, valueStack+off, 0)
			p.emit(decode.OpStxDW, regFrame, 0, off-stackImage, 0)
		}
	}
	for r := range 9 {
		if !p.packet || r != regCtx {
			p.emit(decode.OpLdxDW, r, regValue, valueRegs+8*r, 0)
		}
	}
}

// epilogue stores the registers and the stack image, and exits.
func (p *program) epilogue() {
	for r := range 9 {
		if !p.packet || r != regCtx {
			p.emit(decode.OpStxDW, regValue, r, valueRegs+8*r, 0)
		}
	}
	if p.usesStack {
		for off := 0; off < stackImage; off += 8 {
			p.emit(decode.OpLdxDW, 1, regFrame, off-stackImage, 0)
			p.emit(decode.OpStxDW, regValue, 1, valueStack+off, 0)
		}
	}
	p.emit(decode.OpExit, 0, 0, 0, 0)
}

// dst returns a register that statements may write.
func (p *program) dst() int {
	for {
		if r := p.rng.IntN(9); !p.busy[r] {
			return r
		}
	}
}

// dstNot is like dst but excludes regs.
func (p *program) dstNot(regs ...int) int {
next:
	for {
		r := p.dst()
		for _, x := range regs {
			if x == r {
				continue next
			}
		}
		return r
	}
}

// src returns a register that holds a number.
func (p *program) src() int {
	for {
		if r := p.rng.IntN(9); (!p.packet || r != regCtx) && !p.pointer[r] {
			return r
		}
	}
}

// operand returns an immediate that op accepts.
func (p *program) operand(op decode.Op) int32 {
	switch op {
	case decode.OpLsh64Imm, decode.OpRsh64Imm, decode.OpArsh64Imm:
		return p.shift(64)
	case decode.OpLsh32Imm, decode.OpRsh32Imm, decode.OpArsh32Imm:
		return p.shift(32)
	case decode.OpDiv64Imm, decode.OpDiv32Imm, decode.OpSDiv64Imm, decode.OpSDiv32Imm,
		decode.OpMod64Imm, decode.OpMod32Imm, decode.OpSMod64Imm, decode.OpSMod32Imm:
		if p.chance(25) {
			return -1
		}
		if v := p.imm(); v != 0 {
			return v
		}
		return 3
	}
	return p.imm()
}

func (p *program) shift(width int) int32 {
	if p.chance(40) {
		return int32(pick(p, []int{0, 1, width/2 - 1, width / 2, width - 1}))
	}
	return int32(p.rng.IntN(width))
}

// arith emits one arithmetic instruction.
func (p *program) arith(op decode.Op, dst, src int) {
	p.emit(op, dst, src, 0, p.operand(op))
}
