package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestOnlyFilesAreReplaced: an existing file keeps its mode, a pipe or device is written to in
// place, and a write that fails leaves no file behind.
func TestOnlyFilesAreReplaced(t *testing.T) {
	dir := t.TempDir()
	write := func(w io.Writer) error {
		_, err := io.WriteString(w, "new")
		return err
	}
	file, link := filepath.Join(dir, "f"), filepath.Join(dir, "l")
	require.NoError(t, os.WriteFile(file, []byte("old"), 0o600))
	require.NoError(t, os.Symlink(file, link))
	require.NoError(t, writeFileMode(link, 0o644, write))
	info, err := os.Lstat(link)
	require.NoError(t, err)
	assert.NotZero(t, info.Mode()&os.ModeSymlink)
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "new", string(data))
	info, err = os.Stat(file)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	pipe := filepath.Join(dir, "p")
	require.NoError(t, unix.Mkfifo(pipe, 0o600))
	reader, err := os.OpenFile(pipe, os.O_RDWR, 0)
	require.NoError(t, err)
	defer reader.Close()
	require.NoError(t, writeFileMode(pipe, 0o644, write))
	info, err = os.Lstat(pipe)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeNamedPipe, "it is still a pipe")
	got := make([]byte, 3)
	_, err = io.ReadFull(reader, got)
	require.NoError(t, err)
	assert.Equal(t, "new", string(got))
	require.Error(t, writeFileMode(file, 0o644, func(io.Writer) error { return assert.AnError }))
	names, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, names, 3, "nothing is left of what failed")
}
