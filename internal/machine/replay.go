package machine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bpfrun/bpfrun/helpers"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/vm"
)

// Replay runs one program on one packet after another. For each packet it does what [Machine.Run]
// does, with the same result, but keeps only counts: its memory does not grow with the number of
// packets. A machine has one replay or session at a time.
type Replay struct {
	m      *Machine
	p      *program
	in     Input
	least  int // minimum length of packets that the program gets
	most   int
	ctx    *hook.Context
	refill *hook.Refill
	run    *helpers.Run
	called bool // a run since the packet was last replaced called functions

	tracking tracking
	tracked  bool // whether the last run was tracked
	state    runState
	out      Outcome

	// KeepEvents keeps the records sent to user space in the result, instead of only counting them.
	KeepEvents bool

	next func(ret, insns uint64) (gap uint64, more bool) // ran, made once
	then Then                                            // of the stream of runs that goes on
	left []byte                                          // its last packet, if some: to be taken as usual
	some bool

	buffers []*boundMap
	total   Result
	events  map[string]int
	before  map[*boundMap][]element
}

// Outcome is the result of a run on one packet, valid until the next one is run.
type Outcome struct {
	Ret, Insns uint64
	// Fault is the reason why the program was stopped, nil if it returned.
	Fault *Fault
	// Packet is the packet after the run, starting with its Ethernet header.
	Packet  []byte
	Effects []helpers.Event
	Trace   []string
}

// PacketSizeError reports a packet that programs of a type never get.
type PacketSizeError struct {
	ProgType    uapi.ProgType
	Size        int
	Least, Most int
}

// Error names the sizes that the program accepts.
func (e *PacketSizeError) Error() string {
	if e.Size < e.Least {
		return fmt.Sprintf("a packet of %d bytes is too short: it begins with an Ethernet header of %d bytes", e.Size, e.Least)
	}
	if e.Most == 0 {
		return fmt.Sprintf("%v programs take no packet", e.ProgType)
	}
	text := fmt.Sprintf("a packet of %d bytes is too long: %v programs take at most %d", e.Size, e.ProgType, e.Most)
	if progtype.Of(e.ProgType).FragsByFlag {
		text += ", unless they take several buffers (SEC \"xdp.frags\")"
	}
	return text
}

// CheckPacket checks that a program can get a packet of that size in bytes, Ethernet header
// included. The error is a [*PacketSizeError].
func CheckPacket(lp *loader.Program, size int) error {
	least, most := hook.FrameLimits(lp.Type, lp.Flags&uapi.ProgXDPHasFrags != 0)
	if size < least || size > most {
		return &PacketSizeError{ProgType: lp.Type, Size: size, Least: least, Most: most}
	}
	return nil
}

// ErrReplayTraced is returned for a replay while programs trace functions of others: those run with
// single packets only.
var ErrReplayTraced = errors.New("programs trace functions of programs (fentry, fexit), which a replay of many packets does not run: run single packets")

// Replay prepares a replay. For a program that cannot run it returns no Replay but a Result with
// the reason as its status. The error is for wrong input, as in [Machine.Begin]. in.Packet and
// in.Trace are not used.
func (m *Machine) Replay(name string, in Input) (*Replay, *Result, error) {
	p := m.byName[name]
	if p == nil {
		return nil, nil, fmt.Errorf("%w: %s", ErrNoProgram, name)
	}
	r := &Replay{m: m, p: p, in: in, events: map[string]int{}, total: Result{Program: name, Status: p.status, CPU: in.CPU, Helpers: map[string]int{}}}
	if p.img == nil {
		return nil, &r.total, nil
	}
	if !progtype.Of(p.lp.Type).Takes.Has(progtype.TakesPacket) {
		return nil, nil, fmt.Errorf("%s: %v programs take no packet", name, p.lp.Type)
	}
	if m.attached.traces() {
		return nil, nil, fmt.Errorf("%s: %w", name, ErrReplayTraced)
	}
	r.least, r.most = hook.FrameLimits(p.lp.Type, p.lp.Flags&uapi.ProgXDPHasFrags != 0)
	for b := range m.maps.All() {
		switch b.m.(type) {
		case maps.RingBuffer, maps.PerfArray:
			r.buffers = append(r.buffers, b)
		}
	}
	if err := m.kernel.SetCPU(in.CPU); err != nil {
		return nil, nil, err
	}
	m.forgetLast()
	r.in.Packet, r.before = nil, m.contents(false)
	if res, err := r.renew(); res != nil || err != nil {
		return nil, res, err
	}
	return r, nil, nil
}

// renew creates a new context and prepares the machine for runs with it.
func (r *Replay) renew() (*Result, error) {
	m := r.m
	r.drop()
	kctx, err := m.newContext(r.p, r.in)
	if err != nil {
		return m.contextRefused(&r.total, err)
	}
	r.ctx, r.refill = kctx, kctx.Refill()
	r.prepare()
	r.tracked = true // the previous run may have been tracked
	return nil, nil
}

// prepare makes the machine ready for a run of the program.
func (r *Replay) prepare() {
	m := r.m
	m.begin(r.p, r.ctx, &r.total, r.in.Overrides)
	r.run, r.state = m.env.Run, *m.run
	m.thread.CPU = r.in.CPU
}

// drop frees the context.
func (r *Replay) drop() {
	if r.ctx != nil {
		r.ctx.Leave()
		r.ctx.Free()
		r.ctx = nil
	}
}

// Run runs the program on a packet. The error is a [*PacketSizeError], or that of ctx.
func (r *Replay) Run(ctx context.Context, packet []byte) (*Outcome, error) {
	return r.RunThen(ctx, packet, nil)
}

// Then is called with the outcome of a run on a packet, and returns the next packet, which comes gap
// later; more is false if there is none that can follow at once.
type Then func(out *Outcome) (packet []byte, gap time.Duration, more bool)

// RunThen runs the program on a packet and on those that then returns, with the same results as
// [Replay.Run] for each, and [Replay.Pass] between them. It returns when a run does something that it
// cannot do for many at once, with the outcome of that run, for which then was not called; or without
// an Outcome, after then returned no packet. The error is about the last packet.
func (r *Replay) RunThen(ctx context.Context, packet []byte, then Then) (*Outcome, error) {
	m, t := r.m, r.m.thread
	for {
		if err := r.take(packet); err != nil {
			return nil, err
		}
		m.run = &r.state
		m.env.Run = r.run
		if r.called {
			r.run.Reset()
		}
		made := m.calls.made
		if on := r.tracking.next() && !m.untracked; on || r.tracked {
			t.Track(on)
			r.tracked = on
		}
		m.beginScratch(r.p)
		t.Start(m.attached.entry(r.p).img, r.ctx.Addr)
		if m.observer != nil {
			m.observer.Begun(r.p.lp, r.ctx)
		}
		if then != nil && !r.tracked && m.observer == nil && r.refill != nil {
			begun, left, some := r.stream(then)
			if !begun && !some {
				return nil, nil
			} else if !begun {
				packet = left
				continue
			}
		}
		if err := r.execute(ctx); err != nil {
			return nil, err
		}
		if m.observer != nil && t.Fault() == nil {
			m.observer.Ended(r.p.lp, r.ctx, t.Ret())
		}
		m.endLeaks(r.p, r.ctx)
		out := r.outcome()
		r.total.Insns += out.Insns
		if r.tracked {
			r.tracking.spend(out.Insns)
		}
		r.ended(made)
		return out, nil
	}
}

// take puts a packet into the context.
func (r *Replay) take(packet []byte) error {
	if len(packet) < r.least || len(packet) > r.most {
		return CheckPacket(r.p.lp.Program, len(packet))
	}
	if r.refill == nil || !r.refill.With(packet, r.called) {
		r.in.Packet = packet
		if res, err := r.renew(); err != nil {
			return err
		} else if res != nil {
			return fmt.Errorf("%s: %s: %w", r.p.lp.Name, res.Status, r.p.err)
		}
	}
	return nil
}

// stream lets the engine execute the run that has begun, and those on the packets that then returns,
// for as long as they call nothing in Go. begun means that the last of them has not ended. Otherwise
// some means that left is a packet that has to be taken as usual.
func (r *Replay) stream(then Then) (begun bool, left []byte, some bool) {
	r.called, r.then, r.left, r.some = false, then, nil, false
	if r.next == nil {
		r.next = r.ran
	}
	begun = r.m.thread.Stream(min(slice, r.m.cfg.MaxInsns), r.next)
	return begun, r.left, r.some
}

// ran is called after a run that ended in stream, and puts the next packet into the context.
func (r *Replay) ran(ret, insns uint64) (gap uint64, more bool) {
	m, out := r.m, &r.out
	out.Ret, out.Insns, out.Packet, out.Fault = ret, insns, r.ctx.Frame(), nil
	out.Effects, out.Trace = r.run.Events, r.run.Trace
	r.total.Insns += insns
	packet, after, more := r.then(out)
	if !more {
		return 0, false
	}
	gap = uint64(max(after, 0))
	m.kernel.Clock().Advance(gap)
	if len(packet) < r.least || len(packet) > r.most || r.tracking.due() && !m.untracked || !r.refill.With(packet, false) {
		r.left, r.some = packet, true
		return 0, false
	}
	r.tracking.runs++
	return gap, true
}

// Waits reports whether something is due at a time, so that Pass may run it between two packets.
func (r *Replay) Waits() bool {
	_, due := r.m.env.Timers.Next()
	return due
}

// execute runs the thread to the end of a run that has begun. The error is that of ctx.
func (r *Replay) execute(ctx context.Context) error {
	m, t := r.m, r.m.thread
	limit := m.cfg.MaxInsns
	for m.step(min(slice, limit-min(limit, t.Insns()))) == vm.Budget {
		if t.Insns() >= limit {
			t.Abort(&vm.Fault{Kind: vm.BudgetExceeded, Text: fmt.Sprintf("more than %d instructions", limit)})
		} else if err := ctx.Err(); err != nil {
			r.called = true // assume so
			return err
		}
	}
	if t.Status() == vm.Done && len(r.run.Held.Things()) > 0 {
		m.checkHeld()
	}
	return nil
}

// outcome is that of the last run.
func (r *Replay) outcome() *Outcome {
	t, out := r.m.thread, &r.out
	out.Ret, out.Insns, out.Packet = t.Ret(), t.Insns(), r.ctx.Frame()
	out.Effects, out.Trace = r.run.Events, r.run.Trace
	out.Fault = nil
	if f := t.Fault(); f != nil {
		out.Fault = r.m.explain(f)
		r.m.abandon()
	}
	return out
}

// ended cleans up after a run that began when that many calls were made.
func (r *Replay) ended(made uint64) {
	if r.called = r.m.calls.made != made; r.called { // a program that calls nothing leaves no traces
		r.m.mapEnv.EndRun()
		r.consume()
	}
}

// consume takes the records sent to user space and counts them.
func (r *Replay) consume() {
	if r.KeepEvents && len(r.buffers) > 0 {
		r.total.Events = append(r.total.Events, r.m.takeEvents()...)
		return
	}
	for _, b := range r.buffers {
		switch t := b.m.(type) {
		case maps.RingBuffer:
			r.events[b.def.Name] += len(t.TakeRecords())
		case maps.PerfArray:
			r.events[b.def.Name] += len(t.TakeRecords())
		}
	}
}

// Pass lets simulated time pass between two packets; timers and work items that become due run. The
// Result is that of [Machine.Settle], nil if nothing ran.
func (r *Replay) Pass(ctx context.Context, d time.Duration) (*Result, error) {
	clock := r.m.kernel.Clock()
	if d <= 0 {
		return nil, nil
	}
	if at, due := r.m.env.Timers.Next(); !due || at > clock.Mono()+uint64(d) {
		clock.Advance(uint64(d))
		return nil, nil
	}
	res, err := r.m.Settle(ctx, d)
	r.prepare() // the callbacks were separate runs
	return res, err
}

// Events counts the records sent to user space, by map.
func (r *Replay) Events() map[string]int { return r.events }

// Close ends the replay and returns the totals of its runs: instructions, calls of helpers, changes
// of maps, coverage, warnings.
func (r *Replay) Close() *Result {
	m := r.m
	m.kernel.SetSink(nil)
	m.calls.take(r.total.Helpers)
	r.total.Ran, r.total.Changes = true, m.changes(r.before, false)
	r.total.Warnings = r.state.result.Warnings
	if !m.cfg.Uncovered {
		r.total.Coverage = m.coverage.of(r.p)
		m.tellCovered()
	}
	m.run = nil
	r.drop()
	return &r.total
}

// Context returns the object that r1 of the program points to. A run may replace it.
func (r *Replay) Context() *hook.Context { return r.ctx }
