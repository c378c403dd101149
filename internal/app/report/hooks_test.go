package report

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/internal/machine"
)

func TestHooksDecideTheExitCodeByOneRule(t *testing.T) {
	const ok, absent, unknown, off = machine.StatusOK, machine.StatusAbsent, machine.StatusUnknownHook, machine.StatusDisabled
	for _, tt := range []struct {
		name         string
		statuses     []machine.Status
		named        bool
		exit, strict int
	}{
		{"nothing", nil, false, 0, 0},
		{"all there", []machine.Status{ok, ok}, false, 0, 0},
		{"one absent of two", []machine.Status{ok, absent}, false, 0, 3},
		{"a fault is a run", []machine.Status{machine.StatusFault, absent}, false, 0, 3},
		{"one absent, chosen by name", []machine.Status{ok, absent}, true, 3, 3},
		{"all absent", []machine.Status{absent, absent}, false, 3, 3},
		{"absent and switched off", []machine.Status{absent, off}, false, 3, 3},
		{"unknown", []machine.Status{unknown}, false, 0, 3},
		{"unknown, chosen by name", []machine.Status{unknown}, true, 0, 3},
		{"unknown and absent", []machine.Status{unknown, absent}, false, 0, 3},
	} {
		h := HookCount{Named: tt.named}
		for _, s := range tt.statuses {
			h.Add(s)
		}
		assert.Equal(t, tt.exit, h.Exit(false), tt.name)
		assert.Equal(t, tt.strict, h.Exit(true), tt.name+", strict")
	}
}
