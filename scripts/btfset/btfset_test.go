package main

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
)

// Ids and order do not count; members and what they lead to do.
func TestCompare(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, build func(b *btf.Builder)) string {
		b := btf.NewBuilder(nil)
		build(b)
		raw, err := b.Marshal(binary.LittleEndian)
		require.NoError(t, err)
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, raw, 0o600))
		return path
	}
	pair := func(b *btf.Builder, number btf.ID) {
		ptr := b.Add(btf.Type{Kind: btf.KindPtr, Ref: number})
		b.Add(btf.Type{Kind: btf.KindStruct, Name: "pair", Size: 16, Members: []btf.Member{{Name: "a", Type: ptr}, {Name: "b", Type: ptr, BitOffset: 64}}})
	}
	one := write("one", func(b *btf.Builder) { pair(b, b.Int("int", 4, btf.IntSigned)); b.Int("char", 1, 0) })
	other := write("other", func(b *btf.Builder) { b.Int("char", 1, 0); pair(b, b.Int("int", 4, btf.IntSigned)) })
	changed := write("changed", func(b *btf.Builder) { pair(b, b.Int("char", 1, 0)); b.Int("int", 4, btf.IntSigned) })
	equal, err := compare("", one, other, 5)
	require.NoError(t, err)
	assert.True(t, equal)
	equal, err = compare("", one, changed, 5)
	require.NoError(t, err)
	assert.False(t, equal)
	_, err = compare("", one, filepath.Join(dir, "none"), 5)
	assert.Error(t, err)
}
