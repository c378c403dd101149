package fuzz

import (
	"context"
	"fmt"
	stdmaps "maps"
	"slices"

	"github.com/bpfrun/bpfrun/kernel"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/machine"
	"github.com/bpfrun/bpfrun/machine/finding"
	"github.com/bpfrun/bpfrun/maps"
	"github.com/bpfrun/bpfrun/packet"
	"github.com/bpfrun/bpfrun/progtype"
	"github.com/bpfrun/bpfrun/scenario"
	"github.com/bpfrun/bpfrun/scenario/invariant"
	"github.com/bpfrun/bpfrun/vm"
)

// side is the object on one kernel, or another build of it, with two machines: one repeats a single event in a loop and only tells that
// something was new; the other makes whole runs of which everything is known.
type side struct {
	f    *Fuzzer
	name string // "" for the object itself

	runs map[string]*scenario.Run
	fast *scenario.Runner
	loop *machine.Loop
	of   string // the run that the loop is of
	from scenario.Start
	dead map[string]bool // runs that have no loop

	whole *scenario.Runner
	start *machine.Snapshot
	cover *coverSink
	watch watcher
}

// open makes the machines for a scenario.
func (f *Fuzzer) open(name string, obj *loader.Object, target *loader.Target, file *scenario.File) (*side, error) {
	s := &side{f: f, name: name, runs: map[string]*scenario.Run{}, dead: map[string]bool{}, cover: &coverSink{}}
	for _, run := range file.Runs {
		s.runs[run.Name] = run
	}
	opt := f.opt.Scenario
	opt.Engine, opt.Restores, opt.Cover = machine.EngineJIT, true, noSink{}
	var err error
	if s.fast, err = scenario.Open(file, obj, target, opt); err != nil {
		return nil, err
	}
	opt.Cover = s.cover
	if s.whole, err = scenario.Open(file, obj, target, opt); err != nil {
		s.fast.Close()
		return nil, err
	}
	s.start = s.whole.Machine().Snapshot()
	s.watch = watcher{checker: s.whole.Checker()}
	s.whole.Machine().Observe(&s.watch)
	return s, nil
}

func (s *side) close() {
	s.fast.Close()
	s.whole.Close()
}

// loopFor makes the loop of a run, in place of the one that exists. It returns nil if the program cannot run.
func (s *side) loopFor(ctx context.Context, run *scenario.Run) (*machine.Loop, error) {
	if s.loop != nil && s.of == run.Name {
		return s.loop, nil
	}
	if s.dead[run.Name] {
		return nil, nil
	}
	if s.loop != nil {
		s.loop.Close()
		s.loop = nil
	}
	start, err := s.fast.Start(run)
	if err != nil {
		s.dead[run.Name] = true
		return nil, nil //nolint:nilerr // the report says so
	}
	in := start.Input
	if progtype.Of(s.program(run).Type).Takes.Has(progtype.TakesPacket) && in.Packet == nil {
		in.Packet = seedPackets()[0]
	}
	l, _, err := s.fast.Machine().Loop(run.Prog, in)
	if l == nil || err != nil {
		s.dead[run.Name] = true
		return nil, nil //nolint:nilerr // as above
	}
	s.loop, s.of, s.from = l, run.Name, start
	return l, l.Warm(ctx)
}

func (s *side) program(run *scenario.Run) *loader.LinkedProgram {
	lp, _ := s.fast.Machine().Linked().Program(run.Prog)
	return lp
}

// quick is what a run in a loop told.
type quick struct {
	// ok is false if the input needs a whole run.
	ok    bool
	look  bool // it may be a finding
	fresh bool // something new was reached
	ret   uint64
	frame []byte // the packet after the run, valid until the next one
}

// run makes the run of an input with a single event in the loop.
func (s *side) run(ctx context.Context, in *Input) (quick, error) {
	e := &in.Events[0]
	run := s.runs[e.Run]
	l, err := s.loopFor(ctx, run)
	if l == nil || err != nil || e.CPU != 0 {
		return quick{}, err
	}
	l.Rewind()
	m := s.fast.Machine()
	frame := []byte(e.Packet)
	if frame != nil {
		if err := l.SetPacket(frame); err != nil {
			return quick{}, nil //nolint:nilerr // such a packet does not exist for the program
		}
	}
	s.state(s.fast, in)
	for name, v := range s.from.Fields {
		l.SetField(name, v)
	}
	for _, a := range e.Args {
		if !l.SetField(a.Name, a.Value) && !l.SetArg(a.Name, a.Value) {
			return quick{}, nil
		}
	}
	if e.Ctx != nil && copy(l.Context().Bytes(), e.Ctx) != len(e.Ctx) {
		return quick{}, nil
	}
	if len(e.Helpers) > 0 {
		l.SetOverrides(overrides(s.from.Overrides, e.Helpers))
	}
	if e.After > 0 {
		m.Kernel().Clock().Advance(uint64(e.After))
	}
	checker := s.fast.Checker()
	ev := invariant.Run{Program: l.Program(), Context: l.Context(), Events: 1}
	if checker != nil {
		checker.Begin(ev)
	}
	out, err := l.Run(ctx)
	if err != nil {
		return quick{}, err
	}
	q := quick{ok: true, fresh: out.New, look: out.Fault != nil, ret: out.Ret}
	if checker != nil && out.Fault == nil {
		ev.Ret = out.Ret
		q.look = q.look || len(checker.End(ev)) > 0
	}
	if c := l.Context(); c.Packet != nil && out.Fault == nil {
		before := frame
		if before == nil {
			before = s.from.Packet
		}
		if q.frame = c.Frame(); before != nil && progtype.GoesOn(l.Program().Type, int32(out.Ret)) && string(before) != string(q.frame) {
			q.look = q.look || len(packet.Damages(before, q.frame, packet.Ethernet)) > 0
		}
	}
	return q, nil
}

// overrides adds answers to those of the scenario.
func overrides(base map[string]machine.Override, answers []Answer) map[string]machine.Override {
	if len(answers) == 0 {
		return base
	}
	out := make(map[string]machine.Override, len(base)+len(answers))
	for name, o := range base {
		out[name] = o
	}
	for _, a := range answers {
		out[a.Helper] = machine.Override{FailAt: a.At, Returns: a.Returns}
	}
	return out
}

// state makes the state before the events. What a machine refuses stays as it is: a key that is too large, a field that the kernel lacks.
func (s *side) state(r *scenario.Runner, in *Input) {
	m := r.Machine()
	for i := range in.Maps {
		e := &in.Maps[i]
		b, ok := m.MapByName(e.Map)
		if !ok || len(e.Key) != int(b.Spec().KeySize) || len(e.Value) != int(b.Spec().ValueSize) {
			continue
		}
		v := []byte(e.Value)
		if size := maps.UserValueSize(b); size != len(v) { // of each CPU
			all := make([]byte, size)
			for at := 0; at < size; at += size / m.Kernel().CPUs() {
				copy(all[at:], v)
			}
			v = all
		}
		b.Update(maps.AllCPUs, e.Key, v, 0)
	}
	for _, g := range in.Globals {
		if !s.f.frozen[g.Name] {
			_ = m.WriteVariable(g.Name, g.Value)
		}
	}
	for _, n := range in.Fields {
		if o, path := s.field(r, n.Name); o != nil {
			_ = o.SetUint(path, n.Value)
		}
	}
}

// field finds the object of a field "NAME.path".
func (s *side) field(r *scenario.Runner, name string) (*kernel.Object, string) {
	for i := range len(name) {
		if name[i] == '.' {
			return r.Object(name[:i]), name[i+1:]
		}
	}
	return nil, ""
}

// record is everything about the runs of an input.
type record struct {
	results  []*machine.Result
	edges    []edge
	problems []problem
	insns    uint64
}

// problem is a finding, before it is confirmed.
type problem struct {
	finding.Finding
	event     int
	invariant string
	// other is what the other side did, for differences.
	other *machine.Result
}

// examine makes all runs of an input and returns everything about them. trace, if not nil, follows the event of that number.
func (s *side) examine(ctx context.Context, in *Input, at int, trace machine.Tracer) (*record, error) {
	r := s.whole
	m := r.Machine()
	m.Restore(s.start)
	s.cover.edges = s.cover.edges[:0]
	s.watch.reset()
	s.state(r, in)
	rec := &record{}
	for i := range in.Events {
		e := &in.Events[i]
		run := s.runs[e.Run]
		start, err := r.Start(run)
		if err != nil {
			return rec, nil //nolint:nilerr // on this kernel there is no such run
		}
		after := e.After
		if after == 0 {
			after = run.After
		}
		if after > 0 {
			if _, err := m.Settle(ctx, after); err != nil {
				return nil, err
			}
		}
		mi := start.Input
		if e.Packet != nil {
			mi.Packet = e.Packet
		}
		if e.Ctx != nil {
			mi.Context = e.Ctx
		}
		if e.CPU > 0 {
			mi.CPU = (e.CPU - 1) % m.Kernel().CPUs()
		}
		mi.Overrides = overrides(mi.Overrides, e.Helpers)
		mi.Args = s.slowArgs(mi.Args, e)
		if i == at {
			mi.Trace = trace
		}
		s.watch.event = i
		s.watch.prepare = func(c *kernel.Context) {
			for name, v := range start.Fields {
				c.SetField(name, v)
			}
			for _, a := range e.Args {
				if !c.SetField(a.Name, a.Value) {
					c.SetArg(a.Name, a.Value)
				}
			}
		}
		res, err := m.Run(ctx, run.Prog, mi)
		if err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			return rec, nil // such an input does not exist
		}
		rec.results = append(rec.results, res)
		rec.insns += res.Insns
		for _, p := range problemsOf(res) {
			p.event = i
			rec.problems = append(rec.problems, p)
		}
		if res.Fault != nil || !res.Ran {
			break
		}
	}
	rec.problems = append(rec.problems, s.watch.problems...)
	rec.edges = s.cover.edges
	return rec, nil
}

// slowArgs adds the arguments that a context is made with.
func (s *side) slowArgs(base map[string]any, e *Event) map[string]any {
	var out map[string]any
	for _, a := range e.Args {
		if sp := s.f.space.runs[e.Run]; sp == nil || !slices.Contains(sp.slow, a.Name) {
			continue
		}
		if out == nil {
			if out = stdmaps.Clone(base); out == nil {
				out = map[string]any{}
			}
		}
		out[a.Name] = a.Value
	}
	if out == nil {
		return base
	}
	return out
}

// problemsOf lists what a run found, and its fault.
func problemsOf(res *machine.Result) []problem {
	var out []problem
	for _, f := range res.Findings {
		out = append(out, problem{Finding: f})
	}
	if f := res.Fault; f != nil && res.Status == machine.StatusFault {
		kind := finding.Fault
		if f.Kind == vm.BudgetExceeded {
			kind = finding.Limit
		}
		out = append(out, problem{Finding: finding.Finding{Kind: kind, Program: res.Program, Insn: f.Insn, Source: f.Source, Line: f.Line, Text: f.Error()}})
	}
	return out
}

// watcher sees the runs of a machine begin and end: it gives contexts what only contexts can be given, remembers them, and evaluates invariants.
type watcher struct {
	checker *invariant.Checker
	prepare func(*kernel.Context)

	event    int
	events   uint64
	ctx      *kernel.Context
	data     uint64 // address of the packet at the start
	lead     int    // bytes of the frame before it
	problems []problem
}

func (w *watcher) reset() { w.events, w.ctx, w.problems, w.prepare = 0, nil, nil, nil }

// Begun implements [machine.Observer].
func (w *watcher) Begun(p *loader.LinkedProgram, c *kernel.Context) {
	w.events++
	if w.prepare != nil {
		w.prepare(c)
	}
	w.ctx, w.data, w.lead = c, 0, 0
	if c.Packet != nil {
		w.data, w.lead = c.Packet.Data(), len(c.LinkHeader())
	}
	if w.checker != nil {
		w.checker.Begin(invariant.Run{Program: p, Context: c, Events: w.events})
	}
}

// Ended implements [machine.Observer].
func (w *watcher) Ended(p *loader.LinkedProgram, c *kernel.Context, ret uint64) {
	if w.checker == nil {
		return
	}
	for _, f := range w.checker.End(invariant.Run{Program: p, Context: c, Ret: ret, Events: w.events}) {
		w.problems = append(w.problems, problem{
			Finding: finding.Finding{Kind: finding.Invariant, Program: p.Name, Insn: -1, Text: fmt.Sprintf("%s does not hold: %s", f.Spec.Name, f.Text)},
			event:   w.event, invariant: f.Spec.Name,
		})
	}
}
