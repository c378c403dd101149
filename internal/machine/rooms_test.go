package machine

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/testing/snaptest"
	"github.com/bpfrun/bpfrun/loader"
)

// TestContextsAreRestored with every field that changes.
func TestContextsAreRestored(t *testing.T) {
	cs := &contexts{}
	snaptest.Check(t, cs, map[string]snaptest.Field{"last": snaptest.Pointer[hook.Context](&cs.last)}, cs.snapshot)
}

// TestRegistryRestoresRuns, which decide what a program finds on its next run.
func TestRegistryRestoresRuns(t *testing.T) {
	reg := newRegistry(&loader.Linked{})
	for _, name := range []string{"a", "b"} {
		reg.add(&program{lp: &loader.LinkedProgram{Program: &loader.Program{Name: name}}, runs: 3})
	}
	restore := reg.snapshot()
	reg.byName["b"].runs++
	restore()
	assert.Equal(t, 3, reg.byName["b"].runs)
	assert.Equal(t, []string{"a", "b"}, reg.Names())
	assert.Equal(t, []uint32{1, 2}, []uint32{reg.byName["a"].id, reg.byName["b"].id})
	reg.remove(reg.byName["a"])
	assert.Equal(t, []string{"b"}, reg.Names())
}
