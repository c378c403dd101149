package race

import (
	"context"
	"slices"
	"time"

	"github.com/bpfrun/bpfrun/internal/find/search"
	"github.com/bpfrun/bpfrun/internal/machine"
)

// state is what a meeting is explored from.
type state struct {
	// before are programs that run before, in order; all means that the actors' own do.
	before []string
	own    bool
	// further means that the actors get the inputs that were found to get further, of each program
	// the one at this place.
	further bool
	which   []int
	// named are programs that a user wants to have run before; history means that all runs that a
	// user wrote have.
	named   []Earlier
	history bool
	// oneTask means that the programs before run in the task of the first actor alone, for the
	// objects of each: two requests of one thread end on two CPUs.
	oneTask bool
	// fresh means that an actor's own program does not run before for that actor: the element that
	// it adds is the first one of its key.
	fresh bool
}

// Explore explores the orders of a meeting several times: from the machine's state, from the one
// that a run of each program leaves, and from one in which the object's other programs have added
// what these look up, with inputs that get further. Much goes wrong only once an element is there.
// The machine's state is the same afterwards. The error is that of ctx, with a report of what was
// found until then, or a [*NotRunnableError].
func Explore(ctx context.Context, m *machine.Machine, meeting Meeting, cfg Config) (*Report, error) {
	states := cfg.states(meeting)
	start, constants := m.Snapshot(), search.Constants(m)
	defer func() {
		m.Restore(start)
		constants()
	}()
	all := &Report{Actors: meeting.Actors, Complete: true}
	for i, st := range states {
		if i > 0 && !cfg.Until.IsZero() && time.Now().After(cfg.Until) {
			all.Complete = false
			break
		}
		m.Restore(start)
		constants()
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
			actors = cfg.Prepared.actors(actors, st.which)
			further(m, actors)
		}
		actors = Apart(m, actors)
		if st.oneTask && !slices.ContainsFunc(actors, func(a Actor) bool { return a.twins.any(a.Input) }) {
			continue
		}
		ok, ran, err := bring(ctx, m, actors, &cfg, st)
		if err != nil {
			return all.partial(), err
		}
		further(m, actors) // others had inputs of their own
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
			f.After, f.Before, f.Assumes = st.own, st.names(cfg.Scene), meeting.Assumes
			if st.further {
				f.Inputs = cfg.Prepared.told(actors, st.before)
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

// names lists what runs before, except for the actors' own programs.
func (st *state) names(scene *Scene) []string {
	out := slices.Clone(st.before)
	for _, e := range st.named {
		out = append(out, e.Program)
	}
	if st.history {
		for _, g := range scene.Runs {
			out = append(out, g.Name)
		}
	}
	return out
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
	for _, e := range st.named {
		for _, in := range e.Inputs(actors) {
			if ok, err := run(e.Program, in); !ok {
				return false, ran, err
			}
		}
	}
	for i := range actors {
		a := &actors[i]
		if !st.own || i > 0 && a.Program == actors[i-1].Program {
			continue // the same again
		}
		for _, in := range before(actors, a.Program) {
			if ok, err := run(a.Program, in); !ok {
				return false, ran, err
			}
		}
	}
	for _, name := range st.before {
		own := cfg.Prepared.furthest(name)
		for i := range actors { // in the task of each actor
			if st.fresh && actors[i].Program == name {
				continue
			}
			var in machine.Input
			if own != nil {
				in = own.input
				own.write(m, nil)
			}
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
	has := func(i, n int) bool { return !meeting.Actors[i].given && p.input(meeting.Actors[i].Program, n) != nil }
	further := slices.ContainsFunc(meeting.Actors, func(a Actor) bool { return !a.given && p.furthest(a.Program) != nil })
	out := []state{}
	if further || len(p.producers) > 0 {
		out = p.usual(further)
	}
	if len(meeting.Actors) != 2 {
		return out
	}
	first, second := meeting.Actors[0].Program, meeting.Actors[1].Program
	if first != second && (slices.Contains(p.producers, first) || slices.Contains(p.producers, second)) {
		out = append(out, state{before: p.producers, further: further, fresh: true})
	}
	for _, which := range combinations(first == second) {
		if has(0, which[0]) && has(1, which[1]) || which[0] == 0 && has(1, which[1]) || which[1] == 0 && has(0, which[0]) {
			out = append(out, state{before: p.producers, further: true, which: which})
		}
	}
	return out
}

// combinations lists which inputs two programs meet with besides the ones that get furthest.
func combinations(same bool) [][]int {
	if same {
		return [][]int{{1, 1}, {2, 2}, {3, 3}, {1, 2}, {0, 1}}
	}
	return [][]int{{1, 1}, {0, 1}, {1, 0}, {2, 1}, {1, 2}, {2, 2}}
}

// usual lists the states with what other programs add and the inputs that get furthest.
func (p *Prepared) usual(further bool) []state {
	out := []state{{before: p.producers, further: further}}
	if len(p.producers) > 0 {
		out = append(out, state{before: p.producers, further: further, oneTask: true})
	}
	if further && len(p.producers) > 0 {
		out = append(out, state{further: true})
	}
	return out
}

// input is one of a program's; nil if there is none, or if it is the default one.
func (p *Prepared) input(program string, n int) *furtherInput {
	if list := p.inputs[program]; n < len(list) {
		return list[n]
	}
	return nil
}

// furthest is the input that gets a program furthest; nil for the default one.
func (p *Prepared) furthest(program string) *furtherInput {
	if p == nil {
		return nil
	}
	return p.input(program, 0)
}

// actors returns actors with inputs that get further, those at the places of which.
func (p *Prepared) actors(actors []Actor, which []int) []Actor {
	out := slices.Clone(actors)
	for i := range out {
		n := 0
		if i < len(which) {
			n = which[i]
		}
		in := p.input(out[i].Program, n)
		if in == nil || out[i].given {
			continue
		}
		was := out[i].Input
		out[i].Input, out[i].further = in.input, in
		out[i].Input.CPU, out[i].Input.Current = was.CPU, was.Current
	}
	return out
}

// further makes what the actors' inputs change.
func further(m *machine.Machine, actors []Actor) {
	for i := range actors {
		if in := actors[i].further; in != nil {
			in.write(m, nil)
		}
	}
}

// told lists the inputs of actors, and of programs that ran before them, that are not the default
// ones.
func (p *Prepared) told(actors []Actor, before []string) []string {
	var out []string
	for _, name := range before {
		if in := p.furthest(name); in != nil {
			for _, text := range in.text {
				out = append(out, name+" before: "+text)
			}
		}
	}
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
