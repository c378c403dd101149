package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/bpfrun/bpfrun/internal/exitcode"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/machine"
	"github.com/bpfrun/bpfrun/report"
	"github.com/bpfrun/bpfrun/traffic"
)

// disciplines returns the queueing disciplines to run: all of the object's, unless programs are named.
func (o runOptions) disciplines(obj *loader.Object) []string {
	if len(o.progs) > 0 || o.replays() {
		return nil
	}
	return traffic.Disciplines(obj)
}

// traffic lets the default traffic pass through each discipline and returns the programs that are none of theirs.
func (c *runCommand) traffic(ctx context.Context, doc *report.RunDocument, m *machine.Machine, disciplines, names []string) ([]string, error) {
	for _, ops := range disciplines {
		spec := traffic.Default()
		spec.Ops = ops
		res, err := traffic.Run(ctx, m, spec)
		if err != nil {
			if ctx.Err() != nil {
				return nil, codeError{exitInterrupted, fmt.Errorf("interrupted in the traffic of %s", ops)}
			}
			return nil, usageError{err}
		}
		doc.AddTraffic("", res)
		for _, prog := range res.Progs {
			if status, _ := m.ProgramStatus(prog); status != "" {
				doc.SetStatus(prog, status)
			}
		}
		doc.Exit = exitcode.Worse(doc.Exit, report.TrafficExitCode(res))
	}
	return slices.DeleteFunc(names, func(name string) bool {
		lp, ok := m.Linked().Program(name)
		return ok && len(disciplines) > 0 && machine.OfQdisc(lp)
	}), nil
}
