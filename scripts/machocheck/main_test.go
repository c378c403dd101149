package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/bpfrun/bpfrun/internal/testing/testsize"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What Go's linker makes for macOS is found right, and a changed byte is found in the signed one.
func TestCheck(t *testing.T) {
	if !testsize.Long() {
		t.Skip("compiles Go's runtime for macOS twice; BPFRUN_LONG=1 runs it (make test-long)")
	}
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	require.NoError(t, os.WriteFile(source, []byte("package main\n\nfunc main() { println(1) }\n"), 0o600))
	for arch, want := range map[string]string{"arm64": "CpuArm64, signed ad hoc, [0-9]+ pages, macOS .* or later, go", "amd64": "CpuAmd64, .*macOS .* or later"} {
		file := filepath.Join(dir, arch)
		cmd := exec.Command("go", "build", "-o", file, source)
		cmd.Env = append(os.Environ(), "GOOS=darwin", "GOARCH="+arch, "CGO_ENABLED=0")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		text, err := check(file)
		require.NoError(t, err)
		assert.Regexp(t, want, text)
	}
	data, err := os.ReadFile(filepath.Join(dir, "arm64"))
	require.NoError(t, err)
	data[5000] ^= 1
	damaged := filepath.Join(dir, "damaged")
	require.NoError(t, os.WriteFile(damaged, data, 0o600))
	_, err = check(damaged)
	assert.ErrorContains(t, err, "differs from its hash")
	_, err = check(source)
	assert.Error(t, err)
}
