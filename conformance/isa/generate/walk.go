package generate

import "github.com/bpfrun/bpfrun/decode"

const (
	spillSlot = -80 // a spilled pointer, below the stack image and the key
	maxWalk   = 64  // limit on how far a counter moves
)

// walk is a loop under construction.
type walk struct {
	outer    *walk
	turns    int
	from, to int // range of the counter over all iterations
	counter  int
	pointers []walkPointer
	spilled  bool // spillSlot holds a pointer to the scratch memory
}

// walkPointer is a pointer in a register that advances by step in every iteration; step may be 0.
// Its range is relative to the start of its memory, which is the stack image or the scratch memory.
type walkPointer struct {
	reg, step int
	from, to  int // range over all iterations
	memory    int // size of the memory, in bytes
}

// walks generates a program of loops that walk over memory.
func (p *program) walks() {
	p.usesStack, p.usesScratch = p.chance(50), true
	p.prologue()
	for range p.between(1, 3) {
		p.size = p.between(0, 3)
		p.block(3, p.size)
		p.walk(nil)
	}
	p.epilogue()
	p.subprograms()
}

// walkEnd is one way to count up from 0 or down to 0 by a step. test continues the loop; not leaves
// it.
type walkEnd struct {
	down      bool
	wide      bool // the counter is 64 bits wide
	test, not decode.Op
	last      bool // the bound is the counter's last value, not the one after it
}

var walkEnds = []walkEnd{
	{false, true, decode.OpJlt64Imm, decode.OpJge64Imm, false},
	{false, true, decode.OpJne64Imm, decode.OpJeq64Imm, false},
	{false, true, decode.OpJle64Imm, decode.OpJgt64Imm, true},
	{false, true, decode.OpJslt64Imm, decode.OpJsge64Imm, false},
	{false, true, decode.OpJne32Imm, decode.OpJeq32Imm, false},
	{false, false, decode.OpJlt32Imm, decode.OpJge32Imm, false},
	{false, false, decode.OpJne32Imm, decode.OpJeq32Imm, false},
	{false, false, decode.OpJsle32Imm, decode.OpJsgt32Imm, true},
	{false, false, decode.OpJne64Imm, decode.OpJeq64Imm, false},
	{true, true, decode.OpJne64Imm, decode.OpJeq64Imm, false},
	{true, true, decode.OpJgt64Imm, decode.OpJle64Imm, false},
	{true, true, decode.OpJsgt64Imm, decode.OpJsle64Imm, false},
	{true, false, decode.OpJne32Imm, decode.OpJeq32Imm, false},
	{true, false, decode.OpJgt32Imm, decode.OpJle32Imm, false},
	{true, false, decode.OpJsge32Imm, decode.OpJslt32Imm, true},
}

// walk emits a loop; outer is the enclosing loop, or nil.
func (p *program) walk(outer *walk) {
	c, ok := p.counter()
	end := pick(p, walkEnds)
	if ok && p.gen.has(end.test) && p.gen.has(end.not) {
		p.walkLoop(outer, c, &end)
	}
}

func (p *program) walkLoop(outer *walk, c int, end *walkEnd) {
	step := pick(p, []int{1, 1, 1, 2, 3, 4, 8})
	w := &walk{outer: outer, counter: c, turns: p.between(1, min(24, maxWalk/step))}
	if outer != nil {
		w.turns = min(w.turns, 5)
	}
	w.to = (w.turns - 1) * step
	bound := w.turns * step
	add, start := int32(step), int32(0)
	if end.down {
		w.from, w.to = step, bound
		add, start, bound = -add, int32(bound), 0
		if end.last {
			bound = step
		}
	} else if end.last {
		bound -= step
	}
	p.busy[c] = true
	often := 75
	if p.recursive {
		often = 25
	}
	known := end.down || end.test == decode.OpJne64Imm || end.test == decode.OpJne32Imm || p.gen.cfg.Kernel || p.chance(often)
	switch {
	case known:
		p.emit(pick(p, []decode.Op{decode.OpMov64Imm, decode.OpMov32Imm}), c, 0, 0, start)
	case p.recursive: // a small number, whose bound no compiler can know
		p.emit(decode.OpLdxDW, c, regFrame, leftSlot, 0)
		w.to += maxCalls
	default: // an unknown small number
		p.emit(decode.OpMov64Reg, c, p.src(), 0, 0)
		p.emit(decode.OpAnd64Imm, c, 0, 0, 3)
		w.to += 3
	}
	p.walkPointers(w)
	if w.spilled = outer == nil && p.chance(20); w.spilled {
		t := p.dst()
		p.emit(decode.OpMov64Reg, t, regValue, 0, 0)
		p.emit(decode.OpAdd64Imm, t, 0, 0, valueScratch)
		p.emit(decode.OpStxDW, regFrame, t, spillSlot, 0)
		p.number(t)
	}
	// The test is at the start of the loop or at its end, and a jump may enter the loop in the
	// middle.
	first := known && p.chance(25)
	enter := -1
	if !first && p.chance(20) {
		enter = p.jump()
	}
	top := len(p.insns)
	var leave []int
	if first {
		// The value of the counter after the last iteration.
		over := int32(bound)
		if end.last {
			over += add
		}
		op := decode.OpJeq64Imm
		if end.wide && !end.last && p.chance(50) {
			op = end.not
		}
		leave = append(leave, p.emit(op, c, 0, 0, over))
	}
	p.loops++
	for range p.between(1, 4) {
		p.walkStatement(w)
	}
	if p.recursive {
		p.callInWalk(c)
	}
	if p.chance(15) {
		leave = append(leave, p.emit(pick(p, p.gen.jumps), p.src(), p.src(), 0, p.imm()))
	}
	if enter >= 0 {
		p.here(enter)
	}
	for range p.between(0, 2) {
		p.walkStatement(w)
	}
	p.loops--
	for _, q := range w.pointers {
		if q.step != 0 {
			p.walkStep(q)
		}
	}
	if op := decode.OpSub64Imm; end.wide && p.chance(15) {
		p.emit(op, c, 0, 0, -add)
	} else if op = decode.OpAdd32Imm; !end.wide {
		p.emit(op, c, 0, 0, add)
	} else {
		p.emit(decode.OpAdd64Imm, c, 0, 0, add)
	}
	switch {
	case first:
		p.back(decode.OpJa, 0, 0, top, 0)
	case p.chance(25):
		leave = append(leave, p.emit(end.not, c, 0, 0, int32(bound)))
		p.back(decode.OpJa, 0, 0, top, 0)
	default:
		p.back(end.test, c, 0, top, int32(bound))
	}
	for _, pc := range leave {
		p.here(pc)
	}
	p.busy[c] = false
	for _, q := range w.pointers {
		p.number(q.reg)
		p.busy[q.reg], p.pointer[q.reg] = false, false
	}
}

// walkPointers emits code that sets up at most two pointers.
func (p *program) walkPointers(w *walk) {
	for range p.between(0, 2) {
		r := p.dst()
		if r == 0 || p.walkFree() < 6 { // calls and atomics write r0
			return
		}
		q := walkPointer{reg: r, memory: scratchSize}
		base, off, align := regValue, valueScratch, 1
		if p.usesStack && p.chance(25) {
			q.memory = stackImage
			base, off, align = regFrame, -stackImage, 8
		}
		if p.chance(80) {
			q.step = align * pick(p, []int{1, 1, 2, 4, 8, -1, -8})
		}
		// The pointer also advances after the last iteration.
		far := q.step * w.turns
		if far > q.memory-8 || -far > q.memory-8 {
			q.step, far = 0, 0
		}
		at := p.rng.IntN((q.memory-8-max(far, -far))/align+1)*align + max(-far, 0)
		q.from, q.to = min(at, at+far), max(at, at+far)
		p.busy[r], p.pointer[r] = true, true
		p.emit(decode.OpMov64Reg, r, base, 0, 0)
		p.emit(decode.OpAdd64Imm, r, 0, 0, int32(off+at))
		w.pointers = append(w.pointers, q)
	}
}

// walkFree returns the number of registers that statements may write.
func (p *program) walkFree() int {
	n := 0
	for r := range regValue {
		if !p.busy[r] {
			n++
		}
	}
	return n
}

// walkStep emits the instruction that advances a pointer.
func (p *program) walkStep(q walkPointer) {
	if p.chance(20) {
		p.emit(decode.OpSub64Imm, q.reg, 0, 0, int32(-q.step))
		return
	}
	p.emit(decode.OpAdd64Imm, q.reg, 0, 0, int32(q.step))
}

// walkStatement emits a statement of a loop, sometimes one that some iterations skip.
func (p *program) walkStatement(w *walk) {
	skip := -1
	if p.chance(15) {
		skip = p.emit(pick(p, p.gen.jumps), p.src(), p.src(), 0, p.imm())
	}
	in := w
	if w.outer != nil && p.chance(30) {
		in = w.outer
	}
	free := p.pointer == [11]bool{} // no register holds a pointer, which a call could clobber
	switch k := p.rng.IntN(100); {
	case k < 22 && len(in.pointers) > 0:
		q := pick(p, in.pointers)
		p.walkAccess(q.reg, q.from, q.to, q.memory, 0)
	case k < 45:
		p.walkIndex(in)
	case k < 55 && in.spilled:
		t := p.dst()
		p.emit(decode.OpLdxDW, t, regFrame, spillSlot, 0)
		p.emit(decode.OpAdd64Reg, t, in.counter, 0, 0)
		p.walkAccess(t, in.from, in.to, scratchSize, 0)
		p.number(t)
	case k < 59:
		p.memoryLoad(p.randomOp(decode.FormLoad, decode.FormLoadAcq))
	case k < 63:
		p.memoryStore(p.randomOp(decode.FormStoreImm, decode.FormStoreReg, decode.FormStoreRel))
	case k < 65:
		p.atomic(p.randomOp(decode.FormAtomic, decode.FormFetch, decode.FormXchg, decode.FormCmpXchg))
	case k < 80:
		p.walkSkip()
	case k < 87:
		p.walkRemainder()
	case k < 90 && w.outer == nil:
		p.walk(w)
	case k < 91 && free:
		p.callLocal()
	case k < 93 && free:
		p.lookup(decode.OpLdMapFD)
	case k < 96:
		p.pair()
	default:
		p.arith(pick(p, p.gen.alu), p.dst(), p.src())
	}
	if skip >= 0 {
		p.here(skip)
	}
}

// walkIndex emits an access to memory indexed by the counter, in one of the forms that compilers
// emit.
func (p *program) walkIndex(w *walk) {
	t, lo, hi := p.dst(), w.from, w.to
	off := valueScratch
	switch k := p.rng.IntN(8); {
	case k == 0: // the address added to the counter
		p.emit(decode.OpMov64Reg, t, w.counter, 0, 0)
		p.emit(decode.OpAdd64Reg, t, regValue, 0, 0)
	case k <= 2 && hi <= 40: // 2-byte elements
		p.emit(decode.OpMov64Reg, t, w.counter, 0, 0)
		p.emit(decode.OpLsh64Imm, t, 0, 0, 1)
		p.emit(decode.OpAdd64Reg, t, regValue, 0, 0)
		lo, hi = 2*lo, 2*hi
	case k == 3: // a masked index, as for a ring
		p.emit(decode.OpMov64Reg, t, w.counter, 0, 0)
		p.emit(decode.OpAdd64Reg, t, p.src(), 0, 0)
		p.emit(decode.OpAnd64Imm, t, 0, 0, 31)
		p.emit(decode.OpAdd64Reg, t, regValue, 0, 0)
		lo, hi = 0, 31
	default:
		p.emit(decode.OpMov64Reg, t, regValue, 0, 0)
		p.emit(decode.OpAdd64Reg, t, w.counter, 0, 0)
	}
	if p.chance(30) {
		add := p.between(-8, 24)
		p.emit(decode.OpAdd64Imm, t, 0, 0, int32(add))
		off -= add
	}
	p.walkAccess(t, lo, hi, scratchSize, off)
	if p.chance(15) {
		p.emit(decode.OpAdd64Imm, t, 0, 0, 1)
		p.walkAccess(t, lo+1, hi+1, scratchSize, off)
	}
	p.number(t)
}

// walkAccess emits a load from or a store to memory of the given size through register r. r plus
// start is lo to hi bytes after the start of the memory.
func (p *program) walkAccess(r, lo, hi, memory, start int) {
	size := pick(p, []int{1, 1, 2, 4, 8})
	align := 1
	if memory == stackImage {
		align = size
	}
	room := memory - size - hi + lo
	if room < 0 {
		return
	}
	off := start - lo + p.rng.IntN(room/align+1)*align
	switch p.rng.IntN(5) {
	case 0:
		s := p.src()
		for s == r {
			s = p.src()
		}
		p.emit(storeOfSize[uint8(size)], r, s, off, 0)
	case 1:
		p.emit(storeImmOfSize[uint8(size)], r, 0, off, p.imm())
	default:
		d := p.dstNot(r)
		p.emit(loadOfSize[uint8(size)], d, r, off, 0)
		if p.chance(50) {
			p.arith(pick(p, p.gen.alu), p.dstNot(r), d)
		}
	}
}

// skippable lists the operations that walkSkip emits.
var skippable = []decode.Op{
	decode.OpMov64Imm, decode.OpMov64Reg, decode.OpMov32Imm, decode.OpMov32Reg, decode.OpAdd64Imm, decode.OpAdd64Reg, decode.OpAdd32Imm, decode.OpAdd32Reg,
	decode.OpSub64Imm, decode.OpSub64Reg, decode.OpSub32Imm, decode.OpSub32Reg, decode.OpAnd64Imm, decode.OpAnd64Reg, decode.OpAnd32Imm, decode.OpAnd32Reg,
	decode.OpOr64Imm, decode.OpOr64Reg, decode.OpOr32Imm, decode.OpOr32Reg, decode.OpXor64Imm, decode.OpXor64Reg, decode.OpXor32Imm, decode.OpXor32Reg,
}

// walkSkip emits a branch over one operation, or a branch that selects one of two operations.
func (p *program) walkSkip() {
	d := p.dst()
	a := p.src()
	if p.chance(40) {
		a = d // as in the computation of a minimum
	}
	j := p.emit(pick(p, p.gen.jumps), a, p.src(), 0, p.imm())
	p.arith(pick(p, skippable), d, p.src())
	switch p.rng.IntN(4) {
	case 0: // with a jump to the same target
		p.emit(decode.OpJa, 0, 0, 0, 0)
		p.here(j)
	case 1: // one of two operations
		over := p.jump()
		p.here(j)
		p.arith(pick(p, skippable), d, p.src())
		p.here(over)
	default:
		p.here(j)
	}
}

// walkRemainder emits a remainder computed by division, multiplication and subtraction, in place or
// into another register.
func (p *program) walkRemainder() {
	mov, div, mul, sub := decode.OpMov64Reg, decode.OpDiv64Reg, decode.OpMul64Reg, decode.OpSub64Reg
	if p.chance(50) {
		mov, div, mul, sub = decode.OpMov32Reg, decode.OpDiv32Reg, decode.OpMul32Reg, decode.OpSub32Reg
	}
	n, d, q := p.dst(), p.src(), p.dst()
	p.emit(mov, q, n, 0, 0)
	p.emit(div, q, d, 0, 0)
	p.emit(mul, q, d, 0, 0)
	if p.chance(50) {
		p.emit(sub, n, q, 0, 0)
		return
	}
	r := p.dst()
	p.emit(mov, r, n, 0, 0)
	p.emit(sub, r, q, 0, 0)
}
