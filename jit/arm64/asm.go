package arm64

import (
	"encoding/binary"
	"math/bits"

	"github.com/bpfrun/bpfrun/jit/plan"
)

// reg is a host register by its number in encodings.
type reg uint8

// zr is the register that reads as 0.
const zr reg = 31

// cond is a condition by its number in encodings.
type cond uint8

const (
	condEQ cond = iota
	condNE
	condHS
	condLO
	condMI
	condPL
	condVS
	condVC
	condHI
	condLS
	condGE
	condLT
	condGT
	condLE
)

func (c cond) not() cond { return c ^ 1 }

// The opcodes, in their 64-bit form if there are two.
const (
	opAdd  = 0x8b000000
	opSub  = 0xcb000000
	opSubs = 0xeb000000
	opAnd  = 0x8a000000
	opBic  = 0x8a200000
	opAnds = 0xea000000
	opOrr  = 0xaa000000
	opEor  = 0xca000000

	opAddImm  = 0x91000000
	opAddsImm = 0xb1000000
	opSubImm  = 0xd1000000
	opSubsImm = 0xf1000000
	opAndImm  = 0x92000000
	opAndsImm = 0xf2000000
	opOrrImm  = 0xb2000000
	opEorImm  = 0xd2000000

	opMadd = 0x9b000000
	opMsub = 0x9b008000
	opUdiv = 0x9ac00800
	opSdiv = 0x9ac00c00
	opLslv = 0x9ac02000
	opLsrv = 0x9ac02400
	opAsrv = 0x9ac02800
	opCsel = 0x9a800000
	opUbfm = 0xd3400000
	opSbfm = 0x93400000
	opMovz = 0xd2800000
	opMovn = 0x92800000
	opMovk = 0xf2800000

	opExtr   = 0x93c00000
	opExtr32 = 0x13800000

	opRev   = 0xdac00c00 // 64 bits
	opRev32 = 0x5ac00800 // of a 32-bit register
	opRev16 = 0x5ac00400

	opB     = 0x14000000
	opBL    = 0x94000000
	opBcond = 0x54000000
	opCbz   = 0xb4000000
	opCbnz  = 0xb5000000
	opBr    = 0xd61f0000
	opRet   = 0xd65f03c0
	opAdr   = 0x10000000
)

// access is a load or store in its three forms. The opcodes are for registers of any width.
type access struct {
	scaled, unscaled, indexed uint32
	size                      uint8 // log2 of the bytes
}

// accesses has the loads without and with sign extension, and the stores, by log2 of the size.
var (
	loads = [4]access{
		{0x39400000, 0x38400000, 0x38606800, 0}, {0x79400000, 0x78400000, 0x78606800, 1},
		{0xb9400000, 0xb8400000, 0xb8606800, 2}, {0xf9400000, 0xf8400000, 0xf8606800, 3},
	}
	loadsSigned = [4]access{
		{0x39800000, 0x38800000, 0x38a06800, 0}, {0x79800000, 0x78800000, 0x78a06800, 1},
		{0xb9800000, 0xb8800000, 0xb8a06800, 2}, {0xf9400000, 0xf8400000, 0xf8606800, 3},
	}
	stores = [4]access{
		{0x39000000, 0x38000000, 0x38206800, 0}, {0x79000000, 0x78000000, 0x78206800, 1},
		{0xb9000000, 0xb8000000, 0xb8206800, 2}, {0xf9000000, 0xf8000000, 0xf8206800, 3},
	}
)

// asm encodes instructions. Operand sizes are given by w: 1 for 64 bits, 0 for 32.
type asm struct {
	plan.Buffer
	// far: conditional branches may not reach their targets, so they jump around an unconditional
	// one.
	far bool
	// beyond: a conditional branch did not reach its target.
	beyond bool
}

// pos returns the offset of the next instruction.
func (a *asm) pos() int32 { return int32(a.Len()) }

func (a *asm) word(v uint32) { a.Put32(v) }

// sized clears the bit that selects 64 bits if w is 0.
func sized(w uint8, op uint32) uint32 { return op &^ (uint32(w^1) << 31) }

// rrr is an operation on three registers.
func (a *asm) rrr(w uint8, op uint32, d, n, m reg) {
	a.word(sized(w, op) | uint32(m)<<16 | uint32(n)<<5 | uint32(d))
}

// moveIf is d = n on a condition, else d = m.
func (a *asm) moveIf(cc cond, d, n, m reg) {
	a.word(opCsel | uint32(m)<<16 | uint32(cc)<<12 | uint32(n)<<5 | uint32(d))
}

// multiply is d = x ± n*m.
func (a *asm) multiply(w uint8, op uint32, d, n, m, x reg) {
	a.word(sized(w, op) | uint32(m)<<16 | uint32(x)<<10 | uint32(n)<<5 | uint32(d))
}

func (a *asm) move(d, s reg) { a.rrr(1, opOrr, d, zr, s) }

// move32 zero-extends the lower half.
func (a *asm) move32(d, s reg) { a.rrr(0, opOrr, d, zr, s) }

// cmp sets the flags for n - m.
func (a *asm) cmp(w uint8, n, m reg) { a.rrr(w, opSubs, zr, n, m) }

// arith is d = n + v, where add is an addition with an immediate operand, possibly one that sets
// flags, and sub its inverse. It returns false if v does not fit.
func (a *asm) arith(w uint8, add, sub uint32, d, n reg, v int64) bool {
	op := add
	if v < 0 {
		op, v = sub, -v
	}
	switch {
	case v >= 0 && v < 1<<12:
		a.word(sized(w, op) | uint32(v)<<10 | uint32(n)<<5 | uint32(d))
	case v >= 0 && v < 1<<24 && v&0xfff == 0:
		a.word(sized(w, op) | 1<<22 | uint32(v>>12)<<10 | uint32(n)<<5 | uint32(d))
	default:
		return false
	}
	return true
}

// addImm is d = n + v. scratch is used for values that do not fit and must not be an operand.
func (a *asm) addImm(w uint8, d, n reg, v int64, scratch reg) {
	if !a.arith(w, opAddImm, opSubImm, d, n, v) {
		a.constant(scratch, uint64(v))
		a.rrr(w, opAdd, d, n, scratch)
	}
}

// cmpImm sets the flags for n - v.
func (a *asm) cmpImm(w uint8, n reg, v int64, scratch reg) {
	if !a.arith(w, opSubsImm, opAddsImm, zr, n, v) {
		a.constant(scratch, uint64(v))
		a.cmp(w, n, scratch)
	}
}

// logicImm is a bitwise operation with a constant. imm and op are its opcodes for an immediate and
// for a register.
func (a *asm) logicImm(w uint8, imm, op uint32, d, n reg, v uint64, scratch reg) {
	if w == 0 {
		v = uint64(uint32(v))
	}
	if field, ok := bitmask(w, v); ok {
		a.word(sized(w, imm) | field<<10 | uint32(n)<<5 | uint32(d))
		return
	}
	a.constant(scratch, v)
	a.rrr(w, op, d, n, scratch)
}

// bitmask encodes a constant of bitwise operations: a rotated run of ones, in repeating elements of
// 2 to 64 bits (Arm ARM, DecodeBitMasks). The result has the fields N, immr and imms.
func bitmask(w uint8, v uint64) (uint32, bool) {
	if w == 0 {
		v |= v << 32
	}
	if v == 0 || v == ^uint64(0) {
		return 0, false
	}
	size := uint(64)
	for size > 2 {
		half := size / 2
		if low := uint64(1)<<half - 1; v&low != v>>half&low {
			break
		}
		size = half
	}
	elem := v & (^uint64(0) >> (64 - size))
	// Rotate the run of ones down to bit 0.
	rotation := uint(bits.TrailingZeros64(elem))
	if elem&1 != 0 {
		high := uint(bits.LeadingZeros64(^(elem << (64 - size))))
		if high == size {
			return 0, false
		}
		rotation = (size - high) % size
	}
	run := elem>>rotation | elem<<(size-rotation)&(^uint64(0)>>(64-size))
	if rotation == 0 {
		run = elem
	}
	if run&(run+1) != 0 {
		return 0, false
	}
	ones := uint32(bits.OnesCount64(run))
	immr := uint32((size - rotation) % size)
	imms := uint32(0x3f) << 1 << bits.TrailingZeros(size) & 0x3f
	n := uint32(0)
	if size == 64 {
		n, imms = 1, 0
	}
	return n<<12 | immr<<6 | imms | (ones - 1), true
}

// constant sets a register to a constant.
func (a *asm) constant(d reg, v uint64) {
	zeros, ones := 0, 0
	for i := range 4 {
		switch uint16(v >> (16 * i)) {
		case 0:
			zeros++
		case 0xffff:
			ones++
		}
	}
	if max(zeros, ones) < 3 {
		if field, ok := bitmask(1, v); ok {
			a.word(opOrrImm | field<<10 | uint32(zr)<<5 | uint32(d))
			return
		}
	}
	fill, op := uint16(0), uint32(opMovz)
	if ones > zeros {
		fill, op = 0xffff, opMovn
	}
	first := true
	for i := range uint32(4) {
		h := uint16(v >> (16 * i))
		if h == fill {
			continue
		}
		if !first {
			op = opMovk
		} else if fill != 0 {
			h = ^h
		}
		a.word(op | i<<21 | uint32(h)<<5 | uint32(d))
		first = false
	}
	if first {
		a.word(op | uint32(d))
	}
}

// shift shifts by a constant from 0 to width-1: op is opLslv, opLsrv or opAsrv.
func (a *asm) shift(w uint8, op uint32, d, n reg, by uint32) {
	top := uint32(31) | uint32(w)<<5
	switch op {
	case opLslv:
		a.field(w, opUbfm, d, n, -by&top, top-by)
	case opLsrv:
		a.field(w, opUbfm, d, n, by, top)
	default:
		a.field(w, opSbfm, d, n, by, top)
	}
}

// rotate rotates to the right by a constant.
func (a *asm) rotate(w uint8, d, n reg, by uint32) {
	op := uint32(opExtr)
	if w == 0 {
		op = opExtr32
	}
	a.word(op | uint32(n)<<16 | by<<10 | uint32(n)<<5 | uint32(d))
}

// field is UBFM or SBFM.
func (a *asm) field(w uint8, op uint32, d, n reg, immr, imms uint32) {
	op = sized(w, op)
	if w == 0 {
		op &^= 1 << 22
	}
	a.word(op | immr<<16 | imms<<10 | uint32(n)<<5 | uint32(d))
}

// mem is an access at n + off. scratch is used for offsets that do not fit.
func (a *asm) mem(x access, t, n reg, off int32, scratch reg) {
	switch {
	case off >= 0 && off&(1<<x.size-1) == 0 && off>>x.size < 1<<12:
		a.word(x.scaled | uint32(off>>x.size)<<10 | uint32(n)<<5 | uint32(t))
	case off >= -256 && off < 256:
		a.word(x.unscaled | uint32(off)&0x1ff<<12 | uint32(n)<<5 | uint32(t))
	default:
		a.constant(scratch, uint64(int64(off)))
		a.index(x, t, n, scratch)
	}
}

// index is an access at n + m.
func (a *asm) index(x access, t, n, m reg) {
	a.word(x.indexed | uint32(m)<<16 | uint32(n)<<5 | uint32(t))
}

// Branches return the position at which patch fills in their distance.

func (a *asm) branch(op uint32) int32 {
	pos := a.pos()
	a.word(op)
	return pos
}

// jcc branches on a condition, at any distance.
func (a *asm) jcc(cc cond) int32 {
	if a.far {
		over := a.near(cc.not())
		a.patch(over, over+8)
		return a.branch(opB)
	}
	return a.branch(opBcond | uint32(cc))
}

// near branches on a condition to a position less than 1 MB away.
func (a *asm) near(cc cond) int32 { return a.branch(opBcond | uint32(cc)) }

// ifZero branches, by less than 1 MB, if a register is 0; ifNot if it is not.
func (a *asm) ifZero(w uint8, t reg) int32 { return a.branch(sized(w, opCbz) | uint32(t)) }
func (a *asm) ifNot(w uint8, t reg) int32  { return a.branch(sized(w, opCbnz) | uint32(t)) }

// land directs a branch to the current position.
func (a *asm) land(pos int32) { a.patch(pos, a.pos()) }

// patch fills in the target of a branch or ADR.
func (a *asm) patch(pos, target int32) {
	p := a.Code()[pos:]
	v := binary.LittleEndian.Uint32(p)
	words := (target - pos) / 4
	switch {
	case v&0x7c000000 == opB: // and BL
		v |= uint32(words) & (1<<26 - 1)
	default: // conditional, compare and branch, ADR with whole words
		v |= uint32(words) & (1<<19 - 1) << 5
		a.beyond = a.beyond || words < -1<<18 || words >= 1<<18
	}
	binary.LittleEndian.PutUint32(p, v)
}
