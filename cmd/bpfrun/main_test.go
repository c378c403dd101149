package main

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/kernels"
)

// bomb panics when something is written to it.
type bomb struct{}

func (bomb) Write([]byte) (int, error) { panic("injected") }

const execObject = "../../examples/exec/exec.bpf.o"

func TestPanicIsExit70(t *testing.T) {
	var stderr bytes.Buffer
	code := run([]string{"info", execObject}, bomb{}, &stderr)
	assert.Equal(t, exitBug, code)
	assert.Contains(t, stderr.String(), "bpfrun: internal error: injected")
	assert.Contains(t, stderr.String(), "This is a bug in bpfrun")
}

// failing is an output that cannot be written, such as a full disk.
type failing struct{}

var errFull = errors.New("no space left")

func (failing) Write([]byte) (int, error) { return 0, errFull }

func TestOutputThatCannotBeWritten(t *testing.T) {
	for _, args := range [][]string{
		{execObject, "--btf", "embedded"}, {execObject, "--btf", "embedded", "--json"}, {"info", execObject}, {"relo", execObject, "--btf", "embedded"},
	} {
		var stderr bytes.Buffer
		assert.NotEqual(t, exitOK, run(args, failing{}, &stderr), args)
		assert.Contains(t, stderr.String(), errFull.Error(), args)
	}
}

// TestHostWithoutBTF checks both answers to a missing --btf, whatever kernel runs the test.
func TestHostWithoutBTF(t *testing.T) {
	min, err := filepath.Abs("../../testdata/btf/min/linux-6.12.107-amd64.min.btf")
	require.NoError(t, err)
	saved := kernels.HostBTF
	defer func() { kernels.HostBTF = saved }()
	command := func(args ...string) (code int, stdout, stderr string) {
		var out, diag bytes.Buffer
		code = run(args, &out, &diag)
		return code, out.String(), diag.String()
	}

	kernels.HostBTF = filepath.Join(t.TempDir(), "none")
	code, stdout, stderr := command(execObject)
	assert.Equal(t, exitOK, code)
	assert.Contains(t, stdout, "exec.bpf.o on linux-6.12")
	assert.Contains(t, stderr, "this system has no kernel BTF: using the embedded linux-6.12")
	code, _, stderr = command(execObject, "--btf", "host")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, "try --btf embedded")

	kernels.HostBTF = min
	code, stdout, stderr = command(execObject)
	assert.Equal(t, exitOK, code)
	assert.Contains(t, stdout, "exec.bpf.o on host")
	assert.Equal(t, "bpfrun: no --btf given: using the running kernel's types\n", stderr)
}

func TestBytesFlag(t *testing.T) {
	b, err := bytesFlag("packet", "0x00:01 ff")
	require.NoError(t, err)
	assert.Equal(t, []byte{0, 1, 255}, b)
	b, err = bytesFlag("packet", "")
	require.NoError(t, err)
	assert.Nil(t, b)
	_, err = bytesFlag("packet", "0")
	assert.ErrorAs(t, err, new(usageError))
}

// TestSameBytes checks that runs are deterministic: the same command line gives the same bytes.
func TestSameBytes(t *testing.T) {
	var first bytes.Buffer
	for range 3 {
		var out bytes.Buffer
		require.Equal(t, exitOK, run([]string{execObject, "--btf", "embedded", "--json", "--seed", "7"}, &out, io.Discard))
		if first.Len() == 0 {
			first = out
			continue
		}
		assert.Equal(t, first.String(), out.String())
	}
}
