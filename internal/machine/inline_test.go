package machine_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/machine/finding"
	"github.com/bpfrun/bpfrun/internal/testing/testsize"
)

// engines makes a machine for each engine. That of EngineBoth fails the test when they differ.
func engines(t *testing.T, file string) map[string]*machine.Machine {
	t.Helper()
	linked := load(t, file, target(t, embedded.Name))
	return map[string]*machine.Machine{
		"interp": compose(t, linked, machine.Config{Seed: 3, CPUs: 4}),
		"jit":    compose(t, linked, machine.Config{Seed: 3, CPUs: 4, Engine: machine.EngineJIT}),
		"eager":  compose(t, linked, machine.Config{Seed: 3, CPUs: 4, Engine: machine.EngineJIT, EagerLoops: true}),
		"both": compose(t, linked, machine.Config{Seed: 3, CPUs: 4, Engine: machine.EngineBoth, OnDifference: func(text string) {
			t.Error(text)
		}}),
	}
}

// TestResultsDoNotDependOnTheEngine: what a run returns, calls counted and times stored in maps
// included, and what it does to the next one, also after the machine was brought back.
func TestResultsDoNotDependOnTheEngine(t *testing.T) {
	for _, file := range testsize.Some(4, examples(t)) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			var want [3][]machine.Result
			ms := engines(t, file)
			for _, name := range []string{"interp", "jit", "eager", "both"} {
				m := ms[name]
				first := runAll(t, m)
				state := m.Snapshot()
				second := runAll(t, m)
				m.Restore(state)
				got := [3][]machine.Result{first, second, runAll(t, m)}
				if name == "interp" {
					want = got
				}
				if name == "both" { // native code must execute everything, so nothing is tracked
					dropLeaks(want[:])
				}
				require.Equal(t, want, got, name)
			}
		})
	}
}

func dropLeaks(of [][]machine.Result) {
	for _, list := range of {
		for i := range list {
			list[i].Findings = slices.DeleteFunc(list[i].Findings, func(f finding.Finding) bool { return f.Kind == finding.Leak })
			if len(list[i].Findings) == 0 {
				list[i].Findings = nil
			}
		}
	}
}

// TestOverridesOfInlinedCalls: what native code executes itself is replaced as any call, after it
// was compiled and before it runs without again.
func TestOverridesOfInlinedCalls(t *testing.T) {
	inputs := []machine.Input{
		{}, {CPU: 3},
		{CPU: 3, Overrides: map[string]machine.Override{"bpf_ktime_get_ns": {Returns: []uint64{7}}}},
		{},
		{Overrides: map[string]machine.Override{"bpf_map_lookup_elem": {FailAt: 2, Returns: []uint64{0}}}},
		{Overrides: map[string]machine.Override{"bpf_map_lookup_elem": {Returns: []uint64{0}}}},
		{Overrides: map[string]machine.Override{"bpf_get_current_pid_tgid": {Returns: []uint64{5 << 32}}}},
		{CPU: 1},
	}
	var want []*machine.Result
	ms := engines(t, "../../examples/percpu/percpu.bpf.o")
	for _, name := range []string{"interp", "jit", "eager", "both"} {
		var got []*machine.Result
		for _, in := range inputs {
			for _, program := range []string{"on_entry", "on_exit"} {
				res, err := ms[name].Run(context.Background(), program, in)
				require.NoError(t, err)
				got = append(got, res)
			}
		}
		if name == "interp" {
			want = got
			assert.NotEqual(t, want[2].Changes, want[4].Changes) // the time 7 was stored
			assert.Positive(t, want[1].Helpers["bpf_map_lookup_elem"])
			assert.Positive(t, want[1].Helpers["bpf_ktime_get_ns"])
		}
		assert.Equal(t, want, got, name)
	}
}

// TestLocksAndStorageOnEveryEngine: locks that native code takes and storage that it finds are
// counted, take time and change maps as calls do, from the first run of a program to those that no
// longer track what they write.
func TestLocksAndStorageOnEveryEngine(t *testing.T) {
	const runs = 20
	for _, program := range []string{"lock_turns", "storage_turns"} {
		t.Run(program, func(t *testing.T) {
			var want []*machine.Result
			ms := engines(t, "../bench/testdata/net/turns.bpf.o")
			for _, name := range []string{"interp", "jit", "eager", "both"} {
				var got []*machine.Result
				for range runs {
					res, err := ms[name].Run(context.Background(), program, machine.Input{})
					require.NoError(t, err)
					require.True(t, res.Ran)
					require.Nil(t, res.Fault)
					got = append(got, res)
				}
				if name == "interp" {
					want = got
					assert.NotEmpty(t, want[runs-1].Changes)
				}
				assert.Equal(t, want, got, name)
			}
		})
	}
}
