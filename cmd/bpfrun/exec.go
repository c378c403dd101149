package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/bpfsys"
	bpfexec "github.com/bpfrun/bpfrun/internal/exec"
	"github.com/bpfrun/bpfrun/internal/kernels"
	"github.com/bpfrun/bpfrun/internal/visible"
	"github.com/bpfrun/bpfrun/loader"
)

type execOptions struct {
	events, log, socket string
	run                 string
	keep, root, live    bool
	noWait              bool
	timeout             time.Duration
}

// autoEvents is the value of --events that invents them; ./auto is a file of that name.
const autoEvents = "auto"

// realClock is the value of --clock with which simulated time is the host's.
const realClock = "real"

// execCommand is bpfrun exec.
type execCommand struct {
	*console
	kernels *kernelFlags
	sim     *machineFlags

	execOptions
}

func newExecCommand(a *app) *cobra.Command {
	c := &execCommand{console: &a.console, kernels: &a.kernels, sim: &a.sim}
	cmd := &cobra.Command{
		Use:   "exec [--btf KERNEL] [--events FILE] -- TOOL ARGS...",
		Short: "Run an unmodified BPF tool on a simulated kernel, without root",
		Long: `Run a tool with the bpf(2), perf_event_open(2) and kernel files of a simulated kernel. The tool's own loader relocates and
loads its BPF programs, the verifier of the kernel's release checks them, and they run here when their hooks fire. All other
system calls go to the host. This needs no privileges and no BPF in the host's kernel, only Linux 5.14 on amd64 or arm64.

The lines of --events fire hooks, one step whenever the tool waits ("---" ends a step). So does bpfrun fire:

  sched_switch task.comm=bash task.pid=42     a tracepoint; fields of its record and of the current task, by name
  syscall/openat filename=/etc/passwd ret=3   a system call: its tracepoints and probes, on entry and exit
  do_unlinkat ret=-2 repeat=3                 a function, entry and return, three times
  xdp packet=ffffffffffff0200000000010800     a packet, in hex digits
  pass 10ms                                   advance time; timers that fall due run
  repeat 9 every 1ms ... end                  do the lines in between nine times; $i counts
  let NAME=VALUE, task NAME pid=9 comm=sh     what later lines name as $NAME, and as task=@NAME
  auto                                        one invented event for each hook that the tool attached
  clock                                       simulate the tool's sleeps

Programs see the host's time, as the tool does, unless the events simulate sleeps; --clock TIME simulates it.

When the tool waits again after the last step, it gets SIGINT; --keep leaves it running. See docs/exec.md.

Exit code: the tool's, or 128 plus the signal number if a signal ended it.`,
		Example: "  bpfrun exec --btf 6.12 --events open.events -- opensnoop\n  bpfrun exec --btf 6.12 --events auto -- tcpconnect\n  bpfrun exec --btf 6.12 --live --run 'make test' -- execsnoop\n  bpfrun exec --btf 6.1 -- bpftool prog\n  go test -exec 'bpfrun exec --btf 6.12 --' ./...",
		Args:    atLeast(1),
		RunE:    func(_ *cobra.Command, args []string) error { return c.exec(args) },
	}
	f := cmd.Flags()
	f.SetInterspersed(false)
	f.StringVar(&c.events, "events", "", "`FILE` with events for the simulated kernel, - for standard input, auto to invent one for each hook that the tool attaches")
	f.BoolVar(&c.keep, "keep", false, "leave the tool running after the last event")
	f.DurationVar(&c.timeout, "timeout", 0, "end the tool this `TIME` after the last event, or after its start without events, even if it does not wait (such as 5s)")
	f.BoolVar(&c.noWait, "no-wait", false, "fire all events of a step at once: buffers overflow if the tool does not read fast enough")
	f.BoolVar(&c.root, "fake-root", false, "make the tool believe that it runs as root")
	f.BoolVar(&c.live, "live", false, "let the real system calls of the tool and its children fire the hooks of system calls, forks, execs and exits")
	f.StringVar(&c.run, "run", "", "start this shell `COMMAND` beside the tool when it first waits; with --live, the tool sees what the command does")
	f.StringVar(&c.log, "log", "", "log each simulated system call to `FILE`")
	f.StringVar(&c.socket, "socket", "", "listen for bpfrun fire on this `PATH`")
	return cmd
}

// exec runs a tool under supervision.
func (c *execCommand) exec(args []string) error {
	source, err := c.kernels.one("exec uses one kernel")
	if err != nil {
		return err
	}
	target, err := c.kernels.target(source)
	if err != nil {
		return err
	}
	real := c.sim.clock == realClock || !c.sim.clockGiven
	if c.sim.clock == realClock {
		c.sim.clock = "1h" // which nobody sees
	}
	simulated, err := c.sim.config(false)
	if err != nil {
		return err
	}
	simulated.Uncovered, simulated.Unwatched = true, true
	cfg := bpfexec.Config{
		Args: args, Keep: c.keep, NoWait: c.noWait, Timeout: c.timeout, Root: c.root, Live: c.live, Run: c.run, Socket: c.socket, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		System: bpfsys.Config{Target: target, Machine: simulated},
	}
	if !c.quiet {
		cfg.Notes = c.stderr
	}
	cfg.Release, cfg.Version = kernels.Uname(target, source.Path)
	if source.ModulesFile() != "" {
		cfg.ModulesOf = source.ModulesWith
	}
	switch c.events {
	case "":
	case autoEvents:
		cfg.Events = bpfexec.AutoEvents()
	default:
		if cfg.Events, err = readEvents(c.events); err != nil {
			return err
		}
		if err := checkHooks(c.events, cfg.Events, target); err != nil {
			return err
		}
	}
	cfg.RealClock = real && (c.sim.clockGiven || cfg.Events == nil || !cfg.Events.Clock)
	if c.log != "" {
		log, err := os.Create(c.log)
		if err != nil {
			return usageError{err}
		}
		defer log.Close()
		cfg.Log = log
	}
	code, err := bpfexec.Run(cfg)
	switch {
	case errors.Is(err, bpfexec.ErrUnsupported):
		return codeError{exitNotSimulated, err}
	case errors.Is(err, bpfexec.ErrGuard):
		return codeError{exitBug, fmt.Errorf("internal error: %w: unless someone killed it, this is a bug in bpfrun; please report it with the command line", err)}
	case errors.Is(err, exec.ErrNotFound):
		return usagef("%s: no such command in PATH", args[0])
	case errors.Is(err, os.ErrNotExist), errors.Is(err, os.ErrPermission):
		return usageError{err}
	case err != nil:
		return codeError{exitNotSimulated, err}
	}
	c.code = code
	return nil
}

func readEvents(path string) (*bpfexec.Events, error) {
	r := io.Reader(os.Stdin)
	if path != "-" {
		f, err := os.Open(path)
		if errors.Is(err, os.ErrNotExist) {
			return nil, usagef("--events %s: no such file (- reads standard input, auto invents events)", path)
		}
		if err != nil {
			return nil, usageError{err}
		}
		defer f.Close()
		r = f
	}
	ev, err := bpfexec.ReadEvents(r)
	if err != nil {
		return nil, usageError{fmt.Errorf("%s: %w", path, err)}
	}
	return ev, nil
}

// checkHooks refuses events of hooks that the kernel lacks, if they look like mistyped names: no
// tool would ever be attached to them.
func checkHooks(path string, ev *bpfexec.Events, target *loader.Target) error {
	var errs []error
	for _, step := range ev.Steps {
		for _, l := range step {
			if near := target.Misspelt(l.Event.Hook); l.Pass == 0 && len(near) > 0 {
				errs = append(errs, usagef("%s: line %d: the kernel has no hook %s (nearest: %s)", path, l.Number, l.Event.Hook, strings.Join(near, ", ")))
			}
		}
	}
	return errors.Join(errs...)
}

// fireDocument is the JSON of fire: the number of programs that ran at the hook.
type fireDocument struct {
	Schema   string `json:"schema"`
	Exit     int    `json:"exit"`
	Programs int    `json:"programs"`
}

// fireCommand is bpfrun fire.
type fireCommand struct {
	*console
}

func newFireCommand(a *app) *cobra.Command {
	c := &fireCommand{console: &a.console}
	return &cobra.Command{
		Use:     "fire SOCKET HOOK [NAME=VALUE...]",
		Short:   "Fire a hook in a running bpfrun exec --socket",
		Long:    "Fire a hook in the simulated kernel of a running bpfrun exec: the programs attached to it run. Events are written as in --events files.",
		Example: "  bpfrun fire /tmp/session do_unlinkat task.comm=rm ret=0",
		Args:    atLeast(2),
		RunE:    func(_ *cobra.Command, args []string) error { return c.fire(args[0], args[1:]) },
	}
}

func (f *fireCommand) fire(socket string, words []string) error {
	for i, w := range words {
		if name, v, ok := strings.Cut(w, "="); ok && strings.ContainsAny(v, " \t\"") {
			words[i] = name + `="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(v) + `"`
		}
	}
	line := strings.Join(words, " ")
	if _, err := bpfexec.ParseLine(line); err != nil || strings.ContainsAny(line, "\n") {
		return usagef("%s: %w", line, errors.Join(err))
	}
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return usagef("%s: no session listens there (start one with bpfrun exec --socket %s -- TOOL): %w", socket, socket, err)
	}
	defer conn.Close()
	if _, err := visible.Fprintln(conn, line); err != nil {
		return codeError{exitNotSimulated, err}
	}
	if c, ok := conn.(*net.UnixConn); ok {
		_ = c.CloseWrite()
	}
	out, err := io.ReadAll(conn)
	if err != nil {
		return codeError{exitNotSimulated, err}
	}
	text := strings.TrimSpace(string(out))
	if why, failed := strings.CutPrefix(text, "error: "); failed {
		return codeError{exitExpectation, errors.New(why)}
	}
	doc := fireDocument{Schema: report.Schema}
	if _, err := fmt.Sscanf(text, "%d program", &doc.Programs); err != nil {
		return codeError{exitNotSimulated, fmt.Errorf("%s ended the connection without an answer: is it the --socket of a running bpfrun exec?", socket)}
	}
	if f.json {
		return report.WriteJSON(f.stdout, doc)
	}
	_, err = visible.Fprintln(f.stdout, text)
	return err
}
