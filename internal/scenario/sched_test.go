package scenario

import (
	"context"
	"testing"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/subsys/sched/schedule"
	"github.com/bpfrun/bpfrun/internal/testing/testbtf"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSiblingsApart: a scheduler that knows CPUs by cid sees the CPUs of a core side by side,
// however they are numbered.
func TestSiblingsApart(t *testing.T) {
	const kernel = "../../testdata/btf/linux-7.2.13-amd64.btf.xz"
	for siblings, cpus := range map[string]string{"apart": "[0, 2, 1, 3]", "adjacent": "[0, 1, 2, 3]"} {
		f, err := Parse("s.yaml", []byte(`
kernel: {cpus: 4}
runs:
- sched:
    duration: 20ms
    smt: 2
    siblings: `+siblings+`
    tasks: {a: {do: [run 1ms, sleep 1ms]}}
  expect:
    globals: {wrong: 0, cpu_of: {0: `+cpus[1:2]+`, 1: `+cpus[4:5]+`, 2: `+cpus[7:8]+`, 3: `+cpus[10:11]+`}}
    sched: {calls: {select_cid: 10, set_cmask: 1}}
`))
		require.NoError(t, err)
		obj, err := loader.Open("../../testdata/objects/clang-14/schedcid.o")
		require.NoError(t, err)
		spec, err := testbtf.Load(kernel)
		require.NoError(t, err)
		r, err := Open(f, obj, loader.NewTarget(kernel, spec), Options{Config: machine.Config{Seed: 1, Simulates: []string{"sched"}}})
		require.NoError(t, err)
		results, err := r.All(context.Background(), nil)
		require.NoError(t, err)
		require.Len(t, results, 1)
		assert.Empty(t, failures(results[0]), siblings)
		assert.NotZero(t, results[0].Simulation.(*schedule.Result).Calls["select_cid"])
		r.Close()
	}
}
