package machine

import (
	"github.com/bpfrun/bpfrun/helpers/deferred"
	"github.com/bpfrun/bpfrun/helpers/held"
	"github.com/bpfrun/bpfrun/internal/kernel"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/vm"
)

// Interleaving holds several runs of which one executes at a time, from the beginning any number of
// times: [Interleaving.Rewind] begins all of them again, [Interleaving.Turn] says which one
// executes next. Each has time and random numbers of its own, so that what it reads of these does
// not depend on the order.
//
// A machine has one interleaving, loop, session or replay at a time.
type Interleaving struct {
	m      *Machine
	origin *Snapshot // before the runs were begun
	base   *Snapshot
	runs   []together
	active int // index of the run that the machine holds, -1 for none
}

// together is one of the runs.
type together struct {
	s      *Session
	began  func() *parked
	parked *parked // nil while it is active
	first  kernel.Stream
	stream kernel.Stream
}

// Interleaved is a run to begin.
type Interleaved struct {
	Program string
	Input   Input
	// Over means that it interrupts another one on its CPU.
	Over bool
	// Later is how much later it begins than the first one, in nanoseconds.
	Later uint64
}

// Interleave begins runs on the current state of the machine, none of which executes yet. For a
// program that cannot run it returns a Result with the reason, as [Machine.Begin] does.
func (m *Machine) Interleave(runs []Interleaved) (*Interleaving, *Result, error) {
	x := &Interleaving{m: m, origin: m.Snapshot(), active: -1}
	was := m.untracked
	m.untracked = true
	defer func() { m.untracked = was }()
	stream := m.kernel.Stream()
	for _, r := range runs {
		in := r.Input
		in.Trace, in.IgnoreUnset, in.interrupts = nil, true, r.Over
		m.kernel.SetStream(stream.Later(r.Later))
		p := m.byName[r.Program]
		nth := 0
		if p != nil {
			nth = p.runs
		}
		s, res, err := m.Begin(r.Program, in)
		if s == nil || err != nil {
			x.Close()
			return nil, res, err
		}
		p.runs = nth // both see the same event of the hook
		first := m.kernel.Stream()
		m.kernel.SetSink(nil)
		s.Park()
		x.runs = append(x.runs, together{s: s, stream: first})
	}
	x.Rebase()
	return x, nil, nil
}

// Rebase makes the current state the one from which the runs begin again.
func (x *Interleaving) Rebase() {
	m := x.m
	x.Turn(-1)
	for i := range x.runs {
		r := &x.runs[i]
		r.began, r.first = m.runs[m.parkedAt(r.s)].keep(), r.stream
	}
	m.runs = m.runs[:0]
	x.base = m.Snapshot()
	x.Rewind()
}

// Rewind begins all runs again.
func (x *Interleaving) Rewind() {
	m := x.m
	m.rewind(x.base)
	m.runs, m.run, m.env.Run = m.runs[:0], nil, nil
	x.active = -1
	for i := range x.runs {
		r := &x.runs[i]
		r.parked, r.stream = r.began(), r.first
		m.runs = append(m.runs, r.parked)
	}
}

// Turn makes a run the one that [Interleaving.Run] executes.
func (x *Interleaving) Turn(i int) {
	if x.active == i {
		return
	}
	m := x.m
	if x.active >= 0 {
		r := &x.runs[x.active]
		r.stream = m.kernel.Stream()
		r.s.Park()
	}
	x.active = i
	if i >= 0 {
		x.runs[i].s.Unpark()
		m.kernel.SetSink(nil)
		m.kernel.SetStream(x.runs[i].stream)
	}
}

// Run executes at most n instructions of the run whose turn it is.
func (x *Interleaving) Run(n uint64) vm.Stop { return x.runs[x.active].s.Run(n) }

// Session returns a run.
func (x *Interleaving) Session(i int) *Session { return x.runs[i].s }

// Held lists what a run holds.
func (x *Interleaving) Held(i int) []held.Thing {
	if i == x.active {
		return x.m.env.Run.Held.Things()
	}
	if at := x.m.parkedAt(x.runs[i].s); at >= 0 && x.m.runs[at].record != nil {
		return x.m.runs[at].record.Held.Things()
	}
	return nil
}

// Fire makes the run whose turn it is, which has executed nothing, the callback of the timer or
// work item at a field, on its CPU. Its time is not before the one at which that is due. false
// means that nothing is armed there.
func (x *Interleaving) Fire(addr uint64) bool {
	m, s := x.m, x.runs[x.active].s
	c, ok := m.env.Timers.TakeAt(addr, s.in.CPU)
	if !ok {
		return false
	}
	if clock := m.kernel.Clock(); clock.Mono() < c.At {
		clock.Advance(c.At - clock.Mono())
	}
	s.late = late{begun: true, cpu: c.CPU, main: m.env.Run, call: &c}
	if f := m.call(c); f != nil {
		m.thread.Start(s.p.img)
		m.thread.Abort(f)
	}
	return true
}

// Fired ends the callback that is the run whose turn it is.
func (x *Interleaving) Fired() { x.runs[x.active].s.endCall() }

// Events takes the records that the runs sent so far.
func (x *Interleaving) Events() []Event { return x.m.takeEvents() }

// Trace returns what the run whose turn it is has printed with bpf_trace_printk.
func (x *Interleaving) Trace() []string { return x.m.env.Run.Trace }

// Close leaves all runs: the machine is in the state in which it was before them.
func (x *Interleaving) Close() {
	x.m.runs, x.active = nil, -1
	x.m.kernel.SetSink(nil)
	x.m.rewind(x.origin)
	x.m.run = nil
	clear(x.m.calls.n)
}

// Deferred returns the timers and work items in map values.
func (m *Machine) Deferred() *deferred.Queue { return &m.env.Timers }

// FunctionAt returns the instruction at an address of the simulated kernel's text; ok is false if
// no program has it.
func (m *Machine) FunctionAt(addr uint64) (lp *loader.LinkedProgram, pc int, ok bool) {
	img, pc, ok := m.text.Resolve(addr)
	p, own := owner(img)
	if !ok || !own {
		return nil, 0, false
	}
	return p.lp, pc, true
}

// MapAt returns the map whose handle is at an address; ok is false if there is none.
func (m *Machine) MapAt(addr uint64) (maps.Map, bool) { return m.mapAt(addr) }
