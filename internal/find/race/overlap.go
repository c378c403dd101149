package race

import (
	"context"
	"errors"
	"slices"

	"github.com/bpfrun/bpfrun/internal/machine"
)

// Operation is a call of a program by a simulation.
type Operation struct {
	// Name is what reports call it: "enqueue".
	Name    string
	Program string
	Input   machine.Input
	// About are the addresses of what it is about: the kernel does not call two operations about
	// the same thing at the same time.
	About []uint64
	// World is nil for a simulation that programs do not act on.
	World World
}

// Overlaps runs operations against each other that a simulation calls one after the other.
type Overlaps struct {
	m    *machine.Machine
	only []string
	// share returns how the orders of the next pair are explored; false ends it.
	share func() (Config, bool)
	last  []calledOperation
	tried map[[2]string]int
	found map[string]bool
	// Meetings are the pairs, each kind once, Reports what was found in them.
	Meetings []Meeting
	Reports  []*Report
}

// calledOperation is an operation with the state in which it was called.
type calledOperation struct {
	Operation
	state  *machine.Snapshot
	back   func()
	within *Within
}

// How many pairs of a kind are explored, and how many calls back the first one may be.
const (
	samples  = 3
	farthest = 12
)

// ErrEnough ends a simulation: there is nothing left to explore, or no time.
var ErrEnough = errors.New("enough operations have met")

// NewOverlaps returns one for a machine. Only programs of the list take part; all do if it is empty.
// share says how the orders of each pair are explored, and false when there is no time for another
// one.
func NewOverlaps(m *machine.Machine, only []string, share func() (Config, bool)) *Overlaps {
	return &Overlaps{m: m, only: only, share: share, tried: map[[2]string]int{}, found: map[string]bool{}}
}

// Called notes that a simulation is about to call an operation, and lets it meet those before it
// that were called on other CPUs and are about something else. They meet in the state before the
// earlier one, after what the later one's CPU did since: on two CPUs that could as well have come
// first. Machine and world are the same afterwards. The error is [ErrEnough] or that of ctx.
func (o *Overlaps) Called(ctx context.Context, op Operation) error {
	now := o.note(op)
	var before []*calledOperation // on its CPU, in order
	about := slices.Clone(op.About)
	for i := len(o.last) - 1; i >= 0; i-- {
		first := &o.last[i]
		if first.Input.CPU == op.Input.CPU {
			before, about = slices.Insert(before, 0, first), append(about, first.About...)
			continue
		}
		if slices.ContainsFunc(about, func(a uint64) bool { return slices.Contains(first.About, a) }) {
			break
		}
		if err := o.meet(ctx, first, &now, &now, before); err != nil {
			return err
		}
	}
	if o.last = append(o.last, now); len(o.last) > farthest {
		o.last = slices.Delete(o.last, 0, 1)
	}
	return nil
}

// Together lets two operations meet in the present state, which is the same afterwards. The error
// is [ErrEnough] or that of ctx.
func (o *Overlaps) Together(ctx context.Context, a, b Operation) error {
	first := o.note(a)
	second := first
	second.Operation = b
	return o.meet(ctx, &first, &second, &first, nil)
}

// note notes the state in which an operation is called.
func (o *Overlaps) note(op Operation) calledOperation {
	c := calledOperation{Operation: op, state: o.m.Snapshot(), back: func() {}}
	if op.World != nil {
		c.back, c.within = op.World.Save(), &Within{op.World, op.World.Operation()}
	}
	return c
}

// meet explores the orders of two operations in the state before the first one, after some that the
// second one's CPU was in meanwhile, and returns to another state.
func (o *Overlaps) meet(ctx context.Context, first, second, then *calledOperation, before []*calledOperation) error {
	kind := [2]string{first.Name + " " + first.Program, second.Name + " " + second.Program}
	if o.tried[kind] == samples || !o.shared(first.Program, second.Program) {
		return nil
	}
	cfg, ok := o.share()
	if !ok {
		return ErrEnough
	}
	o.tried[kind]++
	actors := []Actor{first.actor(), second.actor()}
	o.m.Restore(first.state)
	first.back()
	defer func() {
		o.m.Restore(then.state)
		then.back()
	}()
	for _, b := range before {
		if b.World != nil {
			b.World.SetOperation(b.within.Operation)
		}
		if res, err := o.m.Run(ctx, b.Program, b.Input); err != nil || res.Fault != nil || !res.Ran {
			return err
		}
	}
	r, err := Run(ctx, o.m, actors, cfg)
	if r != nil {
		o.add(Meeting{Name: first.Name + " and " + second.Name + " on two CPUs", Actors: actors}, r)
	}
	return err
}

// actor makes an actor of it.
func (c *calledOperation) actor() Actor {
	return Actor{Name: c.Name, Program: c.Program, Input: c.Input, Over: -1, Within: c.within}
}

// Orders is how many orders were followed.
func (o *Overlaps) Orders() (n int) {
	for _, r := range o.Reports {
		n += r.Orders
	}
	return n
}

// shared reports whether programs take part and share a map that programs can change.
func (o *Overlaps) shared(a, b string) bool {
	if len(o.only) > 0 && !(slices.Contains(o.only, a) && slices.Contains(o.only, b)) {
		return false
	}
	x, ok1 := o.m.Linked().Program(a)
	y, ok2 := o.m.Linked().Program(b)
	return ok1 && ok2 && share(x, y)
}

// add adds a report to those of the same kind of pair, without what is known already.
func (o *Overlaps) add(m Meeting, r *Report) {
	r.Findings = slices.DeleteFunc(r.Findings, func(f Finding) bool {
		known := o.found[f.about()]
		o.found[f.about()] = true
		return known
	})
	at := slices.IndexFunc(o.Meetings, func(have Meeting) bool { return have.Name == m.Name })
	if at < 0 {
		o.Meetings, o.Reports = append(o.Meetings, m), append(o.Reports, r)
		return
	}
	have := o.Reports[at]
	have.Orders += r.Orders
	have.Complete = have.Complete && r.Complete
	have.Findings = append(have.Findings, r.Findings...)
}
