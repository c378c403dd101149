package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
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
		Short: "Run scenario files and judge what they expect",
		Long: `Run scenario files (*.yaml, *.yml) on every target, in parallel, and judge what they expect.

A directory is searched with all below it; an object stands for the scenario files beside it
(NAME.yaml and NAME.*.yaml of NAME.bpf.o or NAME.o). Without arguments the current directory is
searched. A scenario file names its object relative to itself; without object: it is the one
beside it.

Every file is checked on every target before anything runs: a mistake in one is exit code 2. A run
whose hook a target lacks is skipped (--strict: a failure). Exit code 1 when an expectation failed;
3, 4 and 5 for programs that were refused, faulted or met something not simulated, unexpectedly.`,
		Example: "  bpfrun test examples/ --btf 'kernels/*.btf.xz'\n  bpfrun test exec.yaml -o junit=report.xml",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"."}
			}
			return a.test(args, output)
		},
	}
	cmd.Flags().StringArrayVarP(&output, "output", "o", nil, "junit=FILE or md=FILE: also write a report; repeatable")
	return cmd
}

func (a *app) test(paths, output []string) error {
	start := time.Now()
	files, err := outputs(output, "junit", "md")
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
	scenarios, err := a.scenarios(paths)
	if err != nil {
		return err
	}
	sources, err := a.btfSources()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	jobs, err := a.testJobs(scenarios, sources, opt)
	if err != nil {
		return err
	}
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
	targets, names := map[string]bool{}, map[string]bool{}
	for i, j := range jobs {
		if j.err != nil {
			return j.err
		}
		suites[i] = &j.suite
		targets[j.suite.Target], names[j.suite.File] = true, true
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
		write := report.WriteJUnit
		if kind == "md" {
			write = report.WriteTestsMarkdown
		}
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
	_, err := fmt.Fprintf(a.stdout, "%s on %s: %s in %.2f s\n", count(len(names), "scenario file"), count(len(targets), "kernel"), report.Count(suites), took.Seconds())
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
	if a.engine != "interp" {
		return scenario.Options{}, codeError{exitNotSimulated, fmt.Errorf("--engine %s: not available, this build has: interp", a.engine)}
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
	return scenario.Options{Load: load, Seed: a.seed, CPUs: a.cpus, MaxInsns: a.maxInsns, Strict: a.strict, Clock: kernel.ClockConfig{Boot: uint64(boot)}}, nil
}

// scenarioFile is a parsed file with its object.
type scenarioFile struct {
	*scenario.File
	object *loader.Object
}

// scenarios finds and parses the scenario files that arguments mean, and opens their objects. All mistakes are in the error.
func (a *app) scenarios(args []string) ([]scenarioFile, error) {
	var paths []string
	for _, arg := range args {
		found, err := scenarioPaths(arg)
		if err != nil {
			return nil, err
		}
		paths = append(paths, found...)
	}
	slices.Sort(paths)
	paths = slices.Compact(paths)
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
		out = append(out, scenarioFile{f, obj})
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
		if f.ObjectPos.Line <= 1 {
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

// scenarioPaths are the scenario files an argument means.
func scenarioPaths(arg string) ([]string, error) {
	info, err := os.Stat(arg)
	if err != nil {
		return nil, usageError{err}
	}
	if !info.IsDir() && filepath.Ext(arg) != ".o" {
		return []string{arg}, nil // also .json, and whatever the user says is one
	}
	var out []string
	if info.IsDir() {
		err = filepath.WalkDir(arg, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && isScenario(path) {
				out = append(out, path)
			}
			return err
		})
		if err != nil {
			return nil, usageError{err}
		}
		if len(out) == 0 {
			return nil, usagef("%s: no scenario files (*.yaml) in this directory (bpfrun scenario new OBJECT writes one)", arg)
		}
		return out, nil
	}
	base := strings.TrimSuffix(strings.TrimSuffix(arg, ".o"), ".bpf")
	dir, err := os.ReadDir(filepath.Dir(arg))
	if err != nil {
		return nil, usageError{err}
	}
	for _, e := range dir {
		if isScenario(e.Name()) && strings.HasPrefix(e.Name(), filepath.Base(base)+".") {
			out = append(out, filepath.Join(filepath.Dir(arg), e.Name()))
		}
	}
	if len(out) == 0 {
		return nil, usagef("%s: no scenario file %s.yaml beside it (bpfrun scenario new %s writes one)", arg, base, arg)
	}
	return out, nil
}

// testJob is one scenario file on one target.
type testJob struct {
	file   scenarioFile
	source btfSource
	target func() (*loader.Target, error)
	opt    scenario.Options
	suite  report.Suite
	doc    *report.RunDocument
	err    error
}

func (a *app) testJobs(files []scenarioFile, sources []btfSource, opt scenario.Options) ([]*testJob, error) {
	var jobs []*testJob
	type lazy struct {
		target func() (*loader.Target, error)
		types  *kernel.Types
	}
	targets := make([]lazy, len(sources))
	for i, s := range sources {
		targets[i] = lazy{sync.OnceValues(func() (*loader.Target, error) { return a.target(s) }), kernel.NewTypes()}
	}
	for _, f := range files {
		for i, s := range sources {
			o := opt
			o.Types = targets[i].types
			jobs = append(jobs, &testJob{file: f, source: s, target: targets[i].target, opt: o, suite: report.Suite{File: f.Path, Target: s.name}})
		}
	}
	if len(sources) > 0 && sources[0].implied != "" && !a.told {
		a.told = true
		a.note("%s", sources[0].implied)
	}
	return jobs, nil
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
	target, err := j.target()
	if err != nil {
		return nil, err
	}
	if report.ByteOrderName(j.file.object.ByteOrder) == "big" {
		return nil, errBigEndian
	}
	return scenario.Open(j.file.File, j.file.object, target, j.opt)
}

var errBigEndian = errors.New("execution of big-endian programs is not simulated")

// run runs all runs of the job's file.
func (j *testJob) run(ctx context.Context, strict, document bool) {
	start := time.Now()
	defer func() { j.suite.Took = time.Since(start) }()
	r, err := j.open()
	if err != nil {
		j.suite.Err, j.suite.Exit = err, exitLoad
		if errors.Is(err, errBigEndian) {
			j.suite.Exit = exitNotSimulated
		}
		j.doc = &report.RunDocument{
			Schema: report.Schema, Exit: j.suite.Exit, Error: report.NewError(err), Object: j.file.object.Name, Scenario: j.file.Path, Programs: []report.Program{},
		}
		return
	}
	defer r.Close()
	if document {
		j.doc = report.NewRunDocument(r.Machine().Linked(), j.source.source)
		j.doc.Scenario = j.file.Path
	}
	_, err = r.All(ctx, func(res *scenario.Result) {
		j.suite.Cases = append(j.suite.Cases, report.NewTestCase(res))
		j.suite.Exit = worse(j.suite.Exit, report.ScenarioExit(res, strict))
		if document {
			j.doc.AddScenario(r.Machine(), res)
		}
	})
	if err != nil {
		j.err = usageError{err}
		return
	}
	if document {
		j.doc.Finish(r.Machine())
		j.doc.Exit = j.suite.Exit
	}
}
