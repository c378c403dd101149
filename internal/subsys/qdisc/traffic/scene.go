package traffic

import (
	"context"
	"math"
	"time"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/subsys/qdisc"
	"github.com/bpfrun/bpfrun/internal/subsys/scene"
	"github.com/bpfrun/bpfrun/loader"
)

// planned is traffic of a scenario file.
type planned struct{ spec Spec }

// decode decodes a run's traffic.
func decode(n *grammar.Node, f scene.File) (scene.Run, error) {
	q := &planned{Spec{Config: qdisc.Config{
		Rate: qdisc.DefaultRate, MTU: qdisc.DefaultMTU, Ring: qdisc.DefaultRing, Duration: time.Minute,
	}}}
	var wrong grammar.Mistakes
	if wrong.Add(n.Fields(runForm)); n.Kind != grammar.Mapping {
		return q, wrong.Err()
	}
	if v := n.Get("ops"); v != nil {
		var err error
		q.spec.Ops, err = v.NonEmpty("ops")
		wrong.Add(err)
	}
	if v := n.Get("rate"); v != nil {
		var err error
		q.spec.Rate, err = v.Rate("rate", qdisc.MaxRate)
		wrong.Add(err)
	}
	if v := n.Get("duration"); v != nil {
		var err error
		q.spec.Duration, err = v.Duration("duration")
		wrong.Add(err)
	}
	wrong.Add(n.Ints(grammar.IntOf("mtu", &q.spec.MTU, qdisc.LeastMTU, qdisc.MostMTU), grammar.IntOf("ring", &q.spec.Ring, 1, qdisc.MaxRing), grammar.IntOf("bulk", &q.spec.Bulk, 1, math.MaxInt32)))
	flows, err := n.Get("flows").Members("flows")
	wrong.Add(err)
	for _, p := range flows {
		wrong.Add(q.decodeFlow(p.Key.Text, p.Value, f))
	}
	if err := wrong.Err(); err != nil {
		return q, err
	}
	if err := qdisc.Check(q.spec.Config); err != nil {
		return q, n.Wrap("", err)
	}
	return q, nil
}

// decodeFlow decodes a flow.
func (q *planned) decodeFlow(name string, n *grammar.Node, f scene.File) error {
	if err := n.Fields(flowForm); err != nil {
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
		x.Frame, err = f.Packet("packet", v)
		if wrong.Add(err) {
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
		rate, err := v.Rate("rate", qdisc.MaxRate)
		if n.Get("interval") != nil {
			err = v.Errorf("rate and interval cannot be combined")
		}
		if wrong.Add(err) {
			x.Interval = interval(&x, rate)
		}
	}
	q.spec.Flows = append(q.spec.Flows, x)
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

// Choose implements [scene.Run].
func (q *planned) Choose(obj *loader.Object) (prog, name string, err error) {
	ops, err := Kind().Choose(obj, q.spec.Ops)
	return Kind().Program(obj, ops), ops, err
}

// Check implements [scene.Run]: traffic was checked when it was read.
func (q *planned) Check(*scene.Setting) error { return nil }

// Simulate implements [scene.Run].
func (q *planned) Simulate(ctx context.Context, s *scene.Setting) (*scene.Outcome, error) {
	spec := q.spec
	spec.Calls = s.Calls
	out, err := Run(ctx, s.Machine, spec)
	if err != nil {
		return nil, err
	}
	return &scene.Outcome{Result: out.Of(s.Prog, out.Status == machine.StatusOK || out.Fault != nil), Simulation: out, Err: out.Err}, nil
}
