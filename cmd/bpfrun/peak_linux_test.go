package main

import (
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/internal/testing/testsize"
)

// TestPeakMemory: no program takes more than 1.5 GB of the host with the flags as they are, reports
// included.
func TestPeakMemory(t *testing.T) {
	if !testsize.Long() || runtime.GOARCH != "amd64" {
		t.Skip("takes a minute; BPFRUN_LONG=1 runs it (make test-long)")
	}
	const most = 1500 << 10 // KiB
	t.Parallel()
	for _, c := range []string{"flood_perf --json", "flood_big --json", "flood_hash"} {
		t.Run(c, func(t *testing.T) {
			t.Parallel()
			name, json, _ := strings.Cut(c, " ")
			args := []string{"run", senders, "-p", name, "--btf", anyBTF, "--no-verify"} // they run too long for a verifier
			if json != "" {
				args = append(args, json)
			}
			cmd := process(t, args...)
			_ = cmd.Run() // most are stopped
			usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
			t.Logf("%d MiB, exit %d", usage.Maxrss>>10, cmd.ProcessState.ExitCode())
			assert.Less(t, usage.Maxrss, int64(most))
			assert.Contains(t, []int{exitOK, exitFault, exitNotSimulated}, cmd.ProcessState.ExitCode())
		})
	}
}
