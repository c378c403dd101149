package machine

import (
	"context"
	"fmt"
	"time"

	"github.com/bpfrun/bpfrun/helpers/deferred"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/vm"
)

// Settle lets simulated time pass between runs: timers and work queues that become due run their
// callbacks, in the order of their times. It returns what was sent to user space meanwhile, and the
// first fault of a callback. All callbacks together have the instruction limit of one run, because
// a timer that restarts itself might otherwise never end. The error is that of ctx. Time that
// passes after a run belongs to the run: see Input.Settle.
func (m *Machine) Settle(ctx context.Context, d time.Duration) (*Result, error) {
	res := &Result{Status: StatusOK, Helpers: map[string]int{}}
	end := m.kernel.Clock().Mono() + uint64(max(d, 0))
	for res.Fault == nil {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c, ok := m.due(end)
		if !ok {
			break
		}
		if err := m.fire(ctx, c, res); err != nil {
			return nil, err
		}
	}
	res.Events = m.takeEvents()
	return res, nil
}

// fire runs one callback to its end. The error is that of ctx.
func (m *Machine) fire(ctx context.Context, c deferred.Callback, res *Result) error {
	defer m.env.Timers.End(c)
	m.run = &runState{result: res, warned: map[string]bool{}}
	if m.env.Run != nil {
		m.env.Run.Release()
	}
	defer func() { m.kernel.SetSink(nil); m.run = nil }()
	m.kernel.SetSink(m.access)
	if f := m.call(c); f != nil {
		res.Status, res.Fault = StatusFault, m.explain(f)
		return nil
	}
	res.Program = m.run.prog.lp.Name
	t := m.thread
	for limit := m.cfg.MaxInsns - min(m.cfg.MaxInsns, res.Insns); m.step(min(slice, limit-min(limit, t.Insns()))) == vm.Budget; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if t.Insns() >= limit {
			t.Abort(tooMany(m.cfg.MaxInsns))
		}
	}
	if t.Status() == vm.Done {
		m.checkHeld()
		m.checkCallbackReturn(c)
	}
	m.calls.take(res.Helpers)
	res.Insns += t.Insns()
	res.Trace = append(res.Trace, m.env.Run.Trace...)
	res.Effects = append(res.Effects, m.env.Run.Events...)
	if f := t.Fault(); f != nil {
		res.Status, res.Fault = statusOf(f), m.explain(f)
		m.abandon()
	}
	m.mapEnv.EndRun()
	return nil
}

// checkCallbackReturn makes a return value that the verifier does not allow in callbacks of timers
// and work queues a fault.
func (m *Machine) checkCallbackReturn(c deferred.Callback) {
	if rng, bounded := progtype.CallbackRange(progtype.AsyncCallback); bounded && m.thread.Fault() == nil && !rng.Contains(m.thread.Ret()) {
		m.thread.Abort(&vm.Fault{Kind: vm.BadReturn, Text: fmt.Sprintf("a %s callback returned %d, it may return only %d", c.Kind, int64(m.thread.Ret()), rng.Low)})
	}
}

// statusOf returns the status of a stopped run.
func statusOf(f *vm.Fault) Status {
	switch f.Kind {
	case vm.NotSimulated:
		return StatusNotSimulated
	case vm.Poison:
		return StatusRefused // the kernel does not load a program that can reach a poisoned instruction
	}
	return StatusFault
}
