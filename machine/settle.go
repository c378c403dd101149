package machine

import (
	"context"
	"fmt"
	"time"

	"github.com/bpfrun/bpfrun/helpers"
	"github.com/bpfrun/bpfrun/progtype"
	"github.com/bpfrun/bpfrun/vm"
)

// Settle lets simulated time pass between runs: timers and work queues that fall due run their callbacks, in the
// order of their times. It returns what reached user space meanwhile, and the first fault of a callback. All callbacks together have
// the instructions of one run: a timer that starts itself again may never come to an end otherwise. The error is that of ctx.
func (m *Machine) Settle(ctx context.Context, d time.Duration) (*Result, error) {
	res := &Result{Status: StatusOK, Helpers: map[string]int{}}
	clock := m.kernel.Clock()
	end := clock.Mono() + uint64(max(d, 0))
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		at, ok := m.env.NextCallback()
		if !ok || at > end {
			break
		}
		if now := clock.Mono(); at > now {
			clock.Advance(at - now)
		}
		c, ok := m.env.TakeCallback(max(at, clock.Mono()))
		if !ok {
			break
		}
		if !m.fire(ctx, c, res) {
			break
		}
	}
	if now := clock.Mono(); now < end {
		clock.Advance(end - now)
	}
	res.Events = m.takeEvents()
	return res, nil
}

// fire runs one callback to its end; false when it faulted.
func (m *Machine) fire(ctx context.Context, c helpers.Callback, res *Result) bool {
	defer m.env.EndCallback(c)
	img, pc, ok := m.text.Resolve(c.Entry)
	if !ok {
		res.Status = StatusFault
		res.Fault = m.explain(&vm.Fault{Kind: vm.BadTarget, Text: fmt.Sprintf("%s callback %#x is in no program", c.What, c.Entry)})
		return false
	}
	p, ok := owner(img)
	if !ok {
		return false
	}
	m.run = &runState{result: res, prog: p, warned: map[string]bool{}}
	m.env.Run = helpers.NewRun(p.typ, p.lp.Attach)
	m.thread.Recover = m.recoverPolicy(p)
	m.kernel.SetSink(m.access)
	m.thread.SetContext(0, nil)
	m.thread.CPU = c.CPU
	m.useArena(p)
	m.thread.StartAt(img, pc, c.Args[:]...)
	for limit := m.cfg.MaxInsns - min(m.cfg.MaxInsns, res.Insns); m.thread.Run(min(slice, limit-min(limit, m.thread.Insns()))) == vm.Budget; {
		if m.thread.Insns() >= limit || ctx.Err() != nil {
			m.thread.Abort(&vm.Fault{Kind: vm.BudgetExceeded, Text: fmt.Sprintf("%s callbacks: more than %d instructions until the next run", c.What, m.cfg.MaxInsns)})
		}
	}
	if m.thread.Status() == vm.Done {
		m.checkHeld()
		if rng, bounded := progtype.CallbackRange(progtype.AsyncCallback); bounded && m.thread.Fault() == nil && !rng.Contains(m.thread.Ret()) {
			m.thread.Abort(&vm.Fault{Kind: vm.BadReturn, Text: fmt.Sprintf("a %s callback returned %d, it may return %d only", c.What, int64(m.thread.Ret()), rng.Low)})
		}
	}
	m.kernel.SetSink(nil)
	m.calls.take(res.Helpers)
	res.Insns += m.thread.Insns()
	res.Trace = append(res.Trace, m.env.Run.Trace...)
	m.mapEnv.EndRun()
	m.run = nil
	if f := m.thread.Fault(); f != nil {
		res.Status, res.Fault = StatusFault, m.explain(f)
		return false
	}
	return true
}
