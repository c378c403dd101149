package pass

import (
	"context"
	"errors"
	"slices"

	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/debug"
	"github.com/bpfrun/bpfrun/internal/exitcode"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/subsys"
	"github.com/bpfrun/bpfrun/loader"
)

// Options of a pass.
type Options struct {
	Machine machine.Config
	// Input is that of each program.
	Input machine.Input
	// Unverified runs programs that the target's verifier would refuse.
	Unverified bool
	// Search changes inputs; with its zero value as the command does.
	Search Search
	// Ran is called when a program's run has been added to the document, before the machine goes
	// on; it may be nil.
	Ran func(m *machine.Machine, program string)
	// Note receives remarks about what programs load; it may be nil.
	Note func(text string)
}

// Run runs the programs of a linked object in the order in which the kernel would, on one machine,
// and returns the document. source names where the kernel's types are from. The error is that of an
// input that programs do not take, or an [*Interrupted]; what is wrong with the object is in the
// document.
func Run(ctx context.Context, linked *loader.Linked, source string, opt Options) (*report.RunDocument, error) {
	doc := report.NewRunDocument(linked, source)
	verdicts := NewVerdicts(ctx, linked, nil, opt.Unverified)
	cfg := opt.Machine
	cfg.Verify, cfg.Simulates = verdicts.Verify, subsys.Simulates(linked.Object)
	m, err := machine.New(linked, cfg)
	verdicts.AddTo(doc, opt.Unverified)
	if err != nil {
		doc.Fail(err)
		doc.Exit = exitcode.Load
		return doc, nil
	}
	defer m.Close()
	note := opt.Note
	if note == nil {
		note = func(string) {}
	}
	drop, err := ServeBPF(linked, m, cfg, note)
	if err != nil {
		return nil, err
	}
	defer drop()
	if ctx.Err() != nil {
		return nil, &Interrupted{While: "while verifying programs"}
	}
	names := linked.KernelOrder(m.Names())
	if names, err = Wholes(ctx, doc, m, names); err != nil {
		return nil, err
	}
	if names, err = Together(ctx, doc, m, names); err != nil {
		return nil, err
	}
	search := opt.Search
	if opt.Ran != nil {
		search.ran = func(program string) { opt.Ran(m, program) }
	}
	why := debug.Questions{}
	for _, name := range names {
		lp, _ := linked.Program(name)
		began := why.Ask(m, lp)
		res, changed, err := Once(ctx, doc, m, name, opt.Input, search)
		switch {
		case errors.Is(err, context.Canceled) || ctx.Err() != nil:
			return nil, &Interrupted{While: "while running " + name}
		case err != nil:
			return nil, err
		case !changed:
			why.Add(began, res)
		}
	}
	if opt.Ran != nil { // programs of wholes ran without being named
		for _, name := range m.Names() {
			if !slices.Contains(names, name) {
				opt.Ran(m, name)
			}
		}
	}
	doc.Finish(m)
	doc.AddMaps(m)
	doc.Exit = exitcode.Worse(doc.Exit, report.RunExit(doc, false, cfg.Strict))
	if err := why.Answer(ctx, m, cfg, opt.Input, doc.Explain); err != nil {
		return nil, interrupted(ctx, err, "while runs were explained")
	}
	return doc, nil
}
