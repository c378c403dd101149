package pass

import (
	"context"

	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/find/search"
	"github.com/bpfrun/bpfrun/internal/machine"
)

// Search is how far a run may depart from the given input.
type Search struct {
	// Plain makes the one run with the given input alone.
	Plain bool
	// Alone makes that run and nothing that would have to run it again, such as an explanation.
	Alone bool
	// Unexplained asks not what kept the run from most of the program.
	Unexplained bool
	// Options bound the search.
	search.Options

	ran func(program string) // called after the run that the document has; may be nil
}

// added tells that the run that the machine has just made is in the document.
func (s Search) added(program string) {
	if s.ran != nil {
		s.ran(program)
	}
}

// Once runs a program and adds the run to the document: the one with the given input, or one with
// changed input that got further, which changed then reports. The run that is added tells what kept
// it from most of the program.
func Once(ctx context.Context, doc *report.RunDocument, m *machine.Machine, name string, in machine.Input, opt Search) (res *machine.Result, changed bool, err error) {
	again := !opt.Alone && !CallsBPF(m.Linked()) // no snapshot takes back what bpf(2) made
	if !again || opt.Plain {
		res, err = plainly(ctx, doc, m, name, in, again && !opt.Unexplained)
		if err == nil {
			opt.added(name)
		}
		return res, false, err
	}
	start := m.Snapshot()
	found, err := search.Furthest(ctx, m, name, in, opt.Options)
	if err != nil {
		return nil, false, err
	}
	doc.Add(m, found.Result)
	opt.added(name)
	if len(found.Changed) == 0 {
		if opt.Unexplained {
			return found.Result, false, nil
		}
		return found.Result, false, explain(ctx, doc, m, start, found, in)
	}
	reached := &report.Reached{Plain: report.Coverage(found.Plain)}
	for _, o := range found.Changed {
		reached.By = append(reached.By, o.String())
	}
	doc.Reached(name, reached)
	if err := explain(ctx, doc, m, start, found, in); err != nil {
		return nil, false, err
	}
	// The programs after it see what the plain run left.
	m.Restore(start)
	_, err = m.Run(ctx, name, in)
	return found.Result, true, err
}

// plainly makes one run with the given input. If again is true, it may be repeated to explain it.
func plainly(ctx context.Context, doc *report.RunDocument, m *machine.Machine, name string, in machine.Input, again bool) (*machine.Result, error) {
	if !again {
		res, err := m.Run(ctx, name, in)
		if err == nil {
			doc.Add(m, res)
		}
		return res, err
	}
	start := m.Snapshot()
	res, err := m.Run(ctx, name, in)
	if err != nil {
		return nil, err
	}
	doc.Add(m, res)
	return res, explain(ctx, doc, m, start, &search.Found{Result: res}, in)
}

// explain adds to a run that executed less than half of its program which branch decided that.
// start is the state in which the run began. The machine is left as it is.
func explain(ctx context.Context, doc *report.RunDocument, m *machine.Machine, start *machine.Snapshot, found *search.Found, in machine.Input) error {
	res := found.Result
	if !res.Ran || res.Fault != nil || 2*res.Coverage.Executed >= res.Coverage.Reachable {
		return nil
	}
	if found.Stop == nil && len(found.Changed) == 0 {
		after := m.Snapshot()
		m.Restore(start)
		stop, ok, err := search.Explain(ctx, m, res, in)
		m.Restore(after)
		if err != nil {
			return err
		}
		if ok {
			found.Stop = &stop
		}
	}
	if found.Stop != nil {
		doc.Explain(res.Program, found.Stop.Lines())
	}
	return nil
}
