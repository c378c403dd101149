package main

import (
	"context"
	"errors"
	"strings"

	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/machine"
)

// runChain runs the programs of one hook on one event, and adds their results and the hook's
// verdict to the document.
func runChain(ctx context.Context, doc *report.RunDocument, m *machine.Machine, names []string, in machine.Input) error {
	chained, err := m.RunChain(ctx, names, in, nil)
	switch {
	case errors.Is(err, context.Canceled):
		return codeError{exitInterrupted, errors.New("interrupted while running " + strings.Join(names, ", "))}
	case err != nil:
		return usagef("--chain: %w (choose programs with -p)", err)
	}
	for _, res := range chained.Results {
		doc.Add(m, res)
	}
	doc.Chain = &report.Chain{Verdict: chained.Verdict, NotRun: append([]string{}, chained.NotRun...), Broken: chained.Broken}
	return nil
}
