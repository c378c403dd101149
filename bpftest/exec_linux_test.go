//go:build linux && (amd64 || arm64)

package bpftest_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/bpftest"
)

// execTool runs a tool, or skips where that is not possible.
func execTool(t *testing.T, tool bpftest.Tool, opts ...bpftest.Option) *bpftest.Output {
	t.Helper()
	out, err := bpftest.TryExec(tool, opts...)
	// ENOEXEC: this processor is emulated by a user program, which starts no programs for it.
	if errors.Is(err, bpftest.ErrUnsupported) || errors.Is(err, unix.ENOEXEC) || err != nil && (strings.Contains(err.Error(), "child process ended") || strings.Contains(err.Error(), "another supervisor")) {
		t.Skip(err)
	}
	require.NoError(t, err)
	return out
}

// TestExecReturnsWhatAToolDid: its output, its status, and what was said about it.
func TestExecReturnsWhatAToolDid(t *testing.T) {
	out := execTool(t, bpftest.Tool{Args: []string{"/bin/sh", "-c", "uname -r; cat; echo wrong >&2; exit 3"}, Stdin: "what it reads", Events: "do_unlinkat\n"}, bpftest.Kernel(oldKernel))
	assert.True(t, strings.HasPrefix(out.Stdout, "5.10.262"), out.Stdout)
	assert.True(t, strings.HasSuffix(out.Stdout, "what it reads"), out.Stdout)
	assert.Equal(t, "wrong\n", out.Stderr)
	assert.Equal(t, 3, out.Code)
	assert.Equal(t, []string{"the program ended before step 1 of 1 of its events"}, out.Notes)
	assert.Empty(t, out.Fired)
}

// TestExecReturnsTheProgramsThatRan: a tool that waits gets its events, and each run of its
// programs is known.
func TestExecReturnsTheProgramsThatRan(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	for _, events := range []string{"repeat 3\nsched_process_exec\nend\n", "auto"} {
		out := execTool(t, bpftest.Tool{Args: []string{"env", "BPFTEST_TOOL=wait", self}, Events: events})
		require.NotEmpty(t, out.Fired, "%s %s %v", out.Stdout, out.Stderr, out.Notes)
		assert.Equal(t, "sched_process_exec", out.Fired[0].Hook)
		assert.Equal(t, len(out.Fired), out.Ran("on_exec"))
		assert.Equal(t, 130, out.Code)
		if events == "auto" {
			assert.Equal(t, []string{"invented: sched_process_exec"}, out.Notes[:1])
		} else {
			assert.Len(t, out.Fired, 3)
		}
	}
}

func TestExecRefusesMistakes(t *testing.T) {
	for want, tool := range map[string]bpftest.Tool{
		"no program to run":           {},
		"executable file not found":   {Args: []string{"no-such-tool-anywhere"}},
		"line 1: the loop has no end": {Args: []string{"true"}, Events: "repeat 2\n"},
	} {
		_, err := bpftest.TryExec(tool)
		if errors.Is(err, bpftest.ErrUnsupported) {
			t.Skip(err)
		}
		assert.ErrorContains(t, err, want)
	}
	_, err := bpftest.TryExec(bpftest.Tool{Args: []string{"true"}}, bpftest.Kernel("3.10"))
	assert.ErrorContains(t, err, `Kernel("3.10")`)
}

// waits is a tool that attaches a program and waits.
func waits() error {
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
	for {
		if _, err := unix.Poll(nil, -1); err != unix.EINTR {
			return err
		}
	}
}
