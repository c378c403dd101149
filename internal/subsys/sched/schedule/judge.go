package schedule

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/subsys/drive"
	"github.com/bpfrun/bpfrun/internal/subsys/scene"
	"github.com/bpfrun/bpfrun/internal/subsys/sched"
)

// judge compares what a schedule did with the expectations. Result is nil while only these are
// checked.
type judge struct {
	*grammar.Checks
	*planned
	*Result
	at    grammar.Pos
	tasks map[string]*sched.Task
}

// Judge implements [scene.Run].
func (s *planned) Judge(c *grammar.Checks, set *scene.Setting, expect scene.Expected, sim drive.Simulation) error {
	j := &judge{Checks: c, planned: s, at: set.Node.Pos, tasks: map[string]*sched.Task{}}
	n := expect("sched")
	if out, ok := sim.(*Result); ok {
		j.Result = out
		for _, t := range out.Tasks {
			j.tasks[t.Spec.Name] = t
		}
		j.exit(n)
	}
	if n == nil {
		return nil
	}
	return j.members(n)
}

// members checks what is expected under sched.
func (j *judge) members(n *grammar.Node) error {
	var wrong grammar.Mistakes
	if err := n.Fields(expectForm); err != nil {
		return err
	}
	if x := n.Get("exit"); x != nil && !slices.Contains(sched.ExitKinds(), x.Text) {
		wrong.Add(x.Unknown("exit", x.Text, sched.ExitKinds()))
	}
	if m := n.Get("message"); m != nil {
		wrong.Add(j.Text(m, "sched.message", func() string { return j.Exit.Message }))
	}
	if c := n.Get("code"); c != nil {
		wrong.Add(j.Number(c, "sched.code", func() float64 { return float64(j.Exit.Code) }))
	}
	tasks, err := n.Get("tasks").Members("tasks")
	wrong.Add(err)
	for _, p := range tasks {
		wrong.Add(j.group(p))
	}
	if f := n.Get("fair"); f != nil {
		wrong.Add(j.fair(f))
	}
	if b := n.Get("begins"); b != nil {
		wrong.Add(j.begins(b))
	}
	calls, err := n.Get("calls").Members("calls")
	wrong.Add(err)
	for _, p := range calls {
		wrong.Add(j.Number(p.Value, "sched.calls."+p.Key.Text, func() float64 { return float64(j.Result.Calls[sched.Op(p.Key.Text)]) }))
	}
	return wrong.Err()
}

// exit fails the run for an error of the scheduler that is not expected, or another end than the
// expected one.
func (j *judge) exit(n *grammar.Node) {
	got := j.Exit
	var want *grammar.Node
	if n != nil {
		want = n.Get("exit")
	}
	switch {
	case want != nil:
		j.Expect(want.Pos, "sched.exit", want.Text == got.Name(), want.Text, exitText(got))
	case got.Failed():
		j.Expect(j.at, "sched.exit", false, "no error", exitText(got))
	}
}

func exitText(e *sched.Exit) string {
	text := e.Name()
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text + " after " + time.Duration(e.At).String()
}

// group checks what is expected of the tasks of a name.
func (j *judge) group(p grammar.Pair) error {
	names := j.groups[p.Key.Text]
	if names == nil {
		return p.Key.Unknown("task", p.Key.Text, slices.Sorted(maps.Keys(j.groups)))
	}
	if err := p.Value.Fields(expectTaskForm); err != nil {
		return err
	}
	var wrong grammar.Mistakes
	for _, name := range names {
		for _, m := range p.Value.Pairs {
			wrong.Add(j.task(name, m.Key.Text, m.Value))
		}
	}
	return wrong.Err()
}

func (j *judge) task(name, what string, n *grammar.Node) error {
	full := "sched.tasks." + name + "." + what
	t := j.tasks[name]
	count := func(get func(*sched.Stats) int) func() float64 {
		return func() float64 { return float64(get(&t.Stats)) }
	}
	span := func(get func(*sched.Stats) uint64) func() float64 {
		return func() float64 { return float64(get(&t.Stats)) }
	}
	switch what {
	case "runtime":
		return j.Time(n, full, span(func(s *sched.Stats) uint64 { return s.Runtime }))
	case "max_wait":
		return j.Time(n, full, span(func(s *sched.Stats) uint64 { return s.MaxWait }))
	case "max_latency":
		return j.Time(n, full, span(func(s *sched.Stats) uint64 { return s.MaxLatency }))
	case "share":
		return j.Number(n, full, func() float64 { return math.Round(float64(t.Stats.Runtime)*1000/float64(max(j.Result.End, 1))) / 10 })
	case "wakeups":
		return j.Number(n, full, count(func(s *sched.Stats) int { return s.Wakeups }))
	case "runs":
		return j.Number(n, full, count(func(s *sched.Stats) int { return s.Runs }))
	case "preempted":
		return j.Number(n, full, count(func(s *sched.Stats) int { return s.Preempted }))
	case "migrations":
		return j.Number(n, full, count(func(s *sched.Stats) int { return s.Migrations }))
	case "exited":
		return j.Flag(n, "exited", full, func() bool { return t.Stats.Exited })
	case "cpus":
		want, err := decodeCPUs(n)
		if err == nil && !j.Checking {
			got := sched.MaskOf(slices.Collect(maps.Keys(t.Stats.ByCPU))...)
			j.Expect(n.Pos, full, got == want, want.String(), got.String())
		}
		return err
	}
	return nil
}

// fair checks that tasks ran in proportion to their weights.
func (j *judge) fair(n *grammar.Node) error {
	if err := n.Fields(expectFairForm); err != nil {
		return err
	}
	within, err := n.Get("within").Int("within", 0, 100)
	if err != nil {
		return err
	}
	var names []string
	for _, item := range n.Get("tasks").Items {
		group := j.groups[item.Text]
		if group == nil {
			return item.Unknown("task", item.Text, slices.Sorted(maps.Keys(j.groups)))
		}
		names = append(names, group...)
	}
	if len(names) < 2 {
		return n.Errorf("fair: want a list of at least two tasks")
	}
	if j.Checking {
		return nil
	}
	var ran, weights float64
	for _, name := range names {
		t := j.tasks[name]
		ran, weights = ran+float64(t.Stats.Runtime), weights+float64(t.Weight)
	}
	for _, name := range names {
		t := j.tasks[name]
		part := ran * float64(t.Weight) / weights
		off := math.Abs(float64(t.Stats.Runtime) - part)
		want := fmt.Sprintf("%v within %d%%", time.Duration(part).Round(time.Microsecond), within)
		j.Expect(n.Pos, "sched.fair."+name, off*100 <= part*float64(within), want, time.Duration(t.Stats.Runtime).String())
	}
	return nil
}

// begins compares the first parts of the schedule.
func (j *judge) begins(n *grammar.Node) error {
	if n.Kind != grammar.Sequence {
		return n.Errorf("begins: want a list such as [0 a 0s 4ms], got %s", n.Describe())
	}
	for i, item := range n.Items {
		words := strings.Fields(item.Text)
		if item.Kind != grammar.Scalar || len(words) != 4 {
			return item.Errorf("begins: want \"CPU TASK FROM TO\", got %s", item.Describe())
		}
		if j.Checking {
			continue
		}
		got := "nothing"
		if i < len(j.Segments) {
			got = segment(j.Segments[i])
		}
		want := strings.Join(words, " ")
		j.Expect(item.Pos, fmt.Sprintf("sched.begins[%d]", i), got == want, want, got)
	}
	return nil
}

// segment shows a part of a schedule as files write it.
func segment(s sched.Segment) string {
	return fmt.Sprintf("%d %s %v %v", s.CPU, s.Task.Spec.Name, time.Duration(s.From), time.Duration(s.To))
}
