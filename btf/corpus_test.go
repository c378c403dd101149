package btf

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/ulikunitz/xz"
)

// corpus returns the files that match pattern below the directory that
// BPFRUN_CORPUS names, or skips the test.
func corpus(t testing.TB, pattern string) []string {
	t.Helper()
	dir := os.Getenv("BPFRUN_CORPUS")
	if dir == "" {
		t.Skip("BPFRUN_CORPUS is not set: no BTF of real kernels to test with")
	}
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skip("no files match " + pattern + " in BPFRUN_CORPUS")
	}
	return files
}

// kernelBTF returns the raw BTF of the kernel whose file name holds part.
func kernelBTF(t testing.TB, part string) []byte {
	t.Helper()
	for _, f := range corpus(t, "btf/*.btf.xz") {
		if strings.Contains(f, part) {
			return unxz(t, f)
		}
	}
	t.Skip("no BTF of " + part + " in BPFRUN_CORPUS")
	return nil
}

// unxz returns the content of an .xz file.
func unxz(t testing.TB, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	r, err := xz.NewReader(f)
	require.NoError(t, err)
	data, err := io.ReadAll(r)
	require.NoError(t, err)
	return data
}

// loadXZ is [Load] for an .xz file.
func loadXZ(t testing.TB, path string, base *Spec) *Spec {
	t.Helper()
	s, err := LoadBytes(filepath.Base(path), unxz(t, path), base)
	require.NoError(t, err)
	return s
}
