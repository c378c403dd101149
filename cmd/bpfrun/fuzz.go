package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/internal/app/cover"
	"github.com/bpfrun/bpfrun/internal/app/fuzz"
	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/intest"
	"github.com/bpfrun/bpfrun/internal/scenario"
	"github.com/bpfrun/bpfrun/internal/visible"
	"github.com/bpfrun/bpfrun/loader"
)

// fuzzOptions are the flags of the fuzz command.
type fuzzOptions struct {
	progs    []string
	scenario string
	time     time.Duration
	runs     uint64
	workers  int
	corpus   string
	merge    []string
	shard    string
	against  string
	keep     string
	vary     []string
	fix      []string
	reports  reportFiles
}

// fuzzCommand is bpfrun fuzz.
type fuzzCommand struct {
	*console
	linker
	sim *machineFlags

	fuzzOptions
}

// fuzzInsns is the instruction limit of one run in a search.
const fuzzInsns = 10_000_000

// fuzzGC is how much garbage there may be in a search, in percent of what lives.
const fuzzGC = 400

func newFuzzCommand(a *app) *cobra.Command {
	c := &fuzzCommand{console: &a.console, linker: a.linker(), sim: &a.sim}
	cmd := &cobra.Command{
		Use:   "fuzz OBJECT [-p PROGRAM] [-s FILE]",
		Short: "Search inputs that reach more of an object's programs, and bugs that nobody described",
		Long: `Search inputs with which the programs of an object reach branches that no run reached, and inputs with which they do what is wrong
whatever they are meant to do. Everything that a program reads from outside is input: packets, contexts, arguments, fields of
kernel objects, maps and variables that only user space writes, results and failures of helpers, time, the CPU, and the events
before.

Maps that programs write get their contents by events only. With -s the file's objects, maps and runs are the seeds, and
its invariants are checked after every run.

Each finding is written as a scenario file that fails under bpfrun test and opens in bpfrun debug -s. Beside the findings is a
suite: a run for every branch that was reached, with what it does today as expectations.

--against OLD.o runs the same inputs through another build of the object, --btf with two kernels on both: different results are
findings. One worker (-j 1) with the same --seed and --runs does the same every time.

Exit code 1 with findings.`,
		Example: "  bpfrun fuzz xdp.bpf.o --time 60s\n  bpfrun fuzz new.bpf.o --against old.bpf.o -p ingress\n  bpfrun fuzz xdp.bpf.o -j 1 --seed 7 --runs 100000 --corpus corpus/",
		Args:    oneObject,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("max-insns") {
				c.sim.maxInsns = fuzzInsns
			}
			if cmd.Flags().Changed("runs") && !cmd.Flags().Changed("time") {
				c.time = 0
			}
			if len(c.merge) > 0 && !cmd.Flags().Changed("time") && !cmd.Flags().Changed("runs") {
				c.runs, c.time = 1, 0
			}
			return c.fuzz(args[0])
		},
	}
	f := cmd.Flags()
	listVar(f, &c.progs, "prog", "p", "search only this `PROGRAM`; repeatable")
	f.StringVarP(&c.scenario, "scenario", "s", "", "scenario `FILE` with the seeds, the state before them and invariants")
	f.DurationVar(&c.time, "time", time.Minute, "search for that `TIME`")
	f.Uint64Var(&c.runs, "runs", 0, "search with `N` inputs; without --time, however long they take")
	f.IntVarP(&c.workers, "jobs", "j", runtime.NumCPU(), "search with `N` machines at the same time")
	f.StringVar(&c.corpus, "corpus", "", "keep inputs that reached something new in `DIR`, and begin with those that are there")
	listVar(f, &c.merge, "merge", "", "add the inputs in `DIR` that reach more to --corpus, and search no further unless --time or --runs is given; repeatable")
	f.StringVar(&c.shard, "shard", "", "search as machine I of N: `I/N`")
	f.StringVar(&c.against, "against", "", "run the inputs also through another build of the object, `FILE`: different results are findings")
	f.StringVar(&c.keep, "keep", "", "write findings and the suite to `DIR` (default: fuzz beside the object)")
	f.StringSliceVar(&c.vary, "vary", nil, "change only `WHAT`: packet, maps, ctx, args, kernel, user, globals, helpers, time; repeatable")
	f.StringSliceVar(&c.fix, "fix", nil, "do not change `WHAT`; repeatable")
	c.reports.add(f, "html", "junit")
	return cmd
}

// options checks the flags.
func (c *fuzzCommand) options(path string) (fuzz.Options, error) {
	opt := fuzz.Options{
		Programs: c.progs, Time: c.time, Runs: c.runs, Seed: c.sim.seed, Workers: c.workers, Corpus: c.corpus, Merge: c.merge, Keep: c.keep, ObjectPath: path,
		Note: func(text string) { c.note("%s", text) }, Flags: c.objects.asOpened(),
	}
	var err error
	if opt.Scenario, err = c.sim.scenarioOptions(c.objects, nil); err != nil {
		return opt, err
	}
	opt.Scenario.Seed, opt.Scenario.SeedWins = 1, false // --seed is that of the search: scenarios must not depend on it
	switch {
	case c.time < 0:
		return opt, usagef("--time %v: want a time such as 60s", c.time)
	case c.time == 0 && c.runs == 0:
		return opt, usagef("give --time or --runs: a search does not end by itself")
	case c.workers < 1 || c.workers > 1024:
		return opt, usagef("-j %d: want 1 to 1024", c.workers)
	case len(c.merge) > 0 && c.corpus == "":
		return opt, usagef("--merge adds to a corpus: add --corpus DIR")
	}
	if opt.Vary, err = fuzz.Varied(c.vary, c.fix); err != nil {
		return opt, usageError{fmt.Errorf("--vary, --fix: %w", err)}
	}
	opt.Ignore = opt.Scenario.Config.Ignore
	if c.shard != "" {
		i, n, ok := strings.Cut(c.shard, "/")
		a, err1 := strconv.Atoi(i)
		b, err2 := strconv.Atoi(n)
		if !ok || err1 != nil || err2 != nil || a < 0 || b < max(a, 1) {
			return opt, usagef("--shard %s: want I/N, such as 2/8", c.shard)
		}
		if a == 0 { // counted from 0
			a = b
		}
		opt.Shard, opt.Shards = a, b
	}
	if opt.Keep == "" {
		opt.Keep = filepath.Join(filepath.Dir(path), "fuzz")
	}
	if c.scenario != "" {
		if opt.Text, err = os.ReadFile(c.scenario); err != nil {
			return opt, usageError{err}
		}
		opt.Path = c.scenario
	}
	return opt, nil
}

func (c *fuzzCommand) fuzz(path string) error {
	opt, err := c.options(path)
	if err != nil {
		return err
	}
	if _, err := c.table(); err != nil { // a mistake is told before the search
		return err
	}
	if err := c.reports.check(); err != nil {
		return err
	}
	obj, err := c.objects.open(path)
	if err != nil {
		return err
	}
	if err := c.sim.checkIgnored(obj); err != nil {
		return err
	}
	for _, name := range c.progs {
		if _, ok := obj.Program(name); !ok {
			return usagef("-p %s: no such program in %s (available: %s)", name, obj.Name, programNames(obj))
		}
	}
	if tests, err := intest.Discover(obj); err == nil { // a mistake in them is not the search's
		for _, t := range tests {
			opt.Without = append(opt.Without, t.Name)
			for _, p := range t.Stages {
				opt.Without = append(opt.Without, p.Name)
			}
			if t.Plain != nil {
				opt.Without = append(opt.Without, t.Plain.Name)
			}
		}
	}
	targets, sources, err := c.targets(obj)
	if err != nil {
		return err
	}
	for i, t := range targets[1:] {
		opt.Others = append(opt.Others, fuzz.Other{Name: sources[i+1].Name, Object: obj, Target: t})
	}
	if c.against != "" {
		old, err := c.objects.open(c.against)
		if err != nil {
			return err
		}
		opt.Others = append(opt.Others, fuzz.Other{Name: c.against, Object: old, Target: targets[0]})
	}
	defer collector.allow(fuzzGC)() // inputs are garbage soon, and what lives is small
	ctx, stop := c.interruptible(context.Background())
	defer stop()
	opt.Scenario.Verify = c.sim.verifiesEach(ctx)
	show := c.fuzzProgress()
	opt.Progress = show.show
	f, err := fuzz.New(ctx, obj, targets[0], opt)
	if err != nil {
		return fuzzError(ctx, err)
	}
	defer f.Close()
	r, failed := f.Run(ctx)
	show.end()
	if r == nil {
		return fuzzError(ctx, failed)
	}
	covered := c.covered(f)
	return c.tell(ctx, report.NewFuzzDocument(obj, report.NewTarget(targets[0], sources[0].Path), r), covered, path, opt.Keep, failed)
}

// coverTime is how long the coverage of a page may take.
const coverTime = 30 * time.Second

// covered counts what the kept inputs execute, if a page is wanted. It is nil if that is not known.
func (c *fuzzCommand) covered(f *fuzz.Fuzzer) *cover.Profile {
	if !c.reports.wants("html") {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), coverTime) // after an interrupt, too
	defer cancel()
	collector := cover.NewCollector()
	left, err := f.Cover(ctx, collector)
	if left > 0 {
		c.note("the page's coverage is without %s: there was no time to run them again", count(left, "input"))
	}
	p, wrong := collector.Profile()
	if err = errors.Join(err, wrong); err != nil {
		c.warn("the page has no coverage: %v", err)
		return nil
	}
	return p
}

// tell prints what a search found, and after it the error that ended the search.
func (c *fuzzCommand) tell(ctx context.Context, doc *report.FuzzDocument, covered *cover.Profile, path, keep string, failed error) error {
	table, err := c.table()
	if err != nil {
		return err
	}
	doc.Path, doc.Keep, doc.Interrupted = path, keep, c.interrupted.Load()
	if len(doc.Findings) > 0 {
		doc.Exit = exitExpectation
	}
	if doc.Interrupted {
		doc.Exit = exitInterrupted
	}
	if failed != nil {
		c.warn("%v", failed)
		doc.Exit, doc.Error = exitCode(fuzzError(ctx, failed)), report.NewError(failed)
	}
	c.code = doc.Exit
	wrong := errors.Join(
		c.reports.write("html", func(w io.Writer) error { return report.WriteFuzzHTML(w, doc, covered, nil) }),
		c.reports.write("junit", func(w io.Writer) error { return report.WriteJUnit(w, []*report.Suite{doc.Tests()}) }),
	)
	if c.json {
		return errors.Join(report.WriteJSON(c.stdout, doc), wrong)
	}
	return errors.Join(report.WriteFuzz(c.stdout, doc, table), wrong)
}

// targets opens the kernels of --btf that fit the object.
func (c *fuzzCommand) targets(obj *loader.Object) ([]*loader.Target, []btfSource, error) {
	sources, err := c.kernels.sources()
	if err != nil {
		return nil, nil, err
	}
	sources = c.kernels.fitting(sources, obj.ByteOrder)
	var out []*loader.Target
	for _, s := range sources {
		t, err := c.kernels.target(s)
		if err != nil {
			return nil, nil, err
		}
		out = append(out, t)
	}
	if len(out) == 0 {
		return nil, nil, usagef("--btf: no kernel has the byte order of %s", obj.Name)
	}
	return out, sources, nil
}

// fuzzError gives an error of a search its exit code.
func fuzzError(ctx context.Context, err error) error {
	var mistake *scenario.Error
	var mistakes scenario.Errors
	var nothing *fuzz.ErrNothing
	var path *os.PathError
	var link *os.LinkError
	var bug *fuzz.PanicError
	switch {
	case errors.As(err, &bug):
		return codeError{exitBug, err}
	case errors.As(err, &link):
		return usageError{err}
	case ctx.Err() != nil:
		return codeError{exitInterrupted, errors.New("interrupted before the search")}
	case errors.As(err, &mistake), errors.As(err, &mistakes), errors.Is(err, loader.ErrOption), errors.As(err, &path):
		return usageError{err}
	case errors.As(err, &nothing):
		return codeError{exitLoad, err}
	}
	return codeError{exitLoad, err}
}

// fuzzProgress is the line of a search on a terminal.
type fuzzProgress struct {
	c     *console
	shown bool
}

func (c *console) fuzzProgress() *fuzzProgress { return &fuzzProgress{c: c} }

func (p *fuzzProgress) show(n fuzz.Progress) {
	if p.c.quiet || !isTerminal(p.c.stderr) {
		return
	}
	p.shown = true
	rate := float64(n.Runs) / max(n.Elapsed.Seconds(), 0.001)
	visible.Fprintf(fileOf(p.c.stderr), "\r\x1b[K%s: %d runs, %.0f a second, %d of %d branches, %d inputs kept, %d findings", n.Elapsed.Round(time.Second), n.Runs, rate, n.Reached, n.Known, n.Corpus, n.Findings)
}

func (p *fuzzProgress) end() {
	if p.shown {
		visible.Fprintf(fileOf(p.c.stderr), "\r\x1b[K")
	}
}
