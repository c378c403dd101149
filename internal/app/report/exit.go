package report

import (
	"github.com/bpfrun/bpfrun/internal/app/matrix"
	"github.com/bpfrun/bpfrun/internal/exitcode"
	"github.com/bpfrun/bpfrun/internal/machine"
)

// RunExit returns the exit code of a document. chosen means that programs were chosen by name; the
// others do not count. strict turns doubts into failures.
func RunExit(doc *RunDocument, chosen, strict bool) int {
	code, ran, hooks := exitcode.OK, 0, HookCount{Named: chosen}
	for i := range doc.Programs {
		p := &doc.Programs[i]
		if !p.Chosen() {
			continue
		}
		hooks.Add(machine.Status(p.Status))
		status := machine.Status(p.Status)
		code = exitcode.Worse(code, status.Exit())
		if status == machine.StatusAbsent || status == machine.StatusDisabled {
			continue
		}
		if p.Relocations.PoisonedReached > 0 || strict && p.Relocations.PoisonedMay > 0 {
			code = exitcode.Worse(code, exitcode.Load)
		}
		ran++
		if p.Replay != nil && p.Replay.Skipped > 0 {
			code = exitcode.Worse(code, exitcode.Usage)
		}
		for _, r := range p.Runs {
			if strict && (len(r.Findings) > 0 || r.Validation != nil && len(r.Validation.Findings) > 0) {
				code = exitcode.Worse(code, exitcode.Expectation)
			}
		}
	}
	code = exitcode.Worse(code, hooks.Exit(strict))
	if ran == 0 && len(doc.Programs) > 0 || doc.Error != nil {
		code = exitcode.Worse(code, exitcode.Load)
	}
	return code
}

// MatrixExit returns the exit code of a matrix. An object of the other byte order is not a failure.
// Optional programs count only if optional is set, since a tool need not load them on a kernel
// where they fail. strict turns doubts into failures.
func MatrixExit(m *matrix.Matrix, strict, optional bool) int {
	code := exitcode.OK
	for _, t := range m.Targets {
		if t.Err != nil {
			code = exitcode.Worse(code, exitcode.Load)
		}
	}
	type place struct {
		object string
		kernel int
	}
	hooks := map[place]*HookCount{}
	for _, r := range m.Rows {
		for i := range r.Cells {
			c := r.Cells[i]
			at := place{r.Object, i}
			if hooks[at] == nil {
				hooks[at] = &HookCount{}
			}
			if r.Optional && !optional {
				hooks[at].AddOptional(cellStatus(c))
				continue
			}
			hooks[at].Add(cellStatus(c))
			code = exitcode.Worse(code, cellExit(c, strict))
		}
	}
	for _, h := range hooks {
		code = exitcode.Worse(code, h.Exit(strict))
	}
	return code
}

// cellExit returns the exit code of one program on one kernel.
func cellExit(c *matrix.Cell, strict bool) int {
	code := exitcode.OK
	switch c.Word() {
	case "BREAK", "error", "refused":
		code = exitcode.Load
	case "fault":
		code = exitcode.Fault
	case "not-simulated":
		code = exitcode.NotSimulated
	case "differs":
		code = exitcode.Expectation
	}
	if c.Refused && !c.Mismatch || strict && !c.Disabled && (c.Relocations.PoisonedMay > 0 || c.Baked > 0) {
		code = exitcode.Worse(code, exitcode.Load)
	}
	return code
}

// cellStatus returns the status that a cell gives its program's hook.
func cellStatus(c *matrix.Cell) machine.Status {
	switch {
	case c.Disabled || c.Mismatch:
		return machine.StatusDisabled
	case c.Load == matrix.LoadAbsent && !c.Refused:
		return machine.StatusAbsent
	case c.Load == matrix.LoadUnknown:
		return machine.StatusUnknownHook
	}
	return machine.StatusOK
}
