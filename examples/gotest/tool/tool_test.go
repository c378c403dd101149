//go:build linux && amd64

// Package tool shows a test of a whole tool: an unmodified program of a distribution, its loader
// and its output.
package tool

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/bpfrun/bpfrun/bpftest"
)

func TestMain(m *testing.M) {
	os.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin")
	if _, err := exec.LookPath("opensnoop"); err != nil {
		os.Exit(0) // Debian's package libbpf-tools has it
	}
	os.Exit(m.Run())
}

func TestOpensnoopPrintsFailures(t *testing.T) {
	out := bpftest.Exec(t, bpftest.Tool{
		Args:   []string{"opensnoop", "-x"},
		Events: "syscall/openat filename=/etc/motd ret=3\nsyscall/openat filename=/no/such/file ret=-ENOENT task.comm=cat task.pid=78\n",
	}, bpftest.Kernel("embedded"))
	if !strings.Contains(out.Stdout, "78     cat               -1   2 /no/such/file") || strings.Contains(out.Stdout, "motd") {
		t.Errorf("it printed %s", out.Stdout)
	}
	if n := len(out.Fired); n != 4 {
		t.Errorf("its programs at the entry and the exit of openat ran %d times, of 4", n)
	}
}
