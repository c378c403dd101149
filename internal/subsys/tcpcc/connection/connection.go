// Package connection runs a TCP congestion control of BPF as programs on a machine: which program is
// which operation, its arguments, the socket and samples as kernel objects, what a kernel registers;
// how scenario files write a connection and what they expect of it; what a report says of it. Start
// from [Run]. When operations are called is internal/subsys/tcpcc's.
package connection

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/subsys/drive"
	"github.com/bpfrun/bpfrun/internal/subsys/ops"
	"github.com/bpfrun/bpfrun/internal/subsys/tcpcc"
	"github.com/bpfrun/bpfrun/loader"
)

// Spec describes a connection. Ops is the struct_ops variable of the algorithm; "" means the only
// one of the object.
type Spec struct {
	Ops string
	tcpcc.Config
}

// Result is what an algorithm did with a connection.
type Result struct {
	*tcpcc.Result
	drive.Outcome
	last map[string]*machine.Result // by program
}

// What names a simulation.
const What = "TCP connection"

const opsType = "tcp_congestion_ops"

// kind is what an object has: algorithms. Their programs may also run alone, on sockets that are
// made up.
var kind = sync.OnceValue(func() *drive.Kind {
	return &drive.Kind{
		Whole: ops.Whole{Key: "tcp", Types: []string{opsType}}, Name: "congestion control",
		None: "congestion control (a struct tcp_congestion_ops in .struct_ops or .struct_ops.link)",
	}
})

// Kind returns what an object may have: algorithms.
func Kind() *drive.Kind { return kind() }

// Run makes a connection that an algorithm controls. One that cannot be registered, or whose program
// is stopped, is a Result with a status; the error is that of ctx, or of a Spec that makes no sense.
func Run(ctx context.Context, m *machine.Machine, spec Spec) (*Result, error) {
	name, err := kind().Choose(m.Linked().Object, spec.Ops)
	if err != nil {
		return nil, err
	}
	res := &Result{Result: &tcpcc.Result{}, Outcome: drive.Outcome{Ops: name, Status: machine.StatusOK}, last: map[string]*machine.Result{}}
	d, err := newDriver(ctx, m, res)
	if err != nil {
		d.Refuse(err)
		return res, nil
	}
	cfg := spec.Config
	cfg.TxStart = d.hasMember(tcpcc.OpTxStart)
	sim, err := tcpcc.New(cfg, d)
	if err != nil {
		return nil, err
	}
	if err := d.furnish(); err != nil {
		res.Status, res.Err = machine.StatusNotSimulated, err
		return res, nil
	}
	d.sim = sim
	err = d.Simulate(nil, sim.SetNow, func() (err error) {
		res.Result, err = sim.Run(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	return res, nil
}

// Parts implements [drive.Simulation]: the programs also run alone.
func (r *Result) Parts(*machine.Machine) map[string]drive.Part { return nil }

// Runs implements [drive.Simulation]: the last run of each program.
func (r *Result) Runs() (out []*machine.Result) {
	for _, op := range tcpcc.Operations {
		if res := r.last[r.Progs[string(op)]]; res != nil && !slices.Contains(out, res) {
			out = append(out, res)
		}
	}
	return out
}

// Programs lists the programs of an object's algorithm. There are none if it has several: a scenario
// says which one.
func Programs(l *loader.Linked) []string {
	names := kind().Names(l.Object)
	if len(names) != 1 {
		return nil
	}
	s := drive.Linked(l, names[0])
	if s == nil || s.Absent || s.Err != nil {
		return nil
	}
	var out []string
	for _, op := range tcpcc.Operations {
		if p := s.Progs[string(op)]; p != "" && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// RunDefault makes the default connection.
func RunDefault(ctx context.Context, m *machine.Machine, _ string) (drive.Simulation, error) {
	res, err := Run(ctx, m, Default())
	if err != nil {
		return nil, err
	}
	return res, nil
}

// Default returns the connection of runs where none is described: a link of 10 Mbit/s with a queue
// that a growing window fills, one loss of its own, and a segment that is only late.
func Default() Spec {
	return Spec{Config: tcpcc.Config{
		Rate: tcpcc.DefaultRate, RTT: tcpcc.DefaultRTT, Queue: tcpcc.DefaultQueue, Duration: 5 * time.Second,
		Drops: []int{1000}, Late: map[int]time.Duration{2000: 30 * time.Millisecond},
	}}
}

// AbsentError means that the kernel has no congestion controls in BPF.
type AbsentError struct{ Ops string }

// Error names the type that is missing.
func (e *AbsentError) Error() string {
	return fmt.Sprintf("congestion control %s: the kernel has no struct bpf_struct_ops_%s (Linux 5.6 and later have it with CONFIG_BPF_JIT and CONFIG_BPF_SYSCALL)", e.Ops, opsType)
}
