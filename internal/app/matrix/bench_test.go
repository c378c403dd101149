package matrix

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/loader"
)

// BenchmarkMatrix runs the objects of a package on the kernels of a corpus, from parsing raw BTF to
// the finished matrix. BPFRUN_CORPUS names the corpus.
func BenchmarkMatrix(b *testing.B) {
	dir := os.Getenv("BPFRUN_CORPUS")
	if dir == "" {
		b.Skip("BPFRUN_CORPUS is not set: no objects and kernels to measure with")
	}
	paths, err := filepath.Glob(filepath.Join(dir, "objects/debian-bookworm/libbpf-tools/*.o"))
	require.NoError(b, err)
	files, err := filepath.Glob(filepath.Join(dir, "btf/*.btf.xz"))
	require.NoError(b, err)
	if len(paths) == 0 || len(files) == 0 {
		b.Skip("BPFRUN_CORPUS has no objects or no BTF")
	}
	var objects []*loader.Object
	for _, p := range paths {
		o, err := loader.Open(p)
		require.NoError(b, err)
		objects = append(objects, o)
	}
	var ks []Kernel
	for _, f := range files {
		spec, err := btffile.Load(f, nil)
		require.NoError(b, err)
		raw, name := spec.Raw(), strings.TrimSuffix(filepath.Base(f), ".btf.xz")
		ks = append(ks, Kernel{Name: name, Open: func() (*loader.Target, error) {
			spec, err := btf.Parse(raw, nil)
			return loader.NewTarget(name, spec), err
		}})
	}
	b.ResetTimer()
	for b.Loop() {
		_, err := Run(b.Context(), objects, ks, Config{})
		require.NoError(b, err)
	}
	b.ReportMetric(float64(len(objects)*len(ks)), "machines/op")
}
