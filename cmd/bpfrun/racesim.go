package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/find/race"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/subsys"
	"github.com/bpfrun/bpfrun/internal/subsys/drive"
	"github.com/bpfrun/bpfrun/loader"
)

// whole is what an object has of a subsystem: operations that a simulation calls.
type whole struct {
	name, ops string // "the schedule of simple_ops"
	calls     func(context.Context, *machine.Machine, string, drive.Calls) (*drive.Outcome, error)
}

// wholes lists those of an object.
func wholes(obj *loader.Object) []whole {
	var out []whole
	for _, s := range subsys.Systems() {
		for _, ops := range s.Meets(obj) {
			name := "the " + s.What
			if ops != "" {
				name += " of " + ops
			}
			out = append(out, whole{name, ops, s.Calls})
		}
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
	op := race.Operation{Name: c.Name, Program: c.Program, Input: c.Input, About: c.About}
	if c.World != nil {
		op.World = c.World
	}
	return op
}

// overlapOrders are the orders of one pair of operations at most: there are many pairs.
const overlapOrders = 400

// simulate lets the operations of subsystems meet, as their simulations call them.
func (c *raceCommand) simulate(ctx context.Context, linked *loader.Linked, cfg machine.Config, doc *report.RaceDocument, memory race.Memory, began time.Time) error {
	list := wholes(linked.Object)
	if len(list) == 0 || c.sim.cpus == 1 {
		return nil
	}
	cfg.Simulates = subsys.Simulates(linked.Object)
	end, before := began.Add(c.time), doc.Orders
	for i, w := range list {
		m, err := machine.New(linked, cfg)
		if err != nil {
			return codeError{exitLoad, err}
		}
		until := time.Now().Add(time.Until(end) / time.Duration(len(list)-i))
		most := (c.orders - before) / len(list)
		var o *race.Overlaps
		o = race.NewOverlaps(m, c.progs, func() (race.Config, bool) {
			each := race.Config{Preemptions: c.preemptions, Seed: c.sim.seed, Memory: memory, Most: overlapOrders, Ignore: m.Ignored()}
			if c.orders > 0 {
				each.Most = min(each.Most, most-o.Orders())
			}
			if c.clocked() {
				each.Until = until
			}
			return each, each.Most > 0 && (!c.clocked() || time.Now().Before(until))
		})
		status, progs := machine.StatusOK, map[string]string(nil)
		res, err := w.calls(ctx, m, w.ops, func(c *drive.Call) error { return meet(ctx, o, c) })
		if res != nil {
			status, progs = res.Status, res.Progs
		}
		if err == nil && res != nil {
			err = res.Err
		}
		m.Close()
		for i := range o.Meetings {
			o.Meetings[i].Simulation = w.name
			doc.Add(o.Meetings[i], o.Reports[i])
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
