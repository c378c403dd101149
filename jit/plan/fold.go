package plan

import "github.com/bpfrun/bpfrun/decode"

// folder finds rotations and results that nobody can see.
type folder struct {
	// id64 and id32 number the values of registers, and of their low halves: equal numbers are equal values.
	id64, id32 [11]int32
	next       int32
	shifts     [11]shifted
}

// shifted is what a register holds since a shift by a constant.
type shifted struct {
	pc     int32 // -1: no such value
	from   int32 // number of the value that was shifted
	n      uint8
	width  uint8
	left   bool
	unseen bool // nothing looked at the register since, and code cannot have been left
}

func (f *folder) fresh(r uint8) {
	f.id64[r], f.id32[r] = f.next, f.next
	f.next++
	f.shifts[r].pc = -1
}

// look notes that all registers may be looked at.
func (f *folder) look() {
	for r := range f.shifts {
		f.shifts[r].unseen = false
	}
}

// rotations finds x << n | x >> width-n in a block, which the instruction set has no operation for: the shift of the
// register that gets the result becomes a rotation, and the operation that joins the halves disappears.
func (p *Program) rotations(b *block) {
	f := &p.fold
	f.next = 0
	for r := range uint8(11) {
		f.fresh(r)
	}
	for pc := b.start; pc < b.end; pc++ {
		in := &p.Insns[pc]
		row := &rows[in.Op]
		switch in.Kind {
		case KindSecond:
			continue
		case KindOp, KindImm64:
		default:
			f.look()
			if in.Kind == KindCallFunc || in.Kind == KindCallInline {
				for r := range uint8(6) {
					f.fresh(r)
				}
			}
		}
		if in.Op == decode.OpAddrSpaceCast { // may leave
			f.look()
		}
		d, s := in.Dst, in.Src
		if row.joins && p.rotation(pc, in) {
			f.fresh(d)
			continue
		}
		if row.srcRead != 0 {
			f.shifts[s].unseen = false
		}
		if row.dstRead != 0 && row.shift == 0 {
			f.shifts[d].unseen = false
		}
		switch {
		case in.Kind == KindAtomic:
			f.fresh(0)
			if row.srcWrite != 0 {
				f.fresh(s)
			}
		case in.Op == decode.OpMov64Reg:
			f.id64[d], f.id32[d], f.shifts[d].pc = f.id64[s], f.id32[s], -1
		case in.Op == decode.OpMov32Reg:
			v := f.id32[s]
			f.fresh(d)
			f.id32[d] = v
		case row.shift != 0:
			from := f.id64[d]
			if row.width == 32 {
				from = f.id32[d]
			}
			f.fresh(d)
			f.shifts[d] = shifted{pc: pc, from: from, n: uint8(in.Imm) & (row.width - 1), width: row.width, left: row.shift > 0, unseen: true}
		case row.dstWrite != 0:
			f.fresh(d)
		}
	}
}

// rotation reports whether an operation joins two shifts to a rotation, and marks it.
func (p *Program) rotation(pc int32, in *Insn) bool {
	a, b := &p.fold.shifts[in.Dst], &p.fold.shifts[in.Src]
	if in.Dst == in.Src || a.pc < 0 || b.pc < 0 || !a.unseen || a.from != b.from || a.left == b.left ||
		a.width != b.width || a.width != rows[in.Op].width || a.n+b.n != a.width {
		return false
	}
	p.Insns[a.pc].Flags |= FlagRotate
	in.Flags |= FlagDead
	p.cover(a.pc+1, pc)
	return true
}

// deadResults marks operations whose result is replaced before anything reads it and before code can be left.
func (p *Program) deadResults(b *block) {
	const all = 1<<11 - 1
	live := uint16(all)
	for pc := b.end - 1; pc >= b.start; pc-- {
		in := &p.Insns[pc]
		row := &rows[in.Op]
		pure := true
		switch in.Kind {
		case KindSecond:
			continue
		case KindOp:
			if in.Has(FlagDead) { // what a rotation made of it
				continue
			}
			pure = in.Op != decode.OpAddrSpaceCast
		case KindImm64:
		case KindLoad:
			pure = in.Check != CheckRange
		case KindStore:
			if in.Check == CheckRange {
				live = all
				continue
			}
			live |= 1 << in.Base
			if row.srcRead != 0 {
				live |= 1 << in.Src
			}
			continue
		default:
			live = all
			continue
		}
		if !pure {
			live = all
			continue
		}
		if live>>in.Dst&1 == 0 {
			in.Flags |= FlagDead
			continue
		}
		live &^= 1 << in.Dst
		if row.dstRead != 0 {
			live |= 1 << in.Dst
		}
		if row.srcRead != 0 {
			live |= 1 << in.Src
		}
	}
}
