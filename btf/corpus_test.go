package btf

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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
			data, err := os.ReadFile(f)
			require.NoError(t, err)
			c, err := unpack(data)
			require.NoError(t, err)
			return c.raw
		}
	}
	t.Skip("no BTF of " + part + " in BPFRUN_CORPUS")
	return nil
}
