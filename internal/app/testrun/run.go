package testrun

import (
	"context"
	"errors"
	"fmt"

	"github.com/bpfrun/bpfrun/internal/exitcode"
	"github.com/bpfrun/bpfrun/internal/scenario"
)

// keptMemory is how much memory, in bytes, the runners take that jobs keep from their check until
// they run: the rest of the jobs link their objects a second time. A runner has its machine's
// memory and keptRunner bytes of its own.
const (
	keptMemory = 64 << 20
	keptRunner = 256 << 10
)

// Check opens every job to find mistakes in its file, and adds them to those that parsing found, by
// path. It returns the jobs of the files without mistakes; it has closed the others. A mistake
// found on several targets is reported once. err means that a target cannot be used.
func Check(ctx context.Context, all []*Job, parsing map[string]error) (good []*Job, mistakes *Mistakes, err error) {
	jobs := byKernel(all)
	errs := make([]error, len(jobs))
	keep := kernelsOf(jobs) <= idleKernels
	InParallel(ctx, len(jobs), func(i int) { errs[i] = jobs[i].check(keep) })
	mistakes = NewMistakes(parsing)
	for i, err := range errs {
		if _, ok := exitcode.Of(err); ok {
			return nil, nil, err
		}
		var mistake *scenario.Error
		if !errors.As(err, &mistake) {
			continue
		}
		on := ""
		if len(jobs) > 1 {
			on = fmt.Sprintf(" (on %s)", jobs[i].Source.Name)
		}
		mistakes.add(jobs[i].Path, err, on)
	}
	for _, j := range all {
		if mistakes.Of(j.Path) == nil {
			good = append(good, j)
		} else {
			j.close()
		}
	}
	return good, mistakes, nil
}

// check opens the job. With keep, the runner is kept for the run, and its kernel open, within the
// limits.
func (j *Job) check(keep bool) error {
	if j.known {
		return nil
	}
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
	case err == nil && keep && j.pool.keep(r):
		j.runner = r
		return nil
	case err == nil:
		r.Close()
	}
	j.letGo()
	return err
}

// Run runs jobs until ctx ends.
func Run(ctx context.Context, jobs []*Job, o RunOptions) {
	order := byKernel(jobs)
	InParallel(ctx, len(order), func(i int) { order[i].run(ctx, o) })
}
