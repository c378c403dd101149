package machine

import (
	"context"
	"fmt"
	"slices"

	"github.com/bpfrun/bpfrun/helpers/held"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/vm"
)

// Session is a run that is driven from outside: begun, executed piece by piece, and finished or
// left. [Machine.Run] is a session that runs to its end. A machine executes one session at a time;
// [Session.Park] makes room for another.
type Session struct {
	m      *Machine
	p      *program
	ctx    *hook.Context
	before map[*boundMap][]element
	res    *Result
	over   bool
	// unobserved is set in loops, whose runs are too many.
	unobserved bool
	tracked    bool // it began on the interpreter, for the bytes that were never written

	overrides map[string]Override
	in        Input
	late      late
	blocked   uint64 // lock that it stopped for, 0 if none

	step    int    // number of the call of the program, from 0
	insns   uint64 // instructions of earlier calls
	within  uint64 // instructions of the programs that traced its calls, or for a tracing program also those executed before it
	shownAt int    // length of an iterator's output before this call
	entered bool   // the programs at the entry of the program ran, for this call
}

// Begin prepares a run: it creates the context and sets the processor to the first instruction. For
// a program that cannot run it returns no Session but a Result with the reason as its status. The
// error is for wrong input: an unknown program or CPU, or a context that cannot be created.
func (m *Machine) Begin(name string, in Input) (*Session, *Result, error) {
	p := m.byName[name]
	if p == nil {
		return nil, nil, fmt.Errorf("%w: %s", ErrNoProgram, name)
	}
	res := &Result{Program: name, Status: p.status, CPU: in.CPU, Helpers: map[string]int{}, From: m.kernel.Clock().Mono()}
	if p.img == nil {
		return nil, res, nil
	}
	if busy := m.busy(in.CPU); busy != nil && in.passed == nil && !in.interrupts {
		return nil, nil, &BusyError{in.CPU, busy.p.lp.Name}
	}
	if err := m.kernel.SetCPU(in.CPU); err != nil {
		return nil, nil, err
	}
	m.thread.CPU = in.CPU
	kctx, err := m.contextFor(p, in)
	if err != nil {
		res, err = m.contextRefused(res, err)
		return nil, res, err
	}
	m.last = kctx
	if in.passed == nil {
		m.mem.TakeMoved() // by what made the run, or was before it
		m.work.left, m.work.seen = workSlice, 0
	}
	m.begin(p, kctx, res, in.Overrides)
	m.run.ignoreUnset = in.IgnoreUnset
	tracked := m.tracksRun(p, in)
	m.thread.Track(tracked)
	m.beginScratch(p)
	m.beginLimits()
	s := &Session{m: m, p: p, ctx: kctx, before: m.contents(in.NoChanges), res: res, overrides: in.Overrides, in: in, unobserved: m.untracked, tracked: tracked}
	for _, addr := range in.Holds {
		m.env.Run.Held.Take(held.Reference, addr, "argument")
	}
	m.useArena(p)
	if !isUSDT(p) { // for those the cookie is the number of the spec, 0
		m.env.Run.Cookie, m.env.Run.CgroupStorage = in.Cookie, in.CgroupStorage
	}
	m.thread.Start(m.attached.entry(p).img, kctx.Addr)
	s.begun()
	return s, res, nil
}

// Program returns the program of the run. After tail calls a different one may be executing.
func (s *Session) Program() *loader.LinkedProgram { return s.p.lp }

// Context returns what r1 of the program pointed to at its start.
func (s *Session) Context() *hook.Context { return s.ctx }

// Result returns what the run has collected so far: accesses of kernel memory and warnings.
// [Session.Finish] completes it.
func (s *Session) Result() *Result { return s.res }

// Run executes at most n instructions and returns why it stopped. The machine's instruction limit
// and references still held at the end are faults. Run continues over all calls of its program.
func (s *Session) Run(n uint64) vm.Stop {
	t := s.m.thread
	s.blocked, s.m.waits = 0, nil
	for !s.over {
		s.enter()
		limit, began := s.m.cfg.MaxInsns-min(s.spent(), s.m.cfg.MaxInsns), t.Insns()
		most := s.m.trackedFor(n, s.insns+began)
		switch s.m.step(min(most, limit-min(began, limit))) {
		case vm.Budget:
			if t.Insns() < limit {
				cut := most < n
				if n -= min(n, t.Insns()-min(began, t.Insns())); cut && n > 0 && s.insns+t.Insns() >= trackedInsns {
					continue // natively from here on
				}
				return vm.Budget
			}
			t.Abort(s.limitReached())
		case vm.Stopped:
			within := s.within
			if !s.passes() {
				break
			}
			if n -= min(n, t.Insns()-min(began, t.Insns())+s.within-within+passCost); n == 0 {
				return vm.Budget
			}
			continue
		case vm.Done:
			n -= min(n, t.Insns()-min(began, t.Insns()))
			if s.in.Gives && s.late.call == nil {
				s.m.env.Run.Held.Give(held.Reference, s.m.thread.Ret())
			}
			s.m.checkHeld()
			if s.late.call == nil {
				s.m.checkReturn(s.p, s.ctx)
			} else {
				s.m.checkCallbackReturn(*s.late.call)
			}
			s.exit()
			if t.Fault() == nil && (s.late.call == nil && s.again() || s.settle()) && n > 0 {
				continue
			}
		}
		break
	}
	if w := s.m.waits; w != nil {
		s.blocked = w.Lock
	}
	return t.Status()
}

// Insns returns the number of instructions that the run has executed so far.
func (s *Session) Insns() uint64 { return s.insns + s.m.thread.Insns() }

// Finish ends the run at its current position and returns its result.
func (s *Session) Finish() *Result {
	if !s.over {
		s.ended()
		s.over = true
		l := &s.late
		if l.call != nil { // was stopped in a callback
			s.m.abandon()
		}
		s.join()
		output := s.m.env.Run.Text
		s.m.finish(s.p, s.ctx, s.before, &s.in)
		s.res.Output = string(output)
		s.res.Insns += s.insns
		if s.tracked {
			s.p.tracking.spend(s.res.Insns)
		}
		s.res.Calls = s.step + 1
		if l.begun {
			s.res.Ret, s.m.thread.CPU = l.ret, l.cpu
		}
		s.ctx.Leave()
	}
	return s.res
}

// Leave ends the run without a result. After Finish it does nothing. Changes that a parked run made
// to shared state remain.
func (s *Session) Leave() {
	if at := s.m.parkedAt(s); at >= 0 {
		s.m.runs[at].free(s.m)
		s.m.runs = slices.Delete(s.m.runs, at, at+1)
		s.over = true
	}
	if s.over {
		return
	}
	s.over = true
	s.join()
	s.m.endScratch(s.p, &s.m.run.leaks)
	s.m.kernel.SetSink(nil)
	clear(s.m.calls.n)
	s.m.run = nil
	s.ctx.Leave()
}

// Explain adds everything known about the position of a fault.
func (m *Machine) Explain(f *vm.Fault) *Fault { return m.explain(f) }

// Execute runs to the end, in slices so that ctx can stop it; the error is then that of ctx. A
// tracer receives every instruction; nil runs at full speed.
func (s *Session) Execute(ctx context.Context, tr Tracer) error {
	if tr != nil {
		return s.traced(ctx, tr)
	}
	for s.Run(slice) == vm.Budget {
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// traced runs to the end one instruction at a time.
func (s *Session) traced(ctx context.Context, tr Tracer) error {
	t := s.m.thread
	for n := 1; ; n++ {
		if n%slice == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		img, pc, depth := t.Image(), t.PC(), t.Depth()
		before := [11]uint64(t.Regs()[:11])
		stop := s.Run(1)
		if p, ok := owner(img); ok {
			after := [11]uint64(t.Regs()[:11])
			tr.Step(p.lp, pc, depth, &before, &after)
		}
		if stop != vm.Budget {
			return nil
		}
	}
}
