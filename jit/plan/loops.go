package plan

import (
	"slices"

	"github.com/bpfrun/bpfrun/decode"
)

// Loop versioning: a loop gets a copy without checks, which is entered if guards before it find
// that all bytes the loop can touch are accessible. The range of those bytes is derived from the
// registers at loop entry, the amounts added in every iteration, and the comparison that ends the
// loop. Memory does not become inaccessible while generated code runs, so a check stays valid until
// code exits to Go. Records of ring buffers do, but code leaves to Go the end of one that a guard may
// have checked (State.Filled). After an exit, execution resumes in the original loop, which has all checks,
// and reaches the guards at the next iteration.

const (
	// maxLoop is the longest loop that is analysed, in slots.
	maxLoop = 1024
	// maxGuard is the largest range that a guard may check, in bytes.
	maxGuard = 1 << 20
	// maxFar is the largest offset of such a range from its base: Insn.Lo and Hi have 32 bits.
	maxFar = 1 << 30
	// maxTurns is the largest iteration count that is trusted.
	maxTurns = 1 << 24
	// maxNested limits the loops analysed per block on average, since loops can be deeply nested.
	maxNested = 16
	// maxSpills is the maximum number of stack slots tracked in a loop.
	maxSpills = 4
)

// loop is a natural loop: the blocks that reach a jump back to the header, which is the only entry.
type loop struct {
	header  int32 // block
	body    []int32
	written uint16 // registers written
	bad     bool   // it has another form, or is too large
	spills  []int32
	covers  []cover
	guards  []guard
	bounds  []bound
	at      int32 // index in Insns of its first guard
}

// cover is a check in the loop that a guard may make redundant.
type cover struct {
	pc    int32
	reach interval // the bytes checked, up to reach.hi
	found bool
}

// guard checks the range reached from the interval that a register, or a spill, has at loop entry.
type guard struct {
	base   int8
	lo, hi int64
	store  bool
	bounds bool // it serves comparisons, see bound
}

// looper finds loops. Its memory is reused.
type looper struct {
	graph
	loops  []loop
	of     []int32  // by block: number of the loop it is the header of + 1
	in     []int32  // by block: number of the last analysed loop that contains it + 1
	pos    []int32  // by block: index of its state
	needs  []uint16 // by block: registers whose values matter at its start
	done   []bool   // by block: it is in a loop that has guards
	states []blockState

	turnOrder []int32 // the body of l, every block after its predecessors

	n     int32 // number of l + 1
	l     *loop
	all   bool       // the second walk
	back  blockState // where an iteration ends and the next begins
	trust uint16     // see registers.execute
	tests []test
	by    *test // the test that limits the iterations
	wraps bool
}

// Optimise improves the frequently executed parts of programs with Loops. Of the branches that
// Selects finds, those that choose returns true for become selections. by may be nil. Optimise
// takes longer than New.
func (p *Program) Optimise(choose func(slot int32) bool, by *Profile) {
	f, n := &p.loop, len(p.blocks)
	if !p.Loops {
		return
	}
	p.recharge()
	p.Selects(func(slot int32) {
		if choose(slot) {
			p.markSelect(slot)
		}
	})
	p.findRemainders()
	// Without checks, copies gain nothing.
	if p.Cells == 0 || !p.findGraph() {
		return
	}
	f.loops = f.loops[:0]
	f.of, f.in, f.pos = resize(f.of, n), resize(f.in, n), resize(f.pos, n)
	f.done, f.needs = resize(f.done, n), resize(f.needs, n)
	some, left := false, maxNested*n
	for i := len(f.order) - 1; i >= 0 && left > 0; i-- {
		b := f.order[i]
		if !f.header[b] {
			continue
		}
		f.add(b)
		l := f.l
		p.collect()
		if left -= len(l.body); !l.bad && !p.short(l, by) {
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

// add begins a loop in the memory of a discarded one.
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

// collect finds the blocks of a loop, in program order, and the registers they write.
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

// changes returns the registers that an instruction may change, as a bit set.
func (in *Insn) changes() uint16 {
	switch in.Kind {
	case KindSecond, KindJump, KindBranch, KindMayGoto, KindExit:
		return 0
	case KindCall, KindCallFunc, KindCallInline, KindTailCall:
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
	calls := false
	for _, b := range l.body {
		for pc := p.blocks[b].start; pc < p.blocks[b].end; pc++ {
			in := &p.Insns[pc]
			switch in.Kind {
			case KindCallFunc, KindCall, KindTailCall:
				private, calls = false, true
			case KindInterpret:
				private = false
			case KindCallInline:
				private = private && !p.inlineStores(in)
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
	// A helper call exits the copy. A called function may contain this loop again, and its guards
	// set the same bounds for other objects.
	if !calls {
		p.bounds()
	}
}

// ranges makes guards for the checks of everything reachable in all iterations.
func (p *Program) ranges() {
	f, l := &p.loop, p.loop.l
	p.findNeeds()
	f.turnOrder = append(f.turnOrder[:0], l.body...)
	slices.SortFunc(f.turnOrder, func(a, b int32) int { return int(f.number[a] - f.number[b]) })
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
			head[r] = first[r].plus(s.upTo(turns - 1))
		case s.base == number:
			head[r] = first[r].or(s)
		default:
			head[r] = unbounded
		}
	}
	f.trust, f.all = 0, true
	if p.turn(&head); f.wraps || f.by != nil && f.by.fails {
		for i := range l.covers { // the derived ranges do not hold
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
				case pass == 0 && in.spill() && len(l.spills) < maxSpills && !slices.Contains(l.spills, in.Off):
					l.spills = append(l.spills, in.Off)
				case pass == 1 && (in.Kind == KindStore || in.Kind == KindAtomic):
					l.spills = slices.DeleteFunc(l.spills, func(off int32) bool {
						return in.Off < off+8 && off < in.Off+int32(in.Size)
					})
				}
			}
		}
	}
}

// spill reports whether an instruction loads a whole register from the stack.
func (in *Insn) spill() bool {
	return in.Kind == KindLoad && in.Check == CheckNone && in.Op == decode.OpLdxDW && !in.Has(FlagSwap)
}

// guards makes guards from what the checks cover.
func (p *Program) guards() {
	l := p.loop.l
	for i := range l.covers {
		c := &l.covers[i]
		base := c.reach.base
		if c.found = c.found && base >= 0 && base != 10 && c.reach.hi-c.reach.lo <= maxGuard && c.reach.lo >= -maxFar && c.reach.hi <= maxFar; !c.found {
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

// start sets the registers at loop entry: their own values, or constants.
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

// constants finds the registers that hold constants at the end of a block, set in it or in its
// chain of only predecessors.
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
