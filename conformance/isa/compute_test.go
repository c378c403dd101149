package isa

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/conformance/isa/reference"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/vm"
)

// TestConstants: what decode computes with constants is what the interpreter and the reference
// execute, for every instruction that computes or compares, and the edges of operands.
func TestConstants(t *testing.T) {
	m, err := mem.New(mem.Config{Size: 1 << 20})
	require.NoError(t, err)
	defer m.Close()
	thread := vm.NewThread(m, vm.ThreadConfig{})
	edges := []uint64{
		0, 1, 2, 7, 31, 32, 33, 63, 64, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, math.MaxInt32, 1 << 31, math.MaxUint32, 1 << 32, math.MaxInt64, 1 << 63, math.MaxUint64,
		^uint64(15), 0x8000_0000_8000_0000, 0x0123_4567_89ab_cdef,
	}
	computed, compared := 0, 0
	for op := decode.OpInvalid + 1; op < decode.NumOps; op++ {
		info := op.Info()
		_, computes := op.Compute(1, 1)
		_, compares := op.Holds(1, 1)
		switch info.Form {
		case decode.FormALUImm, decode.FormALUReg, decode.FormNeg, decode.FormMovSX, decode.FormEnd:
			require.True(t, computes, op)
			computed++
		case decode.FormJumpImm, decode.FormJumpReg:
			require.True(t, compares, op)
			compared++
		default:
			require.False(t, computes || compares, op)
			continue
		}
		for _, a := range edges {
			for _, b := range edges {
				in := op.Encode(1, 2, 0, int32(b))
				operand := b
				switch info.Form {
				case decode.FormALUImm, decode.FormJumpImm:
					operand = uint64(int64(in.Imm))
				}
				load := func(r uint8, v uint64) []decode.Insn {
					return []decode.Insn{decode.OpLdImm64.Encode(r, 0, 0, int32(v)), {Imm: int32(v >> 32)}}
				}
				program := []decode.Insn{in, decode.OpMov64Reg.Encode(0, 1, 0, 0), {Code: 0x95}}
				if compares {
					in.Off = 2 // r0 tells whether it is taken
					program = []decode.Insn{
						in, decode.OpMov64Imm.Encode(0, 0, 0, 0), {Code: 0x95}, decode.OpMov64Imm.Encode(0, 0, 0, 1), {Code: 0x95},
					}
				}
				want, ok := op.Compute(a, operand)
				if compares {
					taken, yes := op.Holds(a, operand)
					if ok = yes; taken {
						want = 1
					}
				}
				require.True(t, ok)

				program = slices.Concat(load(1, a), load(2, b), program)
				img, err := vm.Lower(vm.LowerConfig{Insns: program})
				require.NoError(t, err)
				thread.Start(img)
				thread.Run(10)
				require.Equal(t, thread.Reg(0), want, "%s with %#x and %#x: the interpreter", op, a, b)

				ref := reference.Machine{Limit: 100, Insns: program}
				got, fault := ref.Run()
				require.Nil(t, fault)
				require.Equal(t, got, want, "%s with %#x and %#x: the reference", op, a, b)
			}
		}
	}
	require.Equal(t, 14*4+5+2+9, computed)
	require.Equal(t, 11*4, compared)
}

// TestOtherByteOrder: programs of big-endian objects change the byte order where those of
// little-endian ones cut, and the reverse.
func TestOtherByteOrder(t *testing.T) {
	for _, tt := range []struct {
		op   decode.Op
		want uint64
	}{
		{decode.OpLE16, 0xefcd}, {decode.OpLE32, 0xefcdab89}, {decode.OpLE64, 0xefcdab8967452301},
		{decode.OpBE16, 0xcdef}, {decode.OpBE32, 0x89abcdef}, {decode.OpBE64, 0x0123456789abcdef},
		{decode.OpBswap16, 0xefcd}, {decode.OpBswap32, 0xefcdab89}, {decode.OpBswap64, 0xefcdab8967452301},
	} {
		got, ok := tt.op.OtherByteOrder().Compute(0x0123456789abcdef, 0)
		require.True(t, ok)
		require.Equal(t, tt.want, got, tt.op)
	}
	require.Equal(t, decode.OpAdd64Imm, decode.OpAdd64Imm.OtherByteOrder())
}
