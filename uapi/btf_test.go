package uapi_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/uapi"
)

// TestNumbersAreThoseOfBTF compares the tables with the enumerators of the newest kernel whose BTF is in the tree: every number it has is here, by the same
// name.
func TestNumbersAreThoseOfBTF(t *testing.T) {
	spec, err := btffile.Load(filepath.Join("..", "testdata", "btf", "linux-7.2.13-amd64.btf.xz"), nil)
	require.NoError(t, err)
	for _, tt := range []struct {
		enum, prefix, ours string
		name               func(v uint32) string
		least              int
	}{
		{"bpf_prog_type", "BPF_PROG_TYPE_", "", func(v uint32) string { return uapi.ProgType(v).String() }, 33},
		{"bpf_map_type", "BPF_MAP_TYPE_", "", func(v uint32) string { return uapi.MapType(v).String() }, 35},
		{"bpf_attach_type", "BPF_", "", func(v uint32) string { return uapi.AttachType(v).String() }, 58},
		{"bpf_func_id", "BPF_FUNC_", "bpf_", func(v uint32) string { return uapi.FuncID(v).String() }, 212},
	} {
		e, ok := spec.Find(btf.KindEnum, tt.enum)
		require.True(t, ok, tt.enum)
		numbers := map[uint32]bool{}
		names := map[string]bool{}
		for _, v := range e.Values {
			if !strings.HasPrefix(v.Name, "__") {
				numbers[uint32(v.Value)] = true
				names[tt.ours+strings.ToLower(strings.TrimPrefix(v.Name, tt.prefix))] = true
			}
		}
		assert.GreaterOrEqual(t, len(numbers), tt.least, tt.enum)
		for n := range numbers {
			assert.True(t, names[tt.name(n)], "%s %d is %q, which is not one of its names", tt.enum, n, tt.name(n))
		}
	}
}
