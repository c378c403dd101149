package fromdwarf

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
)

func file(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	return b
}

func made(t testing.TB, b []byte, opt Options) (*btf.Spec, *Result) {
	t.Helper()
	f, err := elf.NewFile(bytes.NewReader(b))
	require.NoError(t, err)
	res, err := Make(f, opt)
	require.NoError(t, err)
	require.NoError(t, res.Types.Dedup(nil))
	raw, err := res.Types.Marshal(f.ByteOrder)
	require.NoError(t, err)
	s, err := btf.Parse(raw, opt.Base)
	require.NoError(t, err)
	return s, res
}

// withSection is a file with a section put into it.
func withSection(b []byte, name string, content []byte) ([]byte, error) {
	var out bytes.Buffer
	err := AddSections(&out, bytes.NewReader(b), int64(len(b)), Section{name, content})
	return out.Bytes(), err
}

// lines are the types of BTF, ids replaced by what they lead to, in an order of their own.
func lines(s *btf.Spec) []string {
	var out []string
	for id := s.FirstID(); int(id) < s.NumTypes(); id++ {
		t := s.MustType(id)
		line := t.Kind.String() + " "
		switch t.Kind {
		case btf.KindFunc:
			line += s.Signature(id)
		case btf.KindVar, btf.KindTypedef:
			line += s.Declare(t.Ref, t.Name)
		default:
			line += s.TypeString(id)
		}
		var b strings.Builder
		if t.Kind.IsComposite() || t.Kind.IsEnum() {
			_, _ = btf.WriteLayout(&b, s, id, btf.LayoutOptions{})
		}
		out = append(out, line+b.String())
	}
	sort.Strings(out)
	return out
}

// Each object has DWARF, and beside it the BTF that pahole made of it.
func TestAsPahole(t *testing.T) {
	for _, name := range []string{"gcc-4.o", "gcc-5.o", "clang-4.o", "clang-5.o", "arm64.o", "s390x.o", "lto.exe"} {
		t.Run(name, func(t *testing.T) {
			got, res := made(t, file(t, name), Options{Features: DefaultFeatures})
			want, err := btf.Load("testdata/"+strings.TrimSuffix(name, filepath.Ext(name))+".btf", nil)
			require.NoError(t, err)
			assert.Equal(t, lines(want), lines(got))
			assert.NotZero(t, res.Functions)
		})
	}
}

// Type units hold the types of a unit in other sections. pahole leaves out types that only they
// have, so what is compared is the same source without them.
func TestTypeUnits(t *testing.T) {
	want, _ := made(t, file(t, "whole-5.o"), Options{Features: DefaultFeatures})
	for _, name := range []string{"units-4.o", "units-5.o"} {
		got, _ := made(t, file(t, name), Options{Features: DefaultFeatures})
		assert.Equal(t, lines(want), lines(got), name)
	}
}

// What is made does not depend on how many goroutines decode.
func TestProcessorsDoNotMatter(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	one, _ := made(t, file(t, "gcc-5.o"), Options{Features: DefaultFeatures})
	runtime.GOMAXPROCS(8)
	many, _ := made(t, file(t, "gcc-5.o"), Options{Features: DefaultFeatures})
	assert.Equal(t, one.Raw(), many.Raw())
}

func TestGlobalVariables(t *testing.T) {
	got, res := made(t, file(t, "gcc-5.o"), Options{Features: DefaultFeatures | GlobalVar})
	assert.Equal(t, 4, res.Variables)
	id, ok := got.FindID(btf.KindDatasec, ".data..percpu")
	require.True(t, ok)
	assert.Len(t, got.MustType(id).Vars, 1)
	_, ok = got.FindID(btf.KindVar, "global")
	assert.True(t, ok)
	_, ok = got.FindID(btf.KindVar, "local_var")
	assert.False(t, ok, "static variables of other sections are left out")
}

func TestTags(t *testing.T) {
	got, _ := made(t, file(t, "clang-5.o"), Options{Features: DefaultFeatures})
	text := strings.Join(lines(got), "\n")
	assert.Contains(t, text, "TYPE_TAG")
	id, ok := got.FindID(btf.KindDeclTag, "second")
	require.True(t, ok)
	tag := got.MustType(id)
	assert.EqualValues(t, 1, tag.ComponentIdx)
	assert.Equal(t, "tagged", got.Name(tag.Ref))
}

// A module's types are those that its kernel does not have.
func TestSplitOnBase(t *testing.T) {
	base, _ := made(t, file(t, "gcc-5.o"), Options{Features: DefaultFeatures})
	got, _ := made(t, file(t, "gcc-5.o"), Options{Features: DefaultFeatures, Base: base})
	for id := got.FirstID(); int(id) < got.NumTypes(); id++ {
		assert.Contains(t, []btf.Kind{btf.KindVar, btf.KindDatasec}, got.Kind(id), "symbols are never merged: %s", got.TypeString(id))
	}
}

func TestAddSection(t *testing.T) {
	b := file(t, "gcc-5.o")
	with, err := withSection(b, ".BTF", []byte("first"))
	require.NoError(t, err)
	again, err := withSection(with, ".BTF", []byte("second"))
	require.NoError(t, err)
	for i, x := range [][]byte{with, again} {
		f, err := elf.NewFile(bytes.NewReader(x))
		require.NoError(t, err)
		sec := f.Section(".BTF")
		require.NotNil(t, sec)
		data, err := sec.Data()
		require.NoError(t, err)
		assert.Equal(t, []string{"first", "second"}[i], string(data))
		old, err := elf.NewFile(bytes.NewReader(b))
		require.NoError(t, err)
		for _, s := range old.Sections {
			if s.Type != elf.SHT_NULL && s.Name != ".shstrtab" {
				want, _ := s.Data()
				got, _ := f.Section(s.Name).Data()
				assert.Equal(t, want, got, s.Name)
			}
		}
	}
	_, err = withSection([]byte("text"), ".BTF", nil)
	assert.ErrorIs(t, err, ErrELF)
	_, err = withSection(b, ".text", nil)
	assert.ErrorIs(t, err, ErrELF)
	bad := bytes.Clone(b)
	binary.LittleEndian.PutUint64(bad[40:], 1<<40)
	_, err = withSection(bad, ".BTF", nil)
	assert.ErrorIs(t, err, ErrELF)
}

func TestErrors(t *testing.T) {
	b, err := withSection(file(t, "gcc-5.o"), ".debug_info", nil)
	require.NoError(t, err)
	f, err := elf.NewFile(bytes.NewReader(b))
	require.NoError(t, err)
	_, err = Make(f, Options{Features: DefaultFeatures})
	assert.ErrorIs(t, err, ErrNoDWARF)
	b, err = withSection(file(t, "gcc-5.o"), ".debug_info", bytes.Repeat([]byte{0x11}, 100))
	require.NoError(t, err)
	f, err = elf.NewFile(bytes.NewReader(b))
	require.NoError(t, err)
	_, err = Make(f, Options{Features: DefaultFeatures})
	assert.ErrorIs(t, err, ErrMalformed)
}

func FuzzMake(f *testing.F) {
	b := file(f, "gcc-5.o")
	e, err := elf.NewFile(bytes.NewReader(b))
	require.NoError(f, err)
	var secs [2][]byte
	for i, name := range []string{".debug_info", ".debug_abbrev"} {
		secs[i], err = e.Section(name).Data()
		require.NoError(f, err)
	}
	f.Add(secs[0], secs[1])
	f.Fuzz(func(_ *testing.T, info, abbrev []byte) {
		x, err := withSection(b, ".debug_info", info)
		if err != nil {
			return
		}
		if x, err = withSection(x, ".debug_abbrev", abbrev); err != nil {
			return
		}
		e, err := elf.NewFile(bytes.NewReader(x))
		if err != nil {
			return
		}
		res, err := Make(e, Options{Features: DefaultFeatures | GlobalVar})
		if err == nil && res.Types.Dedup(nil) == nil {
			_, _ = res.Types.Marshal(binary.LittleEndian)
		}
	})
}

// Locations of parameters may be damaged in any way, with all that they refer to.
func FuzzLocations(f *testing.F) {
	names := []string{".debug_info", ".debug_abbrev", ".debug_loclists", ".debug_loc", ".debug_addr"}
	var files [][]byte
	for i, name := range []string{"opt-clang-5", "opt-s390x"} {
		b := unpacked(f, name+".exe.xz")
		files = append(files, b)
		e, err := elf.NewFile(bytes.NewReader(b))
		require.NoError(f, err)
		secs := make([][]byte, len(names))
		for i, name := range names {
			if s := e.Section(name); s != nil {
				secs[i], err = s.Data()
				require.NoError(f, err)
			}
		}
		f.Add(byte(i), secs[0], secs[1], secs[2], secs[3], secs[4])
	}
	f.Fuzz(func(_ *testing.T, which byte, info, abbrev, loclists, loc, addr []byte) {
		x := files[int(which)%len(files)]
		for i, b := range [][]byte{info, abbrev, loclists, loc, addr} {
			var err error
			if x, err = withSection(x, names[i], b); err != nil {
				return
			}
		}
		e, err := elf.NewFile(bytes.NewReader(x))
		if err != nil {
			return
		}
		res, err := Make(e, Options{Features: DefaultFeatures | functionFeatures})
		if err == nil && res.Types.Dedup(nil) == nil {
			_, _ = res.Types.Marshal(e.ByteOrder)
		}
	})
}
