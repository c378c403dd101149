package connection

import (
	"context"
	"time"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/subsys/scene"
	"github.com/bpfrun/bpfrun/internal/subsys/tcpcc"
	"github.com/bpfrun/bpfrun/loader"
)

// planned is a connection of a scenario file.
type planned struct{ spec Spec }

// decode decodes a run's connection.
func decode(n *grammar.Node, _ scene.File) (scene.Run, error) {
	p := &planned{Spec{Config: tcpcc.Config{
		Rate: tcpcc.DefaultRate, RTT: tcpcc.DefaultRTT, Queue: tcpcc.DefaultQueue, Duration: tcpcc.DefaultDuration, Late: map[int]time.Duration{},
	}}}
	c := &p.spec.Config
	var wrong grammar.Mistakes
	if wrong.Add(n.Fields(runForm)); n.Kind != grammar.Mapping {
		return p, wrong.Err()
	}
	var err error
	if v := n.Get("ops"); v != nil {
		p.spec.Ops, err = v.NonEmpty("ops")
		wrong.Add(err)
	}
	if v := n.Get("rate"); v != nil {
		c.Rate, err = v.Rate("rate", tcpcc.MaxRate)
		wrong.Add(err)
	}
	if v := n.Get("rtt"); v != nil {
		c.RTT, err = v.Duration("rtt")
		wrong.Add(err)
	}
	if v := n.Get("duration"); v != nil {
		c.Duration, err = v.Duration("duration")
		wrong.Add(err)
	}
	wrong.Add(n.Ints(grammar.IntOf("queue", &c.Queue, 1, tcpcc.MaxQueue), grammar.IntOf("segments", &c.Segments, 1, tcpcc.MaxSegments)))
	if v := n.Get("drops"); v != nil {
		if v.Kind != grammar.Sequence {
			wrong.Add(v.Errorf("drops: want a list of segments, got %s", v.Describe()))
		}
		for _, item := range v.Items {
			segment, err := item.Int("drops", 1, tcpcc.MaxSegments)
			wrong.Add(err)
			c.Drops = append(c.Drops, segment)
		}
	}
	late, err := n.Get("late").Members("late")
	wrong.Add(err)
	for _, m := range late {
		segment, err := m.Key.Int("late", 1, tcpcc.MaxSegments)
		wrong.Add(err)
		c.Late[segment], err = m.Value.Duration("late")
		wrong.Add(err)
	}
	if err := wrong.Err(); err != nil {
		return p, err
	}
	if err := tcpcc.Check(*c); err != nil {
		return p, n.Wrap("tcp", err)
	}
	return p, nil
}

// Choose implements [scene.Run].
func (p *planned) Choose(obj *loader.Object) (prog, name string, err error) {
	ops, err := Kind().Choose(obj, p.spec.Ops)
	return Kind().Program(obj, ops), ops, err
}

// Check implements [scene.Run]: the connection was checked when it was read.
func (p *planned) Check(*scene.Setting) error { return nil }

// Simulate implements [scene.Run].
func (p *planned) Simulate(ctx context.Context, s *scene.Setting) (*scene.Outcome, error) {
	out, err := Run(ctx, s.Machine, p.spec)
	if err != nil {
		return nil, err
	}
	return &scene.Outcome{Result: out.Of(s.Prog, out.Status == machine.StatusOK || out.Fault != nil), Simulation: out, Err: out.Err}, nil
}
