package machine

import (
	"context"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/vm"
)

// Loop runs one program very many times from one state, each time with other input: the context,
// the task and the stack of the program are made once, and [Loop.Rewind] undoes what the last run
// and the caller changed. A run is exactly what the first one from that state is, and costs little
// more than its instructions.
//
//	l, res, err := m.Loop("filter", machine.Input{}) // res instead of l: why the program cannot run
//	for more {
//		l.Rewind()
//		l.SetPacket(frame)                       // or SetArg, Context().Bytes(), and everything else that changes the machine:
//		m.Kernel().Clock().Advance(d)            // time, objects, user memory,
//		counters.Update(maps.AllCPUs, key, v, 0) // maps and globals
//		out, err := l.Run(ctx)
//		if out.New {                             // it reached what no run reached
//			keep(frame, l.Finish())              // the whole Result, when it is wanted
//		}
//	}
//
// A machine has one loop, session or replay at a time. Stack bytes that were never written are not
// tracked, and accesses of kernel objects are recorded only after [Loop.Record].
type Loop struct {
	beginning
	usual  *beginning // while one run has a context of its own
	m      *Machine
	origin *Snapshot // before the context was made
	sink   func(*object.Access)
	tracer Tracer

	ran      bool // since the last rewind
	finished *Result
	news     uint64
	lazy     []object.Lazy
	grown    [][]int
	frames   int
	current  bool
	out      LoopOutcome
}

// beginning is a state that runs begin from: the context is made, the first instruction is not
// executed.
type beginning struct {
	s      *Session
	in     Input
	base   *Snapshot
	refill *hook.Refill

	start   Session // the session then
	state   runState
	work    work
	recover func(*vm.Fault) (uint64, bool)
	ctxBase uint64
	words   []*uint64
}

// LoopOutcome is what a run of a [Loop] did, valid until the next one.
type LoopOutcome struct {
	Ret, Insns uint64
	// Fault is why the program was stopped, nil if it returned; [Machine.Explain] says more.
	Fault *vm.Fault
	// New means that the run reached an instruction or a branch that no run reached before. It
	// needs [Config.Cover], or for instructions alone a machine that is not Uncovered.
	New bool
}

// Loop prepares to run a program many times from the current state of the machine. As
// [Machine.Begin], it returns a Result instead for a program that cannot run. in.Trace is not used:
// [Loop.Trace] sets a tracer.
func (m *Machine) Loop(name string, in Input) (*Loop, *Result, error) {
	l := &Loop{m: m, origin: m.Snapshot()}
	l.in = in
	l.in.Trace, l.in.IgnoreUnset = nil, true
	if res, err := l.begin(name); l.s == nil || err != nil {
		return nil, res, err
	}
	return l, nil, nil
}

// begin begins the session that all runs repeat.
func (l *Loop) begin(name string) (*Result, error) {
	m := l.m
	was := m.untracked
	m.untracked = true
	s, res, err := m.Begin(name, l.in)
	m.untracked = was
	if s == nil || err != nil {
		return res, err
	}
	l.s, l.refill = s, nil
	if progtype.Of(s.p.lp.Type).Takes.Has(progtype.TakesPacket) {
		l.refill = s.ctx.Refill()
	}
	l.rebase()
	return nil, nil
}

// rebase makes the current state the one that all runs begin from.
func (l *Loop) rebase() {
	m := l.m
	if l.current {
		m.kernel.Current()
	}
	m.kernel.MakeAgain(l.lazy)
	m.mapEnv.Grow(l.grown)
	m.thread.Furnish(l.frames)
	m.mem.TakeMoved()
	m.work = work{left: workSlice, start: m.thread.Starts()}
	l.start, l.work, l.state = *l.s, m.work, *m.run
	l.recover = m.thread.Recover
	l.ctxBase, l.words = m.thread.Context()
	m.kernel.SetSink(l.sink)
	l.base = m.Snapshot()
	l.ran, l.finished = false, nil
	if m.cover != nil {
		l.news = m.cover.News()
	}
}

// Warm runs the program as it is, and adds to the state that runs begin from what the kernel makes
// lazily and this run asked for: content of kernel objects and objects that they lead to, memory of
// maps, stacks. Values do not depend on that, but addresses of such objects do. Runs that ask for
// the same then need not make it.
func (l *Loop) Warm(ctx context.Context) error {
	m := l.m
	l.Rewind()
	end := m.kernel.RecordLazy()
	_, err := l.Run(ctx)
	made := end()
	if err != nil {
		return err
	}
	l.lazy = append(l.lazy, made...)
	l.grown, l.frames, l.current = m.mapEnv.Grown(), m.thread.Furnished(), m.kernel.Running() != nil
	l.Rewind()
	l.rebase()
	return nil
}

// Rewind brings the machine back to the state that runs begin from.
func (l *Loop) Rewind() {
	m := l.m
	if l.usual != nil {
		l.beginning, l.usual = *l.usual, nil
	}
	m.rewind(l.base)
	*l.s = l.start
	st := &l.state
	res := st.result
	*res = Result{Program: res.Program, Status: l.s.p.status, CPU: l.in.CPU, Helpers: res.Helpers}
	if l.finished != nil { // it belongs to the caller
		res = &Result{Program: res.Program, Status: l.s.p.status, CPU: l.in.CPU, Helpers: map[string]int{}}
	}
	if len(st.warned) > 0 {
		clear(st.warned)
	}
	*st = runState{result: res, prog: l.s.p, warned: st.warned, overrides: l.in.Overrides, ignoreUnset: true}
	m.run, l.s.res = st, res
	clear(m.calls.n)
	m.mem.TakeMoved()
	m.work, m.runs = l.work, nil
	m.work.start = m.thread.Starts()
	m.env.Local = l.s.p.types()
	m.thread.Recover = l.recover
	if base, words := m.thread.Context(); base != l.ctxBase || len(words) != len(l.words) {
		m.thread.SetContext(l.ctxBase, l.words)
	}
	m.kernel.SetSink(l.sink)
	l.ran, l.finished = false, nil
}

// fresh rewinds if a run has been made.
func (l *Loop) fresh() {
	if l.ran {
		l.Rewind()
	}
}

// Run runs the program, from the state that runs begin from with the changes made since
// [Loop.Rewind]. After another run it rewinds first. The error is that of ctx.
func (l *Loop) Run(ctx context.Context) (*LoopOutcome, error) {
	l.fresh()
	l.ran = true
	if err := l.s.Execute(ctx, l.tracer); err != nil {
		return nil, err
	}
	t, out := l.m.thread, &l.out
	*out = LoopOutcome{Ret: t.Ret(), Insns: l.s.Insns(), Fault: t.Fault()}
	if l.s.late.begun {
		out.Ret = l.s.late.ret
	}
	if c := l.m.cover; c != nil {
		news := c.News()
		out.New, l.news = news != l.news, news
	}
	return out, nil
}

// Finish ends the run as [Session.Finish] does, and returns its whole result. Before it, deleted
// elements of maps are still accessible, and records not yet sent to user space. The Result stays
// valid.
func (l *Loop) Finish() *Result {
	if l.finished == nil {
		l.finished = l.s.Finish()
	}
	return l.finished
}

// Record makes further runs record accesses of kernel objects for [Loop.Finish], or not.
func (l *Loop) Record(on bool) {
	if l.sink = nil; on {
		l.sink = l.m.access
	}
	l.Rewind()
}

// Trace makes further runs report every instruction to a tracer, which costs far more than the
// instructions do; nil ends that.
func (l *Loop) Trace(t Tracer) { l.tracer = t }

// Context returns what r1 of the program points to. Its Bytes and SetArg change it for the next
// run. It may be another one after SetInput, SetPacket and Rewind.
func (l *Loop) Context() *hook.Context { return l.s.ctx }

// Program returns the program that the loop runs.
func (l *Loop) Program() *loader.LinkedProgram { return l.s.p.lp }

// SetPacket gives the next run another packet, beginning with its Ethernet header. Packets of an
// sk_buff that are longer than Input.Packet need a context of their own, which takes long; the
// others are put into the one that exists. What was changed since Rewind is lost in the first case,
// so call SetPacket first. The error is a [*PacketSizeError], or that of a context that cannot be
// made.
func (l *Loop) SetPacket(frame []byte) error {
	l.fresh()
	if err := CheckPacket(l.s.p.lp.Program, len(frame)); err != nil {
		return err
	}
	if l.refill != nil && l.refill.With(frame, false) {
		return nil
	}
	in := l.in
	in.Packet = frame
	return l.SetOnce(in)
}

// SetOnce makes a context for the next run alone, which costs what a run of [Machine.Run] costs.
// What was changed since Rewind is lost, so call it first.
func (l *Loop) SetOnce(in Input) error {
	l.fresh()
	usual := l.beginning
	err := l.SetInput(in)
	l.usual = &usual
	return err
}

// SetArg changes an argument of the hook, or a field of its trace record, for the next run. It
// returns false for what only [Loop.SetInput] changes.
func (l *Loop) SetArg(name string, v uint64) bool {
	l.fresh()
	return l.s.ctx.SetArg(name, v)
}

// SetInput makes the context anew, for whatever the other methods cannot change: all further runs
// begin with it. It costs what a run of [Machine.Run] costs.
func (l *Loop) SetInput(in Input) error {
	in.Trace, in.IgnoreUnset = nil, true
	l.in, l.usual = in, nil
	name := l.s.p.lp.Name
	l.s.over = true
	l.m.rewind(l.origin)
	l.m.run = nil
	res, err := l.begin(name)
	if err == nil && res != nil {
		err = l.m.byName[name].err
	}
	return err
}

// Close ends the loop: the machine is in the state in which it was when the loop was made.
func (l *Loop) Close() {
	l.m.kernel.SetSink(nil)
	l.m.rewind(l.origin)
	l.m.run = nil
	clear(l.m.calls.n)
}
