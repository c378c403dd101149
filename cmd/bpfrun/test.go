package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/internal/app/testrun"
	"github.com/bpfrun/bpfrun/internal/exitcode"
	"github.com/bpfrun/bpfrun/internal/kernels"
	"github.com/bpfrun/bpfrun/internal/scenario"
	"github.com/bpfrun/bpfrun/loader"
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

Every file is checked on every kernel before anything runs. Files with mistakes do not run: all their
mistakes are reported, also by --json and -o, and the exit code is 2.

What fails in the same way on several
kernels is one block that lists them. A run whose hook the kernel lacks is skipped; one whose hook BTF does not list runs and
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
	c.reports.add(fl, "html", "junit", "md", "github")
	fl.StringVar(&c.run, "run", "", "only tests whose name matches `REGEX`; earlier runs of the same sequence run too")
	fl.BoolVar(&c.list, "list", false, "list the tests instead of running them")
	fl.BoolVar(&c.failFast, "fail-fast", false, "stop at the first failure")
	fl.StringVar(&c.shard, "shard", "", "run only part `I/N` of the tests, I from 1 to N; the N parts together cover all tests")
	fl.Bool("verify", true, "verify programs, as tests do without the flag")
	_ = fl.MarkHidden("verify")
	fl.BoolVar(&c.profile, "profile", false, "draw on the page which lines executed how many instructions, as a flame graph of each program; needs -o html=FILE")
	fl.IntVar(&c.seeds, "seeds", 1, "run every test with `N` seeds, starting at --seed (or the file's)")
	return cmd
}

func (c *testCommand) test(paths []string) error {
	start := time.Now()
	pick, err := c.parse()
	if err != nil {
		return err
	}
	if err := c.reports.check(); err != nil {
		return err
	}
	if c.profile && !c.reports.wants("html") {
		return usagef("--profile is drawn on the page: it needs -o html=FILE")
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
	if len(mistakes) == 0 && len(chosen) == 0 {
		if err := c.nothing(); err != nil {
			return err
		}
	}
	if c.list {
		if len(mistakes) > 0 {
			return mistaken(testrun.NewMistakes(mistakes))
		}
		return c.listTests(chosen)
	}
	sources, err := c.testSources(chosen, mistakes)
	if err != nil {
		return err
	}
	ctx, stop := c.interruptible(context.Background())
	defer stop()
	jobs := testrun.Jobs(chosen, sources, testrun.Plan{Open: c.openKernel, Options: opt, Seeds: c.seeds, Profile: c.profile, Verify: c.sim.verifies(ctx)})
	known := c.knownTests(jobs, opt)
	watch := c.progress("tests", 0)
	defer watch.end()
	jobs, bad, err := testrun.Check(ctx, jobs, mistakes)
	if err != nil {
		return err
	}
	for _, j := range jobs {
		watch.expect(j.Count())
	}
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	testrun.Run(running, jobs, testrun.RunOptions{Strict: c.sim.strict, Document: c.documents(), Done: func(failed bool) {
		watch.add(1)
		if failed && c.failFast {
			cancel()
		}
	}})
	watch.end()
	known.save(jobs)
	if err := ctx.Err(); err != nil {
		return codeError{exitExpectation, errors.New("interrupted")}
	}
	return c.reportJobs(jobs, bad, testReport{table: table, took: time.Since(start), seeds: c.seeds, stopped: running.Err() != nil})
}

// documents reports whether documents of all that runs did are needed.
func (c *testCommand) documents() bool { return c.json || c.reports.wants("html") }

// testSources returns the kernels of each file, without those of a glob or directory that fit none
// of its objects. A file that names a kernel wrongly has none, and its error is added to mistakes.
func (c *testCommand) testSources(files []testrun.Chosen, mistakes map[string]error) ([][]kernels.Source, error) {
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
				mistakes[f.Path] = errors.Join(mistakes[f.Path], err)
				continue
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

// parseScenarios parses scenario files and opens their objects. mistakes holds the errors of
// individual files, by path, which do not affect the other files; err is an object that cannot be
// loaded.
func (c *testCommand) parseScenarios(paths []string) (out []testrun.Input, mistakes map[string]error, err error) {
	objects := map[string]*loader.Object{}
	mistakes = map[string]error{}
	for _, path := range paths {
		f, err := scenario.ParseFile(path)
		if err != nil {
			mistakes[path] = err
		}
		if f == nil {
			continue // else check what could be parsed against the object
		}
		obj := objects[f.Object]
		if obj == nil {
			if obj, err = c.scenarioObject(f); err != nil {
				if _, coded := exitcode.Of(err); coded { // the object is at fault, of which the file says where it is named
					err = &scenario.Error{Pos: f.ObjectPos, Text: err.Error(), Err: err}
				}
				mistakes[path] = errors.Join(mistakes[path], err)
				continue
			}
			objects[f.Object] = obj
		}
		out = append(out, testrun.Input{Scenario: f, Object: obj, Path: f.Path})
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
