package fromdwarf

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"io"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/ulikunitz/xz"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/testing/ceiling"
)

// optimized are executables made of opt.c and opt2.c.
var optimized = []string{"opt-gcc-5", "opt-clang-5", "opt-arm64", "opt-s390x"}

func unpacked(t testing.TB, name string) []byte {
	t.Helper()
	r, err := xz.NewReader(bytes.NewReader(file(t, name)))
	require.NoError(t, err)
	b, err := io.ReadAll(r)
	require.NoError(t, err)
	return b
}

// signatures are the functions of BTF with their types, by name.
func signatures(s *btf.Spec) map[string]string {
	out := map[string]string{}
	for id := s.FirstID(); int(id) < s.NumTypes(); id++ {
		if t := s.MustType(id); t.Kind == btf.KindFunc {
			out[t.Name] = s.Signature(id)
		}
	}
	return out
}

// Beside each executable is the BTF that pahole made of it.
func TestOptimizedAsPahole(t *testing.T) {
	consistent := DefaultFeatures | OptimizedFunc | ConsistentFunc
	for _, name := range optimized {
		b := unpacked(t, name+".exe.xz")
		for suffix, features := range map[string]Features{"": consistent, ".true": consistent | TrueSignature} {
			t.Run(name+suffix, func(t *testing.T) {
				want, err := btf.Load("testdata/"+name+suffix+".btf", nil)
				require.NoError(t, err)
				got, _ := made(t, b, Options{Features: features})
				assert.Equal(t, signatures(want), signatures(got))
				assert.Equal(t, lines(want), lines(got))
			})
		}
	}
}

// The signatures are those of the code.
func TestTrueSignatures(t *testing.T) {
	got, _ := made(t, unpacked(t, "opt-clang-5.exe.xz"), Options{Features: DefaultFeatures | TrueSignature})
	has := signatures(got)
	for name, want := range map[string]string{
		"second":  "int second(long p__b, int x)",
		"first":   "int first(long p__a, int x)",
		"both":    "int both(pair p, int x)",
		"neither": "int neither(int x)",
		"middle":  "int middle(int a, int c, void *p)",
	} {
		assert.Equal(t, want, has[name])
	}
}

func TestLeftOut(t *testing.T) {
	b := unpacked(t, "opt-gcc-5.exe.xz")
	leftOut := func(features Features) (names []string, count int) {
		all, _ := made(t, b, Options{Features: DefaultFeatures | OptimizedFunc | TrueSignature})
		got, res := made(t, b, Options{Features: DefaultFeatures | features})
		for _, n := range res.LeftOut {
			count += n
		}
		has := signatures(got)
		for name := range signatures(all) {
			if _, ok := has[name]; !ok {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return names, count
	}
	for _, tt := range []struct {
		features Features
		name     string
		out      bool
	}{
		{0, "differs", false},
		{OptimizedFunc, "inlined", false},
		{ConsistentFunc, "inlined", true},
	} {
		names, count := leftOut(tt.features)
		assert.Equal(t, tt.out, slices.Contains(names, tt.name), "%s with %v: %v", tt.name, tt.features, names)
		assert.Equal(t, tt.features != 0, count > 0)
	}
	for r := range Reasons {
		assert.NotEmpty(t, r.String())
	}
}

// A relocatable file tells sections apart, although each begins at address 0.
func TestSectionsOfRelocatableFiles(t *testing.T) {
	f, err := elf.NewFile(bytes.NewReader(file(t, "gcc-5.o")))
	require.NoError(t, err)
	seen := map[uint64]bool{}
	bases := sectionBases(f)
	for i, s := range f.Sections {
		if s.Flags&elf.SHF_ALLOC == 0 {
			assert.Zero(t, bases[i])
			continue
		}
		assert.NotZero(t, bases[i])
		assert.False(t, seen[bases[i]])
		seen[bases[i]] = true
	}
	got, _ := made(t, file(t, "gcc-5.o"), Options{Features: DefaultFeatures | ConsistentFunc})
	want, _ := made(t, file(t, "gcc-5.o"), Options{Features: DefaultFeatures})
	assert.Subset(t, slices.Collect(maps.Keys(signatures(want))), slices.Collect(maps.Keys(signatures(got))))
	assert.NotEmpty(t, signatures(got))
}

// Broken location lists end with a named error, in little memory.
func TestBrokenLocations(t *testing.T) {
	const loclists, loc = ".debug_loclists", ".debug_loc"
	for _, tt := range []struct {
		name, file, section string
		content             func(b []byte) []byte
	}{
		{"lists missing", "opt-clang-5", loclists, func([]byte) []byte { return nil }},
		{"lists cut off", "opt-clang-5", loclists, func(b []byte) []byte { return b[:len(b)/2] }},
		{"table of lists cut off", "opt-clang-5", loclists, func(b []byte) []byte { return b[:16] }},
		{"lists of an unknown kind", "opt-clang-5", loclists, func(b []byte) []byte { return append(b[:12:12], bytes.Repeat([]byte{0xee}, len(b))...) }},
		{"lists that do not end", "opt-gcc-5", loclists, func(b []byte) []byte { return bytes.Repeat([]byte{4, 1, 1, 0}, len(b)/4) }},
		{"offsets outside of the lists", "opt-gcc-5", loclists, func(b []byte) []byte { return b[:13] }},
		{"lists of DWARF 4 missing", "opt-s390x", loc, func([]byte) []byte { return nil }},
		{"lists of DWARF 4 cut off", "opt-s390x", loc, func(b []byte) []byte { return b[:len(b)-20] }},
		{"lists of DWARF 4 that do not end", "opt-arm64", loc, func(b []byte) []byte { return bytes.Repeat([]byte{1}, len(b)) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := unpacked(t, tt.file+".exe.xz")
			f, err := elf.NewFile(bytes.NewReader(b))
			require.NoError(t, err)
			was, err := f.Section(tt.section).Data()
			require.NoError(t, err)
			b, err = withSection(b, tt.section, tt.content(was))
			require.NoError(t, err)
			f, err = elf.NewFile(bytes.NewReader(b))
			require.NoError(t, err)
			ceiling.Check(t, 64<<20, func() {
				_, err := Make(f, Options{Features: DefaultFeatures | ConsistentFunc})
				assert.ErrorIs(t, err, ErrMalformed)
			})
			_, err = Make(f, Options{Features: DefaultFeatures})
			assert.NoError(t, err, "locations are not read without the features")
		})
	}
}

// Many parameters may share one list, but not so that reading them takes forever.
func TestSharedLocationList(t *testing.T) {
	const params = 40_000
	abbrev := slices.Concat([]byte{1, 0x11, 1, 0x13, 0x0b, 0, 0}, []byte{2, 0x2e, 1, 0x03, 0x08, 0, 0}, []byte{3, 0x05, 0, 0x02, 0x17, 0, 0}, []byte{0})
	info := []byte{0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8, 1, 0x0c, 2, 'f', 0}
	for range params {
		info = append(info, 3, 0, 0, 0, 0)
	}
	info = append(info, 0, 0)
	binary.LittleEndian.PutUint32(info, uint32(len(info)-4))
	list := bytes.Repeat([]byte{1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0x50}, 40_000)
	list = append(list, make([]byte, 16)...)
	b, err := withSection(file(t, "lto.exe"), ".debug_info", info)
	require.NoError(t, err)
	b, err = withSection(b, ".debug_abbrev", abbrev)
	require.NoError(t, err)
	b, err = withSection(b, ".debug_loc", list)
	require.NoError(t, err)
	f, err := elf.NewFile(bytes.NewReader(b))
	require.NoError(t, err)
	_, err = Make(f, Options{Features: ConsistentFunc})
	assert.ErrorIs(t, err, ErrMalformed)
	assert.ErrorContains(t, err, "again and again")
}

// A number is the offset of a location list before DWARF 4, and no location since (forms of class
// loclistptr).
func TestNumbersAsLocations(t *testing.T) {
	abbrev := slices.Concat([]byte{1, 0x11, 1, 0x13, 0x0b, 0, 0}, []byte{2, 0x2e, 1, 0x03, 0x08, 0, 0}, []byte{3, 0x05, 0, 0x02, 0x06, 0, 0}, []byte{0}) // DW_FORM_data4
	for version, want := range map[byte]error{3: ErrMalformed, 4: nil} {
		info := []byte{0, 0, 0, 0, version, 0, 0, 0, 0, 0, 8, 1, 0x0c, 2, 'f', 0, 3, 0xff, 0xff, 0xff, 0x7f, 0, 0}
		binary.LittleEndian.PutUint32(info, uint32(len(info)-4))
		_, err := Make(brokenFile(t, info, abbrev), Options{Features: ConsistentFunc})
		assert.ErrorIs(t, err, want, "DWARF %d", version)
	}
}

// What the entry of a list tells that holds later in the function says nothing about its start.
func TestEntriesLaterInAFunction(t *testing.T) {
	const fbreg, stackValue, reg5, lit7 = 0x91, 0x9f, 0x55, 0x37
	nothing := param{reg: noReg}
	for _, tt := range []struct {
		expr  []byte
		first param
	}{
		{[]byte{lit7, stackValue}, param{reg: noReg, literal: true}},
		{[]byte{lit7}, param{reg: noReg, literal: true}},
		{[]byte{fbreg, 8}, param{reg: noReg, onStack: true}},
		{[]byte{reg5}, param{reg: 5}},
	} {
		for _, first := range []bool{true, false} {
			d, p, want := &decoder{}, nothing, nothing
			if first {
				want = tt.first
			}
			u := &compilation{}
			u.Version, u.AddrSize, u.Order = 5, 8, binary.LittleEndian
			require.NoError(t, d.expression(&p, u, tt.expr, first))
			assert.Equal(t, want, p, "% x, first %v", tt.expr, first)
		}
	}
}
