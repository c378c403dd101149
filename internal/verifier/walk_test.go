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

func verdict(t *testing.T, k *verifier.Kernel, p *verifier.Program, text string) *verifier.Verdict {
	t.Helper()
	insns, err := decode.Assemble(text)
	require.NoError(t, err)
	p.License, p.Insns = "GPL", insns
	v, err := verifier.Verify(context.Background(), k, p, verifier.Options{})
	require.NoError(t, err)
	return v
}

// What lies in a union is not trusted, however deep: a load may be larger than the union's first
// member, here in the anonymous struct that begins union bpf_attr.
func TestLoadsFromStructsInUnions(t *testing.T) {
	target := embeddedTarget(t)
	k := verifier.KernelOf(target)
	hook, ok := target.BTF.FindID(btf.KindFunc, "bpf_lsm_bpf")
	require.True(t, ok)
	lsm := func() *verifier.Program {
		return &verifier.Program{Type: uapi.ProgTypeLSM, Attach: uapi.AttachLSMMac, AttachTo: "bpf", AttachID: hook}
	}
	v := verdict(t, k, lsm(), "r1 = *(u64 *)(r1 + 8)\nr1 = *(u64 *)(r1 + 0)\nr0 = 0\nexit")
	assert.Equal(t, verifier.Accepted, v.Outcome, v.Message)
}

// From 7.2 on a type tag alone makes a pointer to an arena of a global function's parameter, which
// takes any number.
func TestArenaParametersByTypeTag(t *testing.T) {
	b := btf.NewBuilder(nil)
	word := b.Int("int", 4, 1)
	tagged := b.Ptr(b.Mod(btf.KindTypeTag, "arena", word))
	proto := b.Add(btf.Type{Kind: btf.KindFuncProto, Ref: word, Params: []btf.Param{{Name: "p", Type: tagged}}})
	none := b.Add(btf.Type{Kind: btf.KindFuncProto, Ref: word})
	main := b.Add(btf.Type{Kind: btf.KindFunc, Name: "main", Ref: none, Linkage: btf.LinkageGlobal})
	callee := b.Add(btf.Type{Kind: btf.KindFunc, Name: "callee", Ref: proto, Linkage: btf.LinkageGlobal})
	spec, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	for _, c := range []struct {
		release uapi.Release
		want    verifier.Outcome
	}{{since.R(6, 12), verifier.Refused}, {since.R(7, 1), verifier.Refused}, {since.R(7, 2), verifier.Accepted}} {
		p := &verifier.Program{Type: uapi.ProgTypeSocketFilter, BTF: spec, Funcs: []verifier.FuncInfo{{Type: main, Name: "main"}, {Insn: 3, Type: callee, Name: "callee"}}}
		v := verdict(t, &verifier.Kernel{Release: c.release}, p, "r1 = 7\ncall pc+1\nexit\nr0 = 0\nexit")
		assert.Equal(t, c.want, v.Outcome, "%v: %s", c.release, v.Message)
	}
}

// From 7.0 on libbpf places the variables of an arena at its end, and the kernel allows offsets
// beyond those of other maps.
func TestOffsetsOfVariablesInArenas(t *testing.T) {
	arena := &verifier.Map{Name: "arena", Type: uapi.MapTypeArena, MaxEntries: 1 << 20, Flags: 1 << 10}
	for _, c := range []struct {
		release uapi.Release
		refused bool
	}{{since.R(6, 12), true}, {since.R(6, 19), true}, {since.R(7, 0), false}} {
		p := &verifier.Program{Type: uapi.ProgTypeSyscall, Sleepable: true, Refs: map[int]verifier.Ref{0: {Kind: verifier.RefMapValue, Map: arena, Off: 0xffff0000}}}
		v := verdict(t, &verifier.Kernel{Release: c.release}, p, "r1 = map_value(0, 0)\nr0 = 0\nexit")
		assert.Equal(t, c.refused, v.Message == "direct value offset of 4294901760 is not allowed", "%v: %s", c.release, v.Message)
	}
}
