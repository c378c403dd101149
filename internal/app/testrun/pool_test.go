package testrun

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/kernels"
	"github.com/bpfrun/bpfrun/internal/scenario"
	"github.com/bpfrun/bpfrun/loader"
)

func TestPoolKeepsTheLastFewOpen(t *testing.T) {
	opened := map[string]int{}
	p := newPool(func(s kernels.Source) (*loader.Target, error) { opened[s.Path]++; return &loader.Target{}, nil }, nil)
	use := func(name string) *pooled {
		k := p.use(kernels.Source{Path: name})
		_, err := k.target()
		require.NoError(t, err)
		return k
	}
	held := use("held")
	for i := range 2 * idleKernels {
		p.release(use(fmt.Sprint(i)))
		assert.LessOrEqual(t, len(p.all), 1+idleKernels)
	}
	p.release(use(fmt.Sprint(2*idleKernels - 1)))
	assert.Equal(t, 1, opened[fmt.Sprint(2*idleKernels-1)], "one of the last is still open")
	p.release(use("0"))
	assert.Equal(t, 2, opened["0"], "the first was closed")
	assert.Same(t, held, use("held"), "what is used stays open")
	assert.Equal(t, 1, opened["held"])
}

func TestJobsOfManyKernelsRunKernelByKernel(t *testing.T) {
	jobs := func(kernelCount, files int) (out []*Job) {
		for f := range files {
			for k := range kernelCount {
				out = append(out, &Job{Source: kernels.Source{Path: fmt.Sprint(k)}, Seed: uint64(f)})
			}
		}
		return out
	}
	few := jobs(idleKernels, 2)
	assert.Equal(t, few, byKernel(few), "all stay open: files in order")
	many := jobs(idleKernels+1, 2)
	sorted := byKernel(many)
	for i, j := range sorted {
		assert.Equal(t, fmt.Sprint(i/2), j.Source.Path)
		assert.EqualValues(t, i%2, j.Seed, "of one kernel, files in order")
	}
	assert.Equal(t, "1", many[1].Source.Path, "the order for reports stays")
}

// Runners are kept until the bound on their memory is reached.
func TestRunnersAreKeptWithinABound(t *testing.T) {
	file, err := scenario.ParseFile("../../../examples/exec/exec.yaml")
	require.NoError(t, err)
	obj, err := loader.Open(file.Object)
	require.NoError(t, err)
	spec, err := embedded.Spec()
	require.NoError(t, err)
	r, err := scenario.Open(file, obj, loader.NewTarget(embedded.Name, spec), scenario.Options{})
	require.NoError(t, err)
	defer r.Close()
	p := newPool(nil, nil)
	kept := 0
	for p.keep(r) {
		kept++
	}
	assert.Greater(t, kept, 8)
	assert.LessOrEqual(t, uint64(kept)*r.Machine().Kernel().Mem().Used(), uint64(keptMemory))
}

// TestEachTestOfAnObjectIsTold: whether it failed, as its case says.
func TestEachTestOfAnObjectIsTold(t *testing.T) {
	spec, err := embedded.Spec()
	require.NoError(t, err)
	obj, err := loader.Open("../../../testdata/objects/clang-14/intest_xdp.o")
	require.NoError(t, err)
	for name, only := range map[string]func(string) bool{"all": func(string) bool { return true }, "none": func(string) bool { return false }} {
		jobs := Jobs([]Chosen{{Input: Input{Object: obj, Path: "x.o"}, Tests: only}}, [][]kernels.Source{{{Path: "embedded"}}}, Plan{
			Seeds: 1, Open: func(kernels.Source) (*loader.Target, error) { return loader.NewTarget(embedded.Name, spec), nil },
		})
		require.Len(t, jobs, 1)
		var told, failed []bool
		jobs[0].run(t.Context(), RunOptions{Done: func(f bool) { told = append(told, f) }})
		for _, c := range jobs[0].Suite.Cases {
			failed = append(failed, len(c.Failures) > 0)
		}
		assert.Equal(t, failed, told, name)
		if name == "all" {
			assert.Contains(t, told, false)
		} else {
			assert.Empty(t, told)
		}
	}
}
