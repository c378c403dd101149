package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/report"
	"github.com/bpfrun/bpfrun/verifier"
	"github.com/bpfrun/bpfrun/verifier/klog"
)

type verifyOptions struct {
	programs []string
	log      bool
	level    int
	explain  string
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

With --explain the command reads the log of a real kernel or of a loader (libbpf, bpftool,
cilium/ebpf, aya, or the kernel's text alone), finds the place in the object, and explains it: source
line, what led to the register, what to do, and what the verifier says here.

Exit codes: 0 all are accepted, 3 one is refused, 5 one is unknown.`,
		Example: "  bpfrun verify prog.o --btf 'kernels/*.btf'\n  bpfrun verify prog.o --btf kernel.btf -p handle_exec --log\n" +
			"  bpfrun verify prog.o --btf kernel.btf --explain loader.log",
		Args: atLeast(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if o.explain != "" {
				return a.explainVerifier(args, o)
			}
			return a.verify(args, o)
		},
	}
	f := cmd.Flags()
	f.StringArrayVarP(&o.programs, "program", "p", nil, "only this `PROGRAM`; repeatable")
	f.BoolVar(&o.log, "log", false, "write the log as the kernel does, before the table")
	f.IntVar(&o.level, "log-level", 2, "1 for states at branches, 2 for every instruction")
	f.StringVar(&o.explain, "explain", "", "`LOGFILE` of a kernel or a loader, - for standard input: what it means")
	return cmd
}

// explainVerifier describes what the logs of a verifier about an object mean.
func (a *app) explainVerifier(paths []string, o verifyOptions) error {
	switch {
	case len(paths) != 1:
		return usagef("--explain takes one object, not %d", len(paths))
	case o.log:
		return usagef("--explain reads a log, --log writes one: want one of them")
	}
	color, err := useColor(a.color, a.stdout)
	if err != nil {
		return err
	}
	obj, err := a.openObject(paths[0])
	if err != nil {
		return err
	}
	only, err := verifiedPrograms(obj, o.programs)
	if err != nil {
		return err
	}
	in := io.Reader(os.Stdin)
	if o.explain != "-" {
		f, err := os.Open(o.explain)
		if err != nil {
			return usageError{err}
		}
		defer f.Close()
		in = f
	}
	logs, err := klog.Parse(in)
	if err != nil {
		return usagef("--explain %s: %w", o.explain, err)
	}
	if len(logs) == 0 {
		return usagef("--explain %s: no line of it is of a verifier's log (such as \"7: (79) r1 = *(u64 *)(r0 +0)\")", o.explain)
	}
	linked, source, err := a.link(obj)
	if err != nil {
		return err
	}
	ctx, stop := a.interruptible(context.Background())
	defer stop()
	judge := verifier.NewJudge(linked, verifier.Options{})
	doc := report.NewVerifyExplainDocument(linked, source)
	for _, l := range logs {
		if len(o.programs) == 1 {
			l.Program = o.programs[0]
		}
		lp, fits := verifier.MatchLog(linked, l)
		if lp != nil && !slices.Contains(only, lp.Name) {
			continue
		}
		var v *verifier.Verdict
		var history []verifier.Cause
		if lp != nil && fits && judge.Knows() {
			if v, err = judge.Verdict(ctx, lp); err == nil {
				history, err = judge.History(ctx, lp)
			}
			if err != nil {
				return codeError{exitInterrupted, fmt.Errorf("interrupted: %w", err)}
			}
		}
		doc.Add(l, lp, fits, v, history)
	}
	if a.jsonOut {
		return report.WriteJSON(a.stdout, doc)
	}
	return report.WriteVerifyExplain(a.stdout, doc, report.TableOptions{Color: color, Verbose: a.verbose, Quiet: a.quiet})
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
	ctx, stop := a.interruptible(context.Background())
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
			return nil, codeError{exitInterrupted, fmt.Errorf("interrupted: %w", err)}
		}
		if o.log {
			fmt.Fprintln(a.stdout)
		}
		history, err := verifier.RefusalHistory(ctx, kernel, p, v)
		if err != nil {
			return nil, codeError{exitInterrupted, fmt.Errorf("interrupted: %w", err)}
		}
		doc.Add(lp, kernel.Release.String(), v, history)
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
