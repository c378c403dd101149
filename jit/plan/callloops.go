package plan

import (
	"slices"

	"github.com/bpfrun/bpfrun/decode"
)

// blockState is what is known at the start of a block.
type blockState struct {
	regs   registers
	passed uint8 // bit set of the tests passed since the start of the iteration
	left   bool  // the copy has been exited on every path to here
	live   bool
}

// test is a comparison that ends the loop or continues it: the value of a register at the start of
// the iteration, plus off, against v.
type test struct {
	pc     int32
	reg    int8
	is     relation
	off, v int64
	fails  bool // the comparison is not what it seems to be
}

// turn executes a loop symbolically from its header to the start of the next iteration. It reports
// whether there is a path.
func (p *Program) turn(regs *registers) bool {
	f, l := &p.loop, p.loop.l
	for i, b := range l.body {
		f.pos[b] = int32(i)
		f.states[i].live = false
	}
	f.back.live = false
	first := &f.states[f.pos[l.header]]
	first.regs, first.passed, first.left, first.live = *regs, 0, false, true
	for _, b := range f.turnOrder {
		if s := &f.states[f.pos[b]]; s.live {
			p.turnBlock(b, s)
		}
	}
	return f.back.live
}

// turnBlock executes a block.
func (p *Program) turnBlock(b int32, s *blockState) {
	f, blk := &p.loop, &p.blocks[b]
	if n := f.of[b]; n != 0 && n != f.n { // nothing is known of what iterations of an inner loop change
		s.regs.forget(f.loops[n-1].written)
	}
	s.left = s.left || f.done[b]
	for pc := blk.start; pc < blk.end; pc++ {
		in := &p.Insns[pc]
		switch in.Kind {
		case KindLoad, KindStore:
			if in.Check == CheckRange && f.all && !s.left {
				f.cover(pc, in, s.regs[in.Base])
			}
		case KindExit:
			return
		case KindJump:
			p.turnTo(b, in.Target, s, 0)
			return
		case KindBranch:
			p.turnBranch(b, pc, in, s)
			return
		case KindMayGoto:
			p.turnTo(b, in.Target, s, 0)
		case KindInterpret, KindCallFunc, KindTailCall:
			s.left = true
		}
		if in.Op == decode.OpMov64Reg && in.Src == in.Dst { // left over by extension
			continue
		}
		if !in.Has(flagNeeded) && (in.Kind == KindOp || in.Kind == KindLoad || in.Kind == KindImm64) {
			s.regs[in.Dst] = unbounded
			continue
		}
		if in.Has(flagTrust) && f.all {
			f.wraps = f.wraps || s.regs.wraps(in)
		}
		if s.regs.execute(in, f.trust) {
			in.Flags |= flagTrust
		}
		if in.spill() {
			if i := slices.Index(f.l.spills, in.Off); i >= 0 {
				s.regs[in.Dst] = interval{base: int8(11 + i)}
			}
		}
	}
	p.turnTo(b, blk.end, s, 0)
}

// turnBranch follows both edges.
func (p *Program) turnBranch(b, pc int32, in *Insn, s *blockState) {
	f := &p.loop
	taken, next := uint8(0), uint8(0)
	c := &comparisons[in.Op]
	a := s.regs[in.Dst]
	switch {
	case !f.all:
		t, n := f.in[p.leaders.index(in.Target)] == f.n, f.in[b+1] == f.n
		if t == n || c.is == noRelation || !c.imm || a.base < 0 || a.base > 10 || a.lo != a.hi || len(f.tests) == 8 {
			break
		}
		is := c.is
		if n {
			is = is.not()
		}
		f.tests = append(f.tests, test{pc: pc, reg: a.base, is: is, off: a.lo, v: s.regs.against(in, c).lo})
		if bit := uint8(1) << (len(f.tests) - 1); t {
			taken = bit
		} else {
			next = bit
		}
	case f.by != nil && f.by.pc == pc:
		wide := !c.w32 && (c.is == equal || c.is == notEqual) && a.base == number
		f.by.fails = f.by.fails || !wide && (!c.compares(a) || !c.compares(s.regs.against(in, c)))
	}
	if s.regs.assume(in, true) {
		p.turnTo(b, in.Target, s, taken)
	}
	s.regs[in.Dst] = a // the only effect of the assumption
	if s.regs.assume(in, false) {
		p.turnTo(b, pc+1, s, next)
	}
}

// turnTo continues at a slot.
func (p *Program) turnTo(from, slot int32, s *blockState, passed uint8) {
	f := &p.loop
	b := p.leaders.index(slot)
	if f.in[b] != f.n {
		return
	}
	to := &f.back
	if b != f.l.header {
		if f.number[b] <= f.number[from] {
			return // an iteration of an inner loop
		}
		to = &f.states[f.pos[b]]
	}
	passed |= s.passed
	if !to.live {
		to.regs, to.passed, to.left, to.live = s.regs, passed, s.left, true
		return
	}
	to.passed &= passed
	to.left = to.left && s.left
	for r := range to.regs {
		to.regs[r] = to.regs[r].or(s.regs[r])
	}
}

// cover records the range of a check.
func (f *looper) cover(pc int32, in *Insn, base interval) {
	i, ok := slices.BinarySearchFunc(f.l.covers, pc, func(c cover, pc int32) int { return int(c.pc - pc) })
	if !ok {
		return
	}
	c := &f.l.covers[i]
	c.reach, c.found = between(base.base, base.lo+int64(in.Lo), base.hi+int64(in.Hi)), true
}

// turns returns the maximum number of iterations that begin, 0 if it is unknown.
func (f *looper) turns(first, steps *registers) int64 {
	best := int64(0)
	for i := range f.tests {
		t := &f.tests[i]
		s, from := steps[t.reg], first[t.reg]
		if f.back.passed>>i&1 == 0 || s.base != t.reg || from.base != number {
			continue
		}
		n := t.turns(from, s)
		if n > 0 && n <= maxTurns && (best == 0 || n < best) {
			best, f.by = n, t
		}
	}
	return best
}

// turns returns the maximum number of iterations that begin if the register starts at from and step
// is added in each: the test runs once per iteration and sees from + off, from + off + step and so
// on.
func (t *test) turns(from, step interval) int64 {
	lo, hi, v := from.lo+t.off, from.hi+t.off, t.v
	if v < -farthest || v > farthest {
		return 0
	}
	switch t.is {
	case notEqual:
		if step.lo != step.hi || lo != hi || step.lo == 0 || (v-lo)%step.lo != 0 || (v-lo)/step.lo < 0 {
			return 0
		}
		return (v-lo)/step.lo + 1
	case atMost:
		v++
		fallthrough
	case less:
		if step.lo <= 0 {
			return 0
		}
		return max(0, (v-lo+step.lo-1)/step.lo) + 1
	case atLeast:
		v--
		fallthrough
	case greater:
		if step.hi >= 0 {
			return 0
		}
		return max(0, (hi-v-step.hi-1)/-step.hi) + 1
	}
	return 0
}
