package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/debug"
	"github.com/bpfrun/bpfrun/internal/shell"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/machine"
	"github.com/bpfrun/bpfrun/progtype"
	"github.com/bpfrun/bpfrun/report"
)

// mostExplained is how many programs of an object are explained that did nothing: each is executed again.
const mostExplained = 16

// questions collects runs whose branches are to be explained, with the state each began in.
type questions struct {
	place string // --why-not, "" for programs that did nothing
	all   []question
	flags []string // that change what decided

	covered bool // what is executed again would count as covered
}

type question struct {
	prog  string
	began *machine.Snapshot
}

// ask records the state before a run if its branches may have to be explained: with --why-not, or of programs whose return value nobody
// looks at.
func (q *questions) ask(m *machine.Machine, lp *loader.LinkedProgram, o *runOptions) *machine.Snapshot {
	switch {
	case q.covered || o.repeat > 1 || o.trace || len(q.all) >= mostExplained:
		return nil
	case q.place == "" && (lp == nil || progtype.Of(lp.Type).Vocabulary != progtype.NoVocabulary):
		return nil
	}
	return m.Snapshot()
}

// add keeps the question if the run gives reason to.
func (q *questions) add(began *machine.Snapshot, res *machine.Result) {
	if began != nil && (q.place != "" && res.Ran || didNothing(res)) {
		q.all = append(q.all, question{res.Program, began})
	}
}

// didNothing reports whether a run ended well and nothing of it is left.
func didNothing(res *machine.Result) bool {
	return res.Ran && res.Fault == nil && len(res.Events)+len(res.Effects)+len(res.Changes)+len(res.Trace)+len(res.Writes)+len(res.Output) == 0
}

// answer explains the runs, and leaves the machine in some state.
func (q *questions) answer(ctx context.Context, m *machine.Machine, cfg machine.Config, in machine.Input, doc *report.RunDocument) error {
	reached := false
	for _, x := range q.all {
		lines, err := q.one(ctx, m, cfg, in, x)
		switch {
		case err == nil:
			doc.Explain(x.prog, lines)
		case errors.Is(err, debug.ErrReached) && q.place != "":
			reached = true
			doc.Explain(x.prog, []string{q.place + ": " + err.Error()})
		case ctx.Err() != nil:
			return codeError{exitInterrupted, fmt.Errorf("interrupted while the run of %s was explained", x.prog)}
		case q.place != "" && !errors.Is(err, debug.ErrNoDecision):
			return usagef("--why-not: %v", err)
		case q.place != "" && !reached:
			doc.Explain(x.prog, []string{q.place + ": no branch of this run decides whether it is reached"})
		}
	}
	return nil
}

func (q *questions) one(ctx context.Context, m *machine.Machine, cfg machine.Config, in machine.Input, x question) ([]string, error) {
	m.Restore(x.began)
	s, err := debug.NewOn(debug.Target{Machine: m}, debug.Config{Machine: cfg, Input: in})
	if err != nil {
		return nil, err
	}
	if _, err := s.StartContext(ctx, x.prog); err != nil {
		return nil, err
	}
	goal := debug.HasEffect
	if q.place != "" {
		places, _, err := s.Locate(q.place)
		if err != nil {
			return nil, err
		}
		goal = func(p debug.Place) bool { return slices.Contains(places, p) }
	}
	d, err := s.WhyNot(ctx, goal)
	if err != nil {
		return nil, err
	}
	for _, flag := range d.Flags() {
		if !slices.Contains(q.flags, flag) {
			q.flags = append(q.flags, flag)
		}
	}
	return d.Lines(), nil
}

// tryLine is the command with flags that let programs pass the branches by which they ended.
func (c *runCommand) tryLine(s btfSource, flags []string) string {
	line := "bpfrun "
	if len(c.progs) > 0 {
		line += "run "
	}
	line += shell.Quote(c.path)
	for _, p := range c.progs {
		line += " -p " + shell.Quote(p)
	}
	if len(c.kernels.btf) > 0 {
		line += " --btf " + shell.Quote(s.Path)
	}
	for _, g := range c.objects.globals {
		line += " --global " + shell.Quote(g)
	}
	return line + " " + strings.Join(flags, " ")
}
