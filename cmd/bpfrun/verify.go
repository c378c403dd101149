package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/exitcode"
	"github.com/bpfrun/bpfrun/internal/visible"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/report"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/verifier"
	"github.com/bpfrun/bpfrun/verifier/klog"
	"github.com/bpfrun/bpfrun/verifier/mend"
)

type verifyOptions struct {
	programs []string
	log      bool
	level    int
	explain  string
	lockdown string
	profile  profileFlags
	configs  configFlags
}

// verifyCommand is bpfrun verify.
type verifyCommand struct {
	*console
	linker
	variables registerNames

	verifyOptions
}

func newVerifyCommand(a *app) *cobra.Command {
	c := &verifyCommand{console: &a.console, linker: a.linker()}
	cmd := &cobra.Command{
		Use:   "verify OBJECT... [--btf KERNEL]",
		Short: "Report whether a kernel's verifier accepts programs, and if not, why",
		Long: `Verify every program of the objects as the verifier of each kernel's release does, and report whether
that kernel loads it. Nothing runs. A refusal comes with the kernel's last line, what it means,
the source line, the registers there and the branches that led to it. Programs in "?" sections are
verified too. If a program needs a rule that bpfrun lacks, the verdict is unknown and names the rule:
bpfrun does not guess.

The rules are those for a loader with all capabilities on x86-64, with the JIT enabled, on a kernel that is not
locked down (--lockdown says otherwise). --log prints the
state at each instruction, like the kernel's log at level 2.

--profile shows where the verifier's instructions and states go: by source line, branch, loop and call, along which path, and
what kept states apart that are almost equal. --profile-out writes it for other tools.

--configs verifies for every configuration at once: for all values of the constants that user space sets before it loads the
object and of CONFIG_ options. It reports which values refuse and which code none reaches. --config verifies for given ones.

With --explain the command reads the log of a real kernel, as libbpf, bpftool, cilium/ebpf or aya
print it or on its own, finds the place in the object, and explains it: source line, where the register's
value came from, what to do, and the verdict of bpfrun's verifier.

Exit codes: 0 all programs are accepted, 3 at least one is refused, 5 at least one is unknown.`,
		Example: "  bpfrun verify prog.o --btf 'kernels/*.btf'\n  bpfrun verify prog.o --btf kernel.btf -p handle_exec --log\n" +
			"  bpfrun verify prog.o --btf kernel.btf --explain loader.log",
		Args: atLeast(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if c.explain != "" {
				return c.explainVerifier(args)
			}
			return c.verify(args)
		},
	}
	f := cmd.Flags()
	f.StringArrayVarP(&c.programs, "prog", "p", nil, "only this `PROGRAM`; repeatable")
	f.StringArrayVar(&c.programs, "program", nil, "--prog, as it was called before")
	_ = f.MarkHidden("program")
	f.BoolVar(&c.log, "log", false, "print the log as the kernel does, before the table")
	f.IntVar(&c.level, "log-level", 2, "1: states at branches, 2: every instruction")
	f.StringVar(&c.lockdown, "lockdown", "none", "how much the kernel is locked down: none, integrity (as under Secure Boot) or confidentiality")
	c.profile.add(f)
	c.configs.add(f)
	f.StringVar(&c.explain, "explain", "", "explain `LOGFILE`, written by a kernel or a loader; - for standard input")
	return cmd
}

// explainVerifier is the description of verifier logs for an object.
func (c *verifyCommand) explainVerifier(paths []string) error {
	switch {
	case len(paths) != 1:
		return usagef("--explain takes one object, not %d", len(paths))
	case c.log:
		return usagef("--explain reads a log, --log writes one: use one of them")
	case c.configs.wanted():
		return usagef("--explain reads a log, --configs verifies programs: use one of them")
	case c.profile.wanted():
		return usagef("--explain reads a log, --profile verifies programs: use one of them")
	}
	table, err := c.table()
	if err != nil {
		return err
	}
	obj, err := c.objects.open(paths[0])
	if err != nil {
		return err
	}
	only, err := verifiedPrograms(obj, c.programs)
	if err != nil {
		return err
	}
	in := io.Reader(os.Stdin)
	if c.explain != "-" {
		f, err := os.Open(c.explain)
		if err != nil {
			return usageError{err}
		}
		defer f.Close()
		in = f
	}
	logs, err := klog.Parse(in)
	if err != nil {
		return usagef("--explain %s: %w", c.explain, err)
	}
	if len(logs) == 0 {
		return usagef("--explain %s: no line of it is of a verifier's log (such as \"7: (79) r1 = *(u64 *)(r0 +0)\")", c.explain)
	}
	linked, source, err := c.link(obj)
	if err != nil {
		return err
	}
	ctx, stop := c.interruptible(context.Background())
	defer stop()
	checker := verifier.NewChecker(linked, verifier.Options{})
	doc := report.NewVerifyExplainDocument(linked, source)
	for _, l := range logs {
		if len(c.programs) == 1 {
			l.Program = c.programs[0]
		}
		lp, fits := verifier.MatchLog(linked, l)
		if lp != nil && !slices.Contains(only, lp.Name) {
			continue
		}
		var v *verifier.Verdict
		var history []verifier.Cause
		if lp != nil && fits && checker.Knows() {
			if v, err = checker.Verdict(ctx, lp); err == nil {
				history, err = checker.History(ctx, lp)
			}
			if err != nil {
				return codeError{exitInterrupted, fmt.Errorf("interrupted: %w", err)}
			}
		}
		doc.Add(l, lp, fits, v, history)
	}
	if c.json {
		return report.WriteJSON(c.stdout, doc)
	}
	return report.WriteVerifyExplain(c.stdout, doc, table)
}

func (c *verifyCommand) verify(paths []string) error {
	table, err := c.table()
	if err != nil {
		return err
	}
	if c.log && c.json {
		return usagef("--json and --log both claim standard output")
	}
	if _, ok := proto.ParseLockdown(c.lockdown); !ok {
		return usagef("--lockdown %s: want none, integrity or confidentiality", c.lockdown)
	}
	if c.level != 1 && c.level != 2 {
		return usagef("--log-level %d: want 1 or 2", c.level)
	}
	if err := c.profile.check(); err != nil {
		return err
	}
	if c.configs.wanted() && (c.log || c.profile.wanted()) {
		return usagef("--configs verifies often: --log and --profile are about one verification")
	}
	if err := c.configs.read(); err != nil {
		return err
	}
	sources, err := c.kernels.sources()
	if err != nil {
		return err
	}
	c.profile.many = len(paths)*len(sources) > 1
	ctx, stop := c.interruptible(context.Background())
	defer stop()
	if c.configs.wanted() {
		return c.verifyAllConfigs(ctx, paths, sources, table)
	}
	all := report.VerifyDocuments{Schema: report.Schema}
	watch := c.silentProgress("an object for a kernel", len(paths)*len(sources))
	defer watch.end()
	for _, path := range paths {
		obj, err := c.objects.open(path)
		if err != nil {
			return err
		}
		for _, s := range sources {
			watch.add(1)
			doc, err := c.verifyObject(ctx, obj, s)
			if err != nil {
				return err
			}
			all.Results = append(all.Results, doc)
			all.Exit = exitcode.Worse(all.Exit, doc.Exit)
			if c.json {
				continue
			}
			if len(all.Results) > 1 {
				visible.Fprintln(c.stdout)
			}
			if err := report.WriteVerify(c.stdout, doc, table); err != nil {
				return err
			}
		}
	}
	c.code = all.Exit
	if err := c.profile.write(); err != nil || !c.json {
		return err
	}
	return report.WriteJSON(c.stdout, all)
}

// verifyObject verifies the programs of an object for one kernel.
func (c *verifyCommand) verifyObject(ctx context.Context, obj *loader.Object, s btfSource) (*report.VerifyDocument, error) {
	names, err := verifiedPrograms(obj, c.programs)
	if err != nil {
		return nil, err
	}
	target, err := c.kernels.target(s)
	if err != nil {
		return nil, err
	}
	target = ofRelease(target)
	opts, err := c.objects.loadOptions()
	if err != nil {
		return nil, err
	}
	opts.LinkOnly, opts.Only = true, names
	linked, err := loadFor(obj, target, opts)
	if err != nil {
		return nil, err
	}
	doc := report.NewVerifyDocument(linked, s.Path)
	kernel := verifier.KernelOf(linked.Target)
	kernel.Lockdown, _ = proto.ParseLockdown(c.lockdown)
	for _, name := range names {
		lp, ok := linked.Program(name)
		if !ok {
			continue
		}
		p, err := verifier.FromLinked(linked, lp)
		if err != nil {
			doc.AddUnlinked(lp, kernel.Release.String(), err)
			doc.Exit = exitcode.Worse(doc.Exit, exitLoad)
			continue
		}
		var vo verifier.Options
		if c.log {
			visible.Fprintf(c.stdout, "%s:\n", lp.Name)
			vo.Log, vo.LogLevel = c.stdout, c.level
		}
		if c.profile.wanted() {
			vo.Costs = &verifier.Costs{}
		}
		v, err := verifier.Verify(ctx, kernel, p, vo)
		switch {
		case errors.Is(err, verifier.ErrProgram):
			return nil, usagef("%s: %w", name, err)
		case err != nil:
			return nil, codeError{exitInterrupted, fmt.Errorf("interrupted: %w", err)}
		}
		if c.log {
			visible.Fprintln(c.stdout)
		}
		history, err := verifier.RefusalHistory(ctx, kernel, p, v)
		if err != nil {
			return nil, codeError{exitInterrupted, fmt.Errorf("interrupted: %w", err)}
		}
		doc.Add(lp, kernel.Release.String(), v, history)
		change, err := mend.Suggest(ctx, kernel, p, v, c.variables.of(linked, lp))
		if err != nil {
			return nil, codeError{exitInterrupted, fmt.Errorf("interrupted: %w", err)}
		}
		doc.Mend(change)
		if vo.Costs != nil {
			if r := c.profile.of(linked, lp, kernel, p, v, vo.Costs, c.variables.of(linked, lp)); c.profile.on {
				doc.Profile(r)
			}
		}
		switch v.Outcome {
		case verifier.Refused:
			doc.Exit = exitcode.Worse(doc.Exit, exitLoad)
		case verifier.Unknown:
			doc.Exit = exitcode.Worse(doc.Exit, exitNotSimulated)
		}
	}
	opts.LinkOnly = false
	if whole, err := obj.Load(target, opts); err == nil { // else the document has the error
		doc.NotLoaded(whole)
	}
	return doc, nil
}

// verifiedPrograms returns the programs to verify: those named, or all.
func verifiedPrograms(obj *loader.Object, only []string) ([]string, error) {
	var names []string
	for _, p := range obj.Programs {
		if len(only) == 0 || slices.Contains(only, p.Name) {
			names = append(names, p.Name)
		}
	}
	for _, want := range only {
		if !slices.Contains(names, want) {
			return nil, usagef("-p %s: no such program in %s (available: %s)", want, obj.Name, programNames(obj))
		}
	}
	return names, nil
}

// ofRelease returns a kernel whose version was given and whose types are of another release as one that borrows them: what the types tell of the kernel's
// helpers and of what else releases add is then not that of the version.
func ofRelease(t *loader.Target) *loader.Target {
	if t.VersionKnown != "given" {
		return t
	}
	own := loader.NewTarget(t.Name, t.BTF)
	low, high := uapi.ReleaseOf(own.VersionLow), uapi.ReleaseOf(own.Version)
	if is := uapi.ReleaseOf(t.Version); own.Version == 0 || is.Has(low) && high.Has(is) {
		return t
	}
	return t.As(t.Version)
}
