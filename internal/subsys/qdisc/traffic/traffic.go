package traffic

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/bpfrun/bpfrun/helpers"
	"github.com/bpfrun/bpfrun/internal/exitcode"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/subsys/drive"
	"github.com/bpfrun/bpfrun/internal/subsys/ops"
	"github.com/bpfrun/bpfrun/internal/subsys/qdisc"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// Spec describes traffic.
type Spec struct {
	// Ops is the struct_ops variable of the discipline; "" means the only one of the object.
	Ops string
	// Config has the device, its link and the flows. Base and ResetTwice are those of the machine
	// and its release.
	qdisc.Config
	// Calls, if not nil, is told of operations on packets. An error of it is that of [Run].
	Calls drive.Calls
}

// Result is what a discipline did. One that lost or leaked packets has the status
// [machine.StatusOK] all the same.
type Result struct {
	*qdisc.Result
	drive.Outcome
	// Rate is that of the link in bits per second.
	Rate uint64
}

// What is what a discipline is given.
const What = "traffic"

// kind is what an object has: queueing disciplines.
var kind = sync.OnceValue(func() *drive.Kind {
	return &drive.Kind{Whole: ops.Named("qdisc"), Name: "queueing discipline", None: "queueing discipline (a struct Qdisc_ops in .struct_ops or .struct_ops.link)"}
})

// Kind returns what an object may have: queueing disciplines.
func Kind() *drive.Kind { return kind() }

// Run lets packets pass through a discipline on a machine, which must have been created with
// [machine.Config.Simulates]. A discipline that cannot be loaded, or whose program is stopped, is a
// Result with a status; the error is that of ctx, or of a Spec that makes no sense.
func Run(ctx context.Context, m *machine.Machine, spec Spec) (*Result, error) {
	name, err := kind().Choose(m.Linked().Object, spec.Ops)
	if err != nil {
		return nil, err
	}
	if err := qdisc.Check(spec.Config); err != nil {
		return nil, err
	}
	res := &Result{Result: &qdisc.Result{}, Outcome: drive.Outcome{Ops: name, Status: machine.StatusOK}, Rate: spec.Rate}
	d, err := newDriver(ctx, m, res)
	if err != nil {
		d.Refuse(err)
		return res, nil
	}
	d.calls = spec.Calls
	cfg := spec.Config
	cfg.Base = d.Base
	cfg.ResetTwice = !since.Of(m.Linked().Target.Version).Has(since.ResetOnce)
	sim, err := qdisc.New(cfg, d)
	if err != nil {
		return nil, err
	}
	return d.run(ctx, sim, cfg)
}

// run connects the simulation with the machine for as long as it lasts.
func (d *driver) run(ctx context.Context, sim *qdisc.Sim, cfg qdisc.Config) (*Result, error) {
	d.sim, d.cfg = sim, cfg
	d.state = &helpers.Traffic{Sim: sim, Packets: map[uint64]*qdisc.Packet{}}
	if err := d.furnish(); err != nil {
		d.res.Status, d.res.Err = machine.StatusNotSimulated, err
		return d.res, nil
	}
	err := d.Simulate(d.state, sim.SetNow, func() (err error) {
		d.res.Result, err = sim.Run(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	if r := d.res; r.Err == nil && r.Init != 0 {
		d.Refuse(fmt.Errorf("ops.init returned %d", r.Init))
	}
	return d.res, nil
}

// ExitCode implements [drive.Simulation].
func (r *Result) ExitCode() int {
	if r.Status == machine.StatusOK && (len(r.Leaked) > 0 || r.Stalled) {
		return exitcode.Fault
	}
	return r.Outcome.ExitCode()
}

// Parts implements [drive.Simulation].
func (r *Result) Parts(m *machine.Machine) map[string]drive.Part {
	p := r.Part()
	switch {
	case r.Err != nil:
	case len(r.Leaked) > 0:
		p.Status, p.Why = machine.StatusFault, fmt.Sprintf("%d packets leaked", len(r.Leaked))
	case r.Stalled:
		p.Status, p.Why = machine.StatusFault, "the queue stalled"
	}
	return r.Outcome.Parts(m, p, func(op string) int { return r.Calls[qdisc.Op(op)] })
}

// RunDefault lets the default traffic pass.
func RunDefault(ctx context.Context, m *machine.Machine, ops string) (drive.Simulation, error) {
	return runDefault(ctx, m, ops, nil)
}

// RunCalls is the same, and tells of the operations.
func RunCalls(ctx context.Context, m *machine.Machine, ops string, calls drive.Calls) (*drive.Outcome, error) {
	res, err := runDefault(ctx, m, ops, calls)
	if res == nil {
		return nil, err
	}
	return &res.Outcome, err
}

func runDefault(ctx context.Context, m *machine.Machine, ops string, calls drive.Calls) (*Result, error) {
	spec := Default()
	spec.Ops, spec.Calls = ops, calls
	return Run(ctx, m, spec)
}

// Default returns the traffic of runs where none is described: at a link of 10 Mbit/s a flow of
// large packets that needs twice as much, one of small packets that needs little, and a burst.
func Default() Spec {
	const ms = time.Millisecond
	return Spec{Config: qdisc.Config{
		Rate: 10_000_000, MTU: qdisc.DefaultMTU, Ring: qdisc.DefaultRing, Duration: 2 * time.Second,
		Flows: []qdisc.Flow{
			{Name: "bulk", Sizes: []int{1514}, Interval: 605600, Burst: 1, Count: 400},
			{Name: "voice", Sizes: []int{214}, Start: ms, Interval: 20 * ms, Burst: 1, Count: 12},
			{Name: "burst", Sizes: []int{1514, 66}, Start: 100 * ms, Interval: 50 * ms, Burst: 16, Count: 32},
		},
	}}
}
