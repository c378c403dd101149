package decode

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// judge checks the fields of an instruction alone.
func judge(in Insn, cfg CheckConfig) error {
	insns := []Insn{in}
	if in.IsLdImm64() {
		insns = append(insns, Insn{})
	}
	c := checker{program: program{insns: insns}, cfg: cfg}
	c.ops = make([]Op, len(insns))
	for i := range insns {
		c.ops[i] = insns[i].Op()
	}
	if err := c.fields(); err != nil {
		return err.Kind
	}
	return nil
}

// plain returns an instruction of an op that the kernel takes.
func plain(op Op) Insn {
	in := op.Encode(0, 0, 0, 1)
	if op.Info().Fields()&FieldImm == 0 {
		in = op.Encode(0, 0, 0, 0)
	}
	return in
}

// TestFieldsOfEveryOp: registers up to r10, which nothing writes, and zero where nothing is read.
func TestFieldsOfEveryOp(t *testing.T) {
	for op := OpInvalid + 1; op < NumOps; op++ {
		info := op.Info()
		used := info.Fields() | info.Sub.field()
		assert.NoError(t, judge(plain(op), CheckConfig{}), info.Name)
		for _, walked := range []bool{false, true} {
			cfg := CheckConfig{Walked: walked}
			register := func(f Field, written bool, in Insn, number uint8) {
				switch {
				case used&f == 0:
					assert.Equal(t, ErrReserved, judge(in, cfg), "%s r%d", info.Name, number)
				case info.Fields()&f == 0: // it selects another instruction
				case number >= NumRegs:
					assert.Equal(t, ErrRegister, judge(in, cfg), "%s r%d", info.Name, number)
				case written && number == FramePointer && !walked:
					assert.Equal(t, ErrFramePointer, judge(in, cfg), "%s r%d", info.Name, number)
				case info.Size == 0 || number != FramePointer || walked:
					assert.NoError(t, judge(in, cfg), "%s r%d", info.Name, number)
				}
			}
			for _, number := range []uint8{1, 9, 10, 11, 15} {
				dst, src := plain(op), plain(op)
				dst.Dst, src.Src = number, number
				register(FieldDst, info.Writes&RegDst != 0, dst, number)
				register(FieldSrc, info.Writes&RegSrc != 0, src, number)
			}
			off, imm := plain(op), plain(op)
			off.Off, imm.Imm = 1, 1
			if used&FieldOff == 0 {
				assert.Equal(t, ErrReserved, judge(off, cfg), "%s with an offset", info.Name)
			}
			if used&FieldImm == 0 {
				assert.Equal(t, ErrReserved, judge(imm, cfg), "%s with an immediate", info.Name)
			}
		}
	}
}

// TestConstantsAtTheirLimits: shifts by less than the width, no division by zero, and the two
// conversions of address spaces.
func TestConstantsAtTheirLimits(t *testing.T) {
	shifts := map[Op]int32{OpLsh64Imm: 64, OpRsh64Imm: 64, OpArsh64Imm: 64, OpLsh32Imm: 32, OpRsh32Imm: 32, OpArsh32Imm: 32}
	divisions := map[Op]bool{OpDiv64Imm: true, OpDiv32Imm: true, OpSDiv64Imm: true, OpSDiv32Imm: true, OpMod64Imm: true, OpMod32Imm: true, OpSMod64Imm: true, OpSMod32Imm: true}
	for op := OpInvalid + 1; op < NumOps; op++ {
		if op.Info().Fields()&FieldImm == 0 || op.Info().Form == FormImm64 {
			continue
		}
		for _, imm := range []int32{-1, 0, 1, 31, 32, 63, 64, 1 << 16, 1<<16 + 1} {
			in := plain(op)
			in.Imm = imm
			var want error
			switch width := shifts[op]; {
			case width != 0 && (imm < 0 || imm >= width):
				want = ErrShift
			case divisions[op] && imm == 0:
				want = ErrDivByZero
			case op == OpAddrSpaceCast && imm != 1 && imm != 1<<16:
				want = ErrAddrSpace
			}
			assert.Equal(t, want, judge(in, CheckConfig{}), "%s %d", op, imm)
			if want == ErrShift || want == ErrDivByZero { // the verifier finds them where it gets
				assert.NoError(t, judge(in, CheckConfig{Walked: true}), "%s %d", op, imm)
			}
			if want == ErrShift {
				assert.NoError(t, judge(in, CheckConfig{Lenient: true}), "%s %d", op, imm)
			}
		}
	}
}

func TestCheckedFunctionsAreAsked(t *testing.T) {
	only := func(id int32) bool { return id == 5 }
	cfg := CheckConfig{Helper: only, Kfunc: func(in Insn) bool { return only(in.Imm) }}
	for _, op := range []Op{OpCallHelper, OpCallKfunc} {
		in := plain(op)
		in.Imm = 5
		assert.NoError(t, judge(in, cfg), op)
		in.Imm = 6
		assert.Equal(t, ErrUnknownFunc, judge(in, cfg), op)
		assert.NoError(t, judge(in, CheckConfig{}), op)
	}
}

// TestInstructionsNeedTheirRelease: each is refused by the release before it, and one that no
// release has is not called newer.
func TestInstructionsNeedTheirRelease(t *testing.T) {
	refusedFor := func(op Op, cfg CheckConfig) error {
		insns := []Insn{plain(op)}
		if insns[0].IsLdImm64() {
			insns = append(insns, Insn{})
		}
		c := checker{program: program{insns: insns}, cfg: cfg}
		if err := c.opcodes(); err != nil {
			return err.Kind
		}
		return nil
	}
	for op := OpInvalid + 1; op < NumOps; op++ {
		since := op.Info().Since
		if since == never {
			assert.Equal(t, ErrOpcode, refusedFor(op, CheckConfig{Kernel: v6_19}), op)
			assert.NoError(t, refusedFor(op, CheckConfig{Kernel: v6_19, Lenient: true}), op)
			continue
		}
		assert.NoError(t, refusedFor(op, CheckConfig{Kernel: since}), op)
		assert.NoError(t, refusedFor(op, CheckConfig{}), op)
		assert.Equal(t, ErrNewerKernel, refusedFor(op, CheckConfig{Kernel: since - 1}), op)
	}
}

// TestSecondSlots: they have an immediate at most, and none where a map is all that is loaded.
func TestSecondSlots(t *testing.T) {
	for op := OpInvalid + 1; op < NumOps; op++ {
		if op.Info().Form != FormImm64 {
			continue
		}
		check := func(second ...Insn) error {
			c := checker{program: program{insns: append([]Insn{plain(op)}, second...)}}
			if err := c.opcodes(); err != nil {
				return err.Kind
			}
			return nil
		}
		assert.NoError(t, check(Insn{}), op)
		for _, second := range [][]Insn{nil, {{Code: 1}}, {{Dst: 1}}, {{Src: 1}}, {{Off: 1}}} {
			assert.Equal(t, ErrLdImm64, check(second...), "%s %v", op, second)
		}
		if op == OpLdMapFD || op == OpLdMapIdx {
			assert.Equal(t, ErrLdImm64, check(Insn{Imm: 1}), op)
		} else {
			assert.NoError(t, check(Insn{Imm: 1}), op)
		}
	}
}

func TestFunctionsAreInTheProgram(t *testing.T) {
	for target, ok := range map[int32]bool{-1: false, 0: true, 3: true, 4: false} {
		for _, insns := range [][]Insn{
			{OpCallLocal.Encode(0, 0, 0, target-1), {Code: 0x95}, {Code: 0x95}, {Code: 0x95}},
			{OpLdFunc.Encode(1, 0, 0, target-1), {}, {Code: 0x95}, {Code: 0x95}},
		} {
			c := checker{program: program{insns: insns}}
			err := c.functions()
			assert.Equal(t, ok, err == nil, "%s to %d", insns[0].Op(), target)
			if err != nil {
				assert.Equal(t, ErrCallTarget, err.Kind)
			}
		}
	}
}
