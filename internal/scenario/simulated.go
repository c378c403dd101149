package scenario

import (
	"context"
	"path/filepath"
	"slices"
	"sync"

	"github.com/bpfrun/bpfrun/internal/packet"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/subsys"
	"github.com/bpfrun/bpfrun/internal/subsys/scene"
	"github.com/bpfrun/bpfrun/loader"
)

// Simulated is a run of a subsystem.
type Simulated struct {
	scene.Run
	Form *scene.Form
	Node *grammar.Node
	once sync.Once
}

// runMembers are the keys of runs. Those of subsystems follow the programs.
func runMembers(own []grammar.Member) []grammar.Member {
	var theirs []grammar.Member
	for _, form := range subsys.Scenes() {
		theirs = append(theirs, form.Member)
	}
	at := slices.IndexFunc(own, func(m grammar.Member) bool { return m.Name == "chain" }) + 1
	return slices.Insert(own, at, theirs...)
}

// expectMembers are the keys of expectations.
func expectMembers(own []grammar.Member) []grammar.Member {
	for _, form := range subsys.Scenes() {
		own = append(own, form.Expect...)
	}
	return own
}

// decodeSimulated decodes what a run has of subsystems. One that has several is refused by the keys
// that each may have beside it.
func (f *File) decodeSimulated(r *Run, run *grammar.Node) error {
	var wrong grammar.Mistakes
	for _, form := range subsys.Scenes() {
		n := run.Get(form.Key())
		if n == nil {
			continue
		}
		for _, p := range run.Pairs {
			if key := p.Key.Text; form.Whole() && runForm.Has(key) && !slices.Contains(form.Only, key) {
				wrong.Add(p.Key.Errorf("a run with %s has no %s: %s calls the programs", form.Key(), key, form.Callers))
			}
		}
		read, err := form.Decode(n, valuesOf{f})
		if wrong.Add(err); read != nil && r.Simulated == nil {
			r.Simulated = &Simulated{Run: read, Form: form, Node: n}
		}
	}
	return wrong.Err()
}

// expectedOfSubsystems are the expectations whose keys are those of subsystems.
func expectedOfSubsystems(n *grammar.Node) (out []grammar.Pair) {
	for _, form := range subsys.Scenes() {
		for _, p := range n.Pairs {
			if form.Expects(p.Key.Text) {
				out = append(out, p)
			}
		}
	}
	return out
}

// valuesOf reads values of a file.
type valuesOf struct{ f *File }

// Bytes implements [scene.File].
func (v valuesOf) Bytes(what string, n *grammar.Node) ([]byte, error) { return v.f.bytes(what, n) }

// Packet implements [scene.File].
func (v valuesOf) Packet(what string, n *grammar.Node) ([]byte, error) {
	if n.Kind != grammar.Scalar {
		return nil, n.Errorf("%s: want an expression such as eth/ip/udp, hex digits or @FILE, got %s", what, n.Describe())
	}
	b, err := packet.Load(n.Text, filepath.Dir(v.f.Path))
	return b, packetError(n, what, err)
}

// whole reports whether the run is a simulation that calls the programs.
func (r *Run) whole() bool { return r.Simulated != nil && r.Simulated.Form.Whole() || r.Race != nil }

// choose finds in the object what the run is of, once: it is the same for all kernels.
func (s *Simulated) choose(r *Run, obj *loader.Object) error {
	prog, name, err := s.Choose(obj)
	if err != nil {
		return s.Node.Wrap("", err)
	}
	s.once.Do(func() {
		if prog != "" {
			r.Prog, r.ProgNode = prog, s.Node
		}
		if r.Name == "" {
			r.Name = name
		}
	})
	return nil
}

// simulates are the keys of the subsystems that runs of the file are of, among those whose programs
// cannot run alone.
func (f *File) simulates() (keys []string) {
	for _, s := range subsys.Systems() {
		used := slices.ContainsFunc(f.Runs, func(r *Run) bool { return r.Simulated != nil && r.Simulated.Form == s.Scene })
		if used && s.Kind != nil {
			keys = append(keys, s.Kind.Key)
		}
	}
	return keys
}

// Setting is what the subsystem of a run gets of the file and the machine.
func (r *Runner) Setting(run *Run) *scene.Setting {
	s := &scene.Setting{File: valuesOf{r.file}, Machine: r.m, Node: run.Simulated.Node, Prog: run.Prog}
	if p := r.input[run]; p != nil {
		s.Input = p.in
	}
	for _, name := range r.b.names {
		o := scene.Object{Name: name, Object: r.b.objects[name]}
		if def, ok := r.b.defs[name]; ok {
			o.Tag = def.Value.Tag
		}
		s.Objects = append(s.Objects, o)
	}
	return s
}

// checkSimulated finds the mistakes in what a run has of a subsystem.
func (r *Runner) checkSimulated(run *Run) error {
	s := run.Simulated
	if s == nil {
		return nil
	}
	if err := s.Check(r.Setting(run)); err != nil {
		return s.Node.Placed(s.Form.Key(), err)
	}
	return nil
}

// simulate executes a run of a subsystem.
func (r *Runner) simulate(ctx context.Context, run *Run, res *Result) error {
	s := run.Simulated
	out, err := s.Simulate(ctx, r.Setting(run))
	switch {
	case err != nil && ctx.Err() != nil:
		return err
	case err != nil:
		return s.Node.Wrap(s.Form.Key(), err)
	}
	res.Result, res.Simulation, res.Err = out.Result, out.Simulation, out.Err
	return nil
}

// simulation compares what a subsystem did with what is expected of it.
func (j *judge) simulation(e *Expect) error {
	s := j.run.Simulated
	var wrong grammar.Mistakes
	for _, form := range subsys.Scenes() {
		for _, p := range e.Simulated {
			if form.Expects(p.Key.Text) && (s == nil || s.Form != form) {
				wrong.Add(p.Value.Errorf("%s: %s", p.Key.Text, form.Missing))
			}
		}
	}
	if s == nil || wrong.Err() != nil {
		return wrong.Err()
	}
	return s.Judge(&j.Checks, j.r.Setting(j.run), func(key string) *grammar.Node {
		for _, p := range e.Simulated {
			if p.Key.Text == key {
				return p.Value
			}
		}
		return nil
	}, j.simulated)
}
