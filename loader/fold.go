package loader

import (
	"encoding/binary"
	"math/bits"

	"golang.org/x/exp/constraints"

	"github.com/bpfrun/bpfrun/decode"
)

// alu computes an ALU instruction on what is known. Registers that hold addresses
// stay addresses when a constant is added.
func (lp *LinkedProgram) alu(in decode.Insn, s *state) value {
	wide := in.Code&7 == classALU64
	op := in.Code & 0xf0
	dst := s.get(in.Dst)
	src := known(uint64(int64(in.Imm)))
	if in.Code&srcReg != 0 && op != 0xd0 {
		src = s.get(in.Src)
	}
	switch op {
	case 0x80: // neg
		src = known(0)
	case 0xd0: // byte swaps
		if dst.kind != constant {
			return value{}
		}
		return known(swap(in, dst.n, lp.linked.Object.ByteOrder == binary.BigEndian))
	case 0xb0: // mov
		return move(in, src, wide)
	}
	if in.Code&srcReg != 0 && in.Src == in.Dst && (op == 0x10 || op == 0xa0) { // r - r, r ^ r
		return known(0)
	}
	if dst.kind != constant || src.kind != constant {
		return address(op, wide, dst, src)
	}
	n, ok := fold(op, in.Off == 1, wide, dst.n, src.n)
	if !ok {
		return value{}
	}
	return known(n)
}

// address computes sums of an address and a constant.
func address(op uint8, wide bool, dst, src value) value {
	if op == 0x50 && (dst == known(0) || src == known(0)) { // x & 0
		return known(0)
	}
	if !wide {
		return value{}
	}
	if op == 0x00 && dst.kind == constant && (src.kind == frozen || src.kind == nonZero) {
		dst, src = src, dst
	}
	if src.kind != constant {
		return value{}
	}
	switch {
	case dst.kind == frozen && op == 0x00:
		return value{kind: frozen, m: dst.m, n: dst.n + src.n}
	case dst.kind == frozen && op == 0x10:
		return value{kind: frozen, m: dst.m, n: dst.n - src.n}
	}
	return value{}
}

// move is mov, its sign-extending forms, and addr_space_cast (off 1).
func move(in decode.Insn, src value, wide bool) value {
	reg := in.Code&srcReg != 0
	if reg && in.Off != 0 && in.Off != 8 && in.Off != 16 && in.Off != 32 {
		return value{}
	}
	if src.kind != constant {
		if wide && in.Off == 0 {
			return src
		}
		return value{}
	}
	n := src.n
	if reg && in.Off != 0 {
		shift := 64 - uint(in.Off)
		n = uint64(int64(n<<shift) >> shift)
	}
	if !wide {
		n = uint64(uint32(n))
	}
	return known(n)
}

// fold computes a binary operation (RFC 9669 section 4.1) on 64 or the low 32 bits. signed selects
// sdiv and smod.
func fold(op uint8, signed, wide bool, a, b uint64) (uint64, bool) {
	if wide {
		return arithmetic[uint64, int64](op, signed, a, b)
	}
	r, ok := arithmetic[uint32, int32](op, signed, uint32(a), uint32(b))
	return uint64(r), ok
}

// arithmetic is fold for one width; S is the signed type of U's width.
func arithmetic[U constraints.Unsigned, S constraints.Signed](op uint8, signed bool, a, b U) (U, bool) {
	shift := b & U(bits.Len64(uint64(^U(0)))-1)
	switch op {
	case 0x00:
		return a + b, true
	case 0x10:
		return a - b, true
	case 0x20:
		return a * b, true
	case 0x30:
		switch {
		case b == 0:
			return 0, true
		case signed:
			return U(S(a) / S(b)), true // Go defines the smallest number by -1 as itself
		}
		return a / b, true
	case 0x90:
		switch {
		case b == 0:
			return a, true
		case signed:
			return U(S(a) % S(b)), true
		}
		return a % b, true
	case 0x40:
		return a | b, true
	case 0x50:
		return a & b, true
	case 0x60:
		return a << shift, true
	case 0x70:
		return a >> shift, true
	case 0x80:
		return -a, true
	case 0xa0:
		return a ^ b, true
	case 0xc0:
		return U(S(a) >> shift), true
	}
	return 0, false
}

// swap is the byte swap instructions; big is the byte order of the program.
func swap(in decode.Insn, n uint64, big bool) uint64 {
	toBig := in.Code&srcReg != 0
	swapped := in.Code&7 == classALU64 || toBig != big
	switch in.Imm {
	case 16:
		if swapped {
			return uint64(bits.ReverseBytes16(uint16(n)))
		}
		return uint64(uint16(n))
	case 32:
		if swapped {
			return uint64(bits.ReverseBytes32(uint32(n)))
		}
		return uint64(uint32(n))
	}
	if swapped {
		return bits.ReverseBytes64(n)
	}
	return n
}

// decide returns the edges of a conditional jump that are possible.
func decide(in decode.Insn, s *state) uint8 {
	op := in.Code & 0xf0
	const both = edgeNext | edgeJump
	if op == opMay {
		return both
	}
	narrow := in.Code&7 == classJMP32
	a, b := s.get(in.Dst), known(uint64(int64(in.Imm)))
	if in.Code&srcReg != 0 {
		b = s.get(in.Src)
	}
	var yes, ok bool
	switch {
	case a.kind == constant && b.kind == constant:
		yes, ok = compare(op, narrow, a.n, b.n)
	case !narrow && a.notZero() && b == known(0):
		yes, ok = compare(op, false, 1, 0)
		ok = ok && (op == 0x10 || op == 0x50 || op == 0x20 || op == 0x30 || op == 0xa0 || op == 0xb0)
	case !narrow && b.notZero() && a == known(0) && (op == 0x10 || op == 0x50):
		yes, ok = op == 0x50, true
	}
	switch {
	case !ok:
		return both
	case yes:
		return edgeJump
	}
	return edgeNext
}

// compare evaluates a comparison (RFC 9669 section 4.3).
func compare(op uint8, narrow bool, a, b uint64) (yes, ok bool) {
	sa, sb := int64(a), int64(b)
	if narrow {
		a, b = uint64(uint32(a)), uint64(uint32(b))
		sa, sb = int64(int32(a)), int64(int32(b))
	}
	switch op {
	case 0x10:
		return a == b, true
	case 0x20:
		return a > b, true
	case 0x30:
		return a >= b, true
	case 0x40:
		return a&b != 0, true
	case 0x50:
		return a != b, true
	case 0x60:
		return sa > sb, true
	case 0x70:
		return sa >= sb, true
	case 0xa0:
		return a < b, true
	case 0xb0:
		return a <= b, true
	case 0xc0:
		return sa < sb, true
	case 0xd0:
		return sa <= sb, true
	}
	return false, false
}

// refine notes what a comparison with a constant tells about the register on one
// of its edges.
func refine(in decode.Insn, s *state, jumped bool) {
	op := in.Code & 0xf0
	if in.Code&7 != classJMP || in.Code&srcReg != 0 || op != 0x10 && op != 0x50 || s.get(in.Dst).kind == constant {
		return
	}
	switch equal := (op == 0x10) == jumped; {
	case equal && s.get(in.Dst).kind == anything:
		s.set(in.Dst, known(uint64(int64(in.Imm))))
	case !equal && in.Imm == 0 && s.get(in.Dst).kind == anything:
		s.set(in.Dst, value{kind: nonZero})
	}
}
