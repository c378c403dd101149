package report

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/loader"
)

// The first line says which update's rules apply where a kernel's name does not tell its updates.
func TestTargetsSayWhichUpdatesTheirRulesAreOf(t *testing.T) {
	for name, want := range map[string]string{
		"linux-5.10.0-46-amd64":    "Linux 5.10.0 as of update 92 (its name tells none; --kernel-version)",
		"linux-5.15.0-204-generic": "Linux 5.15.0 as of update 120 (its name tells none; --kernel-version)",
		"linux-6.8.0-151-generic":  "Linux 6.8.0 without updates (its name tells none; --kernel-version)",
		"linux-5.15.7-generic":     "Linux 5.15.7",
	} {
		assert.Equal(t, name+" · "+want, describeTarget(NewTarget(loader.NewTarget(name, nil), "")))
	}
	given := NewTarget(loader.NewTarget("linux-5.15.0-204-generic", nil, loader.WithVersion(5<<16|15<<8|204)), "")
	assert.False(t, given.UpdatesUnknown)
	assert.Zero(t, given.RulesUpdate)
}
