//go:build linux && (amd64 || arm64)

package bpftest_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/bpftest"
)

// ownTests are what TestMain of another package would run, by name.
var ownTests = map[string]func() error{"load": loadAndAttach, "fails": func() error { return errors.New("it fails") }}

type ownMain func() error

// Run is what testing.M does.
func (m ownMain) Run() int {
	if err := m(); err != nil {
		fmt.Println("FAIL:", err)
		return 1
	}
	fmt.Println("PASS")
	return 0
}

func TestMain(m *testing.M) {
	if os.Getenv("BPFTEST_TOOL") == "wait" {
		fmt.Println(waits())
		os.Exit(1)
	}
	if test := ownTests[os.Getenv("BPFTEST_OWN")]; test != nil {
		bpftest.Main(ownMain(test), bpftest.Kernel(os.Getenv("BPFTEST_KERNEL")), bpftest.CPUs(3))
	}
	os.Exit(m.Run())
}

// loadAndAttach is a test as projects with cilium/ebpf have it.
func loadAndAttach() error {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return err
	}
	fmt.Println("kernel", unix.ByteSliceToString(u.Release[:]))
	coll, err := ebpf.LoadCollection("../examples/exec/exec.bpf.o")
	if err != nil {
		return err
	}
	defer coll.Close()
	l, err := link.Tracepoint("sched", "sched_process_exec", coll.Programs["on_exec"], nil)
	if err != nil {
		return err
	}
	defer l.Close()
	m := coll.Maps["execs_by_uid"]
	if err := m.Put(uint32(1), uint64(2)); err != nil {
		return err
	}
	var v uint64
	if err := m.Lookup(uint32(1), &v); err != nil || v != 2 {
		return fmt.Errorf("lookup: %d, %w", v, err)
	}
	if err := m.Lookup(uint32(2), &v); !errors.Is(err, ebpf.ErrKeyNotExist) {
		return fmt.Errorf("lookup of what is not there: %w", err)
	}
	fmt.Println("CPUs", ebpf.MustPossibleCPU())
	return nil
}

// TestMainServesTests: tests with cilium/ebpf run as they are on the simulated kernel, and their
// exit status is the process's.
func TestMainServesTests(t *testing.T) {
	run := func(test, kernel string) (string, int) {
		self, err := os.Executable()
		require.NoError(t, err)
		cmd := exec.Command(self, "-test.run=^$")
		cmd.Env = append(os.Environ(), "BPFTEST_OWN="+test, "BPFTEST_KERNEL="+kernel)
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if errors.Is(err, unix.ENOEXEC) {
			t.Skip("this processor is emulated by a user program, which starts no programs for it")
		}
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if strings.Contains(string(out), "user notification is not to be had") || strings.Contains(string(out), "another supervisor") || strings.Contains(string(out), "child process ended") {
			t.Skipf("no seccomp user notification here: %s", out)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	out, code := run("load", oldKernel)
	require.Zero(t, code, out)
	assert.Contains(t, out, "kernel 5.10.262")
	assert.Contains(t, out, "CPUs 3")
	assert.Contains(t, out, "PASS")
	out, code = run("load", "embedded")
	require.Zero(t, code, out)
	assert.Contains(t, out, "kernel 6.12.")
	out, code = run("fails", "embedded")
	assert.Equal(t, 1, code)
	assert.Contains(t, out, "FAIL: it fails")
	out, code = run("load", "3.10")
	assert.Equal(t, 1, code)
	assert.Contains(t, out, "bpftest.Main: Kernel(\"3.10\")")
}
