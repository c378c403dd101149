package schedule

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/helpers"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/subsys/event"
	"github.com/bpfrun/bpfrun/internal/subsys/sched"
	"github.com/bpfrun/bpfrun/loader"
)

// Spec describes a schedule.
type Spec struct {
	// Ops is the struct_ops variable of the scheduler; "" means the only one of the object.
	Ops string
	// CPUs is the topology, which has as many CPUs as the machine.
	CPUs     []sched.CPU
	HZ       int
	Duration time.Duration
	Tasks    []sched.TaskSpec
	// Events limits the events of the simulation; 0 means the default.
	Events int
}

// Result is what a schedule did.
type Result struct {
	*sched.Result
	// Ops is the name of the scheduler's variable, Name that of the scheduler.
	Ops, Name string
	// Status is [machine.StatusOK] also for a scheduler that ended with an error: see Exit. Err
	// says why there is no schedule, or why it stops early.
	Status machine.Status
	Err    error
	// Fault is the run of a program that ended with a fault, and FaultOp its operation.
	Fault   *machine.Result
	FaultOp sched.Op
	// Trace are the lines that programs printed, Dropped counts those beyond the limit.
	Trace        []string
	DroppedTrace int
	// Progs are the programs by operation, Insns the instructions of all their runs.
	Progs map[string]string
	Insns uint64
}

// Schedulers returns the names of the object's schedulers.
func Schedulers(obj *loader.Object) (names []string) {
	for _, m := range obj.Maps {
		if typeOf(obj, m.Name) != "" {
			names = append(names, m.Name)
		}
	}
	return names
}

// typeOf returns the struct_ops type of a scheduler, "" if the object has no such scheduler.
func typeOf(obj *loader.Object, ops string) string {
	for _, m := range obj.Maps {
		if m.Name != ops || m.StructOps == nil {
			continue
		}
		if typ := btf.EssentialName(m.StructOps.TypeName); proto.IsSchedOps(typ) {
			return typ
		}
	}
	return ""
}

// Program returns a program of the scheduler, the one that stands for it where one is needed: its
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

// NoSchedulerError means that an object does not have the scheduler that was asked for.
type NoSchedulerError struct {
	Ops  string
	Have []string
}

// Error names the schedulers there are.
func (e *NoSchedulerError) Error() string {
	switch {
	case len(e.Have) == 0:
		return "the object has no sched_ext scheduler (a struct sched_ext_ops or sched_ext_ops_cid in .struct_ops.link)"
	case e.Ops == "":
		return "the object has several schedulers, name one: " + strings.Join(e.Have, ", ")
	}
	return fmt.Sprintf("the object has no scheduler %s (available: %s)", e.Ops, strings.Join(e.Have, ", "))
}

// Choose returns the name of the object's scheduler: ops, or the only one if ops is "". The error
// is a [*NoSchedulerError].
func Choose(obj *loader.Object, ops string) (string, error) {
	have := Schedulers(obj)
	if ops == "" && len(have) == 1 {
		return have[0], nil
	}
	for _, n := range have {
		if n == ops {
			return n, nil
		}
	}
	return "", &NoSchedulerError{ops, have}
}

// RefusedError means that the kernel does not register the scheduler.
type RefusedError struct {
	Ops string
	Err error
}

// Error names the scheduler and the reason.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("the kernel refuses scheduler %s: %v", e.Ops, e.Err)
}

// Unwrap returns the reason.
func (e *RefusedError) Unwrap() error { return e.Err }

// Run runs a schedule on a machine, which must have been created with [machine.Config.Schedules]. A
// scheduler that cannot be loaded, or whose program is stopped, is a Result with a status; the
// error is that of ctx, or of a Spec that makes no sense.
func Run(ctx context.Context, m *machine.Machine, spec Spec) (*Result, error) {
	name, err := Choose(m.Linked().Object, spec.Ops)
	if err != nil {
		return nil, err
	}
	res := &Result{Result: &sched.Result{}, Ops: name, Status: machine.StatusOK}
	d, err := newDriver(ctx, m, name, res)
	if err != nil {
		var refused *programError
		var absent *AbsentError
		var below *belowError
		switch {
		case errors.As(err, &below):
			res.Status, res.Err = machine.StatusNotSimulated, err
		case errors.As(err, &absent):
			res.Status, res.Err = machine.StatusAbsent, err
		case errors.As(err, &refused):
			res.Status, res.Err = refused.status, err
		default:
			res.Status, res.Err = machine.StatusRefused, &RefusedError{name, err}
		}
		return res, nil
	}
	cfg := d.config
	cfg.CPUs, cfg.HZ, cfg.Duration, cfg.Tasks, cfg.Events = spec.CPUs, spec.HZ, spec.Duration, spec.Tasks, spec.Events
	if n := m.Kernel().CPUs(); len(cfg.CPUs) != n {
		return nil, &sched.ConfigError{What: fmt.Sprintf("a topology of %d CPUs for a machine of %d", len(cfg.CPUs), n)}
	}
	sim, err := sched.New(cfg, d)
	if err != nil {
		return nil, err
	}
	return d.run(ctx, sim)
}

// run connects the simulation with the machine for as long as it lasts.
func (d *driver) run(ctx context.Context, sim *sched.Sim) (*Result, error) {
	d.state = &helpers.Schedule{Sim: sim, Flags: d.config.Flags}
	if err := d.furnish(sim); err != nil {
		d.res.Status, d.res.Err = machine.StatusNotSimulated, err
		return d.res, nil
	}
	clock := d.m.Kernel().Clock()
	step := clock.Step
	clock.Step = 0 // time is the simulation's
	d.m.SetSchedule(d.state)
	defer func() { d.m.SetSchedule(nil); clock.Step = step }()
	r, err := sim.Run(ctx)
	d.res.Result = d.named(r)
	var stopped *stoppedError
	switch {
	case err == nil:
	case errors.As(err, &stopped):
		d.res.Status, d.res.Err, d.res.Fault, d.res.FaultOp = stopped.res.Status, err, stopped.res, stopped.op
	case errors.Is(err, event.ErrLimit):
		d.res.Status, d.res.Err = machine.StatusFault, err
	default:
		return nil, err
	}
	return d.res, nil
}

// Default returns the schedule that runs where none is described: on each CPU two tasks that never
// stop and two that mostly sleep, and a pair that wake each other, for one second.
func Default(cpus int) Spec {
	spec := Spec{CPUs: sched.Topology(cpus, 0, 0, 0), Duration: time.Second}
	add := func(name string, steps ...sched.Step) {
		spec.Tasks = append(spec.Tasks, sched.TaskSpec{Name: name, CPU: len(spec.Tasks) % cpus, Steps: steps, Times: sched.Forever})
	}
	const ms = time.Millisecond
	for i := range 2 * cpus {
		add(fmt.Sprintf("busy%d", i), sched.Step{Kind: sched.DoRun, For: time.Second})
	}
	for i := range 2 * cpus {
		add(fmt.Sprintf("light%d", i), sched.Step{Kind: sched.DoRun, For: ms}, sched.Step{Kind: sched.DoSleep, For: 9 * ms})
	}
	add("ping", sched.Step{Kind: sched.DoRun, For: ms / 2}, sched.Step{Kind: sched.DoWake, Task: "pong"}, sched.Step{Kind: sched.DoWait})
	add("pong", sched.Step{Kind: sched.DoWait}, sched.Step{Kind: sched.DoRun, For: ms / 2}, sched.Step{Kind: sched.DoWake, Task: "ping"})
	return spec
}
