package exec

import (
	"errors"
	"io"

	"github.com/bpfrun/bpfrun/bpfsys"
)

// ErrUnsupported means that this system cannot run programs that way.
var ErrUnsupported = errors.New("bpfrun exec needs Linux 5.14 or later on amd64 or arm64")

// Config describes what to run.
type Config struct {
	// System is the kernel whose bpf(2) the program sees; Run sets the functions it is told things by.
	System bpfsys.Config
	// Release is what uname -r prints; empty is the host's. Version is what uname -v prints.
	Release, Version string
	// Args is the program with its arguments; Env and Dir as for os/exec.
	Args []string
	// Events happen whenever the program waits, step by step; nil leaves it to wait.
	Events *Events
	// Keep leaves the program running after the last event. Otherwise it gets SIGINT when it waits again.
	Keep bool
	// Root has the program believe that its user is 0.
	Root bool
	// Log gets a line for each call that was served; nil is none.
	Log io.Writer
	// Notes gets what a user should know: what is not simulated, events that met nothing.
	Notes io.Writer
	// Stdin, Stdout and Stderr of the program.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Socket is the path of a socket on which bpfrun fire reaches the session; empty is none.
	Socket string
}
