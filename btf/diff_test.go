package btf

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDiff(t *testing.T) {
	build := func(f func(b *Builder, i32, u64 ID)) *Spec {
		b := NewBuilder(nil)
		f(b, b.Int("int", 4, IntSigned), b.Int("long unsigned int", 8, 0))
		s, err := b.Spec(binary.LittleEndian)
		require.NoError(t, err)
		return s
	}
	fn := func(b *Builder, name string, ret ID, params ...Param) {
		b.Add(Type{Kind: KindFunc, Name: name, Linkage: LinkageStatic, Ref: b.Add(Type{Kind: KindFuncProto, Ref: ret, Params: params})})
	}
	old := build(func(b *Builder, i32, u64 ID) {
		b.Struct("same", 4, Member{Name: "a", Type: i32})
		b.Struct("gone", 4, Member{Name: "a", Type: i32})
		b.Struct("s", 16, Member{Name: "a", Type: i32}, Member{Name: "state", Type: i32, BitOffset: 32}, Member{Name: "m", Type: u64, BitOffset: 64})
		b.Add(Type{Kind: KindEnum, Name: "e", Size: 4, Values: []Enumerator{{"A", 0}, {"B", 1}, {"MAX", 2}}})
		b.Mod(KindTypedef, "t", i32)
		fn(b, "f", i32, Param{"x", i32})
		b.Struct("twice", 4, Member{Name: "p", Type: i32})
		b.Struct("twice", 8, Member{Name: "q", Type: u64})
	})
	now := build(func(b *Builder, i32, u64 ID) {
		b.Struct("same", 4, Member{Name: "a", Type: i32})
		b.Struct("fresh", 4, Member{Name: "a", Type: i32})
		un := b.Union("", 8, Member{Name: "a", Type: i32}, Member{Name: "b", Type: u64})
		b.Struct("s", 24, Member{Name: "", Type: un}, Member{Name: "__state", Type: i32, BitOffset: 64, BitfieldSize: 2}, Member{Name: "m", Type: i32, BitOffset: 128})
		b.Add(Type{Kind: KindEnum64, Name: "e", Size: 8, Values: []Enumerator{{"A", 0}, {"C", 2}, {"MAX", 3}}})
		b.Mod(KindTypedef, "t", u64)
		fn(b, "f", i32, Param{"x", i32}, Param{"y", u64})
		b.Struct("twice", 8, Member{Name: "q", Type: u64})
		b.Struct("twice", 8, Member{Name: "p", Type: u64})
	})
	got := map[string][]Change{}
	for _, d := range Diff(old, now) {
		got[d.Title()] = d.Changes
	}
	assert.Equal(t, map[string][]Change{
		"struct gone":  {{Kind: Removed, Old: "4 bytes, 1 member"}},
		"struct fresh": {{Kind: Added, New: "4 bytes, 1 member"}},
		"struct s": {
			{Kind: Resized, Old: "16 bytes", New: "24 bytes"},
			{Kind: Removed, Path: "state", Old: "int at offset 4"},
			{Kind: Moved, Path: "m", Old: "offset 8", New: "offset 16"},
			{Kind: Retyped, Path: "m", Old: "long unsigned int", New: "int"},
			{Kind: Added, Path: "b", New: "long unsigned int at offset 0"},
			{Kind: Added, Path: "__state", New: "int:2 at bit 0 of offset 8"},
		},
		"enum e": {
			{Kind: Resized, Old: "4 bytes", New: "8 bytes"},
			{Kind: Removed, Path: "B", Old: "1"}, {Kind: Revalued, Path: "MAX", Old: "2", New: "3"}, {Kind: Added, Path: "C", New: "2"},
		},
		"typedef t":    {{Kind: Retyped, Old: "int", New: "long unsigned int"}},
		"func f":       {{Kind: Retyped, Old: "int f(int x)", New: "int f(int x, long unsigned int y)"}},
		"struct twice": {{Kind: Resized, Old: "4 bytes", New: "8 bytes"}, {Kind: Retyped, Path: "p", Old: "int", New: "long unsigned int"}},
	}, got)
	assert.Empty(t, Diff(old, old))

	for _, text := range []string{"s", "struct s"} {
		d, err := DiffNamed(old, now, text)
		require.NoError(t, err)
		require.Len(t, d, 1)
		assert.Len(t, d[0].Changes, 6)
	}
	d, err := DiffNamed(old, now, "same")
	require.NoError(t, err)
	assert.Empty(t, d)
	for _, text := range []string{"nothing", "union s", "s.m"} {
		_, err = DiffNamed(old, now, text)
		assert.ErrorIs(t, err, ErrNotFound, text)
	}
}

func TestSubset(t *testing.T) {
	s, id := layoutTypes(t)
	x, err := NewSubset(s)
	require.NoError(t, err)
	x.KeepMember(id, 1)
	x.KeepMember(id, 7)
	x.KeepMember(id, 99)
	x.Keep(9999, true)
	small, ids, err := x.Spec()
	require.NoError(t, err)
	got := small.MustType(ids[id])
	assert.Equal(t, uint32(72), got.Size)
	require.Len(t, got.Members, 2)
	assert.Equal(t, "l", got.Members[0].Name)
	assert.Equal(t, uint32(320), got.Members[1].BitOffset)
	assert.Equal(t, KindVoid, small.SkipMods(small.MustType(got.Members[1].Type).Ref).Kind, "what the pointer leads to is not kept")

	x, err = NewSubset(s)
	require.NoError(t, err)
	x.KeepWhole(id)
	small, ids, err = x.Spec()
	require.NoError(t, err)
	assert.Len(t, small.MustType(ids[id]).Members, 11)

	split, err := NewBuilder(s).Spec(binary.LittleEndian)
	require.NoError(t, err)
	_, err = NewSubset(split)
	assert.ErrorIs(t, err, ErrInvalid)
}

// TestUnnamedMembers: those of unnamed structs and unions are members of the struct around; other
// members without a name are padding.
func TestUnnamedMembers(t *testing.T) {
	build := func(pad, at uint32) *Spec {
		b := NewBuilder(nil)
		i32 := b.Int("int", 4, IntSigned)
		in := b.Struct("", 8, Member{Name: "x", Type: i32}, Member{Name: "y", Type: i32, BitOffset: at})
		b.Add(Type{Kind: KindStruct, Name: "s", Size: 12, Flag: true, Members: []Member{{Type: i32, BitfieldSize: pad}, {Type: b.Mod(KindConst, "", in), BitOffset: 32}}})
		s, err := b.Spec(binary.LittleEndian)
		require.NoError(t, err)
		return s
	}
	for _, tt := range []struct {
		pad, at uint32
		want    []Change
	}{
		{3, 32, nil},
		{4, 32, nil},
		{3, 0, []Change{{Kind: Moved, Path: "y", Old: "offset 8", New: "offset 4"}}},
	} {
		d, err := DiffNamed(build(3, 32), build(tt.pad, tt.at), "struct s")
		require.NoError(t, err)
		var got []Change
		for _, x := range d {
			got = append(got, x.Changes...)
		}
		assert.Equal(t, tt.want, got, "%+v", tt)
	}
}
