package race

import (
	"context"
	"time"

	"github.com/bpfrun/bpfrun/machine"
)

// Explore explores the orders of a meeting twice: from the machine's state, and from the one that a run of each program leaves. Much goes wrong only once
// an element is there. The machine's state is the same afterwards. The error is that of ctx, or a [*NotRunnableError].
func Explore(ctx context.Context, m *machine.Machine, meeting Meeting, cfg Config) (*Report, error) {
	first := cfg
	if !cfg.Until.IsZero() {
		first.Until = time.Now().Add(time.Until(cfg.Until) / 2)
	}
	all, err := Run(ctx, m, meeting.Actors, first)
	if err != nil {
		return nil, err
	}
	state := m.Snapshot()
	defer m.Restore(state)
	for i := range meeting.Actors {
		a := &meeting.Actors[i]
		if i > 0 && a.Program == meeting.Actors[i-1].Program {
			continue // the same again
		}
		res, err := m.Run(ctx, a.Program, a.Input)
		if err != nil {
			return nil, err
		}
		if res.Fault != nil {
			return all, nil
		}
	}
	then, err := Run(ctx, m, meeting.Actors, cfg)
	if err != nil {
		return nil, err
	}
	all.Orders += then.Orders
	all.Complete = all.Complete && then.Complete
	for _, f := range then.Findings {
		if f.After = true; !all.has(&f) {
			all.Findings = append(all.Findings, f)
		}
	}
	sortFindings(all.Findings)
	return all, nil
}

// has reports whether a report has a finding about the same places.
func (r *Report) has(f *Finding) bool {
	for i := range r.Findings {
		if r.Findings[i].about() == f.about() {
			return true
		}
	}
	return false
}
