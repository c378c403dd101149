package testrun

import (
	"context"
	"errors"
	"fmt"

	"github.com/bpfrun/bpfrun/internal/exitcode"
	"github.com/bpfrun/bpfrun/scenario"
)

// keptRunners is how many jobs keep what their check has set up. Each holds the memory of a machine.
const keptRunners = 8

// Check opens every job for the mistakes in its file, and returns them with those that parsing the files found, by file and place. What is
// the same on several targets is said once. err is a target that cannot be used.
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

// check opens the job. With keep, what it has set up waits for the run.
func (j *Job) check(keep bool) error {
	if j.Scenario == nil {
		_, err := j.target()
		j.letGo()
		return err
	}
	if j.opt.SeedStep > 0 {
		return nil // its mistakes are those of the first seed
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

// Close gives back what [Check] kept for runs that will not be made.
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
