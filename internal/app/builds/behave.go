package builds

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/machine/differ"
	"github.com/bpfrun/bpfrun/internal/scenario"
	"github.com/bpfrun/bpfrun/loader"
)

// defaultRuns runs each program that both builds have and the kernel loads, in the same order and
// with the default input. Programs that only one build has are left out, so that they change
// nothing for the others.
func (c *Comparison) defaultRuns(ctx context.Context, a, b *side, cfg machine.Config) error {
	var both []string
	for i := range c.Programs {
		if p := &c.Programs[i]; p.Old != nil && p.New != nil && p.Old.Status == machine.StatusOK && p.New.Status == machine.StatusOK {
			both = append(both, p.Name)
		}
	}
	if len(both) == 0 {
		return nil
	}
	cfg.Clock.Frozen = true
	var machines [2]*machine.Machine
	for i, s := range []*side{a, b} {
		own := cfg
		own.Verify = func(lp *loader.LinkedProgram) loader.Verified { return s.checker.Verify(ctx, lp) }
		m, err := machine.New(s.linked, own)
		if err != nil {
			for _, name := range both {
				c.leave(name, defaultInput, fmt.Errorf("%s: %w", s.obj.Name, err))
			}
			return nil //nolint:nilerr // the comparison says so
		}
		defer m.Close()
		machines[i] = m
	}
	for _, name := range both {
		x, err := machines[0].Run(ctx, name, machine.Input{})
		if err == nil {
			var y *machine.Result
			if y, err = machines[1].Run(ctx, name, machine.Input{}); err == nil {
				c.compare(name, defaultInput, differ.Run{Result: x, Linked: a.linked}, differ.Run{Result: y, Linked: b.linked})
				continue
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		c.leave(name, defaultInput, err)
	}
	return nil
}

// scenario makes the runs of a file on both builds. Runs of a program that one of them lacks are
// left out.
func (c *Comparison) scenario(ctx context.Context, a, b *side, f *scenario.File, opt scenario.Options) error {
	file := filepath.Base(f.Path)
	f = c.common(f, a.obj, b.obj)
	if len(f.Runs) == 0 {
		return nil
	}
	var all [2][]*scenario.Result
	var failed [2]error
	for i, s := range []*side{a, b} {
		r, err := scenario.Open(f, s.obj, s.linked.Target, opt)
		if err != nil {
			failed[i] = fmt.Errorf("%s with %s: %w", file, s.obj.Name, err)
			continue
		}
		all[i], err = r.All(ctx, nil)
		s.scenario = r.Machine().Linked()
		r.Close()
		if err != nil {
			return err
		}
	}
	switch {
	case failed[0] != nil && failed[1] != nil:
		return failed[1]
	case failed[0] != nil || failed[1] != nil:
		c.leave("", file, cmp.Or(failed[0], failed[1]))
		return nil
	}
	for i, x := range all[0] {
		if i >= len(all[1]) {
			break
		}
		y := all[1][i]
		input := file + ": " + x.Run.Name
		switch {
		case x.Result == nil || y.Result == nil || x.Skipped && y.Skipped:
			c.leave(x.Run.Prog, input, errors.New("it did not run"))
		default:
			c.compare(x.Run.Prog, input, differ.Run{Result: x.Result, Linked: a.scenario}, differ.Run{Result: y.Result, Linked: b.scenario})
		}
	}
	return nil
}

// common returns the file with the runs of programs that both builds have.
func (c *Comparison) common(f *scenario.File, older, newer *loader.Object) *scenario.File {
	out := *f
	out.Runs = nil
	for _, run := range f.Runs {
		_, old := older.Program(run.Prog)
		_, is := newer.Program(run.Prog)
		if run.Prog != "" && old != is {
			lacks := older
			if old {
				lacks = newer
			}
			c.leave(run.Prog, filepath.Base(f.Path)+": "+run.Name, fmt.Errorf("%s has no such program", lacks.Name))
			continue
		}
		out.Runs = append(out.Runs, run)
	}
	return &out
}

// compare notes in what two runs of an input differ.
func (c *Comparison) compare(name, input string, x, y differ.Run) {
	if x.Status == machine.StatusNotSimulated || y.Status == machine.StatusNotSimulated {
		c.leave(name, input, errors.New("it needs something that is not simulated"))
		return
	}
	p := c.program(name)
	if p == nil {
		return
	}
	p.Inputs++
	if text := differ.Between(x, y); text != "" {
		p.Differences = append(p.Differences, Difference{input, text})
	}
}

func (c *Comparison) leave(name, input string, why error) {
	c.Left = append(c.Left, Left{name, input, why.Error()})
}
