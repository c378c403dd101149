package machine

import (
	"fmt"
	"slices"
	"time"

	"github.com/bpfrun/bpfrun/helpers"
	"github.com/bpfrun/bpfrun/helpers/deferred"
	"github.com/bpfrun/bpfrun/vm"
)

// late is what a session does after its program ended: time passes, and timers and work items that fall due run their callbacks. To
// everyone who drives the session these are more instructions of one run.
type late struct {
	begun bool
	end   uint64 // monotonic time at which the run is over
	ret   uint64 // what the program returned
	insns uint64 // that were executed when it did
	cpu   int    // that it ran on
	main  *helpers.Run
	done  *ended             // callbacks that did, the last one first
	call  *deferred.Callback // that runs
}

// ended is what a callback recorded. Marks share the list: it only grows at its head.
type ended struct {
	run  *helpers.Run
	prev *ended
}

// settle starts the next callback that falls due. False means that there is none before the end of the run.
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

// endCall ends the callback that ran. What it recorded stays its own until the end, since marks share it.
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

// join makes what callbacks recorded part of the run.
func (s *Session) join() {
	s.endCall()
	var list []*helpers.Run
	for d := s.late.done; d != nil; d = d.prev {
		list = append(list, d.run)
	}
	if slices.Reverse(list); list != nil {
		s.m.env.Run = s.late.main.Join(list)
	}
}

// due lets time pass until the next timer or work item falls due, and takes it; false is none before end.
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

// call prepares the thread for a callback of the kernel. The fault is that there is no such function.
func (m *Machine) call(c deferred.Callback) *vm.Fault {
	img, pc, ok := m.text.Resolve(c.Entry)
	p, own := owner(img)
	if !ok || !own {
		return &vm.Fault{Kind: vm.BadTarget, Text: fmt.Sprintf("%s callback %#x is not in any program", c.What, c.Entry)}
	}
	m.env.Run, m.env.Local = m.record(p), p.types()
	m.run.prog = p
	m.thread.Recover = m.recoverPolicy(p)
	m.thread.SetContext(0, nil)
	m.thread.CPU = c.CPU
	m.useArena(p)
	m.thread.StartAt(img, pc, c.Args[:]...)
	m.goOn()
	return nil
}

// tooMany returns the fault of callbacks that do not come to an end.
func tooMany(limit uint64) *vm.Fault {
	return &vm.Fault{Kind: vm.BudgetExceeded, Text: fmt.Sprintf("timer callbacks: more than %d instructions until the next run", limit)}
}

// limitReached returns the fault of a run that executed all it may.
func (s *Session) limitReached() *vm.Fault {
	if s.late.call != nil {
		return tooMany(s.m.cfg.MaxInsns)
	}
	return &vm.Fault{Kind: vm.BudgetExceeded, Text: fmt.Sprintf("more than %d instructions", s.m.cfg.MaxInsns)}
}

// spent returns how many instructions count toward the limit: the callbacks together have that of one run.
func (s *Session) spent() uint64 {
	if s.late.begun {
		return s.insns - min(s.insns, s.late.insns)
	}
	return s.insns
}

// Settling returns for how long time passes after the program.
func (s *Session) Settling() time.Duration { return s.in.Settle }
