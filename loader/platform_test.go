package loader

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
)

// ofArch is a target of an architecture with pointers of some size and a function.
func ofArch(t *testing.T, arch string, pointer uint32, fn string) *Target {
	t.Helper()
	b := btf.NewBuilder(nil)
	b.Int("long unsigned int", pointer, 0)
	b.Add(btf.Type{Kind: btf.KindFunc, Name: fn, Ref: b.Add(btf.Type{Kind: btf.KindFuncProto}), Linkage: 1})
	raw, err := b.Marshal(binary.LittleEndian)
	require.NoError(t, err)
	spec, err := btf.Parse(raw, nil)
	require.NoError(t, err)
	require.EqualValues(t, pointer, spec.PointerSize())
	target := NewTarget("kernel", spec)
	target.Arch = arch
	return target
}

// TestConfigurationsOfArchitectures: which options an architecture sets, and that wrappers of system
// calls are found by the name of bpf(2)'s.
func TestConfigurationsOfArchitectures(t *testing.T) {
	const wrapper = "CONFIG_ARCH_HAS_SYSCALL_WRAPPER"
	for _, tt := range []struct {
		arch    string
		pointer uint32
		fn      string
		wraps   bool
		want    []string
	}{
		{"x86", 8, "__x64_sys_bpf", true, []string{"CONFIG_X86", "CONFIG_X86_64", "CONFIG_64BIT", wrapper}},
		{"x86", 8, "__ia32_sys_bpf", false, []string{"CONFIG_X86", "CONFIG_X86_64", "CONFIG_64BIT"}},
		{"x86", 4, "__ia32_sys_bpf", true, []string{"CONFIG_X86", "CONFIG_X86_32", wrapper}},
		{"x86", 4, "__x64_sys_bpf", false, []string{"CONFIG_X86", "CONFIG_X86_32"}},
		{"arm64", 8, "__arm64_sys_bpf", true, []string{"CONFIG_ARM64", "CONFIG_64BIT", wrapper}},
		{"arm64", 8, "sys_bpf", false, []string{"CONFIG_ARM64", "CONFIG_64BIT"}},
		{"arm64", 4, "__ia32_sys_bpf", false, []string{"CONFIG_ARM64"}},
		{"s390", 8, "__s390x_sys_bpf", true, []string{"CONFIG_S390", "CONFIG_64BIT", wrapper}},
		{"riscv", 8, "__riscv_sys_bpf", true, []string{"CONFIG_RISCV", "CONFIG_64BIT", wrapper}},
		{"arm", 4, "sys_bpf", false, []string{"CONFIG_ARM"}},
		{"powerpc", 8, "sys_bpf", false, []string{"CONFIG_PPC", "CONFIG_64BIT"}},
		{"mips", 4, "sys_bpf", false, []string{"CONFIG_MIPS"}},
		{"loongarch", 8, "sys_bpf", false, []string{"CONFIG_LOONGARCH", "CONFIG_64BIT"}},
		{"sparc", 8, "bpf", false, []string{"CONFIG_64BIT"}},
	} {
		target := ofArch(t, tt.arch, tt.pointer, tt.fn)
		var on []string
		for _, name := range slices.Sorted(maps.Keys(archConfig)) {
			if v, ok := target.configByArch(name); ok {
				assert.Equal(t, "y", v)
				on = append(on, name)
			}
		}
		assert.ElementsMatch(t, tt.want, on, "%s with %s", tt.arch, tt.fn)
		assert.Equal(t, tt.wraps, target.hasSyscallWrapper(), "%s with %s", tt.arch, tt.fn)
	}
	none := NewTarget("kernel", nil)
	none.Arch = "x86"
	_, ok := none.configByArch("CONFIG_X86")
	assert.False(t, ok, "nothing is known without types")
}

// TestTextsOfErrors: with the parts that are known.
func TestTextsOfErrors(t *testing.T) {
	kind := errors.New("kind")
	for _, tt := range []struct {
		err  Error
		want string
	}{
		{Error{Insn: -1, Detail: "detail"}, "detail"},
		{Error{Insn: 0, Detail: "no program has instruction 0"}, "no program has instruction 0"},
		{Error{Insn: -1, Err: kind}, "kind"},
		{Error{Insn: -1, Err: kind, Detail: "detail"}, "kind: detail"},
		{Error{Insn: -1, Object: "a.o", Err: kind}, "a.o: kind"},
		{Error{Insn: -1, Program: "p", Err: kind}, "program p: kind"},
		{Error{Insn: 0, Program: "p", Err: kind}, "program p insn 0: kind"},
		{Error{Insn: 7, Program: "p", Section: "p", Err: kind}, "program p insn 7: kind"},
		{Error{Insn: 7, Program: "p", Section: "xdp", Err: kind}, "program p (section xdp) insn 7: kind"},
		{Error{Insn: -1, Section: "xdp", Err: kind}, "section xdp: kind"},
		{Error{Insn: 0, Section: "xdp", Err: kind}, "section xdp insn 0: kind"},
		{Error{Insn: -1, Section: "xdp", Detail: "detail", Source: "a.c:1:2 x", Hint: "do"}, "section xdp: detail [a.c:1:2 x] (do)"},
	} {
		assert.Equal(t, tt.want, tt.err.Error())
	}
}

// TestEndsOfReleases: a part of a version is a byte; the last one stays at its most.
func TestEndsOfReleases(t *testing.T) {
	for name, want := range map[string]uint32{
		"6.0.0": 6 << 16, "6.255.3": 6<<16 | 255<<8 | 3, "6.256.3": 0, "6.1.254": 6<<16 | 1<<8 | 254, "6.1.255": 6<<16 | 1<<8 | 255, "6.1.256": 6<<16 | 1<<8 | 255,
	} {
		release, version, ok := ParseRelease(name)
		assert.Equal(t, want != 0, ok, name)
		assert.Equal(t, want, version, name)
		if ok {
			assert.Equal(t, name, release)
		}
	}
}

// TestStructsOfContexts: the struct that a function's first parameter leads to.
func TestStructsOfContexts(t *testing.T) {
	b := btf.NewBuilder(nil)
	num := b.Int("int", 4, 1)
	ctx := b.Struct("ctx", 4, btf.Member{Name: "a", Type: num})
	union := b.Union("u", 4, btf.Member{Name: "a", Type: num})
	fn := func(params ...btf.ID) btf.ID {
		proto := btf.Type{Kind: btf.KindFuncProto, Ref: num}
		for _, p := range params {
			proto.Params = append(proto.Params, btf.Param{Name: "p", Type: p})
		}
		return b.Add(btf.Type{Kind: btf.KindFunc, Name: "f", Ref: b.Add(proto), Linkage: 1})
	}
	alias := b.Mod(btf.KindTypedef, "alias", b.Mod(btf.KindConst, "", ctx))
	cases := map[string]struct {
		fn   btf.ID
		want btf.ID
	}{
		"void": {0, 0}, "no function": {num, 0}, "out of range": {999, 0}, "no parameters": {fn(), 0}, "a number": {fn(num), 0}, "a struct itself": {fn(ctx), 0},
		"a pointer": {fn(b.Ptr(ctx)), ctx}, "to an alias": {fn(b.Mod(btf.KindConst, "", b.Ptr(alias))), ctx}, "the first of two": {fn(b.Ptr(ctx), num), ctx}, "the second": {fn(num, b.Ptr(ctx)), 0},
		"a pointer to a number": {fn(b.Ptr(num)), 0}, "an array": {fn(b.Array(ctx, num, 1)), 0}, "to a union": {fn(b.Ptr(union)), 0}, "to anything": {fn(b.Ptr(0)), 0}, "to a pointer": {fn(b.Ptr(b.Ptr(ctx))), 0},
	}
	raw, err := b.Marshal(binary.LittleEndian)
	require.NoError(t, err)
	spec, err := btf.Parse(raw, nil)
	require.NoError(t, err)
	for name, tt := range cases {
		got := ContextStruct(spec, tt.fn)
		if tt.want == 0 {
			assert.Nil(t, got, name)
			continue
		}
		if assert.NotNil(t, got, name) {
			assert.Equal(t, tt.want, got.ID, name)
		}
	}
	assert.Nil(t, ContextStruct(nil, ctx))
}
