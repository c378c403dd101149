package race

import (
	"context"
	"slices"
	"time"

	"github.com/bpfrun/bpfrun/internal/machine"
)

// state is what a meeting is explored from.
type state struct {
	// before are programs that run before, in order; all means that the actors' own do.
	before []string
	own    bool
	// further means that the actors get the inputs that were found to get further.
	further bool
	// named are programs that a user wants to have run before; history means that all runs that a
	// user wrote have.
	named   []string
	history bool
	// oneTask means that the programs before run in the task of the first actor alone, for the
	// objects of each: two requests of one thread end on two CPUs.
	oneTask bool
}

// Explore explores the orders of a meeting several times: from the machine's state, from the one
// that a run of each program leaves, and from one in which the object's other programs have added
// what these look up, with inputs that get further. Much goes wrong only once an element is there.
// The machine's state is the same afterwards. The error is that of ctx, with a report of what was
// found until then, or a [*NotRunnableError].
func Explore(ctx context.Context, m *machine.Machine, meeting Meeting, cfg Config) (*Report, error) {
	states := cfg.states(meeting)
	start := m.Snapshot()
	defer m.Restore(start)
	all := &Report{Actors: meeting.Actors, Complete: true}
	for i, st := range states {
		m.Restore(start)
		each := cfg
		if cfg.Most > 0 {
			if each.Most = (cfg.Most - all.Orders) / (len(states) - i); each.Most <= 0 {
				all.Complete = false
				continue
			}
		}
		if !cfg.Until.IsZero() {
			each.Until = time.Now().Add(time.Until(cfg.Until) / time.Duration(len(states)-i))
		}
		actors := meeting.Actors
		if st.further {
			actors = cfg.Prepared.actors(m, actors)
		}
		actors = Apart(m, actors)
		if st.oneTask && !slices.ContainsFunc(actors, func(a Actor) bool { return a.twins.any(a.Input) }) {
			continue
		}
		ok, ran, err := bring(ctx, m, actors, &cfg, st)
		if err != nil {
			return all.partial(), err
		}
		if ok {
			ok, err = Arm(ctx, m, actors)
		}
		if err != nil {
			return all.partial(), err
		}
		if !ok {
			continue
		}
		if cfg.Scene != nil && cfg.Scene.Check != nil {
			each.Check = cfg.Scene.Check(ran + programs(actors))
		}
		r, err := Run(ctx, m, actors, each)
		if r == nil {
			return all.partial(), err
		}
		all.Orders += r.Orders
		all.Complete = all.Complete && r.Complete
		all.Insns = max(all.Insns, r.Insns)
		for _, f := range r.Findings {
			f.After, f.Before, f.Assumes = st.own, slices.Concat(st.before, st.named), meeting.Assumes
			if st.history {
				for _, g := range cfg.Scene.Runs {
					f.Before = append(f.Before, g.Name)
				}
			}
			if st.further {
				f.Inputs = cfg.Prepared.told(actors)
			}
			if !all.has(&f) {
				all.Findings = append(all.Findings, f)
			}
		}
		if err != nil {
			return all.partial(), err
		}
	}
	sortFindings(all.Findings)
	return all, nil
}

// partial returns a report that was interrupted.
func (r *Report) partial() *Report {
	r.Complete = false
	sortFindings(r.Findings)
	return r
}

// states lists what a meeting is explored from.
func (cfg *Config) states(meeting Meeting) []state {
	if meeting.Written {
		return []state{{named: meeting.Before}}
	}
	out := append([]state{{}, {own: true}}, cfg.Prepared.states(meeting)...)
	if cfg.Scene != nil && len(cfg.Scene.Runs) > 0 {
		out = append(out, state{history: true})
	}
	return out
}

// programs counts the actors that are programs.
func programs(actors []Actor) (n int) {
	for i := range actors {
		if actors[i].User == nil && actors[i].Callback == nil {
			n++
		}
	}
	return n
}

// bring runs what a state wants to have run, and counts it. false means that a program faults.
func bring(ctx context.Context, m *machine.Machine, actors []Actor, cfg *Config, st state) (ok bool, ran int, err error) {
	run := func(name string, in machine.Input) (bool, error) {
		ran++
		res, err := m.Run(ctx, name, in)
		return err == nil && res.Fault == nil, err
	}
	if st.history {
		for _, g := range cfg.Scene.Runs {
			if _, err := run(g.Program, g.Input); err != nil { // a run may be one that must fault
				return false, ran, err
			}
		}
	}
	for _, name := range st.named {
		inputs := Before(actors, name)
		if len(inputs) == 0 {
			inputs = []machine.Input{{}}
		}
		for _, in := range inputs {
			if ok, err := run(name, in); !ok {
				return false, ran, err
			}
		}
	}
	for i := range actors {
		a := &actors[i]
		if !st.own || i > 0 && a.Program == actors[i-1].Program {
			continue // the same again
		}
		for _, in := range Before(actors, a.Program) {
			if ok, err := run(a.Program, in); !ok {
				return false, ran, err
			}
		}
	}
	for _, name := range st.before {
		for i := range actors { // in the task of each actor
			in := cfg.Prepared.inputs[name].input
			in.CPU, in.Current = actors[i].Input.CPU, actors[i].Input.Current
			if st.oneTask {
				in.CPU, in.Current = actors[0].Input.CPU, actors[0].Input.Current
			}
			in = actors[i].twins.input(name, in)
			if i > 0 && in.CPU == actors[0].Input.CPU && in.Current == actors[0].Input.Current && !actors[i].twins.any(in) {
				continue
			}
			if ok, err := run(name, in); !ok {
				return false, ran, err
			}
		}
	}
	return true, ran, nil
}

// states lists what a meeting is explored from besides the usual: the elements that other programs
// add, and inputs that get further.
func (p *Prepared) states(meeting Meeting) []state {
	if p == nil {
		return nil
	}
	further := slices.ContainsFunc(meeting.Actors, func(a Actor) bool { _, ok := p.inputs[a.Program]; return ok && !a.given })
	if !further && len(p.producers) == 0 {
		return nil
	}
	out := []state{{before: p.producers, further: further}}
	if len(p.producers) > 0 {
		out = append(out, state{before: p.producers, further: further, oneTask: true})
	}
	if further && len(p.producers) > 0 {
		out = append(out, state{further: true})
	}
	return out
}

// actors returns actors with inputs that get further.
func (p *Prepared) actors(m *machine.Machine, actors []Actor) []Actor {
	out := slices.Clone(actors)
	for i := range out {
		in, ok := p.inputs[out[i].Program]
		if !ok || out[i].given {
			continue
		}
		was := out[i].Input
		out[i].Input, out[i].further = in.input, &in
		out[i].Input.CPU, out[i].Input.Current = was.CPU, was.Current
		in.write(m, nil)
	}
	return out
}

// told lists the inputs of actors that are not the default ones.
func (p *Prepared) told(actors []Actor) []string {
	var out []string
	for i, name := range Names(actors) {
		if in := actors[i].further; in != nil {
			for _, text := range in.text {
				out = append(out, name+": "+text)
			}
		}
	}
	return out
}

// Drop removes the findings that are known, and adds the others to those. Known are lines that
// interfere on two CPUs, or in the middle of each other: several runs of a program have the same.
func (r *Report) Drop(known map[string]bool) {
	r.Findings = slices.DeleteFunc(r.Findings, func(f Finding) bool {
		key := f.about()
		if interrupts(f.Actors) != 0 {
			key += " nested"
		}
		had := known[key]
		known[key] = true
		return had
	})
}

// has reports whether a report has a finding about the same places.
func (r *Report) has(f *Finding) bool {
	for i := range r.Findings {
		if r.Findings[i].about() == f.about() {
			return true
		}
	}
	return false
}
