package play

import (
	"context"

	"github.com/bpfrun/bpfrun/internal/app/fuzz"
	"github.com/bpfrun/bpfrun/internal/app/pass"
	"github.com/bpfrun/bpfrun/internal/app/races"
	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/scenario"
	"github.com/bpfrun/bpfrun/loader"
)

// Limits of searches. Their budgets are numbers of runs and orders, not times: a page shows the
// same on every machine, and in WebAssembly no timer ends a computation.
const (
	maxRuns      = 200_000
	defaultRuns  = 2_000
	maxOrders    = 100_000
	defaultOrder = 500
	fuzzInsns    = 1_000_000 // of one run
	preemptions  = 2
)

// budget returns how much a message may search.
func budget(what string, asked, usual, most int) (int, error) {
	switch {
	case asked == 0:
		return usual, nil
	case asked < 0 || asked > most:
		return 0, &LimitError{What: what, Got: asked, Most: most}
	}
	return asked, nil
}

// only returns the programs that a message is about, nil for all.
func only(m *Message) []string {
	if m.Program == "" {
		return nil
	}
	return []string{m.Program}
}

// Fuzzed is the answer to fuzz.
type Fuzzed struct {
	*report.FuzzDocument
	// Scenarios are the files that show the findings, in their order.
	Scenarios []string `json:"scenarios"`
	Notes     []string `json:"notes"`
}

func (p *Player) fuzz(ctx context.Context, m *Message) (any, error) {
	runs, err := budget("runs", m.Runs, defaultRuns, maxRuns)
	if err != nil {
		return nil, err
	}
	o, err := p.object(m.Object)
	if err != nil {
		return nil, err
	}
	t, k, err := p.target(m.Kernel)
	if err != nil {
		return nil, err
	}
	if _, ok := o.Program(m.Program); m.Program != "" && !ok {
		return nil, unknownProgram(m)
	}
	cfg := p.machine(o)
	cfg.MaxInsns = fuzzInsns
	out := Fuzzed{Scenarios: []string{}, Notes: []string{}}
	opt := fuzz.Options{
		Programs: only(m), Runs: uint64(runs), Seed: 1, Workers: 1, Scenario: scenario.Options{Config: cfg, Verify: func(l *loader.Linked) func(*loader.LinkedProgram) loader.Verified {
			return pass.NewVerdicts(ctx, l, nil, m.Unverified).Verify
		}},
		Note: func(text string) { out.Notes = append(out.Notes, text) },
	}
	f, err := fuzz.New(ctx, o.Object, t, opt)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := f.Run(ctx)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	out.FuzzDocument = report.NewFuzzDocument(o.Object, report.NewTarget(t, k.Source), r)
	out.Seconds = 0 // it differs each time
	for i, x := range r.Findings {
		out.FuzzDocument.Findings[i].AfterSeconds = 0
		out.Scenarios = append(out.Scenarios, string(x.File()))
	}
	return out, nil
}

func (p *Player) race(ctx context.Context, m *Message) (any, error) {
	orders, err := budget("orders", m.Runs, defaultOrder, maxOrders)
	if err != nil {
		return nil, err
	}
	o, l, k, err := p.linked(m, loader.LoadOptions{})
	if err != nil {
		return nil, err
	}
	if _, ok := o.Program(m.Program); m.Program != "" && !ok {
		return nil, unknownProgram(m)
	}
	cfg := races.Machine(p.machine(o))
	cfg.Verify = pass.NewVerdicts(ctx, l, only(m), m.Unverified).Verify
	mm, err := machine.New(l, cfg)
	if err != nil {
		return nil, err
	}
	defer mm.Close()
	opt := races.Options{Programs: only(m), Preemptions: preemptions, Seed: 1, Orders: orders}
	doc := races.NewDocument(o.Object, report.NewTarget(l.Target, k.Source), opt)
	if err := races.Search(ctx, mm, cfg, doc, opt); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	doc.Seconds = 0 // it differs each time
	return doc, nil
}
