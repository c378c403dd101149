package scenario

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// TestFieldsThatARunDidNotRead are those of the program's records of offsets, once each, unless the
// kernel has none of the field.
func TestFieldsThatARunDidNotRead(t *testing.T) {
	spec, err := embedded.Spec()
	require.NoError(t, err)
	program := func() *loader.LinkedProgram {
		o, err := loader.Open("../../examples/exec/exec.bpf.o")
		require.NoError(t, err)
		l, err := o.Load(loader.NewTarget(embedded.Name, spec), loader.LoadOptions{})
		require.NoError(t, err)
		lp, ok := l.Program("on_exec")
		require.True(t, ok)
		return lp
	}
	s := &skeleton{}
	all := s.unread(program(), &machine.Result{})
	require.Greater(t, len(all), 3)
	assert.Contains(t, all, "task_struct.cred")
	seen := map[string]bool{}
	for _, f := range all {
		assert.False(t, seen[f], f)
		seen[f] = true
	}
	read := s.unread(program(), &machine.Result{Reads: []machine.KernelAccess{{Program: "other", Access: object.Access{Type: "task_struct", Path: "cred,nothing"}}}})
	assert.NotContains(t, read, "task_struct.cred", "whichever program read it")
	assert.Len(t, read, len(all)-1)
	lp := program()
	for i := range lp.Relocs {
		if lp.Relocs[i].Target != nil && lp.Relocs[i].Target.Field() == "task_struct.cred" {
			lp.Relocs[i].Err = errors.New("it cannot be applied")
		}
	}
	failed := s.unread(lp, &machine.Result{})
	assert.NotContains(t, failed, "task_struct.cred")
	assert.Len(t, failed, len(all)-1)
}
