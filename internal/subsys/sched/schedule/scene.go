package schedule

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/subsys/scene"
	"github.com/bpfrun/bpfrun/internal/subsys/sched"
	"github.com/bpfrun/bpfrun/loader"
)

// planned is a schedule of a scenario file.
type planned struct {
	ops string
	// smt, llc and numa are the numbers of CPUs of a core, a cache and a node; 0 means the default.
	smt, llc, numa int
	// apart means that the CPUs of a core do not have consecutive numbers.
	apart    bool
	duration time.Duration
	tasks    []sched.TaskSpec
	// groups are the names of tasks by the name in the file.
	groups map[string][]string
}

// decode decodes a run's schedule.
func decode(n *grammar.Node, _ scene.File) (scene.Run, error) {
	s := &planned{duration: time.Second, groups: map[string][]string{}}
	var wrong grammar.Mistakes
	if wrong.Add(n.Fields(runForm)); n.Kind != grammar.Mapping {
		return s, wrong.Err()
	}
	if v := n.Get("ops"); v != nil {
		var err error
		s.ops, err = v.NonEmpty("ops")
		wrong.Add(err)
	}
	if v := n.Get("duration"); v != nil {
		var err error
		s.duration, err = v.Duration("duration")
		wrong.Add(err)
	}
	for name, to := range map[string]*int{"smt": &s.smt, "llc": &s.llc, "node": &s.numa} {
		if v := n.Get(name); v != nil {
			var err error
			*to, err = v.Int(name, 1, sched.MaxCPUs)
			wrong.Add(err)
		}
	}
	if v := n.Get("siblings"); v != nil {
		if s.apart = v.Text == "apart"; !s.apart && v.Text != "adjacent" {
			wrong.Add(v.Unknown("siblings", v.Text, []string{"adjacent", "apart"}))
		}
	}
	tasks, err := n.Get("tasks").Members("tasks")
	wrong.Add(err)
	for _, p := range tasks {
		wrong.Add(s.decodeTask(p.Key.Text, p.Value))
	}
	return s, wrong.Err()
}

// decodeTask decodes the tasks of one name.
func (s *planned) decodeTask(name string, n *grammar.Node) error {
	if err := n.Fields(taskForm); err != nil {
		return err
	}
	t := sched.TaskSpec{Name: name, Times: sched.Forever}
	count := 0
	var wrong grammar.Mistakes
	for _, m := range []struct {
		name       string
		to         *int
		least, max int64
	}{{"count", &count, 1, sched.MaxTasks}, {"nice", &t.Nice, -20, 19}, {"cpu", &t.CPU, 0, sched.MaxCPUs - 1}, {"times", &t.Times, 1, 1 << 30}} {
		if v := n.Get(m.name); v != nil {
			var err error
			*m.to, err = v.Int(m.name, m.least, m.max)
			wrong.Add(err)
		}
	}
	if v := n.Get("cpus"); v != nil {
		var err error
		t.Allowed, err = decodeCPUs(v)
		wrong.Add(err)
	}
	if v := n.Get("cgroup"); v != nil {
		var err error
		if t.Cgroup, err = v.NonEmpty("cgroup"); err == nil && !strings.HasPrefix(t.Cgroup, "/") {
			err = v.Errorf("cgroup: want an absolute path such as /a, got %s", v.Text)
		}
		wrong.Add(err)
	}
	if v := n.Get("class"); v != nil {
		class, ok := classes[v.Text]
		if t.Class = class; !ok {
			wrong.Add(v.Unknown("class", v.Text, []string{"above", "ext"}))
		}
	}
	if v := n.Get("start"); v != nil {
		var err error
		t.Start, err = v.Duration("start")
		wrong.Add(err)
	}
	do := n.Get("do")
	if do.Kind != grammar.Sequence {
		wrong.Add(do.Errorf("do: want a list of steps, got %s", do.Describe()))
	}
	for _, item := range do.Items {
		step, err := decodeStep(item)
		wrong.Add(err)
		t.Steps = append(t.Steps, step)
	}
	if len(s.tasks)+max(count, 1) > sched.MaxTasks {
		wrong.Add(n.Errorf("task %s: a schedule has at most %d tasks", name, sched.MaxTasks))
		return wrong.Err()
	}
	if count == 0 {
		s.groups[name] = []string{name}
		s.tasks = append(s.tasks, t)
		return wrong.Err()
	}
	for i := range count {
		one := t
		one.Name = name + strconv.Itoa(i)
		s.groups[name] = append(s.groups[name], one.Name)
		s.groups[one.Name] = []string{one.Name}
		s.tasks = append(s.tasks, one)
	}
	return wrong.Err()
}

// cpus decodes a list of CPUs.
func decodeCPUs(n *grammar.Node) (m sched.Mask, err error) {
	if n.Kind != grammar.Sequence {
		return m, n.Errorf("cpus: want a list of CPUs, got %s", n.Describe())
	}
	for _, item := range n.Items {
		cpu, err := item.Int("cpus", 0, sched.MaxCPUs-1)
		if err != nil {
			return m, err
		}
		m.Add(cpu)
	}
	return m, nil
}

// step decodes a step of a timeline.
func decodeStep(n *grammar.Node) (s sched.Step, err error) {
	words := strings.Fields(n.Text)
	if n.Kind != grammar.Scalar || len(words) == 0 {
		return s, n.Errorf("do: want a step such as run 5ms, got %s", n.Describe())
	}
	arg := func(i int) *grammar.Node {
		if i < len(words) {
			return &grammar.Node{Pos: n.Pos, Kind: grammar.Scalar, Text: words[i]}
		}
		return &grammar.Node{Pos: n.Pos, Kind: grammar.Null}
	}
	most := 2
	switch words[0] {
	case "run", "sleep":
		s.Kind = map[string]sched.StepKind{"run": sched.DoRun, "sleep": sched.DoSleep}[words[0]]
		s.For, err = arg(1).Duration(words[0])
	case "exit":
		if s.Kind = sched.DoExit; len(words) > 1 {
			s.For, err = arg(1).Duration("exit")
		}
	case "wait", "yield":
		s.Kind = map[string]sched.StepKind{"wait": sched.DoWait, "yield": sched.DoYield}[words[0]]
		most = 1
	case "wake":
		most = 3
		s.Kind, s.Sync = sched.DoWake, len(words) == 3
		if s.Task, err = arg(1).NonEmpty("wake"); s.Sync && words[2] != "sync" {
			err = n.Errorf("do: want wake TASK sync, got %s", n.Text)
		}
	case "nice":
		s.Kind = sched.DoNice
		s.Nice, err = arg(1).Int("nice", -20, 19)
	case "cgroup":
		s.Kind = sched.DoMove
		s.To, err = arg(1).NonEmpty("cgroup")
	case "cgroup-weight":
		s.Kind, most = sched.DoGroupWeight, 3
		weight := 0
		if s.To, err = arg(1).NonEmpty("cgroup-weight"); err == nil {
			weight, err = arg(2).Int("cgroup-weight", 1, 10_000)
		}
		s.Weight = uint32(weight)
	case "cgroup-idle":
		s.Kind, most = sched.DoGroupIdle, 3
		idle := 0
		if s.To, err = arg(1).NonEmpty("cgroup-idle"); err == nil {
			idle, err = arg(2).Int("cgroup-idle", 0, 1)
		}
		s.Idle = idle == 1
	case "cgroup-max":
		s.Kind, most, s.Period = sched.DoGroupMax, 4, 100*time.Millisecond
		if s.To, err = arg(1).NonEmpty("cgroup-max"); err == nil && (len(words) < 3 || words[2] != "max") {
			s.Quota, err = arg(2).Duration("cgroup-max")
		}
		if err == nil && len(words) > 3 {
			s.Period, err = arg(3).Duration("cgroup-max")
		}
	case "cpus":
		s.Kind, most = sched.DoAffinity, len(words)
		for i := range words[1:] {
			cpu, e := arg(i+1).Int("cpus", 0, sched.MaxCPUs-1)
			if e != nil {
				return s, e
			}
			s.CPUs.Add(cpu)
		}
	default:
		return s, n.Unknown("step", words[0], []string{"run", "sleep", "wait", "wake", "yield", "nice", "cpus", "cgroup", "cgroup-weight", "cgroup-idle", "cgroup-max", "exit"})
	}
	if err == nil && len(words) > most {
		err = n.Errorf("do: %s has too many words", n.Text)
	}
	return s, err
}

// Choose implements [scene.Run].
func (s *planned) Choose(obj *loader.Object) (prog, name string, err error) {
	ops, err := Kind().Choose(obj, s.ops)
	return Kind().Program(obj, ops), ops, err
}

// spec returns the schedule for a machine.
func (s *planned) spec(m *machine.Machine) Spec {
	topology := sched.Topology
	if s.apart {
		topology = sched.Apart
	}
	return Spec{
		Ops: s.ops, Duration: s.duration, Tasks: slices.Clone(s.tasks), HZ: int(m.Kernel().Clock().HZ),
		CPUs: topology(m.Kernel().CPUs(), s.smt, s.llc, s.numa),
	}
}

// Check implements [scene.Run]: what is wrong with a schedule whatever the scheduler does.
func (s *planned) Check(set *scene.Setting) error {
	spec := s.spec(set.Machine)
	return sched.Check(sched.Config{CPUs: spec.CPUs, HZ: spec.HZ, Duration: spec.Duration, Tasks: spec.Tasks})
}

// Simulate implements [scene.Run].
func (s *planned) Simulate(ctx context.Context, set *scene.Setting) (*scene.Outcome, error) {
	spec := s.spec(set.Machine)
	spec.Calls = set.Calls
	out, err := Run(ctx, set.Machine, spec)
	if err != nil {
		return nil, err
	}
	return &scene.Outcome{Result: out.Of(set.Prog, out.Exit != nil && (out.Err == nil || out.Fault != nil)), Simulation: out, Err: out.Err}, nil
}
