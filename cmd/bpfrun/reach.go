package main

import (
	"context"

	"github.com/bpfrun/bpfrun/machine"
	"github.com/bpfrun/bpfrun/report"
	"github.com/bpfrun/bpfrun/search"
)

// once runs a program and adds the run to the document.
func (o runOptions) once(ctx context.Context, doc *report.RunDocument, m *machine.Machine, name string, in machine.Input) (*machine.Result, error) {
	if o.reach {
		return reached(ctx, doc, m, name, in)
	}
	res, err := m.Run(ctx, name, in)
	if err == nil {
		doc.Add(m, res)
	}
	return res, err
}

// reached runs a program with changed inputs, and adds the run that got furthest. If inputs were changed, the machine
// is left as the plain run leaves it, so that the programs after it do not see them.
func reached(ctx context.Context, doc *report.RunDocument, m *machine.Machine, name string, in machine.Input) (*machine.Result, error) {
	start := m.Snapshot()
	found, err := search.Furthest(ctx, m, name, in, search.Options{})
	if err != nil {
		return nil, err
	}
	doc.Add(m, found.Result)
	if len(found.Changed) == 0 {
		return found.Result, nil
	}
	var inputs []string
	for _, o := range found.Changed {
		inputs = append(inputs, o.String())
	}
	doc.Changed(name, inputs)
	m.Restore(start)
	_, err = m.Run(ctx, name, in)
	return found.Result, err
}
