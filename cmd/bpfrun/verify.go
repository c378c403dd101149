package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/report"
	"github.com/bpfrun/bpfrun/verifier"
)

type verifyOptions struct {
	programs []string
	log      bool
	level    int
}

func (a *app) verifyCommand() *cobra.Command {
	var o verifyOptions
	cmd := &cobra.Command{
		Use:   "verify OBJECT... [--btf KERNEL]",
		Short: "Say whether a kernel's verifier accepts programs, and why not",
		Long: `Walk every program of the objects as the verifier of each kernel's release does, and say whether
that kernel loads it. Nothing is run. A refusal comes with the kernel's last line, what it means,
the source line, the registers there and the branches that led to it. Programs of "?" sections are
judged too. What no rule is there for is said by name (unknown): that is no guess either way.

The rules are those of loads with all capabilities, on x86-64 with its JIT. With --log the states
at each instruction are written as the kernel's log of level 2 has them.

Exit codes: 0 all are accepted, 3 one is refused, 5 one is unknown.`,
		Example: "  bpfrun verify prog.o --btf 'kernels/*.btf'\n  bpfrun verify prog.o --btf kernel.btf -p handle_exec --log",
		Args:    atLeast(1),
		RunE:    func(_ *cobra.Command, args []string) error { return a.verify(args, o) },
	}
	f := cmd.Flags()
	f.StringArrayVarP(&o.programs, "program", "p", nil, "only this `PROGRAM`; repeatable")
	f.BoolVar(&o.log, "log", false, "write the log as the kernel does, before the table")
	f.IntVar(&o.level, "log-level", 2, "1 for states at branches, 2 for every instruction")
	return cmd
}

func (a *app) verify(paths []string, o verifyOptions) error {
	color, err := useColor(a.color, a.stdout)
	if err != nil {
		return err
	}
	if o.log && a.jsonOut {
		return usagef("--json and --log both claim standard output")
	}
	if o.level != 1 && o.level != 2 {
		return usagef("--log-level %d: want 1 or 2", o.level)
	}
	sources, err := a.btfSources()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	all := report.VerifyDocuments{Schema: report.Schema}
	watch := a.silentProgress("an object for a kernel", len(paths)*len(sources))
	defer watch.end()
	for _, path := range paths {
		obj, err := a.openObject(path)
		if err != nil {
			return err
		}
		for _, s := range sources {
			watch.add(1)
			doc, err := a.verifyObject(ctx, obj, s, o)
			if err != nil {
				return err
			}
			all.Results = append(all.Results, doc)
			all.Exit = worse(all.Exit, doc.Exit)
			if a.jsonOut {
				continue
			}
			if len(all.Results) > 1 {
				fmt.Fprintln(a.stdout)
			}
			if err := report.WriteVerify(a.stdout, doc, report.TableOptions{Color: color, Verbose: a.verbose, Quiet: a.quiet}); err != nil {
				return err
			}
		}
	}
	a.code = all.Exit
	if !a.jsonOut {
		return nil
	}
	return report.WriteJSON(a.stdout, all)
}

// verifyObject judges the programs of an object on one kernel.
func (a *app) verifyObject(ctx context.Context, obj *loader.Object, s btfSource, o verifyOptions) (*report.VerifyDocument, error) {
	names, err := verifiedPrograms(obj, o.programs)
	if err != nil {
		return nil, err
	}
	target, err := a.target(s)
	if err != nil {
		return nil, err
	}
	opts, err := a.loadOptions()
	if err != nil {
		return nil, err
	}
	opts.LinkOnly, opts.Only = true, names
	linked, err := obj.Load(target, opts)
	switch {
	case errors.Is(err, loader.ErrOption):
		return nil, usageError{err}
	case err != nil:
		return nil, codeError{exitLoad, err}
	}
	doc := report.NewVerifyDocument(linked, s.Path)
	kernel := verifier.KernelOf(linked.Target)
	for _, name := range names {
		lp, ok := linked.Program(name)
		if !ok {
			continue
		}
		p, err := verifier.FromLinked(linked, lp)
		if err != nil {
			doc.AddUnlinked(lp, kernel.Release.String(), err)
			doc.Exit = worse(doc.Exit, exitLoad)
			continue
		}
		var vo verifier.Options
		if o.log {
			fmt.Fprintf(a.stdout, "%s:\n", lp.Name)
			vo.Log, vo.LogLevel = a.stdout, o.level
		}
		v, err := verifier.Verify(ctx, kernel, p, vo)
		switch {
		case errors.Is(err, verifier.ErrProgram):
			return nil, usagef("%s: %w", name, err)
		case err != nil:
			return nil, codeError{exitFault, fmt.Errorf("interrupted: %w", err)}
		}
		if o.log {
			fmt.Fprintln(a.stdout)
		}
		doc.Add(lp, kernel.Release.String(), v)
		switch v.Outcome {
		case verifier.Refused:
			doc.Exit = worse(doc.Exit, exitLoad)
		case verifier.Unknown:
			doc.Exit = worse(doc.Exit, exitNotSimulated)
		}
	}
	return doc, nil
}

// verifiedPrograms are the programs to judge: those named, or all.
func verifiedPrograms(obj *loader.Object, only []string) ([]string, error) {
	var names []string
	for _, p := range obj.Programs {
		if len(only) == 0 || slices.Contains(only, p.Name) {
			names = append(names, p.Name)
		}
	}
	for _, want := range only {
		if !slices.Contains(names, want) {
			return nil, usagef("no program %s in %s", want, obj.Name)
		}
	}
	return names, nil
}
