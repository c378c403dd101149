package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bpfrun/bpfrun/internal/app/races"
	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/find/race"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/subsys"
	"github.com/bpfrun/bpfrun/internal/subsys/drive"
	"github.com/bpfrun/bpfrun/loader"
)

// whole is what an object or a scenario file has of a subsystem: operations that a simulation
// calls.
type whole struct {
	name string // "the schedule of simple_ops"
	// open returns the machine on which calls runs it, and what is done with that afterwards.
	open  func() (*machine.Machine, func(), error)
	calls func(context.Context, *machine.Machine, drive.Calls) (*drive.Outcome, error)
}

// wholes lists those of the file of -s, or else of the object.
func (c *raceCommand) wholes(linked *loader.Linked, cfg machine.Config) []whole {
	if c.with != nil {
		return c.with.wholes()
	}
	cfg.Simulates = subsys.Simulates(linked.Object)
	var out []whole
	for _, s := range subsys.Systems() {
		for _, ops := range s.Meets(linked.Object) {
			name := "the " + s.What
			if ops != "" {
				name += " of " + ops
			}
			out = append(out, whole{
				name: name,
				open: func() (*machine.Machine, func(), error) {
					m, err := machine.New(linked, cfg)
					if err != nil {
						return nil, nil, err
					}
					return m, m.Close, nil
				},
				calls: func(ctx context.Context, m *machine.Machine, calls drive.Calls) (*drive.Outcome, error) {
					return s.Calls(ctx, m, ops, calls)
				},
			})
		}
	}
	return out
}

// wholes lists the runs of the file that tell of the programs which they call.
func (s *raceScene) wholes() []whole {
	var out []whole
	for _, run := range s.runner.RaceCalls() {
		out = append(out, whole{
			name: fmt.Sprintf("the run %q", run.Name),
			open: func() (*machine.Machine, func(), error) {
				m := s.runner.Machine()
				start := m.Snapshot()
				return m, func() { m.Restore(start) }, nil
			},
			calls: func(ctx context.Context, _ *machine.Machine, calls drive.Calls) (*drive.Outcome, error) {
				return nil, run.Simulate(ctx, calls)
			},
		})
	}
	return out
}

// meet lets an operation that is about to be called meet others.
func meet(ctx context.Context, o *race.Overlaps, c *drive.Call) error {
	here := operation(c)
	if c.Elsewhere == nil {
		return o.Called(ctx, here)
	}
	for i := range c.Elsewhere {
		if err := o.Together(ctx, here, operation(&c.Elsewhere[i])); err != nil {
			return err
		}
	}
	return nil
}

func operation(c *drive.Call) race.Operation {
	op := race.Operation{Name: c.Name, Program: c.Program, Input: c.Input, About: c.About, Step: c.Step}
	if c.World != nil {
		op.World = c.World
	}
	return op
}

// overlapOrders are the orders of one pair of operations at most: there are many pairs.
const overlapOrders = 400

// simulate lets the operations of subsystems meet, as their simulations call them.
func (c *raceCommand) simulate(ctx context.Context, list []whole, doc *report.RaceDocument, opt races.Options, began time.Time) error {
	end, before := began.Add(c.time), doc.Orders
	for i, w := range list {
		m, done, err := w.open()
		if err != nil {
			return codeError{exitLoad, err}
		}
		until := time.Now().Add(time.Until(end) / time.Duration(len(list)-i))
		most := (c.orders - before) / len(list)
		var o *race.Overlaps
		o = race.NewOverlaps(m, races.KernelOf(m, opt), c.progs, func() (race.Config, bool) {
			each := race.Config{Preemptions: c.preemptions, Seed: c.sim.seed, Memory: opt.Memory, Most: overlapOrders, Scene: opt.Scene, Ignore: m.Ignored()}
			if c.orders > 0 {
				each.Most = min(each.Most, most-o.Orders())
			}
			if c.clocked() {
				each.Until = until
			}
			return each, each.Most > 0 && (!c.clocked() || time.Now().Before(until))
		})
		status, progs := machine.StatusOK, map[string]string(nil)
		res, err := w.calls(ctx, m, func(c *drive.Call) error { return meet(ctx, o, c) })
		if res != nil {
			status, progs = res.Status, res.Progs
		}
		if err == nil && res != nil {
			err = res.Err
		}
		done()
		for i := range o.Meetings {
			o.Meetings[i].Simulation = w.name
			c.addMeeting(doc, o.Meetings[i], o.Reports[i], opt)
		}
		switch {
		case ctx.Err() != nil:
			doc.Interrupted, doc.Complete, doc.Skipped = true, false, doc.Skipped+1
			return nil
		case errors.Is(err, race.ErrEnough):
			doc.Complete = false
			err = nil
		}
		if err != nil {
			c.warn("%s: %v", w.name, err)
		}
		for _, prog := range progs {
			doc.Left = slices.DeleteFunc(doc.Left, func(l report.RaceLeft) bool { return l.Program == prog })
			if status != machine.StatusOK {
				doc.Left = append(doc.Left, report.RaceLeft{Program: prog, Status: fmt.Sprintf("%s is %s", w.name, status)})
			}
		}
	}
	return nil
}

// addMeeting adds what was found in a meeting, and remembers what a scenario of it needs.
func (c *raceCommand) addMeeting(doc *report.RaceDocument, m race.Meeting, r *race.Report, opt races.Options) {
	if opt.Known != nil {
		r.Drop(opt.Known)
	}
	for i, at := range doc.Add(m, r) {
		if at >= 0 {
			c.simulated[at] = r.Findings[i]
		}
	}
}
