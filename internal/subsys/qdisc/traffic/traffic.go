package traffic

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/helpers"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/subsys/event"
	"github.com/bpfrun/bpfrun/internal/subsys/qdisc"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/loader"
)

// Spec describes traffic.
type Spec struct {
	// Ops is the struct_ops variable of the discipline; "" means the only one of the object.
	Ops string
	// Config has the device, its link and the flows. Base and ResetTwice are those of the machine
	// and its release.
	qdisc.Config
}

// Result is what a discipline did.
type Result struct {
	*qdisc.Result
	// Ops is the name of the discipline's variable, Name that of the discipline.
	Ops, Name string
	// Rate is that of the link in bits per second.
	Rate uint64
	// Status is [machine.StatusOK] also if packets were lost or leaked. Err says why there was no
	// traffic, or why it stops early.
	Status machine.Status
	Err    error
	// Fault is the run of a program that ended with a fault, and FaultOp its operation.
	Fault   *machine.Result
	FaultOp qdisc.Op
	// Trace are the lines that programs printed, Dropped counts those beyond the limit.
	Trace        []string
	DroppedTrace int
	// Progs are the programs by operation, Insns the instructions of all their runs.
	Progs map[string]string
	Insns uint64
}

// structName is the type of a discipline.
const structName = "Qdisc_ops"

// Disciplines returns the names of the object's queueing disciplines.
func Disciplines(obj *loader.Object) (names []string) {
	for _, m := range obj.Maps {
		if m.StructOps != nil && btf.EssentialName(m.StructOps.TypeName) == structName {
			names = append(names, m.Name)
		}
	}
	return names
}

// Program returns a program of the discipline, the one that stands for it where one is needed: its
// first member.
func Program(obj *loader.Object, ops string) string {
	for _, m := range obj.Maps {
		if m.StructOps == nil || m.Name != ops {
			continue
		}
		for _, member := range m.StructOps.Members {
			if member.Prog != "" {
				return member.Prog
			}
		}
	}
	return ""
}

// NoDisciplineError means that an object does not have the discipline that was asked for.
type NoDisciplineError struct {
	Ops  string
	Have []string
}

// Error names the disciplines there are.
func (e *NoDisciplineError) Error() string {
	switch {
	case len(e.Have) == 0:
		return "the object has no queueing discipline (a struct Qdisc_ops in .struct_ops or .struct_ops.link)"
	case e.Ops == "":
		return "the object has several queueing disciplines, name one: " + strings.Join(e.Have, ", ")
	}
	return fmt.Sprintf("the object has no queueing discipline %s (available: %s)", e.Ops, strings.Join(e.Have, ", "))
}

// Choose returns the name of the object's discipline: ops, or the only one if ops is "". The error
// is a [*NoDisciplineError].
func Choose(obj *loader.Object, ops string) (string, error) {
	have := Disciplines(obj)
	if ops == "" && len(have) == 1 {
		return have[0], nil
	}
	for _, n := range have {
		if n == ops {
			return n, nil
		}
	}
	return "", &NoDisciplineError{ops, have}
}

// RefusedError means that the kernel does not register the discipline, or does not put it on a
// device.
type RefusedError struct {
	Ops string
	Err error
}

// Error names the discipline and the reason.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("the kernel refuses queueing discipline %s: %v", e.Ops, e.Err)
}

// Unwrap returns the reason.
func (e *RefusedError) Unwrap() error { return e.Err }

// Run lets packets pass through a discipline on a machine, which must have been created with
// [machine.Config.Traffic]. A discipline that cannot be loaded, or whose program is stopped, is a
// Result with a status; the error is that of ctx, or of a Spec that makes no sense.
func Run(ctx context.Context, m *machine.Machine, spec Spec) (*Result, error) {
	name, err := Choose(m.Linked().Object, spec.Ops)
	if err != nil {
		return nil, err
	}
	if err := qdisc.Check(spec.Config); err != nil {
		return nil, err
	}
	res := &Result{Result: &qdisc.Result{}, Ops: name, Rate: spec.Rate, Status: machine.StatusOK}
	d, err := newDriver(ctx, m, name, res)
	if err != nil {
		var refused *programError
		var absent *AbsentError
		switch {
		case errors.As(err, &absent):
			res.Status, res.Err = machine.StatusAbsent, err
		case errors.As(err, &refused):
			res.Status, res.Err = refused.status, err
		default:
			res.Status, res.Err = machine.StatusRefused, &RefusedError{name, err}
		}
		return res, nil
	}
	cfg := spec.Config
	cfg.Base = m.Kernel().Clock().Mono()
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
	clock := d.m.Kernel().Clock()
	step := clock.Step
	clock.Step = 0 // time is the simulation's
	d.m.SetTraffic(d.state)
	defer func() { d.m.SetTraffic(nil); clock.Step = step }()
	r, err := sim.Run(ctx)
	d.res.Result = r
	var stopped *stoppedError
	var full *noMemoryError
	switch {
	case err == nil && r.Init != 0:
		d.res.Status = machine.StatusRefused
		d.res.Err = &RefusedError{d.res.Ops, fmt.Errorf("ops.init returned %d", r.Init)}
	case err == nil:
	case errors.As(err, &stopped):
		d.res.Status, d.res.Err, d.res.Fault, d.res.FaultOp = stopped.res.Status, err, stopped.res, stopped.op
	case errors.As(err, &full):
		d.res.Status, d.res.Err = machine.StatusNotSimulated, err
	case errors.Is(err, event.ErrLimit), errors.Is(err, errReturned):
		d.res.Status, d.res.Err = machine.StatusFault, err
	default:
		return nil, err
	}
	return d.res, nil
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
