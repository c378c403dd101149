package connection

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/subsys/drive"
	"github.com/bpfrun/bpfrun/internal/subsys/scene"
	"github.com/bpfrun/bpfrun/internal/subsys/tcpcc"
)

// judge compares what became of a connection with the expectations. Result is nil while only these
// are checked.
type judge struct {
	*grammar.Checks
	*Result
}

// Judge implements [scene.Run].
func (p *planned) Judge(c *grammar.Checks, _ *scene.Setting, expect scene.Expected, sim drive.Simulation) error {
	n := expect("tcp")
	if n == nil {
		return nil
	}
	if err := n.Fields(expectForm); err != nil {
		return err
	}
	j := &judge{Checks: c}
	j.Result, _ = sim.(*Result)
	var wrong grammar.Mistakes
	for _, m := range n.Pairs {
		wrong.Add(j.member(m.Key.Text, m.Value))
	}
	return wrong.Err()
}

func (j *judge) member(name string, n *grammar.Node) error {
	what := "tcp." + name
	counts := map[string]func() int{
		"cwnd": func() int { return int(j.Cwnd) }, "ssthresh": func() int { return int(j.SSThresh) },
		"most_cwnd": func() int { return int(j.MostCwnd) }, "least_cwnd": func() int { return int(j.LeastCwnd) },
		"acked": func() int { return j.Result.Acked }, "sent": func() int { return j.Sent }, "retransmitted": func() int { return j.Retransmitted },
		"lost": func() int { return j.Lost }, "recoveries": func() int { return j.Recoveries }, "timeouts": func() int { return j.Timeouts },
		"undone": func() int { return j.Undone }, "most_queue": func() int { return j.MostQueue },
	}
	times := map[string]func() uint64{
		"mean_rtt": func() uint64 { return mean(j.Result.Result) }, "max_rtt": func() uint64 { return j.MaxRTT }, "time": func() uint64 { return j.End },
	}
	if get := counts[name]; get != nil {
		return j.Number(n, what, func() float64 { return float64(get()) })
	}
	if get := times[name]; get != nil {
		return j.Time(n, what, func() float64 { return float64(get()) })
	}
	switch name {
	case "rate":
		parse := func(n *grammar.Node) (float64, error) {
			v, err := n.Rate("rate", tcpcc.MaxRate)
			return float64(v), err
		}
		return j.Quantity(n, what, parse, func(v float64) string { return fmt.Sprintf("%.0f bit/s", v) }, func() float64 { return j.Throughput() })
	case "windows":
		return j.windows(n)
	}
	return j.calls(n)
}

// windows compares the first windows.
func (j *judge) windows(n *grammar.Node) error {
	if n.Kind != grammar.Sequence {
		return n.Errorf("windows: want a list such as [10, 11], got %s", n.Describe())
	}
	var got []uint32
	if !j.Checking {
		for _, p := range j.Points {
			if len(got) == 0 || got[len(got)-1] != p.Cwnd {
				got = append(got, p.Cwnd)
			}
		}
	}
	var wrong grammar.Mistakes
	for i, item := range n.Items {
		want, err := item.Int("windows", 0, 1<<32-1)
		if !wrong.Add(err) || j.Checking {
			continue
		}
		have := "nothing"
		if i < len(got) {
			have = strconv.Itoa(int(got[i]))
		}
		j.Expect(item.Pos, fmt.Sprintf("tcp.windows[%d]", i), have == strconv.Itoa(want), strconv.Itoa(want), have)
	}
	return wrong.Err()
}

// calls compares how often operations were called.
func (j *judge) calls(n *grammar.Node) error {
	pairs, err := n.Members("calls")
	if err != nil {
		return err
	}
	var names []string
	for _, op := range tcpcc.Operations {
		names = append(names, string(op))
	}
	var wrong grammar.Mistakes
	for _, p := range pairs {
		if !slices.Contains(names, p.Key.Text) {
			wrong.Add(p.Key.Unknown("operation", p.Key.Text, names))
			continue
		}
		wrong.Add(j.Number(p.Value, "tcp.calls."+p.Key.Text, func() float64 { return float64(j.Calls[tcpcc.Op(p.Key.Text)]) }))
	}
	return wrong.Err()
}
