package testrun

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/debug"
	"github.com/bpfrun/bpfrun/internal/exitcode"
	"github.com/bpfrun/bpfrun/internal/intest"
	"github.com/bpfrun/bpfrun/internal/kernels"
	"github.com/bpfrun/bpfrun/internal/scenario"
	"github.com/bpfrun/bpfrun/internal/shell"
	"github.com/bpfrun/bpfrun/loader"
)

// Job is one scenario file, or the tests inside one object, on one target with one seed.
type Job struct {
	Chosen
	Source  kernels.Source
	profile *report.RunProfile // nil without one
	Seed    uint64
	Ran     bool
	Suite   report.Suite
	Doc     *report.RunDocument // the result, if [RunOptions.Document] is set
	Err     error               // a mistake in the file that only running it reveals

	pool   *pool
	kernel *pooled // nil while the job does not use it
	opt    scenario.Options
	runner *scenario.Runner // kept from the check, or nil
	whole  bool             // it was not interrupted
	known  bool             // the result is that of an earlier run
}

// Known gives the job the result of an earlier run with the same input, in which all tests passed:
// it is neither checked nor run.
func (j *Job) Known(cases []report.TestCase) { j.known, j.Suite.Cases = true, cases }

// Passed reports whether the job ran to its end in this process and all tests passed.
func (j *Job) Passed() bool {
	return j.Ran && !j.known && j.whole && j.Err == nil && j.Suite.Err == nil && j.Suite.Exit == exitcode.OK
}

// Verify is as in [scenario.Options].
type Verify = func(*loader.Linked) func(*loader.LinkedProgram) loader.Verified

// Plan is the configuration that all jobs share.
type Plan struct {
	// Open opens a kernel. An [exitcode.Coded] error ends the command; any other error fails only
	// the job.
	Open    func(kernels.Source) (*loader.Target, error)
	Options scenario.Options
	Seeds   int // seeds per file and target
	// Profile counts the instructions of each line; the documents have the counts.
	Profile bool
	// Verify makes the function that verifies the programs of tests on one kernel. If it is nil, no
	// program is verified.
	Verify func() Verify
}

// Jobs returns the jobs for each file on each of its targets, with the seeds of a target next to
// each other. sources[i] are the targets of files[i].
func Jobs(files []Chosen, sources [][]kernels.Source, plan Plan) []*Job {
	var jobs []*Job
	pool := newPool(plan.Open, plan.Verify)
	for n, f := range files {
		for _, s := range sources[n] {
			for step := range uint64(plan.Seeds) {
				o := plan.Options
				o.SeedStep = step
				var counts *report.RunProfile
				if plan.Profile {
					counts = &report.RunProfile{}
					o.Trace = counts
				}
				j := &Job{Chosen: f, Source: s, pool: pool, opt: o, profile: counts, Seed: o.Seed + step, Suite: report.Suite{File: f.Path, Target: s.Name}}
				if f.Scenario != nil && f.Scenario.Kernel.Seed != nil && !o.SeedWins {
					j.Seed = *f.Scenario.Kernel.Seed + step
				}
				jobs = append(jobs, j)
			}
		}
	}
	return jobs
}

// Count returns the number of the job's tests, as far as it is known before the job runs.
func (j *Job) Count() int {
	if j.known {
		return len(j.Suite.Cases)
	}
	n := 0
	for _, u := range j.Units {
		n += len(u.Runs())
	}
	return n
}

// close releases what the check kept.
func (j *Job) close() {
	if j.runner != nil {
		j.runner.Close()
		j.runner = nil
	}
	j.letGo()
}

// target opens the job's kernel, which stays open until letGo is called.
func (j *Job) target() (*loader.Target, error) {
	if j.kernel == nil {
		j.kernel = j.pool.use(j.Source)
		j.opt.Types, j.opt.Verify = j.kernel.types, j.kernel.verify
	}
	return j.kernel.target()
}

// letGo returns the job's kernel to the pool.
func (j *Job) letGo() {
	if j.kernel != nil {
		j.pool.release(j.kernel)
		j.kernel, j.opt.Types, j.opt.Verify = nil, nil, nil
	}
}

func (j *Job) open() (*scenario.Runner, error) {
	if r := j.runner; r != nil {
		j.runner = nil
		return r, nil
	}
	target, err := j.target()
	if err != nil {
		return nil, err
	}
	return scenario.Open(j.Scenario, j.Object, target, j.opt)
}

// RunOptions configures a run of jobs.
type RunOptions struct {
	Strict   bool
	Document bool              // also build the JSON documents
	Done     func(failed bool) // called after every test
}

// run executes the selected runs of the job's file, or the tests of its object, until ctx ends.
func (j *Job) run(ctx context.Context, o RunOptions) {
	start := time.Now()
	j.Ran = true
	if j.known {
		for range j.Suite.Cases {
			o.Done(false)
		}
		return
	}
	defer func() { j.Suite.Took = time.Since(start); j.letGo() }()
	ok := false
	if j.Scenario != nil {
		ok = j.runScenario(ctx, o)
	} else {
		ok = j.runObject(ctx, o)
	}
	if !ok {
		return
	}
	j.worse(j.Suite.Hooks().Exit(o.Strict))
	if o.Document {
		j.Doc.Exit = j.Suite.Exit
		j.Doc.Profile(j.profile)
	}
	j.whole = ctx.Err() == nil
}

func (j *Job) worse(code int) { j.Suite.Exit = exitcode.Worse(j.Suite.Exit, code) }

func (j *Job) runScenario(ctx context.Context, o RunOptions) bool {
	r, err := j.open()
	if err != nil {
		j.fail(err)
		o.Done(true)
		return false
	}
	defer r.Close()
	if o.Document {
		j.Doc = report.NewRunDocument(r.Machine().Linked(), j.Source.Path)
		j.Doc.Scenario, j.Doc.Seed = j.Path, &j.Seed
	}
	_, err = r.Units(ctx, j.Units, func(res *scenario.Result) {
		c := report.NewTestCase(res)
		if len(c.Failures) > 0 {
			c.Notes = append(c.Notes, inlineChain(j.Scenario.Object, r.Machine().Linked(), res)...)
			c.Debug = j.debugLine(res.Run)
		}
		if res.Result != nil {
			c.Histograms = report.ChangedHistograms(r.Machine().Linked(), res.Program, res.Changes)
		}
		j.Suite.Cases = append(j.Suite.Cases, c)
		j.worse(report.ScenarioExit(res))
		if o.Document {
			j.Doc.AddScenario(r.Machine(), res)
		}
		o.Done(!res.Passed())
	})
	if err != nil && ctx.Err() == nil {
		j.Err = err
		return false
	}
	if o.Document {
		j.Doc.Finish(r.Machine())
	}
	return true
}

// runObject runs the tests inside the job's object.
func (j *Job) runObject(ctx context.Context, o RunOptions) bool {
	r, err := j.openObject()
	if err != nil {
		j.fail(err)
		o.Done(true)
		return false
	}
	defer r.Close()
	results, err := r.All(ctx)
	if err != nil {
		return false // interrupted
	}
	if o.Document {
		j.Doc = report.NewRunDocument(r.Machine().Linked(), j.Source.Path)
		j.Doc.Seed = &j.Seed
	}
	for _, res := range results {
		if !j.Tests(res.Test.Name) {
			continue // it ran only because later tests need it
		}
		o.Done(len(res.Failures) > 0)
		j.Suite.Cases = append(j.Suite.Cases, report.NewTestCaseOf(res))
		j.worse(res.Exit)
		if o.Document {
			j.Doc.AddTest(res)
		}
	}
	return true
}

func (j *Job) openObject() (*intest.Runner, error) {
	if j.Input.Err != nil {
		return nil, j.Input.Err
	}
	target, err := j.target()
	if err != nil {
		return nil, err
	}
	cfg := j.opt.Config
	cfg.Seed += j.opt.SeedStep
	return intest.Open(j.Object, target, intest.Options{Config: cfg, Load: j.opt.Load, Verify: j.opt.Verify, Trace: j.opt.Trace})
}

// fail records that the job's object cannot be used.
func (j *Job) fail(err error) {
	j.Suite.Err, j.Suite.Exit = err, exitcode.Load
	if code, ok := exitcode.Of(err); ok {
		j.Suite.Exit = code
	}
	j.Doc = &report.RunDocument{
		Schema: report.Schema, Exit: j.Suite.Exit, Error: report.NewError(err), Object: j.Suite.File, Programs: []report.Program{},
	}
	if j.Scenario != nil {
		j.Doc.Object, j.Doc.Scenario = j.Object.Name, j.Path
	}
}

// inlineChain returns a line with the chain of inlined calls that led to the fault, or none. When
// many programs call the function with the faulting line, the chain shows which call it was.
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

// debugLine returns the command that opens the debugger at the start of a run.
func (j *Job) debugLine(run *scenario.Run) string {
	line := "bpfrun debug " + shell.Quote(j.Scenario.Object) + " -s " + shell.Quote(j.Path) + " -p " + shell.Quote(run.Name) + " --btf " + shell.Quote(j.Source.Path)
	if j.opt.SeedWins || j.opt.SeedStep > 0 {
		line += fmt.Sprintf(" --seed %d", j.Seed)
	}
	return line
}
