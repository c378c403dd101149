package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	senders = "../../testdata/objects/clang-14/senders.o"
	anyBTF  = "../../testdata/btf/min/linux-6.12.107-amd64.min.btf"
)

// process is bpfrun as a process of its own, which the test binary is when it is called so.
func process(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	if err := exec.Command(self, "-test.run=^$").Run(); errors.Is(err, syscall.ENOEXEC) {
		t.Skip("this system cannot start the test binary by itself: ", err)
	}
	cmd := exec.Command(self)
	cmd.Args = append([]string{"bpfrun"}, args...)
	return cmd
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// TestCommandsNoticeAFullDisk: every command says so once, and fails.
func TestCommandsNoticeAFullDisk(t *testing.T) {
	for _, args := range [][]string{
		{}, {"help"}, {"version"}, {"run", "--help"}, {"completion", "bash"}, {"info", senders}, {"disasm", senders}, {"relo", senders, "--btf", anyBTF},
		{"run", senders, "-p", "in_turn", "--btf", anyBTF}, {"run", senders, "-p", "in_turn", "--btf", anyBTF, "--json"}, {senders, "--btf", anyBTF, "--max-insns", "1000", "--no-verify"},
		{"matrix", senders, "--btf", anyBTF, "--max-insns", "1000", "--no-verify"}, {"debug", senders, "--btf", anyBTF, "-e", "info programs"},
		{"btf", "dump", anyBTF}, {"run", "missing.o", "--json"}, {"conformance", "isa", "--help"},
	} {
		var stderr bytes.Buffer
		assert.Equal(t, exitUsage, run(args, full{}, &stderr), "%q", args)
		assert.Equal(t, 1, bytes.Count(stderr.Bytes(), []byte("no space left")), "%q: %s", args, stderr.String())
	}
}

// TestInterruptedCommandsExitSo: SIGINT ends a run that hardly executes instructions, with the code
// shells give it.
func TestInterruptedCommandsExitSo(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no SIGINT")
	}
	code := 0
	for _, delay := range []time.Duration{time.Second, 4 * time.Second, 16 * time.Second} {
		if code = interrupted(t, delay); code != -1 { // on a busy machine a process may not listen yet
			break
		}
	}
	assert.Equal(t, exitInterrupted, code)
}

// interrupted returns the exit code of a long run that gets a SIGINT after some time, -1 if the
// signal ended the process.
func interrupted(t *testing.T, after time.Duration) int {
	cmd := process(t, "run", senders, "-p", "flood_copies", "--btf", anyBTF, "--no-verify", "--max-insns", "1000000000000000")
	require.NoError(t, cmd.Start())
	time.Sleep(after)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		_ = cmd.Process.Kill()
		t.Fatal("it goes on")
	}
	return cmd.ProcessState.ExitCode()
}

// TestAnInterruptedRaceTellsWhatItFound: SIGINT ends the search, not the report.
func TestAnInterruptedRaceTellsWhatItFound(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no SIGINT")
	}
	if signal.Ignored(os.Interrupt) {
		t.Skip("started in the background by a shell that has it ignore SIGINT")
	}
	for _, delay := range []time.Duration{2 * time.Second, 8 * time.Second, 30 * time.Second} { // on a busy machine it may have found nothing yet
		var out bytes.Buffer
		cmd := process(t, "race", "../../examples/racecount/racecount.bpf.o", "--btf", "embedded", "-p", "count", "--preemptions", "1", "--time", "10m", "--no-verify")
		cmd.Stdout = &out
		require.NoError(t, cmd.Start())
		time.Sleep(delay)
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		_ = cmd.Wait()
		if !bytes.Contains(out.Bytes(), []byte("not-serialisable")) && delay < 30*time.Second {
			continue
		}
		assert.Equal(t, exitInterrupted, cmd.ProcessState.ExitCode())
		assert.Contains(t, out.String(), "not-serialisable: count changes an element of flows")
		return
	}
}

// TestASecondInterruptEndsTheProcess: whatever it does with the first.
func TestASecondInterruptEndsTheProcess(t *testing.T) {
	if os.Getenv("BPFRUN_TEST_DEAF") != "" {
		var c console
		ctx, stop := c.interruptible(t.Context())
		defer stop()
		_, _ = os.Stdout.WriteString("ready\n")
		<-ctx.Done()
		_, _ = os.Stdout.WriteString("first\n")
		time.Sleep(time.Minute)
		return
	}
	if runtime.GOOS == "windows" {
		t.Skip("no SIGINT")
	}
	if signal.Ignored(os.Interrupt) {
		t.Skip("started in the background by a shell that has it ignore SIGINT")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, "-test.run=^TestASecondInterruptEndsTheProcess$")
	cmd.Env = append(os.Environ(), "BPFRUN_TEST_DEAF=1")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	if err := cmd.Start(); errors.Is(err, syscall.ENOEXEC) {
		t.Skip(err)
	}
	for range 2 {
		var line [6]byte
		_, err = io.ReadFull(out, line[:])
		require.NoError(t, err)
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
	}
	begin := time.Now()
	assert.Error(t, cmd.Wait())
	assert.Less(t, time.Since(begin), 30*time.Second)
	assert.False(t, cmd.ProcessState.Success())
}
