//go:build unix

package project

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFilesOfOtherUsersAreToldApart(t *testing.T) {
	path := write(t, filepath.Join(t.TempDir(), Name), "build: make")
	assert.True(t, (&File{Path: path}).Own())
	other := "/etc/passwd"
	if os.Geteuid() == 0 {
		require.NoError(t, os.Chown(path, 12345, -1))
		other = path
	}
	assert.False(t, (&File{Path: other}).Own())
	assert.False(t, (&File{Path: path + ".none"}).Own())
}

func TestDirectoriesThatAllShareAreToldApart(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o755))
	assert.False(t, (&File{Path: filepath.Join(dir, Name)}).Shared())
	require.NoError(t, os.Chmod(dir, 0o777|os.ModeSticky))
	assert.True(t, (&File{Path: filepath.Join(dir, Name)}).Shared())
}
