package amd64

import (
	"encoding/binary"

	"github.com/bpfrun/bpfrun/jit/plan"
)

// reg is a host register by its number in encodings.
type reg uint8

const (
	rax reg = iota
	rcx
	rdx
	rbx
	rsp
	rbp
	rsi
	rdi
	r8
	r9
	r10
	r11
	r12
	r13
	r14
	r15
	none reg = 0xff
)

// loc is a memory operand: base + index + disp, or relative to the state if base is none.
type loc struct {
	base, index reg
	disp        int32
	scale       byte // of index, as a power of two
}

// at is the memory at a register plus a constant.
func at(base reg, disp int32) loc { return loc{base: base, index: none, disp: disp} }

// field returns a field of the State.
func field(off int32) loc { return loc{base: none, index: none, disp: off} }

// asm encodes instructions. Operand sizes are given by w: 1 for 64 bits, 0 for less.
type asm struct {
	plan.Buffer
	state int32 // offset of State from the start of the code
}

func (a *asm) byte(v ...byte) {
	for _, b := range v {
		a.imm8(b)
	}
}

func (a *asm) imm8(v byte) { a.Put(uint64(v), 1) }

func (a *asm) imm32(v int32) { a.Put(uint64(uint32(v)), 4) }

func (a *asm) imm64(v uint64) { a.Put(v, 8) }

// pos returns the offset of the next instruction.
func (a *asm) pos() int32 { return int32(a.Len()) }

// opcode returns an opcode in the byte order of its encoding (0x8b, 0x0fb6), with a prefix if rex
// is not 0, and its length.
func opcode(rex uint8, op uint16) (v uint64, n uint) {
	v, n = uint64(op), 1
	if op > 0xff {
		v, n = uint64(op>>8|op<<8), 2
	}
	// The prefix is unpredictable, so this avoids a branch.
	some := (uint(rex) + 0xff) >> 8
	return v<<(8*some&15) | uint64(rex|0x40*uint8(some)), n + some
}

// force in rex emits the prefix even if it is otherwise empty: without it, byte registers 4 to 7
// are ah to bh.
const force = 0x40

// behind returns v preceded by n bytes.
func behind(v uint64, n uint) uint64 { return v << (8 * n & 63) }

// rr is an instruction with a register and another one in the r/m field.
func (a *asm) rr(w uint8, op uint16, r, rm reg) {
	v, n := opcode(w<<3|uint8(r>>3)<<2|uint8(rm>>3), op)
	a.Put(v|behind(0xc0|uint64(r&7)<<3|uint64(rm&7), n), n+1)
}

// rr8 is rr for operations whose r/m is a byte register.
func (a *asm) rr8(w uint8, op uint16, r, rm reg) {
	rex := w<<3 | uint8(r>>3)<<2 | uint8(rm>>3)
	if rm >= rsp {
		rex |= force
	}
	v, n := opcode(rex, op)
	a.Put(v|behind(0xc0|uint64(r&7)<<3|uint64(rm&7), n), n+1)
}

// rri is rr with a one-byte immediate.
func (a *asm) rri(w uint8, op uint16, r, rm reg, imm byte) {
	v, n := opcode(w<<3|uint8(r>>3)<<2|uint8(rm>>3), op)
	a.Put(v|behind(0xc0|uint64(r&7)<<3|uint64(rm&7)|uint64(imm)<<8, n), n+2)
}

// rm is an instruction with a register and memory. tail is the number of immediate bytes that
// follow.
func (a *asm) rm(w uint8, op uint16, r reg, m loc, tail int32) {
	a.memory(w<<3, op, r, m, tail)
}

// rm8 is rm with a byte register.
func (a *asm) rm8(op uint16, r reg, m loc) {
	rex := uint8(0)
	if r >= rsp {
		rex = force
	}
	a.memory(rex, op, r, m, 0)
}

// memory is rm with additional bits of the prefix.
func (a *asm) memory(rex uint8, op uint16, r reg, m loc, tail int32) {
	rex |= uint8(r>>3) << 2
	modrm, size := uint64(r&7)<<3, uint(1)
	switch {
	case m.base == none: // rip
		v, n := opcode(rex, op)
		d := a.state + m.disp - (a.pos() + int32(n) + 5 + tail)
		a.Put(v|behind(0x05|modrm|uint64(uint32(d))<<8, n), n+5)
		return
	case m.index != none:
		rex |= uint8(m.index>>3) << 1
		modrm |= 4 | (uint64(m.scale)<<6|uint64(m.index&7)<<3|uint64(m.base&7))<<8
		size = 2
	case m.base&7 == rsp:
		modrm |= 4 | 0x24<<8
		size = 2
	default:
		modrm |= uint64(m.base & 7)
	}
	v, n := opcode(rex|uint8(m.base>>3), op)
	switch {
	case m.disp == 0 && m.base&7 != rbp:
		a.Put(v|behind(modrm, n), n+size)
	case m.disp == int32(int8(m.disp)):
		a.Put(v|behind(modrm|0x40|behind(uint64(uint8(m.disp)), size), n), n+size+1)
	default:
		a.Put(v|behind(modrm|0x80, n), n+size)
		a.imm32(m.disp)
	}
}

// The arithmetic group. The number is the one used with an immediate; times 8, it is the opcode of
// the other forms.
const (
	opAdd = 0
	opOr  = 1
	opAnd = 4
	opSub = 5
	opXor = 6
	opCmp = 7
)

// group is r op= src.
func (a *asm) group(w uint8, op byte, r, src reg) { a.rr(w, uint16(op)<<3|1, src, r) }

// groupImm is r op= v.
func (a *asm) groupImm(w uint8, op byte, r reg, v int32) {
	if v == int32(int8(v)) {
		a.rri(w, 0x83, reg(op), r, byte(v))
		return
	}
	a.rr(w, 0x81, reg(op), r)
	a.imm32(v)
}

// groupMem is r op= memory.
func (a *asm) groupMem(w uint8, op byte, r reg, m loc) { a.rm(w, uint16(op)<<3|3, r, m, 0) }

// cmpMem0 compares memory of 1, 2, 4 or 8 bytes with 0.
func (a *asm) cmpMem0(size int32, m loc) {
	switch size {
	case 1:
		a.rm(0, 0x80, opCmp, m, 1)
	case 2:
		a.imm8(0x66)
		a.rm(0, 0x83, opCmp, m, 1)
	case 4:
		a.rm(0, 0x83, opCmp, m, 1)
	default:
		a.rm(1, 0x83, opCmp, m, 1)
	}
	a.imm8(0)
}

// loopAlign is the alignment of loops in bytes: the part of a cache line that is decoded at once.
const loopAlign = 32

// nops are the recommended no-ops of 1 to 8 bytes, as numbers.
var nops = [...]uint64{0x90, 0x9066, 0x001f0f, 0x00401f0f, 0x0000441f0f, 0x0000441f0f66, 0x00000000801f0f, 0x0000000000841f0f}

// align pads with no-ops.
func (a *asm) align(to uint) {
	for n := -uint(a.Len()) % to; n > 0; {
		k := min(n, 8)
		a.Put(nops[k-1], k)
		n -= k
	}
}

// moveIf copies a register on a condition.
func (a *asm) moveIf(cc cond, dst, src reg) { a.rr(1, 0x0f40|uint16(cc), dst, src) }

// move copies a register.
func (a *asm) move(dst, src reg) { a.rr(1, 0x89, src, dst) }

// move32 copies the low half and clears the high half.
func (a *asm) move32(dst, src reg) { a.rr(0, 0x89, src, dst) }

// load and store move 64 bits.
func (a *asm) load(dst reg, m loc) { a.rm(1, 0x8b, dst, m, 0) }

func (a *asm) store(m loc, src reg) { a.rm(1, 0x89, src, m, 0) }

// storeImm stores a sign-extended 64-bit constant.
func (a *asm) storeImm(m loc, v int32) {
	a.rm(1, 0xc7, 0, m, 4)
	a.imm32(v)
}

// storeImm32 stores a 32-bit constant.
func (a *asm) storeImm32(m loc, v int32) {
	a.rm(0, 0xc7, 0, m, 4)
	a.imm32(v)
}

// constant sets a register with the shortest instruction, which may change flags.
func (a *asm) constant(dst reg, v uint64) {
	switch {
	case v == 0:
		a.rr(0, 0x31, dst, dst)
	case v <= 1<<32-1:
		c, n := opcode(uint8(dst>>3), 0xb8|uint16(dst&7))
		a.Put(c|behind(v, n), n+4)
	case int64(v) == int64(int32(v)):
		a.rr(1, 0xc7, 0, dst)
		a.imm32(int32(v))
	default:
		a.Put(0x48|uint64(dst>>3)|(0xb8|uint64(dst&7))<<8, 2)
		a.imm64(v)
	}
}

// test sets flags from a register.
func (a *asm) test(w uint8, r reg) { a.rr(w, 0x85, r, r) }

// shift shifts by a constant: 4 left, 5 right, 7 arithmetic right, 0 rotate left.
func (a *asm) shift(w uint8, how byte, r reg, n byte) {
	a.rri(w, 0xc1, reg(how), r, n)
}

// cond is a condition in the encoding of jcc.
type cond byte

const (
	condB  cond = 2
	condAE cond = 3
	condE  cond = 4
	condNE cond = 5
	condBE cond = 6
	condA  cond = 7
	condL  cond = 0xc
	condGE cond = 0xd
	condLE cond = 0xe
	condG  cond = 0xf
)

// jccFar jumps on a condition with a 32-bit distance and returns the position of the distance.
func (a *asm) jccFar(c cond) int32 {
	a.Put(0x0f|(0x80|uint64(c))<<8, 6)
	return a.pos() - 4
}

// jmpFar is jccFar without a condition, callFar is a call.
func (a *asm) jmpFar() int32 {
	a.Put(0xe9, 5)
	return a.pos() - 4
}

func (a *asm) callFar() int32 {
	a.Put(0xe8, 5)
	return a.pos() - 4
}

// jccNear jumps forward with an 8-bit distance, which land fills in.
func (a *asm) jccNear(c cond) int32 {
	a.Put(0x70|uint64(c), 2)
	return a.pos()
}

func (a *asm) jmpNear() int32 {
	a.Put(0xeb, 2)
	return a.pos()
}

func (a *asm) land(from int32) {
	d := a.pos() - from
	if d > 127 { // it would lead anywhere
		panic("jit/amd64: a near jump does not reach")
	}
	a.Code()[from-1] = byte(d)
}

// jccBack and jmpBack jump to an earlier position.
func (a *asm) jccBack(c cond, to int32) {
	if d := to - a.pos() - 2; d >= -128 {
		a.Put(0x70|uint64(c)|uint64(uint8(d))<<8, 2)
		return
	}
	a.patch(a.jccFar(c), to)
}

func (a *asm) jmpBack(to int32) {
	if d := to - a.pos() - 2; d >= -128 {
		a.Put(0xeb|uint64(uint8(d))<<8, 2)
		return
	}
	a.patch(a.jmpFar(), to)
}

// patch sets the 32-bit distance at pos so that it leads to offset to.
func (a *asm) patch(pos, to int32) {
	binary.LittleEndian.PutUint32(a.Code()[pos:], uint32(to-pos-4))
}
