package verifier

import (
	"math"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/verifier/num"
	"github.com/bpfrun/bpfrun/verifier/since"
)

func constOf(v int64) num.Tnum { return num.Const(uint64(v)) }

// alu judges arithmetic (check_alu_op).
func (e *env) alu(in *decode.Insn) {
	op := opOf(in)
	alu64 := class(in) == clsALU64
	switch {
	case op == opNeg || op == opEnd:
		e.aluUnary(in, op, alu64)
	case op == opMov:
		e.mov(in, alu64)
	case op > opEnd:
		e.refuse(uapi.EINVAL, "invalid BPF_ALU opcode %x", op)
	default:
		e.aluBinary(in, op, alu64)
	}
	e.sane(e.reg(int(in.Dst)))
}

func (e *env) aluUnary(in *decode.Insn, op uint8, alu64 bool) {
	if op == opNeg {
		if isX(in) || in.Src != 0 || in.Off != 0 || in.Imm != 0 {
			e.refuse(uapi.EINVAL, "BPF_NEG uses reserved fields")
		}
	} else if in.Src != 0 || in.Off != 0 || in.Imm != 16 && in.Imm != 32 && in.Imm != 64 || alu64 && (isX(in) || !e.has(since.CPUv4)) {
		e.refuse(uapi.EINVAL, "BPF_END uses reserved fields")
	}
	e.checkSrc(in.Dst)
	r := e.reg(int(in.Dst))
	if r.typ == scalar && (op == opNeg && e.rules.Neg || op == opEnd && e.rules.Bswap) {
		e.checkDst(in.Dst, false)
		if op == opNeg {
			r.Negate(e.rules)
			if !alu64 {
				r.Zext()
			}
		} else {
			e.bswap(in, r, alu64)
		}
		r.Sync(e.rules)
		r.clearID()
		return
	}
	e.checkDst(in.Dst, true)
}

// bswap keeps the bits that are known; ranges follow from them.
func (e *env) bswap(in *decode.Insn, r *reg, alu64 bool) {
	swap := alu64 || isX(in) // to big endian on a little endian machine
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

func (e *env) mov(in *decode.Insn, alu64 bool) {
	cast := false
	if isX(in) {
		switch {
		case !alu64:
			if in.Imm != 0 || in.Off != 0 && (in.Off != 8 && in.Off != 16 || !e.has(since.CPUv4)) {
				e.refuse(uapi.EINVAL, "BPF_MOV uses reserved fields")
			}
		case in.Off == 1 && e.rel >= since.R(6, 9):
			cast = true
			if in.Imm != 1 && in.Imm != 1<<16 {
				e.refuse(uapi.EINVAL, "addr_space_cast insn can only convert between address space 1 and 0")
			}
			if e.arena == nil {
				e.refuse(uapi.EINVAL, "addr_space_cast insn can only be used in a program that has an associated arena")
			}
		default:
			if in.Imm != 0 || in.Off != 0 && (in.Off != 8 && in.Off != 16 && in.Off != 32 || !e.has(since.CPUv4)) {
				e.refuse(uapi.EINVAL, "BPF_MOV uses reserved fields")
			}
		}
		e.checkSrc(in.Src)
	} else if in.Src != 0 || in.Off != 0 {
		e.refuse(uapi.EINVAL, "BPF_MOV uses reserved fields")
	}
	e.checkDst(in.Dst, false)
	d := e.reg(int(in.Dst))
	if !isX(in) {
		d.unknown()
		if alu64 {
			d.constant(uint64(int64(in.Imm)))
		} else {
			d.constant(uint64(uint32(in.Imm)))
		}
		return
	}
	s := e.reg(int(in.Src))
	size := int(in.Off) / 8
	switch {
	case cast:
		d.unknown()
		if in.Imm == 1 {
			d.typ = ptrArena
		}
	case alu64 && size == 0:
		e.identify(s)
		d.copyFrom(s)
		d.wrote()
	case alu64:
		if s.typ != scalar {
			d.unknown()
			return
		}
		e.copyExtended(d, s, size)
		d.SignExtend(size)
	default:
		if s.typ != scalar {
			d.unknown()
		} else if size == 0 {
			narrow := s.Width() <= 32
			if narrow {
				e.identify(s)
			}
			d.copyFrom(s)
			if !narrow {
				d.clearID()
			}
			d.wrote()
		} else {
			e.copyExtended(d, s, size)
			d.SignExtend32(size)
		}
		d.Zext()
		d.Sync(e.rules)
	}
}

// copyExtended copies a scalar whose low bytes will be sign-extended: it stays the same number when its sign bit is not set.
func (e *env) copyExtended(d, s *reg, size int) {
	same := s.UMax < uint64(1)<<(8*size-1)
	if same {
		e.identify(s)
	}
	d.copyFrom(s)
	if !same {
		d.clearID()
	}
	d.wrote()
}

func (e *env) aluBinary(in *decode.Insn, op uint8, alu64 bool) {
	signed := in.Off == 1 && (op == opDiv || op == opMod) && e.has(since.CPUv4)
	if isX(in) {
		if in.Imm != 0 || in.Off != 0 && !signed {
			e.refuse(uapi.EINVAL, "BPF_ALU uses reserved fields")
		}
		e.checkSrc(in.Src)
	} else if in.Src != 0 || in.Off != 0 && !signed {
		e.refuse(uapi.EINVAL, "BPF_ALU uses reserved fields")
	}
	e.checkSrc(in.Dst)
	if (op == opDiv || op == opMod) && !isX(in) && in.Imm == 0 {
		e.refuse(uapi.EINVAL, "div by zero")
	}
	if (op == opLsh || op == opRsh || op == opArsh) && !isX(in) {
		size := int32(32)
		if alu64 {
			size = 64
		}
		if in.Imm < 0 || in.Imm >= size {
			e.refuse(uapi.EINVAL, "invalid shift %d", in.Imm)
		}
	}
	e.checkDst(in.Dst, false)
	d := e.reg(int(in.Dst))
	var imm reg
	s := &imm
	if isX(in) {
		s = e.reg(int(in.Src))
	} else {
		imm.constant(uint64(int64(in.Imm)))
	}
	if d.typ == ptrArena || isX(in) && s.typ == ptrArena {
		if d.typ != ptrArena {
			*d = *s
		}
		return
	}
	switch {
	case d.typ != scalar && s.typ != scalar:
		if op == opSub {
			d.unknown()
			return
		}
		e.refuse(uapi.EACCES, "R%d pointer %s pointer prohibited", in.Dst, aluSign[op>>4])
	case s.typ != scalar:
		e.precise(int(in.Dst))
		off := *d
		e.pointerMath(in, s, &off)
		return
	case d.typ != scalar:
		if isX(in) {
			e.precise(int(in.Src))
		}
		off := *s
		e.pointerMath(in, d, &off)
		return
	case isX(in) && d.precise:
		e.precise(int(in.Src))
	}
	src := *s
	e.scalarMath(in, d, &src, op, alu64, signed)
	e.linkSum(in, d, &src, op, alu64)
}

var aluSign = [16]string{"+=", "-=", "*=", "/=", "|=", "&=", "<<=", ">>=", "neg", "%=", "^=", "=", "s>>=", "endian", "", ""}

// linkSum: a scalar plus a constant stays related to what it was.
func (e *env) linkSum(in *decode.Insn, d, s *reg, op uint8, alu64 bool) {
	if !e.r.linked || d.id == 0 || !(op == opAdd || op == opSub && e.r.linkedNeg) || !s.isConst() || isX(in) && in.Src == in.Dst || !alu64 && !e.r.linkedNeg {
		d.clearID()
		return
	}
	if e.r.linkedNeg {
		v := int64(s.Var.Value)
		if !alu64 {
			v = int64(int32(v))
		}
		if op == opSub {
			v = -v
		}
		if d.id&addConst != 0 || v > math.MaxInt32 || v < math.MinInt32 {
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

// computable tells whether ranges of a result can be told.
func (e *env) computable(op uint8, s *reg, alu64, signed bool) bool {
	switch op {
	case opAdd, opSub, opAnd, opXor, opOr, opMul:
		return true
	case opLsh, opRsh, opArsh:
		width := uint64(32)
		known := s.Var.Sub32IsConst() && s.SMin32 == s.SMax32 && s.UMin32 == s.UMax32
		if alu64 {
			width = 64
			known = s.Var.IsConst() && s.SMin == s.SMax && s.UMin == s.UMax
		}
		return known && s.UMax < width
	case opDiv, opMod:
		if !e.rules.Div {
			return false
		}
		if alu64 {
			return s.Var.IsConst() && s.SMin == s.SMax && s.UMin == s.UMax
		}
		return s.Var.Sub32IsConst() && s.SMin32 == s.SMax32 && s.UMin32 == s.UMax32
	}
	return false
}

// scalarMath computes a result of two numbers (adjust_scalar_min_max_vals).
func (e *env) scalarMath(in *decode.Insn, d, s *reg, op uint8, alu64, signed bool) {
	if e.rules.Deduce == num.DeduceSign && (brokenConst(s, alu64)) || !e.computable(op, s, alu64, signed) {
		parent, live := d.parent, d.live
		d.unknown()
		d.parent, d.live = parent, live
		return
	}
	b, c := &d.Bounds, &s.Bounds
	switch op {
	case opAdd:
		b.Add(c, e.rules)
	case opSub:
		b.Sub(c, e.rules)
	case opMul:
		b.Mul(c, e.rules)
	case opAnd:
		e.forkSigns(in, d, s)
		b.And(c, e.rules)
	case opOr:
		e.forkSigns(in, d, s)
		b.Or(c, e.rules)
	case opXor:
		b.Xor(c, e.rules)
	case opDiv:
		b.Div(c, !alu64, signed)
	case opMod:
		b.Mod(c, !alu64, signed)
	case opLsh:
		if alu64 {
			b.Lsh(c, e.rules)
		} else {
			b.Lsh32(c)
		}
	case opRsh:
		if alu64 {
			b.Rsh(c)
		} else {
			b.Rsh32(c)
		}
	case opArsh:
		if alu64 {
			b.Arsh(c)
		} else {
			b.Arsh32(c)
		}
	}
	if !alu64 {
		b.Zext()
	}
	b.Sync(e.rules)
}

// brokenConst: older releases refuse to compute with a constant whose ranges say otherwise.
func brokenConst(s *reg, alu64 bool) bool {
	if alu64 {
		known := s.Var.IsConst()
		return known && (s.SMin != s.SMax || s.UMin != s.UMax) || s.SMin > s.SMax || s.UMin > s.UMax
	}
	known := s.Var.Sub32IsConst()
	return known && (s.SMin32 != s.SMax32 || s.UMin32 != s.UMax32) || s.SMin32 > s.SMax32 || s.UMin32 > s.UMax32
}

// forkSigns explores -1 and 0 apart where an operation with a constant would make the range of both useless.
func (e *env) forkSigns(in *decode.Insn, d, s *reg) {
	if !e.r.fork || !s.Var.IsConst() {
		return
	}
	w32 := false
	switch {
	case d.SMin == -1 && d.SMax == 0:
	case d.SMin32 == -1 && d.SMax32 == 0:
		w32 = true
	default:
		return
	}
	b := e.push(e.insn, e.insn)
	o := &b.regs()[in.Dst]
	if w32 {
		o.Set32(0)
		d.Set32(math.MaxUint32)
	} else {
		o.known(0)
		d.known(math.MaxUint64)
	}
}

// saneOffset demands that a pointer and what is added to it do not overflow.
func (e *env) saneOffset(r *reg, t regType) {
	v := int64(r.Var.Value)
	switch {
	case r.Var.IsConst() && (v >= maxVarOff || v <= -maxVarOff):
		e.refuse(uapi.EINVAL, "math between %s pointer and %d is not allowed", e.typeName(t), v)
	case r.off >= maxVarOff || r.off <= -maxVarOff:
		if r.typ != scalar {
			e.refuse(uapi.EINVAL, "%s pointer offset %d is not allowed", e.typeName(t), r.off)
		}
	case r.SMin == math.MinInt64:
		e.refuse(uapi.EINVAL, "math between %s pointer and register with unbounded min value is not allowed", e.typeName(t))
	case r.SMin >= maxVarOff || r.SMin <= -maxVarOff:
		e.refuse(uapi.EINVAL, "value %d makes %s pointer be out of bounds", r.SMin, e.typeName(t))
	}
}

// pointerMath adds a number to a pointer or subtracts it (adjust_ptr_min_max_vals).
func (e *env) pointerMath(in *decode.Insn, p, off *reg) {
	d := e.reg(int(in.Dst))
	known := off.Var.IsConst()
	if known && (off.SMin != off.SMax || off.UMin != off.UMax) || off.SMin > off.SMax || off.UMin > off.UMax {
		d.unknown()
		return
	}
	op := opOf(in)
	if class(in) != clsALU64 {
		if op == opSub {
			d.unknown()
			return
		}
		e.refuse(uapi.EACCES, "R%d 32-bit pointer arithmetic prohibited", in.Dst)
	}
	t := p.typ
	if t.mayBeNull() {
		e.refuse(uapi.EACCES, "R%d pointer arithmetic on %s prohibited, null-check it first", in.Dst, e.typeName(t))
	}
	if t.base() == ptrMem && t&ptrUntrusted != 0 && d == p && e.rel >= since.R(6, 17) {
		return
	}
	e.movable(in, p, known && off.SMin == 0 && op == opAdd, known)
	ptr := *p
	isDst := d == p
	if !isDst {
		parent, live := d.parent, d.live
		*d = ptr
		if e.rel >= since.R(6, 15) || true {
			d.parent, d.live = parent, live
		}
	}
	e.saneOffset(off, t)
	e.saneOffset(&ptr, t)
	d.Forget32()
	switch op {
	case opAdd:
		if sum := int64(ptr.off) + off.SMin; known && sum == int64(int32(sum)) {
			d.Bounds = ptr.Bounds
			d.Forget32()
			d.off = int32(sum)
			break
		}
		e.addOffset(d, &ptr, off)
		if t.isPacket() {
			d.id = e.newID()
			d.rng = 0
		}
	case opSub:
		if !isDst {
			e.refuse(uapi.EACCES, "R%d tried to subtract pointer from scalar", in.Dst)
		}
		if t == ptrStack {
			e.refuse(uapi.EACCES, "R%d subtraction from stack pointer prohibited", in.Dst)
		}
		if dif := int64(ptr.off) - off.SMin; known && dif == int64(int32(dif)) {
			d.Bounds = ptr.Bounds
			d.Forget32()
			d.off = int32(dif)
			break
		}
		e.subOffset(d, &ptr, off)
		if t.isPacket() {
			d.id = e.newID()
			if off.SMin < 0 {
				d.rng = 0
			}
		}
	case opAnd, opOr, opXor:
		e.refuse(uapi.EACCES, "R%d bitwise operator %s on pointer prohibited", in.Dst, aluSign[op>>4])
	default:
		e.refuse(uapi.EACCES, "R%d pointer arithmetic with %s operator prohibited", in.Dst, aluSign[op>>4])
	}
	e.saneOffset(d, t)
	d.Sync(e.rules)
}

// movable demands a pointer that arithmetic is allowed on.
func (e *env) movable(in *decode.Insn, p *reg, addsZero, known bool) {
	switch p.typ.base() {
	case ptrCtx, ptrMapValue, ptrMapKey, ptrStack, ptrPacketMeta, ptrPacket, ptrTPBuffer, ptrBTF, ptrMem, ptrBuf, ptrFunc, constDynptr, ptrPercpuBTF:
		return
	case ptrFlowKeys:
		if known {
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
	e.refuse(uapi.EACCES, "R%d pointer arithmetic on %s prohibited", in.Dst, e.typeName(p.typ))
}

func (e *env) addOffset(d, p, off *reg) {
	b := p.Bounds
	b.Add(&off.Bounds, num.Rules{})
	d.SMin, d.SMax, d.UMin, d.UMax, d.Var = b.SMin, b.SMax, b.UMin, b.UMax, b.Var
	d.off = p.off
}

func (e *env) subOffset(d, p, off *reg) {
	b := p.Bounds
	b.Sub(&off.Bounds, num.Rules{})
	d.SMin, d.SMax, d.UMin, d.UMax, d.Var = b.SMin, b.SMax, b.UMin, b.UMax, b.Var
	d.off = p.off
}
