// Package bpfprobe lets tests check whether bpf(2) of the running kernel can be used.
//
// It loads one trivial program in a process of its own, with a time limit. A kernel can stop
// answering bpf(2): too many programs freed at once have been seen to lock up its JIT allocator
// (Linux 6.18), and a process that calls it then can be neither stopped nor waited for. The test's
// own process never makes that call first.
package bpfprobe

import (
	"os"
	"os/exec"
	"runtime"
	"sync"
	"testing"
	"time"
)

// envProbe makes a test binary that imports this package run the probe and exit before its tests
// start.
const envProbe = "BPFRUN_BPF_PROBE"

// patience is how long the kernel may take to load one instruction and an exit.
const patience = 5 * time.Second

func init() {
	if os.Getenv(envProbe) != "" {
		os.Exit(loadProgram())
	}
}

var reason = sync.OnceValue(func() string {
	if runtime.GOOS != "linux" {
		return "needs Linux"
	}
	if os.Geteuid() != 0 {
		return "needs root"
	}
	self, err := os.Executable()
	if err != nil {
		return err.Error()
	}
	cmd := exec.Command(self, "-test.run=^$")
	cmd.Env = append(os.Environ(), envProbe+"=1")
	if err := cmd.Start(); err != nil { // no pipes: a stuck child must not be waited for
		return err.Error()
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		if err != nil {
			return "bpf(2) loads no program"
		}
		return ""
	case <-time.After(patience):
		return "bpf(2) does not answer: this kernel is stuck and has to be rebooted"
	}
})

// Require skips the test, with the reason, where programs cannot be loaded into the running kernel.
func Require(t testing.TB) {
	t.Helper()
	if why := reason(); why != "" {
		t.Skipf("compares with the running kernel: %s", why)
	}
}
