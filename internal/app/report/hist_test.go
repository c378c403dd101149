package report_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

func counted(t *testing.T, cpus ...int) *report.RunDocument {
	t.Helper()
	o, err := loader.Open("../../../testdata/objects/clang-14/hists.o")
	require.NoError(t, err)
	spec, err := embedded.Spec()
	require.NoError(t, err)
	l, err := o.Load(loader.NewTarget("6.12", spec), loader.LoadOptions{})
	require.NoError(t, err)
	m, err := machine.New(l, machine.Config{CPUs: 2})
	require.NoError(t, err)
	defer m.Close()
	d := report.NewRunDocument(l, "")
	for _, cpu := range cpus {
		res, err := m.Run(t.Context(), "count", machine.Input{CPU: cpu})
		require.NoError(t, err)
		d.Add(m, res)
	}
	d.Finish(m)
	return d
}

// Arrays are histograms by their types: a member named slots, and the only array of a struct whose
// name says so; nested, in arrays, per CPU, in variables.
func TestHistogramsAreKnownByType(t *testing.T) {
	d := counted(t, 0, 0, 1)
	found := map[string]map[int]uint64{}
	for _, h := range d.Histograms {
		some := map[int]uint64{}
		for slot, n := range h.Slots {
			if n > 0 {
				some[slot] = n
			}
		}
		found[h.Map+"|"+h.Key+"|"+h.Path] = some
		assert.Equal(t, "count", h.Program)
	}
	assert.Equal(t, map[string]map[int]uint64{
		"delays|0|.counts":     {10: 9, 39: 3}, // of both CPUs
		"disks|8|.reads.slots": {3: 1},
		"||by_cpu[2].slots":    {0: 15, 2: 3},
	}, found)
}

func TestHistogramsLookAsInBpftrace(t *testing.T) {
	var b strings.Builder
	require.NoError(t, report.WriteTable(&b, counted(t, 0), report.TableOptions{}))
	bar := func(n int) string { return strings.Repeat("@", n) + strings.Repeat(" ", 52-n) }
	for _, want := range []string{
		"\nby_cpu[2].slots\n[0, 2)                 5 |" + bar(52) + "|\n[2, 4)                 0 |" + bar(0) + "|\n[4, 8)                 1 |" + bar(10) + "|\n",
		"\ndelays[0].counts\n[1K, 2K)               3 |" + bar(52) + "|\n[2K, 4K) ", "\n[512G, 1T)             1 |" + bar(17) + "|\n",
		"\ndisks[8].reads.slots\n[8, 16)                1 |" + bar(52) + "|\n",
	} {
		assert.Contains(t, b.String(), want)
	}
	b.Reset()
	require.NoError(t, report.WriteTable(&b, counted(t, 0), report.TableOptions{Quiet: true}))
	assert.NotContains(t, b.String(), "@@")
}
