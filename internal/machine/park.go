package machine

import (
	"fmt"
	stdmaps "maps"
	"slices"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/helpers"
	"github.com/bpfrun/bpfrun/helpers/held"
	"github.com/bpfrun/bpfrun/internal/kernel"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/vm"
)

// parking holds the runs that are suspended while another executes, each on a CPU of its own. They
// share memory, maps, objects and time with it.
type parking struct {
	runs []*parked
	// waits is what the executing run waits for, nil if it can continue.
	waits *Wait
}

// parked is a suspended run with everything that the machine holds for a run.
type parked struct {
	s      *Session
	thread *vm.Parked
	kernel kernel.Parked
	state  *runState
	record *helpers.Run
	local  *btf.Spec
	last   *hook.Context
	calls  []int
	work   work
	moved  uint64 // bytes that are not charged yet
}

// Wait is a lock that a program waits for because a run on another CPU holds it.
type Wait struct {
	Lock uint64 // address
	// Holder is the run that holds it; Image and PC are the call that took it.
	Holder *Session
	Image  *vm.Image
	PC     int
}

// Park suspends the run, whether or not it is over, so that the machine can begin one on another
// CPU or continue a suspended one. The runs share memory, maps and time; the caller can switch
// between them after any instruction. A suspended run can only be continued, left, or become part
// of a [Mark].
func (s *Session) Park() {
	m := s.m
	p := &parked{
		s: s, thread: m.thread.Park(), kernel: m.kernel.Park(), state: m.run, record: m.env.Run, local: m.env.Local, last: m.last,
		calls: slices.Clone(m.calls.n), work: m.work, moved: m.mem.TakeMoved(),
	}
	clear(m.calls.n)
	m.run, m.env.Run, m.env.Local, m.last = nil, nil, nil, nil
	m.work = work{left: workSlice}
	m.runs = append(m.runs, p)
}

// Unpark continues a suspended run. The machine must not have an active one.
func (s *Session) Unpark() {
	m := s.m
	at := m.parkedAt(s)
	if at < 0 {
		return
	}
	p := m.runs[at]
	m.runs = slices.Delete(m.runs, at, at+1)
	m.thread.Unpark(p.thread)
	m.kernel.Unpark(p.kernel)
	m.run, m.env.Run, m.env.Local, m.last = p.state, p.record, p.local, p.last
	m.work = p.work
	m.mem.TakeMoved()
	m.mem.NoteMoved(p.moved)
	clear(m.calls.n)
	copy(m.calls.n, p.calls)
}

// free releases the memory of a suspended run that will not be continued.
func (p *parked) free(m *Machine) {
	m.thread.Drop(p.thread)
	if p.last != nil {
		p.last.Free()
	}
}

// Waits returns the lock for which the last Run of the session stopped, or nil if it stopped for
// another reason.
func (s *Session) Waits() *Wait {
	if s.blocked == 0 {
		return nil
	}
	return s.m.waits
}

// parkedAt returns the index of a session in the list, -1 for one that is not parked.
func (pk *parking) parkedAt(s *Session) int {
	return slices.IndexFunc(pk.runs, func(p *parked) bool { return p.s == s })
}

// underWay reports whether a parked run is not over.
func (pk *parking) underWay() bool {
	return slices.ContainsFunc(pk.runs, func(p *parked) bool { return !p.s.over })
}

// holder finds the parked run that holds a lock.
func (pk *parking) holder(lock uint64) (*parked, *held.Thing) {
	for _, p := range pk.runs {
		if p.record == nil || p.s.over {
			continue
		}
		for i := range p.record.Held.Things() {
			if t := &p.record.Held.Things()[i]; t.Kind == held.SpinLock && t.Addr == lock {
				return p, t
			}
		}
	}
	return nil, nil
}

// holds reports whether a run holds a lock.
func holds(l *held.Ledger, lock uint64) bool {
	return slices.ContainsFunc(l.Things(), func(t held.Thing) bool { return t.Kind == held.SpinLock && t.Addr == lock })
}

// await makes the call wait if a parked run holds the lock; it returns nil if none does. A
// bpf_res_spin_lock does not wait for a CPU that itself waits for a lock held here: the call fails
// (kernel/bpf/rqspinlock.c check_deadlock_ABBA).
func (pk *parking) await(lock uint64, resilient bool, mine *held.Ledger) *vm.Action {
	p, t := pk.holder(lock)
	if p == nil || resilient && p.s.blocked != 0 && holds(mine, p.s.blocked) {
		return nil
	}
	pk.waits = &Wait{Lock: lock, Holder: p.s, Image: t.Image, PC: t.PC}
	return vm.WaitAction(waiting)
}

// waiting is the stop reason before a call that waits.
const waiting = "waiting"

// opened reports whether a parked run holds a record of a ring buffer.
func (pk *parking) opened(record uint64) bool {
	for _, p := range pk.runs {
		if p.record == nil || p.s.over {
			continue
		}
		for _, t := range p.record.Held.Things() {
			if t.Addr == record && (t.Kind == held.Record || t.Kind == held.RecordDynptr) {
				return true
			}
		}
	}
	return false
}

// busy returns the unfinished run on a CPU, or nil.
func (pk *parking) busy(cpu int) *Session {
	for _, p := range pk.runs {
		if !p.s.over && p.s.in.CPU == cpu {
			return p.s
		}
	}
	return nil
}

// BusyError means that a CPU has an unfinished run.
type BusyError struct {
	CPU     int
	Program string
}

// Error names the CPU and the program.
func (e *BusyError) Error() string {
	return fmt.Sprintf("CPU %d is in the middle of %s: one program runs on a CPU at a time", e.CPU, e.Program)
}

// keep records the state of a parked run; restore parks it again in that state, any number of
// times.
func (p *parked) keep() (restore func() *parked) {
	was, session := *p, p.s.keep()
	was.calls = slices.Clone(p.calls)
	record := func() {}
	if p.record != nil {
		record = p.record.Keep()
	}
	var state runState
	if p.state != nil {
		state = p.state.clone()
	}
	return func() *parked {
		again := was
		again.calls = slices.Clone(was.calls)
		record()
		session()
		if was.state != nil {
			st := state.clone()
			again.state, again.s.res = &st, st.result
		}
		return &again
	}
}

// keep records the session's own state.
func (s *Session) keep() (restore func()) {
	was := *s
	return func() { *s = was }
}

// clone copies what a run adds to.
func (st *runState) clone() runState {
	c := *st
	res := st.result.clone()
	c.result, c.warned = &res, stdmaps.Clone(st.warned)
	return c
}
