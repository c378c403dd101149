package testrun

import (
	"context"
	"errors"
	"fmt"

	"github.com/bpfrun/bpfrun/internal/exitcode"
	"github.com/bpfrun/bpfrun/scenario"
)

// keptRunners is the number of jobs that keep the runner of their check. Each holds a machine's memory.
const keptRunners = 8

// Check opens every job to find mistakes in its file. mistakes joins them with those found by parsing, sorted by file and position; one found
// on several targets is reported once. err means that a target cannot be used.
func Check(ctx context.Context, jobs []*Job, parsing error) (mistakes, err error) {
	jobs = byKernel(jobs)
	errs := make([]error, len(jobs))
	InParallel(ctx, len(jobs), func(i int) { errs[i] = jobs[i].check(len(jobs) <= keptRunners) })
	found := newMistakeList(parsing)
	for i, err := range errs {
		if _, ok := exitcode.Of(err); ok {
			return nil, err
		}
		var mistake *scenario.Error
		if !errors.As(err, &mistake) {
			continue
		}
		on := ""
		if len(jobs) > 1 {
			on = fmt.Sprintf(" (on %s)", jobs[i].Source.Name)
		}
		found.add(err, on)
	}
	return found.err(), nil
}

// check opens the job. With keep, the runner is kept for the run.
func (j *Job) check(keep bool) error {
	if j.Scenario == nil {
		_, err := j.target()
		j.letGo()
		return err
	}
	if j.opt.SeedStep > 0 {
		return nil // the first seed reports the mistakes
	}
	r, err := j.open()
	switch {
	case err == nil && keep:
		j.runner = r
		return nil
	case err == nil:
		r.Close()
	}
	j.letGo()
	return err
}

// Close releases what [Check] kept, for jobs that will not run.
func Close(jobs []*Job) {
	for _, j := range jobs {
		j.close()
	}
}

// Run runs jobs until ctx ends.
func Run(ctx context.Context, jobs []*Job, o RunOptions) {
	order := byKernel(jobs)
	InParallel(ctx, len(order), func(i int) { order[i].run(ctx, o) })
}
