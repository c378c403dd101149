package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/internal/record"
	"github.com/bpfrun/bpfrun/internal/visible"
)

// recordCommand is bpfrun record.
type recordCommand struct {
	*console
	linker
	sim *machineFlags

	out, object         string
	format, tracefs     string
	redact, hooks, live []string
	limit, buffer       int
	untimed             bool
	packetHook          string
	forTime             time.Duration
}

func newRecordCommand(a *app) *cobra.Command {
	c := &recordCommand{console: &a.console, linker: a.linker(), sim: &a.sim}
	cmd := &cobra.Command{
		Use:   "record [FILE]",
		Short: "Turn traces of real systems into events and scenarios that bpfrun replays",
		Long: `Read what strace, perf, bpftrace or tcpdump wrote, and write a file for bpfrun exec --events. Without FILE, it reads standard input.

  strace -f -ttt -o FILE COMMAND        system calls, forks, execs, exits and signals, with file names, arguments and results
  perf script                           tracepoints and probes, of perf record -e ...
  trace_pipe                            the same, of ftrace
  bpftrace                              lines "bpfrun NSECS PID TID CPU "COMM" HOOK NAME=VALUE ...", which a script prints
  tcpdump -w FILE                       captured packets (pcap, pcapng), for the hook that --packet-hook names

--object FILE writes a scenario of an object instead, for bpfrun test, debug, fuzz and run -s: a run for each program of the object at the hook of an event, and
the tasks, files and sockets that the events tell of as kernel objects. -o FILE.yaml does so for the object beside it, FILE.bpf.o or FILE.o.

--redact replaces private data: paths, comms, addresses, argv, or all. Equal values get equal replacements. Memory behind pointers, such as the data of read and
write, is never recorded. What was left out is counted on standard error.

--live EVENT,... records the running kernel through tracefs instead, as root, for the TIME of --for or until Ctrl-C: in a tracing instance of its own,
which is removed at the end with all that was switched on. See docs/exec.md.`,
		Example: "  strace -f -ttt -o trace make test; bpfrun record trace --redact paths,argv -o make.events\n  bpfrun record trace --object opensnoop.bpf.o -o make.yaml; bpfrun test make.yaml\n  perf script | bpfrun record -o perf.events\n  bpfrun record --live sched:sched_switch,syscalls:sys_enter_openat --for 5s -o live.events",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, yaml := yamlStem(c.out); c.object == "" && !yaml {
				if err := noSharedFlags(cmd, "--object"); err != nil {
					return err
				}
			}
			return c.record(args)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&c.out, "output", "o", "", "write the events to `FILE` (default: standard output); NAME.yaml is a scenario")
	f.StringVar(&c.object, "object", "", "write a scenario for this object `FILE`")
	f.StringVar(&c.format, "format", "", "the input's `FORMAT`: "+strings.Join(record.Formats, ", ")+" (default: found out)")
	f.StringSliceVar(&c.redact, "redact", nil, "replace private data by `RULES`: "+strings.Join(record.RedactionNames, ", ")+", or all")
	f.StringSliceVar(&c.hooks, "hook", nil, "keep only events of these `HOOKS`, such as syscall/openat or syscall/*")
	f.IntVar(&c.limit, "limit", record.DefaultLimit, fmt.Sprintf("write at most `N` events, up to %d", record.MaxLimit))
	f.BoolVar(&c.untimed, "no-time", false, "leave out the time between events")
	f.StringVar(&c.packetHook, "packet-hook", "xdp", "the `HOOK` of captured packets")
	f.StringSliceVar(&c.live, "live", nil, "record these `EVENTS` of the running kernel, such as sched:sched_switch, as root")
	f.DurationVar(&c.forTime, "for", 0, "how long to record (such as 5s; default: until Ctrl-C)")
	f.StringVar(&c.tracefs, "tracefs", "/sys/kernel/tracing", "`DIRECTORY` where tracefs is mounted")
	f.IntVar(&c.buffer, "buffer", 4096, "size in KiB of each processor's buffer of --live")
	if err := cmd.RegisterFlagCompletionFunc("format", words(record.Formats...)); err != nil {
		panic(err) // a bug: the flag exists and is registered once
	}
	return cmd
}

func (c *recordCommand) record(args []string) error {
	rules, err := record.ParseRedaction(c.redact)
	switch {
	case err != nil:
		return usagef("--redact: %w", err)
	case c.format != "" && !slices.Contains(record.Formats, c.format):
		return usagef("--format %s: want %s", c.format, strings.Join(record.Formats, ", "))
	case c.limit < 1 || c.limit > record.MaxLimit:
		return usagef("--limit %d: want 1 to %d", c.limit, record.MaxLimit)
	case len(c.live) > 0 && (len(args) > 0 || c.format != ""):
		return usagef("--live records the running kernel: it takes neither a file nor --format")
	case len(c.live) == 0 && c.forTime != 0:
		return usagef("--for is for --live")
	case c.buffer < 4 || c.buffer > 1<<20:
		return usagef("--buffer %d: want 4 to %d KiB", c.buffer, 1<<20)
	}
	in, name := io.Reader(os.Stdin), "standard input"
	if len(args) > 0 && args[0] != "-" {
		f, err := os.Open(args[0])
		if err != nil {
			return openError(args[0], err)
		}
		defer f.Close()
		in, name = f, args[0]
	}
	opt := record.Options{Redact: rules, Hooks: c.hooks, Limit: c.limit, Untimed: c.untimed, PacketHook: c.packetHook}
	if len(c.live) > 0 {
		name = "the running kernel"
	}
	scene, err := c.scene()
	if err != nil {
		return err
	}
	var failed error
	write := func(out io.Writer) error {
		var text bytes.Buffer
		to := out
		if scene != nil {
			to = &text
		}
		var sum record.Summary
		sum, failed = c.recordTo(to, in, opt)
		if failed != nil {
			failed = usageError{fmt.Errorf("%s: %w", name, failed)}
			if sum.Events == 0 {
				return failed
			}
		} else {
			c.summarise(sum)
		}
		if scene != nil {
			return scene.write(out, &text)
		}
		return nil // what was understood stays
	}
	if c.out == "" {
		return cmp.Or(write(c.stdout), failed)
	}
	return cmp.Or(writeFileMode(c.out, 0o600, write), failed) // it may hold private data
}

// recordTo writes the events of an input, or of the running kernel.
func (c *recordCommand) recordTo(out io.Writer, in io.Reader, opt record.Options) (record.Summary, error) {
	r := record.NewRecorder(out, opt)
	r.Comment("Events recorded by bpfrun record. Replay: bpfrun exec --events FILE -- TOOL")
	var failed error
	if len(c.live) > 0 {
		failed = c.recordLive(r)
	} else {
		_, failed = record.Read(in, c.format, r)
	}
	if failed != nil && r.Summary().Events == 0 {
		return r.Summary(), failed
	}
	sum, err := r.Close()
	return sum, errors.Join(failed, err)
}

func (c *recordCommand) recordLive(r *record.Recorder) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if c.forTime > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.forTime)
		defer cancel()
	}
	l := record.Live{Tracefs: c.tracefs, Instance: fmt.Sprintf("bpfrun-%d", os.Getpid()), Events: c.live, BufferKB: c.buffer}
	err := l.Record(ctx, r)
	switch {
	case errors.Is(err, os.ErrPermission):
		err = fmt.Errorf("%w: recording the running kernel needs root", err)
	case errors.Is(err, record.ErrNoTracefs):
		err = fmt.Errorf("%w (mount it: mount -t tracefs tracefs %s, or name its directory: --tracefs DIRECTORY)", err, c.tracefs)
	}
	return err
}

// summarise says what was recorded and what was left out.
func (c *recordCommand) summarise(s record.Summary) {
	if c.quiet {
		return
	}
	visible.Fprintf(c.stderr, "bpfrun record: %s of %s", count(s.Events, "event"), count(s.Lines, "line"))
	if s.Skipped > 0 {
		visible.Fprintf(c.stderr, "; %s without an event", count(s.Skipped, "line"))
	}
	if s.Lost > 0 {
		visible.Fprintf(c.stderr, "; the kernel lost %s", count(s.Lost, "event"))
	}
	if s.Cut {
		visible.Fprintf(c.stderr, "; more were not written (--limit)")
	}
	visible.Fprintln(c.stderr)
	if s.Events == 0 && len(s.Others) > 0 {
		visible.Fprintf(c.stderr, "bpfrun record: --hook %s: no event is at it; there are events at %s\n", strings.Join(c.hooks, ","), strings.Join(s.Others, ", "))
	}
	keys := slices.SortedFunc(maps.Keys(s.Left), func(a, b string) int {
		return cmp.Or(s.Left[b]-s.Left[a], strings.Compare(a, b))
	})
	const shown = 10
	for i, k := range keys {
		if i == shown {
			visible.Fprintf(c.stderr, "bpfrun record: left out: %d more kinds of values\n", len(keys)-i)
			break
		}
		visible.Fprintf(c.stderr, "bpfrun record: left out %s: %s\n", count(s.Left[k], "time"), k)
	}
}
