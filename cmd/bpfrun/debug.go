package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/debug"
	"github.com/bpfrun/bpfrun/debug/repl"
	"github.com/bpfrun/bpfrun/machine"
	"github.com/bpfrun/bpfrun/report"
)

// debugOptions are the flags of the debug command.
type debugOptions struct {
	run     runOptions
	program string
	sources []string
	scripts []string
	echo    bool
}

func (a *app) debugCommand() *cobra.Command {
	var o debugOptions
	cmd := &cobra.Command{
		Use:   "debug OBJECT [--btf KERNEL] [-p PROGRAM]",
		Short: "Step through a program, forwards and backwards, with typed values",
		Long: `Start a debugger on an object. With -p the program is started at once; otherwise the command run starts one.
Commands are read from the terminal with editing, history and completion, or from a pipe; help lists them. The exit
code is 0, or 2 when a command from a pipe or a file could not be carried out.`,
		Example: "  bpfrun debug prog.o --btf kernel.btf -p handle_exec\n  echo 'run\nbacktrace' | bpfrun debug prog.o",
		Args:    oneObject,
		RunE:    func(cmd *cobra.Command, args []string) error { return a.debug(args[0], o, cmd.InOrStdin()) },
	}
	f := cmd.Flags()
	f.StringVarP(&o.program, "prog", "p", "", "program to start")
	f.StringVar(&o.run.ctx, "ctx", "", "context as hex digits or @FILE, where the program's type takes one")
	f.StringVar(&o.run.packet, "packet", "", "packet as hex digits or @FILE")
	f.StringArrayVar(&o.sources, "source-dir", nil, "directory to look for source files in; repeatable")
	f.StringArrayVarP(&o.scripts, "command-file", "x", nil, "file of commands to carry out first; repeatable")
	f.BoolVar(&o.echo, "echo", false, "write each command that is read from a pipe, for a transcript")
	return cmd
}

func (a *app) debug(path string, o debugOptions, stdin io.Reader) error {
	if a.jsonOut {
		return usagef("debug has no --json")
	}
	in, err := o.run.input(a.cpu)
	if err != nil {
		return err
	}
	color, err := useColor(a.color, a.stdout)
	if err != nil {
		return err
	}
	boot, err := time.ParseDuration(a.clock)
	if err != nil || boot <= 0 {
		return usagef("--clock %q: want a duration such as 1h or 90s", a.clock)
	}
	obj, err := a.openObject(path)
	if err != nil {
		return err
	}
	if o.program != "" {
		if _, ok := obj.Program(o.program); !ok {
			return usagef("-p %s: %s has no such program (it has %s)", o.program, obj.Name, programNames(obj))
		}
	}
	if report.ByteOrderName(obj.ByteOrder) == "big" {
		return codeError{exitNotSimulated, usagef("execution of big-endian programs is not simulated (info, disasm and relo work)")}
	}
	linked, _, err := a.link(obj)
	if err != nil {
		return err
	}
	elf, err := os.ReadFile(path)
	if err != nil {
		return usageError{err}
	}
	s, err := debug.New(linked, debug.Config{
		Machine: machine.Config{Seed: a.seed, CPUs: a.cpus, Boot: boot, MaxInsns: a.maxInsns, Strict: a.strict},
		Input:   in, ELF: elf, SourceDirs: o.sources,
	})
	if err != nil {
		return codeError{exitLoad, err}
	}
	defer s.Close()
	return a.converse(s, o, repl.Config{In: stdin, Out: a.stdout, Color: color, Echo: o.echo})
}

// converse carries out the commands of files and then those of the user.
func (a *app) converse(s *debug.Session, o debugOptions, cfg repl.Config) error {
	f, ok := cfg.In.(*os.File)
	cfg.Terminal = ok && isTerminal(f) && isTerminal(a.stdout)
	if cfg.Terminal {
		cfg.HistoryFile = historyFile()
	}
	r := repl.New(s, cfg)
	ctx := context.Background()
	if !cfg.Terminal {
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, os.Interrupt)
		defer stop()
	}
	if o.program != "" {
		if err := r.Execute(ctx, "run "+o.program); err != nil {
			return codeError{exitLoad, err}
		}
	}
	for _, name := range o.scripts {
		if err := r.Execute(ctx, "source "+name); err != nil {
			return usageError{err}
		}
	}
	if err := r.Run(ctx); err != nil {
		return usageError{err}
	}
	if r.Failed() > 0 && !cfg.Terminal {
		a.code = exitUsage
	}
	return nil
}

// historyFile is where command lines are kept between sessions, "" when there is no place for it.
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
