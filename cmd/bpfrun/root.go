package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/debug"
	"github.com/bpfrun/bpfrun/internal/kernels"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/report"
)

// app is one command line: its streams, global flags and exit code.
type app struct {
	stdout, stderr io.Writer
	code           int

	btf           []string
	moduleBTF     []string
	noCache       bool
	cacheOnce     sync.Once
	cache         *btffile.Cache // see btfCache
	kernels       *kernels.Path  // see kernelPath
	kernelVersion string
	kconfig       string
	kallsyms      string
	types         []string
	mapSizes      []string
	globals       []string
	externs       []string
	innerMaps     []string
	attach        []string
	noLoad        []string
	lightSkeleton bool
	loader        string
	optional      bool
	jsonOut       bool
	color         string
	seed          uint64
	seedGiven     bool
	clock         string
	cpu, cpus     int
	maxInsns      uint64
	engine        string
	strict        bool
	noVerify      bool
	quiet         bool
	verbose       bool
	showVersion   bool

	differ differences // what --engine both found
	cover  *coverage   // what --cover collects, nil for nothing

	interrupted atomic.Bool // by SIGINT

	// onSession takes what the command debug opens, and closes it; nil for a terminal.
	onSession func(s *debug.Session, program string) error

	told  atomic.Bool // which kernel was chosen without --btf has been said
	notes sync.Mutex  // held while a note is written
}

const rootLong = `bpfrun runs an unmodified BPF object on the types of any kernel, without that kernel.

With an object and no command, every program of the object that the verifier of the kernel's
release accepts runs once with a default context made from the target's BTF, and a table says
what happened.

Exit codes: 0 good; 1 an expectation failed; 2 usage; 3 the object would not load on that
kernel; 4 a program did what the kernel forbids; 5 met something that is not simulated;
70 a bug in bpfrun; 130 interrupted.`

func (a *app) rootCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "bpfrun OBJECT [--btf KERNEL]",
		Short:         "Run, test and debug BPF objects on any kernel's types, without a kernel",
		Long:          rootLong,
		Example:       "  bpfrun prog.o --btf kernel.btf\n  bpfrun run prog.o -p handle_exec --trace\n  bpfrun relo prog.o --btf 'kernels/*.btf.xz'",
		Args:          cobra.ArbitraryArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if a.jsonOut && slices.Contains(textCommands, cmd.CommandPath()) {
				return usagef("%s has no --json: what it writes is a text", cmd.CommandPath())
			}
			a.seedGiven = cmd.Flags().Changed("seed")
			return noEmptyFlags(cmd)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.showVersion {
				return a.version()
			}
			if len(args) == 0 {
				if cmd.Flags().NFlag() > 0 {
					return usagef("no object named: want bpfrun OBJECT [--btf KERNEL] (see bpfrun --help)")
				}
				return cmd.Help()
			}
			if err := noCommand(cmd, args[0]); err != nil {
				return err
			}
			return a.runObjects(args, runOptions{repeat: 1})
		},
	}
	cmd.SetFlagErrorFunc(flagError)
	f := cmd.PersistentFlags()
	f.StringArrayVar(&a.btf, "btf", nil, "types of `KERNEL`: a file (raw, ELF, .xz .gz .zst, .btf.tar.xz), a directory, a glob, a release (6.12, 6.12-arm64; see bpfrun kernels), host, or embedded; repeatable")
	f.StringArrayVar(&a.moduleBTF, "module-btf", nil, "split BTF `FILE` of a kernel module on the target; repeatable")
	f.BoolVar(&a.noCache, "no-cache", false, "do not keep the types of compressed kernels unpacked in the user's cache directory (BPFRUN_CACHE=DIRECTORY moves it, BPFRUN_CACHE=off is the same)")
	f.StringVar(&a.kernelVersion, "kernel-version", "", "kernel `VERSION` the target behaves as (5.10, 6.1.176), instead of the one inferred")
	f.StringVar(&a.kconfig, "kconfig", "", "kernel configuration `FILE` for CONFIG_ externs, plain or gzip")
	f.StringVar(&a.kallsyms, "kallsyms", "", "kernel symbols `FILE` in the format of /proc/kallsyms")
	f.StringArrayVar(&a.types, "type", nil, "program type of a section or program whose section name says nothing: `NAME=TYPE`")
	f.StringArrayVar(&a.mapSizes, "map-size", nil, "max_entries of a map: `NAME=N`")
	f.StringArrayVar(&a.innerMaps, "inner-map", nil, "inner map of a map of maps: `OUTER=SPEC`, where SPEC is "+loader.InnerMapForm)
	f.StringArrayVar(&a.externs, "extern", nil, "value of a symbol that no object defines, which user space writes into the program: `NAME=VALUE`")
	f.StringArrayVar(&a.globals, "global", nil, "value of a global variable: `NAME=VALUE`")
	f.StringArrayVar(&a.attach, "attach", nil, "attach a program to another function: `PROGRAM=FUNCTION`")
	f.StringArrayVar(&a.noLoad, "no-load", nil, "do not load `PROGRAM`; repeatable")
	f.BoolVar(&a.optional, "optional", false, "also run optional programs, those of sections that begin with ?")
	f.StringVar(&a.loader, "loader", "auto", "user space loader `NAME` whose rules hold where loaders differ (section names, map sizes that follow from the type): libbpf, cilium, aya, auto (what any of them takes; not under --strict)")
	f.BoolVar(&a.lightSkeleton, "light-skeleton", false, "resolve CO-RE relocations as the kernel does for light skeletons, not as libbpf")
	f.BoolVar(&a.jsonOut, "json", false, "one JSON document on standard output")
	f.StringVar(&a.color, "color", "auto", "colours `WHEN`: auto, always or never")
	f.Uint64Var(&a.seed, "seed", 1, "seed `N` of every simulated value; given, it wins over that of scenario files")
	f.StringVar(&a.clock, "clock", "1h", "`TIME` since boot when a run starts")
	f.IntVar(&a.cpu, "cpu", 0, "number `N` of the CPU the programs run on")
	f.IntVar(&a.cpus, "cpus", 2, "number `N` of CPUs")
	f.Uint64Var(&a.maxInsns, "max-insns", 100_000_000, "at most `N` instructions in one run")
	f.StringVar(&a.engine, "engine", "auto", "execution engine `NAME`: interp, jit (native code), both (compares them), auto (native code for --repeat, --pcap and bench)")
	f.BoolVar(&a.strict, "strict", false, "treat warnings (never-set fields, may-break relocations) as failures")
	f.BoolVar(&a.noVerify, "no-verify", false, "run programs without asking the verifier of the kernel's release whether it accepts them")
	f.BoolVarP(&a.quiet, "quiet", "q", false, "only problems and the summary")
	f.BoolVarP(&a.verbose, "verbose", "v", false, "also kernel accesses, coverage and dead relocations")
	cmd.AddCommand(a.runCommand(), a.infoCommand(), a.disasmCommand(), a.reloCommand(), a.conformanceCommand(), a.benchCommand(), versionCommand(a))
	cmd.AddCommand(a.debugCommand(), a.dapCommand())
	cmd.AddCommand(a.matrixCommand(), a.verifyCommand(), a.btfCommand(), a.kernelsCommand(), a.testCommand(), a.scenarioCommand())
	cmd.AddCommand(a.execCommand(), a.fireCommand())
	cmd.AddCommand(a.topicCommands()...)
	cmd.AddCommand(a.coverCommand())
	cmd.SetUsageFunc(usage)
	cmd.Flags().BoolVar(&a.showVersion, "version", false, "print the version of bpfrun and of the embedded kernel's types")
	a.complete(cmd)
	for _, c := range extraCommands {
		cmd.AddCommand(c(cmd))
	}
	return cmd
}

// extraCommands are commands of special builds.
var extraCommands []func(root *cobra.Command) *cobra.Command

// textCommands write texts that stand for themselves: assembly, C, YAML.
var textCommands = []string{
	"bpfrun disasm", "bpfrun btf dump", "bpfrun btf show", "bpfrun btf find", "bpfrun btf relocate", "bpfrun scenario new", "bpfrun scenario schema",
}

// noEmptyFlags refuses --flag= of flags that take a text: an unset variable of a script would switch them off unnoticed.
func noEmptyFlags(cmd *cobra.Command) error {
	var empty error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Value.Type() == "string" && f.Value.String() == "" && empty == nil {
			empty = usagef("--%s is empty (leave it out, or see bpfrun --help)", f.Name)
		}
	})
	return empty
}

// fail reports the error that ended the command and returns its exit code.
func (a *app) fail(err error) int {
	code := exitCode(err)
	if a.jsonOut {
		_ = report.WriteJSON(a.stdout, report.NewErrorDocument(err, code)) // run looks at what could not be written
	}
	// errors.Join puts every problem on its own line.
	for _, line := range strings.Split(err.Error(), "\n") {
		fmt.Fprintf(a.stderr, "bpfrun: %s\n", line)
	}
	return code
}

// pairs parses repeated NAME=VALUE flags.
func pairs(flag string, values []string) (map[string]string, error) {
	m := map[string]string{}
	var errs []error
	for _, v := range values {
		name, value, ok := strings.Cut(v, "=")
		if !ok || name == "" {
			errs = append(errs, usagef("--%s %q: want NAME=VALUE", flag, v))
			continue
		}
		m[name] = value
	}
	return m, errors.Join(errs...)
}

// atLeast is the argument check of commands that work on n arguments or more.
func atLeast(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n {
			return usagef("want %s (see %s --help)", cmd.UseLine(), cmd.CommandPath())
		}
		return nil
	}
}

// exactly is the argument check of commands that work on n arguments.
func exactly(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usagef("want %s, got %d arguments (see %s --help)", cmd.UseLine(), len(args), cmd.CommandPath())
		}
		return nil
	}
}

// oneObject is the argument check of commands that work on one object.
func oneObject(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("%s: want one object file, got %d arguments (see %s --help)", cmd.CommandPath(), len(args), cmd.CommandPath())
	}
	return nil
}
