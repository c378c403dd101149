package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
			peak := peakOf(t, cmd)
			t.Logf("%d MiB, exit %d", peak>>10, cmd.ProcessState.ExitCode())
			assert.NotZero(t, peak)
			assert.Less(t, peak, most)
			assert.Contains(t, []int{exitOK, exitFault, exitNotSimulated}, cmd.ProcessState.ExitCode())
		})
	}
}

// peakOf runs a command and returns its peak memory, in KiB. It asks while the command runs: a
// process inherits the peak of the one that started it, so that rusage may report that of these
// tests.
func peakOf(t *testing.T, cmd *exec.Cmd) (kib int) {
	t.Helper()
	require.NoError(t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // most are stopped
	}()
	for {
		if status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid)); err == nil {
			if _, after, ok := strings.Cut(string(status), "VmHWM:"); ok {
				_, err := fmt.Sscan(after, &kib)
				require.NoError(t, err)
			}
		}
		select {
		case <-ended:
			return kib
		case <-time.After(10 * time.Millisecond):
		}
	}
}
