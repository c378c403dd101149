package btf

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestResolveToPointerStopsAtTheFirst(t *testing.T) {
	s, x := buildSample(t, binary.LittleEndian)
	for path, want := range map[string]struct{ field, rest string }{
		"":              {"", ""},
		"pid":           {"pid", ""},
		"ptr":           {"ptr", ""},
		"ptr.x":         {"ptr", "x"},
		"ptr->x[2].y":   {"ptr", "x[2].y"},
		"ptr[3]":        {"ptr", "[3]"},
		"pts[0x1]->y":   {"pts[1].y", ""},
		"pts[ 1 ].y":    {"pts[1].y", ""},
		"ptr->ptr->pid": {"ptr", "ptr->pid"},
	} {
		f, rest, err := s.ResolveToPointer(x.task, path)
		require.NoError(t, err, path)
		assert.Equal(t, want.field, f.Path, path)
		assert.Equal(t, want.rest, rest, path)
	}
}

func TestPathErrorsNameTheStep(t *testing.T) {
	s, x := buildSample(t, binary.LittleEndian)
	for path, want := range map[string]struct {
		step, in string
		kind     error
	}{
		"pidd":      {"pidd", "struct task", ErrNotFound},
		"pts[1].z":  {"z", "struct point", ErrNotFound},
		"pid.x":     {"x", "int", ErrNotFound},
		"comm[16]":  {"[16]", "char[16]", ErrNotFound},
		"comm[":     {"[", "char[16]", ErrInvalid},
		"pts[0]..x": {"", "struct point", ErrInvalid},
		"ptr->x":    {"x", "void *", ErrNotFound},
	} {
		_, err := s.ResolvePath(x.task, path)
		var pe *PathError
		require.ErrorAs(t, err, &pe, path)
		assert.ErrorIs(t, err, want.kind, path)
		assert.Equal(t, want.step, pe.Step, path)
		assert.Equal(t, want.in, s.TypeString(pe.In), path)
	}
}

// unions of the kind that kernels have: the same bytes as one number, as a struct, and as an array.
func TestFieldAtPrefersTheScalar(t *testing.T) {
	b := NewBuilder(nil)
	u8, u16, u32, u64 := b.Int("u8", 1, 0), b.Int("u16", 2, 0), b.Int("u32", 4, 0), b.Int("u64", 8, 0)
	pair := b.Struct("pair", 8, Member{Name: "a", Type: u32}, Member{Name: "b", Type: u32, BitOffset: 32})
	ways := b.Union("ways", 8, Member{Name: "halves", Type: pair}, Member{Name: "shorts", Type: b.Array(u16, u32, 4)}, Member{Name: "whole", Type: u64})
	tail := b.Struct("tail", 4, Member{Name: "n", Type: u32}, Member{Name: "data", Type: b.Array(u8, u32, 0), BitOffset: 32})
	root := b.Struct("root", 12, Member{Name: "ways", Type: ways}, Member{Name: "tail", Type: tail, BitOffset: 64})
	s, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	for _, tt := range []struct {
		off   uint32
		size  int
		path  string
		exact bool
	}{
		{0, 8, "ways.whole", true}, {0, 4, "ways.halves.a", true}, {4, 2, "ways.shorts[2]", true}, {2, 4, "ways.shorts", false},
		{8, 4, "tail.n", true}, {20, 1, "tail.data[8]", true},
	} {
		path, _, exact := s.FieldAt(root, tt.off, tt.size)
		assert.Equal(t, tt.path, path, "%d+%d", tt.off, tt.size)
		assert.Equal(t, tt.exact, exact, "%d+%d", tt.off, tt.size)
	}
}

func TestBitfieldsAt(t *testing.T) {
	s, x := buildSample(t, binary.LittleEndian)
	names := func(off uint32, size int) (out []string) {
		for _, f := range s.BitfieldsAt(x.task, off, size) {
			out = append(out, f.Path)
		}
		return out
	}
	assert.Equal(t, []string{"bits.a", "bits.b"}, names(72, 1))
	assert.Equal(t, []string{"bits.c"}, names(73, 1))
	assert.Equal(t, []string{"bits.a", "bits.b", "bits.c"}, names(72, 4))
	assert.Empty(t, names(0, 4))
	assert.Empty(t, names(72, 0))
	assert.Empty(t, names(1<<31, 4))
}
