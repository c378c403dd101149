package machine

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/loader"
)

// TestLongRunsBecomeNative: a tracked run leaves the interpreter where its beginning ends, and ends
// as it would have there.
func TestLongRunsBecomeNative(t *testing.T) {
	if !NativeCode() {
		t.Skip("no native code on this system")
	}
	spec, err := embedded.Spec()
	require.NoError(t, err)
	obj, err := loader.Open("../debug/testdata/long.o")
	require.NoError(t, err)
	linked, err := obj.Load(loader.NewTarget(embedded.Name, spec), loader.LoadOptions{})
	require.NoError(t, err)
	var want *Result
	for _, tt := range []struct {
		engine Engine
		in     Input
		native func(all uint64) (least, most uint64)
	}{
		{EngineInterpreter, Input{}, func(uint64) (uint64, uint64) { return 0, 0 }},
		{EngineJIT, Input{}, func(all uint64) (uint64, uint64) { return all - trackedInsns - 20000, all - trackedInsns }},
		{EngineJIT, Input{IgnoreUnset: true}, func(all uint64) (uint64, uint64) { return all - 20000, all }},
	} {
		m, err := New(linked, Config{Engine: tt.engine})
		require.NoError(t, err)
		res, err := m.Run(context.Background(), "loop", tt.in)
		require.NoError(t, err)
		require.Equal(t, StatusOK, res.Status)
		if want == nil {
			want = res
		}
		assert.Equal(t, want.Insns, res.Insns)
		assert.Equal(t, want.Ret, res.Ret)
		least, most := tt.native(res.Insns)
		got := m.executedNatively()
		assert.GreaterOrEqual(t, got, least)
		assert.LessOrEqual(t, got, most)
		m.Close()
	}
	assert.Greater(t, want.Insns, uint64(2*trackedInsns))
}

// TestTrackedRuns: with native code all runs of a program find leaks until they have cost much, few of
// those after them; all do if the machine is asked for it.
func TestTrackedRuns(t *testing.T) {
	if !NativeCode() {
		t.Skip("no native code on this system")
	}
	spec, err := embedded.Spec()
	require.NoError(t, err)
	obj, err := loader.Open("../../testdata/objects/clang-14/leaks.o")
	require.NoError(t, err)
	linked, err := obj.Load(loader.NewTarget(embedded.Name, spec), loader.LoadOptions{})
	require.NoError(t, err)
	for _, c := range []struct {
		name    string
		tracked bool
		spent   uint64
		want    int
	}{
		{"short programs", false, 0, 2 * trackedRuns},
		{"long programs", false, trackedTotal, trackedRuns},
		{"all that are left", false, trackedTotal - 1, trackedRuns + 1},
		{"asked for", true, trackedTotal, 2 * trackedRuns},
	} {
		m, err := New(linked, Config{Engine: EngineJIT, Restores: true, Tracked: c.tracked})
		require.NoError(t, err)
		start, found := m.Snapshot(), 0
		for i := range 2 * trackedRuns {
			if i == trackedRuns {
				m.byName["record"].tracking.insns = c.spent
			}
			m.Restore(start)
			res, err := m.Run(context.Background(), "record", Input{})
			require.NoError(t, err)
			if len(res.Findings) > 0 {
				found++
			}
		}
		assert.Equal(t, c.want, found, c.name)
		m.Close()
	}
}
