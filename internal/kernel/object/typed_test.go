package object

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/mem"
)

// nowhere has no objects besides those of its space.
type nowhere struct{ Surroundings }

func (nowhere) ObjectAt(uint64) *Object { return nil }

// typedSpace makes a space with a few types: pair is 8 bytes with a hole of two at its end, both is
// a union, nothing has no size, and ahead is a forward declaration.
func typedSpace(t *testing.T) *Space {
	t.Helper()
	b := btf.NewBuilder(nil)
	u16, u32 := b.Int("unsigned short", 2, 0), b.Int("unsigned int", 4, 0)
	b.Struct("pair", 8, btf.Member{Name: "a", Type: u32}, btf.Member{Name: "b", Type: u16, BitOffset: 32})
	b.Union("both", 4, btf.Member{Name: "whole", Type: u32}, btf.Member{Name: "half", Type: u16})
	b.Struct("nothing", 0)
	b.Add(btf.Type{Kind: btf.KindFwd, Name: "ahead"})
	spec, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	m, err := mem.New(mem.Config{})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	return New(Config{Mem: m, Types: NewTypes(), BTF: spec, Around: nowhere{}})
}

// TestWhichAddressesAreTyped: those of objects that have a type, up to their last byte.
func TestWhichAddressesAreTyped(t *testing.T) {
	s := typedSpace(t)
	typed, err := s.NewObjectNamed("typed", "pair")
	require.NoError(t, err)
	plain, err := s.NewBytes("plain", make([]byte, 8))
	require.NoError(t, err)
	assert.True(t, s.IsTyped(typed.Addr()))
	assert.True(t, s.IsTyped(typed.Addr()+7))
	assert.False(t, s.IsTyped(typed.Addr()+8))
	assert.False(t, s.IsTyped(plain.Addr()), "bytes without a type")
	assert.False(t, s.IsTyped(0))
}

// TestNamesOfBytesInArrays: a byte of an object that is several has the index of its element, a
// range that is in two elements has no name.
func TestNamesOfBytesInArrays(t *testing.T) {
	s := typedSpace(t)
	l := s.LayoutNamed("pair")
	several, err := s.Make("several", l, 3, nil)
	require.NoError(t, err)
	one, err := s.Make("one", l, 1, nil)
	require.NoError(t, err)
	for _, tt := range []struct {
		o         *Object
		off, size uint64
		want      string
	}{
		{one, 0, 4, "a"}, {one, 4, 2, "b"}, {one, 6, 2, ""}, {one, 0, 8, ""},
		{several, 0, 4, "[0].a"}, {several, 8, 4, "[1].a"}, {several, 20, 2, "[2].b"},
		{several, 22, 2, "[2]"}, {several, 8, 8, "[1]"}, {several, 12, 8, ""},
	} {
		assert.Equal(t, tt.want, tt.o.path(l, tt.off, tt.size), "%s [%d, %d)", tt.o.Role(), tt.off, tt.off+tt.size)
	}
	_, typ, path, ok := s.Resolve(several.Addr() + 12)
	assert.True(t, ok)
	assert.Equal(t, [2]string{"pair", "[1].b"}, [2]string{typ, path})
}

// TestVariablesHaveASize: no object is made for a variable whose type the target lacks, or that has
// no bytes.
func TestVariablesHaveASize(t *testing.T) {
	s := typedSpace(t)
	for typ, want := range map[string]bool{"pair": true, "both": true, "nothing": false, "ahead": false, "other": false} {
		assert.Equal(t, want, s.Named("variable "+typ, typ) != nil, typ)
		assert.Equal(t, want, s.Builtin("builtin "+typ, typ) != nil, typ)
		assert.NoError(t, s.Err(), typ)
	}
	assert.Same(t, s.Named("variable pair", "pair"), s.Named("variable pair", "other"), "the name decides")
}

// TestReadsOfUnions: a read is of another member if what was set is not the member that is read, by
// its path or by its bytes. Reads that are of no member are of all.
func TestReadsOfUnions(t *testing.T) {
	s := typedSpace(t)
	o, err := s.NewObjectNamed("union", "both")
	require.NoError(t, err)
	require.NoError(t, o.Set("half", 1))
	for _, tt := range []struct {
		path, meant string
		at          uint64
		size        int
		want        string
	}{
		{"half", "", 0, 2, ""},
		{"half", "half", 0, 2, ""},
		{"whole", "", 0, 4, "half"},
		{"whole", "whole", 0, 4, "half"},
		{"whole", "half", 0, 4, ""}, // the relocation decides
		{"whole", "", 0, 2, ""},     // the bytes of the other
		{"whole", "whole", 0, 2, "half"},
		{"whole", "", 1, 1, "half"},
		{"whole", "", 2, 2, ""}, // behind it
		{"", "", 0, 4, ""},
		{"", "", 1, 1, ""},
		{"", "whole", 1, 1, "half"},
	} {
		a := Access{Object: o, Path: tt.path, Size: tt.size, at: tt.at}
		assert.Equal(t, tt.want, a.OtherMember(tt.meant), "%+v", tt)
	}
}
