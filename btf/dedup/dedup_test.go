package dedup

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
)

func dump(t testing.TB, s *btf.Spec) string {
	var b strings.Builder
	require.NoError(t, btf.DumpRaw(&b, s))
	return b.String()
}

func deduped(t testing.TB, spec *btf.Spec) *btf.Spec {
	types, err := Of(spec)
	require.NoError(t, err)
	require.NoError(t, types.Dedup(nil))
	raw, err := types.Marshal(binary.LittleEndian)
	require.NoError(t, err)
	out, err := btf.Parse(raw, spec.Base())
	require.NoError(t, err)
	return out
}

// The kernel's own tests of btf__dedup are not part of the repository. BPFRUN_BTF_DEDUP names a
// file with them, a line each: description, tab, the BTF in hexadecimal, tab, what is expected.
func TestKernelSelftests(t *testing.T) {
	name := os.Getenv("BPFRUN_BTF_DEDUP")
	if name == "" {
		t.Skip("BPFRUN_BTF_DEDUP names no file with the kernel's tests of btf__dedup")
	}
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		require.Len(t, f, 3)
		var specs [2]*btf.Spec
		for i := range specs {
			raw, err := hex.DecodeString(f[i+1])
			require.NoError(t, err)
			specs[i], err = btf.Parse(raw, nil)
			require.NoError(t, err, f[0])
		}
		// The names that some of the expectations have, and the order of tags, are not what the
		// kernel's test compares.
		assert.Equal(t, kinds(specs[1]), kinds(deduped(t, specs[0])), f[0])
	}
}

func kinds(s *btf.Spec) map[string]int {
	n := map[string]int{}
	for id := s.FirstID(); int(id) < s.NumTypes(); id++ {
		t := s.MustType(id)
		n[fmt.Sprint(t.Kind, t.Size, len(t.Members), len(t.Values), len(t.Params), t.Flag)]++
	}
	return n
}

func member(name string, t btf.ID, at uint32) btf.Member {
	return btf.Member{Name: name, Type: t, BitOffset: 8 * at}
}

// unit is what a compilation unit has of struct S and the structs it leads to: all, or
// declarations.
func unit(b *btf.Builder, hasA, hasB bool) {
	i := b.Int("int", 4, btf.IntSigned)
	s := b.NextID() + 4
	pa, pb := b.Ptr(b.NextID()+2), b.Ptr(b.NextID()+2)
	part := func(name string, has bool) {
		if has {
			b.Struct(name, 16, member("n", i, 0), member("parent", s+1, 8))
		} else {
			b.Add(btf.Type{Kind: btf.KindFwd, Name: name})
		}
	}
	part("A", hasA)
	part("B", hasB)
	b.Struct("S", 16, member("a", pa, 0), member("b", pb, 8))
	b.Ptr(s)
}

// Units that each know a part of a graph of types become one that knows it all.
func TestUnitsAreMerged(t *testing.T) {
	b := btf.NewBuilder(nil)
	unit(b, true, false)
	first, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	require.Equal(t, 8, first.NumTypes())
	b = btf.NewBuilder(nil)
	unit(b, true, false)
	shift := b.NextID() - 1
	second := btf.NewBuilder(nil)
	unit(second, false, true)
	spec, err := second.Spec(binary.LittleEndian)
	require.NoError(t, err)
	types, err := Of(first)
	require.NoError(t, err)
	for id := btf.ID(1); int(id) < spec.NumTypes(); id++ {
		require.NoError(t, types.addType(spec.MustType(id)))
		eachRef(types.Of(types.NextID()-1), func(r *uint32) {
			if *r != 0 {
				*r += uint32(shift)
			}
		})
	}
	require.NoError(t, types.Dedup(nil))
	raw, err := types.Marshal(binary.LittleEndian)
	require.NoError(t, err)
	out, err := btf.Parse(raw, nil)
	require.NoError(t, err)
	text := dump(t, out)
	assert.NotContains(t, text, "FWD")
	assert.Equal(t, 3, strings.Count(text, "STRUCT"), text)
	assert.Equal(t, 3, strings.Count(text, "PTR"), text)
	assert.Equal(t, text, dump(t, deduped(t, out)), "done twice nothing changes")
}

// On a base only what the base lacks is left.
func TestSplit(t *testing.T) {
	b := btf.NewBuilder(nil)
	unit(b, true, true)
	base, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	types, err := New(base)
	require.NoError(t, err)
	name := types.Str("int")
	i := types.Add(name, Info(btf.KindInt, 0, false), 4, btf.IntSigned<<24|32)
	types.Add(types.Str("own"), Info(btf.KindTypedef, 0, false), i)
	types.Add(0, Info(btf.KindPtr, 0, false), i)
	require.NoError(t, types.Dedup(nil))
	assert.Equal(t, 2, types.Own())
	raw, err := types.Marshal(binary.BigEndian)
	require.NoError(t, err)
	assert.Equal(t, []byte{0xeb, 0x9f}, raw[:2])
	raw, err = types.Marshal(binary.LittleEndian)
	require.NoError(t, err)
	split, err := btf.Parse(raw, base)
	require.NoError(t, err)
	assert.Equal(t, "own", split.Name(split.FirstID()))
	assert.Equal(t, btf.ID(1), split.MustType(split.FirstID()).Ref)
}

func TestErrors(t *testing.T) {
	types, err := New(nil)
	require.NoError(t, err)
	types.Add(0, Info(btf.KindPtr, 0, false), 2)
	types.Add(0, Info(btf.KindConst, 0, false), 1)
	assert.ErrorIs(t, types.Dedup(nil), ErrLoop)
	types, err = New(nil)
	require.NoError(t, err)
	types.Add(0, Info(btf.KindPtr, 0, false), 9)
	assert.ErrorIs(t, types.Dedup(nil), ErrBadID)
	_, err = types.Marshal(binary.LittleEndian)
	assert.ErrorIs(t, err, ErrBadID)
}

func FuzzDedup(f *testing.F) {
	b := btf.NewBuilder(nil)
	unit(b, true, false)
	raw, err := b.Marshal(binary.LittleEndian)
	require.NoError(f, err)
	f.Add(raw)
	f.Fuzz(func(t *testing.T, raw []byte) {
		spec, err := btf.Parse(raw, nil)
		if err != nil {
			return
		}
		types, err := Of(spec)
		require.NoError(t, err)
		if types.Dedup(nil) != nil {
			return
		}
		out, err := types.Marshal(binary.LittleEndian)
		require.NoError(t, err)
		_, err = btf.Parse(out, nil)
		require.NoError(t, err)
	})
}

// Arrays of the same contents are the same, though they are entries of their own; what else has the
// same contents is not (btf_dedup_identical_arrays).
func TestIdenticalArrays(t *testing.T) {
	b := btf.NewBuilder(nil)
	i := b.Int("int", 4, btf.IntSigned)
	one, same, longer := b.Array(i, i, 3), b.Array(i, i, 3), b.Array(i, i, 4)
	p, q := b.Ptr(i), b.Ptr(i)
	spec, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	types, err := Of(spec)
	require.NoError(t, err)
	d := &deduper{Types: types}
	for _, tt := range []struct {
		x, y btf.ID
		want bool
	}{{one, same, true}, {one, longer, false}, {one, p, false}, {p, one, false}, {p, q, false}} {
		assert.Equal(t, tt.want, d.sameArray(uint32(tt.x), uint32(tt.y)), "%d and %d", tt.x, tt.y)
	}
}
