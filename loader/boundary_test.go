package loader

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/embedded"
)

// TestRangesOfKconfigValues: for each width and sign the last value that fits and the first that does not.
func TestRangesOfKconfigValues(t *testing.T) {
	b := btf.NewBuilder(nil)
	unsigned, signed := b.Int("u", 4, 0), b.Int("s", 4, btf.IntSigned)
	raw, err := b.Marshal(binary.LittleEndian)
	require.NoError(t, err)
	spec, err := btf.Parse(raw, nil)
	require.NoError(t, err)
	for _, c := range []struct {
		form kcfgForm
		size uint32
		typ  btf.ID
		n    uint64
		fits bool
	}{
		{kcfgBool, 1, unsigned, 0, true}, {kcfgBool, 1, unsigned, 1, true}, {kcfgBool, 1, unsigned, 2, false},
		{kcfgInt, 1, unsigned, 255, true}, {kcfgInt, 1, unsigned, 256, false}, {kcfgInt, 1, unsigned, math.MaxUint64, false},
		{kcfgInt, 4, unsigned, math.MaxUint32, true}, {kcfgInt, 4, unsigned, math.MaxUint32 + 1, false},
		{kcfgInt, 1, signed, 127, true}, {kcfgInt, 1, signed, 128, false}, {kcfgInt, 1, signed, ^uint64(127), true}, {kcfgInt, 1, signed, ^uint64(128), false},
		{kcfgInt, 4, signed, math.MaxInt32, true}, {kcfgInt, 4, signed, math.MaxInt32 + 1, false},
		{kcfgInt, 8, unsigned, math.MaxUint64, true},
	} {
		e := &LinkedExtern{Extern: &Extern{Size: c.size, form: c.form}}
		assert.Equal(t, c.fits, e.inRange(c.n, spec.MustType(c.typ)), "%+v", c)
	}
}

// TestArenaVariablesMoveWithTheRelease: they are at the beginning of an arena before 7.0, and at its end from 7.0 on.
func TestArenaVariablesMoveWithTheRelease(t *testing.T) {
	path := filepath.Join("..", "testdata", "objects", "clang-22-v4", "arena.o")
	if _, err := os.Stat(path); err != nil {
		t.Skip(err)
	}
	obj, err := Open(path)
	require.NoError(t, err)
	spec, err := embedded.Spec()
	require.NoError(t, err)
	for version, atEnd := range map[uint32]bool{kernelVersion(6, 19): false, kernelVersion(6, 19) + 200: false, kernelVersion(7, 0): true, kernelVersion(7, 1): true} {
		linked, err := obj.Load(NewTarget("x", spec, WithVersion(version)), LoadOptions{LinkOnly: true})
		require.NoError(t, err)
		found := false
		for _, m := range linked.Maps {
			if m.DataKind != DataArena {
				continue
			}
			found = true
			used := (uint64(len(m.Data)) + pageSize - 1) / pageSize * pageSize
			want := uint64(0)
			if atEnd {
				want = uint64(m.MaxEntries)*pageSize - used
			}
			assert.Equal(t, want, m.ArenaOffset, "%#x", version)
		}
		require.True(t, found)
	}
}
