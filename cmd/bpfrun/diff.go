package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/internal/app/builds"
	"github.com/bpfrun/bpfrun/internal/app/minkernel"
	"github.com/bpfrun/bpfrun/internal/app/report"
	kobject "github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/scenario"
	"github.com/bpfrun/bpfrun/loader"
)

// diffCommand is bpfrun diff.
type diffCommand struct {
	*console
	linker
	sim *machineFlags

	programs  []string
	scenarios []string
	growth    map[string]*string // by figure
	static    bool
	reports   reportFiles
}

func newDiffCommand(a *app) *cobra.Command {
	c := &diffCommand{console: &a.console, linker: a.linker(), sim: &a.sim, growth: map[string]*string{}}
	cmd := &cobra.Command{
		Use:   "diff OLD NEW [--btf KERNELS]",
		Short: "Compare two builds of an object: verdicts, costs, definitions, needs, and what they do",
		Long: `Compare two builds of an object, of two commits or by two compilers: for each program the verdict of the kernel's verifier, the instructions
it processed, stack, size, relocations, maps, helpers and kfuncs, and the oldest release that loads it (as bpfrun require finds it, with the kernels of
--btf); the definitions of maps; and what the programs do: each one that both builds have is run with the default input, and the runs of -s FILE, on
both builds.

Results are compared as bpfrun fuzz --against does: return value, packet, records, lines of bpf_printk, and what was left
in maps, by the names of variables and members that both builds have. Addresses are no results. bpfrun fuzz NEW --against OLD searches
inputs with different results.

Programs that did not change are only counted; -v lists them.

Exit codes: 3 if a kernel refuses a program of the new build that is new, or that it did not refuse before; 1 for other results, and for growth above
a limit (--max-insns-growth 10%). Optional programs (SEC("?...")) count only with --optional.`,
		Example: "  bpfrun diff main/xdp.bpf.o build/xdp.bpf.o --btf 6.12\n  bpfrun diff old.o new.o --btf 'kernels/*.btf' --max-insns-growth 10% -o github=-\n" +
			"  bpfrun diff old.o new.o -s tests/xdp.yaml",
		Args: exactly(2),
		RunE: func(_ *cobra.Command, args []string) error { return c.diff(args[0], args[1]) },
	}
	f := cmd.Flags()
	listVar(f, &c.programs, "prog", "p", "only this `PROGRAM`; repeatable")
	listVar(f, &c.scenarios, "scenario", "s", "also make the runs of a scenario `FILE` on both builds; repeatable")
	f.BoolVar(&c.static, "no-run", false, "do not run the programs")
	for _, l := range []struct{ name, what, use string }{
		{"max-insns-growth", report.LimitInsns, "fail if the verifier processes `PERCENT` more instructions of a program than before"},
		{"max-size-growth", report.LimitSize, "fail if a program has `PERCENT` more instructions"},
		{"max-stack-growth", report.LimitStack, "fail if a program uses `PERCENT` more stack"},
	} {
		c.growth[l.what] = f.String(l.name, "", l.use)
	}
	c.reports.add(f, "html", "github")
	return cmd
}

func (c *diffCommand) diff(oldPath, newPath string) error {
	table, err := c.table()
	if err != nil {
		return err
	}
	limits, err := c.limits()
	if err != nil {
		return err
	}
	stdout, err := c.toStdout()
	if err != nil {
		return err
	}
	older, err := c.objects.open(oldPath)
	if err != nil {
		return err
	}
	newer, err := c.objects.open(newPath)
	if err != nil {
		return err
	}
	cfg, err := c.config()
	if err != nil {
		return err
	}
	if err := errors.Join(hasPrograms(c.programs, older, newer), c.sim.checkIgnored(older, newer)); err != nil {
		return err
	}
	cfg.Only = c.programs
	sources, err := c.kernels.sources()
	if err != nil {
		return err
	}
	sources = c.kernels.fitting(sources, newer.ByteOrder)
	targets := make([]*loader.Target, len(sources))
	for i, s := range sources {
		if targets[i], err = c.kernels.target(s); err != nil {
			return err
		}
	}
	ctx, stop := c.interruptible(context.Background())
	defer stop()
	if cfg.OldNeeds, err = c.needs(ctx, older, targets, cfg.Options); err != nil {
		return diffError(ctx, err)
	}
	if cfg.NewNeeds, err = c.needs(ctx, newer, targets, cfg.Options); err != nil {
		return diffError(ctx, err)
	}
	cfg.Scenario.Verify = c.sim.verifiesEach(ctx)
	doc := report.NewDiffDocument(build(older, oldPath), build(newer, newPath), limits)
	doc.Paths = filesOf(newer, newPath)
	watch := c.progress("kernels", len(targets))
	defer watch.end()
	for i, t := range targets {
		cfg.Scenario.Types = kobject.NewTypes()
		result, err := builds.Compare(ctx, older, newer, t, cfg)
		if err != nil {
			return diffError(ctx, err)
		}
		doc.Add(t, sources[i].Path, result, c.objects.optional)
		watch.add(1)
	}
	watch.end()
	c.code = doc.Exit
	return c.write(doc, stdout, table)
}

// needs finds the oldest release of each program of a build; nil if the types of no kernel can
// tell.
func (c *diffCommand) needs(ctx context.Context, obj *loader.Object, targets []*loader.Target, opts loader.LoadOptions) (*minkernel.Result, error) {
	res, err := minkernel.Find(ctx, obj, targets, minkernel.Config{Options: opts, Only: c.programs, Unchecked: true})
	if errors.Is(err, minkernel.ErrNoKernels) {
		return nil, nil
	}
	return res, err
}

// config is what both builds have in common.
func (c *diffCommand) config() (builds.Config, error) {
	var cfg builds.Config
	var err error
	if cfg.Options, err = c.objects.loadOptions(); err != nil {
		return cfg, err
	}
	if cfg.Machine, err = c.sim.config(false); err != nil {
		return cfg, err
	}
	cfg.Static = c.static
	if cfg.Scenario, err = c.sim.scenarioOptions(c.objects, nil); err != nil {
		return cfg, err
	}
	if c.static && len(c.scenarios) > 0 {
		return cfg, usagef("--no-run runs nothing, -s runs a scenario: use one of them")
	}
	for _, path := range c.scenarios {
		f, err := scenario.ParseFile(path)
		if err != nil {
			return cfg, usageError{err}
		}
		cfg.Scenarios = append(cfg.Scenarios, f)
	}
	return cfg, nil
}

// limits parses the limits that were given: "10%" or "10".
func (c *diffCommand) limits() (map[string]float64, error) {
	out := map[string]float64{}
	for what, text := range c.growth {
		if *text == "" {
			continue
		}
		v, err := parseGrowth(*text)
		if err != nil {
			return nil, usagef("--max-%s-growth %w", what, err)
		}
		out[what] = v
	}
	return out, nil
}

// parseGrowth reads a percentage that may be above 100.
func parseGrowth(text string) (float64, error) {
	v, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	if err != nil || !(v >= 0) || v > 1e9 {
		return 0, fmt.Errorf("%s: want a percentage such as 10%%", text)
	}
	return v, nil
}

// toStdout reports whether the annotations take the place of the table: -o github=-.
func (c *diffCommand) toStdout() (bool, error) {
	n := len(c.reports.given)
	c.reports.given = slices.DeleteFunc(c.reports.given, func(o string) bool { return o == "github=-" })
	stdout := len(c.reports.given) < n
	if stdout && c.json {
		return false, usagef("--json and -o github=- both claim standard output")
	}
	return stdout, c.reports.check()
}

func (c *diffCommand) write(doc *report.DiffDocument, stdout bool, table report.TableOptions) error {
	annotations := func(w io.Writer) error { return report.WriteDiffAnnotations(w, doc) }
	err := errors.Join(
		c.reports.write("html", func(w io.Writer) error { return report.WriteDiffHTML(w, doc) }), c.reports.write("github", annotations),
	)
	switch {
	case err != nil:
		return err
	case stdout:
		return annotations(c.stdout)
	case c.json:
		return report.WriteJSON(c.stdout, doc)
	}
	return report.WriteDiff(c.stdout, doc, table)
}

// hasPrograms checks that each name is a program of one of the builds.
func hasPrograms(names []string, older, newer *loader.Object) error {
	for _, name := range names {
		_, old := older.Program(name)
		_, is := newer.Program(name)
		if !old && !is {
			return usagef("-p %s: no such program in %s (available: %s)", name, newer.Name, programNames(newer))
		}
	}
	return nil
}

func build(o *loader.Object, path string) report.Build {
	b := report.Build{Object: o.Name}
	if info, err := os.Stat(path); err == nil {
		b.Size = info.Size()
	}
	return b
}

// diffError gives an error of a comparison its exit code.
func diffError(ctx context.Context, err error) error {
	var mistake *scenario.Error
	var mistakes scenario.Errors
	switch {
	case ctx.Err() != nil:
		return codeError{exitInterrupted, fmt.Errorf("interrupted: %w", err)}
	case errors.As(err, &mistake), errors.As(err, &mistakes), errors.Is(err, loader.ErrOption):
		return usageError{err}
	}
	return codeError{exitLoad, err}
}
