package check

import (
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The raw tests of the kernel's own selftests are not part of the repository. BPFRUN_BTF_RAW names
// a file with them, a line each: 1 when BPF_BTF_LOAD refuses or 0, tab, description, tab, the BTF
// in hexadecimal.
func TestKernelSelftests(t *testing.T) {
	name := os.Getenv("BPFRUN_BTF_RAW")
	if name == "" {
		t.Skip("BPFRUN_BTF_RAW names no file with the kernel's raw tests")
	}
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	n := 0
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		require.Len(t, f, 3)
		raw, err := hex.DecodeString(f[2])
		require.NoError(t, err)
		p := BTF(raw, Options{Release: r(6, 12)})
		if (p != nil) != (f[0] == "1") {
			t.Errorf("%s: refused by the kernel %s, ours: %v", f[1], f[0], p)
		}
		n++
	}
	t.Logf("%d tests", n)
}
