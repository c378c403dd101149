package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bpfrun/bpfrun/debug"
	"github.com/bpfrun/bpfrun/internal/shell"
	"github.com/bpfrun/bpfrun/intest"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/report"
	"github.com/bpfrun/bpfrun/scenario"
)

// testJob is one scenario file, or the tests inside one object, on one target with one seed.
type testJob struct {
	file   chosenFile // its File is nil for an object's own tests
	source btfSource
	pool   *kernelPool
	kernel *pooledKernel // nil when it is not in use
	opt    scenario.Options
	seed   uint64
	runner *scenario.Runner // kept from the check, else nil
	ran    bool
	suite  report.Suite
	doc    *report.RunDocument
	err    error
}

// testSources are the kernels of each file. Those of a glob or directory that no object fits are left out.
func (c *testCommand) testSources(files []chosenFile) ([][]btfSource, error) {
	var orders []binary.ByteOrder
	for _, f := range files {
		if f.object != nil {
			orders = append(orders, f.object.ByteOrder)
		}
	}
	general, err := c.kernels.sources()
	if err != nil {
		return nil, err
	}
	general = c.kernels.fitting(general, orders...)
	out := make([][]btfSource, len(files))
	for i, f := range files {
		out[i] = general
		if f.File != nil && len(f.Kernels) > 0 && len(c.kernels.btf) == 0 {
			if out[i], err = c.kernels.sourcesFor(f.File); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// testJobs are the jobs of files on every target of theirs, those with different seeds next to each other.
func (c *testCommand) testJobs(files []chosenFile, sources [][]btfSource, opt scenario.Options, seeds int) []*testJob {
	var jobs []*testJob
	pool := newKernelPool(c.kernels.target)
	for n, f := range files {
		for _, s := range sources[n] {
			if s.implied != "" && c.kernels.told.CompareAndSwap(false, true) {
				c.note("%s", s.implied)
			}
			for step := range uint64(seeds) {
				o := opt
				o.SeedStep = step
				j := &testJob{file: f, source: s, pool: pool, opt: o, seed: o.Seed + step, suite: report.Suite{File: f.path, Target: s.Name}}
				if f.File != nil && f.Kernel.Seed != nil && !o.SeedWins {
					j.seed = *f.Kernel.Seed + step
				}
				jobs = append(jobs, j)
			}
		}
	}
	return jobs
}

// tests is how many tests the job has, as far as that is known before it runs.
func (j *testJob) tests() int {
	n := 0
	for _, u := range j.file.units {
		n += len(u.Runs())
	}
	return n
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

// byKernel is the order in which jobs are done: that of the files, unless there are more kernels than stay open. Then it is kernel by
// kernel, so that each is opened once.
func byKernel(jobs []*testJob) []*testJob {
	first := map[string]int{}
	for i, j := range jobs {
		if _, ok := first[j.source.Path]; !ok {
			first[j.source.Path] = i
		}
	}
	if len(first) <= idleKernels {
		return jobs
	}
	jobs = slices.Clone(jobs)
	slices.SortStableFunc(jobs, func(a, b *testJob) int { return first[a.source.Path] - first[b.source.Path] })
	return jobs
}

// keptRunners is how many jobs keep what their check has set up. Each holds the memory of a machine.
const keptRunners = 8

// checkJobs opens every job for its mistakes, and returns them with those that parsing found. What is the same on several targets is said once.
func checkJobs(ctx context.Context, jobs []*testJob, parsing error) error {
	jobs = byKernel(jobs)
	errs := make([]error, len(jobs))
	inParallel(ctx, len(jobs), func(i int) {
		j := jobs[i]
		if j.file.File == nil {
			_, errs[i] = j.target()
			j.letGo()
			return
		}
		if j.opt.SeedStep > 0 {
			return // its mistakes are those of the first seed
		}
		r, err := j.open()
		switch {
		case err == nil && len(jobs) <= keptRunners:
			j.runner = r
		case err == nil:
			r.Close()
			j.letGo()
		default:
			j.letGo()
		}
		errs[i] = err
	})
	var mistakes []error
	if parsing != nil {
		mistakes = append(mistakes, parsing)
	}
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
			for line := range strings.SplitSeq(err.Error(), "\n") {
				if seen[line] {
					continue
				}
				seen[line] = true
				if len(jobs) > 1 {
					line += fmt.Sprintf(" (on %s)", jobs[i].source.Name)
				}
				mistakes = append(mistakes, errors.New(line))
			}
		}
	}
	if len(mistakes) > 0 {
		for _, j := range jobs {
			j.close()
		}
		return usageError{errors.Join(mistakes...)}
	}
	return nil
}

// close gives back what the check kept.
func (j *testJob) close() {
	if j.runner != nil {
		j.runner.Close()
		j.runner = nil
	}
	j.letGo()
}

// target opens the job's kernel, which stays open until letGo.
func (j *testJob) target() (*loader.Target, error) {
	if j.kernel == nil {
		j.kernel = j.pool.use(j.source)
		j.opt.Types = j.kernel.types
	}
	return j.kernel.target()
}

// letGo means that the job does not use its kernel for now.
func (j *testJob) letGo() {
	if j.kernel != nil {
		j.pool.release(j.kernel)
		j.kernel, j.opt.Types = nil, nil
	}
}

func (j *testJob) open() (*scenario.Runner, error) {
	if r := j.runner; r != nil {
		j.runner = nil
		return r, nil
	}
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

// run runs the chosen runs of the job's file, or the tests of its object, until ctx ends. done is told of every test.
func (j *testJob) run(ctx context.Context, strict, document bool, done func(failed bool)) {
	start := time.Now()
	j.ran = true
	defer func() { j.suite.Took = time.Since(start); j.letGo() }()
	if j.file.File == nil {
		j.runObject(ctx, strict, document, done)
		return
	}
	r, err := j.open()
	if err != nil {
		j.fail(err)
		done(true)
		return
	}
	defer r.Close()
	if document {
		j.doc = report.NewRunDocument(r.Machine().Linked(), j.source.Path)
		j.doc.Scenario, j.doc.Seed = j.file.Path, &j.seed
	}
	_, err = r.Units(ctx, j.file.units, func(res *scenario.Result) {
		c := report.NewTestCase(res)
		if len(c.Failures) > 0 {
			c.Notes = append(append(c.Notes, inlineChain(j.file.File.Object, r.Machine().Linked(), res)...), j.debugLine(res.Run))
		}
		j.suite.Cases = append(j.suite.Cases, c)
		j.suite.Exit = worse(j.suite.Exit, report.ScenarioExit(res))
		if document {
			j.doc.AddScenario(r.Machine(), res)
		}
		done(!res.Passed())
	})
	if err != nil && ctx.Err() == nil {
		j.err = usageError{err}
		return
	}
	j.suite.Exit = worse(j.suite.Exit, j.suite.Hooks().Exit(strict))
	if document {
		j.doc.Finish(r.Machine())
		j.doc.Exit = j.suite.Exit
	}
}

// inlineChain is the line that says through which inlined functions a run came to its fault, or none: where the source line is one of a function
// that many programs call, it does not tell whose call it was.
func inlineChain(object string, linked *loader.Linked, res *scenario.Result) []string {
	if res.Result == nil || res.Fault == nil || res.Fault.Program == "" {
		return nil
	}
	elf, err := os.ReadFile(object)
	if err != nil {
		return nil
	}
	chain, err := debug.InlineChain(elf, linked, res.Fault.Program, res.Fault.Insn)
	if err != nil || len(chain) < 2 {
		return nil
	}
	at := func(f debug.Frame) string { return fmt.Sprintf("%s at %s:%d", f.Func, filepath.Base(f.File), f.Line) }
	text := "in " + at(chain[0])
	for _, f := range chain[1:] {
		text += ", inlined into " + at(f)
	}
	return []string{text}
}

// debugLine is the command that opens the debugger where a run begins.
func (j *testJob) debugLine(run *scenario.Run) string {
	line := "bpfrun debug " + shell.Quote(j.file.File.Object) + " -s " + shell.Quote(j.file.Path) + " -p " + shell.Quote(run.Name) + " --btf " + shell.Quote(j.source.Path)
	if j.opt.SeedWins || j.opt.SeedStep > 0 {
		line += fmt.Sprintf(" --seed %d", j.seed)
	}
	return line
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

// runObject runs the tests inside the job's object.
func (j *testJob) runObject(ctx context.Context, strict, document bool, done func(failed bool)) {
	if j.file.err != nil {
		j.fail(j.file.err)
		done(true)
		return
	}
	target, err := j.littleTarget()
	if err != nil {
		j.fail(err)
		done(true)
		return
	}
	cfg := j.opt.Config
	cfg.Seed += j.opt.SeedStep
	r, err := intest.Open(j.file.object, target, intest.Options{Config: cfg, Load: j.opt.Load, Judge: j.opt.Judge})
	if err != nil {
		j.fail(err)
		done(true)
		return
	}
	defer r.Close()
	results, err := r.All(ctx)
	if err != nil {
		return // interrupted
	}
	if document {
		j.doc = report.NewRunDocument(r.Machine().Linked(), j.source.Path)
		j.doc.Seed = &j.seed
	}
	for _, res := range results {
		if !j.file.tests(res.Test.Name) {
			continue // it ran for those after it
		}
		done(len(res.Failures) > 0)
		j.suite.Cases = append(j.suite.Cases, report.NewTestCaseOf(res))
		j.suite.Exit = worse(j.suite.Exit, res.Exit)
		if document {
			j.doc.AddTest(res)
		}
	}
	j.suite.Exit = worse(j.suite.Exit, j.suite.Hooks().Exit(strict))
	if document {
		j.doc.Exit = j.suite.Exit
	}
}
