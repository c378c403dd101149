package exec

import (
	"errors"
	"io"
	"time"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
)

// ErrUnsupported is returned on systems that cannot run tools under a supervisor.
var ErrUnsupported = errors.New("bpfrun exec needs Linux 5.14 or later on amd64 or arm64")

// ErrGuard means that the process that starts the tool and ends what it leaves was killed. What the
// tool did until then is not known.
var ErrGuard = errors.New("the guard process of the tool was killed")

// Config describes the tool to run and the kernel it sees.
type Config struct {
	// System configures the simulated kernel. Run sets its callbacks.
	System bpfsys.Config
	// Release is what uname -r prints, Version what uname -v prints; empty means the host's.
	Release, Version string
	// Args is the tool with its arguments; Env and Dir are as in [os/exec.Cmd].
	Args []string
	// Events are run step by step, one step whenever the tool waits; nil leaves the tool waiting.
	Events *Events
	// RealClock has the programs see the host's time, as the tool does.
	RealClock bool
	// NoWait fires the events of a step without waiting for the tool to read what the first ones
	// sent, so that buffers overflow as they do on a kernel under load.
	NoWait bool
	// Timeout is how long the tool may run after the last event, or from its start if there are
	// none; 0 means any time. Then it is asked to end.
	Timeout time.Duration
	// Keep leaves the tool running after the last event. Otherwise it gets SIGINT when it waits
	// again.
	Keep bool
	// Root has the tool see user id 0 and all capabilities.
	Root bool
	// Live makes the real system calls of the tool's processes fire the hooks of system calls.
	Live bool
	// Run is a command of the shell that is started beside the tool when the tool first waits,
	// under the same supervisor; empty means none.
	Run string
	// ModulesOf returns the modules of the simulated kernel that have functions, by function, as far
	// as they are known; nil means none.
	ModulesOf func(functions []string) map[string]string
	// Log gets a line for each served call; nil means none.
	Log io.Writer
	// Notes gets messages for the user: what is not simulated, events whose hook has no program.
	Notes io.Writer
	// Fired, if set, is called with the programs that an event ran, by one goroutine at a time.
	Fired func(hook string, ran []bpfsys.Fired)
	// Stdin, Stdout and Stderr are those of the tool.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Socket is the path of the socket on which bpfrun fire reaches the session; empty means none.
	Socket string
}
