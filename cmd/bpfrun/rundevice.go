package main

import (
	"context"

	"github.com/bpfrun/bpfrun/internal/app/pass"
	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/machine"
)

// runDevice runs those of the named programs that belong to a HID device, and returns the others.
// Options that are about single runs leave the programs to run alone.
func (c *runCommand) runDevice(ctx context.Context, doc *report.RunDocument, m *machine.Machine, names []string) ([]string, error) {
	if c.repeat > 1 || c.trace || c.whyNot != "" || c.ctx != "" {
		return names, nil
	}
	others, err := pass.Device(ctx, doc, m, names)
	if err != nil {
		return nil, passError(err)
	}
	return others, nil
}
