package main

import (
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bpfrun/bpfrun/internal/debug"
)

// app is one command line. Its fields are what several commands share.
type app struct {
	console console
	kernels kernelFlags
	objects objectFlags
	sim     machineFlags
	project projectFile

	// onSession receives the session of debug and closes it; nil for a terminal.
	onSession func(s *debug.Session, program string) error
}

func newApp(stdout, stderr io.Writer) *app {
	a := &app{}
	a.console.stdout, a.console.stderr = stdout, stderr
	a.kernels.console = &a.console
	a.objects.strict = &a.sim.strict
	return a
}

// linker links the objects of the command line for the selected kernels.
func (a *app) linker() linker { return linker{kernels: &a.kernels, objects: &a.objects} }

const rootLong = `bpfrun runs an unmodified BPF object on the types of any kernel, without that kernel.

Given an object and no command, bpfrun runs each program of the object once, if the verifier of the
kernel's release accepts it, with a default context made from the kernel's BTF, and prints a table
of the results. If a program stops early, inputs are changed to get further ("reached by"; not with
--plain).

Exit codes: 0 success; 1 an expectation failed; 2 usage error; 3 the object would not load on that
kernel; 4 a program did what the kernel forbids; 5 a program used something that is not simulated;
70 a bug in bpfrun; 130 interrupted.`

func (a *app) rootCommand() *cobra.Command {
	showVersion, plain := false, false
	cmd := &cobra.Command{
		Use:           "bpfrun OBJECT [--btf KERNEL]",
		Short:         "Run, test and debug BPF objects on any kernel's types, without a kernel",
		Long:          rootLong,
		Example:       "  bpfrun prog.o --btf kernel.btf\n  bpfrun run prog.o -p handle_exec --trace\n  bpfrun relo prog.o --btf 'kernels/*.btf.xz'",
		Args:          cobra.ArbitraryArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if why := textCommands[cmd.CommandPath()]; a.console.json && why != "" {
				return usagef("%s has no --json: %s", cmd.CommandPath(), why)
			}
			if err := a.applyProject(cmd); err != nil {
				return err
			}
			a.kernels.short = shortCommands[cmd.CommandPath()]
			a.sim.seedGiven, a.sim.clockGiven = cmd.Flags().Changed("seed"), cmd.Flags().Changed("clock")
			return errors.Join(noEmptyFlags(cmd), noIgnoredFlags(cmd))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if showVersion {
				return a.console.version()
			}
			if len(args) == 0 {
				if cmd.Flags().NFlag() > 0 {
					return usagef("no object given: want bpfrun OBJECT [--btf KERNEL] (see bpfrun --help)")
				}
				return cmd.Help()
			}
			if err := noCommand(cmd, args[0]); err != nil {
				return err
			}
			run := makeRunCommand(a)
			run.repeat, run.plain = 1, plain
			return run.runObjects(args)
		},
	}
	cmd.SetFlagErrorFunc(flagError)
	f := cmd.PersistentFlags()
	a.kernels.add(f)
	a.objects.add(f)
	a.sim.add(f)
	a.console.add(f)
	cmd.AddCommand(newRunCommand(a), newInfoCommand(a), newDisasmCommand(a), newReloCommand(a), newConformanceCommand(a), newBenchCommand(a), newVersionCommand(a))
	cmd.AddCommand(newDebugCommand(a), newDAPCommand(a))
	cmd.AddCommand(newMatrixCommand(a), newVerifyCommand(a), newRequireCommand(a), newDiffCommand(a), newRaceCommand(a), newBTFCommand(a), newKernelsCommand(a), newTestCommand(a), newScenarioCommand(a))
	cmd.AddCommand(newFuzzCommand(a), newPlayCommand(a), newWatchCommand(a), newInitCommand(a), newDoctorCommand(a))
	cmd.AddCommand(newExecCommand(a), newFireCommand(a), newRecordCommand(a))
	cmd.AddCommand(topicCommands(&a.console)...)
	cmd.AddCommand(newCoverCommand(a))
	cmd.SetUsageFunc(usage)
	cmd.Flags().BoolVar(&showVersion, "version", false, "print the version of bpfrun and of the embedded kernel's types")
	cmd.Flags().BoolVar(&plain, "plain", false, plainUsage)
	for _, c := range extraCommands {
		cmd.AddCommand(c(cmd))
	}
	a.project.note, a.project.others = a.console.note, func() []string { return allFlags(cmd) }
	a.nameObjects(cmd)
	refuseUnknownTopics(cmd)
	return cmd
}

// extraCommands are commands of special builds.
var extraCommands []func(root *cobra.Command) *cobra.Command

// shortCommands end soon after they have read a kernel's types.
var shortCommands = map[string]bool{
	"bpfrun": true, "bpfrun run": true, "bpfrun info": true, "bpfrun disasm": true, "bpfrun relo": true, "bpfrun verify": true,
}

// textCommands have no JSON output, because their output is a format of its own.
var textCommands = map[string]string{
	"bpfrun btf c":                       "it writes a C header",
	"bpfrun btf relocate":                "it writes a file of BTF",
	"bpfrun btf gen":                     "it writes a file of BTF",
	"bpfrun btf dedup":                   "it writes a file of BTF",
	"bpfrun btf resolve-ids":             "it writes an ELF file",
	"bpfrun scenario new":                "it writes a scenario file",
	"bpfrun scenario schema":             "it writes a JSON Schema",
	"bpfrun conformance plugin":          "its output is the protocol of the suite",
	"bpfrun conformance record isa":      "it writes vectors, one JSON object a line",
	"bpfrun conformance record cases":    "it writes files of cases",
	"bpfrun conformance record core":     "it writes expectations, one JSON object a line",
	"bpfrun conformance record verdicts": "it writes verdicts, one JSON object a line",
	"bpfrun conformance record btf":      "it writes verdicts, one JSON object a line",
	"bpfrun exec":                        "its output is the tool's",
	"bpfrun record":                      "it writes a file of events or a scenario",
	"bpfrun debug":                       "it is a conversation",
	"bpfrun dap":                         "its output is the Debug Adapter Protocol",
	"bpfrun play":                        "it serves a page",
	"bpfrun watch":                       "its output is that of the command that it runs",
	"bpfrun init":                        "it writes files",
	"bpfrun completion bash":             "it writes a script",
	"bpfrun completion zsh":              "it writes a script",
	"bpfrun completion fish":             "it writes a script",
	"bpfrun completion powershell":       "it writes a script",
}

// noEmptyFlags refuses an empty --flag= for string flags: an unset variable in a script would
// silently disable the flag.
func noEmptyFlags(cmd *cobra.Command) error {
	var empty error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Value.Type() == "string" && f.Value.String() == "" && empty == nil {
			empty = usagef("--%s is empty (give it a value or leave it out)", f.Name)
		}
	})
	return empty
}

// pairs parses repeated NAME=VALUE flags.
func pairs(flag string, values []string) (map[string]string, error) {
	return pairsOf(flag, values, "NAME=VALUE")
}

// pairsOf is [pairs], with the syntax of the flag for the error.
func pairsOf(flag string, values []string, want string) (map[string]string, error) {
	m := map[string]string{}
	var errs []error
	for _, v := range values {
		name, value, ok := strings.Cut(v, "=")
		if !ok || name == "" {
			errs = append(errs, usagef("--%s %q: want %s", flag, v, want))
			continue
		}
		m[name] = value
	}
	return m, errors.Join(errs...)
}

// atLeast returns the argument check of commands with n or more arguments.
func atLeast(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n {
			return usagef("want %s (see %s --help)", cmd.UseLine(), cmd.CommandPath())
		}
		return nil
	}
}

// exactly returns the argument check of commands with n arguments.
func exactly(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usagef("want %s, got %d arguments (see %s --help)", cmd.UseLine(), len(args), cmd.CommandPath())
		}
		return nil
	}
}

// oneObject returns the argument check of commands with one object.
func oneObject(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("%s: want one object file, got %d arguments (see %s --help)", cmd.CommandPath(), len(args), cmd.CommandPath())
	}
	return nil
}
