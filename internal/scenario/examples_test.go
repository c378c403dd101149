package scenario

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/testing/testbtf"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/loader"
)

// exampleTargets are the kernels the examples run on: the embedded one and the full ones of the
// tree.
func exampleTargets(t testing.TB) []*loader.Target {
	spec, err := embedded.Spec()
	require.NoError(t, err)
	targets := []*loader.Target{loader.NewTarget(embedded.Name, spec)}
	full, err := filepath.Glob("../../testdata/btf/*.btf.xz")
	require.NoError(t, err)
	if dir := os.Getenv("BPFRUN_CORPUS"); dir != "" && !testing.Short() {
		more, err := filepath.Glob(filepath.Join(dir, "btf", "*.btf.xz"))
		require.NoError(t, err)
		full = append(full, more...)
	}
	for _, path := range full {
		spec, err := testbtf.Load(path)
		require.NoError(t, err)
		targets = append(targets, loader.NewTarget(filepath.Base(path), spec))
	}
	return targets
}

// TestExamplesOnEveryEngine: native code, as it runs at first and after long, does what the
// interpreter does.
func TestExamplesOnEveryEngine(t *testing.T) {
	files, err := filepath.Glob("../../examples/*/*.yaml")
	require.NoError(t, err)
	spec, err := embedded.Spec()
	require.NoError(t, err)
	target := loader.NewTarget(embedded.Name, spec)
	for _, path := range files {
		f, err := ParseFile(path)
		require.NoError(t, err)
		obj, err := loader.Open(f.Object)
		require.NoError(t, err)
		t.Run(filepath.Base(path), func(t *testing.T) {
			var want []*Result
			for _, engine := range []machine.Engine{machine.EngineInterpreter, machine.EngineJIT, machine.EngineBoth} {
				r, err := Open(f, obj, target, Options{Config: machine.Config{Seed: 1, Engine: engine, OnDifference: func(text string) { t.Error(text) }}})
				require.NoError(t, err)
				defer r.Close()
				results, err := r.All(context.Background(), nil)
				require.NoError(t, err)
				if want == nil {
					want = results
				}
				require.Equal(t, len(want), len(results))
				for i := range want {
					assert.Equal(t, want[i].Status, results[i].Status, "engine %d: %s", engine, want[i].Run.Name)
					assert.Equal(t, len(want[i].Failed()), len(results[i].Failed()), "engine %d: %s", engine, want[i].Run.Name)
				}
			}
		})
	}
}

// TestExamples runs the scenario files beside the examples on every full kernel.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob("../../examples/*/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	targets := exampleTargets(t)
	ran, verdicts := map[string]int{}, verifier.NewCache()
	for _, path := range files {
		f, err := ParseFile(path)
		require.NoError(t, err)
		obj, err := loader.Open(f.Object)
		require.NoError(t, err)
		for _, target := range targets {
			t.Run(filepath.Base(path)+"/"+target.Name, func(t *testing.T) {
				r, err := Open(f, obj, target, Options{Config: machine.Config{Seed: 1}, Verify: verdicts.Each(t.Context())})
				if errors.Is(err, loader.ErrByteOrder) {
					t.Skip("a kernel of the other byte order")
				}
				require.NoError(t, err)
				defer r.Close()
				results, err := r.All(context.Background(), nil)
				require.NoError(t, err)
				for _, res := range results {
					if !res.Skipped {
						ran[path]++
					}
					if res.Status == machine.StatusRefused && target.BTF.PointerSize() == 4 {
						t.Logf("%s: refused: 64-bit objects need not fit 32-bit kernels", res.Run.Name)
						continue
					}
					for _, e := range res.Failed() {
						assert.Fail(t, res.Run.Name, "%v: %v", e.Pos, e.String())
					}
					if t.Failed() {
						t.Logf("status %s, warnings %q, findings %v", res.Status, res.Warnings, res.Validation.Findings)
					}
				}
			})
		}
	}
	for _, path := range files {
		assert.NotZero(t, ran[path], "%s ran on no kernel", path)
	}
}
