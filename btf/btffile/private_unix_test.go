//go:build unix

package btffile

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
)

// TestEntriesOfOthersAreNotRead: a well-formed entry with other types counts only in a directory
// that others cannot write to.
func TestEntriesOfOthersAreNotRead(t *testing.T) {
	c := NewCache(filepath.Join(t.TempDir(), "cache"), 0)
	path, entry := stored(t, c)
	b := btf.NewBuilder(nil)
	b.Struct("poison", 8)
	raw, err := b.Marshal(binary.LittleEndian)
	require.NoError(t, err)
	c.files.Put(filepath.Base(entry[:len(entry)-len(c.files.Suffix)]), raw)
	require.False(t, hasTask(t, c, path), "the entry is used while the directory is private")
	for name, change := range map[string]func() (undo func(), err error){
		"writable by all": func() (func(), error) {
			return func() { _ = os.Chmod(c.files.Path, 0o700) }, os.Chmod(c.files.Path, 0o777)
		},
		"owned by another user": func() (func(), error) {
			return func() { _ = os.Chown(c.files.Path, os.Geteuid(), -1) }, os.Chown(c.files.Path, 12345, -1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			undo, err := change()
			if err != nil {
				t.Skip("needs root: ", err)
			}
			defer undo()
			before, err := os.ReadFile(entry)
			require.NoError(t, err)
			assert.True(t, hasTask(t, c, path))
			after, err := os.ReadFile(entry)
			require.NoError(t, err)
			assert.Equal(t, before, after, "nothing is written there either")
		})
	}
}
