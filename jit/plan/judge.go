package plan

import (
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/vm"
)

// maxRange is the largest range of one check, in bytes: at any alignment it lies in at most eight
// granules, whose shadow is one word.
const maxRange = 57

// scan is the state of the walk over a block. Its memory is reused.
type scan struct {
	masks []uint16

	values   [11]value
	nextRoot int32

	groups [4]group
	oldest int

	joins  bool // the block has bitwise ors, which may join parts
	parts  []part
	stores int32 // stores in the block so far, and whatever else may change memory
}

// value is what is known of a register.
type value struct {
	// It holds root + delta, where root is the number of a value: 0 is r10, others are only told
	// apart.
	root, delta int32
	// since is the first of the instructions that computed it from the root, none if the register
	// holds the root itself; changed is the last one. Code may be entered at any computed
	// instruction address, so code that relies on them must not be entered after the first.
	since, changed int32
	// stacked is the last access that relies on the register being r10 + delta.
	stacked int32
	// part, if not 0, is the number in scan.parts, plus 1, of the bytes of memory it consists of.
	part int32
}

// group is a set of accesses covered by the check of one of them.
type group struct {
	root, delta int32 // of the base of the first access
	base        uint8
	first       int32 // the access that makes the check, none for no group
	since       int32 // since of the first access's base
	from, until int32 // no entry after from, up to until
}

// none is greater than every slot.
const none = 1<<31 - 1

// maxCover limits, in slots, how far back an access may rely on earlier instructions: programs can
// have millions of such accesses.
const maxCover = 1024

// maxDelta limits the distance from a root value at which a register is still tracked.
const maxDelta = 1 << 20

// unknown is the initial state of a register.
var unknown = func() (v [11]value) {
	for r := range v {
		v[r] = value{root: int32(r + 1), since: none, changed: -1, stacked: -1}
	}
	v[10].root = 0
	return v
}()

func (s *scan) reset() {
	s.values, s.nextRoot = unknown, int32(len(unknown))
	s.parts = s.parts[:0]
	for i := range s.groups {
		s.groups[i].first = none
	}
}

// wrote forgets a register that is changed at pc.
func (s *scan) wrote(r uint8, pc int32) {
	s.values[r] = value{root: s.nextRoot, since: none, changed: pc, stacked: -1}
	s.nextRoot++
}

// add tracks an addition to a register.
func (s *scan) add(r uint8, v int64, pc int32) {
	k := &s.values[r]
	d := int64(k.delta) + v
	if v <= -maxDelta || v >= maxDelta || d <= -maxDelta || d >= maxDelta {
		s.wrote(r, pc)
		return
	}
	k.delta, k.since, k.changed, k.stacked, k.part = int32(d), min(k.since, pc), pc, -1, 0
}

// judge decides counts, checks, pairs and entries, block by block.
func (p *Program) judge() {
	p.Cells = 0
	ors := p.ors
	for i := range p.blocks {
		b := &p.blocks[i]
		for len(ors) > 0 && ors[0] < b.start {
			ors = ors[1:]
		}
		p.scan.joins = len(ors) > 0 && ors[0] < b.end
		p.judgeBlock(b)
		p.deadResults(b)
	}
}

func (p *Program) judgeBlock(b *block) {
	s := &p.scan
	s.reset()
	insns := p.Insns
	uncharged := b.count - insns[b.start].Count
	for pc := b.start; pc < b.end; pc++ {
		in := &insns[pc]
		in.Count += uncharged
		switch in.Kind {
		case KindLoad:
			p.judgeAccess(pc, in, false)
			p.loads(pc, in)
		case KindStore:
			p.judgeAccess(pc, in, true)
			s.stores++
		case KindAtomic:
			p.judgeAtomic(pc, in)
			in.observed()
			s.stores++
			// The old value goes to src, or to r0.
			if row := &rows[in.Op]; row.srcWrite != 0 {
				s.wrote(in.Src, pc)
			} else if row.r0Write != 0 {
				s.wrote(0, pc)
			}
		case KindImm64:
			s.wrote(in.Dst, pc)
		case KindOp:
			if class := rows[in.Op].class; class != classOther {
				p.judgeOp(b, pc, in, class)
			} else {
				s.wrote(in.Dst, pc)
			}
		case KindSecond:
		case KindCallFunc, KindTailCall:
			in.observed()
			s.reset() // the next slot has to be an entry, so nothing is known there
		case KindCallInline:
			in.observed()
			p.judgeInline(pc, in)
		default:
			in.observed()
		}
	}
}

// judgeAccess decides the check of a load or store.
func (p *Program) judgeAccess(pc int32, in *Insn, store bool) {
	s := &p.scan
	r := in.Base
	aligned := acquires(in.Op)
	if p.inStack(pc, in, aligned) {
		return
	}
	if r == 10 {
		p.interpret(in)
		return
	}
	single := aligned || in.Has(FlagWord)
	if !single && p.inGroup(pc, in, store) {
		return
	}
	p.checkRange(in, store)
	if !single {
		v := &s.values[r]
		s.groups[s.oldest] = group{root: v.root, delta: v.delta, base: r, first: pc, since: v.since, from: pc, until: pc}
		s.oldest = (s.oldest + 1) % len(s.groups)
	}
}

// interpret leaves an instruction to the interpreter.
func (p *Program) interpret(in *Insn) {
	in.Kind = KindInterpret
	in.Flags &^= FlagEntry
	in.observed()
	p.scan.reset()
}

// checkRange gives an access a check of its own.
func (p *Program) checkRange(in *Insn, store bool) {
	in.Check, in.Lo, in.Hi = CheckRange, int32(in.Off), int32(in.Off)+int32(in.Size)
	if store {
		in.Flags |= FlagRangeStore
	}
	in.observed()
	if p.Cells < MaxCells {
		in.Cell = int16(p.Cells)
		p.Cells++
	}
}

// inGroup makes an access CheckDone if an earlier check can cover it too.
func (p *Program) inGroup(pc int32, in *Insn, store bool) bool {
	s, r := &p.scan, in.Base
	v := &s.values[r]
	for i := range s.groups {
		g := &s.groups[i]
		if g.first == none || g.root != v.root {
			continue
		}
		first := &p.Insns[g.first]
		lo := v.delta + int32(in.Off) - g.delta // relative to the value of the first access's base
		l, h := min(first.Lo, lo), max(first.Hi, lo+int32(in.Size))
		from := g.from
		if r != g.base || v.changed > g.first {
			// The relation of the two bases depends on the instructions that changed them.
			from = min(from, g.since, v.since)
		}
		if h-l > maxRange || g.from-from > maxCover {
			continue
		}
		first.Lo, first.Hi = l, h
		if store {
			first.Flags |= FlagRangeStore
		}
		in.Check = CheckDone
		if from < g.from {
			p.cover(from+1, g.from)
			g.from = from
		}
		p.cover(g.until+1, pc)
		g.until = pc
		return true
	}
	return false
}

// inStack makes an access CheckNone if it is in the stack and, if required, aligned.
func (p *Program) inStack(pc int32, in *Insn, aligned bool) bool {
	v, size := &p.scan.values[in.Base], int32(in.Size)
	at := v.delta + int32(in.Off)
	if v.root != 0 || at < -vm.StackSize || at+size > 0 || aligned && at%size != 0 {
		return false
	}
	if in.Base != 10 {
		from := max(v.since, v.stacked)
		if pc-from > maxCover {
			return false
		}
		p.cover(from+1, pc)
		v.stacked = pc
	}
	in.Check, in.Off = CheckNone, at
	return true
}

// cover prevents entries at the slots from from to to.
func (p *Program) cover(from, to int32) {
	for pc := from; pc <= to; pc++ {
		p.Insns[pc].Flags &^= FlagEntry
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
		p.interpret(in)
	default:
		p.checkRange(in, true)
	}
}

// judgeOp tracks copies of registers with constants added, and finds pairs.
func (p *Program) judgeOp(b *block, pc int32, in *Insn, class class) {
	s := &p.scan
	d := in.Dst
	switch class {
	case classMov64:
		if in.Src == d {
			return
		}
		v := s.values[in.Src]
		s.values[d] = value{root: v.root, delta: v.delta, since: min(v.since, pc), changed: pc, stacked: -1, part: v.part}
	case classMov32:
		k := s.values[in.Src].part
		s.wrote(d, pc)
		s.values[d].part = s.fitting(k, 32)
	case classAdd:
		s.add(d, int64(in.Imm), pc)
		return
	case classSub:
		s.add(d, -int64(in.Imm), pc)
		return
	case classJoin:
		p.rotation(b, pc, in)
		s.wrote(d, pc)
		return
	case classOr:
		p.rotation(b, pc, in)
		p.join(pc, in)
		return
	case classCast:
		in.observed()
		s.wrote(d, pc)
		return
	case classLsh:
		if in.Op == decode.OpLsh64Imm {
			p.extension(b, pc, in)
		}
		p.shift(pc, in)
		return
	}
	if pc+1 >= b.end {
		return
	}
	// a = b; a op= c
	next := &p.Insns[pc+1]
	if next.Kind == KindOp && next.Dst == d && pairs(in.Op, next) && next.Flags&FlagLeader == 0 {
		in.Flags |= FlagPair
		next.Flags &^= FlagEntry
	}
}

// pairs reports whether a move can be fused with the operation after it.
func pairs(move decode.Op, next *Insn) bool {
	switch next.Op {
	case decode.OpAdd64Imm, decode.OpLsh64Imm, decode.OpRsh64Imm, decode.OpArsh64Imm, decode.OpMul64Imm:
		return move == decode.OpMov64Reg
	case decode.OpAnd64Imm:
		return move == decode.OpMov64Reg
	case decode.OpAdd64Reg:
		return move == decode.OpMov64Reg && next.Src != next.Dst
	case decode.OpAnd32Imm, decode.OpAdd32Imm, decode.OpMul32Imm, decode.OpLsh32Imm, decode.OpRsh32Imm:
		return true
	case decode.OpAdd32Reg:
		return next.Src != next.Dst
	}
	return false
}
