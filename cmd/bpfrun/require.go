package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/internal/app/minkernel"
	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/kernels"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/loader"
)

// requireCommand is bpfrun require.
type requireCommand struct {
	*console
	linker

	programs  []string
	atLeast   string
	unchecked bool
	markdown  bool
	reports   reportFiles
}

func newRequireCommand(a *app) *cobra.Command {
	c := &requireCommand{console: &a.console, linker: a.linker()}
	cmd := &cobra.Command{
		Use:   "require OBJECT... [--btf KERNELS]",
		Short: "Find the oldest kernel that loads each program, and what holds it back",
		Long: `Find the oldest release of Linux that loads each program, what keeps the release before it from doing so (a helper, kfunc, map or program
type, hook, CO-RE field, instruction or rule of the verifier), and how much older the oldest release would be without that: the call or the field
behind a test that fails, a map of another type, a rule that the program does not rely on.

Releases whose types are at hand are asked with them: those of --btf, or without it the embedded kernel, the running one and those
that bpfrun kernels lists, one for each release. The other releases from ` + since.Oldest.String() + ` on are asked by rules, with the types of the kernels before and after
them. If these decide, and differ, the release is unknown.

All releases are asked, since newer rules may also be stricter: "6.1.192" loads from that update on, and releases after the oldest one
that do not load the program are listed. --no-check asks only those that a bisection needs.

With --at-least every release from that one on must load each program: the exit code is 3 if one refuses it, 5 if one is unknown.
Without it, the exit code is 3 for a program that no release loads. Optional programs (SEC("?...")) count only with --optional.`,
		Example: "  bpfrun require prog.o\n  bpfrun require prog.o --btf 'kernels/*.btf' --at-least 5.15\n  bpfrun require prog.o --md",
		Args:    atLeast(1),
		RunE:    func(_ *cobra.Command, args []string) error { return c.require(args) },
	}
	f := cmd.Flags()
	listVar(f, &c.programs, "prog", "p", "only this `PROGRAM`; repeatable")
	f.StringVar(&c.atLeast, "at-least", "", "fail unless every `RELEASE` from this one on loads the programs")
	f.BoolVar(&c.unchecked, "no-check", false, "ask only the releases that a bisection needs")
	f.BoolVar(&c.markdown, "md", false, "print Markdown for a README instead of the table")
	c.reports.add(f, "md")
	return cmd
}

func (c *requireCommand) require(paths []string) error {
	if c.json && c.markdown {
		return usagef("--json and --md both claim standard output; use -o md=FILE")
	}
	if err := c.reports.check(); err != nil {
		return err
	}
	table, err := c.table()
	if err != nil {
		return err
	}
	cfg := minkernel.Config{Only: c.programs, Unchecked: c.unchecked}
	if cfg.Also, err = c.release(); err != nil {
		return err
	}
	if cfg.Options, err = c.objects.loadOptions(); err != nil {
		return err
	}
	targets, err := c.atHand()
	if err != nil {
		return err
	}
	if newest := minkernel.Newest(targets); !newest.Has(cfg.Also) {
		return usagef("--at-least %s: the newest release that is known is %s (--btf names the types of others)", c.atLeast, newest)
	}
	ctx, stop := c.interruptible(context.Background())
	defer stop()
	var results []*minkernel.Result
	for _, path := range paths {
		res, err := c.requireObject(ctx, path, targets, cfg)
		if err != nil {
			return err
		}
		results = append(results, res)
	}
	doc := report.NewRequireDocument(results, cfg.Also, c.objects.optional)
	c.code = doc.Exit
	if err := c.reports.write("md", func(w io.Writer) error { return report.WriteRequireMarkdown(w, doc) }); err != nil {
		return err
	}
	switch {
	case c.json:
		return report.WriteJSON(c.stdout, doc)
	case c.markdown:
		return report.WriteRequireMarkdown(c.stdout, doc)
	}
	return report.WriteRequire(c.stdout, doc, table)
}

// release is that of --at-least, 0 without it.
func (c *requireCommand) release() (uapi.Release, error) {
	if c.atLeast == "" {
		return 0, nil
	}
	r, err := parseRelease(c.atLeast)
	switch {
	case err != nil:
		return 0, usagef("--at-least %w", err)
	case c.unchecked:
		return 0, usagef("--at-least asks every release, --no-check leaves some out: use one of them")
	}
	return r, nil
}

// parseRelease reads MAJOR.MINOR.
func parseRelease(text string) (uapi.Release, error) {
	_, version, ok := loader.ParseRelease(text)
	r := uapi.ReleaseOf(version)
	if !ok || r.String() != text {
		return 0, fmt.Errorf("%s: want MAJOR.MINOR, such as 5.15", text)
	}
	return r, nil
}

func (c *requireCommand) requireObject(ctx context.Context, path string, targets []*loader.Target, cfg minkernel.Config) (*minkernel.Result, error) {
	obj, err := c.objects.open(path)
	if err != nil {
		return nil, err
	}
	if _, err := verifiedPrograms(obj, c.programs); err != nil {
		return nil, err
	}
	watch := c.progress("programs", len(obj.Programs))
	defer watch.end()
	cfg.Progress = func() { watch.add(1) }
	for _, t := range targets {
		if !minkernel.Usable(obj, t) {
			c.note("leaving out the types of %s: want those of a whole kernel of a known release and of the object's byte order", t.Name)
		}
	}
	res, err := minkernel.Find(ctx, obj, targets, cfg)
	switch {
	case errors.Is(err, loader.ErrOption):
		return nil, usageError{err}
	case errors.Is(err, minkernel.ErrNoKernels):
		return nil, usagef("%s: %w of its byte order and a known release: name some with --btf", path, err)
	case ctx.Err() != nil:
		return nil, codeError{exitInterrupted, fmt.Errorf("interrupted: %w", err)}
	case err != nil:
		return nil, codeError{exitLoad, err}
	}
	return res, nil
}

// atHand returns the kernels whose types are there: those of --btf, or one for each release of
// those that are known.
func (c *requireCommand) atHand() ([]*loader.Target, error) {
	sources := c.known()
	if len(c.kernels.btf) > 0 {
		var err error
		if sources, err = c.kernels.sources(); err != nil {
			return nil, err
		}
	}
	out := make([]*loader.Target, 0, len(sources))
	for _, s := range sources {
		t, err := c.kernels.target(s)
		switch {
		case err == nil:
			out = append(out, t)
		case len(c.kernels.btf) > 0:
			return nil, err
		default: // the user did not ask for it
			c.note("leaving out the types of %s: %v", s.Name, err)
		}
	}
	return out, nil
}

// known returns the embedded kernel, the running one, and the first of each other release that the
// search path has.
func (c *requireCommand) known() []btfSource {
	out := []btfSource{{Source: kernels.EmbeddedSource()}}
	if _, err := os.Stat(kernels.HostBTF); err == nil {
		out = append(out, btfSource{Source: kernels.HostSource()})
	}
	list := c.kernels.kernelPath().List()
	// Programs are mostly for amd64, and the rules are those of that architecture.
	slices.SortStableFunc(list, func(a, b kernels.Kernel) int { return notAMD64(a) - notAMD64(b) })
	seen := map[string]bool{releaseOf(kernels.EmbeddedSource().Name): true, releaseOf(hostRelease()): true}
	for _, k := range list {
		if r := releaseOf(k.ID); r != "" && !seen[r] {
			seen[r] = true
			out = append(out, btfSource{Source: k.Source})
		}
	}
	return out
}

func notAMD64(k kernels.Kernel) int {
	if k.Arch == "amd64" {
		return 0
	}
	return 1
}

// releaseOf is the release in a kernel's name: "6.12" of 6.12.107-amd64, "" if there is none.
func releaseOf(name string) string {
	_, version, ok := loader.ParseRelease(name)
	if !ok {
		return ""
	}
	return uapi.ReleaseOf(version).String()
}
