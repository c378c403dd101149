package verifier_test

import (
	"context"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier"
)

// Fields that an instruction does not use are zero (do_check).
func TestReservedFieldsOfJumps(t *testing.T) {
	const call, callX, jump, exit, callW, exitW = 0x85, 0x8d, 0x05, 0x95, 0x86, 0x96
	for _, c := range []struct {
		in   decode.Insn
		want string
	}{
		{decode.Insn{Code: call, Imm: 7}, ""},
		{decode.Insn{Code: callX, Imm: 7}, "unknown opcode 8d"},
		{decode.Insn{Code: callW, Imm: 7}, "unknown opcode 86"},
		{decode.Insn{Code: call, Imm: 7, Off: 1}, "BPF_CALL uses reserved fields"},
		{decode.Insn{Code: call, Imm: 7, Dst: 1}, "BPF_CALL uses reserved fields"},
		{decode.Insn{Code: call, Imm: 7, Src: 3}, "BPF_CALL uses reserved fields"},
		{decode.Insn{Code: jump}, ""},
		{decode.Insn{Code: jump, Dst: 1}, "BPF_JA uses reserved fields"},
		{decode.Insn{Code: jump, Src: 1}, "BPF_JA uses reserved fields"},
		{decode.Insn{Code: jump, Imm: 1}, "BPF_JA uses reserved fields"},
		{decode.Insn{Code: exit, Imm: 1}, "BPF_EXIT uses reserved fields"},
		{decode.Insn{Code: exit, Src: 1}, "BPF_EXIT uses reserved fields"},
		{decode.Insn{Code: exit, Dst: 1}, "BPF_EXIT uses reserved fields"},
		{decode.Insn{Code: exitW}, "unknown opcode 96"},
	} {
		insns := []decode.Insn{{Code: 0xb7}, c.in}
		if c.in.Code != exit {
			insns = append(insns, decode.Insn{Code: 0xb7}, decode.Insn{Code: exit})
		}
		v, err := verifier.Verify(context.Background(), &verifier.Kernel{Release: since.R(6, 12)}, &verifier.Program{Type: uapi.ProgTypeSocketFilter, License: "GPL", Insns: insns}, verifier.Options{})
		require.NoError(t, err)
		assert.Equal(t, c.want, v.Message, "%+v", c.in)
	}
}

// What a long constant stands for is in the source register; a function came with Linux 5.13.
func TestWhatLongConstantsStandFor(t *testing.T) {
	for _, c := range []struct {
		release uapi.Release
		src     uint8
		want    string
	}{
		{since.R(5, 12), 0, "unreachable insn 4"}, {since.R(5, 12), 4, "unrecognized bpf_ld_imm64 insn"},
		{since.R(5, 13), 4, "missing btf func_info"}, {since.R(5, 13), 7, "unrecognized bpf_ld_imm64 insn"}, {since.R(5, 13), 15, "unrecognized bpf_ld_imm64 insn"},
	} {
		insns := []decode.Insn{{Code: 0x18, Dst: 1, Src: c.src, Imm: 3}, {}, {Code: 0xb7}, {Code: 0x95}, {Code: 0xb7}, {Code: 0x95}}
		v, err := verifier.Verify(context.Background(), &verifier.Kernel{Release: c.release}, &verifier.Program{Type: uapi.ProgTypeSocketFilter, License: "GPL", Insns: insns}, verifier.Options{})
		require.NoError(t, err)
		assert.Equal(t, c.want, v.Message, "%v %d", c.release, c.src)
	}
}

// Records of func_info are in the order of the functions, each of which begins once; before there
// were exceptions they were compared with the functions in the same walk (check_btf_func).
func TestOrderOfFunctionRecords(t *testing.T) {
	b := btf.NewBuilder(nil)
	fp := b.Add(btf.Type{Kind: btf.KindFuncProto, Ref: b.Int("int", 4, btf.IntSigned)})
	main := b.Add(btf.Type{Kind: btf.KindFunc, Name: "main", Ref: fp, Linkage: btf.LinkageGlobal})
	called := b.Add(btf.Type{Kind: btf.KindFunc, Name: "called", Ref: fp, Linkage: btf.LinkageStatic})
	spec, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	for _, c := range []struct {
		at   [2]int
		of   btf.ID
		want string
	}{
		{[2]int{0, 2}, called, ""},
		{[2]int{1, 2}, called, "nonzero insn_off 1 for the first func info record"},
		{[2]int{0, 0}, called, "same or smaller insn offset (0) than previous func info record (0)"},
		{[2]int{0, 1}, called, "func_info BTF section doesn't match subprog layout in BPF program"},
		{[2]int{0, 2}, fp, "invalid type id 2 in func info"},
	} {
		for _, release := range []uapi.Release{since.R(5, 10), since.R(6, 6), since.R(6, 12)} {
			p := &verifier.Program{Type: uapi.ProgTypeSocketFilter, BTF: spec, Funcs: []verifier.FuncInfo{{Insn: c.at[0], Type: main}, {Insn: c.at[1], Type: c.of}}}
			v := verdict(t, &verifier.Kernel{Release: release}, p, "call +1\nexit\nr0 = 0\nexit")
			assert.Equal(t, c.want, v.Message, "%v %v", release, c.at)
		}
	}
}

// From 7.2.7 on the walk back knows that a function ends in a packet load if the packet is too short
// (backtrack_insn).
func TestPrecisionAcrossLoadsFromPackets(t *testing.T) {
	b := btf.NewBuilder(nil)
	word := b.Int("int", 4, btf.IntSigned)
	ctx := b.Ptr(b.Struct("__sk_buff", 4, btf.Member{Name: "len", Type: word}))
	fp := b.Add(btf.Type{Kind: btf.KindFuncProto, Ref: word, Params: []btf.Param{{Name: "ctx", Type: ctx}}})
	main := b.Add(btf.Type{Kind: btf.KindFunc, Name: "main", Ref: fp, Linkage: btf.LinkageGlobal})
	loads := b.Add(btf.Type{Kind: btf.KindFunc, Name: "loads", Ref: fp, Linkage: btf.LinkageStatic})
	spec, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	for patch, want := range map[int]string{6: "verifier bug: subprog exit from frame 0", 7: ""} {
		p := &verifier.Program{Type: uapi.ProgTypeSocketFilter, BTF: spec, Funcs: []verifier.FuncInfo{{Type: main, Name: "main"}, {Insn: 11, Type: loads, Name: "loads"}}}
		v := verdict(t, &verifier.Kernel{Release: since.R(7, 2), Patch: patch}, p,
			"r8 = r1\ncall 7\nr6 = r0\nr6 &= 7\nr1 = r8\ncall +5\nr1 = r10\nr1 += r6\n*(u8 *)(r1 - 8) = 0\nr0 = 0\nexit\nr6 = r1\nr0 = *(u8 *)skb[0]\nexit")
		assert.Equal(t, want, v.Message, "7.2.%d", patch)
		assert.Equal(t, want == "", v.Outcome == verifier.Accepted, "7.2.%d", patch)
	}
}

// A call of a function that the kernel lacks is allowed where no path leads, although the analysis
// of the stack comes by there.
func TestCallsOfMissingFunctionsWithoutPath(t *testing.T) {
	for _, release := range []uapi.Release{since.R(6, 12), since.R(6, 18), since.R(7, 1), since.R(7, 2)} {
		for text, want := range map[string]string{"if r0 < 8": "", "if r0 < 7": "invalid kernel function call not eliminated in verifier pass"} {
			insns, err := decode.Assemble("call 7\nr0 &= 7\n" + text + " goto +3\nr1 = r10\nr1 += -8\ncall 7\nr0 = 0\nexit")
			require.NoError(t, err)
			insns[5].Src, insns[5].Imm = 2, 0
			p := &verifier.Program{Type: uapi.ProgTypeSocketFilter, License: "GPL", Insns: insns, Refs: map[int]verifier.Ref{5: {Kind: verifier.RefKfunc, Name: "gone", Missing: true}}}
			v, err := verifier.Verify(t.Context(), &verifier.Kernel{Release: release}, p, verifier.Options{})
			require.NoError(t, err)
			assert.Equal(t, want, v.Message, "%v: %s", release, text)
			assert.Equal(t, want == "", v.Outcome == verifier.Accepted, "%v: %s", release, text)
		}
	}
}
