package main

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestOutputThatAShellDiscards is written: to /dev/null, but not to a descriptor that it closed. Some
// shells change their own descriptors while a command runs, others those of the command.
func TestOutputThatAShellDiscards(t *testing.T) {
	if err := exec.Command("bpfrun", "version").Run(); errors.Is(err, syscall.ENOEXEC) {
		t.Skip("this processor is emulated by a user program, which starts no programs for it")
	}
	for _, shell := range []string{"sh", "bash"} {
		if _, err := exec.LookPath(shell); err == nil {
			discards(t, shell)
		}
	}
}

func discards(t *testing.T, shell string) {
	t.Helper()
	for how, want := range map[string]string{">/dev/null": "0\n", ">&-": strconv.Itoa(exitUsage) + "\n", "| cat >/dev/null": "0\n"} {
		out, err := exec.Command(shell, "-c", "bpfrun version "+how+" 2>/dev/null; echo $?").Output()
		require.NoError(t, err)
		assert.Equal(t, want, string(out), "%s %s", shell, how)
	}
}

// TestTerminalsOfNoSize are taken for those of a usual one, whichever side has none.
func TestTerminalsOfNoSize(t *testing.T) {
	tty, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer tty.Close()
	c := &debugCommand{console: &console{stdout: tty}}
	for size, want := range map[[2]uint16][2]int{{100, 30}: {100, 30}, {1, 1}: {1, 1}, {0, 30}: {80, 24}, {100, 0}: {80, 24}, {0, 0}: {80, 24}} {
		require.NoError(t, unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: size[0], Row: size[1]}))
		width, height := c.screenSize()
		assert.Equal(t, want, [2]int{width, height}, "%v", size)
	}
}
