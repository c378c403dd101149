package scenario

import (
	"context"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

func benchRunner(tb testing.TB) *Runner {
	text, err := os.ReadFile("../../examples/exec/exec.yaml")
	require.NoError(tb, err)
	f, err := Parse("../../examples/exec/exec.yaml", text)
	require.NoError(tb, err)
	obj, err := loader.Open(f.Object)
	require.NoError(tb, err)
	spec, err := embedded.Spec()
	require.NoError(tb, err)
	r, err := Open(f, obj, loader.NewTarget(embedded.Name, spec), Options{Config: machine.Config{Seed: 1}})
	require.NoError(tb, err)
	tb.Cleanup(r.Close)
	return r
}

// BenchmarkRun is one run of a scenario: the machine brought back, the program of about a hundred
// instructions run with its helpers, and its expectations judged.
func BenchmarkRun(b *testing.B) {
	r := benchRunner(b)
	run := r.file.Runs[0]
	b.ReportAllocs()
	for b.Loop() {
		r.Reset()
		res, err := r.One(context.Background(), run)
		if err != nil || !res.Passed() {
			b.Fatal(err, res.Failed())
		}
	}
}

// BenchmarkOpen is what a file costs before its first run.
func BenchmarkOpen(b *testing.B) {
	r := benchRunner(b)
	l := r.m.Linked()
	b.ReportAllocs()
	for b.Loop() {
		x, err := Open(r.file, l.Object, l.Target, Options{Config: machine.Config{Seed: 1, Types: r.m.Kernel().Types()}})
		if err != nil {
			b.Fatal(err)
		}
		x.Close()
	}
}

// TestMemoryIsFlat: a thousand runs need no more memory than a hundred.
func TestMemoryIsFlat(t *testing.T) {
	r := benchRunner(t)
	heap := func(runs int) uint64 {
		for range runs {
			r.Reset()
			res, err := r.One(context.Background(), r.file.Runs[0])
			require.NoError(t, err)
			require.True(t, res.Passed())
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap(100)
	after := heap(1000)
	require.Less(t, after, before+1<<20)
}
