package traffic

import (
	"fmt"
	"math"
	"slices"

	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/subsys/drive"
	"github.com/bpfrun/bpfrun/internal/subsys/qdisc"
	"github.com/bpfrun/bpfrun/internal/subsys/scene"
)

// judge compares what a queueing discipline did with the expectations.
type judge struct {
	*grammar.Checks
	at    grammar.Pos
	known []string // names of flows
	t     *view    // nil while only expectations are checked
}

// view is traffic as expectations see it.
type view struct {
	*Result
	flows                         map[string]*qdisc.FlowResult
	sent, dropped, purged, leaked int
	lost                          []string
}

func newView(r *Result) *view {
	v := &view{Result: r, flows: map[string]*qdisc.FlowResult{}}
	for _, f := range r.Flows() {
		v.flows[f.Flow.Name] = f
		v.sent, v.dropped, v.purged, v.leaked = v.sent+f.Sent, v.dropped+f.Dropped, v.purged+f.Purged, v.leaked+f.Leaked
	}
	for _, p := range r.Packets {
		if p.Fate() == qdisc.FateDropped {
			v.lost = append(v.lost, p.Name())
		}
	}
	return v
}

// flow returns what happened to a flow, of which perhaps no packet arrived.
func (v *view) flow(name string) *qdisc.FlowResult {
	if f := v.flows[name]; f != nil {
		return f
	}
	return &qdisc.FlowResult{}
}

// Judge implements [scene.Run].
func (q *planned) Judge(c *grammar.Checks, s *scene.Setting, expect scene.Expected, sim drive.Simulation) error {
	j := &judge{Checks: c, at: s.Node.Pos}
	for i := range q.spec.Flows {
		j.known = append(j.known, q.spec.Flows[i].Name)
	}
	n := expect("qdisc")
	if out, ok := sim.(*Result); ok {
		j.t = newView(out)
		j.sound(n)
	}
	if n == nil {
		return nil
	}
	if err := n.Fields(expectForm); err != nil {
		return err
	}
	var wrong grammar.Mistakes
	for _, p := range n.Pairs {
		wrong.Add(j.queueMember(p.Key.Text, p.Value))
	}
	return wrong.Err()
}

// sound fails the run for what no discipline should do, unless it is expected.
func (j *judge) sound(n *grammar.Node) {
	t := j.t
	has := func(key string) bool { return n != nil && n.Get(key) != nil }
	at := j.at
	if t.leaked > 0 && !has("leaked") {
		j.Expect(at, "qdisc.leaked", false, "0", fmt.Sprintf("%d, of which the first is %s", t.leaked, t.Leaked[0].Name()))
	}
	if t.Stalled && !has("stalled") {
		j.Expect(at, "qdisc.stalled", false, "false", fmt.Sprintf("true: nothing makes the kernel ask for %d packets", t.Held))
	}
	if q := t.Fields[qdisc.FieldQlen]; q != uint64(t.Held) && !has("qlen") {
		j.Expect(at, "qdisc.qlen", false, fmt.Sprint(t.Held), fmt.Sprint(q))
	}
}

func (j *judge) queueMember(name string, n *grammar.Node) error {
	what := "qdisc." + name
	count := func(get func(*view) int) error {
		return j.Number(n, what, func() float64 { return float64(get(j.t)) })
	}
	field := func(f qdisc.Field) error {
		return j.Number(n, what, func() float64 { return float64(j.t.Fields[f]) })
	}
	switch name {
	case "sent":
		return count(func(t *view) int { return t.sent })
	case "dropped":
		return count(func(t *view) int { return t.dropped })
	case "purged":
		return count(func(t *view) int { return t.purged })
	case "leaked":
		return count(func(t *view) int { return t.leaked })
	case "held":
		return count(func(t *view) int { return t.Held })
	case "most_held":
		return count(func(t *view) int { return t.MostHeld })
	case "most_bytes":
		return count(func(t *view) int { return t.MostHeldBytes })
	case "watchdogs":
		return count(func(t *view) int { return t.Watchdogs })
	case "qlen":
		return field(qdisc.FieldQlen)
	case "backlog":
		return field(qdisc.FieldBacklog)
	case "drops":
		return field(qdisc.FieldDrops)
	case "requeues":
		return field(qdisc.FieldRequeues)
	case "bytes":
		return field(qdisc.FieldBytes)
	case "packets":
		return field(qdisc.FieldPackets)
	case "stalled":
		return j.Flag(n, "stalled", what, func() bool { return j.t.Stalled })
	case "order":
		return j.names(n, what, false, func() []string {
			var out []string
			for _, p := range j.t.Left {
				out = append(out, p.Name())
			}
			return out
		})
	case "lost":
		return j.names(n, what, true, func() []string { return j.t.lost })
	case "fair":
		return j.fairFlows(n)
	}
	return j.queueMap(name, n)
}

// queueMap checks the members that are mappings: calls and flows.
func (j *judge) queueMap(name string, n *grammar.Node) error {
	pairs, err := n.Members(name)
	if err != nil {
		return err
	}
	var wrong grammar.Mistakes
	for _, p := range pairs {
		if name == "calls" {
			op := qdisc.Op(p.Key.Text)
			if !slices.Contains(qdisc.Operations, op) {
				wrong.Add(p.Key.Unknown("operation", p.Key.Text, opNames()))
				continue
			}
			wrong.Add(j.Number(p.Value, "qdisc.calls."+p.Key.Text, func() float64 { return float64(j.t.Calls[op]) }))
			continue
		}
		if err := j.knownFlow(p.Key); !wrong.Add(err) {
			continue
		}
		if err := p.Value.Fields(expectFlowForm); !wrong.Add(err) {
			continue
		}
		for _, m := range p.Value.Pairs {
			wrong.Add(j.flow(p.Key.Text, m.Key.Text, m.Value))
		}
	}
	return wrong.Err()
}

func opNames() []string {
	var out []string
	for _, op := range qdisc.Operations {
		out = append(out, string(op))
	}
	return out
}

// knownFlow checks the name of a flow.
func (j *judge) knownFlow(n *grammar.Node) error {
	if !slices.Contains(j.known, n.Text) {
		return n.Unknown("flow", n.Text, j.known)
	}
	return nil
}

// flow checks what is expected of one flow.
func (j *judge) flow(name, what string, n *grammar.Node) error {
	full := "qdisc.flows." + name + "." + what
	wait := func(percent float64) error {
		return j.Time(n, full, func() float64 { return float64(j.t.flow(name).Wait(percent)) })
	}
	count := func(get func(*qdisc.FlowResult) float64) error {
		return j.Number(n, full, func() float64 { return get(j.t.flow(name)) })
	}
	switch what {
	case "sent":
		return count(func(f *qdisc.FlowResult) float64 { return float64(f.Sent) })
	case "dropped":
		return count(func(f *qdisc.FlowResult) float64 { return float64(f.Dropped) })
	case "bytes":
		return count(func(f *qdisc.FlowResult) float64 { return float64(f.SentBytes) })
	case "rate":
		parse := func(n *grammar.Node) (float64, error) {
			v, err := n.Rate("rate", qdisc.MaxRate)
			return float64(v), err
		}
		show := func(v float64) string { return fmt.Sprintf("%.0f bit/s", v) }
		return j.Quantity(n, full, parse, show, func() float64 { return j.t.flow(name).Throughput(j.t.End) })
	case "max_wait":
		return wait(100)
	case "p50_wait":
		return wait(50)
	case "p99_wait":
		return wait(99)
	case "mean_wait":
		return j.Time(n, full, func() float64 { return float64(j.t.flow(name).MeanWait()) })
	}
	return nil
}

// names compares a list of packets: all of them, or the first.
func (j *judge) names(n *grammar.Node, what string, all bool, got func() []string) error {
	if n.Kind != grammar.Sequence {
		return n.Errorf("%s: want a list such as [a#1, b#1], got %s", what, n.Describe())
	}
	for _, item := range n.Items {
		if item.Kind != grammar.Scalar {
			return item.Errorf("%s: want a packet such as a#1, got %s", what, item.Describe())
		}
	}
	if j.Checking {
		return nil
	}
	have := got()
	for i, item := range n.Items {
		name := "nothing"
		if i < len(have) {
			name = have[i]
		}
		j.Expect(item.Pos, fmt.Sprintf("%s[%d]", what, i), name == item.Text, item.Text, name)
	}
	if all {
		j.Expect(n.Pos, what, len(have) == len(n.Items), fmt.Sprintf("%d packets", len(n.Items)), fmt.Sprintf("%d packets", len(have)))
	}
	return nil
}

// fairFlows checks that flows sent as many bytes.
func (j *judge) fairFlows(n *grammar.Node) error {
	if err := n.Fields(expectFairForm); err != nil {
		return err
	}
	within, err := n.Get("within").Int("within", 0, 100)
	if err != nil {
		return err
	}
	items := n.Get("flows").Items
	for _, item := range items {
		if err := j.knownFlow(item); err != nil {
			return err
		}
	}
	if len(items) < 2 {
		return n.Errorf("fair: want a list of at least two flows")
	}
	if j.Checking {
		return nil
	}
	var sum float64
	for _, item := range items {
		sum += float64(j.t.flow(item.Text).SentBytes)
	}
	mean := sum / float64(len(items))
	for _, item := range items {
		got := float64(j.t.flow(item.Text).SentBytes)
		want := fmt.Sprintf("%.0f bytes within %d%%", mean, within)
		j.Expect(n.Pos, "qdisc.fair."+item.Text, math.Abs(got-mean)*100 <= mean*float64(within), want, fmt.Sprintf("%.0f bytes", got))
	}
	return nil
}
