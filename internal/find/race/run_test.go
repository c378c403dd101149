package race

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/machine/finding"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// machineOf makes a machine for an object on the embedded kernel's types, as a release if that is
// not 0.
func machineOf(t testing.TB, file string, release uapi.Release) *machine.Machine {
	t.Helper()
	spec, err := embedded.Spec()
	require.NoError(t, err)
	var opts []loader.TargetOption
	if release != 0 {
		opts = append(opts, loader.WithVersion(uint32(release)<<8))
	}
	return machineOn(t, file, loader.NewTarget("6.12", spec, opts...))
}

// machineOn makes a machine for an object on a kernel.
func machineOn(t testing.TB, file string, target *loader.Target) *machine.Machine {
	t.Helper()
	obj, err := loader.Open(file)
	require.NoError(t, err)
	linked, err := obj.Load(target, loader.LoadOptions{})
	require.NoError(t, err)
	m, err := machine.New(linked, machine.Config{Uncovered: true, Unwatched: true, Restores: true, MaxInsns: 1 << 20})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	return m
}

// twice are two runs of a program on two CPUs.
func twice(program string) []Actor {
	return []Actor{{Program: program, Over: -1}, {Program: program, Over: -1, Input: machine.Input{CPU: 1}}}
}

func TestAnUpdateThatIsLostIsFound(t *testing.T) {
	m := machineOf(t, "testdata/clang-14/lost.o", 0)
	r, err := Run(context.Background(), m, twice("plain"), Config{Preemptions: 2})
	require.NoError(t, err)
	assert.True(t, r.Complete)
	require.Len(t, r.Findings, 1)
	f := r.Findings[0]
	assert.Equal(t, finding.NotSerialisable, f.Kind)
	assert.False(t, f.Benign)
	assert.Equal(t, []Difference{{What: "hits", Here: "1", Sequential: []string{"2"}}}, f.Differs)
	require.Len(t, f.Sides, 3)
	assert.Equal(t, []string{"reads hits = 0", "writes hits = 1", "writes hits = 1"}, []string{f.Sides[0].What, f.Sides[1].What, f.Sides[2].What})
	assert.Equal(t, []Turn{{0, 9}, {1, 12}, {0, 3}}, f.Turns, nil)

	again, err := Replay(context.Background(), m, twice("plain"), f.Turns, nil)
	require.NoError(t, err)
	require.Len(t, again.Findings, 1)
	assert.Equal(t, f.Text, again.Findings[0].Text)
	again, err = Replay(context.Background(), m, twice("plain"), []Turn{{0, 12}}, nil)
	require.NoError(t, err)
	assert.Empty(t, again.Findings, "one after the other")
	var turn *TurnError
	_, err = Replay(context.Background(), m, twice("plain"), []Turn{{0, 9}, {1, 100}}, nil)
	assert.ErrorAs(t, err, &turn)

	r, err = Run(context.Background(), m, twice("atomic"), Config{Preemptions: 2})
	require.NoError(t, err)
	assert.Empty(t, r.Findings)
}
