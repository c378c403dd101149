package main

import (
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// attachedTo returns the programs to run, which are the chosen ones or all, without those that run
// when others do; and those that are attached to them.
func attachedTo(l *loader.Linked, chosen []string) (run, with []string, err error) {
	run = chosen
	for _, lp := range l.Programs {
		switch t := lp.AttachProg; {
		case t != nil && slices.Contains(chosen, lp.Name):
			return nil, nil, usagef("-p %s: it runs when %s does, which it is attached to: choose that one", lp.Name, t.Name)
		case t == nil && len(chosen) == 0:
			run = append(run, lp.Name)
		}
	}
	for more := true; more; { // to attached programs others may be attached
		more = false
		for _, lp := range l.Programs {
			if t := lp.AttachProg; t != nil && !slices.Contains(with, lp.Name) && (slices.Contains(run, t.Name) || slices.Contains(with, t.Name)) {
				with, more = append(with, lp.Name), true
			}
		}
	}
	return run, with, nil
}

// addAttached adds the attached programs that cannot run.
func addAttached(doc *report.RunDocument, m *machine.Machine, with []string) {
	for _, name := range with {
		if st, _ := m.ProgramStatus(name); st != machine.StatusOK {
			doc.Add(m, &machine.Result{Program: name, Status: st})
		}
	}
}

// targetPrograms returns the programs that --attach-prog names as targets.
func targetPrograms(attachProgs []string) []string {
	var out []string
	for _, pair := range attachProgs {
		if _, target, ok := strings.Cut(pair, "="); ok {
			target, _, _ = strings.Cut(target, ":")
			out = append(out, target)
		}
	}
	return out
}
