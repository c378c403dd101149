package schedule

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
	"github.com/bpfrun/bpfrun/internal/subsys/sched"
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
	// Calls, if not nil, is told of operations. An error of it is that of [Run].
	Calls drive.Calls
}

// Result is what a schedule did. A scheduler that ended with an error has the status
// [machine.StatusOK] all the same: see Exit.
type Result struct {
	*sched.Result
	drive.Outcome
}

// What is what a scheduler is given.
const What = "schedule"

// kind is what an object has: schedulers.
var kind = sync.OnceValue(func() *drive.Kind {
	return &drive.Kind{Whole: ops.Named("sched"), Name: "scheduler", None: "sched_ext scheduler (a struct sched_ext_ops or sched_ext_ops_cid in .struct_ops.link)"}
})

// Kind returns what an object may have: schedulers.
func Kind() *drive.Kind { return kind() }

// Run runs a schedule on a machine, which must have been created with [machine.Config.Simulates]. A
// scheduler that cannot be loaded, or whose program is stopped, is a Result with a status; the
// error is that of ctx, or of a Spec that makes no sense.
func Run(ctx context.Context, m *machine.Machine, spec Spec) (*Result, error) {
	name, err := kind().Choose(m.Linked().Object, spec.Ops)
	if err != nil {
		return nil, err
	}
	res := &Result{Result: &sched.Result{}, Outcome: drive.Outcome{Ops: name, Status: machine.StatusOK}}
	d, err := newDriver(ctx, m, res)
	if err != nil {
		d.Refuse(err)
		return res, nil
	}
	d.calls = spec.Calls
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
	err := d.Simulate(d.state, sim.SetNow, func() error {
		r, err := sim.Run(ctx)
		d.res.Result = d.named(r)
		return err
	})
	if err != nil {
		return nil, err
	}
	return d.res, nil
}

// ExitCode implements [drive.Simulation].
func (r *Result) ExitCode() int {
	if r.failed() {
		return exitcode.Fault
	}
	return r.Outcome.ExitCode()
}

// failed reports whether the scheduler ended with an error, though none of its programs did.
func (r *Result) failed() bool {
	return r.Status == machine.StatusOK && r.Exit != nil && r.Exit.Kind >= sched.ExitError
}

// Parts implements [drive.Simulation].
func (r *Result) Parts(m *machine.Machine) map[string]drive.Part {
	p := r.Part()
	if e := r.Exit; e != nil {
		end := "the scheduler ended: " + e.Reason()
		if p.Did = append(p.Did, end); r.failed() {
			p.Status, p.Why = machine.StatusFault, end+" "+e.Message
		}
	}
	return r.Outcome.Parts(m, p, func(op string) int { return r.Calls[sched.Op(op)] })
}

// RunDefault runs the schedule that is the default for a machine.
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
	spec := Default(m.Kernel().CPUs())
	spec.Ops, spec.HZ, spec.Calls = ops, int(m.Kernel().Clock().HZ), calls
	return Run(ctx, m, spec)
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
