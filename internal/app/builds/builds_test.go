package builds_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/app/builds"
	"github.com/bpfrun/bpfrun/internal/app/minkernel"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/scenario"
	"github.com/bpfrun/bpfrun/loader"
)

func open(t testing.TB, name string) *loader.Object {
	obj, err := loader.Open("../../../testdata/objects/clang-14/" + name)
	require.NoError(t, err)
	return obj
}

func target(t testing.TB) *loader.Target {
	spec, err := embedded.Spec()
	require.NoError(t, err)
	return loader.NewTarget(embedded.Name, spec)
}

func compare(t testing.TB, older, newer string, cfg builds.Config) *builds.Comparison {
	cfg.Machine = machine.Config{Seed: 1}
	c, err := builds.Compare(t.Context(), open(t, older), open(t, newer), target(t), cfg)
	require.NoError(t, err)
	return c
}

func program(t testing.TB, c *builds.Comparison, name string) builds.Program {
	for _, p := range c.Programs {
		if p.Name == name {
			return p
		}
	}
	require.Fail(t, "no such program", name)
	return builds.Program{}
}

// TestTwoBuilds: each kind of change, and nothing where nothing changed.
func TestTwoBuilds(t *testing.T) {
	older, newer := open(t, "builds_old.o"), open(t, "builds_new.o")
	var all [2]*minkernel.Result
	for i, o := range []*loader.Object{older, newer} {
		var err error
		all[i], err = minkernel.Find(t.Context(), o, []*loader.Target{target(t)}, minkernel.Config{Unchecked: true})
		require.NoError(t, err)
	}
	c := compare(t, "builds_old.o", "builds_new.o", builds.Config{OldNeeds: all[0], NewNeeds: all[1]})

	p := program(t, c, "longer")
	assert.Equal(t, 1, p.Inputs)
	assert.Empty(t, p.Differences)
	assert.Greater(t, p.New.Processed, p.Old.Processed)
	assert.Less(t, p.New.Insns, p.Old.Insns)
	assert.Less(t, p.New.Stack, p.Old.Stack)
	assert.Equal(t, []string{"results"}, p.New.Maps)

	p = program(t, c, "stricter")
	assert.Equal(t, []builds.Difference{{Input: "default input", Text: "the return value is 2, but 1"}}, p.Differences)

	p = program(t, c, "counted")
	assert.Equal(t, machine.StatusOK, p.Old.Status)
	assert.Equal(t, machine.StatusRefused, p.New.Status)
	assert.Contains(t, p.New.Why, "map_value_or_null")
	assert.Regexp(t, `^builds.bpf.c:\d+$`, p.New.Source)
	assert.Zero(t, p.Inputs, "a program that one kernel refuses is not run")
	assert.Equal(t, "5.10", p.Old.Oldest)
	assert.Empty(t, p.New.Oldest)

	p = program(t, c, "stores_task")
	assert.Equal(t, 1, p.Inputs)
	assert.Empty(t, p.Differences, "an address and a new member are no other result")
	assert.Equal(t, []string{"bpf_get_current_task", "bpf_map_update_elem"}, p.New.Helpers)

	p = program(t, c, "added")
	assert.Nil(t, p.Old)
	assert.Equal(t, "6.1", p.New.Oldest)
	assert.Equal(t, "helper bpf_ktime_get_tai_ns", p.New.Needs)
	assert.Nil(t, program(t, c, "removed").New)
	assert.Equal(t, []builds.Map{{
		Name: "counts", Old: "hash, key 4, value 16, 1024 entries", New: "hash, key 4, value 24, 4096 entries",
		Changes: []string{"value_size 16 → 24", "max_entries 1024 → 4096"},
	}}, c.Maps)
	assert.Empty(t, c.Left)
}

// TestABuildIsLikeItself: a build has no differences from itself, whatever its programs do.
func TestABuildIsLikeItself(t *testing.T) {
	for _, name := range []string{"builds_old.o", "builds_new.o", "globals.o", "events.o", "subprog.o", "callbacks.o", "packets.o", "hooks.o"} {
		c := compare(t, name, name, builds.Config{})
		inputs := 0
		for _, p := range c.Programs {
			assert.Equal(t, p.Old, p.New, "%s %s", name, p.Name)
			assert.Empty(t, p.Differences, "%s %s", name, p.Name)
			inputs += p.Inputs
		}
		assert.NotZero(t, inputs, name)
		assert.Empty(t, c.Maps, name)
	}
}

const runs = `
runs:
  - name: arp
    prog: stricter
    packet: eth(type=0x806)
  - name: ip
    prog: stricter
    packet: eth/ip/udp
  - name: new
    prog: added
    packet: eth/ip/udp
`

// TestScenarios: the runs of a file are made on both builds; those of a program that one build
// lacks are left out.
func TestScenarios(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.yaml")
	require.NoError(t, os.WriteFile(path, []byte(runs), 0o600))
	f, err := scenario.ParseFile(path)
	require.NoError(t, err)
	c := compare(t, "builds_old.o", "builds_new.o", builds.Config{Only: []string{"stricter", "added"}, Scenarios: []*scenario.File{f}})
	p := program(t, c, "stricter")
	assert.Equal(t, 3, p.Inputs)
	require.Len(t, p.Differences, 2)
	assert.Equal(t, builds.Difference{Input: "runs.yaml: ip", Text: "the return value is 2, but 1"}, p.Differences[1])
	assert.Equal(t, []builds.Left{{Program: "added", Input: "runs.yaml: new", Why: "builds_old.o has no such program"}}, c.Left)

	static := compare(t, "builds_old.o", "builds_new.o", builds.Config{Static: true, Scenarios: []*scenario.File{f}})
	assert.Zero(t, program(t, static, "stricter").Inputs)
}
