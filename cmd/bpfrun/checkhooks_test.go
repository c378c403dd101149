package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/loader"
)

// TestEventFilesWithMisspeltHooks: a file of events is refused for hooks that look like mistyped
// names, with their lines, and for no others.
func TestEventFilesWithMisspeltHooks(t *testing.T) {
	spec, err := embedded.Spec()
	require.NoError(t, err)
	target := loader.NewTarget(embedded.Name, spec)
	check := func(text string) error {
		path := filepath.Join(t.TempDir(), "events")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		ev, err := readEvents(path)
		require.NoError(t, err)
		return checkHooks("events", ev, target)
	}
	assert.NoError(t, check("sched_switch\npass 1ms\nsyscall/openat\n---\nperf_event\n"))
	err = check("sched_switch\npass 1ms\nsched_swich\n---\nsched/sched_swich\n")
	assert.ErrorContains(t, err, "events: line 3: the kernel has no hook sched_swich (nearest: sched_switch")
	assert.ErrorContains(t, err, "events: line 5: the kernel has no hook sched/sched_swich (nearest: sched/sched_switch")
	assert.Equal(t, exitUsage, exitCode(err))
}
