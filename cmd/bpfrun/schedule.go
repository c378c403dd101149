package main

import (
	"context"
	"os"
	"slices"

	"github.com/bpfrun/bpfrun/internal/app/pass"
	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/subsys/sched"
	"github.com/bpfrun/bpfrun/internal/subsys/sched/schedule"
	"github.com/bpfrun/bpfrun/loader"
)

// schedulers returns the sched_ext schedulers to run: all of the object's, unless programs are
// named.
func (o runOptions) schedulers(obj *loader.Object) []string {
	if len(o.progs) > 0 || o.replays() {
		return nil
	}
	return schedule.Schedulers(obj)
}

// schedule runs each scheduler with the default tasks and returns the programs that are none of
// theirs.
func (c *runCommand) schedule(ctx context.Context, doc *report.RunDocument, m *machine.Machine, schedulers, names []string) ([]string, error) {
	if len(schedulers) > 0 && m.Kernel().CPUs() > sched.MaxCPUs {
		return nil, usagef("--cpus %d: a schedule has at most %d", m.Kernel().CPUs(), sched.MaxCPUs)
	}
	others, err := pass.Schedule(ctx, doc, m, schedulers, names)
	if err != nil {
		return nil, passError(err)
	}
	return others, nil
}

// writeTrace writes the file of --trace-out.
func (o runOptions) writeTrace(docs []*report.RunDocument) error {
	if o.traceOut == "" {
		return nil
	}
	if !slices.ContainsFunc(docs, func(d *report.RunDocument) bool { return len(d.Schedules) > 0 }) {
		return usagef("--trace-out: there is no schedule to write: the object has no sched_ext scheduler, or no run of the scenario has sched:")
	}
	f, err := os.Create(o.traceOut)
	if err != nil {
		return usageError{err}
	}
	if err := report.WriteScheduleTrace(f, docs); err != nil {
		_ = f.Close()
		return usageError{err}
	}
	return f.Close()
}
