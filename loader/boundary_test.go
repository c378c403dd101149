package loader

import (
	"debug/elf"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/elfbuild"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestRangesOfKconfigValues: for each width and sign the last value that fits and the first that
// does not.
func TestRangesOfKconfigValues(t *testing.T) {
	b := btf.NewBuilder(nil)
	unsigned, signed := b.Int("u", 4, 0), b.Int("s", 4, btf.IntSigned)
	raw, err := b.Marshal(binary.LittleEndian)
	require.NoError(t, err)
	spec, err := btf.Parse(raw, nil)
	require.NoError(t, err)
	for _, c := range []struct {
		form kcfgForm
		size uint32
		typ  btf.ID
		n    uint64
		fits bool
	}{
		{kcfgBool, 1, unsigned, 0, true}, {kcfgBool, 1, unsigned, 1, true}, {kcfgBool, 1, unsigned, 2, false},
		{kcfgInt, 1, unsigned, 255, true}, {kcfgInt, 1, unsigned, 256, false}, {kcfgInt, 1, unsigned, math.MaxUint64, false},
		{kcfgInt, 4, unsigned, math.MaxUint32, true}, {kcfgInt, 4, unsigned, math.MaxUint32 + 1, false},
		{kcfgInt, 1, signed, 127, true}, {kcfgInt, 1, signed, 128, false}, {kcfgInt, 1, signed, ^uint64(127), true}, {kcfgInt, 1, signed, ^uint64(128), false},
		{kcfgInt, 4, signed, math.MaxInt32, true}, {kcfgInt, 4, signed, math.MaxInt32 + 1, false},
		{kcfgInt, 8, unsigned, math.MaxUint64, true},
	} {
		e := &LinkedExtern{Extern: &Extern{Size: c.size, form: c.form}}
		assert.Equal(t, c.fits, e.inRange(c.n, spec.MustType(c.typ)), "%+v", c)
	}
}

// TestArenaVariablesMoveWithTheRelease: they are at the beginning of an arena before 7.0, and at
// its end from 7.0 on.
func TestArenaVariablesMoveWithTheRelease(t *testing.T) {
	path := filepath.Join("..", "testdata", "objects", "clang-22-v4", "arena.o")
	if _, err := os.Stat(path); err != nil {
		t.Skip(err)
	}
	obj, err := Open(path)
	require.NoError(t, err)
	spec, err := embedded.Spec()
	require.NoError(t, err)
	for version, atEnd := range map[uint32]bool{kernelVersion(6, 19): false, kernelVersion(6, 19) + 200: false, kernelVersion(7, 0): true, kernelVersion(7, 1): true} {
		linked, err := obj.Load(NewTarget("x", spec, WithVersion(version)), LoadOptions{LinkOnly: true})
		require.NoError(t, err)
		found := false
		for _, m := range linked.Maps {
			if m.DataKind != DataArena {
				continue
			}
			found = true
			used := (uint64(len(m.Data)) + pageSize - 1) / pageSize * pageSize
			want := uint64(0)
			if atEnd {
				want = uint64(m.MaxEntries)*pageSize - used
			}
			assert.Equal(t, want, m.ArenaOffset, "%#x", version)
		}
		require.True(t, found)
	}
}

// TestWhichVariableANameMeans: of two with a name the one that is not static.
func TestWhichVariableANameMeans(t *testing.T) {
	own, other := &Map{Name: ".bss", Vars: []Var{{Name: "x", Static: true}, {Name: "y", Static: true}}}, &Map{Name: ".data", Vars: []Var{{Name: "x", Off: 8}}}
	m, v, ok := FindVariable([]*Map{own, other}, "x", nil)
	require.True(t, ok)
	assert.Same(t, other, m)
	assert.Equal(t, uint32(8), v.Off)
	m, _, ok = FindVariable([]*Map{own, other}, "y", nil)
	assert.True(t, ok && m == own)
	m, _, ok = FindVariable([]*Map{own, other}, "x", func(m *Map) bool { return m == own })
	assert.True(t, ok && m == own)
	_, _, ok = FindVariable([]*Map{own, other}, "z", nil)
	assert.False(t, ok)
	assert.Equal(t, []string{"x", "y", "x"}, VariableNames([]*Map{own, other}, nil))
}

// TestRelocationsAtTheEndOfASection: a relocation of the last instruction is taken, one after it is
// an error.
func TestRelocationsAtTheEndOfASection(t *testing.T) {
	for off, outside := range map[uint64]bool{8: false, 16: true, 24: true} {
		b := elfbuild.New(binary.LittleEndian)
		f := b.Code("xdp", []decode.Insn{{Code: 0xb7, Imm: 2}, {Code: 0x85, Src: 1, Imm: -1}})
		text := b.Code(".text", []decode.Insn{{Code: 0x95}})
		b.Func("prog", f, 0, 2)
		callee := b.Func("callee", text, 0, 1)
		b.Rel(f, elfbuild.Rel{Off: off, Sym: callee, Type: 10})
		o, err := OpenBytes("x.o", b.Bytes())
		if outside {
			assert.ErrorIs(t, err, ErrRelocation, "%d", off)
			continue
		}
		require.NoError(t, err)
		assert.Empty(t, o.Warnings)
	}
}

// TestInstructionsBetweenFunctions: what lies after a function and before the next one is part of
// neither.
func TestInstructionsBetweenFunctions(t *testing.T) {
	first := &Function{Name: "first", SectionOff: 1, Insns: make([]decode.Insn, 2)}
	second := &Function{Name: "second", SectionOff: 4, Insns: make([]decode.Insn, 1)}
	s := &codeSection{funcs: []*Function{first, second}}
	for insn, want := range []*Function{nil, first, first, nil, second, nil} {
		assert.True(t, s.at(insn) == want, "instruction %d", insn)
	}
}

// TestShortestLegacyMaps: a struct bpf_map_def has 16 bytes at least.
func TestShortestLegacyMaps(t *testing.T) {
	for size, ok := range map[int]bool{16: true, 12: false, 20: true} {
		b := elfbuild.New(binary.LittleEndian)
		f := b.Code("xdp", []decode.Insn{{Code: 0xb7, Imm: 2}, {Code: 0x95}})
		b.Func("prog", f, 0, 2)
		def := make([]byte, size)
		for i, v := range []uint32{1, 4, 8, 16} {
			if 4*i+4 <= size {
				binary.LittleEndian.PutUint32(def[4*i:], v)
			}
		}
		maps := b.Section("maps", elf.SHT_PROGBITS, elf.SHF_ALLOC|elf.SHF_WRITE, def)
		b.Symbol("m", maps, 0, uint64(size), elf.STT_OBJECT, elf.STB_GLOBAL)
		o, err := OpenBytes("x.o", b.Bytes())
		if !ok {
			assert.ErrorIs(t, err, ErrMapDef)
			continue
		}
		require.NoError(t, err)
		require.Len(t, o.Maps, 1)
		assert.Equal(t, uint32(16), o.Maps[0].MaxEntries)
	}
}

// TestKconfigVariablesInKernelBTF: the section of configuration values that a kernel gets has their
// sizes and places, in the image's order.
func TestKconfigVariablesInKernelBTF(t *testing.T) {
	o := object(t, "clang-14/kconfig.o")
	raw, err := o.KernelBTF()
	require.NoError(t, err)
	spec, err := btf.Parse(raw, nil)
	require.NoError(t, err)
	section, ok := spec.Find(btf.KindDatasec, secKconfig)
	require.True(t, ok)
	want := map[string]*Extern{}
	for _, e := range o.Externs {
		want[e.Name] = e
	}
	assert.Equal(t, uint32(len(o.kconfig.Data)), section.Size)
	for _, v := range section.Vars {
		e := want[spec.Name(v.Type)]
		require.NotNil(t, e, spec.Name(v.Type))
		assert.Equal(t, [2]uint32{e.Off, e.Size}, [2]uint32{v.Offset, v.Size}, e.Name)
	}
	_, err = o.CheckBTF(uapi.ReleaseOf(uapi.VersionCode(6, 12)), nil)
	require.NoError(t, err)
}

// TestVariablesOfLinkedFilesKeepTheirPlaces: static variables of two files that a linker joined can
// have one name, and a kernel accepts the section.
func TestVariablesOfLinkedFilesKeepTheirPlaces(t *testing.T) {
	types := btf.NewBuilder(nil)
	number := types.Int("int", 4, btf.IntSigned)
	var vars []btf.VarSecinfo
	for _, off := range []uint32{4, 0, 8} {
		id := types.Add(btf.Type{Kind: btf.KindVar, Name: "hits", Ref: number, Linkage: btf.LinkageStatic})
		vars = append(vars, btf.VarSecinfo{Type: id, Offset: off, Size: 4})
	}
	types.Add(btf.Type{Kind: btf.KindDatasec, Name: ".data", Size: 12, Vars: vars})
	raw, err := types.Marshal(binary.LittleEndian)
	require.NoError(t, err)
	b := elfbuild.New(binary.LittleEndian)
	code := b.Code("socket", []decode.Insn{{Code: 0xb7}, {Code: 0x95}})
	b.Func("f", code, 0, 2)
	data := b.Section(".data", elf.SHT_PROGBITS, elf.SHF_ALLOC|elf.SHF_WRITE, make([]byte, 12))
	for _, off := range []uint64{4, 0, 8} {
		b.Symbol("hits", data, off, 4, elf.STT_OBJECT, elf.STB_LOCAL)
	}
	b.Section(".BTF", elf.SHT_PROGBITS, 0, raw)
	o, err := OpenBytes("linked.o", b.Bytes())
	require.NoError(t, err)
	_, err = o.CheckBTF(uapi.ReleaseOf(uapi.VersionCode(6, 12)), nil)
	require.NoError(t, err)
	fixed, err := o.KernelBTF()
	require.NoError(t, err)
	spec, err := btf.Parse(fixed, nil)
	require.NoError(t, err)
	section, ok := spec.Find(btf.KindDatasec, ".data")
	require.True(t, ok)
	var places []uint32
	for _, v := range section.Vars {
		places = append(places, v.Offset)
	}
	assert.Equal(t, []uint32{0, 4, 8}, places)
}

// TestHiddenFunctionsAreStaticForKernels: the BTF that a kernel gets calls them static, the
// object's own does not.
func TestHiddenFunctionsAreStaticForKernels(t *testing.T) {
	o, err := Open("../examples/usdt/usdt.bpf.o")
	require.NoError(t, err)
	raw, err := o.KernelBTF()
	require.NoError(t, err)
	spec, err := btf.Parse(raw, nil)
	require.NoError(t, err)
	hidden := 0
	for _, fn := range o.Functions {
		static := spec.MustType(fn.Type).Linkage == btf.LinkageStatic
		if fn.Hidden && fn.IsSubprogram() {
			hidden++
			assert.True(t, static, fn.Name)
			assert.NotEqual(t, btf.LinkageStatic, o.BTF.MustType(fn.Type).Linkage, fn.Name)
		} else if fn.Global {
			assert.False(t, static, fn.Name)
		}
	}
	assert.NotZero(t, hidden)
}
