package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/internal/exitcode"
	"github.com/bpfrun/bpfrun/internal/kernels"
	"github.com/bpfrun/bpfrun/internal/visible"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/report"
	"github.com/bpfrun/bpfrun/scenario"
	"github.com/bpfrun/bpfrun/testrun"
)

// testCommand is bpfrun test.
type testCommand struct {
	*console
	linker
	sim *machineFlags

	testFlags

	collected *coverage // receives coverage; nil without --cover
}

func newTestCommand(a *app) *cobra.Command {
	c := &testCommand{console: &a.console, linker: a.linker(), sim: &a.sim}
	cmd := &cobra.Command{
		Use:   "test [DIR | FILE.yaml | OBJECT.o]... [--btf KERNEL ...]",
		Short: "Run scenario files and the tests inside objects",
		Long: `Run scenario files (*.yaml, *.yml) and the tests inside objects (*.o) on every kernel, in parallel,
and check their expectations.

Directories are searched recursively, by default the current one. An object means the tests in it
and the scenario files beside it (NAME.yaml and NAME.*.yaml for NAME.bpf.o or NAME.o). A scenario
file names its object relative to itself; without object: it uses the object beside it.

There are two kinds of tests inside objects. Programs in sections TYPE/test/NAME/pktgen, /setup and
/check (TYPE is xdp or tc) pass a packet from one to the next; tests run in the order of their names on
the same maps; the check returns 1 or 101 and may write a report into the map suite_result_map.
Programs in sections TYPE/test/NAME return 0 or the number of the line that failed.

Every file is checked on every kernel before anything runs, and all mistakes are reported at once, with
exit code 2. A run whose hook the kernel lacks is skipped; one whose hook BTF does not list runs and
counts as unknown-hook (with --strict both are failures, as is a file in which nothing could run).
Exit code 1 when an expectation failed; 3, 4 and 5 when a program was unexpectedly refused, faulted or
used something that is not simulated.`,
		Example: "  bpfrun test examples/ --btf 'kernels/*.btf.xz'\n  bpfrun test exec.yaml -o junit=report.xml\n" +
			"  bpfrun test --run '^port' --seeds 100 firewall.yaml\n  bpfrun test --shard 2/4 --fail-fast",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"."}
			}
			return c.test(args)
		},
	}
	fl := cmd.Flags()
	c.cover.add(fl)
	fl.StringArrayVarP(&c.output, "output", "o", nil, "also write a report: junit=`FILE`, md=FILE or github=FILE (annotations for GitHub Actions); repeatable")
	fl.StringVar(&c.run, "run", "", "only tests whose name matches `REGEX`; earlier runs of the same sequence run too")
	fl.BoolVar(&c.list, "list", false, "list the tests instead of running them")
	fl.BoolVar(&c.failFast, "fail-fast", false, "stop at the first failure")
	fl.StringVar(&c.shard, "shard", "", "run only part `I/N` of the tests, I from 1 to N; the N parts together cover all tests")
	fl.BoolVar(&c.verify, "verify", false, "do not run programs that the verifier of the kernel's release refuses: their tests fail with exit code 3")
	fl.IntVar(&c.seeds, "seeds", 1, "run every test with `N` seeds, starting at --seed (or the file's)")
	return cmd
}

func (c *testCommand) test(paths []string) error {
	start := time.Now()
	pick, err := c.parse()
	if err != nil {
		return err
	}
	files, err := outputs(c.output, "junit", "md", "github")
	if err != nil {
		return err
	}
	table, err := c.table()
	if err != nil {
		return err
	}
	if c.collected, err = c.cover.begin(); err != nil {
		return err
	}
	opt, err := c.sim.scenarioOptions(c.objects, c.collected)
	if err != nil {
		return err
	}
	scenarios, objects, mistakes, err := c.testInputs(paths)
	if err != nil {
		return err
	}
	chosen := pick.Choose(scenarios, objects)
	if mistakes == nil && len(chosen) == 0 {
		if err := c.nothing(); err != nil {
			return err
		}
	}
	if c.list {
		if mistakes != nil {
			return mistakes
		}
		return c.listTests(chosen)
	}
	sources, err := c.testSources(chosen)
	if err != nil {
		return err
	}
	ctx, stop := c.interruptible(context.Background())
	defer stop()
	opt.Refuses = refusals(ctx, c.verify && !c.sim.noVerify)
	jobs := testrun.Jobs(chosen, sources, testrun.Plan{Open: c.openKernel, Options: opt, Seeds: c.seeds})
	watch := c.progress("tests", 0)
	defer watch.end()
	if err := checkJobs(ctx, jobs, mistakes); err != nil {
		return err
	}
	for _, j := range jobs {
		watch.expect(j.Count())
	}
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	testrun.Run(running, jobs, testrun.RunOptions{Strict: c.sim.strict, Document: c.json, Done: func(failed bool) {
		watch.add(1)
		if failed && c.failFast {
			cancel()
		}
	}})
	watch.end()
	if err := ctx.Err(); err != nil {
		return codeError{exitExpectation, errors.New("interrupted")}
	}
	return c.reportJobs(jobs, testReport{files: files, table: table, took: time.Since(start), seeds: c.seeds, stopped: running.Err() != nil})
}

// testSources returns the kernels of each file, without those of a glob or directory that fit none of its objects.
func (c *testCommand) testSources(files []testrun.Chosen) ([][]kernels.Source, error) {
	var orders []binary.ByteOrder
	for _, f := range files {
		if f.Object != nil {
			orders = append(orders, f.Object.ByteOrder)
		}
	}
	general, err := c.kernels.sources()
	if err != nil {
		return nil, err
	}
	general = c.kernels.fitting(general, orders...)
	out := make([][]kernels.Source, len(files))
	for i, f := range files {
		sources := general
		if f.Scenario != nil && len(f.Scenario.Kernels) > 0 && len(c.kernels.btf) == 0 {
			if sources, err = c.kernels.sourcesFor(f.Scenario); err != nil {
				return nil, err
			}
		}
		for _, s := range sources {
			if s.implied != "" && c.kernels.told.CompareAndSwap(false, true) {
				c.note("%s", s.implied)
			}
			out[i] = append(out[i], s.Source)
		}
	}
	return out, nil
}

func (c *testCommand) openKernel(s kernels.Source) (*loader.Target, error) {
	return c.kernels.target(btfSource{Source: s})
}

// checkJobs opens every job to find errors in the files, and returns these with the errors of parsing.
func checkJobs(ctx context.Context, jobs []*testrun.Job, parsing error) error {
	mistakes, err := testrun.Check(ctx, jobs, errors.Unwrap(parsing))
	if err != nil {
		return err
	}
	if mistakes != nil {
		testrun.Close(jobs)
		return usageError{mistakes}
	}
	return nil
}

// testReport holds the options for reporting test results.
type testReport struct {
	files   map[string]string
	table   report.TableOptions
	took    time.Duration
	seeds   int
	stopped bool // by --fail-fast
}

// reportJobs prints the results of the jobs and writes the requested reports.
func (c *testCommand) reportJobs(jobs []*testrun.Job, r testReport) error {
	var suites []*report.Suite
	docs := report.Documents{Schema: report.Schema, Results: []*report.RunDocument{}}
	targets, names, objects := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for group := range slices.Chunk(jobs, r.seeds) { // the seeds of one file on one target
		var parts []*report.Suite
		var seeds []uint64
		for _, j := range group {
			if j.Err != nil {
				return usageError{j.Err}
			}
			if !j.Ran {
				continue
			}
			parts, seeds = append(parts, &j.Suite), append(seeds, j.Seed)
			docs.Exit = exitcode.Worse(docs.Exit, j.Suite.Exit)
			docs.Results = append(docs.Results, j.Doc)
		}
		if len(parts) == 0 {
			continue
		}
		suite := parts[0]
		if r.seeds > 1 {
			suite = report.MergeSeeds(parts, seeds)
		}
		suites = append(suites, suite)
		targets[suite.Target] = true
		if group[0].Scenario != nil {
			names[suite.File] = true
		} else {
			objects[suite.File] = true
		}
		if !c.json {
			if err := report.WriteSuite(c.stdout, suite, r.table); err != nil {
				return err
			}
		}
	}
	c.code = docs.Exit
	covered, err := c.collected.totals()
	if err != nil {
		return err
	}
	for kind, path := range r.files {
		if err := writeText(path, func(w io.Writer) error {
			switch kind {
			case "junit":
				return report.WriteJUnit(w, suites, covered...)
			case "md":
				return report.WriteTestsMarkdown(w, suites, covered...)
			}
			return report.WriteTestAnnotations(w, suites)
		}); err != nil {
			return err
		}
	}
	if c.json {
		return errors.Join(report.WriteJSON(c.stdout, docs), c.collected.finish(c.console, c.stderr))
	}
	if !c.quiet {
		if err := report.WriteSlowest(c.stdout, suites, 3); err != nil {
			return err
		}
	}
	var what []string
	if len(names) > 0 || len(objects) == 0 {
		what = append(what, count(len(names), "scenario file"))
	}
	if len(objects) > 0 {
		what = append(what, count(len(objects), "object"))
	}
	on := count(len(targets), "kernel")
	if r.seeds > 1 {
		on += " with " + count(r.seeds, "seed")
	}
	if r.stopped {
		on += ", stopped at the first failure"
	}
	if _, err := visible.Fprintf(c.stdout, "%s on %s: %s in %.2f s\n", strings.Join(what, ", "), on, report.Count(suites), r.took.Seconds()); err != nil {
		return err
	}
	return c.collected.finish(c.console, c.stdout)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// parseScenarios parses scenario files and opens their objects. mistakes holds the errors of individual files, which do
// not affect the other files; err is an object that cannot be loaded.
func (c *testCommand) parseScenarios(paths []string) (out []testrun.Input, mistakes, err error) {
	objects := map[string]*loader.Object{}
	var errs []error
	for _, path := range paths {
		f, err := scenario.ParseFile(path)
		if err != nil {
			errs = append(errs, err)
		}
		if f == nil {
			continue // else check what could be parsed against the object
		}
		obj := objects[f.Object]
		if obj == nil {
			if obj, err = c.scenarioObject(f); err != nil {
				var load codeError
				if errors.As(err, &load) {
					return nil, nil, err
				}
				errs = append(errs, err)
				continue
			}
			objects[f.Object] = obj
		}
		out = append(out, testrun.Input{Scenario: f, Object: obj, Path: f.Path})
	}
	if len(errs) > 0 {
		mistakes = usageError{errors.Join(errs...)}
	}
	return out, mistakes, nil
}

// scenarioObject opens the object of a file. A missing object is an error of the file.
func (c *testCommand) scenarioObject(f *scenario.File) (*loader.Object, error) {
	if _, err := os.Stat(f.Object); err != nil {
		text := fmt.Sprintf("no object %s", f.Object)
		if !f.Named {
			text += " beside the file (name it with object: PATH)"
		}
		return nil, &scenario.Error{Pos: f.ObjectPos, Text: text, Err: err}
	}
	return c.objects.open(f.Object)
}
