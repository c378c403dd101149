package loader

import (
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/endian"
)

// flow is the result of constant propagation over a linked program: the instructions that some
// input can reach. Known values are immediates after relocation and loads from frozen data
// (.rodata, .kconfig). Arguments, results of helpers, all other memory and the stack are unknown.
type flow struct {
	lp     *LinkedProgram
	reach  []bool
	taken  []uint8 // of conditional jumps: possible edges
	leader []int32 // block number of instructions that start a block, else -1
	blocks []block
	work   []int32
	funcs  []funcFlow // by LinkedProgram.Funcs
}

// Edges of a conditional jump.
const (
	edgeNext uint8 = 1 << iota
	edgeJump
)

type block struct {
	pc      int
	in      state
	visited bool
	queued  bool
}

// funcFlow summarises a function for its callers.
type funcFlow struct {
	returns bool
	ret     value
	callers []int32 // blocks that start with a call of it
}

// valueKind is the kind of knowledge about a register.
type valueKind uint8

const (
	anything valueKind = iota
	nonZero            // an address, or one of several nonzero constants
	constant
	frozen // address of n bytes into the image of a frozen map
)

type value struct {
	kind valueKind
	m    int32 // frozen: index of the map
	n    uint64
}

func known(n uint64) value { return value{kind: constant, n: n} }

func (v value) notZero() bool {
	return v.kind == nonZero || v.kind == frozen || v.kind == constant && v.n != 0
}

func join(a, b value) value {
	switch {
	case a == b:
		return a
	case a.notZero() && b.notZero():
		return value{kind: nonZero}
	}
	return value{}
}

// state holds r0 to r9; r10 never changes.
type state [10]value

func (s *state) get(r uint8) value {
	if int(r) < len(s) {
		return s[r]
	}
	return value{kind: nonZero} // the frame pointer
}

func (s *state) set(r uint8, v value) {
	if int(r) < len(s) {
		s[r] = v
	}
}

// clobber forgets r0 to r5, as a call does.
func (s *state) clobber() {
	for r := range 6 {
		s[r] = value{}
	}
}

// analyse runs constant propagation to its fixed point.
func (lp *LinkedProgram) analyse() *flow {
	n := len(lp.Insns)
	f := &flow{lp: lp, reach: make([]bool, n), taken: make([]uint8, n), leader: make([]int32, n), funcs: make([]funcFlow, len(lp.Funcs))}
	f.findLeaders()
	if n > 0 {
		f.enter(0, &state{})
	}
	if cb := lp.ExceptionCallback; cb > 0 {
		f.enter(cb, &state{})
	}
	for len(f.work) > 0 {
		b := f.work[len(f.work)-1]
		f.work = f.work[:len(f.work)-1]
		f.blocks[b].queued = false
		f.run(b)
	}
	return f
}

// branch describes the control flow of an instruction.
type branch uint8

const (
	flowNext branch = iota
	flowJump        // always
	flowCond        // conditional
	flowCall        // of a function of the program
	flowExit
	flowTable // gotox
)

// control returns the kind of control flow of an instruction; target is set for flowJump, flowCond
// and flowCall.
func control(insns []decode.Insn, pc int) (kind branch, target int) {
	in := insns[pc]
	op := in.Op()
	switch op {
	case decode.OpCallLocal:
		return flowCall, pc + 1 + int(in.Imm)
	case decode.OpExit:
		return flowExit, 0
	case decode.OpGotoX:
		return flowTable, 0
	case decode.OpJa32:
		return flowJump, pc + 1 + int(in.Imm)
	case decode.OpJa:
		return flowJump, pc + 1 + int(in.Off)
	}
	if op.Info().Has(decode.FlagBranch) {
		return flowCond, pc + 1 + int(in.Off)
	}
	return flowNext, 0
}

func (f *flow) findLeaders() {
	insns := f.lp.Insns
	mark := make([]bool, len(insns)+1)
	set := func(pc int) {
		if pc >= 0 && pc < len(insns) {
			mark[pc] = true
		}
	}
	set(0)
	for _, fn := range f.lp.Funcs {
		set(fn.Start)
	}
	for _, m := range f.lp.JumpTables {
		for _, pc := range m.Slots {
			set(int(pc))
		}
	}
	for pc := 0; pc < len(insns); pc += slotsAt(insns, pc) {
		kind, target := control(insns, pc)
		switch kind {
		case flowJump, flowCond:
			set(target)
			set(pc + 1)
		case flowCall:
			set(target)
			set(pc) // revisited when the callee's summary changes
			set(pc + 1)
		case flowExit, flowTable:
			set(pc + 1)
		}
	}
	n := 0
	for _, leads := range mark[:len(insns)] {
		if leads {
			n++
		}
	}
	f.blocks = make([]block, 0, n)
	for pc := range insns {
		f.leader[pc] = -1
		if mark[pc] {
			f.leader[pc] = int32(len(f.blocks))
			f.blocks = append(f.blocks, block{pc: pc})
		}
	}
}

func slotsAt(insns []decode.Insn, pc int) int {
	if insns[pc].Code == codeLdImm {
		return 2
	}
	return 1
}

// enter joins a state into the block at pc.
func (f *flow) enter(pc int, s *state) {
	if pc < 0 || pc >= len(f.leader) || f.leader[pc] < 0 {
		return
	}
	i := f.leader[pc]
	b := &f.blocks[i]
	changed := !b.visited
	if !b.visited {
		b.in, b.visited = *s, true
	} else {
		for r := range b.in {
			if v := join(b.in[r], s[r]); v != b.in[r] {
				b.in[r], changed = v, true
			}
		}
	}
	if changed {
		f.queue(i)
	}
}

func (f *flow) queue(i int32) {
	if b := &f.blocks[i]; !b.queued {
		b.queued = true
		f.work = append(f.work, i)
	}
}

// run processes a block to its end.
func (f *flow) run(i int32) {
	insns := f.lp.Insns
	pc, s := f.blocks[i].pc, f.blocks[i].in
	for first := true; pc < len(insns); first = false {
		if !first && f.leader[pc] >= 0 {
			f.enter(pc, &s)
			return
		}
		f.reach[pc] = true
		kind, target := control(insns, pc)
		switch kind {
		case flowJump:
			f.enter(target, &s)
			return
		case flowCond:
			f.conditional(pc, target, &s)
			return
		case flowCall:
			f.call(i, pc, target, &s)
			return
		case flowExit:
			f.exit(pc, s[0])
			return
		case flowTable:
			for _, m := range f.lp.JumpTables {
				for _, to := range m.Slots {
					f.enter(int(to), &s)
				}
			}
			return
		}
		n := slotsAt(insns, pc)
		if n == 2 && pc+1 < len(insns) {
			f.reach[pc+1] = true
		}
		if ref, ok := f.lp.Refs[pc]; ok && ref.Kind == RefFunc { // a callback
			f.enter(ref.Func, &state{})
		}
		if insns[pc].Info().Has(decode.FlagPacket) {
			f.exit(pc, known(0)) // LD_ABS and LD_IND end the program if out of bounds
		}
		f.lp.step(pc, &s)
		pc += n
	}
}

func (f *flow) conditional(pc, target int, s *state) {
	in := f.lp.Insns[pc]
	edges := decide(in, s)
	f.taken[pc] |= edges
	if edges&edgeNext != 0 {
		next := *s
		refine(in, &next, false)
		f.enter(pc+1, &next)
	}
	if edges&edgeJump != 0 {
		next := *s
		refine(in, &next, true)
		f.enter(target, &next)
	}
}

// funcIndex returns the function that starts at pc, -1 if none does.
func (f *flow) funcIndex(pc int) int {
	return f.lp.funcIndex(pc, true)
}

func (f *flow) call(i int32, pc, target int, s *state) {
	fi := f.funcIndex(target)
	if fi < 0 {
		return
	}
	fn := &f.funcs[fi]
	seen := false
	for _, c := range fn.callers {
		seen = seen || c == i
	}
	if !seen {
		fn.callers = append(fn.callers, i)
	}
	var args state
	copy(args[1:6], s[1:6])
	f.enter(target, &args)
	if f.funcs[fi].returns {
		next := *s
		next.clobber()
		next[0] = f.funcs[fi].ret
		f.enter(pc+1, &next)
	}
}

func (f *flow) exit(pc int, ret value) {
	fi := f.lp.funcIndex(pc, false)
	if fi < 0 {
		return
	}
	fn := &f.funcs[fi]
	old := *fn
	if !fn.returns {
		fn.returns, fn.ret = true, ret
	} else {
		fn.ret = join(fn.ret, ret)
	}
	if fn.returns != old.returns || fn.ret != old.ret {
		for _, c := range fn.callers {
			f.queue(c)
		}
	}
}

// funcIndex returns the index of the function that contains pc, or only of one
// that starts there.
func (lp *LinkedProgram) funcIndex(pc int, start bool) int {
	lo, hi := 0, len(lp.Funcs)
	for lo < hi {
		mid := (lo + hi) / 2
		if lp.Funcs[mid].Start <= pc {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	lo--
	if lo < 0 || pc >= lp.Funcs[lo].Start+lp.Funcs[lo].Len || start && lp.Funcs[lo].Start != pc {
		return -1
	}
	return lo
}

// step applies an instruction other than a branch to the known values.
func (lp *LinkedProgram) step(pc int, s *state) {
	in := lp.Insns[pc]
	info := in.Info()
	switch {
	case info.Op == decode.OpInvalid: // its effect is unknown
		*s = state{}
	case in.Code == codeLdImm:
		s.set(in.Dst, lp.loadImm(pc))
	case info.Form == decode.FormLoad:
		s.set(in.Dst, lp.load(in, s.get(in.Src)))
	case info.Has(decode.FlagCall), info.Has(decode.FlagPacket):
		s.clobber()
	case info.Has(decode.FlagLoad): // atomics write the source register, r0 or the destination
		s.written(in, info.Writes)
	case info.Writes&decode.RegDst != 0:
		s.set(in.Dst, lp.alu(in, s))
	}
}

// written forgets written registers.
func (s *state) written(in decode.Insn, regs decode.Reg) {
	if regs&decode.RegDst != 0 {
		s.set(in.Dst, value{})
	}
	if regs&decode.RegSrc != 0 {
		s.set(in.Src, value{})
	}
	if regs&decode.RegR0 != 0 {
		s.set(0, value{})
	}
}

func (lp *LinkedProgram) loadImm(pc int) value {
	in := lp.Insns[pc]
	ref, ok := lp.Refs[pc]
	if !ok {
		if in.Src != 0 || pc+1 >= len(lp.Insns) {
			return value{}
		}
		return known(uint64(uint32(in.Imm)) | uint64(uint32(lp.Insns[pc+1].Imm))<<32)
	}
	switch ref.Kind {
	case RefMapValue:
		if i := lp.linked.mapIndex(ref.Map); i >= 0 && ref.Map.Frozen() {
			return value{kind: frozen, m: int32(i), n: uint64(ref.Off)}
		}
	case RefKsym, RefKsymBTF:
		if !ref.Resolved {
			return known(0)
		}
	}
	return value{kind: nonZero}
}

// load loads from frozen data.
func (lp *LinkedProgram) load(in decode.Insn, addr value) value {
	if addr.kind != frozen {
		return value{}
	}
	info := in.Info()
	data, size := lp.linked.Maps[addr.m].Data, uint64(info.Size)
	off := addr.n + uint64(int64(in.Off))
	if off > uint64(len(data)) || size > uint64(len(data))-off {
		return value{}
	}
	data = data[off : off+size]
	order := lp.linked.Object.ByteOrder
	if info.Signed() {
		return known(uint64(endian.Int(order, data)))
	}
	return known(endian.Uint(order, data))
}
