package verifier

import (
	"math"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/verifier/since"
)

type accessType uint8

const (
	read accessType = iota
	write
)

func spiOf(off int) int { return (-off - 1) / 8 }

// spillable tells which pointers a stack slot can hold.
func spillable(t regType) bool {
	switch t.base() {
	case ptrMapValue, ptrStack, ptrCtx, ptrPacket, ptrPacketMeta, ptrPacketEnd, ptrFlowKeys, constMap, ptrSocket, ptrSockCommon,
		ptrTCPSock, ptrXDPSock, ptrBTF, ptrBuf, ptrMem, ptrFunc, ptrMapKey, ptrArena, ptrPercpuBTF:
		return true
	}
	return false
}

// identify gives a scalar an identity before it is copied.
func (e *env) identify(r *reg) {
	if r.typ != scalar {
		return
	}
	if e.r.linked && r.id&addConst != 0 {
		r.clearID()
	}
	if r.id == 0 && !(e.r.constID && r.Var.IsConst()) {
		r.id = e.newID()
	}
}

// saveReg spills a register.
func (e *env) saveReg(f *frame, spi int, r *reg, size int) {
	s := &f.stack[spi]
	s.reg.copyFrom(r)
	if size == 8 && !e.r.static {
		s.reg.live |= liveWritten
	}
	for i := 8 - size; i < 8; i++ {
		s.t[i] = slotSpill
	}
	for i := 0; i < 8-size; i++ {
		if e.rel >= since.R(6, 8) {
			// What else is in the slot stays zero or unwritten, if it was.
			if s.t[i] != slotZero && !(s.t[i] == slotInvalid && e.rel >= since.R(6, 10)) {
				s.t[i] = slotMisc
			}
		} else if s.t[i] != slotInvalid {
			s.t[i] = slotMisc
		}
	}
}

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

// fastcallContract gives up on spills around calls when something else accesses them.
func (e *env) fastcallContract(f *frame, insn, off int) {
	s := &e.subs[f.sub]
	if !e.has(since.FastCalls) || s.fastcallOff <= off || e.aux[insn].fastcall {
		return
	}
	s.fastcallOff = math.MinInt16
	for i := s.start; i < e.subs[f.sub+1].start; i++ {
		e.aux[i].fastSpills, e.aux[i].fastcall = 0, false
	}
}

func isStoreImm(in *decode.Insn) bool { return class(in) == clsST && mode(in) == modeMEM }

// writeStack stores at a fixed offset of a stack.
func (e *env) writeStack(f *frame, off, size, value, insn int) {
	slotOff := -off - 1
	spi := slotOff / 8
	in := &e.insns[insn]
	var r *reg
	if value >= 0 {
		r = e.reg(value)
	}
	e.destroyDynptr(f, spi)
	e.fastcallContract(f, insn, off)
	e.log.touchSlot(f.no, spi)
	s := &f.stack[spi]
	history := true
	full := size == 8
	aligned := off%8 == 0
	if e.r.static && full && aligned {
		e.wroteSlot(f, spi)
	}
	switch {
	case r != nil && r.typ == scalar && aligned && (e.r.subreg || full):
		if e.rel >= since.R(6, 3) || e.r.subreg && e.rel >= since.R(6, 8) {
			fits := r.Width() <= 8*size
			if fits && e.rel >= since.R(6, 8) {
				e.identify(r)
			}
			e.saveReg(f, spi, r, size)
			if !fits {
				s.reg.id = 0
			}
		} else {
			if off != -regSpillOffsetNone && in.Dst != 10 {
				// Stores through a copy of the frame pointer are not followed back: the value has to be exact.
				e.precise(value)
			}
			e.saveReg(f, spi, r, size)
			if r.Width() > 8*size {
				s.reg.id = 0
			}
		}
	case r == nil && aligned && isStoreImm(in) && e.rel >= since.R(6, 2) && (e.rel >= since.R(6, 8) || in.Imm != 0):
		var c reg
		c.constant(uint64(int64(in.Imm)))
		e.saveReg(f, spi, &c, size)
	case r != nil && spillable(r.typ):
		if !full {
			e.refuse(uapi.EACCES, "invalid size of register spill")
		}
		if f != e.frame() && r.typ == ptrStack {
			e.refuse(uapi.EINVAL, "cannot spill pointers to stack into stack frame of the caller")
		}
		e.saveReg(f, spi, r, size)
	default:
		t := uint8(slotMisc)
		scrub(s)
		if full && !e.r.static {
			s.reg.live |= liveWritten
		}
		if r != nil && r.isNull() || r == nil && isStoreImm(in) && in.Imm == 0 && e.rel >= since.R(6, 2) {
			if r != nil {
				e.precise(value)
			}
			t = slotZero
		}
		for i := 0; i < size; i++ {
			s.t[(slotOff-i)%8] = t
		}
		history = false
	}
	if history && e.has(since.PreciseSpills) {
		e.pushHistory(e.cur, histStack, spi, f.no, nil)
	}
}

const regSpillOffsetNone = 1 << 20

// writeStackVar stores at an offset that is not known.
func (e *env) writeStackVar(f *frame, ptr, off, size, value, insn int) {
	p := e.reg(ptr)
	in := &e.insns[insn]
	lo, hi := int(p.SMin)+off, int(p.SMax)+off+size
	var r *reg
	if value >= 0 {
		r = e.reg(value)
	}
	zero := r != nil && r.isNull() || r == nil && isStoreImm(in) && in.Imm == 0
	used := false
	for i := lo; i < hi; i++ {
		e.destroyDynptr(f, spiOf(i))
	}
	e.fastcallContract(f, insn, lo)
	for i := lo; i < hi; i++ {
		at := -i - 1
		s := &f.stack[at/8]
		e.log.touchSlot(f.no, at/8)
		t := &s.t[at%8]
		if zero && *t == slotSpill && s.isScalarSpill() && s.reg.Var.Equals(0) && e.rel >= since.R(6, 8) {
			used = true
			continue
		}
		scrub(s)
		n := uint8(slotMisc)
		if zero && *t == slotZero {
			n = slotZero
			used = true
		}
		if *t == slotInvalid && !e.r.uninit {
			e.refuse(uapi.EINVAL, "uninit stack in range of var-offset write prohibited for !root; insn %d, off: %d", insn, i)
		}
		*t = n
	}
	if used && r != nil {
		e.precise(value)
	}
}

// readStackBytes makes dst what bytes of a stack from lo to hi may be.
func (e *env) readStackBytes(f *frame, lo, hi, dst int) {
	zeros := 0
	for i := lo; i < hi; i++ {
		at := -i - 1
		e.log.touchSlot(f.no, at/8)
		if f.stack[at/8].t[at%8] != slotZero {
			break
		}
		zeros++
	}
	r := e.reg(dst)
	if zeros == hi-lo {
		r.constant(0)
		r.precise = !e.has(since.PreciseSpills)
	} else {
		r.unknown()
	}
	r.wrote()
}

// readStack loads from a fixed offset of a stack.
func (e *env) readStack(f *frame, off, size, dst int) {
	slotOff := -off - 1
	spi := slotOff / 8
	s := &f.stack[spi]
	src := &s.reg
	history := true
	e.log.touchSlot(f.no, spi)
	e.fastcallContract(e.frame(), e.insn, off)
	if e.r.static {
		e.readSlot(f, spi)
	}
	bytes := func() {
		for i := 0; i < size; i++ {
			switch t := s.t[(slotOff-i)%8]; {
			case t == slotMisc, t == slotZero, t == slotSpill && src.typ == scalar && e.isSpilled(s):
			case (t == slotInvalid || t == slotPoison) && e.r.uninit:
				if t == slotPoison {
					e.refuse(uapi.EACCES, "reading from stack off %d+%d size %d, slot poisoned by dead code elimination", off, i, size)
				}
			default:
				e.refuse(uapi.EACCES, "invalid read from stack off %d+%d size %d", off, i, size)
			}
		}
	}
	if e.isSpilled(s) {
		width := 1
		for i := 7; i > 0 && s.t[i-1] == slotSpill; i-- {
			width++
		}
		if size != 8 || width != 8 {
			if src.typ != scalar {
				e.refuse(uapi.EACCES, "invalid size of register fill")
			}
			if !e.r.static {
				e.readSlot(f, spi)
			}
			if dst < 0 {
				return
			}
			r := e.reg(dst)
			if e.fillFits(off, size, width) {
				r.copyFrom(src)
				if r.Width() > 8*size && e.rel >= since.R(6, 8) {
					r.clearID()
				}
				if e.rel < since.R(6, 8) {
					r.id = r.id * b2u(src.Width() <= 8*size || size == width)
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
				case spills == size && src.Var.Equals(0) && e.rel >= since.R(6, 8):
					r.constant(0)
				case zeros == size && e.rel >= since.R(6, 8):
					r.constant(0)
					history = false
				default:
					r.unknown()
					history = false
				}
			}
			r.wrote()
		} else if dst >= 0 {
			r := e.reg(dst)
			r.copyFrom(src)
			r.wrote()
		}
		if !e.r.static {
			e.readSlot(f, spi)
		}
	} else {
		bytes()
		if !e.r.static {
			e.readSlot(f, spi)
		}
		if dst >= 0 {
			e.readStackBytes(f, off, off+size, dst)
		}
		history = false
	}
	if history && e.has(since.PreciseSpills) {
		e.pushHistory(e.cur, histStack, spi, f.no, nil)
	}
}

func b2u(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// isSpilled: the slot holds a register. Releases before 5.16 know whole registers only.
func (e *env) isSpilled(s *slot) bool {
	if e.r.subreg {
		return s.t[7] == slotSpill
	}
	return s.t[0] == slotSpill
}

func (e *env) fillFits(off, size, width int) bool {
	if !e.r.subreg {
		return false
	}
	if e.rel < since.R(6, 8) {
		return off%8 == 0 && width == size
	}
	return size <= width && off%8 == 0
}

// accessStack loads or stores through a stack pointer.
func (e *env) accessStack(ptr, off, size int, t accessType, value, insn int) {
	r := e.reg(ptr)
	e.stackBounds(ptr, off, size, accessDirect, t)
	f := e.funcOf(r)
	if r.Var.IsConst() {
		off += int(int64(r.Var.Value))
		if t == read {
			e.readStack(f, off, size, value)
		} else {
			e.writeStack(f, off, size, value, insn)
		}
		return
	}
	if t == write {
		e.writeStackVar(f, ptr, off, size, value, insn)
		return
	}
	if value < 0 {
		e.refuse(uapi.EACCES, "variable offset stack pointer cannot be passed into helper function; var_off=%s off=%d size=%d", e.bits(r), off, size)
	}
	e.stackInit(ptr, off, size, false, accessDirect, read, nil)
	lo, hi := int(r.SMin)+off, int(r.SMax)+off
	e.readStackBytes(f, lo, hi+size, value)
	e.fastcallContract(f, e.insn, lo)
}

type accessSource uint8

const (
	accessDirect accessSource = iota
	accessHelper
)

// stackBounds demands that an access stays in the stack, and makes the stack that deep.
func (e *env) stackBounds(ptr, off, size int, src accessSource, t accessType) {
	r := e.reg(ptr)
	f := e.funcOf(r)
	what := " write to"
	if src == accessHelper && e.rel < since.R(6, 15) {
		what = " indirect access to"
	} else if t == read {
		what = " read from"
	}
	var lo, hi int64
	if r.Var.IsConst() {
		lo = int64(r.Var.Value) + int64(off)
		hi = lo + int64(size)
	} else {
		if r.SMax >= maxVarOff || r.SMin <= -maxVarOff {
			e.refuse(uapi.EACCES, "invalid unbounded variable-offset%s stack R%d", what, ptr)
		}
		lo, hi = r.SMin+int64(off), r.SMax+int64(off)+int64(size)
	}
	least := int64(-maxStack)
	if t == read && !e.r.uninitGrows {
		least = -int64(len(f.stack) * 8)
	}
	errno := uapi.Errno(0)
	if lo < least || lo > -1 {
		errno = uapi.EACCES
	} else if hi > 0 {
		errno = uapi.EINVAL
		if e.rel < since.R(6, 3) {
			errno = uapi.EACCES
		}
	} else if size < 0 {
		errno = uapi.EFAULT
	}
	if size == 0 && errno == uapi.EACCES && lo == 0 && e.rel < since.R(6, 8) {
		errno = 0
	}
	if errno != 0 {
		if r.Var.IsConst() {
			e.refuse(errno, "invalid%s stack R%d off=%d size=%d", what, ptr, off+e.constOffIn(r), size)
		}
		e.refuse(errno, "invalid variable-offset%s stack R%d var_off=%s off=%d size=%d", what, ptr, e.bits(r), off, size)
	}
	if e.r.uninitGrows || t == write && src != accessHelper {
		e.growStack(f, int(-lo))
	}
}

// constOffIn: from 7.0 pointers have no fixed part of their offset, so messages name the sum.
func (e *env) constOffIn(r *reg) int {
	if e.rel >= since.R(7, 0) {
		return int(int64(r.Var.Value))
	}
	return 0
}

// stackInit demands that what a helper or a load at an unknown offset reads was written (check_stack_range_initialized).
func (e *env) stackInit(ptr, off, size int, zeroOK bool, src accessSource, t accessType, m *callMeta) {
	r := e.reg(ptr)
	f := e.funcOf(r)
	what := ""
	if src == accessHelper {
		what = " indirect"
		if e.rel >= since.R(6, 15) {
			what = ""
		}
	}
	if size == 0 && !zeroOK {
		e.refuse(uapi.EACCES, "invalid zero-sized read")
	}
	bounds, clobber := read, false
	if src == accessHelper {
		bounds = write
		if e.rel >= since.R(6, 13) {
			bounds, clobber = t, t == write
		} else {
			clobber = true
		}
	}
	e.stackBounds(ptr, off, size, src, bounds)
	var lo, hi int
	if r.Var.IsConst() {
		lo = int(int64(r.Var.Value)) + off
		hi = lo
	} else {
		if m != nil && m.raw {
			m = nil
		}
		lo, hi = int(r.SMin)+off, int(r.SMax)+off
	}
	if m != nil && m.raw {
		for i := lo; i < hi+size; i++ {
			at := -i - 1
			if at >= len(f.stack)*8 {
				continue
			}
			if f.stack[at/8].t[at%8] == slotDynptr {
				e.refuse(uapi.EACCES, "potential write to dynptr at off=%d disallowed", i)
			}
		}
		m.accessSize, m.regno = size, ptr
		return
	}
	for i := lo; i < hi+size; i++ {
		at := -i - 1
		below := at >= len(f.stack)*8
		if below && e.r.uninitGrows {
			e.refuse(uapi.EFAULT, "verifier bug: allocated_stack too small")
		}
		if below {
			e.unreadable(ptr, lo, i, size, what)
		}
		s := &f.stack[at/8]
		b := &s.t[at%8]
		switch {
		case *b == slotMisc:
		case *b == slotZero, (*b == slotInvalid || *b == slotPoison) && e.r.uninit:
			// What BTF says that a function may read it need not read.
			if *b == slotPoison && !clobber && !e.byType {
				e.refuse(uapi.EACCES, "reading from stack R%d off %d+%d size %d, slot poisoned by dead code elimination", ptr, lo, i-lo, size)
			}
			if clobber {
				*b = slotMisc
			}
		case e.isSpilled(s):
			if clobber && !(e.rel < since.R(5, 19) && s.reg.typ == ptrBTF) {
				live, parent := s.reg.live, s.reg.parent
				s.reg.unknown()
				s.reg.live, s.reg.parent = live, parent
				for j := range s.t {
					if s.t[j] != slotInvalid {
						s.t[j] = slotMisc
					}
				}
			}
		default:
			e.unreadable(ptr, lo, i, size, what)
		}
		e.readSlot(f, at/8)
	}
}

// unreadable refuses a read of stack that nobody wrote, at i in a read from lo on.
func (e *env) unreadable(ptr, lo, i, size int, what string) {
	r := e.reg(ptr)
	if r.Var.IsConst() {
		e.refuse(uapi.EACCES, "invalid%s read from stack R%d off %d+%d size %d", what, ptr, lo, i-lo, size)
	}
	e.refuse(uapi.EACCES, "invalid%s read from stack R%d var_off %s+%d size %d", what, ptr, e.bits(r), i-lo, size)
}
