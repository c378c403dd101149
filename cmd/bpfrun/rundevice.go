package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bpfrun/bpfrun/device"
	"github.com/bpfrun/bpfrun/machine"
	"github.com/bpfrun/bpfrun/report"
)

// runDevice runs those of the named programs that belong to a HID device, on a default device, and returns the others.
// Options that are about single runs leave the programs to run alone.
func (c *runCommand) runDevice(ctx context.Context, doc *report.RunDocument, m *machine.Machine, names []string) ([]string, error) {
	its := device.Programs(m.Linked())
	can := slices.ContainsFunc(its, func(p string) bool { _, ok := m.Entry(p); return ok && slices.Contains(names, p) })
	if !can || c.repeat > 1 || c.trace || c.whyNot != "" || c.ctx != "" {
		return names, nil
	}
	h, err := device.Default(ctx, m)
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return nil, codeError{exitInterrupted, errors.New("interrupted while running programs of a HID device")}
		}
		return nil, fmt.Errorf("programs of a HID device: %w", err)
	}
	ran := map[string]bool{}
	for _, res := range h.Results {
		ran[res.Program] = true
		if slices.Contains(names, res.Program) {
			doc.Add(m, res)
		}
	}
	doc.AddHID("", h)
	return slices.DeleteFunc(slices.Clone(names), func(p string) bool { return ran[p] }), nil
}
