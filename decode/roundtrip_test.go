package decode

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// variants are encodings of op with edge operands: the fields it uses take extremes, in all pairs.
func variants(op Op) [][]Insn {
	f := op.Info().Fields()
	regs := func(used Field) []uint8 {
		if f&used == 0 {
			return []uint8{0}
		}
		return []uint8{0, 1, 9, 10}
	}
	offs, imms := []int16{0}, []int32{0}
	if f&FieldOff != 0 {
		offs = []int16{0, 1, -1, 8, math.MaxInt16, math.MinInt16}
	}
	if f&FieldImm != 0 {
		imms = []int32{0, 1, -1, 65536, math.MaxInt32, math.MinInt32}
	}
	var out [][]Insn
	for _, d := range regs(FieldDst) {
		for _, s := range regs(FieldSrc) {
			for _, off := range offs {
				for _, imm := range imms {
					in := op.Encode(d, s, off, imm)
					if op.Info().Form != FormImm64 {
						out = append(out, []Insn{in})
						continue
					}
					for _, hi := range []int32{0, 1, -1, math.MaxInt32, math.MinInt32} {
						out = append(out, []Insn{in, {Imm: hi}})
					}
				}
			}
		}
	}
	return out
}

func TestRoundTripEveryOp(t *testing.T) {
	for op := OpInvalid + 1; op < NumOps; op++ {
		t.Run(op.String(), func(t *testing.T) {
			for _, insns := range variants(op) {
				require.Equal(t, op, insns[0].Op(), "%+v", insns)
				require.Zero(t, insns[0].Reserved())
				text := Disassemble(insns, 0, nil)
				require.NotContains(t, text, ".insn", "%+v", insns)
				got, err := Assemble(text)
				require.NoError(t, err, text)
				require.Equal(t, insns, got, text)
				for _, bo := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
					back, err := Unmarshal(Marshal(insns, bo), bo)
					require.NoError(t, err)
					require.Equal(t, insns, back)
				}
			}
		})
	}
}

func TestByteOrder(t *testing.T) {
	in := []Insn{{Code: 0x7b, Dst: 10, Src: 1, Off: -8, Imm: 0x01020304}}
	assert.Equal(t, []byte{0x7b, 0x1a, 0xf8, 0xff, 4, 3, 2, 1}, Marshal(in, binary.LittleEndian))
	assert.Equal(t, []byte{0x7b, 0xa1, 0xff, 0xf8, 1, 2, 3, 4}, Marshal(in, binary.BigEndian))
	_, err := Unmarshal(make([]byte, 9), binary.LittleEndian)
	assert.ErrorIs(t, err, ErrTruncated)
}

func FuzzRoundTrip(f *testing.F) {
	for op := OpInvalid + 1; op < NumOps; op++ {
		f.Add(Marshal(variants(op)[0], binary.LittleEndian))
	}
	f.Add([]byte{0x18, 0x01, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0})
	f.Add([]byte{0x18, 0x01, 0, 0, 1, 0, 0, 0})
	f.Add([]byte{0x07, 0xff, 3, 0, 1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		insns, err := Unmarshal(b[:len(b)/8*8], binary.LittleEndian)
		require.NoError(t, err)
		require.Equal(t, b[:len(b)/8*8], Marshal(insns, binary.LittleEndian))
		text := DisassembleAll(insns, nil)
		got, err := Assemble(text)
		require.NoError(t, err, text)
		if len(insns) > 0 {
			require.Equal(t, insns, got, text)
		}
		_ = Check(insns, CheckConfig{})
		_ = Check(insns, CheckConfig{Lenient: true, Kernel: KernelVersion(5, 10, 0)})
	})
}

// FuzzAssemble requires that the assembler survives any text, and that what it takes disassembles
// and assembles again.
func FuzzAssemble(f *testing.F) {
	for _, s := range []string{"r1 = *(u32 *)(r2 + 0)", "l: if w1 s> -5 goto l", "call kfunc x#5, 3", "r0 = *(u8 *)skb[r1]", ".insn 0xff, 15, 15, -1, -1", "r1 = func(a); a: exit",
		"3: (b7) r1 = 0x5", "r1 = ", "r1 = (", "lock *(", "r0 = cmpxchg_64(", "if r1", "-", ":", "r1 = - ", "store_release((u8", "call -", "r1 ="} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		insns, err := Assemble(text)
		if err != nil {
			require.ErrorIs(t, err, ErrSyntax)
			return
		}
		again, err := Assemble(DisassembleAll(insns, nil))
		require.NoError(t, err)
		require.Equal(t, insns, again)
	})
}
