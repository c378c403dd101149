package scenario

import (
	"context"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/packet"
	"github.com/bpfrun/bpfrun/internal/subsys/qdisc"
	"github.com/bpfrun/bpfrun/internal/subsys/qdisc/traffic"
	"github.com/bpfrun/bpfrun/loader"
)

// Qdisc is traffic for a queueing discipline.
type Qdisc struct {
	Node *Node
	traffic.Spec
	once sync.Once
}

// decodeQdisc decodes a run's traffic.
func (f *File) decodeQdisc(r *Run, run, n *Node) error {
	var wrong mistakes
	for _, p := range run.Pairs {
		if runForm.has(p.Key.Text) && !slices.Contains(qdiscMembers, p.Key.Text) {
			wrong.add(p.Key.errorf("a run with qdisc has no %s: the traffic calls the programs", p.Key.Text))
		}
	}
	r.Qdisc = &Qdisc{Node: n, Spec: traffic.Spec{Config: qdisc.Config{
		Rate: qdisc.DefaultRate, MTU: qdisc.DefaultMTU, Ring: qdisc.DefaultRing, Duration: time.Minute,
	}}}
	q := r.Qdisc
	if wrong.add(n.fields(qdiscForm)); n.Kind != Mapping {
		return wrong.err()
	}
	if v := n.Get("ops"); v != nil {
		var err error
		q.Ops, err = v.text("ops")
		wrong.add(err)
	}
	if v := n.Get("rate"); v != nil {
		var err error
		q.Rate, err = v.rate("rate")
		wrong.add(err)
	}
	if v := n.Get("duration"); v != nil {
		var err error
		q.Duration, err = v.duration("duration")
		wrong.add(err)
	}
	wrong.add(n.ints([]intMember{{"mtu", &q.MTU, qdisc.LeastMTU, qdisc.MostMTU}, {"ring", &q.Ring, 1, qdisc.MaxRing}, {"bulk", &q.Bulk, 1, math.MaxInt32}}))
	flows, err := n.Get("flows").pairs("flows")
	wrong.add(err)
	for _, p := range flows {
		wrong.add(f.decodeFlow(q, p.Key.Text, p.Value))
	}
	if err := wrong.err(); err != nil {
		return err
	}
	if err := qdisc.Check(q.Config); err != nil {
		return n.wrap("", err)
	}
	return nil
}

// intMember is a member with a number and its limits.
type intMember struct {
	name       string
	to         *int
	least, max int64
}

// ints decodes those members that a mapping has.
func (n *Node) ints(members []intMember) error {
	var wrong mistakes
	for _, m := range members {
		if v := n.Get(m.name); v != nil {
			var err error
			*m.to, err = v.int(m.name, m.least, m.max)
			wrong.add(err)
		}
	}
	return wrong.err()
}

// decodeFlow decodes a flow.
func (f *File) decodeFlow(q *Qdisc, name string, n *Node) error {
	if err := n.fields(qdiscFlowForm); err != nil {
		return err
	}
	x := qdisc.Flow{Name: name, Count: 1, Burst: 1, Sizes: []int{qdisc.DefaultMTU + qdisc.LinkHeader}}
	var wrong mistakes
	var priority, mark int
	wrong.add(n.ints([]intMember{
		{"count", &x.Count, 1, qdisc.MaxPackets}, {"burst", &x.Burst, 1, qdisc.MaxPackets},
		{"priority", &priority, 0, math.MaxUint32}, {"mark", &mark, 0, math.MaxUint32},
	}))
	x.Priority, x.Mark = uint32(priority), uint32(mark)
	for key, to := range map[string]*time.Duration{"start": &x.Start, "interval": &x.Interval, "depart": &x.Depart} {
		if v := n.Get(key); v != nil {
			var err error
			*to, err = v.duration(key)
			wrong.add(err)
		}
	}
	if v := n.Get("packet"); v != nil {
		if v.Kind != Scalar {
			return v.errorf("packet: want an expression such as eth/ip/udp, hex digits or @FILE, got %s", v.describe())
		}
		var err error
		x.Frame, err = packet.Load(v.Text, filepath.Dir(f.Path))
		if wrong.add(v.packetError("packet", err)) {
			x.Sizes = []int{len(x.Frame)}
		}
	}
	if v := n.Get("size"); v != nil {
		sizes, err := v.sizes()
		if wrong.add(err) {
			x.Sizes = sizes
		}
	}
	if v := n.Get("rate"); v != nil {
		rate, err := v.rate("rate")
		if n.Get("interval") != nil {
			err = v.errorf("rate and interval cannot be combined")
		}
		if wrong.add(err) {
			x.Interval = interval(&x, rate)
		}
	}
	q.Flows = append(q.Flows, x)
	return wrong.err()
}

// interval returns the time between bursts that makes a rate, with packets of the mean size.
func interval(x *qdisc.Flow, rate uint64) time.Duration {
	sum := 0
	for _, n := range x.Sizes {
		sum += n
	}
	bits := float64(sum) / float64(len(x.Sizes)) * 8 * float64(x.Burst)
	return time.Duration(min(bits/float64(rate)*float64(time.Second), float64(qdisc.MaxDuration)+1))
}

// sizes decodes a number or a list of numbers.
func (n *Node) sizes() ([]int, error) {
	items := []*Node{n}
	if n.Kind == Sequence {
		items = n.Items
	}
	var out []int
	for _, item := range items {
		v, err := item.int("size", qdisc.LeastSize, qdisc.MostMTU+qdisc.LinkHeader)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// rateUnits are those of tc(8), in bits per second.
var rateUnits = map[string]float64{"bit": 1, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9}

// rate decodes bits per second: 125000, 10mbit.
func (n *Node) rate(what string) (uint64, error) {
	digits := strings.TrimRight(n.Text, "abcdefghijklmnopqrstuvwxyz")
	unit := 1.0
	if u := n.Text[len(digits):]; u != "" {
		unit = rateUnits[u]
	}
	v, err := strconv.ParseFloat(digits, 64)
	if v *= unit; n.Kind != Scalar || err != nil || !(v >= 1) || v > qdisc.MaxRate {
		return 0, n.errorf("%s: want bits per second such as 125000, 100kbit, 10mbit or 1gbit, got %s", what, n.describe())
	}
	return uint64(v), nil
}

// choose finds the discipline in the object, once: it is the same for all kernels.
func (q *Qdisc) choose(r *Run, obj *loader.Object) error {
	ops, err := traffic.Kind().Choose(obj, q.Ops)
	if err != nil {
		return q.Node.wrap("", err)
	}
	q.once.Do(func() {
		r.Prog, r.ProgNode = traffic.Kind().Program(obj, ops), q.Node
		if r.Name == "" {
			r.Name = ops
		}
	})
	return nil
}

// queued lets the traffic of a run pass and compares what happened with the expectations. Events
// and trace are those of the time before it.
func (r *Runner) queued(ctx context.Context, run *Run, res *Result, start time.Time, events []machine.Event, trace []string) error {
	out, err := traffic.Run(ctx, r.m, run.Qdisc.Spec)
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		return run.Qdisc.Node.wrap("qdisc", err)
	}
	res.Simulation = out
	res.Result = &machine.Result{Program: run.Prog, Status: out.Status, Insns: out.Insns, Trace: append(trace, out.Trace...), Helpers: map[string]int{}, Ran: out.Status == machine.StatusOK || out.Fault != nil}
	if out.Fault != nil {
		res.Fault = out.Fault.Fault
	}
	res.Err, res.Events = out.Err, append(events, res.Events...)
	res.Skipped = res.Status == machine.StatusAbsent && run.Expect.Status == nil
	j := &judge{r: r, run: run, res: res.Result, validation: &res.Validation, why: res.Err}
	if !res.Skipped {
		j.traffic = newTrafficView(out)
		if err := j.all(); err != nil {
			return err
		}
	}
	res.Expectations, res.Took = j.out, time.Since(start)
	return nil
}
