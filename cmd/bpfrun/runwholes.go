package main

import (
	"context"

	"github.com/bpfrun/bpfrun/internal/app/pass"
	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/subsys"
)

// runWholes runs what the object has of subsystems whose programs cannot run alone, and returns the
// named programs that belong to none of them.
func runWholes(ctx context.Context, doc *report.RunDocument, m *machine.Machine, names []string) ([]string, error) {
	for _, s := range subsys.Systems() {
		if s.Kind == nil || len(s.Kind.Names(m.Linked().Object)) == 0 {
			continue
		}
		if err := s.Fits(m); err != nil {
			return nil, usageError{err}
		}
	}
	others, err := pass.Wholes(ctx, doc, m, names)
	if err != nil {
		return nil, passError(err)
	}
	return others, nil
}

// runTogether runs those of the named programs that belong to a whole, such as a HID device, though
// they may also run alone, and returns the others. Options that are about single runs leave the
// programs to run alone.
func (c *runCommand) runTogether(ctx context.Context, doc *report.RunDocument, m *machine.Machine, names []string) ([]string, error) {
	if c.repeat > 1 || c.trace || c.whyNot != "" || c.ctx != "" {
		return names, nil
	}
	others, err := pass.Together(ctx, doc, m, names)
	if err != nil {
		return nil, passError(err)
	}
	return others, nil
}
