package verifier

import (
	"math"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/num"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// saneOffset checks that adding to a pointer cannot overflow (check_reg_sane_offset): the sum of
// two such offsets still fits 32 bits, in which accesses are compared.
func (a *values) saneOffset(r *reg, t regType) {
	v := int64(r.Var.Value)
	if a.rules.Arcs && r.typ != scalar {
		a.sanePlace(r, t)
		return
	}
	switch {
	case r.Var.IsConst() && (v >= maxVarOff || v <= -maxVarOff):
		a.refuse(refusal.MathBetweenPointerNotAllowed, a.typeName(t), v)
	case r.off >= maxVarOff || r.off <= -maxVarOff:
		if r.typ != scalar {
			a.refuse(refusal.PointerOffsetNotAllowed, a.typeName(t), r.off)
		}
	case r.SMin == math.MinInt64:
		a.refuse(refusal.MathBetweenPointerRegisterUnboundedMin, a.typeName(t))
	case r.SMin >= maxVarOff || r.SMin <= -maxVarOff:
		a.refuse(refusal.ValueMakesPointerOutBounds, r.SMin, a.typeName(t))
	}
}

// sanePlace is saneOffset for the offset of a pointer, from the release on that has it in one
// range.
func (a *values) sanePlace(r *reg, t regType) {
	at := r.place()
	if v := int64(at.Var.Value); at.Var.IsConst() && (v >= maxVarOff || v <= -maxVarOff) {
		a.refuse(refusal.PointerOffsetNotAllowed, a.typeName(t), v)
	}
	if at.SMin >= maxVarOff || at.SMin <= -maxVarOff {
		a.refuse(refusal.PointerOffsetNotAllowed, a.typeName(t), at.SMin)
	}
}

// nullableMoved reports whether releases before NullableMath added to a pointer of the type that may
// be null: they listed those that they did not.
func nullableMoved(t regType) bool {
	switch t.base() {
	case ptrMem, ptrBuf, ptrBTF:
		return true
	}
	return false
}

// pointerMath adds a number to a pointer or subtracts it (adjust_ptr_min_max_vals).
func (a *values) pointerMath(in *decode.Insn, p, off *reg) {
	d := a.reg(int(in.Dst))
	known := off.Var.IsConst()
	// A contradiction comes from a branch that is never taken.
	if known && (off.SMin != off.SMax || off.UMin != off.UMax) || off.SMin > off.SMax || off.UMin > off.UMax {
		d.unknown()
		return
	}
	op := opOf(in)
	// A 32-bit result is no pointer. Their difference may matter as a number; of a sum nothing can
	// be said that is worth the leak of an address.
	if class(in) != clsALU64 {
		if op == opSub {
			d.unknown()
			return
		}
		a.refuse(refusal.NarrowPointerArithmeticProhibited, in.Dst)
	}
	t := p.typ
	// NULL plus something is no longer NULL, so that the check to come would be passed.
	if t.mayBeNull() && (a.has(since.NullableMath) || !nullableMoved(t)) {
		if t.base() != ptrMapValue && !a.has(since.AllocWords) {
			a.refuse(refusal.PointerArithmeticProhibited, in.Dst, a.typeName(t))
		}
		a.refuse(refusal.PointerArithmeticProhibitedNullCheckFirst, in.Dst, a.typeName(t))
	}
	// It can be read only, with probing, so that no offset is kept. The destination stays as it is,
	// also if the pointer was added to a number: that stays one, with its old value (measured on
	// Linux 6.18).
	if t.base() == ptrMem && t&ptrUntrusted != 0 && a.has(since.UntrustedMath) {
		return
	}
	a.movable(in, p, known && off.SMin == 0 && op == opAdd, known)
	ptr := *p
	isDst := d == p
	if !isDst {
		old := *d
		*d = ptr
		d.parent, d.live = old.parent, old.live
		// A pointer added to a number was not the frame's it pointed into, nor held a reference.
		if !a.has(since.CommutedPointers) {
			d.frame, d.ref = old.frame, old.ref
		}
	}
	a.saneOffset(off, t)
	a.saneOffset(&ptr, t)
	d.Forget32()
	switch op {
	case opAdd:
		// A constant moves the pointer and nothing else: it keeps its id, and what is known to be
		// in the packet counts from the same start.
		if sum := int64(ptr.off) + off.SMin; known && sum == int64(int32(sum)) {
			d.Bounds = ptr.Bounds
			d.Forget32()
			d.off = int32(sum)
			a.endMoves(d)
			break
		}
		a.addOffset(d, &ptr, off)
		// How far the new pointer may be from the packet's start is another unknown, and must be
		// compared with the end by itself.
		if t.isPacket() {
			d.id = a.newID()
			d.rng = 0
		}
	case opSub:
		a.subtract(in, d, &ptr, off, isDst)
	case opAnd, opOr, opXor:
		// Aligning a pointer could move it out of its object, whose start need not be aligned.
		a.refuse(refusal.BitwiseOperatorPointerProhibited, in.Dst, aluSign[op>>4])
	default:
		a.refuse(refusal.PointerArithmeticOperatorProhibited, in.Dst, aluSign[op>>4])
	}
	a.saneOffset(d, t)
	d.Sync(a.rules)
}

// subtract subtracts a number from a pointer. Number minus pointer is nothing; and the stack grows
// downward, so that compilers add to it only.
func (a *values) subtract(in *decode.Insn, d, ptr, off *reg, isDst bool) {
	if !isDst {
		a.refuse(refusal.TriedSubtractPointerScalar, in.Dst)
	}
	if ptr.typ == ptrStack {
		a.refuse(refusal.SubtractionStackPointerProhibited, in.Dst)
	}
	if dif := int64(ptr.off) - off.SMin; off.Var.IsConst() && dif == int64(int32(dif)) {
		d.Bounds = ptr.Bounds
		d.Forget32()
		d.off = int32(dif)
		a.endMoves(d)
		return
	}
	a.subOffset(d, ptr, off)
	if ptr.typ.isPacket() {
		d.id = a.newID()
		// What was in the packet behind the old place need not be behind the new one.
		if off.SMin < 0 {
			d.rng = 0
		}
		a.endMoves(d)
	}
}

// endMoves forgets that a packet pointer is at the packet's end or beyond: it was said of the place
// that it left.
func (a *values) endMoves(d *reg) {
	if d.typ.isPacket() && d.rng < 0 && a.has(since.PacketEndMoves) {
		d.rng = 0
	}
}

// movable checks that arithmetic is allowed on a pointer (adjust_ptr_min_max_vals): some are only
// handed back to the kernel, which takes them for an object's address. Compilers may add 0 to any.
func (a *values) movable(in *decode.Insn, p *reg, addsZero, known bool) {
	switch p.typ.base() {
	case ptrCtx, ptrMapValue, ptrMapKey, ptrStack, ptrPacketMeta, ptrPacket, ptrTPBuffer, ptrBTF, ptrMem, ptrBuf, ptrFunc, constDynptr, ptrPercpuBTF:
		return
	case ptrFlowKeys:
		if known || !a.has(since.FlowKeysMath) {
			return
		}
		if addsZero {
			return
		}
	case constMap:
		if addsZero {
			return
		}
	case ptrInsn:
		return
	case ptrSocket, ptrSockCommon, ptrTCPSock, ptrXDPSock, ptrPacketEnd:
	}
	a.refuse(refusal.PointerArithmeticProhibited, in.Dst, a.typeName(p.typ))
}

func (a *values) addOffset(d, p, off *reg) {
	b := p.Bounds
	b.Add(&off.Bounds, a.pointerRules())
	d.setOffset(p, &b)
}

func (a *values) subOffset(d, p, off *reg) {
	b := p.Bounds
	b.Sub(&off.Bounds, a.pointerRules())
	d.setOffset(p, &b)
}

// pointerRules are the rules for sums with pointers: what releases learned for sums of scalars is
// not for them, but arcs.
func (a *values) pointerRules() num.Rules { return num.Rules{Arcs: a.rules.Arcs} }

// setOffset makes b the variable part of the offset of a pointer; pointers have no 32-bit ranges.
func (r *reg) setOffset(p *reg, b *num.Bounds) {
	r.Bounds, r.off = *b, p.off
	r.Forget32()
}
