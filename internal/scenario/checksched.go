package scenario

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/bpfrun/bpfrun/internal/subsys/sched"
)

// schedule compares what a schedule did with the expectations.
func (j *judge) schedule(e *Expect) error {
	n := e.Sched
	switch {
	case j.run.Sched == nil && n != nil:
		return n.errorf("sched: the run has no schedule")
	case j.run.Sched == nil:
		return nil
	}
	if j.checking {
		j.sched = &schedView{groups: j.run.Sched.groups}
	}
	var wrong mistakes
	if !j.checking {
		j.exit(n)
	}
	if n == nil {
		return nil
	}
	if err := n.fields(expectSchedForm); err != nil {
		return err
	}
	if x := n.Get("exit"); x != nil && !slices.Contains(sched.ExitKinds(), x.Text) {
		wrong.add(x.unknown("exit", x.Text, sched.ExitKinds()))
	}
	if m := n.Get("message"); m != nil {
		ms, err := j.text(m, "message", j.sched.message())
		if wrong.add(err) && !j.checking {
			j.mismatches(m, "sched.message", ms)
		}
	}
	if c := n.Get("code"); c != nil {
		wrong.add(j.number(c, "sched.code", func() float64 { return float64(j.sched.exit.Code) }))
	}
	tasks, err := n.Get("tasks").pairs("tasks")
	wrong.add(err)
	for _, p := range tasks {
		wrong.add(j.tasks(p))
	}
	if f := n.Get("fair"); f != nil {
		wrong.add(j.fair(f))
	}
	if b := n.Get("begins"); b != nil {
		wrong.add(j.begins(b))
	}
	calls, err := n.Get("calls").pairs("calls")
	wrong.add(err)
	for _, p := range calls {
		wrong.add(j.number(p.Value, "sched.calls."+p.Key.Text, func() float64 { return float64(j.sched.calls[sched.Op(p.Key.Text)]) }))
	}
	return wrong.err()
}

// schedView is a schedule as expectations see it.
type schedView struct {
	groups   map[string][]string
	exit     *sched.Exit
	end      uint64
	tasks    map[string]*sched.Task
	segments []sched.Segment
	calls    map[sched.Op]int
}

func (v *schedView) message() string {
	if v.exit == nil {
		return ""
	}
	return v.exit.Message
}

// exit fails the run for an error of the scheduler that is not expected, or another end than the
// expected one.
func (j *judge) exit(n *Node) {
	got := j.sched.exit
	var want *Node
	if n != nil {
		want = n.Get("exit")
	}
	switch {
	case want != nil:
		j.expect(want.Pos, "sched.exit", want.Text == got.Name(), want.Text, exitText(got))
	case got.Failed():
		j.expect(j.run.Sched.Node.Pos, "sched.exit", false, "no error", exitText(got))
	}
}

func exitText(e *sched.Exit) string {
	text := e.Name()
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text + " after " + time.Duration(e.At).String()
}

func (j *judge) text(n *Node, what, got string) ([]mismatch, error) {
	switch {
	case n.Kind != Scalar:
		return nil, n.errorf("%s: want a string, got %s", what, n.describe())
	case n.Tag == "!match":
		return matches(n, got, "sched."+what)
	case n.Text != got:
		return []mismatch{{n.Pos, "sched." + what, n.Text, got}}, nil
	}
	return nil, nil
}

// quantity compares a value of which files write a text: a number, or a duration.
func (j *judge) quantity(n *Node, what string, parse func(*Node) (float64, error), show func(float64) string, got func() float64) error {
	if n.Tag == "!any" {
		return nil
	}
	cond := conditions[n.Tag]
	if n.Tag != "" && cond == nil {
		return n.errorf("%s: %s does not fit here", what, n.Tag)
	}
	want, err := parse(n)
	if err != nil || j.checking {
		return err
	}
	c, word := 0, ""
	if g := got(); g < want {
		c = -1
	} else if g > want {
		c = 1
	}
	if cond == nil {
		cond = func(c int) bool { return c == 0 }
	} else {
		word = strings.TrimPrefix(n.Tag, "!") + " "
	}
	j.expect(n.Pos, what, cond(c), word+show(want), show(got()))
	return nil
}

func (j *judge) number(n *Node, what string, got func() float64) error {
	parse := func(n *Node) (float64, error) {
		v, err := n.int(what, math.MinInt64, math.MaxInt64)
		return float64(v), err
	}
	return j.quantity(n, what, parse, func(v float64) string { return fmt.Sprintf("%g", v) }, got)
}

func (j *judge) time(n *Node, what string, got func() float64) error {
	parse := func(n *Node) (float64, error) {
		d, err := n.duration(what)
		return float64(d), err
	}
	return j.quantity(n, what, parse, func(v float64) string { return time.Duration(v).String() }, got)
}

// tasks checks what is expected of the tasks of a name.
func (j *judge) tasks(p Pair) error {
	names := j.sched.groups[p.Key.Text]
	if names == nil {
		return p.Key.unknown("task", p.Key.Text, slices.Sorted(maps.Keys(j.sched.groups)))
	}
	if err := p.Value.fields(expectTaskForm); err != nil {
		return err
	}
	var wrong mistakes
	for _, name := range names {
		for _, m := range p.Value.Pairs {
			wrong.add(j.task(name, m.Key.Text, m.Value))
		}
	}
	return wrong.err()
}

func (j *judge) task(name, what string, n *Node) error {
	full := "sched.tasks." + name + "." + what
	t := j.sched.tasks[name]
	count := func(get func(*sched.Stats) int) func() float64 {
		return func() float64 { return float64(get(&t.Stats)) }
	}
	span := func(get func(*sched.Stats) uint64) func() float64 {
		return func() float64 { return float64(get(&t.Stats)) }
	}
	switch what {
	case "runtime":
		return j.time(n, full, span(func(s *sched.Stats) uint64 { return s.Runtime }))
	case "max_wait":
		return j.time(n, full, span(func(s *sched.Stats) uint64 { return s.MaxWait }))
	case "max_latency":
		return j.time(n, full, span(func(s *sched.Stats) uint64 { return s.MaxLatency }))
	case "share":
		return j.number(n, full, func() float64 { return math.Round(float64(t.Stats.Runtime)*1000/float64(max(j.sched.end, 1))) / 10 })
	case "wakeups":
		return j.number(n, full, count(func(s *sched.Stats) int { return s.Wakeups }))
	case "runs":
		return j.number(n, full, count(func(s *sched.Stats) int { return s.Runs }))
	case "preempted":
		return j.number(n, full, count(func(s *sched.Stats) int { return s.Preempted }))
	case "migrations":
		return j.number(n, full, count(func(s *sched.Stats) int { return s.Migrations }))
	case "exited":
		want, err := n.bool("exited")
		if err == nil && !j.checking {
			j.expect(n.Pos, full, want == t.Stats.Exited, fmt.Sprint(want), fmt.Sprint(t.Stats.Exited))
		}
		return err
	case "cpus":
		want, err := n.cpus()
		if err == nil && !j.checking {
			got := sched.MaskOf(slices.Collect(maps.Keys(t.Stats.ByCPU))...)
			j.expect(n.Pos, full, got == want, maskText(want), maskText(got))
		}
		return err
	}
	return nil
}

func maskText(m sched.Mask) string {
	var cpus []string
	for ; m != 0; m &= m - 1 {
		cpus = append(cpus, itoa(m.First()))
	}
	return "[" + strings.Join(cpus, ", ") + "]"
}

// fair checks that tasks ran in proportion to their weights.
func (j *judge) fair(n *Node) error {
	if err := n.fields(expectFairForm); err != nil {
		return err
	}
	within, err := n.Get("within").int("within", 0, 100)
	if err != nil {
		return err
	}
	var names []string
	for _, item := range n.Get("tasks").Items {
		group := j.sched.groups[item.Text]
		if group == nil {
			return item.unknown("task", item.Text, slices.Sorted(maps.Keys(j.sched.groups)))
		}
		names = append(names, group...)
	}
	if len(names) < 2 {
		return n.errorf("fair: want a list of at least two tasks")
	}
	if j.checking {
		return nil
	}
	var ran, weights float64
	for _, name := range names {
		t := j.sched.tasks[name]
		ran, weights = ran+float64(t.Stats.Runtime), weights+float64(t.Weight)
	}
	for _, name := range names {
		t := j.sched.tasks[name]
		part := ran * float64(t.Weight) / weights
		off := math.Abs(float64(t.Stats.Runtime) - part)
		want := fmt.Sprintf("%v within %d%%", time.Duration(part).Round(time.Microsecond), within)
		j.expect(n.Pos, "sched.fair."+name, off*100 <= part*float64(within), want, time.Duration(t.Stats.Runtime).String())
	}
	return nil
}

// begins compares the first parts of the schedule.
func (j *judge) begins(n *Node) error {
	if n.Kind != Sequence {
		return n.errorf("begins: want a list such as [0 a 0s 4ms], got %s", n.describe())
	}
	for i, item := range n.Items {
		words := strings.Fields(item.Text)
		if item.Kind != Scalar || len(words) != 4 {
			return item.errorf("begins: want \"CPU TASK FROM TO\", got %s", item.describe())
		}
		if j.checking {
			continue
		}
		got := "nothing"
		if i < len(j.sched.segments) {
			got = segment(j.sched.segments[i])
		}
		want := strings.Join(words, " ")
		j.expect(item.Pos, fmt.Sprintf("sched.begins[%d]", i), got == want, want, got)
	}
	return nil
}
