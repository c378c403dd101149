package pass

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/exitcode"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/subsys/hid/device"
	"github.com/bpfrun/bpfrun/internal/subsys/qdisc/traffic"
	"github.com/bpfrun/bpfrun/internal/subsys/sched/schedule"
)

// Schedule runs each scheduler with the default tasks and returns the programs that are none of
// theirs.
func Schedule(ctx context.Context, doc *report.RunDocument, m *machine.Machine, schedulers, names []string) ([]string, error) {
	for _, ops := range schedulers {
		spec := schedule.Default(m.Kernel().CPUs())
		spec.Ops, spec.HZ = ops, int(m.Kernel().Clock().HZ)
		res, err := schedule.Run(ctx, m, spec)
		if err != nil {
			return nil, interrupted(ctx, err, "in the schedule of "+ops)
		}
		doc.AddSchedule("", res)
		setStatus(doc, m, res.Progs)
		doc.Exit = exitcode.Worse(doc.Exit, report.ScheduleExitCode(res))
	}
	return slices.DeleteFunc(names, func(name string) bool {
		lp, ok := m.Linked().Program(name)
		return ok && len(schedulers) > 0 && machine.OfScheduler(lp)
	}), nil
}

// Traffic lets the default traffic pass through each discipline and returns the programs that are
// none of theirs.
func Traffic(ctx context.Context, doc *report.RunDocument, m *machine.Machine, disciplines, names []string) ([]string, error) {
	for _, ops := range disciplines {
		spec := traffic.Default()
		spec.Ops = ops
		res, err := traffic.Run(ctx, m, spec)
		if err != nil {
			return nil, interrupted(ctx, err, "in the traffic of "+ops)
		}
		doc.AddTraffic("", res)
		setStatus(doc, m, res.Progs)
		doc.Exit = exitcode.Worse(doc.Exit, report.TrafficExitCode(res))
	}
	return slices.DeleteFunc(names, func(name string) bool {
		lp, ok := m.Linked().Program(name)
		return ok && len(disciplines) > 0 && machine.OfQdisc(lp)
	}), nil
}

// Device runs those of the named programs that belong to a HID device, on a default device, and
// returns the others.
func Device(ctx context.Context, doc *report.RunDocument, m *machine.Machine, names []string) ([]string, error) {
	its := device.Programs(m.Linked())
	if !slices.ContainsFunc(its, func(p string) bool { _, ok := m.Entry(p); return ok && slices.Contains(names, p) }) {
		return names, nil
	}
	h, err := device.Default(ctx, m)
	switch {
	case errors.Is(err, context.Canceled):
		return nil, &Interrupted{While: "while running programs of a HID device"}
	case err != nil:
		return nil, fmt.Errorf("programs of a HID device: %w", err)
	}
	ran := map[string]bool{}
	for _, res := range h.Results {
		ran[res.Program] = true
		if slices.Contains(names, res.Program) {
			doc.Add(m, res)
		}
	}
	doc.AddHID("", h)
	return slices.DeleteFunc(slices.Clone(names), func(p string) bool { return ran[p] }), nil
}

// interrupted returns the error of a run, which may be that it was interrupted.
func interrupted(ctx context.Context, err error, while string) error {
	if ctx.Err() != nil {
		return &Interrupted{While: while}
	}
	return err
}

// setStatus adds the statuses of programs that ran as part of a whole.
func setStatus(doc *report.RunDocument, m *machine.Machine, progs map[string]string) {
	for _, prog := range progs {
		if status, _ := m.ProgramStatus(prog); status != "" {
			doc.SetStatus(prog, status)
		}
	}
}
