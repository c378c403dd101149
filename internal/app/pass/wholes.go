package pass

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/exitcode"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/subsys"
)

// Wholes runs what the object has of subsystems whose programs cannot run alone, such as
// schedulers, each with the default of its subsystem, and returns the named programs that belong to
// none of them.
func Wholes(ctx context.Context, doc *report.RunDocument, m *machine.Machine, names []string) ([]string, error) {
	for _, s := range subsys.Systems() {
		if s.Kind == nil {
			continue
		}
		have := s.Kind.Names(m.Linked().Object)
		for _, ops := range have {
			if err := whole(ctx, doc, m, &s, ops); err != nil {
				return nil, err
			}
		}
		names = slices.DeleteFunc(names, func(name string) bool {
			lp, ok := m.Linked().Program(name)
			if !ok || len(have) == 0 {
				return false
			}
			of, ok := machine.WholeOf(lp)
			return ok && of.Key == s.Kind.Key
		})
	}
	return names, nil
}

// whole runs one of an object's wholes.
func whole(ctx context.Context, doc *report.RunDocument, m *machine.Machine, s *subsys.System, ops string) error {
	sim, err := s.Default(ctx, m, ops)
	if err != nil {
		return interrupted(ctx, err, "in the "+s.What+" of "+ops)
	}
	doc.Simulate("", sim)
	parts := sim.Parts(m)
	for _, prog := range slices.Sorted(maps.Keys(parts)) { // their own statuses, not that of the whole
		if status, _ := m.ProgramStatus(prog); status != "" {
			doc.SetStatus(prog, status)
		}
	}
	doc.Exit = exitcode.Worse(doc.Exit, sim.ExitCode())
	return nil
}

// Together runs those of the named programs that belong to subsystems whose programs may also run
// alone, such as HID devices, and returns the others.
func Together(ctx context.Context, doc *report.RunDocument, m *machine.Machine, names []string) ([]string, error) {
	for _, s := range subsys.Systems() {
		if s.Kind != nil || !s.CanRun(m, append([]string{}, names...)) {
			continue
		}
		sim, err := s.Default(ctx, m, "")
		switch {
		case errors.Is(err, context.Canceled):
			return nil, &Interrupted{While: "while running " + s.What}
		case err != nil:
			return nil, fmt.Errorf("%s: %w", s.What, err)
		}
		ran := map[string]bool{}
		for _, res := range sim.Runs() {
			ran[res.Program] = true
			if slices.Contains(names, res.Program) {
				doc.Add(m, res)
			}
		}
		doc.Simulate("", sim)
		names = slices.DeleteFunc(slices.Clone(names), func(p string) bool { return ran[p] })
	}
	return names, nil
}

// interrupted returns the error of a run, which may be that it was interrupted.
func interrupted(ctx context.Context, err error, while string) error {
	if ctx.Err() != nil {
		return &Interrupted{While: while}
	}
	return err
}
