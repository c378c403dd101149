package btf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
)

var update = rewrite.Flag

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), got)
}

func dumpC(t testing.TB, s *Spec, ids []ID) string {
	var b bytes.Buffer
	require.NoError(t, DumpC(&b, s, ids))
	return b.String()
}

func TestDumpSample(t *testing.T) {
	s, x := buildSample(t, binary.LittleEndian)
	var b bytes.Buffer
	require.NoError(t, DumpRaw(&b, s))
	golden(t, "sample.raw.golden", b.String())
	golden(t, "sample.h.golden", dumpC(t, s, nil))
	golden(t, "point.h.golden", dumpC(t, s, []ID{x.point}))
	be, _ := buildSample(t, binary.BigEndian)
	var c bytes.Buffer
	require.NoError(t, DumpRaw(&c, be))
	assert.Equal(t, b.String(), c.String())
	assert.ErrorIs(t, DumpC(&b, s, []ID{9999}), ErrBadID)
}

// TestDumpCQualifiesOnce: compilers qualify arrays and their elements, and C warns of a qualifier
// that is said twice.
func TestDumpCQualifiesOnce(t *testing.T) {
	b := NewBuilder(nil)
	num, char := b.Int("unsigned int", 4, 0), b.Int("char", 1, IntSigned)
	name := b.Mod(KindConst, "", b.Array(b.Mod(KindConst, "", char), num, 8))
	texts := b.Mod(KindConst, "", b.Array(b.Mod(KindConst, "", b.Ptr(b.Mod(KindConst, "", char))), num, 2))
	rows := b.Mod(KindConst, "", b.Array(b.Array(b.Mod(KindConst, "", char), num, 3), num, 2))
	plain := b.Mod(KindConst, "", b.Array(char, num, 2))
	b.Struct("s", 40, Member{Name: "name", Type: name}, Member{Name: "texts", Type: texts, BitOffset: 64},
		Member{Name: "rows", Type: rows, BitOffset: 192}, Member{Name: "plain", Type: plain, BitOffset: 240})
	s, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	text := dumpC(t, s, nil)
	for _, want := range []string{"\tconst char name[8];", "\tconst char *const texts[2];", "\tconst char rows[2][3];", "\tconst char plain[2];"} {
		assert.Contains(t, text, want)
	}
	checkC(t, s, "amd64")
}

// machines are clang's names of the machines whose kernels are in the corpus.
var machines = map[string]string{
	"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu", "armhf": "arm-linux-gnueabihf", "riscv64": "riscv64-linux-gnu", "s390x": "s390x-linux-gnu",
}

// checkC compiles a header for a machine, "" for the host, together with assertions on the size of
// every named struct and union and the offset of every member that is not a bitfield.
func checkC(t *testing.T, s *Spec, machine string) {
	t.Helper()
	var cc []string
	if machine != "" {
		cc = []string{clangOf(t), "-target", machine}
	}
	for _, name := range []string{"gcc", "clang", "cc"} {
		if path, err := exec.LookPath(name); err == nil && cc == nil {
			cc = []string{path}
		}
	}
	if cc == nil {
		t.Skip("no C compiler")
	}
	var src bytes.Buffer
	d := newCDumper(&src, s)
	d.w.WriteString(cProlog)
	for id := ID(1); int(id) < s.NumTypes(); id++ {
		d.top(id)
	}
	d.w.WriteString(cPop + cEpilog)
	require.NoError(t, d.err)
	d.w.Flush()
	src.WriteString("#define OFF(t, m, o) _Static_assert(__builtin_offsetof(t, m) == o, #t \".\" #m)\n#define SIZE(t, n) _Static_assert(sizeof(t) == n, #t)\n")
	for id := ID(1); int(id) < s.NumTypes(); id++ {
		typ := s.MustType(id)
		if name := s.Name(id); name == "warn_args" && s.ByteOrder() == binary.BigEndian || name == "va_format" && s.PointerSize() == 4 {
			continue // it holds the compiler's va_list, which differs between targets
		}
		if !typ.Kind.IsComposite() || typ.Name == "" || d.state[id]&cDefined == 0 {
			continue
		}
		name := tagWord(typ) + " " + d.name(typ)
		fmt.Fprintf(&src, "SIZE(%s, %d);\n", name, typ.Size)
		for i := range typ.Members {
			m := &typ.Members[i]
			if off, bits := s.MemberBits(typ, m); bits == 0 && m.Name != "" {
				fmt.Fprintf(&src, "OFF(%s, %s, %d);\n", name, cIdent(m.Name), off/8)
			}
		}
	}
	path := filepath.Join(t.TempDir(), "x.c")
	require.NoError(t, os.WriteFile(path, src.Bytes(), 0o644))
	out, err := exec.Command(cc[0], append(cc[1:], "-std=gnu11", "-w", "-fsyntax-only", path)...).CombinedOutput()
	if keep := os.Getenv("BPFRUN_KEEP_C"); keep != "" {
		_ = os.WriteFile(keep, src.Bytes(), 0o644)
	}
	assert.NoError(t, err, string(out))
}

func TestDumpCCompiles(t *testing.T) {
	s, _ := buildSample(t, binary.LittleEndian)
	checkC(t, s, "")
}

// TestDumpCCorpus compiles the headers of real kernels for their machines.
func TestDumpCCorpus(t *testing.T) {
	for _, f := range corpus(t, "btf/*.btf.xz") {
		name := strings.TrimSuffix(filepath.Base(f), ".btf.xz")
		machine := ""
		for arch, m := range machines {
			if slices.Contains(strings.Split(name, "-"), arch) {
				machine = m
			}
		}
		require.NotEmpty(t, machine, name)
		t.Run(name, func(t *testing.T) {
			checkC(t, loadXZ(t, f, nil), machine)
		})
	}
}

func TestDumpCDuplicates(t *testing.T) {
	b := NewBuilder(nil)
	i := b.Int("int", 4, IntSigned)
	b.Struct("a", 4, Member{Name: "x", Type: i})
	b.Struct("a", 8, Member{Name: "y", Type: i, BitOffset: 32})
	b.Add(Type{Kind: KindEnum, Size: 1, Values: []Enumerator{{"V", 1}}})
	b.Add(Type{Kind: KindEnum, Size: 4, Values: []Enumerator{{"V", 1 << 31}}})
	b.Mod(KindTypedef, "core::fmt::Thing<u8>", i)
	b.Struct("odd", 5, Member{Name: "c", Type: b.Int("char", 1, 1)}, Member{Name: "n", Type: i, BitOffset: 8})
	b.Struct("overlap", 4, Member{Name: "p", Type: i}, Member{Name: "q", Type: i})
	b.Struct("hole", 512, Member{Name: "p", Type: i}, Member{Name: "q", Type: i, BitOffset: 4000})
	b.Union("wide", 8, Member{Name: "p", Type: i})
	s, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	golden(t, "odd.h.golden", dumpC(t, s, nil))
}

// Kfuncs are declared as bpftool does, with the attributes their tags stand for.
func TestDumpCKfuncs(t *testing.T) {
	b := NewBuilder(nil)
	i := b.Int("int", 4, IntSigned)
	arena := b.Ptr(b.Add(Type{Kind: KindTypeTag, Name: "address_space(1)", Flag: true}))
	user := b.Ptr(b.Mod(KindTypeTag, "user", i))
	kfunc := func(name string, ret ID, tags []string, params ...Param) ID {
		f := b.Add(Type{Kind: KindFunc, Name: name, Ref: b.Add(Type{Kind: KindFuncProto, Ref: ret, Params: params})})
		for _, tag := range tags {
			b.Add(Type{Kind: KindDeclTag, Name: tag, Ref: f, ComponentIdx: -1})
		}
		return f
	}
	alloc := kfunc("arena_alloc", arena, []string{"bpf_kfunc"}, Param{Name: "at", Type: arena}, Param{Name: "text", Type: user})
	cast := kfunc("cast", b.Ptr(0), []string{"bpf_kfunc", "bpf_fastcall"}, Param{Name: "obj", Type: b.Ptr(0)})
	kfunc("other", i, nil)
	s, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	assert.Equal(t, []ID{alloc, cast}, s.Kfuncs())
	var out strings.Builder
	require.NoError(t, DumpCWithKfuncs(&out, s, []ID{}, s.Kfuncs()))
	assert.Contains(t, out.String(), "\nextern void __attribute__((address_space(1))) *arena_alloc(void __attribute__((address_space(1))) *at, int *text) __weak __ksym;\n")
	assert.Contains(t, out.String(), "\nextern __bpf_fastcall void *cast(void *obj) __weak __ksym;\n")
	assert.NotContains(t, out.String(), "other")
}

// TestNamesThatAreNone: names of types that C does not allow become some that it does.
func TestNamesThatAreNone(t *testing.T) {
	for name, want := range map[string]string{
		"": "", "a": "a", "_0": "_0", "Az9_": "Az9_", "0": "_0", "9a": "_9a", "a-b": "a_b", "a.b": "a_b", "1-": "_1_",
		"/": "_", ":": "_", "@": "_", "[": "_", "`": "_", "{": "_", "int": "_int", "ints": "ints", "\xff": "_",
	} {
		assert.Equal(t, want, cIdent(name), "%q", name)
	}
}
