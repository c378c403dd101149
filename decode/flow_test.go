package decode

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Jumps and calls may lead anywhere: what is outside of the program is in no list, and its ends are.
func TestFlowAtTheEnds(t *testing.T) {
	jump := func(off int16) Insn { return OpJa.Encode(0, 0, off, 0) }
	call := func(imm int32) Insn { return OpCallLocal.Encode(0, 0, 0, imm) }
	exit := OpExit.Encode(0, 0, 0, 0)
	for _, c := range []struct {
		name      string
		insns     []Insn
		extra     []int
		starts    []int
		reachable []bool
		successor []int // of the first
	}{
		{"to itself", []Insn{jump(-1), exit}, nil, []int{0}, []bool{true, false}, []int{0}},
		{"before the first", []Insn{jump(-2), exit}, nil, []int{0}, []bool{true, false}, []int{-1}},
		{"to the last", []Insn{jump(0), exit}, nil, []int{0}, []bool{true, true}, []int{1}},
		{"behind the last", []Insn{jump(1), exit}, nil, []int{0}, []bool{true, false}, []int{2}},
		{"the first is called", []Insn{call(-1), exit}, nil, []int{0}, []bool{true, true}, []int{1}},
		{"before the first is called", []Insn{call(-2), exit}, nil, []int{0}, []bool{true, true}, []int{1}},
		{"the last is called", []Insn{call(1), exit, exit}, nil, []int{0, 2}, []bool{true, true, true}, []int{1}},
		{"behind the last is called", []Insn{call(2), exit, exit}, nil, []int{0}, []bool{true, true, false}, []int{1}},
		{"extra ones", []Insn{exit, exit, exit}, []int{-1, 2, 3}, []int{0, 2}, []bool{true, false, true}, nil},
		{"falls off", []Insn{call(-1)}, nil, []int{0}, []bool{true}, []int{1}},
		{"exit", []Insn{exit}, nil, []int{0}, []bool{true}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.starts, Subprograms(c.insns, c.extra...))
			assert.Equal(t, c.reachable, Reachable(c.insns, c.extra...))
			assert.Equal(t, c.successor, Successors(nil, c.insns, 0))
		})
	}
	starts := []int{0, 3, 5}
	for pc, want := range map[int]int{0: 0, 2: 0, 3: 1, 4: 1, 5: 2, 9: 2} {
		assert.Equal(t, want, SubprogramAt(starts, pc), pc)
	}
}

// TestWhatTextCannotSay: instructions with fields that their text has no place for are written as
// numbers, and LD_IMM64 without a plain second slot is one of them.
func TestWhatTextCannotSay(t *testing.T) {
	for op := OpInvalid + 1; op < NumOps; op++ {
		insns := []Insn{plain(op), {Imm: math.MaxInt32}}
		length := 1
		if insns[0].IsLdImm64() {
			length = 2
		}
		assert.Equal(t, length, TextLen(insns, 0), op)
		text := Disassemble(insns, 0, nil)
		for _, r := range []struct {
			used  bool
			field func(in *Insn)
		}{
			{op.Info().Fields()&FieldDst != 0, func(in *Insn) { in.Dst = NumRegs }},
			{op.Info().Fields()&FieldSrc != 0, func(in *Insn) { in.Src = NumRegs }},
		} {
			if r.used {
				changed := []Insn{insns[0], insns[1]}
				r.field(&changed[0])
				assert.False(t, writable(changed, 0, changed[0].Info()), op)
				assert.NotEqual(t, text, Disassemble(changed, 0, nil), op)
				assert.Equal(t, 1, TextLen(changed, 0), op)
			}
		}
		if length == 1 {
			continue
		}
		for _, second := range []Insn{{Code: 1}, {Dst: 1}, {Src: 1}, {Off: 1}} {
			assert.Equal(t, 1, TextLen([]Insn{insns[0], second}, 0), "%s %+v", op, second)
		}
		assert.Equal(t, 1, TextLen(insns[:1], 0), op)
	}
}

// TestStackOfFramePointerAlone: the deepest direct access of the slots asked for.
func TestStackOfFramePointerAlone(t *testing.T) {
	insns := []Insn{
		OpStxDW.Encode(10, 1, -8, 0), OpLdxW.Encode(1, 10, -24, 0), OpStW.Encode(2, 0, -64, 0),
		OpStB.Encode(10, 0, -40, 1), OpMov64Imm.Encode(10, 0, 0, 1), OpExit.Encode(0, 0, 0, 0),
	}
	for end, want := range map[int]int{0: 0, 1: 8, 2: 24, 3: 24, 4: 40, 6: 40, 9: 40} {
		assert.Equal(t, want, StackDepth(insns, 0, end), end)
	}
	assert.Equal(t, 40, StackDepth(insns, 2, 6))
	assert.Zero(t, StackDepth(insns, 4, 6))
}

func TestBytesOfNames(t *testing.T) {
	for c := range 256 {
		letter := strings.ContainsRune("_.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", rune(c))
		digit := strings.ContainsRune("0123456789", rune(c))
		assert.Equal(t, letter, isIdentByte(byte(c), true), "%q", c)
		assert.Equal(t, letter || digit, isIdentByte(byte(c), false), "%q", c)
	}
	for text, want := range map[string]bool{"": false, "r": false, "r0": true, "w9": true, "r10": true, "w10": true, "r11": false, "r00": false, "r010": false, "r100": false, "x1": false, "rx": false} {
		_, _, ok := isReg(text)
		assert.Equal(t, want, ok, text)
	}
	for text, want := range map[string]bool{"": false, "b": false, "b7": true, "B7": false, "b77": false, "g7": false} {
		assert.Equal(t, want, isOpcodeByte(text), text)
	}
	assert.ErrorContains(t, expected("a number", token{}), "at the end")
	assert.ErrorContains(t, expected("a number", token{text: "x"}), `found "x"`)
}

// TestNumbersInAssembly: immediates are 32 bits, signed or not, offsets 16 bits.
func TestNumbersInAssembly(t *testing.T) {
	for text, ok := range map[string]bool{
		"r1 = 4294967295": true, "r1 = 4294967296": false, "r1 = -2147483648": true, "r1 = -2147483649": false, "r1 = +5": true, "r1 =": false,
		"r1 += -1": true, "r1 += 1 ll": false, "r1 = 4294967296 ll": true, "w1 = 1 ll": false, "r1 = ll": false,
		"r0 = *(u64 *)(r1 + 32767)": true, "r0 = *(u64 *)(r1 + 32768)": false, "r0 = *(u64 *)(r1 - 32768)": true, "r0 = *(u64 *)(r1 - 32769)": false,
		"r0 = *(u64 *)(r1)": true, "r0 = *(u64 *)(r1 +-8)": true, "r0 = *(u64 *)(r1 --8)": false,
		"r1 = w2": false, "w1 = r2": false, "r11 = 1": false,
		"if r1 == w2 goto +0": false, "if w1 == r2 goto +0": false, "if r1 == r2 goto +0": true, "if w1 == 3 goto -1": true,
	} {
		_, err := Assemble(text)
		assert.Equal(t, ok, err == nil, "%s: %v", text, err)
	}
}
