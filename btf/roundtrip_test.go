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
)

// clangOf returns a clang, or skips the test. BPFRUN_CLANG names one that is not in the path.
func clangOf(t *testing.T) string {
	name := os.Getenv("BPFRUN_CLANG")
	if name == "" {
		name = "clang"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skip("no clang: types cannot be sent through a compiler")
	}
	return path
}

// roundTrip dumps the types with these names, all for none, as C, has clang compile a variable of
// each for BPF of the same byte order, and returns the BTF that clang made of them, with the names
// that the dump gave to types.
func roundTrip(t *testing.T, clang string, s *Spec, roots ...string) (*Spec, *cDumper) {
	var src bytes.Buffer
	d := newCDumper(&src, s)
	for id := ID(1); len(roots) == 0 && int(id) < s.NumTypes(); id++ {
		d.top(id)
	}
	for _, name := range roots {
		id, ok := s.FindID(KindStruct, name)
		require.True(t, ok, name)
		d.top(id)
		d.order(id, true, 0)
	}
	require.NoError(t, d.err)
	require.NoError(t, d.w.Flush())
	for id := ID(1); int(id) < s.NumTypes(); id++ {
		typ := s.MustType(id)
		if typ.Name == "" || d.state[id]&cDefined == 0 {
			continue
		}
		switch {
		case typ.Kind.IsComposite():
			fmt.Fprintf(&src, "%s %s keep%d;\n", tagWord(typ), d.name(typ), id)
		case typ.Kind.IsEnum() && len(typ.Values) > 0:
			fmt.Fprintf(&src, "enum %s keep%d;\n", d.name(typ), id)
		}
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "x.c"), src.Bytes(), 0o644))
	target := "bpfel"
	if s.ByteOrder() == binary.BigEndian {
		target = "bpfeb"
	}
	cmd := exec.Command(clang, "-target", target, "-O0", "-g", "-w", "-fno-builtin", "-c", "x.c", "-o", "x.o")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		require.NoError(t, err, string(out[:min(len(out), 2000)]))
	}
	back, err := Load(filepath.Join(dir, "x.o"), nil)
	require.NoError(t, err)
	return back, d
}

// compareLayouts compares every named struct, union and enum of s with what came back: size,
// members in order, their places in bits, widths and types; enumerators. It returns how many types
// it compared.
func compareLayouts(t *testing.T, s, back *Spec, d *cDumper) (types, members int) {
	c := comparer{a: s, b: back, name: func(typ *Type) string { return d.name(typ) }}
	for id := ID(1); int(id) < s.NumTypes(); id++ {
		typ := s.MustType(id)
		if typ.Name == "" || d.state[id]&cDefined == 0 || !typ.Kind.IsComposite() && (!typ.Kind.IsEnum() || len(typ.Values) == 0) {
			continue
		}
		if typ.Name == "warn_args" || typ.Name == "va_format" {
			continue // it holds the compiler's va_list, which differs between targets
		}
		kinds := []Kind{typ.Kind}
		if typ.Kind.IsEnum() {
			kinds = []Kind{KindEnum, KindEnum64}
		}
		var got *Type
		for _, k := range kinds {
			if g, ok := back.Find(k, d.name(typ)); ok {
				got = g
			}
		}
		if !assert.NotNil(t, got, "%s %s is lost", typ.Kind, d.name(typ)) {
			continue
		}
		types++
		members += len(typ.Members)
		if why := c.whole(typ, got, 0); why != "" {
			assert.Fail(t, fmt.Sprintf("%s %s [%d]: %s", typ.Kind, d.name(typ), id, why))
		}
	}
	return types, members
}

// comparer compares types of two BTFs by layout.
type comparer struct {
	a, b *Spec
	name func(*Type) string // of a's types in the dump
}

// whole compares the content of a struct, union or enum.
func (c *comparer) whole(x, y *Type, depth int) string {
	if x.Size != y.Size {
		return fmt.Sprintf("%d bytes, %d came back", x.Size, y.Size)
	}
	if x.Kind.IsEnum() {
		if y.Kind == KindEnum && x.Kind == KindEnum64 {
			return "" // an old clang has only 32 bits for values
		}
		if len(x.Values) != len(y.Values) {
			return fmt.Sprintf("%d enumerators, %d came back", len(x.Values), len(y.Values))
		}
		for i := range x.Values {
			mask := ^uint64(0) >> (64 - min(64, x.Size*8))
			if x.Values[i].Value&mask != y.Values[i].Value&mask {
				return fmt.Sprintf("%s is %#x, %#x came back", x.Values[i].Name, x.Values[i].Value, y.Values[i].Value)
			}
		}
		return ""
	}
	// The dump fills holes that no alignment explains with members of its own.
	came := slices.DeleteFunc(slices.Clone(y.Members), func(m Member) bool { return strings.HasPrefix(m.Name, "__pad") && x.Member(m.Name) == nil })
	if len(x.Members) != len(came) {
		return fmt.Sprintf("%d members, %d came back", len(x.Members), len(came))
	}
	for i := range x.Members {
		m, n := &x.Members[i], &came[i]
		mOff, mBits := c.a.MemberBits(x, m)
		nOff, nBits := c.b.MemberBits(y, n)
		if cIdent(m.Name) != n.Name || mOff != nOff || mBits != nBits {
			return fmt.Sprintf("%q at bit %d of %d bits, %q at bit %d of %d bits came back", m.Name, mOff, mBits, n.Name, nOff, nBits)
		}
		why := ""
		if t, u := c.a.SkipMods(m.Type), c.b.SkipMods(n.Type); m.Name == "" && t.Kind == u.Kind && u.Name == "" {
			why = c.whole(t, u, depth+1) // a struct with a name as an unnamed member is an extension of some compilers: its content is
		} else {
			why = c.same(m.Type, n.Type, depth+1)
		}
		if why != "" {
			return m.Name + ": " + why
		}
	}
	return ""
}

// same compares types: those with names by name, others by content; qualifiers and typedefs are
// skipped, integers are compared by size and sign, since compilers call them by different names.
func (c *comparer) same(a, b ID, depth int) string {
	if depth > 24 {
		return ""
	}
	x, y := c.a.SkipMods(a), c.b.SkipMods(b)
	if x.Kind == KindFwd || y.Kind == KindFwd {
		// Behind a pointer clang may leave a struct undescribed, and a struct of the kernel be
		// unknown.
		if (x.Kind == KindFwd || x.Kind.IsComposite()) && (y.Kind == KindFwd || y.Kind.IsComposite()) {
			return ""
		}
	}
	if x.Kind != y.Kind && !(x.Kind.IsEnum() && y.Kind.IsEnum()) {
		return fmt.Sprintf("%s, %s came back", c.a.TypeString(a), c.b.TypeString(b))
	}
	switch x.Kind {
	case KindInt:
		// An old clang calls an __int128 by its size only; characters may be signed or not by
		// target.
		if x.Size != y.Size || x.Size > 1 && x.Int.Encoding&IntSigned != y.Int.Encoding&IntSigned {
			return fmt.Sprintf("%s, %s came back", c.a.TypeString(a), c.b.TypeString(b))
		}
	case KindFloat:
		if x.Size != y.Size {
			return fmt.Sprintf("%s, %s came back", c.a.TypeString(a), c.b.TypeString(b))
		}
	case KindPtr:
		return c.same(x.Ref, y.Ref, depth+1)
	case KindArray:
		if x.Array.Nelems != y.Array.Nelems {
			return fmt.Sprintf("%d elements, %d came back", x.Array.Nelems, y.Array.Nelems)
		}
		return c.same(x.Ref, y.Ref, depth+1)
	case KindStruct, KindUnion, KindEnum, KindEnum64:
		if x.Name == "" || y.Name == "" {
			if x.Name != y.Name {
				return fmt.Sprintf("%s, %s came back", c.a.TypeString(a), c.b.TypeString(b))
			}
			return c.whole(x, y, depth)
		}
		if c.name(x) != y.Name {
			return fmt.Sprintf("%s, %s came back", c.name(x), y.Name)
		}
	case KindFuncProto:
		if len(x.Params) != len(y.Params) {
			return fmt.Sprintf("%d parameters, %d came back", len(x.Params), len(y.Params))
		}
		for i := range x.Params {
			if why := c.same(x.Params[i].Type, y.Params[i].Type, depth+1); why != "" {
				return why
			}
		}
		return c.same(x.Ref, y.Ref, depth+1)
	}
	return ""
}

// TestDumpCRoundTrip sends the types of kernels through C and clang and compares what comes back,
// bitfields and the types of members included.
func TestDumpCRoundTrip(t *testing.T) {
	clang := clangOf(t)
	if dir := os.Getenv("BPFRUN_CORPUS"); dir != "" {
		files, err := filepath.Glob(filepath.Join(dir, "btf", "*.btf.xz"))
		require.NoError(t, err)
		for _, f := range files {
			t.Run(strings.TrimSuffix(filepath.Base(f), ".btf.xz"), func(t *testing.T) {
				s := loadXZ(t, f, nil)
				if s.PointerSize() != 8 {
					t.Skip("BPF has no 32-bit target; TestDumpCCorpus asks that machine's own compiler")
				}
				back, d := roundTrip(t, clang, s)
				types, members := compareLayouts(t, s, back, d)
				t.Logf("%d types, %d members", types, members)
				assert.Greater(t, types, 5000)
			})
		}
	}
	t.Run("some types of a kernel", func(t *testing.T) {
		s := loadXZ(t, "../testdata/btf/linux-6.1.176-arm64-cloud.btf.xz", nil)
		back, d := roundTrip(t, clang, s, "task_struct", "sk_buff", "tcp_sock", "bpf_prog")
		types, members := compareLayouts(t, s, back, d)
		t.Logf("%d types, %d members", types, members)
		assert.Greater(t, types, 80)
	})
	t.Run("sample", func(t *testing.T) {
		for _, bo := range orders {
			s, _ := buildSample(t, bo)
			back, d := roundTrip(t, clang, s)
			types, _ := compareLayouts(t, s, back, d)
			assert.Positive(t, types)
		}
	})
}
