package plan

import (
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/vm"
)

// maxRange is how many bytes one check may cover: with any alignment they lie in at most eight granules, whose shadow is one word.
const maxRange = 57

// scan is what the walk over a block knows, and memory that is used again.
type scan struct {
	lengths, counts []int32
	masks           []uint8

	// open is the instruction with the range that covers accesses through a register, -1 for none.
	open [11]int32
	// until is the last access of that range so far.
	until [11]int32
	// fp says that the register is r10 + off.
	fp  [11]bool
	off [11]int32
	// since is the slot that made it so, or the last access that relies on it: code may be entered anywhere else by
	// whoever computes addresses of instructions.
	since [11]int32
}

func (s *scan) reset() {
	*s = scan{lengths: s.lengths, counts: s.counts, masks: s.masks}
	for r := range s.open {
		s.open[r] = -1
	}
	s.fp[10] = true
}

// wrote forgets what was known of a register.
func (s *scan) wrote(r uint8) {
	s.open[r], s.fp[r] = -1, false
}

// judge decides checks, pairs and entries, block by block.
func (p *Program) judge() {
	for i := range p.blocks {
		b := &p.blocks[i]
		p.judgeBlock(b)
		p.rotations(b)
		p.deadResults(b)
	}
	p.markEntries()
}

func (p *Program) judgeBlock(b *block) {
	s := &p.scan
	s.reset()
	insns := p.Insns
	for pc := b.start; pc < b.end; pc++ {
		in := &insns[pc]
		switch in.Kind {
		case KindLoad:
			p.judgeAccess(pc, in, false)
			s.wrote(in.Dst)
		case KindStore:
			p.judgeAccess(pc, in, true)
		case KindAtomic:
			p.judgeAtomic(pc, in)
			// The old value goes to src, or to r0.
			if row := &rows[in.Op]; row.writesSrc {
				s.wrote(in.Src)
			} else if row.writesR0 {
				s.wrote(0)
			}
		case KindImm64:
			s.wrote(in.Dst)
		case KindOp:
			p.judgeOp(pc, in, pc+1 < b.end)
		case KindCallFunc:
			s.reset() // the slot behind has to be an entry, so nothing is known there
		}
	}
}

// judgeAccess decides the check of a load or store.
func (p *Program) judgeAccess(pc int32, in *Insn, store bool) {
	s := &p.scan
	r := in.Base
	lo, hi := int32(in.Off), int32(in.Off)+int32(in.Size)
	aligned := acquires(in.Op)
	if p.inStack(pc, in, aligned) {
		return
	}
	if r == 10 {
		in.Kind = KindInterpret
		s.reset()
		return
	}
	if o := s.open[r]; o >= 0 && !aligned {
		first := &p.Insns[o]
		l, h := min(first.Lo, lo), max(first.Hi, hi)
		if h-l <= maxRange {
			first.Lo, first.Hi = l, h
			if store {
				first.Flags |= FlagRangeStore
			}
			in.Check = CheckDone
			p.cover(s.until[r]+1, pc)
			s.until[r] = pc
			return
		}
	}
	in.Check, in.Lo, in.Hi = CheckRange, lo, hi
	if store {
		in.Flags |= FlagRangeStore
	}
	if !aligned {
		s.open[r], s.until[r] = pc, pc
	}
}

// inStack makes an access CheckNone if it lies in the stack, aligned if that is asked for.
func (p *Program) inStack(pc int32, in *Insn, aligned bool) bool {
	s, size := &p.scan, int32(in.Size)
	at := s.off[in.Base] + int32(in.Off)
	if !s.fp[in.Base] || at < -vm.StackSize || at+size > 0 || aligned && at%size != 0 {
		return false
	}
	in.Check, in.StackOff = CheckNone, int16(at)
	if in.Base != 10 {
		p.cover(s.since[in.Base]+1, pc)
		s.since[in.Base] = pc
	}
	return true
}

// cover keeps anything from entering at slots from to to.
func (p *Program) cover(from, to int32) {
	for pc := from; pc <= to; pc++ {
		p.Insns[pc].Flags |= FlagEntry // inverted until markEntries
	}
}

// acquires reports whether an access has to be aligned.
func acquires(op decode.Op) bool {
	return op >= decode.OpLoadAcqB && op <= decode.OpStoreRelDW
}

// judgeAtomic decides the check of a read-modify-write instruction, which has to be aligned.
func (p *Program) judgeAtomic(pc int32, in *Insn) {
	switch {
	case p.inStack(pc, in, true):
	case in.Base == 10:
		in.Kind = KindInterpret
		p.scan.reset()
	default:
		in.Check, in.Lo, in.Hi = CheckRange, int32(in.Off), int32(in.Off)+int32(in.Size)
		in.Flags |= FlagRangeStore
	}
}

// judgeOp follows copies of r10 and finds pairs.
func (p *Program) judgeOp(pc int32, in *Insn, more bool) {
	s := &p.scan
	d := in.Dst
	switch in.Op {
	case decode.OpMov64Reg:
		if in.Src == d {
			return
		}
		fp, off, since := s.fp[in.Src], s.off[in.Src], s.since[in.Src]
		if in.Src == 10 {
			since = pc
		}
		s.wrote(d)
		s.fp[d], s.off[d], s.since[d] = fp, off, since
	case decode.OpAdd64Imm:
		fp, off := s.fp[d], s.off[d]+int32(in.Imm)
		s.wrote(d)
		s.fp[d], s.off[d] = fp && int64(in.Imm) > -4096 && int64(in.Imm) < 4096 && off > -4096 && off < 4096, off
		return
	default:
		s.wrote(d)
		if in.Op != decode.OpMov32Reg {
			return
		}
	}
	if !more {
		return
	}
	// a = b; a op= c
	next := &p.Insns[pc+1]
	if next.Kind == KindOp && next.Dst == d && pairs(in.Op, next) && next.Flags&FlagLeader == 0 {
		in.Flags |= FlagPair
		next.Flags |= FlagEntry // inverted until markEntries
	}
}

// pairs reports whether a move can be one with the operation behind it.
func pairs(move decode.Op, next *Insn) bool {
	switch next.Op {
	case decode.OpAdd64Imm, decode.OpLsh64Imm, decode.OpRsh64Imm, decode.OpArsh64Imm, decode.OpMul64Imm:
		return move == decode.OpMov64Reg
	case decode.OpAdd64Reg:
		return move == decode.OpMov64Reg && next.Src != next.Dst
	case decode.OpAdd32Imm, decode.OpMul32Imm, decode.OpLsh32Imm, decode.OpRsh32Imm:
		return true
	case decode.OpAdd32Reg:
		return next.Src != next.Dst
	}
	return false
}

// markEntries turns the inverted marks into FlagEntry and gives checks their cells.
func (p *Program) markEntries() {
	p.Cells = 0
	for pc := range p.Insns {
		in := &p.Insns[pc]
		in.Flags ^= FlagEntry
		if in.Cell = -1; in.Check == CheckRange && p.Cells < MaxCells {
			in.Cell = int16(p.Cells)
			p.Cells++
		}
		if in.Kind == KindSecond || in.Kind == KindInterpret {
			in.Flags &^= FlagEntry
		}
	}
}
