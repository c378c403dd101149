package race

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// covering makes a machine that records coverage, as [Prepare] needs it.
func covering(t *testing.T, file string) *machine.Machine {
	t.Helper()
	obj, err := loader.Open(file)
	require.NoError(t, err)
	spec, err := embedded.Spec()
	require.NoError(t, err)
	linked, err := obj.Load(loader.NewTarget("6.12", spec), loader.LoadOptions{})
	require.NoError(t, err)
	m, err := machine.New(linked, machine.Config{Unwatched: true, Restores: true, MaxInsns: 1 << 20})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	return m
}

// TestPreparingIsTheSameEveryTime: no clock ends it.
func TestPreparingIsTheSameEveryTime(t *testing.T) {
	var all [][]string
	for range 2 {
		m := covering(t, "testdata/clang-19/own.o")
		Warm(m)
		p, err := Prepare(context.Background(), m, nil, time.Time{})
		require.NoError(t, err)
		require.Zero(t, p.Left)
		list := slices.Clone(p.producers)
		for _, name := range slices.Sorted(maps.Keys(p.inputs)) {
			list = append(list, name+": "+strings.Join(p.inputs[name].text, ", "))
		}
		all = append(all, list)
	}
	require.NotEmpty(t, all[0])
	assert.Equal(t, all[0], all[1])
	m := covering(t, "testdata/clang-19/own.o")
	p, err := Prepare(context.Background(), m, nil, time.Now().Add(-time.Second))
	require.NoError(t, err)
	assert.Equal(t, len(m.Linked().Programs), p.Left, "the time was over, and it says so")
}

// TestANumberOfOrdersEndsASearch: at the same order each time, over all states.
func TestANumberOfOrdersEndsASearch(t *testing.T) {
	m := machineOf(t, "testdata/clang-19/wrong.o", 0)
	meeting := Meetings(m, []string{"torn_copy"}, Kernel{Version: 6<<16 | 12<<8})[0]
	whole, err := Explore(context.Background(), m, meeting, Config{Preemptions: 2})
	require.NoError(t, err)
	require.True(t, whole.Complete)
	for range 2 {
		r, err := Explore(context.Background(), m, meeting, Config{Preemptions: 2, Most: whole.Orders / 2})
		require.NoError(t, err)
		assert.False(t, r.Complete)
		assert.LessOrEqual(t, r.Orders, whole.Orders/2)
		assert.Greater(t, r.Orders, whole.Orders/4)
	}
	r, err := Explore(context.Background(), m, meeting, Config{Preemptions: 2, Random: 10, Most: 10 * whole.Orders})
	require.NoError(t, err)
	assert.True(t, r.Complete)
}

// TestWhatOnlyOtherInputsAndStatesShowIsFound: a packet that is not the default one, elements that
// another program adds, elements of user space.
func TestWhatOnlyOtherInputsAndStatesShowIsFound(t *testing.T) {
	for _, c := range compilers {
		m, other := machineOf(t, filepath.Join("testdata", c, "reach.o"), 0), covering(t, filepath.Join("testdata", c, "reach.o"))
		Warm(m)
		Warm(other)
		prepared, err := Prepare(context.Background(), other, nil, time.Time{})
		require.NoError(t, err)
		assert.Equal(t, []string{"begins"}, prepared.producers)
		for _, tt := range []struct {
			program, text, input string
			before               []string
		}{
			{"of_six", "an update of six is lost", "packet eth.type = ip6", nil},
			{"ends", "an update of took is lost", "", []string{"begins"}},
			{"by_rule", "an update of matched is lost", "rules[3].mode = 5", nil},
			{"by_tenant", "an update of tenants[2] is lost", "tenants[2] inserted", nil},
		} {
			cfg := Config{Preemptions: 2}
			for _, meeting := range Meetings(m, []string{tt.program}, Kernel{Version: 6<<16 | 12<<8}) {
				r, err := Explore(context.Background(), m, meeting, cfg)
				require.NoError(t, err)
				assert.Empty(t, r.Findings, "%s: %s with the default input", c, tt.program)
				cfg.Prepared = prepared
				r, err = Explore(context.Background(), m, meeting, cfg)
				require.NoError(t, err)
				i := slices.IndexFunc(r.Findings, func(f Finding) bool { return strings.HasPrefix(f.Text, tt.text) })
				if assert.GreaterOrEqual(t, i, 0, "%s: %s: %v", c, tt.program, texts(r.Findings)) {
					f := r.Findings[i]
					assert.Contains(t, strings.Join(f.Inputs, ", "), tt.input)
					if tt.before != nil {
						assert.Equal(t, tt.before, f.Before)
					}
				}
				cfg.Prepared = nil
			}
		}
	}
}
