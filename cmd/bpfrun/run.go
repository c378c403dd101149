package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/app/capture"
	"github.com/bpfrun/bpfrun/internal/app/pass"
	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/debug"
	"github.com/bpfrun/bpfrun/internal/exitcode"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/packet"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/shell"
	"github.com/bpfrun/bpfrun/internal/subsys"
	"github.com/bpfrun/bpfrun/internal/visible"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/spf13/cobra"
)

// runOptions are the flags of the run command.
type runOptions struct {
	progs  []string
	repeat int
	chain  bool
	// functions are those that programs run for which trace many.
	functions []string
	plain     bool
	reach     bool
	trace     bool
	ctx       string
	packet    string

	pcap      string
	pcapIndex int
	out       string
	traceOut  string

	dumpMaps   []string
	dumpFormat string

	scenario string
	cover    coverFlags
	reports  reportFiles
	profile  runProfile
	whyNot   string
	path     string // of the object that is run
}

// runCommand is bpfrun run, and bpfrun with an object and no command.
type runCommand struct {
	*console
	linker
	sim *machineFlags
	runOptions

	collected *coverage // receives coverage; nil without --cover
}

func makeRunCommand(a *app) *runCommand {
	return &runCommand{console: &a.console, linker: a.linker(), sim: &a.sim}
}

func newRunCommand(a *app) *cobra.Command {
	c := makeRunCommand(a)

	cmd := &cobra.Command{
		Use:   "run OBJECT [-p PROGRAM]",
		Short: "Run chosen programs of an object",
		Long: `Run programs of an object in file order on one machine, so that they share maps and
global variables. Without -p all programs run.`,
		Example: `  bpfrun run prog.o --btf kernel.btf -p handle_exec --trace
  bpfrun run xdp.o --packet "eth/ip(src=10.0.0.1,ttl=63)/tcp(dport=80,flags=S)/'GET /'"
  bpfrun run xdp.o --pcap in.pcapng --out out.pcapng`,
		Args: oneObject,
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if c.collected, err = c.cover.begin(); err != nil {
				return err
			}
			if err := errors.Join(c.reports.check(), c.profile.check()); err != nil {
				return err
			}
			if c.scenario == "" {
				switch {
				case cmd.Flags().Changed("pcap-index") && c.pcapIndex < 1:
					return usagef("--pcap-index %d: packets count from 1", c.pcapIndex)
				case cmd.Flags().Changed("dump-format") && len(c.dumpMaps) == 0:
					return usagef("--dump-format sets the layout of --dump-map: add --dump-map NAME")
				case c.profile.wanted() && (c.trace || c.pcap != "" && c.pcapIndex == 0):
					return usagef("--profile cannot be combined with --trace or --pcap: it looks at each instruction of one run")
				case len(c.functions) > 0 && (c.chain || c.repeat > 1 || c.whyNot != ""):
					return usagef("--function cannot be combined with --chain, --repeat or --why-not: it is one run for each function")
				case c.reach && (c.plain || c.oneRun()):
					return usagef("--reach cannot be combined with --plain, --repeat, --trace, --profile, --chain, --why-not, --pcap, --out, --cover, --dump-map, --attach-prog or --engine jit and both: it runs a program many times")
				case c.chain && (c.repeat > 1 || c.pcap != "" || c.whyNot != "" || c.out != ""):
					return usagef("--chain cannot be combined with --repeat, --pcap, --out or --why-not: it is one event")
				}
				return c.runObjects(args)
			}
			for _, name := range []string{"prog", "repeat", "chain", "function", "plain", "reach", "trace", "ctx", "packet", "pcap", "pcap-index", "out", "dump-map", "dump-format", "why-not", "profile", "profile-out"} {
				if cmd.Flags().Changed(name) {
					return usagef("--%s cannot be combined with -s: the scenario file sets it", name)
				}
			}
			return c.runScenario(args, c.scenario)
		},
	}
	f := cmd.Flags()
	c.cover.add(f)
	c.reports.add(f, "html")
	c.profile.add(f)
	f.StringVarP(&c.scenario, "scenario", "s", "", "scenario `FILE`: objects, maps, runs and what is expected of them")
	listVar(f, &c.progs, "prog", "p", "`PROGRAM` to run; repeatable")
	f.StringVar(&c.whyNot, "why-not", "", "explain which branch kept the run from reaching `PLACE`: LINE, FILE:LINE, a function, *N (instruction N) or a helper")
	f.IntVar(&c.repeat, "repeat", 1, "run each program `N` times")
	f.BoolVar(&c.chain, "chain", false, "run the programs as attached to one hook in the order of -p: on the same context, until one decides, with the hook's verdict")
	listVar(f, &c.functions, "function", "", "run programs that trace many functions for `FUNCTION`, attached with a cookie for FUNCTION=COOKIE; all for every function that the pattern matches; repeatable")
	f.BoolVar(&c.plain, "plain", false, plainUsage)
	f.BoolVar(&c.reach, "reach", false, "search longer for an input that gets further, also around the packet or context that you give, which stay; the run that got furthest is reported with what was changed for it")
	f.BoolVar(&c.trace, "trace", false, "print every executed instruction with the registers it changed and its source line")
	f.StringVar(&c.ctx, "ctx", "", "context `BYTES` as hex digits or @FILE, for program types with such a context")
	f.StringVar(&c.packet, "packet", "", "input `PACKET`: an expression such as eth/ip(ttl=63)/tcp(dport=80)/'GET /', hex digits, @FILE, or @CAPTURE#N")
	f.StringVar(&c.pcap, "pcap", "", "run programs on every packet of `FILE`: pcap or pcapng, also .gz and .zst")
	f.IntVar(&c.pcapIndex, "pcap-index", 0, "run only packet `N` of --pcap, counted from 1")
	f.StringVar(&c.out, "out", "", "write the packets as the programs left them to `FILE`: pcapng with verdicts as comments, or .pcap")
	f.StringVar(&c.traceOut, "trace-out", "", "write the schedules of sched_ext schedulers to `FILE`, for chrome://tracing and Perfetto")
	listVar(f, &c.dumpMaps, "dump-map", "", "print the elements of map `NAME` after the run, decoded by their types, as bpftool map dump does; repeatable")
	f.StringVar(&c.dumpFormat, "dump-format", string(report.MapPlain), "`LAYOUT` of --dump-map: plain, json (bpftool -j) or pretty (bpftool -p)")
	return cmd
}

// maxRepeat limits the runs of one program: the reports of all runs are kept in memory.
const maxRepeat = 100_000

// runObjects runs objects on every target and prints a table or a document for each pair.
func (c *runCommand) runObjects(paths []string) error {
	if c.repeat < 1 || c.repeat > maxRepeat {
		return usagef("--repeat %d: want 1 to %d, since each run is reported (bpfrun bench times a program)", c.repeat, maxRepeat)
	}
	cfg, err := c.sim.config(c.repeat > 1 || c.replays())
	if err != nil {
		return err
	}
	cfg.Cover = c.collected.sink()
	in, err := c.input(c.sim.cpu)
	if err != nil {
		return err
	}
	table, err := c.table()
	if err != nil {
		return err
	}
	sources, err := c.kernels.sources()
	if err != nil {
		return err
	}
	if err := c.checkPackets(len(sources), len(paths)); err != nil {
		return err
	}
	if err := c.checkOut(paths, sources); err != nil {
		return err
	}
	ctx, stop := c.interruptible(context.Background())
	defer stop()
	all := report.Documents{Schema: report.Schema}
	c.profile.counts.Named = len(paths)*len(sources) > 1
	watch := c.silentProgress("runs of an object on a kernel", len(paths)*len(sources))
	defer watch.end()
	for _, path := range paths {
		obj, err := c.objects.open(path)
		if err != nil {
			return err
		}
		if len(paths) == 1 { // others may have the program
			if err := c.sim.checkIgnored(obj); err != nil {
				return err
			}
		}
		for _, s := range c.kernels.fitting(sources, obj.ByteOrder) {
			watch.add(1)
			c.path = path
			doc, err := c.runOn(ctx, obj, s, in, cfg)
			if doc != nil && len(sources) > 1 {
				err = nil // an error on one kernel does not stop the others
			}
			if err != nil {
				return err
			}
			all.Results = append(all.Results, doc)
			all.Exit = exitcode.Worse(all.Exit, doc.Exit)
			if !c.json {
				if len(all.Results) > 1 {
					visible.Fprintln(c.stdout)
				}
				if err := report.WriteTable(c.stdout, doc, table); err != nil {
					return err
				}
			}
		}
	}
	return c.finish(all)
}

// finish writes what is left after all runs: documents, files and coverage.
func (c *runCommand) finish(all report.Documents) error {
	c.code = all.Exit
	if err := c.writeTrace(all.Results); err != nil {
		return err
	}
	if err := c.reports.write("html", func(w io.Writer) error { return report.WriteRunHTML(w, all, c.profile.page()) }); err != nil {
		return err
	}
	if err := c.profile.write(); err != nil {
		return err
	}
	if !c.json {
		if c.profile.on {
			table, err := c.table()
			if err != nil {
				return err
			}
			if err := report.WriteRunProfile(c.stdout, &c.profile.counts, table); err != nil {
				return err
			}
		}
		return c.collected.finish(c.console, c.stdout)
	}
	return errors.Join(report.WriteJSON(c.stdout, all), c.collected.finish(c.console, c.stderr))
}

// withMaps reports whether what is written has the contents of maps.
func (c *runCommand) withMaps() bool { return c.json || c.reports.wants("html") }

// onlyProblems reports whether nothing is shown of runs that end well.
func (c *runCommand) onlyProblems() bool { return c.quiet && !c.withMaps() && c.repeat == 1 }

// unseen reports whether nobody sees why a run of a program did no more, if it ends well.
func (c *runCommand) unseen(m *machine.Machine, name string) bool {
	status, _ := m.ProgramStatus(name)
	return c.onlyProblems() && c.whyNot == "" && status == machine.StatusOK
}

func (o runOptions) input(cpu int) (machine.Input, error) {
	in := machine.Input{CPU: cpu}
	var err error
	if in.Context, err = bytesFlag("ctx", o.ctx); err != nil {
		return in, err
	}
	if o.pcapIndex > 0 && o.pcap != "" {
		if in.Packet, err = packet.ReadPacket(o.pcap, o.pcapIndex); err != nil {
			return in, usagef("--pcap: %w", err)
		}
		return in, nil
	}
	in.Packet, err = packetFlag(o.packet)
	return in, err
}

// checkInput refuses a packet or context that none of the selected programs would receive.
func (o runOptions) checkInput(obj *loader.Object, packetBytes []byte) error {
	for _, f := range []struct {
		flag, value string
		what        progtype.Takes
	}{{"packet", o.packet, progtype.TakesPacket}, {"ctx", o.ctx, progtype.TakesBytes}} {
		taken := f.value == ""
		for _, p := range obj.Programs {
			taken = taken || progtype.Of(p.Type).Takes.Has(f.what) && o.chosen(p.Name)
		}
		if !taken {
			return usagef("--%s: none of the programs takes one", f.flag)
		}
	}
	if packetBytes != nil {
		flag := "--packet"
		if o.pcap != "" {
			flag = "--pcap"
		}
		return checkFrame(obj, o.progs, flag, packetBytes)
	}
	return nil
}

// chosen reports whether a program is to run.
func (o runOptions) chosen(name string) bool {
	return len(o.progs) == 0 || slices.Contains(o.progs, name)
}

// runOn runs the object's programs on one target. If the target cannot be used, or the object does
// not link for it, runOn returns both an error and a document with that error.
func (c *runCommand) runOn(ctx context.Context, obj *loader.Object, s btfSource, in machine.Input, cfg machine.Config) (*report.RunDocument, error) {
	if err := c.checkDump(obj); err != nil {
		return nil, err
	}
	for _, name := range c.progs {
		if _, ok := obj.Program(name); !ok {
			return nil, usagef("-p %s: no such program in %s (available: %s)", name, obj.Name, programNames(obj))
		}
	}
	if err := errors.Join(c.checkInput(obj, in.Packet), c.checkFunctions(obj)); err != nil {
		return nil, err
	}
	target, err := c.kernels.target(s)
	if exitCode(err) == exitLoad {
		return failedOn(obj, &report.Target{Name: s.Name, Source: s.Path}, err), err
	} else if err != nil {
		return nil, err
	}
	linked, err := c.linkTo(obj, target, slices.Concat(c.progs, targetPrograms(c.objects.attachProgs))...)
	if exitCode(err) == exitLoad {
		return failedOn(obj, report.NewTarget(target, s.Path), err), err
	} else if err != nil {
		return nil, err
	}
	doc := report.NewRunDocument(linked, s.Path)
	if c.onlyProblems() && !c.sim.strict { // what runs found then is a failure
		doc.OnlyProblems()
	}
	names, with := c.progs, []string(nil)
	if len(c.objects.attachProgs) > 0 {
		if names, with, err = attachedTo(linked, c.progs); err != nil {
			return nil, err
		}
	}
	doc.Choose(slices.Concat(names, with))
	if c.replays() {
		if names, err = packetPrograms(obj, names); err != nil {
			return nil, err
		}
		doc.Choose(names)
	}
	verdicts := pass.NewVerdicts(ctx, linked, slices.Concat(names, with), c.sim.noVerify)
	cfg.Verify = verdicts.Verify
	if len(c.progs) == 0 && !c.replays() { // not if programs are named
		cfg.Simulates = subsys.Simulates(obj)
	}
	m, err := machine.New(linked, cfg)
	verdicts.AddTo(doc, c.sim.noVerify)
	if err != nil {
		doc.Fail(err)
		doc.Exit = exitLoad
		return doc, nil
	}
	defer m.Close()
	addAttached(doc, m, with)
	drop, err := pass.ServeBPF(linked, m, cfg, c.noteText)
	if err != nil {
		return nil, err
	}
	defer drop()
	if ctx.Err() != nil {
		return nil, codeError{exitInterrupted, errors.New("interrupted while verifying programs")}
	}
	if c.trace {
		w := c.stdout
		if c.json {
			w = c.stderr // standard output is one document
		}
		in.Trace = &machine.TextTracer{W: w}
	}
	if c.profile.wanted() {
		in.Trace = &c.profile.counts
	}
	if len(names) == 0 {
		names = linked.KernelOrder(m.Names())
	}
	if len(cfg.Simulates) > 0 {
		if names, err = runWholes(ctx, doc, m, names); err != nil {
			return nil, err
		}
	}
	if c.replays() {
		if err := c.replay(ctx, doc, m, names, in); err != nil {
			return nil, err
		}
		names = nil
	}
	if c.chain {
		if err := runChain(ctx, doc, m, names, in); err != nil {
			return nil, err
		}
		names = nil
	}
	if names, err = c.runTogether(ctx, doc, m, names); err != nil {
		return nil, err
	}
	if names, err = c.runFunctions(ctx, doc, m, names, in); err != nil {
		return nil, err
	}
	in.FailedChanges = c.onlyProblems()
	why := debug.Questions{Place: c.whyNot, Off: cfg.Cover != nil || c.repeat > 1 || c.trace || c.profile.wanted()}
	for _, name := range names {
		lp, _ := linked.Program(name)
		var began *machine.Snapshot
		if !c.unseen(m, name) {
			began = why.Ask(m, lp)
		}
		for n := range c.repeat {
			res, changed, err := c.once(ctx, doc, m, name, in)
			if err != nil {
				if errors.Is(err, context.Canceled) {
					return nil, codeError{exitInterrupted, fmt.Errorf("interrupted while running %s", name)}
				}
				if n > 0 {
					err = fmt.Errorf("run %d of --repeat %d: %w (bpfrun bench times a program)", n+1, c.repeat, err)
				}
				return nil, usageError{err}
			}
			if !changed {
				why.Add(began, res)
			}
			if c.out != "" && res.Ran {
				if err := capture.WriteRun(c.out, res, lp); err != nil {
					return nil, packetsError(err)
				}
			}
		}
	}
	doc.Finish(m)
	if c.withMaps() {
		doc.AddMaps(m)
	}
	doc.Exit = exitcode.Worse(doc.Exit, report.RunExit(doc, len(c.progs) > 0, c.sim.strict))
	if err := c.writeMaps(m); err != nil {
		return doc, err
	}
	if err := why.Answer(ctx, m, cfg, in, doc.Explain); err != nil {
		if ctx.Err() != nil {
			return doc, codeError{exitInterrupted, fmt.Errorf("interrupted while runs were explained: %w", err)}
		}
		return doc, usagef("--why-not: %v", err)
	}
	if len(why.Flags) > 0 {
		doc.Try = c.tryLine(s, why.Flags)
	}
	return doc, nil
}

// passError adds the exit code to an error of package pass.
func passError(err error) error {
	if i := (*pass.Interrupted)(nil); errors.As(err, &i) {
		return codeError{exitInterrupted, err}
	}
	return usageError{err}
}

func failedOn(obj *loader.Object, t *report.Target, err error) *report.RunDocument {
	doc := report.NewFailedDocument(obj, t, err)
	doc.Exit = exitLoad
	return doc
}

func programNames(obj *loader.Object) string {
	names := make([]string, len(obj.Programs))
	for i, p := range obj.Programs {
		names[i] = p.Name
	}
	return join(names)
}

// tryLine returns a command line whose flags make programs pass the branches at which they
// returned.
func (c *runCommand) tryLine(s btfSource, flags []string) string {
	line := "bpfrun "
	if len(c.progs) > 0 {
		line += "run "
	}
	line += shell.Quote(c.path)
	for _, p := range c.progs {
		line += " -p " + shell.Quote(p)
	}
	if len(c.kernels.btf) > 0 {
		line += " --btf " + shell.Quote(s.Path)
	}
	for _, g := range c.objects.globals {
		line += " --global " + shell.Quote(g)
	}
	return line + " " + strings.Join(flags, " ")
}
