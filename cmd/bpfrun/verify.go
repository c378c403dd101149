package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/app/pass"
	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/debug/scopes"
	"github.com/bpfrun/bpfrun/internal/exitcode"
	"github.com/bpfrun/bpfrun/internal/filecache"
	"github.com/bpfrun/bpfrun/internal/kept"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/internal/verifier/klog"
	"github.com/bpfrun/bpfrun/internal/visible"
	"github.com/bpfrun/bpfrun/loader"
)

type verifyOptions struct {
	programs []string
	log      bool
	level    int
	explain  string
	lockdown string
	profile  profileFlags
	configs  configFlags
	reports  reportFiles
}

// verifyCommand is bpfrun verify.
type verifyCommand struct {
	*console
	linker
	variables scopes.Registers

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
	listVar(f, &c.programs, "prog", "p", "only this `PROGRAM`; repeatable")
	listVar(f, &c.programs, "program", "", "--prog, as it was called before")
	_ = f.MarkHidden("program")
	f.BoolVar(&c.log, "log", false, "print the log as the kernel does, before the table")
	f.IntVar(&c.level, "log-level", 2, "1: states at branches, 2: every instruction")
	f.StringVar(&c.lockdown, "lockdown", "none", "how much the kernel is locked down: none, integrity (as under Secure Boot) or confidentiality")
	c.profile.add(f)
	c.configs.add(f)
	c.reports.add(f, "html")
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
	case len(c.reports.given) > 0:
		return usagef("--explain reads a log, -o writes verdicts: use one of them")
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
	if c.profile.toStdout() && (c.log || c.json) {
		return usagef("--profile-out source=-, --json and --log all claim standard output: use one of them")
	}
	if err := c.reports.check(); err != nil {
		return err
	}
	if c.configs.wanted() && (c.log || c.profile.wanted() || len(c.reports.given) > 0) {
		return usagef("--configs verifies often: --log, --profile and -o are about one verification")
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
	var store *filecache.Dir
	if !c.log && !c.profile.wanted() && !c.reports.wants("html") { // these are made while programs are verified
		store = c.kernels.results()
	}
	results := keptResults(store)
	watch := c.silentProgress("an object for a kernel", len(paths)*len(sources))
	defer watch.end()
	for _, path := range paths {
		obj, err := c.objects.open(path)
		if err != nil {
			return err
		}
		for _, s := range sources {
			watch.add(1)
			found, err := c.known(ctx, results, obj, s, table)
			if err != nil {
				return err
			}
			all.Results = append(all.Results, found.Doc)
			all.Exit = exitcode.Worse(all.Exit, found.Exit)
			if c.json || c.profile.toStdout() {
				continue
			}
			if len(all.Results) > 1 {
				visible.Fprintln(c.stdout)
			}
			if _, err := io.WriteString(c.stdout, found.Text); err != nil {
				return err
			}
		}
	}
	if store != nil {
		store.Trim()
	}
	c.code = all.Exit
	if err := c.reports.write("html", func(w io.Writer) error { return report.WriteVerifyHTML(w, all) }); err != nil {
		return err
	}
	if err := c.profile.write(c.stdout); err != nil || !c.json {
		return err
	}
	return report.WriteJSON(c.stdout, all)
}

// verified is what is kept of an object on a kernel: the table, or the document for --json.
type verified struct {
	Exit int
	Text string                 `json:",omitempty"`
	Doc  *report.VerifyDocument `json:",omitempty"`
}

// known returns the verdicts on an object for one kernel, from an earlier run if one had the same
// input.
func (c *verifyCommand) known(ctx context.Context, results *kept.Results, obj *loader.Object, s btfSource, table report.TableOptions) (*verified, error) {
	key, err := c.verdictsKey(results, obj, s, table)
	if err != nil {
		return nil, err
	}
	found := &verified{}
	if results.Get(key, found) && (found.Doc != nil) == c.json {
		return found, nil
	}
	said := c.said.Load()
	doc, err := c.verifyObject(ctx, obj, s)
	if err != nil {
		return nil, err
	}
	found = &verified{Exit: doc.Exit}
	if c.json || c.reports.wants("html") {
		found.Doc = doc
	}
	if !c.json {
		var text bytes.Buffer
		if err := report.WriteVerify(&text, doc, table); err != nil {
			return nil, err
		}
		found.Text = text.String()
	}
	if c.said.Load() == said { // what was said would not be said again
		results.Put(key, found, &verified{})
	}
	return found, nil
}

// verdictsKey says all that the verdicts on an object and how they are shown depend on; "" if that
// is not known.
func (c *verifyCommand) verdictsKey(results *kept.Results, obj *loader.Object, s btfSource, table report.TableOptions) (string, error) {
	opts, err := c.objects.loadOptions()
	if err != nil || results == nil {
		return "", err
	}
	kernel := c.kernels.sourceKey(s, time.Now())
	if kernel == "" {
		return "", nil
	}
	h := sha256.New()
	obj.Hash(h)
	return results.Key("verify", h.Sum(nil), kernel, s.Name, s.Path, opts, c.programs, c.lockdown, c.json, table), nil
}

// subject returns what is verified of an object for one kernel: the programs, the kernel, and how
// the object is loaded.
func (c *verifyCommand) subject(obj *loader.Object, s btfSource) (names []string, target *loader.Target, opts loader.LoadOptions, err error) {
	if names, err = verifiedPrograms(obj, c.programs); err != nil {
		return nil, nil, opts, err
	}
	if target, err = c.kernels.target(s); err != nil {
		return nil, nil, opts, err
	}
	opts, err = c.objects.loadOptions()
	return names, ofRelease(target), opts, err
}

// verifyObject verifies the programs of an object for one kernel.
func (c *verifyCommand) verifyObject(ctx context.Context, obj *loader.Object, s btfSource) (*report.VerifyDocument, error) {
	names, target, opts, err := c.subject(obj, s)
	if err != nil {
		return nil, err
	}
	vo := pass.VerifyOptions{Load: opts, Costs: c.profile.wanted(), Each: c.judged}
	vo.Lockdown, _ = proto.ParseLockdown(c.lockdown)
	if c.log {
		vo.Log, vo.LogLevel = c.stdout, c.level
	}
	doc, err := pass.Verify(ctx, obj, target, s.Path, names, vo)
	var stopped *pass.Interrupted
	switch {
	case err == nil:
		return doc, nil
	case errors.Is(err, loader.ErrOption), errors.Is(err, verifier.ErrProgram):
		return nil, usageError{err}
	case errors.As(err, &stopped):
		return nil, codeError{exitInterrupted, err}
	}
	return nil, codeError{exitLoad, err}
}

// judged adds to a verdict what would mend a refusal, and the profile that was asked for.
func (c *verifyCommand) judged(ctx context.Context, doc *report.VerifyDocument, j *pass.Judged) error {
	names := c.variables.Of(j.Linked, j.Program)
	if err := pass.Mend(ctx, doc, j, names); err != nil {
		return err
	}
	if j.Costs != nil {
		if r := c.profile.of(j, names); c.profile.on {
			doc.Profile(r)
		}
	}
	return nil
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

// ofRelease returns a kernel whose version was given and whose types are of another release as one
// that borrows them: what the types tell of the kernel's helpers and of what else releases add is
// then not that of the version.
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
