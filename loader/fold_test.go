package loader

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/conformance/isa/reference"
	"github.com/bpfrun/bpfrun/decode"
)

// TestFoldedValuesAreThoseOfExecution: constant propagation decides branches as an execution does,
// for every operation, both widths, and the edges of their operands. What it folds otherwise makes
// instructions dead that are executed.
func TestFoldedValuesAreThoseOfExecution(t *testing.T) {
	edges := []uint64{0, 1, 2, 7, 31, 32, 33, 63, 64, 0x7f, 0x80, 0xff, math.MaxInt32, 1 << 31, math.MaxUint32, 1 << 32, math.MaxInt64, 1 << 63, math.MaxUint64, ^uint64(15), 0x8000_0000_8000_0000}
	lp := func(insns []decode.Insn) *LinkedProgram {
		return &LinkedProgram{Program: &Program{}, Insns: insns, linked: &Linked{Object: &Object{ByteOrder: binary.LittleEndian}}}
	}
	folded := 0
	for _, op := range strings.Fields("+= -= *= /= %= s/= s%= |= &= ^= <<= >>= s>>=") {
		for _, reg := range []string{"r", "w"} {
			for _, a := range edges {
				for _, b := range edges {
					text := fmt.Sprintf("r1 = %#x ll; r2 = %#x ll; %s1 %s %s2", a, b, reg, op, reg)
					insns, err := decode.Assemble(text + "; r0 = r1; exit")
					require.NoError(t, err, text)
					ran := reference.Machine{Insns: insns, Limit: 100}
					want, fault := ran.Run()
					require.Nil(t, fault, text)
					insns, err = decode.Assemble(fmt.Sprintf("%s; r3 = %#x ll; if r1 == r3 goto +1; r0 = 1; r0 = 2; exit", text, want))
					require.NoError(t, err, text)
					reach := lp(insns).Reachable()
					taken, other := len(insns)-2, len(insns)-3
					if !reach[taken] {
						t.Fatalf("%s gives %#x: folded to something else", text, want)
					}
					if !reach[other] {
						folded++
					}
				}
			}
		}
	}
	assert.Equal(t, 13*2*len(edges)*len(edges), folded, "everything constant is folded")
}

// TestDecidedBranchesAreThoseOfExecution: a branch whose operands are known, or known not to be 0,
// loses no edge that an execution takes, and one with constants keeps no other.
func TestDecidedBranchesAreThoseOfExecution(t *testing.T) {
	numbers := []uint64{0, 1, 2, math.MaxInt32, 1 << 31, math.MaxUint32, 1 << 32, math.MaxInt64, 1 << 63, math.MaxUint64}
	decided := 0
	for op := decode.OpInvalid + 1; op < decode.NumOps; op++ {
		form := op.Info().Form
		if form != decode.FormJumpImm && form != decode.FormJumpReg {
			continue
		}
		for _, a := range numbers {
			for _, b := range numbers {
				in := op.Encode(1, 2, 1, int32(b))
				if form == decode.FormJumpImm {
					b = uint64(int64(in.Imm))
				}
				taken, ok := op.Holds(a, b)
				require.True(t, ok)
				want := edgeNext
				if taken {
					want = edgeJump
				}
				assert.Equal(t, want, decide(in, &state{1: known(a), 2: known(b)}), "%s %#x %#x", op, a, b)
				unknown := []state{{2: known(b)}, {1: known(a)}}
				if a != 0 {
					unknown = append(unknown, state{1: value{kind: nonZero}, 2: known(b)})
				}
				if b != 0 {
					unknown = append(unknown, state{1: known(a), 2: value{kind: nonZero}})
				}
				for _, s := range unknown {
					edges := decide(in, &s)
					assert.NotZero(t, edges&want, "%s %#x %#x with %v", op, a, b, s)
					if edges != edgeNext|edgeJump {
						decided++
					}
				}
			}
		}
	}
	assert.Greater(t, decided, 400, "numbers other than 0 decide something")
}

// TestFoldedByteOrder: conversions are those of the object's byte order.
func TestFoldedByteOrder(t *testing.T) {
	const n = 0x0123456789abcdef
	for _, tt := range []struct {
		op          decode.Op
		little, big uint64
	}{
		{decode.OpLE16, 0xcdef, 0xefcd},
		{decode.OpBE16, 0xefcd, 0xcdef},
		{decode.OpBswap16, 0xefcd, 0xefcd},
		{decode.OpLE64, n, 0xefcdab8967452301},
		{decode.OpBE64, 0xefcdab8967452301, n},
		{decode.OpBswap64, 0xefcdab8967452301, 0xefcdab8967452301},
	} {
		for bo, want := range map[binary.ByteOrder]uint64{binary.LittleEndian: tt.little, binary.BigEndian: tt.big} {
			lp := &LinkedProgram{linked: &Linked{Object: &Object{ByteOrder: bo}}}
			assert.Equal(t, known(want), lp.alu(tt.op.Encode(1, 0, 0, 0), &state{1: known(n)}), "%s %s", tt.op, bo)
		}
	}
}

// TestFoldedAddresses: what is known of addresses into frozen maps, and of registers that hold the
// same.
func TestFoldedAddresses(t *testing.T) {
	lp := &LinkedProgram{linked: &Linked{Object: &Object{ByteOrder: binary.LittleEndian}}}
	data := func(n uint64) value { return value{kind: frozen, m: 3, n: n} }
	nothing := value{}
	for _, tt := range []struct {
		op       decode.Op
		dst, src value
		want     value
	}{
		{decode.OpAdd64Reg, data(8), known(4), data(12)},
		{decode.OpAdd64Reg, known(4), data(8), data(12)},
		{decode.OpSub64Reg, data(8), known(4), data(4)},
		{decode.OpSub64Reg, known(8), data(4), nothing},
		{decode.OpAdd32Reg, data(8), known(4), nothing},
		{decode.OpMul64Reg, data(8), known(1), nothing},
		{decode.OpMov64Reg, nothing, data(8), data(8)},
		{decode.OpMov32Reg, nothing, data(8), nothing},
		{decode.OpAnd64Reg, nothing, known(0), known(0)},
		{decode.OpAnd32Reg, known(0), nothing, known(0)},
		{decode.OpOr64Reg, nothing, known(0), nothing},
		{decode.OpMovSX8To64, nothing, known(0x80), known(^uint64(0x7f))},
		{decode.OpAddrSpaceCast, nothing, known(8), nothing},
	} {
		assert.Equal(t, tt.want, lp.alu(tt.op.Encode(1, 2, 0, 1), &state{1: tt.dst, 2: tt.src}), "%s %v %v", tt.op, tt.dst, tt.src)
	}
	for _, op := range []decode.Op{decode.OpSub64Reg, decode.OpXor64Reg, decode.OpSub32Reg, decode.OpXor32Reg} {
		assert.Equal(t, known(0), lp.alu(op.Encode(1, 1, 0, 0), &state{}), "%s of one register", op)
	}
}
