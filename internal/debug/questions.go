package debug

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/loader"
)

// mostExplained is the number of runs without effect that are explained: each is executed again.
const mostExplained = 16

// Questions collects runs whose branches are to be explained, with the state each began in, and
// answers them later.
type Questions struct {
	Place string   // a location that a run did not reach, as [Session.Locate] takes it; "" for runs without effect
	Off   bool     // nothing is asked, for example because repeated runs would be counted
	Flags []string // of `bpfrun run`, that change the outcome; set by [Questions.Answer]

	all []question
}

type question struct {
	prog  string
	began *machine.Snapshot
}

// Ask records the state before a run if its branches may have to be explained: if a place is given,
// or for programs whose return value is ignored. Otherwise it returns nil.
func (q *Questions) Ask(m *machine.Machine, lp *loader.LinkedProgram) *machine.Snapshot {
	switch {
	case q.Off || len(q.all) >= mostExplained:
		return nil
	case q.Place == "" && (lp == nil || progtype.Of(lp.Type).Vocabulary != progtype.NoVocabulary):
		return nil
	}
	return m.Snapshot()
}

// Add keeps the question if the run needs explaining; began is the result of [Questions.Ask] before
// the run.
func (q *Questions) Add(began *machine.Snapshot, res *machine.Result) {
	if began != nil && (q.Place != "" && res.Ran || didNothing(res)) {
		q.all = append(q.all, question{res.Program, began})
	}
}

// didNothing reports whether a run ended without a fault and without effects.
func didNothing(res *machine.Result) bool {
	return res.Ran && res.Fault == nil && len(res.Events)+len(res.Effects)+len(res.Changes)+len(res.Trace)+len(res.Writes)+len(res.Output) == 0
}

// Answer explains the collected runs. It leaves the machine in an unspecified state. The error is
// the context's, or that of a place that cannot be found.
func (q *Questions) Answer(ctx context.Context, m *machine.Machine, cfg machine.Config, in machine.Input, explain func(prog string, lines []string)) error {
	reached := false
	for _, x := range q.all {
		lines, err := q.one(ctx, m, cfg, in, x)
		switch {
		case err == nil:
			explain(x.prog, lines)
		case errors.Is(err, ErrReached) && q.Place != "":
			reached = true
			explain(x.prog, []string{q.Place + ": " + err.Error()})
		case ctx.Err() != nil:
			return fmt.Errorf("the run of %s: %w", x.prog, ctx.Err())
		case q.Place != "" && !errors.Is(err, ErrNoDecision):
			return err
		case q.Place != "" && !reached:
			explain(x.prog, []string{q.Place + ": no branch of this run decides whether it is reached"})
		}
	}
	return nil
}

func (q *Questions) one(ctx context.Context, m *machine.Machine, cfg machine.Config, in machine.Input, x question) ([]string, error) {
	m.Restore(x.began)
	s, err := NewOn(Target{Machine: m}, Config{Machine: cfg, Input: in})
	if err != nil {
		return nil, err
	}
	if _, err := s.StartContext(ctx, x.prog); err != nil {
		return nil, err
	}
	goal := HasEffect
	if q.Place != "" {
		places, _, err := s.Locate(q.Place)
		if err != nil {
			return nil, err
		}
		goal = func(p Place) bool { return slices.Contains(places, p) }
	}
	d, err := s.WhyNot(ctx, goal)
	if err != nil {
		return nil, err
	}
	for _, flag := range d.Flags() {
		if !slices.Contains(q.Flags, flag) {
			q.Flags = append(q.Flags, flag)
		}
	}
	return d.Lines(), nil
}
