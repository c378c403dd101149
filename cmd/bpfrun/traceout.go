package main

import (
	"bytes"
	"os"

	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/subsys"
	"github.com/bpfrun/bpfrun/internal/subsys/show"
)

// writeTrace writes the file of --trace-out.
func (o runOptions) writeTrace(docs []*report.RunDocument) error {
	if o.traceOut == "" {
		return nil
	}
	var all []show.Document
	for _, d := range docs {
		all = append(all, d.Simulations.All()...)
	}
	for _, s := range subsys.Systems() {
		if s.Trace == nil {
			continue
		}
		var b bytes.Buffer
		n, err := s.Trace(&b, all)
		if err == nil && n > 0 {
			err = os.WriteFile(o.traceOut, b.Bytes(), 0o666)
		}
		switch {
		case err != nil:
			return usageError{err}
		case n > 0:
			return nil
		}
	}
	return usagef("--trace-out needs a schedule: an object with a sched_ext scheduler or, with -s, a run that has sched:")
}
