package plan

import "github.com/bpfrun/bpfrun/decode"

// all is the set of all registers.
const all = 1<<11 - 1

// observed records that code may exit before an instruction: all registers are observable there.
func (in *Insn) observed() { in.reads = all }

// rotation finds x << n | x >> width-n, for which the instruction set has no operation, at the
// operation that joins the halves. The shift of the destination register becomes a rotation, and
// the joining operation disappears.
func (p *Program) rotation(b *block, pc int32, in *Insn) {
	d, s := in.Dst, in.Src
	x, y := p.scan.values[d].changed, p.scan.values[s].changed
	if d == s || x < 0 || y < 0 {
		return
	}
	one, two := &p.Insns[x], &p.Insns[y]
	first, second := &rows[one.Op], &rows[two.Op]
	width := rows[in.Op].width
	if first.shift == 0 || first.shift+second.shift != 0 || first.width != width || second.width != width ||
		one.Imm&uint64(width-1)+two.Imm&uint64(width-1) != uint64(width) {
		return
	}
	for q := x + 1; q < pc; q++ { // nothing may observe the early rotation
		if p.Insns[q].reads>>d&1 != 0 {
			return
		}
	}
	from := p.common(b, operand{d, x}, operand{s, y}, width)
	if from < 0 {
		return
	}
	one.Flags |= FlagRotate
	in.Flags |= FlagDead
	in.reads, in.writes = 0, 0
	p.cover(from+1, pc) // code entered after the copies may see other values in them
}

// extension finds x <<= 32; x >>= 32, which compilers emit to zero-extend 32-bit values for the
// first version of the instruction set, and turns it into one operation, merged with a preceding
// copy.
func (p *Program) extension(b *block, pc int32, in *Insn) {
	if in.Imm != 32 || pc+1 >= b.end {
		return
	}
	back := &p.Insns[pc+1]
	op := decode.OpMov32Reg
	switch back.Op {
	case decode.OpRsh64Imm:
	case decode.OpArsh64Imm:
		op = decode.OpMovSX32To64
	default:
		return
	}
	if back.Dst != in.Dst || back.Imm != 32 {
		return
	}
	back.nothing()
	if pc > b.start {
		if copied := &p.Insns[pc-1]; copied.Kind == KindOp && copied.Op == decode.OpMov64Reg && copied.Dst == in.Dst && copied.Src < 10 && !copied.Has(FlagDead) {
			copied.Op = op
			copied.Flags &^= FlagPair
			in.nothing()
			return
		}
	}
	in.Op, in.Src = op, in.Dst
}

// nothing drops an operation whose work another one does. Code may not be entered after the other
// one.
func (in *Insn) nothing() {
	in.Op, in.Src = decode.OpMov64Reg, in.Dst
	in.Flags = in.Flags&^FlagEntry | FlagDead
	in.reads, in.writes = 0, 0
}

// operand is a register before an instruction.
type operand struct {
	reg uint8
	pc  int32
}

// maxWalk limits the search of common, in instructions.
const maxWalk = 256

// common returns the slot before which one register held the value, or its lower half, that both
// operands are copies of. It is negative if there is none.
func (p *Program) common(b *block, x, y operand, width uint8) int32 {
	for range maxWalk {
		if x.pc < y.pc {
			x, y = y, x
		}
		if x == y {
			return x.pc
		}
		if x.pc == b.start {
			break
		}
		x.pc--
		in := &p.Insns[x.pc]
		if in.writes>>x.reg&1 == 0 {
			continue
		}
		if in.Op != decode.OpMov64Reg && (in.Op != decode.OpMov32Reg || width != 32) {
			break
		}
		x.reg = in.Src
	}
	return -1
}

// deadResults marks operations whose result is overwritten before anything reads it and before code
// can exit.
func (p *Program) deadResults(b *block) {
	live := uint16(all)
	for pc := b.end - 1; pc >= b.start; pc-- {
		in := &p.Insns[pc]
		if in.writes&live == 0 && in.writes != 0 && in.reads != all {
			in.Flags |= FlagDead
			continue
		}
		live = live&^in.writes | in.reads
	}
}
