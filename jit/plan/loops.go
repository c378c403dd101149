package plan

import (
	"slices"

	"github.com/bpfrun/bpfrun/decode"
)

// Loops get a copy without checks, which is entered if guards in front of it find all bytes accessible that the loop can touch.
// What that is is derived from what registers hold when the loop is entered, what is added to them in every turn, and
// the comparison that ends the loop. Nothing becomes inaccessible while generated code runs, so that a check stays good until
// code is left for Go: it comes back to the first copy, which has all its checks, and goes to the guards at the next turn.

const (
	// maxLoop is the longest loop that is looked at, in slots.
	maxLoop = 1024
	// maxGuard is how many bytes a guard may check.
	maxGuard = 1 << 20
	// maxTurns bounds what is believed of a loop.
	maxTurns = 1 << 24
	// maxSpills is how many stack slots of a loop are followed.
	maxSpills = 4
)

// loop is the blocks from which a jump back to a block is reached that is the only way in.
type loop struct {
	header  int32 // block
	body    []int32
	written uint16 // registers
	bad     bool   // it is not of that form, or too large
	spills  []int16
	covers  []cover
	guards  []guard
	bounds  []bound
	at      int32 // in Insns, its first guard
}

// cover is a check in the loop that a guard may make superfluous.
type cover struct {
	pc    int32
	reach interval // of the bytes checked, up to reach.hi
	found bool
}

// guard is the check of what is reached from the interval that a register, or a spill, has when the loop is entered.
type guard struct {
	base   int8
	lo, hi int64
	store  bool
	bounds bool // it is for comparisons, see bound
}

// blockState is what is known where a block begins.
type blockState struct {
	regs   registers
	passed uint8 // bit for each test that was passed since the start of the turn
	left   bool  // the copy has been left on every way here
	live   bool
}

// test is a comparison that ends the loop unless it says to go on: what a register held at the start of the turn, plus off, against v.
type test struct {
	pc     int32
	reg    int8
	is     relation
	off, v int64
	fails  bool // it does not compare what it seems to
}

// looper is what finds loops, and memory that is used again.
type looper struct {
	graph
	loops  []loop
	of     []int32  // by block, number of the loop it is the header of + 1
	in     []int32  // by block, number of the last loop looked at that it is in + 1
	pos    []int32  // by block, where its state is
	needs  []uint16 // by block, registers whose values matter at its start
	done   []bool   // by block, it is in a loop that has guards
	states []blockState

	n     int32 // number of l + 1
	l     *loop
	all   bool       // the second walk
	back  blockState // where a turn ends and the next begins
	trust uint16     // see registers.execute
	tests []test
	by    *test // the one that limits turns
	wraps bool
}

// Optimise improves what programs with Loops do often. Of the branches Selects finds, those become selections that choose wants; by may
// be nil. It takes longer than New.
func (p *Program) Optimise(choose func(slot int32) bool, by *Profile) {
	f, n := &p.loop, len(p.blocks)
	if !p.Loops {
		return
	}
	p.Selects(func(slot int32) {
		if choose(slot) {
			p.markSelect(slot)
		}
	})
	p.findRemainders()
	// Without checks copies gain nothing.
	if p.Cells == 0 || !p.findGraph() {
		return
	}
	f.loops = f.loops[:0]
	f.of, f.in, f.pos = resize(f.of, n), resize(f.in, n), resize(f.pos, n)
	f.done, f.needs = resize(f.done, n), resize(f.needs, n)
	some := false
	for i := len(f.order) - 1; i >= 0; i-- {
		b := f.order[i]
		if !f.header[b] {
			continue
		}
		f.add(b)
		l := f.l
		if p.collect(); !l.bad && !p.short(l, by) {
			p.analyse()
		}
		if p.Cells+len(l.guards) > MaxCells {
			l.guards = l.guards[:0]
		}
		if len(l.guards) == 0 {
			p.Insns[p.blocks[b].start].Guard = Align
			continue
		}
		p.Cells += len(l.guards)
		some = true
		l.body = slices.DeleteFunc(l.body, func(b int32) bool { return f.done[b] })
		for _, b := range l.body {
			f.done[b] = true
		}
	}
	if some {
		p.copyLoops()
	}
}

// add begins a loop, in the memory of an earlier one.
func (f *looper) add(header int32) {
	var l loop
	if n := len(f.loops); n < cap(f.loops) {
		l = f.loops[:n+1][n]
	}
	f.loops = append(f.loops, loop{header: header, body: l.body[:0], spills: l.spills[:0], covers: l.covers[:0], guards: l.guards[:0], bounds: l.bounds[:0]})
	f.n = int32(len(f.loops))
	f.l = &f.loops[f.n-1]
	f.of[header] = f.n
}

// collect finds the blocks of a loop, in the order of the program, and the registers they write.
func (p *Program) collect() {
	f, l := &p.loop, p.loop.l
	size := int32(0)
	add := func(b int32) {
		if f.in[b] == f.n {
			return
		}
		f.in[b] = f.n
		size += p.blocks[b].end - p.blocks[b].start
		inner := f.of[b] != 0 && b != l.header && f.loops[f.of[b]-1].bad
		l.bad = l.bad || inner || f.root[b] || f.number[b] < f.number[l.header] || size > maxLoop
		l.body = append(l.body, b)
	}
	add(l.header)
	for _, b := range f.predsOf(l.header) {
		if f.number[b] >= f.number[l.header] {
			add(b)
		}
	}
	for i := 1; i < len(l.body) && !l.bad; i++ {
		for _, b := range f.predsOf(l.body[i]) {
			add(b)
		}
	}
	if l.bad {
		return
	}
	slices.Sort(l.body)
	for _, b := range l.body {
		for pc := p.blocks[b].start; pc < p.blocks[b].end; pc++ {
			l.written |= p.Insns[pc].changes()
		}
	}
}

// changes returns the registers an instruction may change, as bits.
func (in *Insn) changes() uint16 {
	switch in.Kind {
	case KindSecond, KindJump, KindBranch, KindMayGoto, KindExit:
		return 0
	case KindCall, KindCallFunc, KindCallInline:
		return 0x3f
	case KindInterpret:
		return 0x3ff
	}
	return in.writes
}

// analyse finds the guards that a copy of the loop needs.
func (p *Program) analyse() {
	f, l := &p.loop, p.loop.l
	private := true // all stores are to known bytes of the stack
	leaves := false
	for _, b := range l.body {
		for pc := p.blocks[b].start; pc < p.blocks[b].end; pc++ {
			in := &p.Insns[pc]
			switch in.Kind {
			case KindCallFunc:
				private, leaves = false, true
			case KindCall, KindInterpret:
				private = false
			case KindStore, KindAtomic:
				private = private && in.Check == CheckNone
			}
			if in.Check == CheckRange && !f.done[b] && (in.Kind == KindLoad || in.Kind == KindStore) && !acquires(in.Op) && !in.Has(FlagWord) {
				l.covers = append(l.covers, cover{pc: pc})
			}
		}
	}
	if len(l.covers) == 0 {
		return
	}
	if private {
		p.findSpills()
	}
	p.ranges()
	if !leaves {
		p.bounds()
	}
}

// ranges makes guards for checks of what can be reached in all turns.
func (p *Program) ranges() {
	f, l := &p.loop, p.loop.l
	p.findNeeds()
	if len(f.states) < len(l.body) {
		f.states = make([]blockState, len(l.body)+16)
	}
	first := p.start()
	f.tests, f.by, f.wraps, f.trust, f.all = f.tests[:0], nil, false, 0, false
	var head registers
	for r := range head {
		head[r] = interval{int8(r), 0, 0}
		if first[r].natural() {
			f.trust |= 1 << r
		}
	}
	if !p.turn(&head) {
		return
	}
	steps := f.back.regs
	turns := f.turns(&first, &steps)
	for r := range head {
		switch s := steps[r]; {
		case s.base == int8(r) && s.lo == 0 && s.hi == 0:
			head[r] = first[r]
		case s.base == int8(r) && turns > 0:
			head[r] = first[r].plus(between(number, min(0, s.lo*(turns-1)), max(0, s.hi*(turns-1))))
		case s.base == number:
			head[r] = first[r].or(s)
		default:
			head[r] = unbounded
		}
	}
	f.trust, f.all = 0, true
	if p.turn(&head); f.wraps || f.by != nil && f.by.fails {
		for i := range l.covers { // what was derived does not hold
			l.covers[i].found = false
		}
		return
	}
	p.guards()
}

// findSpills lists stack slots that the loop loads eight bytes from and does not change.
func (p *Program) findSpills() {
	l := p.loop.l
	for pass := range 2 {
		for _, b := range l.body {
			for pc := p.blocks[b].start; pc < p.blocks[b].end; pc++ {
				in := &p.Insns[pc]
				switch {
				case in.Check != CheckNone:
				case pass == 0 && in.Kind == KindLoad && in.Op == decode.OpLdxDW && len(l.spills) < maxSpills && !slices.Contains(l.spills, in.StackOff):
					l.spills = append(l.spills, in.StackOff)
				case pass == 1 && (in.Kind == KindStore || in.Kind == KindAtomic):
					l.spills = slices.DeleteFunc(l.spills, func(off int16) bool {
						return in.StackOff < off+8 && off < in.StackOff+int16(in.Size)
					})
				}
			}
		}
	}
}

// findNeeds marks the instructions whose results can be part of an address that is checked, or of a comparison: what others compute
// needs not be followed.
func (p *Program) findNeeds() {
	f, l := &p.loop, p.loop.l
	for _, b := range l.body {
		f.needs[b] = 0
	}
	const passes = 8 // two or three suffice but for loops in loops that hand registers on
	for pass := range passes {
		changed := false
		for i := len(l.body) - 1; i >= 0; i-- {
			b := l.body[i]
			needs := uint16(0)
			for _, to := range f.succ[b] {
				if to >= 0 && f.in[to] == f.n {
					needs |= f.needs[to]
				}
			}
			if pass == passes-1 {
				needs = all
			}
			if needs = p.needsOf(b, needs); needs != f.needs[b] {
				f.needs[b], changed = needs, true
			}
		}
		if !changed {
			return
		}
	}
}

// needsOf is what matters at the start of a block if needs matters at its end.
func (p *Program) needsOf(b int32, needs uint16) uint16 {
	blk := &p.blocks[b]
	for pc := blk.end - 1; pc >= blk.start; pc-- {
		in := &p.Insns[pc]
		switch in.Kind {
		case KindOp, KindImm64, KindLoad:
			in.Flags &^= flagNeeded
			if in.writes&needs != 0 {
				in.Flags |= flagNeeded
				needs &^= in.writes
				if in.Kind == KindOp {
					needs |= in.reads
				}
			}
			if in.Kind == KindLoad && in.Check == CheckRange {
				needs |= 1 << in.Base
			}
		case KindStore:
			if in.Check == CheckRange {
				needs |= 1 << in.Base
			}
		case KindBranch:
			needs |= 1<<in.Dst | uint16(rows[in.Op].srcRead)&(1<<in.Src)
		}
	}
	return needs
}

// turn follows a loop from its header to the start of the next turn. It reports whether there is a way.
func (p *Program) turn(regs *registers) bool {
	f, l := &p.loop, p.loop.l
	for i, b := range l.body {
		f.pos[b] = int32(i)
		f.states[i].live = false
	}
	f.back.live = false
	first := &f.states[f.pos[l.header]]
	first.regs, first.passed, first.left, first.live = *regs, 0, false, true
	left := len(l.body)
	for i := f.number[l.header]; left > 0; i++ {
		b := f.order[i]
		if f.in[b] != f.n {
			continue
		}
		left--
		if s := &f.states[f.pos[b]]; s.live {
			p.turnBlock(b, s)
		}
	}
	return f.back.live
}

// turnBlock follows a block.
func (p *Program) turnBlock(b int32, s *blockState) {
	f, blk := &p.loop, &p.blocks[b]
	if n := f.of[b]; n != 0 && n != f.n { // nothing is known of what turns of a loop inside change
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
		case KindInterpret, KindCallFunc:
			s.left = true
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
		if in.Kind == KindLoad && in.Check == CheckNone && in.Op == decode.OpLdxDW {
			if i := slices.Index(f.l.spills, in.StackOff); i >= 0 {
				s.regs[in.Dst] = interval{base: int8(11 + i)}
			}
		}
	}
	p.turnTo(b, blk.end, s, 0)
}

// turnBranch follows both ways.
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
	s.regs[in.Dst] = a // all that the assumption changes
	if s.regs.assume(in, false) {
		p.turnTo(b, pc+1, s, next)
	}
}

// turnTo goes on at a slot.
func (p *Program) turnTo(from, slot int32, s *blockState, passed uint8) {
	f := &p.loop
	b := p.leaders.index(slot)
	if f.in[b] != f.n {
		return
	}
	to := &f.back
	if b != f.l.header {
		if f.number[b] <= f.number[from] {
			return // a turn of a loop inside
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

// cover notes what a check covers.
func (f *looper) cover(pc int32, in *Insn, base interval) {
	i, ok := slices.BinarySearchFunc(f.l.covers, pc, func(c cover, pc int32) int { return int(c.pc - pc) })
	if !ok {
		return
	}
	c := &f.l.covers[i]
	c.reach, c.found = between(base.base, base.lo+int64(in.Lo), base.hi+int64(in.Hi)), true
}

// turns finds how many turns begin at most, 0 if that is not known.
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

// turns finds how many turns begin at most if the register begins at from and step is added in each turn: the test comes once in
// every turn, and sees from + off, from + off + step and so on.
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

// guards makes guards of what the checks cover.
func (p *Program) guards() {
	l := p.loop.l
	for i := range l.covers {
		c := &l.covers[i]
		base := c.reach.base
		if c.found = c.found && base >= 0 && base != 10 && c.reach.hi-c.reach.lo <= maxGuard; !c.found {
			continue
		}
		store := p.Insns[c.pc].Has(FlagRangeStore)
		at := slices.IndexFunc(l.guards, func(g guard) bool { return g.base == base })
		if at < 0 {
			l.guards = append(l.guards, guard{base: base, lo: c.reach.lo, hi: c.reach.hi, store: store})
			continue
		}
		g := &l.guards[at]
		lo, hi := min(g.lo, c.reach.lo), max(g.hi, c.reach.hi)
		if c.found = hi-lo <= maxGuard; c.found {
			g.lo, g.hi, g.store = lo, hi, g.store || store
		}
	}
}

// start finds what registers hold when the loop is entered: themselves, or constants.
func (p *Program) start() registers {
	f := &p.loop
	var all registers
	some := false
	for _, b := range f.predsOf(f.l.header) {
		if f.in[b] == f.n {
			continue
		}
		regs := p.constants(b)
		if !some {
			all, some = regs, true
			continue
		}
		for r := range all {
			all[r] = all[r].or(regs[r])
		}
	}
	for r := range all {
		if !some || all[r].base != number {
			all[r] = interval{base: int8(r)}
		}
	}
	return all
}

// constants finds which registers hold constants at the end of a block, set in it or in those that alone lead to it.
func (p *Program) constants(b int32) registers {
	var regs registers
	regs.forget(1<<11 - 1)
	written := uint16(1 << 10)
	for range 4 {
		blk := &p.blocks[b]
		for pc := blk.end - 1; pc >= blk.start; pc-- {
			in := &p.Insns[pc]
			w := in.changes()
			if w&^written != 0 && (in.Kind == KindImm64 || in.Kind == KindOp && operations[in.Op].move && operations[in.Op].imm) {
				var s registers
				s.execute(in, 0)
				regs[in.Dst] = s[in.Dst]
			}
			written |= w
		}
		preds := p.loop.predsOf(b)
		if len(preds) != 1 || p.loop.root[b] || written == 1<<11-1 {
			break
		}
		b = preds[0]
	}
	return regs
}
