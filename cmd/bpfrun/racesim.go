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
	"github.com/bpfrun/bpfrun/internal/subsys/qdisc/traffic"
	"github.com/bpfrun/bpfrun/internal/subsys/sched/schedule"
	"github.com/bpfrun/bpfrun/loader"
)

// whole is a scheduler or a queueing discipline of an object: operations that a simulation calls.
type whole struct {
	name string // "the schedule of simple_ops"
	run  func(context.Context, *machine.Machine, *race.Overlaps) (machine.Status, map[string]string, error)
}

// wholes lists those of an object.
func wholes(obj *loader.Object) []whole {
	var out []whole
	for _, ops := range schedule.Kind().Names(obj) {
		out = append(out, whole{"the schedule of " + ops, func(ctx context.Context, m *machine.Machine, o *race.Overlaps) (machine.Status, map[string]string, error) {
			spec := schedule.Default(m.Kernel().CPUs())
			spec.Ops, spec.HZ = ops, int(m.Kernel().Clock().HZ)
			spec.Calls = func(c *schedule.Call) error {
				return o.Called(ctx, race.Operation{Name: string(c.Op), Program: c.Program, Input: c.Input, About: c.About, World: c.World})
			}
			res, err := schedule.Run(ctx, m, spec)
			if res == nil {
				return machine.StatusOK, nil, err
			}
			return res.Status, res.Progs, res.Err
		}})
	}
	for _, ops := range traffic.Kind().Names(obj) {
		out = append(out, whole{"the traffic of " + ops, func(ctx context.Context, m *machine.Machine, o *race.Overlaps) (machine.Status, map[string]string, error) {
			spec := traffic.Default()
			spec.Ops = ops
			spec.Calls = func(c *traffic.Call) error {
				here := race.Operation{Name: string(c.Op), Program: c.Program, Input: c.Input, World: c.World}
				for _, e := range c.Elsewhere {
					other := race.Operation{Name: string(e.Op) + " of another queue", Program: e.Program, Input: e.Input, World: c.World}
					other.Input.CPU = min(1, m.Kernel().CPUs()-1)
					if err := o.Together(ctx, here, other); err != nil {
						return err
					}
				}
				return nil
			}
			res, err := traffic.Run(ctx, m, spec)
			if res == nil {
				return machine.StatusOK, nil, err
			}
			return res.Status, res.Progs, res.Err
		}})
	}
	return out
}

// overlapOrders are the orders of one pair of operations at most: there are many pairs.
const overlapOrders = 400

// simulate lets the operations of schedulers and queueing disciplines meet, as their simulations
// call them.
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
		status, progs, err := w.run(ctx, m, o)
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
