package decode

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAssembleSpellings: other ways to write an instruction.
func TestAssembleSpellings(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"w1 = *(u32 *)(r2 - 8)", "r1 = *(u32 *)(r2 - 8)"},
		{"r1 = *(u32 *)(r2 +-8)", "r1 = *(u32 *)(r2 - 8)"},
		{"r1 = *(u32 *)(r2)", "r1 = *(u32 *)(r2 + 0)"},
		{"*(u8 *)(r10 -1) = w2", "*(u8 *)(r10 - 1) = r2"},
		{"goto pc+3", "goto +3"},
		{"if r1 s> 0xffffffff goto pc-3", "if r1 s> -1 goto -3"},
		{"r0 = *(u16 *)skb[r1]", "r0 = *(u16 *)skb[r1 + 0]"},
		{"r0 = *(u8 *)skb[r1 - 4]", "r0 = *(u8 *)skb[r1 - 4]"},
		{"r0 = atomic64_cmpxchg((u64 *)(r1 +8), r0, r2)", "r0 = cmpxchg_64(r1 + 8, r0, r2)"},
		{"r0 = atomic_cmpxchg((u32 *)(r1 +8), r0, r2)", "w0 = cmpxchg32_32(r1 + 8, w0, w2)"},
		{"r2 = atomic64_xchg((u64 *)(r1 +8), r2)", "r2 = xchg_64(r1 + 8, r2)"},
		{"r2 = atomic_xchg((u32 *)(r1 +8), r2)", "w2 = xchg32_32(r1 + 8, w2)"},
		{"r2 = atomic64_fetch_xor((u64 *)(r1 +8), r2)", "r2 = atomic_fetch_xor((u64 *)(r1 + 8), r2)"},
		{"r2 = atomic_fetch_or((u32 *)(r1 +8), r2)", "w2 = atomic_fetch_or((u32 *)(r1 + 8), w2)"},
		{"lock *(u32 *)(r1 +8) += r2", "lock *(u32 *)(r1 + 8) += w2"},
		{"call bpf_map_lookup_elem#1", "call 1"},
		{"call unknown#195896080", "call 195896080"},
		{"call kfunc bpf_obj_new#77, 2", "call kfunc#77, 2"},
		{"12: (b7) r1 = 5", "r1 = 5"},
		{"7: (61) r1 = *(u32 *)(r2 +0)", "r1 = *(u32 *)(r2 + 0)"},
		{"r1 = 0xffff888000000000 ll", "r1 = 0xffff888000000000 ll"},
		{"r1 = -1 ll", "r1 = -1 ll"},
		{"r1 = 0x80000000 ll", "r1 = 0x80000000 ll"},
		{"r1 = 4294967295", "r1 = -1"},
		{"  exit // done", "exit"},
		{"r5 = btf_id(7)", "r5 = btf_id(7, 0)"},
	} {
		insns, err := Assemble(c.text)
		require.NoError(t, err, c.text)
		assert.Equal(t, c.want, Disassemble(insns, 0, nil), c.text)
	}
}

func TestAssembleLabels(t *testing.T) {
	insns, err := Assemble("start: r1 = 1 ll\nloop: if r1 == 0 goto end; call f; r2 = func(f)\ngotol loop\nmay_goto start; goto end\nend: exit\nf: exit // last")
	require.NoError(t, err)
	assert.Equal(t, "r1 = 1 ll\nif r1 == 0 goto +6\ncall pc+6\nr2 = func(+5)\ngotol -5\nmay_goto -8\ngoto +0\nexit\nexit\n", DisassembleAll(insns, nil))
}

func TestAssembleErrors(t *testing.T) {
	for _, text := range []string{
		"r11 = 1", "r1 = w2", "w1 += r2", "if r1 > w2 goto +1", "r1 = -r2", "w1 = -r1", "r1 = be16 r2", "r1 ?= 2", "r1 = 1 2", "r1", "r1 =", "foo", "goto 3", "goto nowhere",
		"a: exit; a: exit", "r1 = 0x1ffffffff", "goto +40000", "r1 = *(u32 *)(r2 + 40000)", "r1 = *(u32 *)(w2 + 0)", "r1 = *(u128 *)(r2 + 0)", "*(s8 *)(r1 + 0) = r2", "lock *(u8 *)(r1 + 0) += r2",
		"r1 = xchg_64(r2 + 0, r3)", "r0 = cmpxchg_64(r1 + 0, r2, r3)", "r1 = *(u8 *)skb[0]", "r0 = *(u64 *)skb[0]", "call kfunc", "call", ".insn 1", ".insn 256, 0, 0, 0, 0", "w1 = 5 ll", "r1 = nothing(5)", "r1 $ 2",
		"call #", "if r1 goto +1", "r1 = (s8)w2", "r1 = (u8)r2", "w1 = (s32)w2", "gotox 5", "store_release(u8", "may_goto r1",
	} {
		_, err := Assemble(text)
		var asm *AsmError
		require.ErrorAs(t, err, &asm, text)
		assert.ErrorIs(t, err, ErrSyntax)
		assert.Equal(t, 1, asm.Line)
	}
	_, err := Assemble("exit\n\nr1 = bad\n")
	var asm *AsmError
	require.ErrorAs(t, err, &asm)
	assert.Equal(t, 3, asm.Line)
	assert.Equal(t, "r1 = bad", asm.Text)
}

type names struct{}

func (names) HelperName(id int32) string { return map[int32]string{1: "bpf_map_lookup_elem"}[id] }
func (names) RefName(pc int) string {
	return map[int]string{0: "events", 2: "parse", 3: "bpf_obj_new", 4: "on_elem"}[pc]
}

func TestDisassembleSymbols(t *testing.T) {
	insns := assemble(t, "r1 = map_fd(3); call pc+5; call kfunc#7, 2; r2 = func(+1); call 1; call 2; r3 = map_value(4, 16)")
	assert.Equal(t, "r1 = map_fd(events)\ncall parse\ncall kfunc bpf_obj_new#7, 2\nr2 = func(on_elem)\ncall bpf_map_lookup_elem#1\ncall 2\nr3 = map_value(4, 16)\n", DisassembleAll(insns, names{}))
	assert.Equal(t, "", Disassemble(insns, -1, nil))
	assert.Equal(t, "", Disassemble(insns, len(insns), nil))
	assert.Equal(t, ".insn 0x00, 0, 0, 0, 0", Disassemble(insns, 1, nil))
}
