package main

import (
	"os"

	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/subsys/sched/schedule"
)

// writeTrace writes the file of --trace-out.
func (o runOptions) writeTrace(docs []*report.RunDocument) error {
	if o.traceOut == "" {
		return nil
	}
	var schedules []*schedule.Schedule
	for _, d := range docs {
		for i := range d.Schedules {
			schedules = append(schedules, &d.Schedules[i])
		}
	}
	if len(schedules) == 0 {
		return usagef("--trace-out: there is no schedule to write: the object has no sched_ext scheduler, or no run of the scenario has sched:")
	}
	f, err := os.Create(o.traceOut)
	if err != nil {
		return usageError{err}
	}
	if err := schedule.WriteTrace(f, schedules); err != nil {
		_ = f.Close()
		return usageError{err}
	}
	return f.Close()
}
