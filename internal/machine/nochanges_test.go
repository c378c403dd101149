package machine_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
)

// TestChangesThatNobodyWants: a run without them does the same, and does not look at maps.
func TestChangesThatNobodyWants(t *testing.T) {
	linked := load(t, "../../examples/openat/openat.bpf.o", target(t, embedded.Name))
	m := compose(t, linked, machine.Config{})
	res, err := m.Run(t.Context(), "enter", machine.Input{NoChanges: true})
	require.NoError(t, err)
	require.True(t, res.Ran)
	assert.Empty(t, res.Changes)
	pending, ok := m.MapByName("pending")
	require.True(t, ok)
	assert.Len(t, pending.Entries(), 1)

	res, err = m.Run(t.Context(), "leave", machine.Input{})
	require.NoError(t, err)
	assert.Len(t, res.Changes, 1, "the entry that the first run made")
}

// TestChangesOfRunsThatFail: with FailedChanges only those are listed.
func TestChangesOfRunsThatFail(t *testing.T) {
	linked := load(t, "../../examples/openat/openat.bpf.o", target(t, embedded.Name))
	in := machine.Input{FailedChanges: true}
	res, err := compose(t, linked, machine.Config{}).Run(t.Context(), "enter", in)
	require.NoError(t, err)
	require.Equal(t, machine.StatusOK, res.Status)
	assert.Empty(t, res.Changes)

	res, err = compose(t, linked, machine.Config{MaxInsns: res.Insns - 1}).Run(t.Context(), "enter", in)
	require.NoError(t, err)
	require.Equal(t, machine.StatusFault, res.Status)
	assert.Len(t, res.Changes, 1)
}
