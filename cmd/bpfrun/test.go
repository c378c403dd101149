package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/kernel"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/report"
	"github.com/bpfrun/bpfrun/scenario"
)

func (a *app) testCommand() *cobra.Command {
	var output []string
	cmd := &cobra.Command{
		Use:   "test [DIR | FILE.yaml | OBJECT.o]... [--btf KERNEL ...]",
		Short: "Run scenario files and tests inside objects, and judge them",
		Long: `Run scenario files (*.yaml, *.yml) and the tests inside objects (*.o) on every target, in parallel,
and judge what they expect.

A directory is searched with all below it; an object stands for the tests in it and for the
scenario files beside it (NAME.yaml and NAME.*.yaml of NAME.bpf.o or NAME.o). Without arguments the
current directory is searched. A scenario file names its object relative to itself; without object:
it is the one beside it.

Tests inside objects are programs in sections TYPE/test/NAME/pktgen, /setup and /check (TYPE xdp or
tc), which hand a packet from one to the next and run in the order of their names on the same maps:
the check returns 1 or 101 and may write a report into the map suite_result_map; and programs in
sections TYPE/test/NAME, which return 0 or the number of the line that failed.

Every file is checked on every target before anything runs: a mistake in one is exit code 2. A run
whose hook a target lacks is skipped; one whose hook BTF does not list runs and is counted as unknown-hook
(--strict: both are failures, and so is a file of which nothing could run). Exit code 1 when an expectation failed;
3, 4 and 5 for programs that were refused, faulted or met something not simulated, unexpectedly.`,
		Example: "  bpfrun test examples/ --btf 'kernels/*.btf.xz'\n  bpfrun test exec.yaml -o junit=report.xml",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"."}
			}
			return a.test(args, output)
		},
	}
	cmd.Flags().StringArrayVarP(&output, "output", "o", nil, "junit=FILE, md=FILE or github=FILE (annotations for GitHub Actions): also write a report; repeatable")
	return cmd
}

func (a *app) test(paths, output []string) error {
	start := time.Now()
	files, err := outputs(output, "junit", "md", "github")
	if err != nil {
		return err
	}
	color, err := useColor(a.color, a.stdout)
	if err != nil {
		return err
	}
	opt, err := a.scenarioOptions()
	if err != nil {
		return err
	}
	scenarios, objects, err := a.testInputs(paths)
	if err != nil {
		return err
	}
	sources, err := a.btfSources()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	jobs := a.testJobs(scenarios, objects, sources, opt)
	if err := checkJobs(ctx, jobs); err != nil {
		return err
	}
	inParallel(ctx, len(jobs), func(i int) { jobs[i].run(ctx, a.strict, a.jsonOut) })
	if err := ctx.Err(); err != nil {
		return codeError{exitExpectation, errors.New("interrupted")}
	}
	return a.reportJobs(jobs, files, color, time.Since(start))
}

// reportJobs prints what the jobs did, and writes the reports asked for.
func (a *app) reportJobs(jobs []*testJob, files map[string]string, color bool, took time.Duration) error {
	suites := make([]*report.Suite, len(jobs))
	docs := report.Documents{Schema: report.Schema}
	targets, names, objects := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i, j := range jobs {
		if j.err != nil {
			return j.err
		}
		suites[i] = &j.suite
		targets[j.suite.Target] = true
		if j.file.File != nil {
			names[j.suite.File] = true
		} else {
			objects[j.suite.File] = true
		}
		docs.Exit = worse(docs.Exit, j.suite.Exit)
		docs.Results = append(docs.Results, j.doc)
		if !a.jsonOut {
			if err := report.WriteSuite(a.stdout, &j.suite, report.TableOptions{Color: color, Verbose: a.verbose, Quiet: a.quiet}); err != nil {
				return err
			}
		}
	}
	a.code = docs.Exit
	for kind, path := range files {
		write := map[string]func(io.Writer, []*report.Suite) error{
			"junit": report.WriteJUnit, "md": report.WriteTestsMarkdown, "github": report.WriteTestAnnotations,
		}[kind]
		if err := writeFile(path, func(w io.Writer) error { return write(w, suites) }); err != nil {
			return err
		}
	}
	if a.jsonOut {
		if len(docs.Results) == 1 {
			return report.WriteJSON(a.stdout, docs.Results[0])
		}
		return report.WriteJSON(a.stdout, docs)
	}
	var what []string
	if len(names) > 0 || len(objects) == 0 {
		what = append(what, count(len(names), "scenario file"))
	}
	if len(objects) > 0 {
		what = append(what, count(len(objects), "object"))
	}
	_, err := fmt.Fprintf(a.stdout, "%s on %s: %s in %.2f s\n", strings.Join(what, ", "), count(len(targets), "kernel"), report.Count(suites), took.Seconds())
	return err
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// scenarioOptions are the global flags as scenarios take them.
func (a *app) scenarioOptions() (scenario.Options, error) {
	engine, err := a.machineEngine(false)
	if err != nil {
		return scenario.Options{}, err
	}
	if a.cpus < 1 || a.cpus > maxCPUs {
		return scenario.Options{}, usagef("--cpus %d: want 1 to %d", a.cpus, maxCPUs)
	}
	boot, err := time.ParseDuration(a.clock)
	if err != nil || boot <= 0 {
		return scenario.Options{}, usagef("--clock %q: want a duration such as 1h or 90s", a.clock)
	}
	load, err := a.loadOptions()
	if err != nil {
		return scenario.Options{}, err
	}
	return scenario.Options{Load: load, Seed: a.seed, CPUs: a.cpus, MaxInsns: a.maxInsns, Strict: a.strict, Clock: kernel.ClockConfig{Boot: uint64(boot)}, Engine: engine, OnDifference: a.differ.add}, nil
}

// scenarioFile is a parsed file with its object, or an object with tests inside.
type scenarioFile struct {
	*scenario.File
	object *loader.Object
	path   string // of an object with tests inside
	err    error  // why those cannot be run
}

// parseScenarios parses scenario files, and opens their objects. All mistakes are in the error.
func (a *app) parseScenarios(paths []string) ([]scenarioFile, error) {
	objects := map[string]*loader.Object{}
	var out []scenarioFile
	var errs []error
	for _, path := range paths {
		f, err := scenario.ParseFile(path)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		obj := objects[f.Object]
		if obj == nil {
			if obj, err = a.scenarioObject(f); err != nil {
				var load codeError
				if errors.As(err, &load) {
					return nil, err
				}
				errs = append(errs, err)
				continue
			}
			objects[f.Object] = obj
		}
		out = append(out, scenarioFile{File: f, object: obj})
	}
	if len(errs) > 0 {
		return nil, usageError{errors.Join(errs...)}
	}
	return out, nil
}

// scenarioObject opens the object of a file; that it is missing is a mistake of the file.
func (a *app) scenarioObject(f *scenario.File) (*loader.Object, error) {
	if _, err := os.Stat(f.Object); err != nil {
		text := fmt.Sprintf("no object %s", f.Object)
		if !f.Named {
			text += " beside the file (name it with object: PATH)"
		}
		return nil, &scenario.Error{Pos: f.ObjectPos, Text: text, Err: err}
	}
	return a.openObject(f.Object)
}

func isScenario(path string) bool {
	ext := filepath.Ext(path)
	return ext == ".yaml" || ext == ".yml"
}

// testJob is one scenario file, or the tests inside one object, on one target.
type testJob struct {
	file   scenarioFile // its File is nil for an object's own tests
	source btfSource
	target func() (*loader.Target, error)
	opt    scenario.Options
	suite  report.Suite
	doc    *report.RunDocument
	err    error
}

func (a *app) testJobs(files, objects []scenarioFile, sources []btfSource, opt scenario.Options) []*testJob {
	var jobs []*testJob
	type lazy struct {
		target func() (*loader.Target, error)
		types  *kernel.Types
	}
	targets := make([]lazy, len(sources))
	for i, s := range sources {
		targets[i] = lazy{sync.OnceValues(func() (*loader.Target, error) { return a.target(s) }), kernel.NewTypes()}
	}
	for _, f := range append(files, objects...) {
		for i, s := range sources {
			o := opt
			o.Types = targets[i].types
			j := &testJob{file: f, source: s, target: targets[i].target, opt: o, suite: report.Suite{File: f.path, Target: s.name}}
			if f.File != nil {
				j.suite.File = f.Path
			}
			jobs = append(jobs, j)
		}
	}
	if len(sources) > 0 && sources[0].implied != "" && !a.told {
		a.told = true
		a.note("%s", sources[0].implied)
	}
	return jobs
}

// inParallel calls do for 0 to n-1 on all CPUs, until ctx ends.
func inParallel(ctx context.Context, n int, do func(i int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	wg.Wait()
}

// checkJobs opens every job for its mistakes. Those of one file that are the same on several targets are said once.
func checkJobs(ctx context.Context, jobs []*testJob) error {
	errs := make([]error, len(jobs))
	inParallel(ctx, len(jobs), func(i int) {
		if jobs[i].file.File == nil {
			_, errs[i] = jobs[i].target()
			return
		}
		r, err := jobs[i].open()
		if err == nil {
			r.Close()
		}
		errs[i] = err
	})
	var mistakes []error
	seen := map[string]bool{}
	for i, err := range errs {
		var mistake *scenario.Error
		var usage usageError
		var code codeError
		switch {
		case err == nil:
		case errors.As(err, &usage), errors.As(err, &code):
			return err // the target cannot be used
		case errors.As(err, &mistake):
			text := err.Error()
			if !seen[text] {
				seen[text] = true
				if len(jobs) > 1 {
					err = fmt.Errorf("%w (on %s)", err, jobs[i].source.name)
				}
				mistakes = append(mistakes, err)
			}
		}
	}
	if len(mistakes) > 0 {
		return usageError{errors.Join(mistakes...)}
	}
	return nil
}

func (j *testJob) open() (*scenario.Runner, error) {
	target, err := j.littleTarget()
	if err != nil {
		return nil, err
	}
	return scenario.Open(j.file.File, j.file.object, target, j.opt)
}

// littleTarget is the target of a job whose object can be executed.
func (j *testJob) littleTarget() (*loader.Target, error) {
	target, err := j.target()
	if err == nil && report.ByteOrderName(j.file.object.ByteOrder) == "big" {
		err = errBigEndian
	}
	return target, err
}

var errBigEndian = errors.New("execution of big-endian programs is not simulated")

// run runs all runs of the job's file, or all tests of its object.
func (j *testJob) run(ctx context.Context, strict, document bool) {
	start := time.Now()
	defer func() { j.suite.Took = time.Since(start) }()
	if j.file.File == nil {
		j.runObject(ctx, strict, document)
		return
	}
	r, err := j.open()
	if err != nil {
		j.fail(err)
		return
	}
	defer r.Close()
	if document {
		j.doc = report.NewRunDocument(r.Machine().Linked(), j.source.source)
		j.doc.Scenario = j.file.Path
	}
	_, err = r.All(ctx, func(res *scenario.Result) {
		j.suite.Cases = append(j.suite.Cases, report.NewTestCase(res))
		j.suite.Exit = worse(j.suite.Exit, report.ScenarioExit(res))
		if document {
			j.doc.AddScenario(r.Machine(), res)
		}
	})
	if err != nil {
		j.err = usageError{err}
		return
	}
	j.suite.Exit = worse(j.suite.Exit, j.suite.Hooks().Exit(strict))
	if document {
		j.doc.Finish(r.Machine())
		j.doc.Exit = j.suite.Exit
	}
}

// fail is the outcome of a job whose object cannot be used.
func (j *testJob) fail(err error) {
	j.suite.Err, j.suite.Exit = err, exitLoad
	var code codeError
	switch {
	case errors.Is(err, errBigEndian):
		j.suite.Exit = exitNotSimulated
	case errors.As(err, &code):
		j.suite.Exit = code.code
	}
	j.doc = &report.RunDocument{
		Schema: report.Schema, Exit: j.suite.Exit, Error: report.NewError(err), Object: j.suite.File, Programs: []report.Program{},
	}
	if j.file.File != nil {
		j.doc.Object, j.doc.Scenario = j.file.object.Name, j.file.Path
	}
}
