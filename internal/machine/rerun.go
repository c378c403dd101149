package machine

import (
	"context"

	"github.com/bpfrun/bpfrun/internal/progtype"
)

// betweenRuns is the number of runs after which RunRepeated calls its caller back.
const betweenRuns = 64

// RunRepeated runs a program n times as the kernel's BPF_PROG_TEST_RUN repeats it (bpf_test_run of
// net/bpf/test_run.c): packet, context and stack are made once, and each run finds what the one
// before left in them. The Result is that of the last run, or of the first that ends in a fault;
// runs is how many were made. That is fewer than n, at least one, where whole runs must follow:
// programs trace or replace others, timers wait, or its type gets no packet in an sk_buff or
// xdp_buff. Before the records of a run are dropped for the next one, printed gets its lines of
// trace output. between is called every so often, and its error ends everything. The other errors
// are those of [Machine.Run].
func (m *Machine) RunRepeated(ctx context.Context, name string, in Input, n int, printed func(lines []string), between func() error) (res *Result, runs int, err error) {
	s, res, err := m.Begin(name, in)
	if s == nil {
		return res, 1, err
	}
	defer s.Leave()
	made := m.calls.made
	if err := s.Execute(ctx, nil); err != nil {
		return nil, 0, err
	}
	runs = 1
	if takes := progtype.Of(s.p.lp.Type).Takes; !takes.Has(progtype.TakesSkb) && !takes.Has(progtype.TakesXDP) || len(m.attached.at) > 0 || s.late.begun || m.underWay() {
		return s.Finish(), runs, nil
	}
	m.thread.Track(false)
	for next := betweenRuns; runs < n && m.thread.Fault() == nil; {
		if _, waits := m.env.Timers.Next(); waits {
			break
		}
		if m.calls.made != made {
			m.mapEnv.EndRun()
			if len(m.env.Run.Trace) > 0 {
				printed(m.env.Run.Trace)
			}
			m.env.Run.Reset()
			made = m.calls.made
		}
		if runs >= next {
			next = runs + betweenRuns
			m.takeEvents()
			if err := between(); err != nil {
				return nil, runs, err
			}
		}
		ended, err := s.rerun(ctx, min(n, next)-runs)
		if err != nil {
			return nil, runs, err
		}
		runs += ended
	}
	return s.Finish(), runs, nil
}

// rerun runs the program again up to n times, at least once: as often as the engine can on its own,
// and once more if a run that it began has calls or ends in another way. The error is that of ctx.
func (s *Session) rerun(ctx context.Context, n int) (ended int, err error) {
	m, t := s.m, s.m.thread
	img, limit := m.attached.entry(s.p).img, m.cfg.MaxInsns
	if _, bounded := m.returns(s.p, s.ctx); bounded {
		n = 1 // each return value is checked
	}
	if ended, _ = t.Again(img, n, min(slice, limit), s.ctx.Addr); ended < n {
		ended++
		if err := s.Execute(ctx, nil); err != nil {
			return ended, err
		}
	} else {
		m.checkReturn(s.p, s.ctx)
	}
	return ended, nil
}
