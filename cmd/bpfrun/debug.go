package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/bpfrun/bpfrun/internal/debug"
	"github.com/bpfrun/bpfrun/internal/debug/repl"
	"github.com/bpfrun/bpfrun/internal/intest"
	kobject "github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/packet"
	"github.com/bpfrun/bpfrun/internal/scenario"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/loader"
)

// debugOptions are the flags of the debug command.
type debugOptions struct {
	program   string
	ctx       string
	packet    string
	pcap      string
	pcapIndex int
	scenario  string
	test      string
	sources   []string
	sourceMap []string
	scripts   []string
	execute   []string
	echo      bool
}

// debugCommand is bpfrun debug.
type debugCommand struct {
	*console
	linker
	sim *machineFlags
	debugOptions

	// onSession takes the session instead of a terminal, and closes it; nil for a terminal.
	onSession func(s *debug.Session, program string) error
}

func newDebugCommand(a *app) *cobra.Command {
	c := &debugCommand{console: &a.console, linker: a.linker(), sim: &a.sim, onSession: a.onSession}
	cmd := &cobra.Command{
		Use:   "debug OBJECT [--btf KERNEL] [-p PROGRAM]",
		Short: "Step through a program, forwards and backwards, with typed values",
		Long: `Debug the programs of an object. With -p the program starts at once; otherwise the debugger's run command starts one.

With -s, run starts the runs of a scenario file by name. With --test it starts a test inside the object, or one of its stages
(TEST/pktgen, TEST/setup, TEST/check), after the tests it depends on.
Commands come from the terminal, with editing, history and completion, or from a pipe; help lists them. The exit code
is 0, or 2 if a command from a pipe or a file failed.`,
		Example: `  bpfrun debug prog.o --btf kernel.btf -p handle_exec
  bpfrun debug prog.o -s scenario.yaml -p 'exit of a shell'
  bpfrun debug suite.o --test 'xdp_accepts_tcp/setup'
  bpfrun debug xdp.o --pcap in.pcapng --pcap-index 12 -p filter
  echo 'run
backtrace' | bpfrun debug prog.o`,
		Args: oneObject,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range []string{"ctx", "packet", "pcap", "pcap-index"} {
				switch {
				case !cmd.Flags().Changed(name):
				case c.scenario != "":
					return usagef("--%s cannot be combined with -s: the scenario file sets it", name)
				case c.test != "":
					return usagef("--%s cannot be combined with --test: the test builds its own packets", name)
				}
			}
			s, err := c.debugSession(args[0])
			if err != nil {
				return err
			}
			if c.onSession != nil {
				return c.onSession(s, c.program)
			}
			defer s.Close()
			return c.debug(s, cmd.InOrStdin())
		},
	}
	f := cmd.Flags()
	f.StringVarP(&c.program, "prog", "p", "", "`PROGRAM` to start, or a run of the scenario")
	f.StringVarP(&c.scenario, "scenario", "s", "", "scenario `FILE`: set up its objects and maps, and start its runs by name")
	f.StringVar(&c.test, "test", "", "`TEST` inside the object to start, or TEST/STAGE")
	f.StringVar(&c.ctx, "ctx", "", "context `BYTES` as hex digits or @FILE, for program types with such a context")
	f.StringVar(&c.packet, "packet", "", "`PACKET` as an expression such as eth/ip(ttl=63)/tcp(dport=80), hex digits, @FILE, or @CAPTURE#N")
	f.StringVar(&c.pcap, "pcap", "", "capture `FILE` to take input packets from; the packet command selects one")
	f.IntVar(&c.pcapIndex, "pcap-index", 1, "start with packet `N` of --pcap, counted from 1")
	listVar(f, &c.sources, "source-dir", "", "`DIRECTORY` to look for source files in; repeatable")
	listVar(f, &c.sourceMap, "source-map", "", "`FROM=TO`: look for sources compiled under FROM in TO; repeatable")
	listVar(f, &c.scripts, "command-file", "x", "`FILE` of commands to run first; repeatable")
	listVar(f, &c.execute, "execute", "e", "`COMMAND` to run first, after those from files; repeatable")
	f.BoolVar(&c.echo, "echo", false, "echo each command from -e or a pipe, for a transcript")
	return cmd
}

// debug lets a user talk to a session.
func (c *debugCommand) debug(s *debug.Session, stdin io.Reader) error {
	color, err := useColor(c.color, c.stdout)
	if err != nil {
		return err
	}
	return c.converse(s, repl.Config{In: stdin, Out: c.stdout, Color: color, Echo: c.echo})
}

// debugSession opens a session as the flags say.
func (c *debugCommand) debugSession(path string) (*debug.Session, error) {
	cfg, err := c.config()
	if err != nil {
		return nil, err
	}
	cfg.Input.CPU = c.sim.cpu
	obj, err := c.objects.open(path)
	if err != nil {
		return nil, err
	}
	cfg.ELF = obj.ELF()
	d := &debugged{linker: c.linker, obj: obj}
	if d.opt, err = c.sim.scenarioOptions(c.objects, nil); err != nil {
		return nil, err
	}
	d.opt.Engine = machine.EngineInterpreter // only the interpreter supports breakpoints
	if !c.sim.noVerify {
		d.opt.Verify = verifier.Excuse(context.Background())
	}
	cfg.Machine = d.opt.Config
	if c.scenario != "" {
		if d.file, err = scenario.ParseFile(c.scenario); err != nil {
			return nil, usageError{err}
		}
		cfg.Machine.Mode = kobject.ModeScenario
	}
	if c.test != "" {
		if c.scenario != "" || c.program != "" {
			return nil, usagef("--test cannot be combined with -s or -p")
		}
		tests, err := intest.Discover(obj)
		if err != nil {
			return nil, codeError{exitUsage, err}
		}
		if !hasTest(tests, c.test) {
			return nil, usagef("--test %s: no such test in %s (available: %s)", c.test, obj.Name, testNames(tests))
		}
		d.inside, c.program = true, c.test
		cfg.Machine.Mode = kobject.ModeScenario
	}
	if c.program != "" && !d.inside && !d.has(c.program) {
		return nil, usagef("-p %s: no such program in %s (available: %s)", c.program, obj.Name, programNames(obj))
	}
	d.config, cfg.Kernel = cfg.Machine, d.kernel
	first, err := c.kernels.sourcesFor(d.file)
	if err != nil {
		return nil, err
	}
	if len(first) > 1 && len(c.kernels.btf) == 0 {
		first = first[:1] // of those the scenario names
	}
	if len(first) != 1 {
		return nil, usagef("debug takes one kernel, --btf names %d (the kernel command switches kernels)", len(first))
	}
	t, err := d.on(first[0])
	if err != nil {
		return nil, err
	}
	s, err := debug.NewOn(t, cfg)
	if err != nil {
		return nil, codeError{exitLoad, err}
	}
	if c.pcap != "" {
		packets, err := debug.ReadPackets(c.pcap)
		if err == nil {
			err = s.SetPackets(packets)
		}
		if err == nil {
			err = s.ChoosePacket(c.pcapIndex)
		}
		if err != nil {
			s.Close()
			return nil, usageError{fmt.Errorf("--pcap: %w", err)}
		}
	}
	return s, nil
}

// config returns the part of the session's configuration that flags say.
func (o debugOptions) config() (debug.Config, error) {
	cfg := debug.Config{SourceDirs: o.sources}
	var err error
	if cfg.Input.Context, err = bytesFlag("ctx", o.ctx); err != nil {
		return cfg, err
	}
	if o.packet != "" {
		if cfg.Input.Packet, err = packet.Load(o.packet, ""); err != nil {
			return cfg, usageError{fmt.Errorf("--packet: %w", err)}
		}
	}
	for _, m := range o.sourceMap {
		from, to, ok := strings.Cut(m, "=")
		if !ok || from == "" || to == "" {
			return cfg, usagef("--source-map %q: want FROM=TO", m)
		}
		cfg.SourceMap = append(cfg.SourceMap, debug.SourceMapping{From: from, To: to})
	}
	return cfg, nil
}

// debugged makes machines for an object on one kernel or another.
type debugged struct {
	linker
	obj    *loader.Object
	file   *scenario.File // nil without a scenario
	inside bool           // tests inside the object
	opt    scenario.Options
	config machine.Config
}

// has reports whether there is a program or a run of that name.
func (d *debugged) has(name string) bool {
	if _, ok := d.obj.Program(name); ok {
		return true
	}
	if d.file != nil {
		for _, r := range d.file.Runs {
			if r.Name == name {
				return true
			}
		}
	}
	return false
}

// hasTest reports whether a name is one of a test, or of a stage of one.
func hasTest(tests []*intest.Test, name string) bool {
	for _, t := range tests {
		if t.Name == name {
			return true
		}
		for _, s := range t.StageNames() {
			if s != "" && name == t.Name+"/"+string(s) {
				return true
			}
		}
	}
	return false
}

func testNames(tests []*intest.Test) string {
	if len(tests) == 0 {
		return "none: programs in sections TYPE/test/NAME are tests"
	}
	var out []string
	for _, t := range tests {
		out = append(out, t.Name)
	}
	return strings.Join(out, ", ")
}

// kernel finds a kernel as --btf does, and makes a machine for it.
func (d *debugged) kernel(_ context.Context, name string) (debug.Target, error) {
	sources, err := d.kernels.expand("", name)
	if err != nil {
		return debug.Target{}, err
	}
	if len(sources) != 1 {
		return debug.Target{}, fmt.Errorf("%s matches %d kernels, want one", name, len(sources))
	}
	return d.on(sources[0])
}

func (d *debugged) on(src btfSource) (debug.Target, error) {
	target, err := d.kernels.target(src)
	if err != nil {
		return debug.Target{}, err
	}
	if d.file != nil {
		r, err := scenario.Open(d.file, d.obj, target, d.opt)
		if err != nil {
			var mistake *scenario.Error
			if errors.As(err, &mistake) {
				return debug.Target{}, usageError{err}
			}
			return debug.Target{}, codeError{exitLoad, err}
		}
		return debug.Target{Machine: r.Machine(), Cases: debug.ScenarioCases(r)}, nil
	}
	if d.inside {
		r, err := intest.Open(d.obj, target, intest.Options{Config: d.opt.Config, Load: d.opt.Load, Verify: d.opt.Verify})
		if err != nil {
			return debug.Target{}, codeError{exitLoad, err}
		}
		return debug.Target{Machine: r.Machine(), Cases: debug.InsideCases(r)}, nil
	}
	linked, err := d.linkAll(d.obj, target)
	if err != nil {
		return debug.Target{}, err
	}
	cfg := d.config
	if d.opt.Verify != nil {
		cfg.Verify = d.opt.Verify(linked)
	}
	m, err := machine.New(linked, cfg)
	if err != nil {
		return debug.Target{}, codeError{exitLoad, err}
	}
	return debug.Target{Machine: m}, nil
}

// converse carries out the commands of files and then those of the user.
func (c *debugCommand) converse(s *debug.Session, cfg repl.Config) error {
	f, ok := cfg.In.(*os.File)
	cfg.Terminal = ok && isTerminal(f) && isTerminal(c.stdout)
	if cfg.Terminal { // the REPL draws on it, and keeps text from doing that
		cfg.Out = verbatim(cfg.Out)
		cfg.HistoryFile = historyFile()
		cfg.Height, cfg.Width = c.screenHeight, c.screenWidth
	}
	r := repl.New(s, cfg)
	defer r.Close()
	ctx := context.Background()
	if !cfg.Terminal {
		var stop context.CancelFunc
		ctx, stop = c.interruptible(ctx)
		defer stop()
	}
	if c.program != "" {
		if err := r.Execute(ctx, "run "+c.program); err != nil {
			return codeError{exitLoad, err}
		}
	}
	for _, name := range c.scripts {
		if err := r.Execute(ctx, "source "+name); err != nil {
			return usageError{err}
		}
	}
	for _, line := range c.execute {
		if err := r.Command(ctx, line); err != nil {
			return usageError{fmt.Errorf("%s: %w", line, err)}
		}
	}
	if err := r.Run(ctx); err != nil {
		return usageError{err}
	}
	if r.Failed() > 0 && !cfg.Terminal {
		c.code = exitUsage
	}
	return nil
}

// screenHeight returns the number of lines of the terminal.
func (c *debugCommand) screenHeight() int {
	_, h := c.screenSize()
	return h
}

// screenWidth returns the number of columns of the terminal.
func (c *debugCommand) screenWidth() int {
	w, _ := c.screenSize()
	return w
}

func (c *debugCommand) screenSize() (width, height int) {
	const usualWidth, usualHeight = 80, 24
	f := fileOf(c.stdout)
	if f == nil {
		return usualWidth, usualHeight
	}
	w, h, err := term.GetSize(int(f.Fd()))
	if err != nil || h <= 0 || w <= 0 {
		return usualWidth, usualHeight
	}
	return w, h
}

// historyFile returns where command lines are kept between sessions, "" when there is no place for
// it.
func historyFile() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	dir = filepath.Join(dir, "bpfrun")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return ""
	}
	return filepath.Join(dir, "debug_history")
}
