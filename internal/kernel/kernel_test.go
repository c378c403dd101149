package kernel

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/testing/testbtf"
)

// targetBTF is a kernel the tests run on.
type targetBTF struct {
	name  string
	spec  *btf.Spec
	types *object.Types
}

// targets returns the embedded kernel, those in testdata and those of the optional corpus.
var targets = sync.OnceValue(func() []targetBTF {
	spec, err := embedded.Spec()
	if err != nil {
		panic(err)
	}
	out := []targetBTF{{embedded.Name, spec, object.NewTypes()}}
	globs := []string{"../../testdata/btf/*.btf.xz"}
	if dir := os.Getenv("BPFRUN_CORPUS"); dir != "" {
		globs = append(globs, filepath.Join(dir, "btf", "*.btf.xz"))
	}
	seen := map[string]bool{embedded.Name: true}
	for _, g := range globs {
		files, _ := filepath.Glob(g)
		for _, f := range files {
			name := strings.TrimSuffix(filepath.Base(f), ".btf.xz")
			if seen[name] {
				continue
			}
			seen[name] = true
			s, err := testbtf.Load(f)
			if err != nil {
				panic(err)
			}
			out = append(out, targetBTF{name, s, object.NewTypes()})
		}
	}
	return out
})

// onTargets runs a test on every kernel.
func onTargets(t *testing.T, f func(t *testing.T, b targetBTF)) {
	t.Helper()
	for _, b := range targets() {
		t.Run(b.name, func(t *testing.T) { f(t, b) })
	}
}

// newKernel makes a kernel that is closed with the test.
func newKernel(t testing.TB, b targetBTF, change ...func(*Config)) *Kernel {
	t.Helper()
	m, err := mem.New(mem.Config{PointerSize: b.spec.PointerSize(), ByteOrder: b.spec.ByteOrder(), Size: 64 << 20})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	cfg := Config{Mem: m, BTF: b.spec, Types: b.types, Seed: 1}
	for _, c := range change {
		c(&cfg)
	}
	k, err := New(cfg)
	require.NoError(t, err)
	return k
}

// newEmbedded makes a kernel of the embedded BTF.
func newEmbedded(t testing.TB, change ...func(*Config)) *Kernel {
	t.Helper()
	return newKernel(t, targets()[0], change...)
}

// uintAt reads a field and fails the test when there is none.
func uintAt(t testing.TB, o *object.Object, path string) uint64 {
	t.Helper()
	v, err := o.Uint(path)
	require.NoError(t, err)
	return v
}
