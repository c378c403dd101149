package ids

import (
	"bytes"
	"debug/elf"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The flags of kfuncs are the same before and after ids are resolved, when symbols stand at other
// entries.
func TestKfuncs(t *testing.T) {
	want := map[string]uint32{"zeta": 1<<0 | 1<<2, "last": 1 << 1, "alpha": 1 << 5}
	for _, name := range []string{"lists.o", "resolved.o"} {
		s, spec := read(t, name)
		got, err := s.Kfuncs(spec)
		require.NoError(t, err)
		assert.Equal(t, want, got, name)
		_, err = s.Kfuncs(nil)
		if name == "resolved.o" {
			assert.ErrorIs(t, err, ErrResolved)
		} else {
			assert.NoError(t, err)
		}
	}
}

// Before Linux 6.9 sets of kfuncs were not marked; once one set is marked, unmarked sets hold no
// kfuncs.
func TestUnmarkedSetsOfKfuncs(t *testing.T) {
	s, spec := read(t, "lists.o")
	set := &s.Groups[2]
	set.Flags = 0
	got, err := s.Kfuncs(spec)
	require.NoError(t, err)
	assert.Len(t, got, 3)
	s.Groups = append(s.Groups, Group{Kind: Set8, Name: "other", Flags: SetOfKfuncs})
	got, err = s.Kfuncs(spec)
	require.NoError(t, err)
	assert.Empty(t, got)
}

// A section that was read alone shows the same, and cannot be written.
func TestReadELF(t *testing.T) {
	b := file(t, "lists.o")
	f, err := elf.NewFile(bytes.NewReader(b))
	require.NoError(t, err)
	s, err := ReadELF(f)
	require.NoError(t, err)
	whole, spec := read(t, "lists.o")
	assert.Equal(t, whole.Groups, s.Groups)
	_, _, err = s.Resolve(spec)
	assert.ErrorIs(t, err, ErrNotELF)
}
