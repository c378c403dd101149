package machine

import (
	"fmt"
	"slices"
	"time"

	"github.com/bpfrun/bpfrun/helpers"
	"github.com/bpfrun/bpfrun/helpers/deferred"
	"github.com/bpfrun/bpfrun/vm"
)

// late is what a session does after its program has ended: time passes, and timers and work items
// that become due run their callbacks. For users of the session these are further instructions of
// the same run.
type late struct {
	begun bool
	end   uint64 // monotonic time at which the run is over
	ret   uint64 // what the program returned
	insns uint64 // executed until then
	cpu   int    // the CPU it ran on
	main  *helpers.Run
	done  *ended             // finished callbacks, newest first
	call  *deferred.Callback // the running one
}

// ended is what a callback recorded. Marks share the list, which only grows at its head.
type ended struct {
	run  *helpers.Run
	prev *ended
}

// settle starts the next callback that becomes due. It returns false if there is none before the
// end of the run.
func (s *Session) settle() bool {
	if s.in.Settle <= 0 {
		return false
	}
	m, l := s.m, &s.late
	if !l.begun {
		l.begun, l.ret, l.cpu, l.main = true, m.thread.Ret(), m.thread.CPU, m.env.Run
		l.end = m.kernel.Clock().Mono() + uint64(s.in.Settle)
		l.insns = s.insns + m.thread.Insns()
	}
	s.endCall()
	if !m.underWay() {
		m.mapEnv.EndRun()
	}
	call, ok := m.due(l.end)
	if !ok {
		return false
	}
	s.insns += m.thread.Insns()
	if f := m.call(call); f != nil {
		m.env.Timers.End(call)
		m.thread.Start(s.p.img)
		m.thread.Abort(f)
		return false
	}
	l.call = &call
	return true
}

// endCall ends the running callback. Its record stays separate until the end, because marks share
// it.
func (s *Session) endCall() {
	l := &s.late
	if l.call == nil {
		return
	}
	s.m.env.Timers.End(*l.call)
	l.call = nil
	if s.m.env.Run.Recorded() {
		l.done = &ended{s.m.env.Run, l.done}
	}
	s.m.env.Run = l.main
}

// join adds what callbacks recorded to the run.
func (s *Session) join() {
	s.endCall()
	if list := s.late.ended(); list != nil {
		s.m.env.Run = s.late.main.Join(list)
	}
}

// ended returns the records of finished callbacks, oldest first.
func (l *late) ended() []*helpers.Run {
	var list []*helpers.Run
	for d := l.done; d != nil; d = d.prev {
		list = append(list, d.run)
	}
	slices.Reverse(list)
	return list
}

// Printed returns what the run has written to the trace log so far, callbacks included. The run must
// be the one that is under way, or over.
func (s *Session) Printed() []string {
	now := s.m.env.Run
	switch {
	case s.over || now == nil:
		return s.res.Trace
	case !s.late.begun || s.late.main == nil:
		return now.Trace
	}
	list := s.late.ended()
	if s.late.call != nil {
		list = append(list, now)
	}
	return s.late.main.Join(list).Trace
}

// due advances time to the next timer or work item and returns it; false means that there is none
// before end.
func (m *Machine) due(end uint64) (deferred.Callback, bool) {
	clock := m.kernel.Clock()
	at, ok := m.env.Timers.Next()
	if ok && at <= end {
		if now := clock.Mono(); at > now {
			clock.Advance(at - now)
		}
		if c, ok := m.env.Timers.Take(max(at, clock.Mono())); ok {
			return c, true
		}
	}
	if now := clock.Mono(); now < end {
		clock.Advance(end - now)
	}
	return deferred.Callback{}, false
}

// call prepares the thread for a callback from the kernel. It returns a fault if there is no such
// function.
func (m *Machine) call(c deferred.Callback) *vm.Fault {
	img, pc, ok := m.text.Resolve(c.Entry)
	p, own := owner(img)
	if !ok || !own {
		return &vm.Fault{Kind: vm.BadTarget, Text: fmt.Sprintf("%s callback %#x is not in any program", c.Kind, c.Entry)}
	}
	m.env.Run, m.env.Local = m.record(p), p.types()
	m.run.prog, m.env.Run.Callback = p, c.Addr
	m.thread.Recover = m.recoverPolicy(p)
	m.thread.SetContext(0, nil)
	m.thread.CPU = c.CPU
	m.useArena(p)
	m.thread.StartAt(img, pc, c.Args[:]...)
	m.goOn()
	return nil
}

// tooMany returns the fault for callbacks that do not end.
func tooMany(limit uint64) *vm.Fault {
	return &vm.Fault{Kind: vm.BudgetExceeded, Text: fmt.Sprintf("timer callbacks: more than %d instructions until the next run", limit)}
}

// limitReached returns the fault of a run that has reached its instruction limit.
func (s *Session) limitReached() *vm.Fault {
	if s.late.call != nil {
		return tooMany(s.m.cfg.MaxInsns)
	}
	return &vm.Fault{Kind: vm.BudgetExceeded, Text: fmt.Sprintf("more than %d instructions", s.m.cfg.MaxInsns)}
}

// spent returns the instructions that count toward the limit: all callbacks together have the limit
// of one run, and so have a program and those that trace its calls.
func (s *Session) spent() uint64 {
	if s.late.begun {
		return s.insns - min(s.insns, s.late.insns)
	}
	return s.insns + s.within
}

// Settling returns how long time passes after the program.
func (s *Session) Settling() time.Duration { return s.in.Settle }
