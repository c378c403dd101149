package bpftest

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/exec"
	"github.com/bpfrun/bpfrun/internal/kernels"
)

// A test binary that runs tools is started again as their guard; it must not run its tests then.
func init() { exec.Child(os.Args[1:]) }

// Tool is an unmodified program that loads BPF programs, as [Exec] runs it.
type Tool struct {
	// Args is the tool with its arguments.
	Args []string
	// Events are what happens in the simulated kernel while the tool runs, in the notation of
	// bpfrun exec --events (docs/exec.md). "auto" invents one event for each hook that the tool
	// attaches. Without events the tool must end by itself, or by the timeout.
	Events string
	// Timeout ends a tool that never waits, so long after the last event. The default is 10
	// seconds; a negative one means none.
	Timeout time.Duration
	// Root makes the tool believe that it runs as root.
	Root bool
	// Live has the real system calls of the tool and its children fire hooks.
	Live bool
	// Stdin is what the tool reads.
	Stdin string
}

// Output is what a tool did.
type Output struct {
	Stdout, Stderr string
	// Code is the exit status, 128 plus the signal's number when a signal ended the tool: 130 is
	// SIGINT, which a tool gets that waits after the last event.
	Code int
	// Notes are what bpfrun exec says: events without programs, lost records, findings.
	Notes []string
	// Fired are the runs of the tool's programs that events caused, in order.
	Fired []FiredProgram
}

// FiredProgram is one run of a program of a tool.
type FiredProgram struct {
	Hook, Program string
	Ret           uint64
	// Err is why it did not run to its end.
	Err error
}

// Ran counts the runs of a program, by the name that the kernel keeps: its first 15 bytes.
func (o *Output) Ran(program string) int {
	n := 0
	program = program[:min(len(program), 15)]
	for _, f := range o.Fired {
		if f.Program == program && f.Err == nil {
			n++
		}
	}
	return n
}

// Exec runs a tool to its end on a simulated kernel and returns what it printed and which of its
// programs ran. No root and no BPF of the host's kernel is needed, only Linux 5.14 or later on
// amd64 or arm64. The test ends if the tool cannot be run. Tests may run tools at the same time.
//
//	out := bpftest.Exec(t, bpftest.Tool{Args: []string{"opensnoop"}, Events: "syscall/openat filename=/etc/motd ret=3"}, bpftest.Kernel("6.12"))
func Exec(t TB, tool Tool, opts ...Option) *Output {
	t.Helper()
	out, err := TryExec(tool, opts...)
	if err != nil {
		t.Fatalf("run %s: %v", strings.Join(tool.Args, " "), err)
	}
	return out
}

// TryExec is [Exec] for callers that decide themselves what an error means. [ErrUnsupported] is
// one.
func TryExec(tool Tool, opts ...Option) (*Output, error) {
	k, err := Open(nil, opts...)
	if err != nil {
		return nil, err
	}
	simulated := k.o.machine
	simulated.Types, simulated.Uncovered, simulated.Unwatched = k.kt, true, true
	var out Output
	var stdout, stderr bytes.Buffer
	notes := &lines{}
	cfg := exec.Config{
		System: bpfsys.Config{Target: k.tgt, Machine: simulated},
		Args:   slices.Clone(tool.Args), Root: tool.Root, Live: tool.Live, Timeout: tool.Timeout, RealClock: true,
		Stdin: strings.NewReader(tool.Stdin), Stdout: &stdout, Stderr: &stderr, Notes: notes,
	}
	var mu sync.Mutex
	cfg.Fired = func(hook string, fired []bpfsys.Fired) {
		mu.Lock()
		defer mu.Unlock()
		for _, f := range fired {
			out.Fired = append(out.Fired, FiredProgram{Hook: hook, Program: f.Program, Ret: f.Ret, Err: f.Err})
		}
	}
	switch {
	case cfg.Timeout == 0:
		cfg.Timeout = 10 * time.Second
	case cfg.Timeout < 0:
		cfg.Timeout = 0
	}
	switch tool.Events {
	case "":
	case "auto":
		cfg.Events = exec.AutoEvents()
	default:
		if cfg.Events, err = exec.ReadEvents(strings.NewReader(tool.Events)); err != nil {
			return nil, err
		}
		cfg.RealClock = !cfg.Events.Clock
	}
	cfg.Release, cfg.Version = kernels.Uname(k.tgt, k.path)
	code, err := exec.Run(cfg)
	if err != nil {
		return nil, fmt.Errorf("%w%s", err, errorText(stderr.String()))
	}
	mu.Lock()
	defer mu.Unlock()
	out.Stdout, out.Stderr, out.Code, out.Notes = stdout.String(), stderr.String(), code, notes.list()
	return &out, nil
}

func errorText(stderr string) string {
	if stderr == "" {
		return ""
	}
	return ": " + strings.TrimSpace(stderr)
}

// lines collects notes.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write adds text.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) list() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for line := range strings.Lines(l.text.String()) {
		out = append(out, strings.TrimPrefix(strings.TrimSuffix(line, "\n"), "bpfrun exec: "))
	}
	return out
}
