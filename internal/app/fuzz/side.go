package fuzz

import (
	"context"
	"fmt"
	stdmaps "maps"
	"slices"
	"time"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	kobject "github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/machine/finding"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/packet"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/scenario"
	"github.com/bpfrun/bpfrun/internal/scenario/invariant"
	"github.com/bpfrun/bpfrun/internal/subsys/hid/device"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/vm"
)

// side is the object on one kernel, or another build of it, with two machines: one repeats a single
// event in a loop and only tells that something was new; the other makes whole runs of which
// everything is known.
type side struct {
	f    *Fuzzer
	name string // "" for the object itself

	runs  map[string]*scenario.Run
	fast  *scenario.Runner
	loop  *machine.Loop
	base  *machine.Snapshot // of the fast machine, without a loop
	of    string            // what the loop is of: a run, and the events before it
	from  scenario.Start
	dead  map[string]bool // runs that have no loop
	whole *scenario.Runner
	start *machine.Snapshot
	cover *coverSink
	watch watcher
	// device is that of the last run on a HID device.
	device *device.HID
}

// open makes the machines for a scenario.
func (f *Fuzzer) open(name string, obj *loader.Object, target *loader.Target, file *scenario.File) (*side, error) {
	s := &side{f: f, name: name, runs: map[string]*scenario.Run{}, dead: map[string]bool{}, cover: &coverSink{}}
	for _, run := range file.Runs {
		s.runs[run.Name] = run
	}
	opt := f.opt.Scenario
	opt.Engine, opt.Restores, opt.Cover = machine.EngineJIT, true, noSink{}
	opt.Load.CopyCalled = true // what is new in another call is new
	var err error
	if s.fast, err = scenario.Open(file, obj, target, opt); err != nil {
		return nil, err
	}
	opt.Cover, opt.Config.Tracked = s.cover, true
	if s.whole, err = scenario.Open(file, obj, target, opt); err != nil {
		s.fast.Close()
		return nil, err
	}
	s.touch()
	s.base = s.fast.Machine().Snapshot()
	s.start = s.whole.Machine().Snapshot()
	s.warm(file)
	return s, nil
}

func (s *side) close() {
	s.fast.Close()
	s.whole.Close()
}

// mostTouched limits the memory of an array that is made before the loop, in bytes.
const mostTouched = 1 << 20

// touch makes the memory of arrays, which otherwise each run in the loop makes again.
func (s *side) touch() {
	m := s.fast.Machine()
	for _, def := range m.Linked().Maps {
		b, ok := m.Map(def)
		if !ok || def.DataKind != loader.DataNone || !isArray(b.Spec().Type) || uint64(b.Spec().MaxEntries)*uint64(maps.UserValueSize(b)) > mostTouched {
			continue
		}
		key := make([]byte, 4)
		for i := range b.Spec().MaxEntries {
			m.Memory().ByteOrder().PutUint32(key, i)
			b.Lookup(0, key)
		}
	}
}

// warm makes what the kernel makes only when it is asked for part of the state before the events,
// so that not each run makes it again.
func (s *side) warm(file *scenario.File) {
	m := s.whole.Machine()
	var all []kobject.Lazy
	m.Kernel().Current() // the task that events run in
	s.start = m.Snapshot()
	for _, run := range file.Runs {
		start, err := s.whole.Start(run)
		if err != nil {
			continue
		}
		end := m.Kernel().RecordLazy()
		_, err = m.Run(context.Background(), run.Prog, start.Input)
		if made := end(); err == nil {
			all = append(all, made...)
		}
		m.Restore(s.start)
	}
	m.Kernel().MakeAgain(all)
	s.start = m.Snapshot()
}

// loopFor makes the loop of the last event of an input, after those before it, in place of the loop
// that exists. It returns nil if the program cannot run.
func (s *side) loopFor(ctx context.Context, run *scenario.Run, in *Input) (*machine.Loop, error) {
	key := run.Name
	before := *in
	if before.Events = in.Events[:len(in.Events)-1]; len(before.Events) > 0 {
		key += string(before.encode())
	}
	if s.loop != nil && s.of == key {
		return s.loop, nil
	}
	if s.dead[run.Name] {
		return nil, nil
	}
	if s.loop != nil {
		s.loop.Close()
		s.loop = nil
		s.fast.Machine().Restore(s.base)
	}
	if len(before.Events) > 0 {
		s.state(s.fast, in)
		for i := range before.Events {
			res, err := s.event(ctx, s.fast, &before.Events[i], nil)
			if res == nil || err != nil || res.Fault != nil {
				s.fast.Machine().Restore(s.base)
				return nil, err
			}
		}
	}
	start, err := s.fast.Start(run)
	if err != nil {
		s.dead[run.Name] = true
		return nil, nil //nolint:nilerr // the report says so
	}
	mi := start.Input
	if sp := s.f.space.runs[run.Name]; sp != nil && sp.packet != nil { // shorter packets are put into the context of a long one
		mi.Packet = fit(append(slices.Clone(sp.packet), make([]byte, max(usualPacket-len(sp.packet), 0))...), sp.least, sp.most)
	}
	l, _, err := s.fast.Machine().Loop(run.Prog, mi)
	if l == nil || err != nil {
		s.dead[run.Name] = true
		return nil, nil //nolint:nilerr // as above
	}
	s.loop, s.of, s.from = l, key, start
	return l, l.Warm(ctx)
}

// edgeOf is a branch of the side's build.
func (s *side) edgeOf(e edge) edge {
	if s.name != "" {
		e.prog = s.name + "\x00" + e.prog // no program has such a name
	}
	return e
}

// linked is the object on the side's kernel.
func (s *side) linked() *loader.Linked { return s.whole.Machine().Linked() }

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

// run makes the run of the last event of an input in the loop.
func (s *side) run(ctx context.Context, in *Input) (quick, error) {
	e := &in.Events[len(in.Events)-1]
	run := s.runs[e.Run]
	l, err := s.loopFor(ctx, run, in)
	if l == nil || err != nil || e.CPU != 0 {
		return quick{}, err
	}
	l.Rewind()
	m := s.fast.Machine()
	frame := []byte(e.Packet)
	if frame == nil {
		frame = s.f.space.runs[e.Run].packet
	}
	if frame != nil {
		if err := l.SetPacket(frame); err != nil {
			return quick{}, nil //nolint:nilerr // such a packet does not exist for the program
		}
	}
	if mi := s.from.Input; s.f.space.runs[e.Run].withOption(&mi, e) && l.SetOnce(mi) != nil {
		return quick{}, nil
	}
	if len(in.Events) == 1 { // otherwise the events before had it
		s.state(s.fast, in)
	}
	if e.Sysctl != nil && !l.Context().SetSysctl(e.Sysctl.access()) {
		return quick{}, nil
	}
	for name, v := range s.from.Fields {
		l.SetField(name, v)
	}
	for _, a := range e.Args {
		if !l.SetField(a.Name, a.Value) && !l.SetArg(a.Name, a.Value) {
			return quick{}, nil
		}
	}
	if !s.linkArgs(s.fast, e, l.SetArg) {
		return quick{}, nil
	}
	for i := range e.User {
		if !l.SetArg(e.User[i].Name, e.User[i].place(m.Kernel())) {
			return quick{}, nil
		}
	}
	if e.Ctx != nil && copy(l.Context().Bytes(), e.Ctx) != len(e.Ctx) {
		return quick{}, nil
	}
	if len(e.Helpers) > 0 {
		l.SetOverrides(overrides(s.from.Overrides, e.Helpers))
	}
	if d := s.after(e); d > 0 {
		m.Kernel().Clock().Advance(uint64(d))
	}
	checker := s.fast.Checker()
	ev := invariant.Run{Program: l.Program(), Context: l.Context(), Events: uint64(len(in.Events))}
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
		q.look = len(checker.End(ev)) > 0
	}
	if c := l.Context(); c.Packet != nil && out.Fault == nil {
		row := progtype.Of(l.Program().Type)
		whole := row.Packet != progtype.ReadsPacket && (row.Layer == progtype.Link || row.Layer == progtype.Network)
		if q.frame = c.Frame(); whole && progtype.GoesOn(l.Program().Type, int32(out.Ret)) && string(frame) != string(q.frame) {
			q.look = q.look || len(packet.Damages(frame, q.frame, packet.Ethernet)) > 0
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

// state makes the state before the events. What a machine refuses stays as it is: a key that is too
// large, a field that the kernel lacks.
func (s *side) state(r *scenario.Runner, in *Input) {
	m := r.Machine()
	for i := range in.Maps {
		e := &in.Maps[i]
		b, ok := m.MapByName(e.Map)
		outer, ofMaps := b.(maps.OuterMap)
		switch {
		case !ok:
			continue
		case ofMaps && e.In == nil:
			innerOf(m, outer, e.Key)
			continue
		case ofMaps:
			b, ok = innerOf(m, outer, e.In)
		}
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
	for _, g := range in.Globals { // also constants: nothing that the machine made of the program depends on them
		_ = m.WriteVariable(g.Name, g.Value)
	}
	for _, t := range in.Texts {
		if o, path := s.field(r, t.Name); o != nil {
			_ = o.Set(path, t.Value)
		}
	}
	s.link(r, in.Links) // fields may be those of an object that a link made
	for _, n := range in.Fields {
		if o, path := s.field(r, n.Name); o != nil {
			_ = o.SetUint(path, n.Value)
		}
	}
}

// field finds the object of a field "NAME.path".
func (s *side) field(r *scenario.Runner, name string) (*kobject.Object, string) {
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
	// elsewhere means that what the object is compared with reached something new.
	elsewhere bool
}

// problem is a finding, before it is confirmed.
type problem struct {
	finding.Finding
	event     int
	invariant string
	// own and other are what the object and the other side did, for differences.
	own, other *machine.Result
	// fault means that the run did not end; full is a map that keeps elements.
	fault bool
	full  string
	// object means that the map's key is of a kernel object.
	object bool
}

// examine makes all runs of an input and returns everything about them. trace, if not nil, follows
// the event of that number.
func (s *side) examine(ctx context.Context, in *Input, at int, trace machine.Tracer) (*record, error) {
	r := s.whole
	m := r.Machine()
	m.Restore(s.start)
	s.cover.edges = s.cover.edges[:0]
	s.watch.reset()
	s.state(r, in)
	rec := &record{}
	for i := range in.Events {
		var follow machine.Tracer
		if i == at {
			follow = trace
		}
		s.watch.event = i
		res, err := s.event(ctx, r, &in.Events[i], follow)
		if res == nil || err != nil {
			return rec, err
		}
		rec.results = append(rec.results, res)
		rec.insns += res.Insns
		for _, p := range problemsOf(res, s.watch.ctx) {
			p.event = i
			rec.problems = append(rec.problems, p)
		}
		if res.Fault != nil || !res.Ran {
			break
		}
	}
	rec.problems = append(rec.problems, s.watch.problems...)
	rec.problems = append(rec.problems, s.unbalanced(in, rec.results)...)
	for i := range rec.problems {
		rec.problems[i].Insn = s.f.plainAt(rec.problems[i].Program, rec.problems[i].Insn)
	}
	rec.edges = s.cover.edges
	return rec, nil
}

// after is the time that passes before an event.
func (s *side) after(e *Event) time.Duration {
	if e.After > 0 {
		return e.After
	}
	return s.runs[e.Run].After
}

// event makes the run of an event. The result is nil if such an event does not exist on the kernel.
func (s *side) event(ctx context.Context, r *scenario.Runner, e *Event, trace machine.Tracer) (*machine.Result, error) {
	m, run := r.Machine(), s.runs[e.Run]
	if deviceOf(run) != nil {
		return s.report(ctx, r, run, e, trace)
	}
	start, err := r.Start(run)
	if err != nil {
		return nil, nil //nolint:nilerr // the report says so
	}
	if after := s.after(e); after > 0 {
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
	s.f.space.runs[e.Run].withOption(&mi, e)
	mi.Overrides = overrides(mi.Overrides, e.Helpers)
	mi.Args = s.slowArgs(r, mi.Args, e)
	mi.Trace = trace
	w := &s.watch
	w.prepare = func(c *hook.Context) {
		if e.Sysctl != nil {
			c.SetSysctl(e.Sysctl.access())
		}
		for name, v := range start.Fields {
			c.SetField(name, v)
		}
		for _, a := range e.Args {
			if !c.SetField(a.Name, a.Value) {
				c.SetArg(a.Name, a.Value)
			}
		}
	}
	m.Observe(w)
	defer m.Observe(nil)
	w.checker = nil
	if r == s.whole {
		w.checker = r.Checker()
	}
	res, err := m.Run(ctx, run.Prog, mi)
	if err != nil && ctx.Err() == nil {
		return nil, nil //nolint:nilerr // the kernel cannot make such a context
	}
	return res, err
}

// usualPacket is the length of the longest packet that most networks carry.
const usualPacket = 1514

// slowArgs adds the arguments that a context is made with.
func (s *side) slowArgs(r *scenario.Runner, base map[string]any, e *Event) map[string]any {
	sp := s.f.space.runs[e.Run]
	if sp == nil || len(e.Args)+len(e.Links)+len(e.User) == 0 {
		return base
	}
	out := stdmaps.Clone(base)
	if out == nil {
		out = map[string]any{}
	}
	for _, a := range e.Args {
		if slices.Contains(sp.slow, a.Name) {
			out[a.Name] = a.Value
		}
	}
	for _, l := range e.Links {
		switch to, ok := s.target(r, l); {
		case ok && to == nil:
			out[l.Name] = nil
		case ok:
			out[l.Name] = to
		}
	}
	for i := range e.User {
		out[e.User[i].Name] = kobject.Pointer(e.User[i].place(r.Machine().Kernel()))
	}
	return out
}

// problemsOf lists what a run found, and its fault. A context that is shorter than what a program
// reads is refused when it is run.
func problemsOf(res *machine.Result, c *hook.Context) []problem {
	var out []problem
	for _, f := range res.Findings {
		out = append(out, problem{Finding: f})
	}
	f := res.Fault
	if f != nil && f.Mem != nil && f.Mem.Region != nil && c != nil && f.Mem.Region == c.Region {
		return out
	}
	if f != nil && res.Status == machine.StatusFault {
		kind := finding.Fault
		if f.Kind == vm.BudgetExceeded {
			kind = finding.Limit
		}
		out = append(out, problem{Finding: finding.Finding{Kind: kind, Program: res.Program, Insn: f.Insn, Source: f.Source, Line: f.Line, Text: f.Error()}, fault: true})
	}
	return out
}

// watcher sees the runs of a machine begin and end: it gives contexts what only contexts can be
// given, remembers them, and evaluates invariants.
type watcher struct {
	checker *invariant.Checker
	prepare func(*hook.Context)

	event    int
	events   uint64
	ctx      *hook.Context
	data     uint64 // address of the packet at the start
	lead     int    // bytes of the frame before it
	problems []problem
}

func (w *watcher) reset() { w.events, w.ctx, w.problems, w.prepare = 0, nil, nil, nil }

// Begun implements [machine.Observer].
func (w *watcher) Begun(p *loader.LinkedProgram, c *hook.Context) {
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
func (w *watcher) Ended(p *loader.LinkedProgram, c *hook.Context, ret uint64) {
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
