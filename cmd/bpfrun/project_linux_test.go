package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestProjectFilesOfOtherUsers: one that anybody may have put there does nothing, another one is
// told.
func TestProjectFilesOfOtherUsers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make files of other users")
	}
	t.Setenv(projectVariable, "")
	object, err := filepath.Abs(execObject)
	require.NoError(t, err)
	dir := t.TempDir()
	path := filepath.Join(dir, "bpfrun.yaml")
	require.NoError(t, os.WriteFile(path, []byte("flags: {output: x}\n"), 0o644)) // refused where it is read
	require.NoError(t, os.Chown(path, 12345, -1))
	t.Chdir(dir)
	for _, c := range []struct {
		mode os.FileMode
		code int
		note string
	}{
		{0o755, exitUsage, "bpfrun.yaml belongs to another user: its kernels, flags and thresholds apply (BPFRUN_PROJECT=off uses no project file)"},
		{0o777 | os.ModeSticky, exitOK, "bpfrun.yaml is not used: it belongs to another user, in a directory where everybody may put files (BPFRUN_PROJECT=bpfrun.yaml uses it)"},
	} {
		require.NoError(t, os.Chmod(dir, c.mode))
		var stdout, stderr bytes.Buffer
		assert.Equal(t, c.code, run([]string{"verify", object, "--btf", "embedded"}, &stdout, &stderr))
		assert.Contains(t, stderr.String(), c.note)
	}
	t.Setenv(projectVariable, path)
	var stdout, stderr bytes.Buffer
	assert.Equal(t, exitUsage, run([]string{"verify", object, "--btf", "embedded"}, &stdout, &stderr), "it is trusted")
	assert.NotContains(t, stderr.String(), "another user")
}
