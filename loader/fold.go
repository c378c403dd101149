package loader

import (
	"encoding/binary"

	"github.com/bpfrun/bpfrun/decode"
)

// alu computes an ALU instruction on known values. An address plus a constant stays an address.
func (lp *LinkedProgram) alu(in decode.Insn, s *state) value {
	op := in.Op()
	if lp.linked.Object.ByteOrder == binary.BigEndian {
		op = op.OtherByteOrder()
	}
	info := op.Info()
	dst, src := known(0), known(uint64(int64(in.Imm)))
	if info.Reads&decode.RegDst != 0 {
		dst = s.get(in.Dst)
	}
	if info.Reads&decode.RegSrc != 0 {
		src = s.get(in.Src)
	}
	switch op {
	case decode.OpMov64Reg:
		return src
	case decode.OpSub64Reg, decode.OpSub32Reg, decode.OpXor64Reg, decode.OpXor32Reg:
		if in.Src == in.Dst {
			return known(0)
		}
	}
	if dst.kind != constant || src.kind != constant {
		return address(op, dst, src)
	}
	if n, ok := op.Compute(dst.n, src.n); ok {
		return known(n)
	}
	return value{}
}

// address handles operands that are not both constant: an address plus a constant, and x & 0.
func address(op decode.Op, dst, src value) value {
	switch op {
	case decode.OpAnd64Imm, decode.OpAnd64Reg, decode.OpAnd32Imm, decode.OpAnd32Reg:
		if dst == known(0) || src == known(0) {
			return known(0)
		}
	case decode.OpAdd64Imm, decode.OpAdd64Reg, decode.OpSub64Imm, decode.OpSub64Reg:
		if dst.kind == constant && op == decode.OpAdd64Reg {
			dst, src = src, dst
		}
		if dst.kind != frozen || src.kind != constant {
			break
		}
		if n, ok := op.Compute(dst.n, src.n); ok {
			return value{kind: frozen, m: dst.m, n: n}
		}
	}
	return value{}
}

// decide returns the possible edges of a conditional jump.
func decide(in decode.Insn, s *state) uint8 {
	const both = edgeNext | edgeJump
	op := in.Op()
	info := op.Info()
	a, b := s.get(in.Dst), known(uint64(int64(in.Imm)))
	if info.Reads&decode.RegSrc != 0 {
		b = s.get(in.Src)
	}
	var yes, ok bool
	switch {
	case a.kind == constant && b.kind == constant:
		yes, ok = op.Holds(a.n, b.n)
	case info.Width != 64:
	case a.notZero() && b == known(0): // any number but 0 compares with 0 as 1 does, unless signs or bits matter
		yes, ok = op.Holds(1, 0)
		ok = ok && !info.Signed() && info.Text != "&"
	case b.notZero() && a == known(0) && (info.Text == "==" || info.Text == "!="):
		yes, ok = op.Holds(0, 1)
	}
	switch {
	case !ok:
		return both
	case yes:
		return edgeJump
	}
	return edgeNext
}

// refine records what a comparison with a constant implies for the register on one of its edges.
func refine(in decode.Insn, s *state, jumped bool) {
	op := in.Op()
	if op != decode.OpJeq64Imm && op != decode.OpJne64Imm || s.get(in.Dst).kind != anything {
		return
	}
	switch equal := (op == decode.OpJeq64Imm) == jumped; {
	case equal:
		s.set(in.Dst, known(uint64(int64(in.Imm))))
	case in.Imm == 0:
		s.set(in.Dst, value{kind: nonZero})
	}
}
