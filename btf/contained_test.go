package btf

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestContained: types that no compiler makes, and damage, are refused with a name for what is
// wrong, or bounded where they are used.
func TestContained(t *testing.T) {
	s, _ := buildSample(t, binary.LittleEndian)
	raw := s.Raw()
	strOff := 24 + int(binary.LittleEndian.Uint32(raw[16:]))
	for _, c := range []struct {
		name string
		edit func(p []byte) []byte
		want error
		says string
	}{
		{"a kind from the future", func(p []byte) []byte { p[24+7] = p[24+7]&^0x1f | 20; return p }, ErrUnknownKind, "20"},
		{"the last kind there can be", func(p []byte) []byte { p[24+7] = p[24+7]&^0x1f | 31; return p }, ErrUnknownKind, "31"},
		{"a string table without terminator", func(p []byte) []byte { p[len(p)-1] = 'x'; return p }, ErrStringTable, ""},
		{"a string table that does not start with the empty name", func(p []byte) []byte { p[strOff] = 'x'; return p }, ErrStringTable, ""},
		{"a name outside of the table", func(p []byte) []byte { binary.LittleEndian.PutUint32(p[24:], 1<<30); return p }, ErrBadString, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse(edit(raw, c.edit), nil)
			require.ErrorIs(t, err, c.want)
			assert.Contains(t, err.Error(), c.says)
			// Split BTF of a module: the same, and the base stays usable.
			b := NewBuilder(s)
			b.Int("of_module", 4, 0)
			split, err := b.Spec(binary.LittleEndian)
			require.NoError(t, err)
			_, err = Parse(edit(split.Raw(), func(p []byte) []byte { return p[:len(p)-1] }), s)
			require.Error(t, err)
			assert.NotEmpty(t, rawOf(t, s))
		})
	}
}

// TestTypedefCycles: chains of typedefs and modifiers that lead back to themselves end everywhere
// they are followed.
func TestTypedefCycles(t *testing.T) {
	b := NewBuilder(nil)
	i := b.Int("int", 4, IntSigned)
	one := b.NextID()
	b.Mod(KindTypedef, "a_t", one+1)
	b.Mod(KindConst, "", one+2)
	b.Mod(KindTypedef, "b_t", one)
	holder := b.Struct("holder", 8, Member{Name: "m", Type: one}, Member{Name: "n", Type: i, BitOffset: 32})
	self := b.NextID()
	b.Struct("self", 4, Member{Name: "s", Type: self})
	arr := b.NextID()
	b.Array(arr, i, 2)
	s, err := b.Spec(binary.LittleEndian)
	if err != nil {
		require.ErrorIs(t, err, ErrCycle) // refused where it is parsed is as good
		return
	}
	_, err = s.Sizeof(one)
	assert.Error(t, err)
	_, err = s.Sizeof(arr)
	assert.Error(t, err)
	assert.NotPanics(t, func() {
		s.SkipID(one)
		s.SkipMods(one)
		s.TypeString(one)
		s.TypeString(arr)
		_, _ = s.ResolvePath(holder, "m.x")
		f, err := s.ResolvePath(holder, "n")
		assert.NoError(t, err)
		assert.EqualValues(t, 4, f.Offset())
		_, _ = s.ResolvePath(self, strings.Repeat("s.", 100)+"s")
		s.FormatString(holder, make([]byte, 8))
		s.FormatString(self, make([]byte, 4))
		rawOf(t, s)
		_ = dumpC(t, s, nil)
		Diff(s, s)
	})
}
