package verifier

import (
	"math"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/num"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

func constOf(v int64) num.Tnum { return num.Const(uint64(v)) }

// alu checks arithmetic (check_alu_op).
func (a *values) alu(in *decode.Insn) {
	op := opOf(in)
	alu64 := class(in) == clsALU64
	a.aluFields(in)
	switch op {
	case opNeg, opEnd:
		a.aluUnary(in, op, alu64)
	case opMov:
		a.mov(in, alu64)
	default:
		a.aluBinary(in, op, alu64)
	}
	// The kernel checks that the bounds of the result do not contradict each other, a fault of its
	// own if they do (reg_bounds_sanity_check).
	a.sane(a.reg(int(in.Dst)))
}

// aluUnary handles negation and byte swaps. The result is an unknown number where the release does
// not compute it, and always for a pointer: that is refused only to programs that must not learn
// addresses (is_pointer_value).
func (a *values) aluUnary(in *decode.Insn, op uint8, alu64 bool) {
	a.checkSrc(in.Dst)
	r := a.reg(int(in.Dst))
	if r.typ == scalar && (op == opNeg && a.rules.Neg || op == opEnd && a.rules.Bswap) {
		a.checkDst(in.Dst, false)
		if op == opNeg {
			r.Negate(a.rules)
			if !alu64 {
				r.Zext()
			}
		} else {
			a.bswap(in, r, alu64)
		}
		r.Sync(a.rules)
		r.clearID()
		return
	}
	a.checkDst(in.Dst, true)
}

// bswap keeps the known bits, moved to their new places; a range says nothing about the bytes in
// another order, so new ones are derived from the bits (scalar_byte_swap).
func (a *values) bswap(in *decode.Insn, r *reg, alu64 bool) {
	swap := alu64 || isX(in) != a.big() // to the byte order that is not the machine's
	size := int(in.Imm) / 8
	t := r.Var
	if swap {
		t = t.Bswap(size)
	} else {
		t = t.Cast(size)
	}
	r.Bounds = num.Unbounded
	r.Var = t
}

// mov copies what is known of the source, as far as the value stays the same; the rest of it is
// dropped with the bits that the move drops (check_alu_op).
func (a *values) mov(in *decode.Insn, alu64 bool) {
	cast := isAddrCast(in) && a.has(since.AddrCast)
	if cast && a.arena == nil {
		a.refuse(refusal.AddrSpaceCastInsnOnlyUsed)
	}
	if isX(in) {
		a.checkSrc(in.Src)
	}
	a.checkDst(in.Dst, false)
	d := a.reg(int(in.Dst))
	if !isX(in) {
		d.unknown()
		if alu64 {
			d.constant(uint64(int64(in.Imm)))
		} else {
			d.constant(uint64(uint32(in.Imm)))
		}
		return
	}
	s := a.reg(int(in.Src))
	size := int(in.Off) / 8
	switch {
	case cast:
		// Programs share arena addresses with user space, so they are plain numbers until they are
		// cast to the kernel's address space (imm 1); only then does the JIT add the arena's base
		// to accesses.
		d.unknown()
		if in.Imm == 1 {
			d.typ = ptrArena
		}
	case alu64 && size == 0:
		// Copies share an id, so that a comparison of one narrows the other too
		// (assign_scalar_id_before_mov, sync_linked_regs).
		a.identify(s)
		d.copyFrom(s)
		d.wrote()
	case alu64:
		if s.typ != scalar {
			d.unknown()
			return
		}
		a.copyExtended(d, s, size)
		d.SignExtend(size)
	default:
		if s.typ != scalar {
			d.unknown()
		} else if size == 0 {
			// A 32-bit move clears the upper half: the copy equals its source only if that half was
			// zero (get_reg_width), else the shared id would narrow the source by tests of
			// something else.
			narrow := s.Width() <= 32 && a.has(since.NarrowCopies)
			if narrow {
				a.identify(s)
			}
			d.copyFrom(s)
			if !narrow {
				d.clearID()
			}
			d.wrote()
		} else {
			a.copyExtended(d, s, size)
			d.SignExtend32(size)
		}
		d.Zext()
		if a.has(since.MovSyncs) {
			d.Sync(a.rules)
		}
	}
}

// copyExtended copies a scalar whose low bytes will be sign-extended: it keeps its identity if its
// sign bit is known to be clear.
func (a *values) copyExtended(d, s *reg, size int) {
	// The sign bit of the narrow type decides: while it is clear, the extension changes nothing.
	same := s.UMax < uint64(1)<<(8*size-1)
	if same {
		a.identify(s)
	}
	d.copyFrom(s)
	if !same {
		d.clearID()
	}
	d.wrote()
}

// aluBinary checks operations with two operands. Faults that are certain are refused here; a zero
// divisor or a large shift count in a register is defined at run time and therefore allowed.
func (a *values) aluBinary(in *decode.Insn, op uint8, alu64 bool) {
	// Division and remainder with a sign have the opcodes of those without; off tells them apart.
	signed := in.Off == 1 && (op == opDiv || op == opMod) && a.has(since.CPUv4)
	if isX(in) {
		a.checkSrc(in.Src)
	}
	a.checkSrc(in.Dst)
	if (op == opDiv || op == opMod) && !isX(in) && in.Imm == 0 {
		a.refuse(refusal.DivZero)
	}
	if (op == opLsh || op == opRsh || op == opArsh) && !isX(in) {
		size := int32(32)
		if alu64 {
			size = 64
		}
		// A count in a register is taken modulo the width instead.
		if in.Imm < 0 || in.Imm >= size {
			a.refuse(refusal.InvalidShift, in.Imm)
		}
	}
	a.checkDst(in.Dst, false)
	d := a.reg(int(in.Dst))
	var imm reg
	s := &imm
	if isX(in) {
		s = a.reg(int(in.Src))
	} else {
		imm.constant(uint64(int64(in.Imm)))
	}
	// Any arithmetic on an arena pointer is allowed, because its accesses are confined to the arena
	// by the JIT, whatever the value is (adjust_reg_min_max_vals).
	if d.typ == ptrArena || isX(in) && s.typ == ptrArena && a.has(since.ArenaSources) {
		if d.typ != ptrArena {
			*d = *s
		}
		return
	}
	switch {
	case d.typ != scalar && s.typ != scalar:
		// Only a difference of pointers is a number that means something. It is unknown, since the
		// verifier does not track distances between objects.
		if op == opSub {
			d.unknown()
			return
		}
		a.refuse(refusal.PointerPointerProhibited, in.Dst, aluSign[op>>4])
	case s.typ != scalar:
		// The number says how far the pointer moves, and what memory it then reaches: two states
		// with different numbers are not alike, so both operand orders make it precise
		// (mark_chain_precision).
		a.precision.precise(int(in.Dst))
		off := *d
		a.pointerMath(in, s, &off)
		return
	case d.typ != scalar:
		if isX(in) {
			a.precision.precise(int(in.Src))
		}
		off := *s
		a.pointerMath(in, d, &off)
		return
	case isX(in) && d.precise && a.has(since.PreciseOperands):
		// What goes into a precise value must be precise as well (adjust_reg_min_max_vals).
		a.precision.precise(int(in.Src))
	}
	src, word := *s, d.UMax <= math.MaxUint32
	a.scalarMath(in, d, &src, op, alu64, signed)
	a.linkSum(in, d, &src, op, alu64, word)
}

var aluSign = [16]string{"+=", "-=", "*=", "/=", "|=", "&=", "<<=", ">>=", "neg", "%=", "^=", "=", "s>>=", "endian", "", ""}

// linkSum keeps a scalar plus a constant linked to the original scalar; word: that one has no more
// than 32 bits, without which 32-bit sums say nothing about it.
func (a *values) linkSum(in *decode.Insn, d, s *reg, op uint8, alu64, word bool) {
	// The register has room for one constant, of 32 bits with sign: a second sum, or a larger
	// constant, ends the link (adjust_reg_min_max_vals). A register added to itself is no sum with
	// a constant.
	if !a.r.linked || d.id == 0 || !(op == opAdd || op == opSub && a.r.linkedNeg) || !s.isConst() || isX(in) && in.Src == in.Dst && a.has(since.SelfSums) || !alu64 && !a.r.linkedNeg {
		d.clearID()
		return
	}
	if isX(in) && in.Src == in.Dst { // what is added was read after it had changed
		s = d
	}
	if a.r.linkedNeg {
		v := int64(s.Var.Value)
		if !alu64 {
			v = int64(int32(v))
		}
		if op == opSub {
			v = -v
		}
		// A 32-bit sum says nothing about the whole of a longer number.
		if d.id&addConst != 0 || v > math.MaxInt32 || v < math.MinInt32 || !alu64 && !word {
			d.clearID()
			return
		}
		if alu64 {
			d.id |= addConst64
		} else {
			d.id |= addConst32
		}
		d.off = int32(v)
		return
	}
	if d.id&addConst != 0 || s.Var.Value > math.MaxInt32 {
		d.clearID()
		return
	}
	d.id |= addConst64
	d.off = int32(s.Var.Value)
}

// computable reports whether the result's range can be computed; otherwise it is unknown
// (is_safe_to_compute_dst_reg_range).
func (a *values) computable(op uint8, s *reg, alu64, signed bool) bool {
	switch op {
	case opAdd, opSub, opAnd:
		return true
	case opXor, opOr, opMul:
		// Older releases compute these with one known operand only (adjust_scalar_min_max_vals).
		return s.IsConst(!alu64) || a.has(since.UnknownOperands)
	case opLsh, opRsh, opArsh:
		// Shifts by the operand's width or more are undefined, and the range of the result follows
		// from a constant count only.
		width := uint64(32)
		known := s.Var.Sub32IsConst() && s.Low.SMin == s.Low.SMax && s.Low.UMin == s.Low.UMax
		if alu64 {
			width = 64
			known = s.Var.IsConst() && s.SMin == s.SMax && s.UMin == s.UMax
		}
		return known && s.UMax < width
	case opDiv, opMod:
		// Quotients are computed for constant divisors only.
		if !a.rules.Div {
			return false
		}
		if alu64 {
			return s.Var.IsConst() && s.SMin == s.SMax && s.UMin == s.UMax
		}
		return s.Var.Sub32IsConst() && s.Low.SMin == s.Low.SMax && s.Low.UMin == s.Low.UMax
	}
	return false
}

// scalarMath computes the result of an operation on two scalars (adjust_scalar_min_max_vals).
func (a *values) scalarMath(in *decode.Insn, d, s *reg, op uint8, alu64, signed bool) {
	// The liveness of the register is the path's, not the value's: it stays when the value is
	// forgotten.
	if a.rules.Deduce == num.DeduceSign && (brokenConst(s, alu64)) || !a.computable(op, s, alu64, signed) {
		parent, live := d.parent, d.live
		d.unknown()
		d.parent, d.live = parent, live
		// Constant operands reached the code that extends 32-bit results even where it computes no
		// range, until is_safe_to_compute_dst_reg_range asked first.
		if !alu64 && !a.has(since.WideQuotients) && s.Var.Sub32IsConst() && !brokenConst(s, false) {
			d.Zext()
			d.Sync(a.rules)
		}
		return
	}
	b, c := &d.Bounds, &s.Bounds
	switch op {
	case opAdd:
		b.Add(c, a.rules)
	case opSub:
		b.Sub(c, a.rules)
	case opMul:
		b.Mul(c, a.rules)
	case opAnd:
		a.forkSigns(in, d, s)
		b.And(c, a.rules)
	case opOr:
		a.forkSigns(in, d, s)
		b.Or(c, a.rules)
	case opXor:
		b.Xor(c, a.rules)
	case opDiv:
		b.Div(c, !alu64, signed, a.rules)
	case opMod:
		b.Mod(c, !alu64, signed, a.rules)
	case opLsh:
		if alu64 {
			b.Lsh(c, a.rules)
		} else {
			b.Lsh32(c, a.rules)
		}
	case opRsh:
		if alu64 {
			b.Rsh(c, a.rules)
		} else {
			b.Rsh32(c, a.rules)
		}
	case opArsh:
		if alu64 {
			b.Arsh(c, a.rules)
		} else {
			b.Arsh32(c, a.rules)
		}
	}
	if !alu64 {
		b.Zext()
	}
	b.Sync(a.rules)
}

// brokenConst reports a constant whose ranges contradict it, which can only come from a branch that
// is never taken. Releases that derive little from such branches forget the result instead of
// computing with it (adjust_scalar_min_max_vals).
func brokenConst(s *reg, alu64 bool) bool {
	if alu64 {
		known := s.Var.IsConst()
		return known && (s.SMin != s.SMax || s.UMin != s.UMax) || s.SMin > s.SMax || s.UMin > s.UMax
	}
	known := s.Var.Sub32IsConst()
	return known && (s.Low.SMin != s.Low.SMax || s.Low.UMin != s.Low.UMax) || s.Low.SMin > s.Low.SMax || s.Low.UMin > s.Low.UMax
}

// forkSigns explores -1 and 0 separately (maybe_fork_scalars). Compilers make such masks by an
// arithmetic shift and combine them with a constant to avoid a branch; the union of both results is
// a range that admits nearly everything between.
func (a *values) forkSigns(in *decode.Insn, d, s *reg) {
	if !a.r.fork || !s.Var.IsConst() {
		return
	}
	w32 := false
	switch {
	case d.SMin == -1 && d.SMax == 0:
	case d.Low.SMin == -1 && d.Low.SMax == 0:
		w32 = true
	default:
		return
	}
	// The queued path has 0, and processes the instruction again.
	b := a.pool.push(a.insn, a.insn)
	o := &b.regs()[in.Dst]
	if w32 {
		o.Set32(0)
		d.Set32(math.MaxUint32)
	} else {
		o.known(0)
		d.known(math.MaxUint64)
	}
}
