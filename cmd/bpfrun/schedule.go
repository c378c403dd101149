package main

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/bpfrun/bpfrun/internal/exitcode"
	"github.com/bpfrun/bpfrun/kernel/sched"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/machine"
	"github.com/bpfrun/bpfrun/report"
	"github.com/bpfrun/bpfrun/schedule"
)

// schedulers returns the sched_ext schedulers to run: all of the object's, unless programs are named.
func (o runOptions) schedulers(obj *loader.Object) []string {
	if len(o.progs) > 0 || o.replays() {
		return nil
	}
	return schedule.Schedulers(obj)
}

// schedule runs each scheduler with the default tasks and returns the programs that are none of theirs.
func (c *runCommand) schedule(ctx context.Context, doc *report.RunDocument, m *machine.Machine, schedulers, names []string) ([]string, error) {
	if len(schedulers) > 0 && m.Kernel().CPUs() > sched.MaxCPUs {
		return nil, usagef("--cpus %d: a schedule has at most %d", m.Kernel().CPUs(), sched.MaxCPUs)
	}
	for _, ops := range schedulers {
		spec := schedule.Default(m.Kernel().CPUs())
		spec.Ops, spec.HZ = ops, int(m.Kernel().Clock().HZ)
		res, err := schedule.Run(ctx, m, spec)
		if err != nil {
			if ctx.Err() != nil {
				return nil, codeError{exitInterrupted, fmt.Errorf("interrupted in the schedule of %s", ops)}
			}
			return nil, usageError{err}
		}
		doc.AddSchedule("", res)
		for _, prog := range res.Progs {
			if status, _ := m.ProgramStatus(prog); status != "" {
				doc.SetStatus(prog, status)
			}
		}
		doc.Exit = exitcode.Worse(doc.Exit, report.ScheduleExitCode(res))
	}
	return slices.DeleteFunc(names, func(name string) bool {
		lp, ok := m.Linked().Program(name)
		return ok && len(schedulers) > 0 && machine.OfScheduler(lp)
	}), nil
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
