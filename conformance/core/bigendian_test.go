package core

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/corerelo"
	"github.com/bpfrun/bpfrun/loader"
)

// relocationsOf links an object for a target of either byte order and lists function, record and
// result of each relocation; the left shifts of bitfields, which depend on the byte order of the
// object, are left out, and what is asked more than once: the macros for bitfields ask for the size
// once more on big-endian machines.
func relocationsOf(t *testing.T, object, types string) []string {
	o, err := loader.Open(object)
	require.NoError(t, err)
	spec, err := btffile.Load(types, nil)
	require.NoError(t, err)
	l, err := o.Load(loader.NewTarget(filepath.Base(types), spec), loader.LoadOptions{AnyByteOrder: true})
	require.NoError(t, err)
	var out []string
	for _, f := range l.Functions {
		for i := range f.Relocs {
			r := &f.Relocs[i]
			if r.Kind == corerelo.FieldLShiftU64 {
				continue
			}
			line := fmt.Sprintf("%s %s %s %s %d %d %v", f.Name, r.Kind, r.Local.Field(), r.Access, r.Result.Orig, r.Result.New, r.Poisoned())
			if !slices.Contains(out, line) {
				out = append(out, line)
			}
		}
	}
	slices.Sort(out)
	return out
}

// TestBigEndian relocates objects of big-endian machines against BTF of big-endian machines: the
// probes against targets compiled like them, an example against s390x. But for the left shifts of
// bitfields the results are those of the little-endian object, which are libbpf's. The shifts are
// judged by what they read (conformance TestFeatures F13).
func TestBigEndian(t *testing.T) {
	n := 0
	for _, probe := range []string{"arrays", "bitfields", "letters"} {
		targets, err := filepath.Glob(data + "core/btf-eb/" + probe + ".*.btf")
		require.NoError(t, err)
		require.NotEmpty(t, targets)
		for _, target := range targets {
			big := relocationsOf(t, data+"core/clang-22-eb/"+probe+".o", target)
			small := relocationsOf(t, data+"core/clang-22/"+probe+".o", data+"core/btf/"+filepath.Base(target))
			assert.Equal(t, small, big, target)
			n += len(big)
		}
	}
	kernel := data + "btf/eb/linux-6.12.107-s390x.min.btf"
	big := relocationsOf(t, data+"objects/clang-22-eb/guarded.o", kernel)
	assert.Len(t, big, 12)
	assert.Equal(t, relocationsOf(t, "../../examples/guarded/guarded.bpf.o", kernel), big)
	assert.Greater(t, n, 100)

	if dir := os.Getenv("BPFRUN_CORPUS"); dir != "" {
		whole := filepath.Join(dir, "btf", "linux-6.12.107-s390x.btf.xz")
		if _, err := os.Stat(whole); err == nil {
			assert.Equal(t, big, relocationsOf(t, data+"objects/clang-22-eb/guarded.o", whole), "the whole kernel's types")
		}
	}
	spec, err := btffile.Load(kernel, nil)
	require.NoError(t, err)
	o, err := loader.Open("../../examples/guarded/guarded.bpf.o")
	require.NoError(t, err)
	_, err = o.Load(loader.NewTarget("", spec), loader.LoadOptions{})
	assert.ErrorIs(t, err, loader.ErrByteOrder)
}
