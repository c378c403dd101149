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
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/subsys/qdisc"
	"github.com/bpfrun/bpfrun/internal/subsys/qdisc/traffic"
	"github.com/bpfrun/bpfrun/loader"
)

// Qdisc is traffic for a queueing discipline.
type Qdisc struct {
	Node *grammar.Node
	traffic.Spec
	once sync.Once
}

// decodeQdisc decodes a run's traffic.
func (f *File) decodeQdisc(r *Run, run, n *grammar.Node) error {
	var wrong grammar.Mistakes
	for _, p := range run.Pairs {
		if runForm.Has(p.Key.Text) && !slices.Contains(qdiscMembers, p.Key.Text) {
			wrong.Add(p.Key.Errorf("a run with qdisc has no %s: the traffic calls the programs", p.Key.Text))
		}
	}
	r.Qdisc = &Qdisc{Node: n, Spec: traffic.Spec{Config: qdisc.Config{
		Rate: qdisc.DefaultRate, MTU: qdisc.DefaultMTU, Ring: qdisc.DefaultRing, Duration: time.Minute,
	}}}
	q := r.Qdisc
	if wrong.Add(n.Fields(qdiscForm)); n.Kind != grammar.Mapping {
		return wrong.Err()
	}
	if v := n.Get("ops"); v != nil {
		var err error
		q.Ops, err = v.NonEmpty("ops")
		wrong.Add(err)
	}
	if v := n.Get("rate"); v != nil {
		var err error
		q.Rate, err = decodeRate(v, "rate")
		wrong.Add(err)
	}
	if v := n.Get("duration"); v != nil {
		var err error
		q.Duration, err = v.Duration("duration")
		wrong.Add(err)
	}
	wrong.Add(n.Ints(grammar.IntOf("mtu", &q.MTU, qdisc.LeastMTU, qdisc.MostMTU), grammar.IntOf("ring", &q.Ring, 1, qdisc.MaxRing), grammar.IntOf("bulk", &q.Bulk, 1, math.MaxInt32)))
	flows, err := n.Get("flows").Members("flows")
	wrong.Add(err)
	for _, p := range flows {
		wrong.Add(f.decodeFlow(q, p.Key.Text, p.Value))
	}
	if err := wrong.Err(); err != nil {
		return err
	}
	if err := qdisc.Check(q.Config); err != nil {
		return n.Wrap("", err)
	}
	return nil
}

// decodeFlow decodes a flow.
func (f *File) decodeFlow(q *Qdisc, name string, n *grammar.Node) error {
	if err := n.Fields(qdiscFlowForm); err != nil {
		return err
	}
	x := qdisc.Flow{Name: name, Count: 1, Burst: 1, Sizes: []int{qdisc.DefaultMTU + qdisc.LinkHeader}}
	var wrong grammar.Mistakes
	var priority, mark int
	wrong.Add(n.Ints(
		grammar.IntOf("count", &x.Count, 1, qdisc.MaxPackets), grammar.IntOf("burst", &x.Burst, 1, qdisc.MaxPackets),
		grammar.IntOf("priority", &priority, 0, math.MaxUint32), grammar.IntOf("mark", &mark, 0, math.MaxUint32),
	))
	x.Priority, x.Mark = uint32(priority), uint32(mark)
	for key, to := range map[string]*time.Duration{"start": &x.Start, "interval": &x.Interval, "depart": &x.Depart} {
		if v := n.Get(key); v != nil {
			var err error
			*to, err = v.Duration(key)
			wrong.Add(err)
		}
	}
	if v := n.Get("packet"); v != nil {
		if v.Kind != grammar.Scalar {
			return v.Errorf("packet: want an expression such as eth/ip/udp, hex digits or @FILE, got %s", v.Describe())
		}
		var err error
		x.Frame, err = packet.Load(v.Text, filepath.Dir(f.Path))
		if wrong.Add(packetError(v, "packet", err)) {
			x.Sizes = []int{len(x.Frame)}
		}
	}
	if v := n.Get("size"); v != nil {
		sizes, err := decodeSizes(v)
		if wrong.Add(err) {
			x.Sizes = sizes
		}
	}
	if v := n.Get("rate"); v != nil {
		rate, err := decodeRate(v, "rate")
		if n.Get("interval") != nil {
			err = v.Errorf("rate and interval cannot be combined")
		}
		if wrong.Add(err) {
			x.Interval = interval(&x, rate)
		}
	}
	q.Flows = append(q.Flows, x)
	return wrong.Err()
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
func decodeSizes(n *grammar.Node) ([]int, error) {
	items := []*grammar.Node{n}
	if n.Kind == grammar.Sequence {
		items = n.Items
	}
	var out []int
	for _, item := range items {
		v, err := item.Int("size", qdisc.LeastSize, qdisc.MostMTU+qdisc.LinkHeader)
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
func decodeRate(n *grammar.Node, what string) (uint64, error) {
	digits := strings.TrimRight(n.Text, "abcdefghijklmnopqrstuvwxyz")
	unit := 1.0
	if u := n.Text[len(digits):]; u != "" {
		unit = rateUnits[u]
	}
	v, err := strconv.ParseFloat(digits, 64)
	if v *= unit; n.Kind != grammar.Scalar || err != nil || !(v >= 1) || v > qdisc.MaxRate {
		return 0, n.Errorf("%s: want bits per second such as 125000, 100kbit, 10mbit or 1gbit, got %s", what, n.Describe())
	}
	return uint64(v), nil
}

// choose finds the discipline in the object, once: it is the same for all kernels.
func (q *Qdisc) choose(r *Run, obj *loader.Object) error {
	ops, err := traffic.Kind().Choose(obj, q.Ops)
	if err != nil {
		return q.Node.Wrap("", err)
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
		return run.Qdisc.Node.Wrap("qdisc", err)
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
	res.Expectations, res.Took = j.Found, time.Since(start)
	return nil
}
