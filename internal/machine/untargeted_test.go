package machine

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/loader"
)

// TestProgramsWithoutTargets: a program that libbpf loads without a target runs on a default
// context; what it does not load is absent, and a section name that only a loader knows has a hint
// that works.
func TestProgramsWithoutTargets(t *testing.T) {
	spec, err := embedded.Spec()
	require.NoError(t, err)
	target := loader.NewTarget(embedded.Name, spec)
	obj, err := loader.Open("../../testdata/objects/clang-14/untargeted.o")
	require.NoError(t, err)
	linked, err := obj.Load(target, loader.LoadOptions{})
	require.NoError(t, err)
	m, err := New(linked, Config{})
	require.NoError(t, err)
	defer m.Close()
	for _, lp := range linked.Programs {
		res, err := m.Run(t.Context(), lp.Name, Input{})
		require.NoError(t, err, lp.Name)
		switch {
		case lp.Name == "on_sockops":
			assert.Equal(t, StatusRefused, res.Status)
			assert.ErrorContains(t, m.ProgramError(lp.Name), "--type on_sockops=sock_ops")
		case progtype.Of(lp.Type).TargetOf(lp.Attach) == progtype.Function, progtype.Of(lp.Type).TargetOf(lp.Attach) == progtype.LSMHook:
			assert.Equal(t, StatusAbsent, res.Status, lp.Name)
		default:
			assert.Equal(t, StatusOK, res.Status, "%s: %v", lp.Name, m.ProgramError(lp.Name))
			assert.True(t, res.Ran, lp.Name)
		}
	}
}
