package verifier

import (
	"math"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// accessType is what an access does to memory (enum bpf_access_type).
type accessType uint8

const (
	read accessType = iota
	write
)

func spiOf(off int) int { return (-off - 1) / 8 }

// spillable reports which pointers a stack slot can hold (is_spillable_regtype).
func spillable(t regType) bool {
	switch t.base() {
	case ptrMapValue, ptrStack, ptrCtx, ptrPacket, ptrPacketMeta, ptrPacketEnd, ptrFlowKeys, constMap, ptrSocket, ptrSockCommon,
		ptrTCPSock, ptrXDPSock, ptrBTF, ptrBuf, ptrMem, ptrFunc, ptrMapKey, ptrArena, ptrPercpuBTF:
		return true
	}
	return false
}

// saveReg spills a register (save_register_state). The slot's last bytes are marked, those nearest
// to the frame pointer, by which a spill of less than eight bytes is recognised.
func (k *stack) saveReg(f *frame, spi int, r *reg, size int) {
	s := f.own(spi)
	s.reg.copyFrom(r)
	if size == 8 && !k.r.static {
		f.uses[spi] |= liveWritten
	}
	for i := 8 - size; i < 8; i++ {
		s.t[i] = slotSpill
	}
	for i := 0; i < 8-size; i++ {
		if k.has(since.SpillRestKept) {
			// The rest of the slot stays zero or unwritten if it was.
			if s.t[i] != slotZero && s.t[i] != slotPoison && s.t[i] != slotInvalid {
				s.t[i] = slotMisc
			}
		} else if s.t[i] != slotInvalid {
			s.t[i] = slotMisc
		}
	}
}

// scrub ends what was in a slot as a whole: with one byte overwritten the rest is only bytes
// (scrub_spilled_slot).
func scrub(s *slot) {
	s.reg.typ = notInit
	if s.isSpecial() {
		for i := range s.t {
			if s.t[i] != slotInvalid {
				s.t[i] = slotMisc
			}
		}
	}
}

// fastcallContract stops ignoring spills around calls when something else accesses their slots
// (check_fastcall_stack_contract): the kernel would remove spills that are needed.
func (k *stack) fastcallContract(f *frame, insn, off int) {
	s := &k.subs[f.sub]
	if !k.has(since.FastCalls) || s.fastcallOff <= off || k.aux[insn].fastcall {
		return
	}
	s.fastcallOff = math.MinInt16
	for i := s.start; i < k.subs[f.sub+1].start; i++ {
		k.aux[i].fastSpills, k.aux[i].fastcall = 0, false
	}
}

// isStoreImm reports a store of a constant, which is like a store of a register with that value.
func isStoreImm(in *decode.Insn) bool { return class(in) == clsST && mode(in) == modeMEM }

// writeStack stores at a fixed offset of a stack (check_stack_write_fixed_off).
func (k *stack) writeStack(f *frame, off, size, value, insn int) {
	slotOff := -off - 1
	spi := slotOff / 8
	in := &k.insns[insn]
	var r *reg
	if value >= 0 {
		r = k.reg(value)
	}
	k.destroyDynptr(f, spi)
	k.fastcallContract(f, insn, off)
	k.log.touchSlot(spi)
	s := f.own(spi)
	history := true
	full := size == 8
	aligned := off%8 == 0
	if k.r.static && full && aligned {
		k.liveness.wroteSlot(f, spi)
	}
	switch {
	case r != nil && r.typ == scalar && aligned && (k.r.subreg || full) && k.tracksSpill(r):
		// Numbers are tracked from the slot's first byte only, so that a load of the same bytes
		// finds them.
		if k.has(since.TrackedSpills) {
			fits := r.Width() <= 8*size
			// The register and the slot are linked: a test of one is one of the other.
			if fits && k.has(since.SpillIDs) {
				k.values.identify(r)
			}
			k.saveReg(f, spi, r, size)
			// What is cut off may differ: the slot equals the register no longer.
			if !fits {
				s.reg.id = 0
			}
		} else {
			if off != -regSpillOffsetNone && in.Dst != 10 {
				// Stores through a copy of the frame pointer are not tracked backward, so the value
				// must be precise.
				k.precision.precise(value)
			}
			k.saveReg(f, spi, r, size)
			if r.Width() > 8*size {
				s.reg.id = 0
			}
		}
	case r == nil && aligned && isStoreImm(in) && k.has(since.StoredConstants) && (k.has(since.StoredZero) || in.Imm != 0):
		// A stored constant is like a spilled register with that value.
		var c reg
		c.constant(uint64(int64(in.Imm)))
		k.saveReg(f, spi, &c, size)
	case r != nil && spillable(r.typ):
		// Part of a pointer could be replaced by a number.
		if !full {
			k.refuse(refusal.InvalidSizeRegisterSpill)
		}
		if f != k.frame() && r.typ == ptrStack { // the callee's stack ends before the caller reads
			k.refuse(refusal.CannotSpillPointersStackIntoStack)
		}
		k.saveReg(f, spi, r, size)
	default:
		t := uint8(slotMisc)
		scrub(s)
		if full && !k.r.static {
			f.uses[spi] |= liveWritten
		}
		if r != nil && r.isNull() || r == nil && isStoreImm(in) && in.Imm == 0 && k.has(since.StoredConstants) {
			// Backtracking does not follow zero bytes, so that the number is precise from here on.
			if r != nil {
				k.precision.precise(value)
			}
			t = slotZero
		}
		for i := 0; i < size; i++ {
			s.t[(slotOff-i)%8] = t
		}
		history = false
	}
	if history && k.has(since.PreciseSpills) {
		k.precision.pushHistory(k.cur, histStack, spi, f.no, nil)
	}
}

// tracksSpill: before 6.8 a zero is stored as zero bytes, before 6.9 an unbounded scalar as bytes
// of any value.
func (k *stack) tracksSpill(r *reg) bool {
	if r.isNull() {
		return k.has(since.SpilledZeros)
	}
	return k.has(since.UnboundedSpills) || !r.unbounded()
}

const regSpillOffsetNone = 1 << 20

// writeStackVar stores at an unknown offset (check_stack_write_var_off). Any of the slots may
// change: each must be thought changed, but for zeros over zeros.
func (k *stack) writeStackVar(f *frame, ptr, off, size, value, insn int) {
	p := k.reg(ptr)
	in := &k.insns[insn]
	lo, hi := int(p.SMin)+off, int(p.SMax)+off+size
	var r *reg
	if value >= 0 {
		r = k.reg(value)
	}
	zero := r != nil && r.isNull() || r == nil && isStoreImm(in) && in.Imm == 0
	used := false
	for i := lo; i < hi; i++ {
		k.destroyDynptr(f, spiOf(i))
	}
	k.fastcallContract(f, insn, lo)
	for i := lo; i < hi; i++ {
		at := -i - 1
		s := f.own(at / 8)
		k.log.touchSlot(at / 8)
		t := &s.t[at%8]
		if zero && *t == slotSpill && s.isScalarSpill() && s.reg.Var.Equals(0) && k.has(since.ZeroSpillWrites) {
			used = true
			continue
		}
		if k.has(since.VariableScrubs) {
			scrub(s)
		} else {
			s.reg.typ = notInit
		}
		n := uint8(slotMisc)
		// A zero over a zero leaves a zero, wherever the store goes.
		if zero && *t == slotZero {
			n = slotZero
			used = true
		}
		// Only one of the slots is written, but all would count as initialised.
		if *t == slotInvalid && !k.r.uninit {
			k.refuse(refusal.UninitStackInRangeVarOffset, insn, i)
		}
		*t = n
	}
	if used && r != nil {
		k.precision.precise(value)
	}
}

// readStackBytes sets dst to what the stack bytes from lo to hi may contain (mark_reg_stack_read):
// any number, unless all are 0.
func (k *stack) readStackBytes(f *frame, lo, hi, dst int) {
	zeros := 0
	for i := lo; i < hi; i++ {
		at := -i - 1
		k.log.touchSlot(at / 8)
		if f.stack[at/8].t[at%8] != slotZero {
			break
		}
		zeros++
	}
	r := k.reg(dst)
	if zeros == hi-lo {
		r.constant(0)
		// Backtracking would end here without marking the zeros.
		r.precise = !k.has(since.ZeroReadsImprecise)
	} else {
		r.unknown()
	}
	r.wrote()
}

// filledZero sets r to 0 (__mark_reg_const_zero). Where zeros do not become imprecise, r stays what it
// was before.
func (k *stack) filledZero(r *reg) {
	r.constant(0)
	r.precise = r.precise && !k.has(since.ZeroReadsImprecise)
}

// readStack loads from a fixed offset of a stack (check_stack_read_fixed_off).
func (k *stack) readStack(f *frame, off, size, dst int) {
	slotOff := -off - 1
	spi := slotOff / 8
	s := f.stack[spi]
	src := &s.reg
	history := true
	k.log.touchSlot(spi)
	// A read of a removed spill's slot would find nothing there.
	k.fastcallContract(k.frame(), k.insn, off)
	if k.r.static {
		k.liveness.readSlot(f, spi)
	}
	// Bytes of a pointer are not read one by one, since they could be put together to another one.
	bytes := func() {
		for i := 0; i < size; i++ {
			switch t := s.t[(slotOff-i)%8]; {
			case t == slotMisc, t == slotZero, t == slotSpill && src.typ == scalar && k.isSpilled(s):
			case (t == slotInvalid || t == slotPoison) && k.r.uninit:
				// A poisoned slot was found dead by the analysis before exploration, which a read
				// shows to be wrong.
				if t == slotPoison {
					k.refuse(refusal.ReadingStackOffSizeSlotPoisoned, off, i, size)
				}
			default:
				k.refuse(refusal.InvalidReadStackOffSize, off, i, size)
			}
		}
	}
	if k.isSpilled(s) {
		// How many bytes were spilled is told by the bytes that are marked, down from the last.
		width := 1
		for i := 7; i > 0 && s.t[i-1] == slotSpill; i-- {
			width++
		}
		// Not the whole of a whole register.
		if size != 8 || width != 8 {
			// Part of a pointer is no pointer, and as a number it would show an address.
			if src.typ != scalar {
				k.refuse(refusal.InvalidSizeRegisterFill)
			}
			if !k.r.static {
				k.liveness.readSlot(f, spi)
			}
			if dst < 0 {
				return
			}
			r := k.reg(dst)
			// The low bytes of a number have ranges that follow from the whole.
			if k.fillFits(off, size, width) {
				if size == 4 && width == 4 && src.Width() <= 32 {
					src = k.identifySlot(f, spi)
				}
				r.copyFrom(src)
				// The load cut something off.
				if r.Width() > 8*size {
					r.clearID()
				}
			} else {
				bytes()
				spills, zeros := 0, 0
				for i := 0; i < size; i++ {
					switch s.t[(slotOff-i)%8] {
					case slotSpill:
						spills++
					case slotZero:
						zeros++
					}
				}
				switch {
				case spills == size && src.Var.Equals(0) && k.has(since.ZeroFills):
					// Bytes of a zero are zeros.
					k.filledZero(r)
				case zeros == size && k.has(since.ZeroFills):
					k.filledZero(r)
					history = false
				default:
					r.unknown()
					history = false
				}
			}
			r.wrote()
		} else if dst >= 0 {
			r := k.reg(dst)
			r.copyFrom(k.identifySlot(f, spi))
			r.wrote()
		}
		if !k.r.static {
			k.liveness.readSlot(f, spi)
		}
	} else {
		bytes()
		if !k.r.static {
			k.liveness.readSlot(f, spi)
		}
		if dst >= 0 {
			k.readStackBytes(f, off, off+size, dst)
		}
		history = false
	}
	if history && k.has(since.PreciseSpills) {
		k.precision.pushHistory(k.cur, histStack, spi, f.no, nil)
	}
}

// identifySlot gives a spilled number an identity before it is filled, and returns it.
func (k *stack) identifySlot(f *frame, spi int) *reg {
	r := &f.stack[spi].reg
	if r.typ != scalar || !k.has(since.FillIDs) || r.id != 0 && r.id&addConst == 0 || r.id == 0 && r.Var.IsConst() {
		return r
	}
	r = &f.own(spi).reg
	k.values.identify(r)
	return r
}

func b2u(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// isSpilled reports whether the slot holds a register. Releases before 5.16 only track whole
// registers.
func (k *stack) isSpilled(s *slot) bool {
	if k.r.subreg {
		return s.t[7] == slotSpill
	}
	return s.t[0] == slotSpill
}

// fillFits reports whether a load gives the low bytes of a spilled register, whose ranges it keeps.
func (k *stack) fillFits(off, size, width int) bool {
	if !k.r.subreg {
		return false
	}
	// Older releases recognise only a load of exactly what was spilled.
	if !k.has(since.NarrowFills) {
		return off%8 == 0 && width == size
	}
	if k.big() { // the low bytes come last (bpf_stack_narrow_access_ok)
		off -= width - size
	}
	return size <= width && off%8 == 0
}

// accessStack loads or stores through a stack pointer (check_stack_read, check_stack_write).
func (k *stack) accessStack(ptr, off, size int, t accessType, value, insn int) {
	r := k.reg(ptr)
	k.stackBounds(ptr, off, size, accessDirect, t)
	f := k.funcOf(r)
	if r.Var.IsConst() {
		off += int(int64(r.Var.Value))
		if t == read {
			k.readStack(f, off, size, value)
		} else {
			k.writeStack(f, off, size, value, insn)
		}
		return
	}
	if t == write {
		k.writeStackVar(f, ptr, off, size, value, insn)
		return
	}
	// The memory of a helper is checked where it is passed.
	if value < 0 {
		rest, bits := k.values.apart(r, off)
		k.refuse(refusal.VariableOffsetStackPointerCannotPassed, bits, rest, size)
	}
	// Each of the places must be readable, as any of them may be read.
	k.stackInit(ptr, off, size, false, accessDirect, read, nil)
	lo, hi := int(r.SMin)+off, int(r.SMax)+off
	k.readStackBytes(f, lo, hi+size, value)
	k.fastcallContract(f, k.insn, lo)
}

// accessSource is who accesses memory: an instruction, or a helper that is passed its address (enum
// bpf_access_src). Helpers do not know of fields that need rules of their own.
type accessSource uint8

const (
	accessDirect accessSource = iota
	accessHelper
)

// stackBounds checks that an access stays within the stack, and grows the stack to that depth
// (check_stack_access_within_bounds, grow_stack_state).
func (k *stack) stackBounds(ptr, off, size int, src accessSource, t accessType) {
	r := k.reg(ptr)
	f := k.funcOf(r)
	what := " write to"
	if src == accessHelper && !k.has(since.HelperStackWords) {
		what = " indirect access to"
	} else if t == read {
		what = " read from"
	}
	var lo, hi int64
	if r.Var.IsConst() {
		lo = int64(r.Var.Value) + int64(off)
		hi = lo + int64(size)
	} else {
		// Sums with such an offset would overflow.
		if r.SMax >= maxVarOff || r.SMin <= -maxVarOff {
			k.refuse(refusal.InvalidUnboundedVariableOffsetStackR, what, ptr)
		}
		// All places from the least to the greatest offset must be in the frame.
		lo, hi = r.SMin+int64(off), r.SMax+int64(off)+int64(size)
	}
	// Older releases refuse reads below what was written, as nothing is there.
	least := int64(-maxStack)
	if t == read && !k.r.uninitGrows {
		least = -int64(len(f.stack) * 8)
	}
	errno := uapi.Errno(0)
	if lo < least || lo > -1 {
		errno = uapi.EACCES
	} else if hi > 0 {
		errno = uapi.EINVAL
		if !k.has(since.StackAboveErrno) {
			errno = uapi.EACCES
		}
	} else if size < 0 {
		errno = uapi.EFAULT
	}
	if errno != 0 {
		if r.Var.IsConst() {
			k.refuseAs(errno, refusal.InvalidStackROffSize, what, ptr, off+k.constOffIn(r), size)
		}
		rest, bits := k.values.apart(r, off)
		if k.has(since.VariableOffsetWords) {
			k.refuseAs(errno, refusal.InvalidVariableOffsetStackRVar, what, ptr, bits, rest, size)
		}
		k.refuseAs(errno, refusal.InvalidVariableOffsetStackRVarSize, what, ptr, bits, size)
	}
	if k.r.uninitGrows || t == write && src != accessHelper {
		k.pool.growStack(f, int(-lo))
	}
}

// constOffIn: from 7.0 on pointers have no constant part of their offset, so messages contain the
// sum.
func (k *stack) constOffIn(r *reg) int {
	if k.has(since.OffsetInBounds) {
		return int(int64(r.Var.Value))
	}
	return 0
}
