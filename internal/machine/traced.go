package machine

import (
	"slices"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/vm"
)

// enter runs the programs at the entry of the run's program, once for each of its calls.
func (s *Session) enter() {
	if s.entered || s.late.begun {
		return
	}
	if s.entered = true; len(s.m.attached.at) == 0 {
		return
	}
	s.trace(passing{args: [5]uint64{s.ctx.Addr}})
}

// exit notes that an extension ran in place of the program, and runs those at the return of the
// run's program.
func (s *Session) exit() {
	if t := s.m.thread; len(s.m.attached.at) > 0 && t.Fault() == nil && !s.late.begun {
		if by := s.m.attached.entry(s.p); by != s.p {
			s.m.run.extended(&Result{
				Program: by.lp.Name, Status: StatusOK, Ran: true, Ret: t.Ret(), Insns: t.Insns(), Helpers: map[string]int{}, CPU: t.CPU, Coverage: s.m.coverageOf(by),
			})
		}
		s.trace(passing{args: [5]uint64{s.ctx.Addr}, returned: true, ret: t.Ret()})
	}
	s.entered = false
}

// passes runs the programs at the call of a traced function for which the thread stopped. It
// returns false if it stopped for another reason.
func (s *Session) passes() bool {
	run := s.m.run
	if run == nil || run.passing == nil {
		return false
	}
	p := *run.passing
	run.passing, run.passed = nil, !run.passing.returned
	s.trace(p)
	return true
}

// trace runs the programs that trace a call, as runs of their own in the middle of this one. A call
// without a program is that of the run's.
func (s *Session) trace(c passing) {
	m := s.m
	if c.at.p == nil {
		c.at, _ = m.attached.resolve(point{s.p, 0})
	}
	tr := m.attached.at[c.at]
	if tr == nil {
		return
	}
	list := tr.entry
	if c.returned {
		list = tr.exit
	}
	if len(list) == 0 {
		return
	}
	call := c.describe(s.ctx)
	state, parent, ret, began := m.run, m.env.Run, m.thread.Ret(), s.Insns()
	s.Park()
	for _, t := range list {
		if slices.Contains(m.attached.busy, t.p) {
			continue // the kernel counts a miss (prog->active)
		}
		m.attached.busy = append(m.attached.busy, t.p)
		if res := s.nested(t, call, began); res != nil {
			parent.Trace, parent.Events = append(parent.Trace, res.Trace...), append(parent.Events, res.Effects...)
			within := res.Traced
			res.Trace, res.Effects, res.Changes, res.Traced = nil, nil, nil, nil
			for _, r := range append([]*Result{res}, within...) {
				state.extended(r)
			}
		}
		m.attached.busy = m.attached.busy[:len(m.attached.busy)-1]
	}
	m.forgetLast()
	s.Unpark()
	if m.thread.Ret() != ret {
		m.thread.SetReg(0, ret)
	}
}

// passCost is what a stop for tracing programs counts toward a slice besides their instructions, so
// that runs with many can be interrupted.
const passCost = 1000

// nested runs a tracing program on the CPU and in the task of the run, which has executed began
// instructions.
func (s *Session) nested(t tracer, call *hook.Passed, began uint64) *Result {
	before := s.within + began
	n, res, err := s.m.Begin(t.p.lp.Name, Input{CPU: s.in.CPU, Current: s.in.Current, Cookie: t.cookie, passed: call, IgnoreUnset: s.in.IgnoreUnset, Trace: s.in.Trace})
	if err != nil {
		return &Result{Program: t.p.lp.Name, Status: StatusRefused, Warnings: []string{err.Error()}}
	}
	if n == nil {
		return res
	}
	n.within = before
	for n.Run(slice) == vm.Budget { // the limit of instructions, which it shares with the run, ends it
	}
	s.within += n.within + n.Insns() - before
	return n.Finish()
}

// describe returns the call for a context. The kernel relies on the types of the program itself, of
// global functions, and of static ones that the verifier found to be called as their types say.
func (c *passing) describe(of *hook.Context) *hook.Passed {
	lp := c.at.p.lp
	out := &hook.Passed{Name: lp.Name, Addr: c.at.p.img.FuncAddr(c.at.start), Args: c.args, Ret: c.ret, Of: of}
	f := functionAt(lp, c.at.start)
	if f == nil {
		return out
	}
	out.Name = f.Name
	spec := c.at.p.types()
	if spec == nil || f.Type == 0 {
		return out
	}
	if t, err := spec.Type(f.Type); err == nil && (c.at.start == 0 && !lp.Untyped || c.at.start > 0 && t.Kind == btf.KindFunc && t.Linkage == btf.LinkageGlobal || slices.Contains(lp.Reliable, c.at.start)) {
		out.Types, out.Func = spec, f.Type
	}
	return out
}
