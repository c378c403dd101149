package drive

import (
	"context"
	"maps"
	"slices"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// Driver runs the programs of one on a machine. Create it with [New].
type Driver struct {
	M *machine.Machine
	// Kind and Ops are what it drives, with the struct that a kernel would register.
	Kind *Kind
	Ops  *loader.LinkedStructOps
	// Base is the monotonic time at the start of the simulation.
	Base uint64

	ctx     context.Context
	res     *Outcome
	progs   map[string]string
	reached func(now uint64)
}

// New finds one in the machine's object, whose machine must have been created with
// [machine.Config.Simulates], and checks that its programs can run. absent is the error if the
// kernel has no such struct_ops. The errors are for [Driver.Refuse].
func New(ctx context.Context, m *machine.Machine, k *Kind, res *Outcome, absent error) (*Driver, error) {
	d := &Driver{M: m, Kind: k, Base: m.Kernel().Clock().Mono(), ctx: ctx, res: res, progs: map[string]string{}}
	d.Ops = Linked(m.Linked(), res.Ops)
	switch {
	case d.Ops == nil || d.Ops.Absent:
		return d, Is(machine.StatusAbsent, absent)
	case d.Ops.Err != nil:
		return d, d.Ops.Err
	}
	res.Progs = d.Ops.Progs
	for _, op := range slices.Sorted(maps.Keys(d.Ops.Progs)) {
		prog := d.Ops.Progs[op]
		if status, err := m.ProgramStatus(prog); status != machine.StatusOK {
			return d, Is(status, &programError{op, prog, status, err})
		}
		d.progs[op] = prog
	}
	return d, nil
}

// Linked returns a struct_ops variable of a linked object, nil if there is none with that name.
func Linked(l *loader.Linked, name string) *loader.LinkedStructOps {
	for _, s := range l.StructOps {
		if s.Map.Name == name {
			return s
		}
	}
	return nil
}

// Has reports whether a program implements an operation.
func (d *Driver) Has(op string) bool { return d.progs[op] != "" }

// Progs are the programs by operation.
func (d *Driver) Progs() map[string]string { return d.progs }

// Refuse makes err the reason why there is no simulation.
func (d *Driver) Refuse(err error) { d.res.refuse(d.Kind, err) }

// Simulate connects the programs with what they call, an argument of [machine.Machine.Simulate],
// for as long as run lasts. Time is the simulation's: reached is told how far the machine is when
// something happens in between. The error is one that is no part of the result.
func (d *Driver) Simulate(state any, reached func(now uint64), run func() error) error {
	d.reached = reached
	clock := d.M.Kernel().Clock()
	step := clock.Step
	clock.Step = 0
	d.M.Simulate(state)
	defer func() { d.M.Simulate(nil); clock.Step = step }()
	return d.res.end(run())
}

// Run runs an operation's program at a point of simulated time.
func (d *Driver) Run(op string, now uint64, in machine.Input) (*machine.Result, error) {
	d.Reach(now)
	in.IgnoreUnset, in.NoChanges = true, true // operations are many, and nothing shows their changes
	res, err := d.M.Run(d.ctx, d.progs[op], in)
	if err != nil {
		return nil, err
	}
	d.res.collect(res)
	if !res.Ran || res.Fault != nil {
		return nil, &stoppedError{op, res}
	}
	return res, nil
}

// Reach sets the machine's clocks to a point of simulated time.
func (d *Driver) Reach(now uint64) {
	clock := d.M.Kernel().Clock()
	if at := d.Base + now; at > clock.Mono() {
		clock.Advance(at - clock.Mono())
	}
}

// Pass lets timers and work items fire that are due before the next event.
func (d *Driver) Pass(ctx context.Context, now, until uint64) (uint64, error) {
	at, ok := d.M.NextDue()
	if !ok || at > d.Base+until {
		return until, nil
	}
	at = max(at, d.Base+now) - d.Base
	d.Reach(at)
	d.reached(at)
	res, err := d.M.Settle(ctx, 0)
	if err != nil {
		return now, err
	}
	d.res.collect(res)
	if res.Fault != nil {
		return now, &stoppedError{"", res}
	}
	return at, nil
}
