package verifier

import (
	"slices"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// backtrack is the set of registers and stack slots whose exact values matter, while the path is
// followed backward.
type backtrack struct {
	frame  int
	regs   [maxFrames]uint32
	stacks [maxFrames]uint64
}

const argRegs = 0x3e

func (b *backtrack) empty() bool {
	var m uint64
	for i := 0; i <= b.frame; i++ {
		m |= uint64(b.regs[i]) | b.stacks[i]
	}
	return m == 0
}

func (b *backtrack) set(r uint8)      { b.regs[b.frame] |= 1 << r }
func (b *backtrack) clear(r uint8)    { b.regs[b.frame] &^= 1 << r }
func (b *backtrack) has(r uint8) bool { return b.regs[b.frame]>>r&1 != 0 }
func (b *backtrack) reset()           { *b = backtrack{} }

// syncLinked makes registers that were equal at a comparison precise together: the comparison
// narrowed all of them by what it found out about one, so the range of each depends on all of them
// (bt_sync_linked_regs).
func (b *backtrack) syncLinked(h *hist) {
	if h == nil || len(h.linked) == 0 {
		return
	}
	some := false
	for _, l := range h.linked {
		if l.isReg && b.regs[l.frame]>>l.index&1 != 0 || !l.isReg && b.stacks[l.frame]>>l.index&1 != 0 {
			some = true
			break
		}
	}
	if !some {
		return
	}
	for _, l := range h.linked {
		if l.isReg {
			b.regs[l.frame] |= 1 << l.index
		} else {
			b.stacks[l.frame] |= 1 << l.index
		}
	}
}

// addEqual adds the registers that are equal to one in the set at the end of a state. Releases from
// 6.5 to 6.11 do not record which registers a comparison narrowed together
// (mark_precise_scalar_ids).
func (b *backtrack) addEqual(s *state) {
	var ids []uint32
	// Registers and spilled registers alike may share the id.
	each := func(fr int, f func(r *reg, i int, isReg bool)) {
		fs := s.frames[fr]
		for i := range fs.regs[:10] {
			f(&fs.regs[i], i, true)
		}
		for i := range fs.stack {
			if fs.stack[i].isScalarSpill() {
				f(&fs.stack[i].reg, i, false)
			}
		}
	}
	for fr := b.frame; fr >= 0; fr-- {
		each(fr, func(r *reg, i int, isReg bool) {
			if r.id != 0 && r.typ == scalar && (isReg && b.regs[fr]>>i&1 != 0 || !isReg && b.stacks[fr]>>i&1 != 0) {
				ids = append(ids, r.id)
			}
		})
	}
	if len(ids) == 0 {
		return
	}
	for fr := 0; fr <= s.curFrame; fr++ {
		each(fr, func(r *reg, i int, isReg bool) {
			switch {
			case r.id == 0 || !slices.Contains(ids, r.id):
			case isReg:
				b.regs[fr] |= 1 << i
			default:
				b.stacks[fr] |= 1 << i
			}
		})
	}
}

// pushHistory records that the current instruction is part of the path.
func (t *precision) pushHistory(s *state, flags uint8, spi, fr int, linked []linkedReg) {
	// An instruction has one entry, to which its parts add what they know (push_jmp_history,
	// push_insn_history since 6.8).
	if h := t.histEntry; h != nil {
		h.flags |= flags
		if flags&histStack != 0 {
			h.spi, h.fr = uint8(spi), uint8(fr)
		}
		h.linked = linked
		return
	}
	if len(t.histSlab) == 0 {
		t.took(256 * 56)
		t.histSlab = t.hists.take(256)
	}
	h := &t.histSlab[0]
	t.histSlab = t.histSlab[1:]
	n := int32(1)
	if s.hist != nil {
		n = s.hist.count + 1
	}
	*h = hist{prev: s.hist, idx: int32(t.insn), prevIdx: int32(t.prev), count: n, flags: flags, linked: linked}
	if flags&histStack != 0 {
		h.spi, h.fr = uint8(spi), uint8(fr)
	}
	s.hist = h
	t.histEntry = h
}

func historyLen(s *state) int {
	if s.hist == nil {
		return 0
	}
	return int(s.hist.count)
}

// previous returns the instruction before i on the path of s, or -1 if i is its first; h moves
// along. The history has jumps only, since between them instructions follow each other. A loop may
// come back to the first instruction, and only the end of the history tells that from the start
// (get_prev_insn_idx).
func previous(s *state, i int, h **hist) int {
	if i == s.first {
		if *h == nil || (*h).count == 1 && int((*h).idx) == i {
			return noInsn
		}
	}
	if *h != nil && int((*h).idx) == i {
		p := int((*h).prevIdx)
		*h = (*h).prev
		return p
	}
	return i - 1
}

const noInsn = -1 << 30

// backResult says whether the walk goes on, or gives up because a register or slot cannot be
// followed further back.
type backResult uint8

const (
	backOK backResult = iota
	backGiveUp
)

// backInsn updates the set from the state after an instruction to the state before it
// (backtrack_insn).
func (t *precision) backInsn(i, subseq int, h *hist) backResult {
	in := &t.insns[i]
	b := &t.bt
	if in.Code == 0 {
		return backOK
	}
	t.log.markPrecise(t.position, &t.bt, i)
	// Before the instruction is undone, for what it reads, and after, for what it writes.
	b.syncLinked(h)
	dst, src := in.Dst, in.Src
	switch class(in) {
	case clsALU, clsALU64:
		if !b.has(dst) {
			return backOK
		}
		// R10 needs no mark: it is never a number.
		switch opOf(in) {
		case opEnd, opNeg:
			// These read and write the same register.
			return backOK
		case opMov:
			b.clear(dst)
			if isX(in) && src != 10 {
				b.set(src)
			}
		default:
			if isX(in) && src != 10 {
				b.set(src)
			}
		}
	case clsLDX:
		// Numbers keep what is known of them in the stack only. What any other memory holds is not
		// known before the load, so that the walk has nothing to mark there.
		return t.backLoad(in, dst, h)
	case clsSTX:
		if isLoadAcq(in) {
			return t.backLoad(in, dst, h)
		}
		// An atomic operation with a result is a load into that register: what it leaves in the
		// slot is of any value, and not followed. Earlier it was a store alone, and the register
		// was followed beyond it.
		if isFetch(in) && t.has(since.FetchesLoad) {
			if in.Imm == cmpxchg {
				return t.backLoad(in, 0, h)
			}
			return t.backLoad(in, src, h)
		}
		return t.backStore(in, true, h)
	case clsST:
		return t.backStore(in, false, h)
	case clsJMP, clsJMP32:
		if r, end := t.backJump(i, subseq, h); end {
			return r
		}
	case clsLD:
		// What a packet load yields is not followed (-ENOTSUPP). If the packet is too short, it
		// leaves the function: then the walk comes from the caller and enters the function here.
		switch mode(in) {
		case modeIMM:
			b.clear(dst)
			return backOK
		case modeABS, modeIND:
			if b.has(dst) {
				return backGiveUp
			}
			if subseq != i+1 && t.has(since.LoadPacketTracking) {
				t.enter()
			}
			return backOK
		}
	}
	b.syncLinked(h)
	return backOK
}

// backLoad follows a loaded register to the slot that it was loaded from.
func (t *precision) backLoad(in *decode.Insn, to uint8, h *hist) backResult {
	b := &t.bt
	if !b.has(to) {
		return backOK
	}
	b.clear(to)
	if fr, spi, ok := t.slotOf(in, in.Src, h); ok {
		b.stacks[fr] |= 1 << spi
	}
	return backOK
}

// backStore follows a slot to the register that was stored into it; a stored constant ends the
// walk.
func (t *precision) backStore(in *decode.Insn, fromReg bool, h *hist) backResult {
	b := &t.bt
	// A number is no address. The register was a pointer here that a later subtraction of pointers
	// made part of a number, and pointers are not followed (-ENOTSUPP in backtrack_insn).
	if b.has(in.Dst) {
		return backGiveUp
	}
	fr, spi, ok := t.slotOf(in, in.Dst, h)
	if !ok || b.stacks[fr]>>spi&1 == 0 {
		return backOK
	}
	b.stacks[fr] &^= 1 << spi
	if fromReg {
		b.set(in.Src)
	}
	return backOK
}

// slotOf returns the stack slot that an instruction accessed through register base. Before 6.8 only
// accesses through r10 count; later releases record the slot.
func (t *precision) slotOf(in *decode.Insn, base uint8, h *hist) (fr, spi int, ok bool) {
	if t.has(since.PreciseSpills) {
		if h == nil || h.flags&histStack == 0 {
			return 0, 0, false
		}
		return int(h.fr), int(h.spi), true
	}
	if spi = (-int(in.Off) - 1) / 8; base != 10 || class(in) == clsSTX && mode(in) != modeMEM || spi >= 64 {
		return 0, 0, false
	}
	return t.bt.frame, spi, true
}

// enter goes back into a function that returned (bt_subprog_enter).
func (t *precision) enter() {
	if t.bt.frame == maxFrames-1 {
		t.bug("subprog enter from frame %d", t.bt.frame)
	}
	t.bt.frame++
}

// leave goes back to the call of the function (bt_subprog_exit).
func (t *precision) leave() {
	if t.bt.frame == 0 {
		t.bug("subprog exit from frame 0")
	}
	t.bt.frame--
}

// backJump handles calls, exits and branches (backtrack_insn); end means that the instruction is
// done.
func (t *precision) backJump(i, subseq int, h *hist) (r backResult, end bool) {
	in := &t.insns[i]
	b := &t.bt
	switch {
	case isLocalCall(in):
		n := t.subprogFrom(callTarget(i, in))
		// A global function was verified on its own: the walk does not enter it, and its result is
		// unknown, whatever the arguments were.
		if t.subs[n].linkage == funcGlobal {
			if b.regs[b.frame]&argRegs != 0 {
				t.bug("global subprog unexpected regs %x", b.regs[b.frame])
			}
			b.clear(0)
			return backOK, true
		}
		// The walk is at the function's start: nothing but its arguments can still be wanted there,
		// which the caller's registers become.
		if b.regs[b.frame]&^argRegs != 0 {
			t.bug("static subprog unexpected regs %x", b.regs[b.frame])
		}
		if b.stacks[b.frame] != 0 {
			t.bug("static subprog leftover stack slots %x", b.stacks[b.frame])
		}
		args := b.regs[b.frame] & argRegs
		b.regs[b.frame] = 0
		t.leave()
		b.regs[b.frame] |= args
		return backOK, true
	case t.isSyncCallback(in, i) && i != subseq-1:
		// The walk comes from the callback's first instruction. Its arguments are set by the
		// helper, so none is followed into the caller; i is the instruction before subseq if the
		// callback is not entered.
		if b.regs[b.frame]&^argRegs != 0 {
			t.bug("callback unexpected regs %x", b.regs[b.frame])
		}
		if b.stacks[b.frame] != 0 {
			t.bug("callback leftover stack slots %x", b.stacks[b.frame])
		}
		b.regs[b.frame] = 0
		t.leave()
		return backOK, true
	case opOf(in) == opCall && class(in) == clsJMP:
		// A kfunc that the kernel does not have: the program is refused for it once everything is
		// explored (fixup_kfunc_call).
		if isKfuncCall(in) && in.Imm == 0 {
			return backGiveUp, true
		}
		// The result is new. Its arguments were read by the call, so that none of R1 to R5 can be
		// wanted after it.
		b.clear(0)
		if b.regs[b.frame]&argRegs != 0 {
			t.bug("backtracking call unexpected regs %x", b.regs[b.frame])
		}
		// A tail call that succeeds does not return to the next instruction, but to the caller: the
		// walk enters the function at the tail call.
		if isHelperCall(in) && in.Imm == int32(uapi.FuncTailCall) && subseq-i != 1 && t.has(since.TailCallReturns) {
			t.enter()
		}
	case opOf(in) == opExit:
		t.backExit(subseq)
		return backOK, true
	case opOf(in) == opJA || opOf(in) == opJCOND:
	case isX(in):
		// Either operand decided the branch together with the other, so one precise operand makes
		// both so. A constant is exact already, and then nothing is added.
		if !b.has(in.Dst) && !b.has(in.Src) {
			return backOK, true
		}
		// A pointer to the stack may be compared, but is never a number.
		if h == nil || h.flags&histSrcStack == 0 {
			b.set(in.Src)
		}
		if h == nil || h.flags&histDstStack == 0 {
			b.set(in.Dst)
		}
	}
	return backOK, false
}

// backExit enters the function that an exit left. R0 in the caller is R0 of the function, unless it
// is a callback, whose result goes to the helper.
func (t *precision) backExit(subseq int) {
	b := &t.bt
	fromCall := subseq-1 >= 0 && isLocalCall(&t.insns[subseq-1])
	r0 := fromCall && b.has(0)
	if fromCall && b.regs[b.frame]&argRegs != 0 {
		t.bug("backtracking exit unexpected regs %x", b.regs[b.frame])
	}
	b.clear(0)
	if subseq >= 0 && t.aux[subseq].callback && t.has(since.CallbackChains) && !t.has(since.CallbackArgsKept) {
		// What calls the function sets its arguments.
		b.regs[b.frame] &^= argRegs
	}
	t.enter()
	if r0 {
		b.set(0)
	}
}

// precise marks a register as one whose value must be compared exactly, and follows it back
// (mark_chain_precision).
func (t *precision) precise(r int) {
	// Only numbers have precision: pointers are compared exactly anyway (regsafe).
	if r >= 0 && t.reg(r).typ != scalar {
		t.bug("backtracking misuse")
	}
	if !t.r.precise {
		t.preciseOld(r, -1)
		return
	}
	b := &t.bt
	b.frame = t.cur.curFrame
	if r >= 0 {
		b.set(uint8(r))
	}
	t.markChain(t.cur, t.insn, nil)
}

// markChain follows the contents of e.bt back from instruction last of s; changed is set if a mark
// is new.
func (t *precision) markChain(s *state, last int, changed *bool) {
	b := &t.bt
	start := s
	if b.empty() {
		return
	}
	first, subseq, skip := s.first, -1, true
	for {
		t.log.markFrom(b.frame, last, first, subseq)
		// These releases look for registers with the same id at each checkpoint instead.
		if t.r.ids && !t.r.linkedHist {
			b.addEqual(s)
		}
		// The path begins here. A global function or an asynchronous callback is verified with
		// unknown arguments, which may be wanted; anything else cannot, as nothing was written
		// before.
		if last < 0 {
			if s.curFrame == 0 && s.frames[0].sub > 0 && s.frames[0].callsite == mainFunc && b.stacks[b.frame] == 0 && b.regs[b.frame]&^argRegs == 0 {
				for i := uint8(1); i <= 5; i++ {
					if b.has(i) {
						b.clear(i)
						if r := &s.frames[0].regs[i]; r.typ == scalar {
							r.precise = true
							setTrue(changed)
						}
					}
				}
				return
			}
			t.bug("backtracking func entry subprog %d reg_mask %x stack_mask %x", s.frames[0].sub, b.regs[b.frame], b.stacks[b.frame])
		}
		h := s.hist
		for i := last; ; {
			if skip {
				skip = false
			} else {
				// The entry is of this instruction only if it says so: jumps and stack accesses
				// have one.
				at := h
				if at != nil && int(at.idx) != i {
					at = nil
				}
				// What cannot be followed makes all numbers precise: that is safe, and costs
				// pruning only (mark_all_scalars_precise).
				if t.backInsn(i, subseq, at) == backGiveUp {
					t.allPrecise(start)
					b.reset()
					return
				}
			}
			if b.empty() {
				return
			}
			subseq = i
			i = previous(s, i, &h)
			if i == noInsn {
				break
			}
			if i < 0 || i >= len(t.insns) {
				t.bug("backtracking idx %d", i)
			}
		}
		later := s
		s = s.parent
		if s == nil {
			break
		}
		// What is still wanted was there when the parent was kept.
		t.markParent(s, later, changed)
		if b.empty() {
			return
		}
		subseq, last, first = first, s.last, s.first
	}
	// The set has something left at the start of the path, where every value was set on the way:
	// the kernel gives up as well.
	if !b.empty() {
		t.allPrecise(start)
		b.reset()
	}
}

func setTrue(p *bool) {
	if p != nil {
		*p = true
	}
}

// markParent marks registers and slots in a checkpoint, from which later goes on. Those already
// marked have been followed before.
func (t *precision) markParent(s, later *state, changed *bool) {
	b := &t.bt
	for fr := b.frame; fr >= 0; fr-- {
		f := s.frames[fr]
		for i := uint8(0); i < 10; i++ {
			if b.regs[fr]>>i&1 == 0 {
				continue
			}
			// A mark that is there already was followed by the walk that made it, so this walk can
			// stop for that register: this bounds the cost of precision (mark_chain_precision).
			if r := &f.regs[i]; r.typ != scalar || r.precise {
				b.regs[fr] &^= 1 << i
			} else {
				r.precise = true
				setTrue(changed)
			}
		}
		for m, i := b.stacks[fr], 0; m != 0; m, i = m>>1, i+1 {
			if m&1 == 0 {
				continue
			}
			if i >= len(f.stack) {
				if !t.has(since.PreciseSpills) { // accessed through another register
					t.allPrecise(t.cur)
					b.reset()
					return
				}
				t.bug("stack slot %d, total slots %d", i, len(f.stack))
			}
			sl := f.stack[i]
			if !sl.isScalarSpill() || sl.reg.precise {
				b.stacks[fr] &^= 1 << i
			} else {
				f.markPrecise(i, later.frames[fr])
				setTrue(changed)
			}
		}
		t.log.markParent(t.position, b, s, fr)
	}
}

// allPrecise marks every scalar in all checkpoints on the path. The current state gets no marks:
// the precision of a state matters once others are compared with it (mark_all_scalars_precise).
func (t *precision) allPrecise(s *state) {
	t.log.note("mark_precise: frame%d: falling back to forcing all scalars precise", s.curFrame)
	for s = s.parent; s != nil; s = s.parent {
		for i := 0; i <= s.curFrame; i++ {
			f := s.frames[i]
			for j := 0; j < 10; j++ {
				if f.regs[j].typ == scalar {
					f.regs[j].precise = true
				}
			}
			for j := range f.stack {
				if f.stack[j].isScalarSpill() && !f.stack[j].reg.precise {
					f.own(j).reg.precise = true
				}
			}
		}
	}
}

// allImprecise removes inherited marks from a new checkpoint: they came from what its predecessors
// needed, and what follows it will set its own (mark_all_scalars_imprecise). Fewer marks let it
// match more states.
func allImprecise(s *state) {
	for i := 0; i <= s.curFrame; i++ {
		f := s.frames[i]
		for j := 0; j < 10; j++ {
			if f.regs[j].typ == scalar {
				f.regs[j].precise = false
			}
		}
		for j := range f.stack {
			if f.stack[j].isScalarSpill() && f.stack[j].reg.precise {
				f.own(j).reg.precise = false
			}
		}
	}
}

// forget clears the set.
func (t *precision) forget() {
	t.bt.reset()
	t.histEntry = nil
}
