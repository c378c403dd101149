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
	"github.com/bpfrun/bpfrun/internal/uapi"
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
			for _, in := range p.inputs[name] {
				if in != nil {
					list = append(list, name+": "+strings.Join(in.text, ", "))
				}
			}
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

// TestMeetingsComeInTheSameOrder: a number of orders is that of the same ones.
func TestMeetingsComeInTheSameOrder(t *testing.T) {
	names := func() (out []string) {
		for _, meeting := range Meetings(machineOf(t, "testdata/clang-19/right.o", uapi.ReleaseOf(newest.Version)), nil, newest) {
			out = append(out, meeting.Name)
		}
		return out
	}
	first := names()
	for range 20 {
		require.Equal(t, first, names())
	}
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
			{"begins ends_late", "ends_late uses starts[", "", []string{"begins"}},
			{"by_rule", "an update of matched is lost", "rules[3].mode = 5", nil},
			{"by_tenant", "an update of tenants[2] is lost", "tenants[2] inserted", nil},
		} {
			cfg := Config{Preemptions: 2}
			progs := strings.Fields(tt.program)
			for _, meeting := range Meetings(m, progs, Kernel{Version: 6<<16 | 12<<8}) {
				if len(progs) == 2 && meeting.Actors[0].Program == meeting.Actors[1].Program {
					continue
				}
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

// TestOtherWaysAndConstantsAreFound: what is not on the longest way, what only a constant of user
// space turns on, and an element that an event with another key would have left.
func TestOtherWaysAndConstantsAreFound(t *testing.T) {
	for _, c := range compilers {
		file := filepath.Join("testdata", c, "ways.o")
		m, other := machineOf(t, file, 0), covering(t, file)
		Warm(m)
		Warm(other)
		prepared, err := Prepare(context.Background(), other, nil, time.Time{})
		require.NoError(t, err)
		for program, want := range map[string]struct{ text, input string }{
			"by_constant": {"an update of counted is lost", "global config.on = 1"},
			"short_way":   {"an update of kept is lost", "packet ip.ttl = 9"},
			"answer":      {"an update of answered is lost", "map requests[8] inserted"},
		} {
			meeting := Meetings(m, []string{program}, Kernel{Version: 6<<16 | 12<<8})[0]
			r, err := Explore(context.Background(), m, meeting, Config{Preemptions: 2})
			require.NoError(t, err)
			assert.Empty(t, r.Findings, "%s: %s with the default input", c, program)
			r, err = Explore(context.Background(), m, meeting, Config{Preemptions: 2, Prepared: prepared})
			require.NoError(t, err)
			i := slices.IndexFunc(r.Findings, func(f Finding) bool { return strings.HasPrefix(f.Text, want.text) })
			if assert.GreaterOrEqual(t, i, 0, "%s: %s: %v", c, program, texts(r.Findings)) {
				assert.Contains(t, strings.Join(r.Findings[i].Inputs, ", "), want.input)
			}
			again, err := Explore(context.Background(), m, meeting, Config{Preemptions: 2})
			require.NoError(t, err)
			assert.Empty(t, again.Findings, "%s: %s: constants are as they were", c, program)
		}
	}
}

// TestWhatNothingIsSharedInComesLast: what programs did when inputs were looked for decides the
// order, and arrays by the number of the CPU are memory of one CPU.
func TestWhatNothingIsSharedInComesLast(t *testing.T) {
	for _, c := range compilers {
		file := filepath.Join("testdata", c, "ways.o")
		m, other := machineOf(t, file, 0), covering(t, file)
		program := func(name string) *loader.LinkedProgram {
			lp, ok := m.Linked().Program(name)
			require.True(t, ok)
			return lp
		}
		def := func(name string) *loader.Map {
			d, ok := m.Linked().Map(name)
			require.True(t, ok)
			return d
		}
		assert.True(t, byCPU(program("cpu_slot"), def("buffers")), c)
		assert.False(t, byCPU(program("one_slot"), def("common")), c)
		meetings := Meetings(m, []string{"by_constant", "cpu_slot", "cpu_slot_too"}, newest)
		assert.Contains(t, meetings[0].Name, "cpu_slot", c)
		assert.GreaterOrEqual(t, meetings[0].Actors[1].Over, 0, "%s: in the middle of each other first", c)
		Warm(m)
		Warm(other)
		prepared, err := Prepare(context.Background(), other, nil, time.Time{})
		require.NoError(t, err)
		delete(prepared.reached, "short_way") // not known
		prepared.reached["answer"].reached["requests"] = false
		all := Meetings(m, nil, Kernel{Version: 6<<16 | 12<<8})
		prepared.Sort(all, m.Linked().Programs)
		place := func(name string) int { return slices.IndexFunc(all, func(x Meeting) bool { return x.Name == name }) }
		assert.Less(t, place("by_constant and by_constant on two CPUs"), place("short_way and short_way on two CPUs"), c)
		assert.Less(t, place("short_way and short_way on two CPUs"), place("request and answer on two CPUs"), c)
	}
}
