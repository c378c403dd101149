package corerelo

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/btffile"
)

// benchObject opens a real object and kernel.
func benchObject(b *testing.B, path string) (*object, *btf.Spec) {
	dir := corpusDir(b)
	target, err := btffile.Load(filepath.Join(dir, "btf", "linux-6.18.44-amd64.btf.xz"), nil)
	require.NoError(b, err)
	o := openObject(b, filepath.Join(dir, "objects", "debian-bookworm", path))
	o.relocate(path, "", target) // fills the indexes of the BTF
	return o, target
}

func BenchmarkSmallObject(b *testing.B) {
	o, target := benchObject(b, "libbpf-tools/biolatency.o")
	b.ReportMetric(float64(len(o.records)), "records")
	b.ResetTimer()
	for range b.N {
		r := NewResolver(o.local, Target{BTF: target})
		for _, rec := range o.records {
			_, _ = r.Resolve(rec.Record)
		}
	}
}

// BenchmarkManyRecords resolves 35,000 records, as the largest objects have.
func BenchmarkManyRecords(b *testing.B) {
	o, target := benchObject(b, "libbpf-tools/bindsnoop.o")
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		r := NewResolver(o.local, Target{BTF: target})
		for i := range 35000 {
			_, _ = r.Resolve(o.records[i%len(o.records)].Record)
		}
	}
}
