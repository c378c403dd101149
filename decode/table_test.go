package decode

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestTableComplete requires a whole row for every op, and that rows agree with what follows from
// their opcode byte.
func TestTableComplete(t *testing.T) {
	names := map[string]bool{}
	for op := OpInvalid + 1; op < NumOps; op++ {
		info := op.Info()
		assert.Equal(t, op, info.Op)
		assert.NotEmpty(t, info.Name)
		assert.False(t, names[info.Name], info.Name)
		names[info.Name] = true
		got, ok := ParseOp(info.Name)
		assert.True(t, ok)
		assert.Equal(t, op, got)
		assert.NotEqual(t, FormInvalid, info.Form, info.Name)
		assert.NotEmpty(t, info.Text+info.Form.sizeless(), info.Name)
		assert.Contains(t, []uint8{32, 64}, info.Width, info.Name)
		assert.NotZero(t, info.Since, info.Name)
		assert.True(t, info.ISA >= 1 && info.ISA <= 4, info.Name)
		assert.Zero(t, info.Fields()&info.Sub.field(), "%s: a field selects and is an operand", info.Name)
		mem := info.Flags&(FlagLoad|FlagStore) != 0
		assert.Equal(t, mem, info.Size != 0, info.Name)
		class := info.Class()
		switch {
		case mem && info.Flags&FlagPacket == 0:
			sizes := map[uint8]uint8{0x00: 4, 0x08: 2, 0x10: 1, 0x18: 8}
			assert.Equal(t, sizes[info.Code&0x18], info.Size, info.Name)
			assert.Equal(t, info.Flags&FlagAtomic != 0, info.Code&0xe0 == 0xc0, info.Name)
		case class == ClassALU || class == ClassJMP32 && info.Form != FormGotoL:
			if info.Form != FormEnd {
				assert.EqualValues(t, 32, info.Width, info.Name)
			}
		}
		f := info.Fields()
		assert.Equal(t, info.Reads&RegSrc != 0 || info.Writes&RegSrc != 0, f&FieldSrc != 0, info.Name)
		assert.Equal(t, info.Reads&RegDst != 0 || info.Writes&RegDst != 0, f&FieldDst != 0, info.Name)
		if info.Group == GroupNone {
			assert.Equal(t, OpCallX, op)
		}
		assert.NotEqual(t, "", info.Group.String()+map[bool]string{true: "none"}[op == OpCallX])
	}
	assert.Equal(t, FormInvalid, OpInvalid.Info().Form)
	assert.Equal(t, FormInvalid, Op(255).Info().Form)
	assert.Equal(t, "invalid", OpInvalid.String())
}

// sizeless lets the one form whose text is empty pass: ld_imm64 is known by its suffix.
func (f Form) sizeless() string {
	if f == FormImm64 {
		return "ll"
	}
	return ""
}

// TestOpTotal decodes every opcode byte with every selecting field and requires that rows claim
// what they decode to.
func TestOpTotal(t *testing.T) {
	defined := map[uint8]bool{}
	for code := 0; code < 256; code++ {
		for sel := -2; sel < 600; sel++ {
			in := Insn{Code: uint8(code), Off: int16(sel), Imm: int32(sel), Src: uint8(sel) & 15}
			op := in.Op()
			if op == OpInvalid {
				continue
			}
			defined[in.Code] = true
			info := op.Info()
			assert.Equal(t, in.Code, info.Code)
			switch info.Sub {
			case SubOff:
				assert.EqualValues(t, info.SubValue, in.Off)
			case SubImm:
				assert.EqualValues(t, info.SubValue, in.Imm)
			case SubSrc:
				assert.EqualValues(t, info.SubValue, in.Src)
			}
		}
	}
	assert.Len(t, defined, 130)
}

func TestKernelVersionText(t *testing.T) {
	assert.Equal(t, "6.18", KernelVersion(6, 18, 44).String())
	assert.Equal(t, v6_6, KernelVersion(6, 6, 0))
	assert.Greater(t, KernelVersion(5, 10, 300), KernelVersion(5, 10, 254))
}

func BenchmarkOp(b *testing.B) {
	insns := make([]Insn, 0, NumOps)
	for op := OpInvalid + 1; op < NumOps; op++ {
		insns = append(insns, op.Encode(1, 2, 0, 1))
	}
	n := 0
	for i := 0; i < b.N; i++ {
		if insns[i%len(insns)].Op() == OpInvalid {
			n++
		}
	}
	if n != 0 {
		b.Fatal(n)
	}
}

func BenchmarkCheck(b *testing.B) {
	insns := make([]Insn, 0, 100001)
	for i := 0; i < 100000; i++ {
		insns = append(insns, OpAdd64Reg.Encode(1, 2, 0, 0))
	}
	insns = append(insns, OpExit.Encode(0, 0, 0, 0))
	b.ReportAllocs()
	for i := 0; i < b.N; i++ {
		if err := Check(insns, CheckConfig{}); err != nil {
			b.Fatal(err)
		}
	}
}

// TestInstructionsBegin lists the instructions that Linux 3.18 lacks by the release that brought
// them to kernel/bpf/core.c or, for those that only the verifier rewrites, to verifier.c.
func TestInstructionsBegin(t *testing.T) {
	begin := map[Version]*regexp.Regexp{
		4<<16 | 14<<8: regexp.MustCompile(`^js?l[te]64_(imm|reg)$`),
		4<<16 | 16<<8: regexp.MustCompile(`^call_local$`),
		5<<16 | 0<<8:  regexp.MustCompile(`^arsh32_(imm|reg)$`),
		5<<16 | 1<<8:  regexp.MustCompile(`^j(s?[gl][te]|eq|ne|set)32_(imm|reg)$`),
		5<<16 | 2<<8:  regexp.MustCompile(`^ld_map_value$`),
		5<<16 | 10<<8: regexp.MustCompile(`^ld_btf_id$`),
		5<<16 | 12<<8: regexp.MustCompile(`^(atomic_(or|and|xor|fetch_(add|or|and|xor))|xchg|cmpxchg)_(w|dw)$`),
		5<<16 | 13<<8: regexp.MustCompile(`^(call_kfunc|ld_func)$`),
		5<<16 | 14<<8: regexp.MustCompile(`^ld_map_idx(_value)?$`),
		6<<16 | 6<<8:  regexp.MustCompile(`^(bswap(16|32|64)|ja32|ldx_s[bhw]|movsx(8|16)_(32|64)|movsx32_64|s(div|mod)(32|64)_(imm|reg))$`),
		6<<16 | 9<<8:  regexp.MustCompile(`^(addr_space_cast|may_goto)$`),
		6<<16 | 15<<8: regexp.MustCompile(`^(load_acq|store_rel)_(b|h|w|dw)$`),
		6<<16 | 19<<8: regexp.MustCompile(`^gotox$`),
	}
	for op := OpInvalid + 1; op < NumOps; op++ {
		want := Version(3<<16 | 18<<8)
		if op == OpCallX {
			want = never
		}
		for v, names := range begin {
			if names.MatchString(op.String()) {
				want = v
			}
		}
		assert.Equal(t, want, op.Info().Since, op.String())
	}
}
