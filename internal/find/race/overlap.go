package race

import (
	"context"
	"errors"
	"slices"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
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
	// Step, from 1, is what it is part of in a simulation that knows no CPUs: operations of one step
	// come one after the other, and a step can be on any CPU. 0 is an operation on the CPU of Input.
	Step int
}

// Overlaps runs operations against each other that a simulation calls one after the other.
type Overlaps struct {
	m      *machine.Machine
	kernel Kernel
	only   []string
	// share returns how the orders of the next pair are explored; false ends it.
	share func() (Config, bool)
	last  []calledOperation
	tried map[[2]string]int
	found map[string]bool
	// calls are the operations so far whose steps can be on any CPU, second is a task for another
	// CPU than that of the simulation.
	calls  []Earlier
	second *object.Object
	// Meetings are the pairs, each kind once, Reports what was found in them.
	Meetings []Meeting
	Reports  []*Report
}

// calledOperation is an operation with the state in which it was called.
type calledOperation struct {
	Operation
	state   *machine.Snapshot
	back    func()
	within  *Within
	earlier int // calls before it
}

// How many pairs of a kind are explored, and how many calls back the first one may be.
const (
	samples  = 3
	farthest = 12
)

// ErrEnough ends a simulation: there is nothing left to explore, or no time.
var ErrEnough = errors.New("enough operations have met")

// NewOverlaps returns one for a machine. Only programs of the list take part; all do if it is empty.
// kernel decides which steps on one CPU interrupt each other. share returns how to explore the orders
// of the next pair, and false when no time is left.
func NewOverlaps(m *machine.Machine, kernel Kernel, only []string, share func() (Config, bool)) *Overlaps {
	return &Overlaps{m: m, kernel: kernel, only: only, share: share, tried: map[[2]string]int{}, found: map[string]bool{}}
}

// Called notes that a simulation is about to call an operation, and lets it meet those before it
// that were called on other CPUs and are about something else. They meet in the state before the
// earlier one, after what the later one's CPU did since, or what its step and others about the same
// did: on two CPUs that could as well have come first. Machine and world are the same afterwards.
// The error is [ErrEnough] or that of ctx.
func (o *Overlaps) Called(ctx context.Context, op Operation) error {
	if op.Step != 0 && o.second == nil {
		o.second = OtherTask(o.m)
	}
	now := o.note(op)
	var before []*calledOperation // on its CPU, in order
	about, steps := slices.Clone(op.About), []int{op.Step}
	for i := len(o.last) - 1; i >= 0; i-- {
		first := &o.last[i]
		same := slices.ContainsFunc(about, func(a uint64) bool { return slices.Contains(first.About, a) })
		if op.Step == 0 && first.Input.CPU == op.Input.CPU || op.Step != 0 && (same || slices.Contains(steps, first.Step)) {
			before, about, steps = slices.Insert(before, 0, first), append(about, first.About...), append(steps, first.Step)
			continue
		}
		if same {
			break
		}
		if err := o.meet(ctx, first, &now, &now, before); err != nil {
			return err
		}
	}
	if op.Step != 0 {
		o.calls = append(o.calls, op.early(op.Input.CPU))
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
	c := calledOperation{Operation: op, state: o.m.Snapshot(), back: func() {}, earlier: len(o.calls)}
	if op.World != nil {
		c.back, c.within = op.World.Save(), &Within{op.World, op.World.Operation()}
	}
	return c
}

// early is an operation on a CPU before others meet.
func (op *Operation) early(cpu int) Earlier {
	in := op.Input
	in.CPU = cpu
	return Earlier{op.Program, &in}
}

// meet explores the orders of two operations in the state before the first one, after some that the
// second one's CPU was in meanwhile, and returns to another state.
func (o *Overlaps) meet(ctx context.Context, first, second, then *calledOperation, before []*calledOperation) error {
	kind := [2]string{first.Name + " " + first.Program, second.Name + " " + second.Program}
	if o.tried[kind] == samples || !o.shared(first.Program, second.Program) {
		return nil
	}
	defer func() {
		o.m.Restore(then.state)
		then.back()
	}()
	o.tried[kind]++
	for _, meeting := range o.ways(first, second) {
		cfg, ok := o.share()
		if !ok {
			return ErrEnough
		}
		o.m.Restore(first.state)
		first.back()
		if err := o.explore(ctx, meeting, cfg, first, second, before); err != nil {
			return err
		}
	}
	return nil
}

// ways lists how two operations meet: on two CPUs and, if their steps can be on any, one in the
// middle of the other, as the kernel permits.
func (o *Overlaps) ways(first, second *calledOperation) []Meeting {
	a, b := first.actor(), second.actor()
	meeting := Meeting{Name: first.Name + " and " + second.Name + " on two CPUs", Actors: []Actor{a, b}}
	if first.Step == 0 {
		return []Meeting{meeting}
	}
	a.Input.CPU, b.Input.CPU = 0, 0
	x, ok1 := o.m.Linked().Program(a.Program)
	y, ok2 := o.m.Linked().Program(b.Program)
	if !ok1 || !ok2 {
		return nil
	}
	out := slices.Concat(
		nestedActors(o.m, role{lp: x}, role{lp: y}, a, b, o.second, o.kernel),
		nestedActors(o.m, role{lp: y}, role{lp: x}, b, a, o.second, o.kernel))
	if o.m.Kernel().CPUs() > 1 {
		b.Input.CPU, b.Input.Current = 1, besides(o.m, b.Input.Current, a.Input.Current, o.second)
		meeting.Actors = []Actor{a, b}
		out = slices.Insert(out, 0, meeting)
	}
	return out
}

// explore explores the orders of a meeting, after operations that the second one's CPU was in.
func (o *Overlaps) explore(ctx context.Context, meeting Meeting, cfg Config, first, second *calledOperation, before []*calledOperation) error {
	cpu := 0
	for _, a := range meeting.Actors {
		cpu = max(cpu, a.Input.CPU)
	}
	var earlier []Earlier
	for _, b := range before {
		if b.World != nil {
			b.World.SetOperation(b.within.Operation)
		}
		in := b.Input
		if b.Step != 0 {
			earlier = append(earlier, b.early(cpu))
			in = *earlier[len(earlier)-1].Input
		}
		if res, err := o.m.Run(ctx, b.Program, in); err != nil || res.Fault != nil || !res.Ran {
			return err
		}
	}
	if first.Step != 0 {
		earlier = slices.Concat(o.calls[:first.earlier], earlier)
		if cfg.Scene != nil && cfg.Scene.Check != nil {
			cfg.Check = cfg.Scene.Check(len(earlier) + len(meeting.Actors))
		}
	}
	r, err := Run(ctx, o.m, meeting.Actors, cfg)
	if r != nil {
		for i := range r.Findings {
			r.Findings[i].Earlier, r.Findings[i].Assumes = earlier, meeting.Assumes
		}
		o.add(meeting, r)
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
	r.Drop(o.found)
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
