package report

import (
	"testing"

	"github.com/bpfrun/bpfrun/internal/app/matrix"
	"github.com/bpfrun/bpfrun/internal/app/minkernel"
	"github.com/bpfrun/bpfrun/internal/exitcode"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/scenario"
	"github.com/bpfrun/bpfrun/internal/subsys/drive"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/stretchr/testify/assert"
)

// TestEveryCommandHasTheSameOutcomes: the exit code of an outcome is the table's, whichever command
// has it: run, a scenario, a schedule, traffic, and a matrix. A hook that the kernel lacks leaves
// nothing to run in all of them.
func TestEveryCommandHasTheSameOutcomes(t *testing.T) {
	cells := map[machine.Status]*matrix.Cell{
		machine.StatusOK:           {Load: matrix.LoadOK, Result: matrix.RunOK},
		machine.StatusUnknownHook:  {Load: matrix.LoadUnknown, Result: matrix.RunOK},
		machine.StatusDisabled:     {Load: matrix.LoadOK, Result: matrix.RunNone, Disabled: true},
		machine.StatusAbsent:       {Load: matrix.LoadAbsent, Result: matrix.RunNone},
		machine.StatusNotSimulated: {Load: matrix.LoadOK, Result: matrix.RunNotSimulated},
		machine.StatusFault:        {Load: matrix.LoadOK, Result: matrix.RunFault},
		machine.StatusRefused:      {Load: matrix.LoadError, Result: matrix.RunNone},
	}
	for _, row := range machine.Statuses {
		want := row.Exit
		assert.Equal(t, want, row.Status.Exit())
		assert.NotEmpty(t, row.Meaning)
		if row.Status == machine.StatusAbsent {
			want = exitcode.Load
		}
		got := map[string]int{
			"run":     RunExit(&RunDocument{Programs: []Program{{Name: "p", Status: string(row.Status)}, {Name: "other", Status: "ok"}}}, row.Status == machine.StatusAbsent, false),
			"whole":   (&drive.Outcome{Status: row.Status}).ExitCode(),
			"require": requireExit(row.Status),
			"matrix":  MatrixExit(&matrix.Matrix{Rows: []matrix.Row{{Program: "p", Cells: []*matrix.Cell{cells[row.Status]}}}}, false, false),
		}
		if row.Status == machine.StatusFault {
			delete(got, "require") // nothing runs
		}
		if row.Exit != exitcode.OK {
			failed := &scenario.Result{Run: &scenario.Run{}, Result: &machine.Result{Status: row.Status}, Expectations: []scenario.Expectation{{What: "status"}}}
			got["test"] = ScenarioExit(failed)
		}
		for command, code := range got {
			assert.Equal(t, want, code, "%s: %s", command, row.Status)
		}
	}
	assert.Equal(t, exitcode.Bug, machine.Status("of no row").Exit())
}

// requireExit is the exit code of require for a program on the one release that there is: a release
// that lacks a hook refuses the program, one of which nothing is known has no answer.
func requireExit(status machine.Status) int {
	outcome := map[machine.Status]minkernel.Outcome{
		machine.StatusOK: minkernel.Loads, machine.StatusUnknownHook: minkernel.Loads, machine.StatusDisabled: minkernel.Loads,
		machine.StatusAbsent: minkernel.Refused, machine.StatusRefused: minkernel.Refused, machine.StatusNotSimulated: minkernel.Unknown,
	}[status]
	p := minkernel.Program{Answers: []minkernel.Answer{{Outcome: outcome, Hold: &minkernel.Hold{}}}, Oldest: -1, From: -1, HeldAt: -1}
	if outcome == minkernel.Loads {
		p.Oldest, p.From = 0, 0
	}
	r := &minkernel.Result{Columns: []minkernel.Column{{Release: uapi.R(6, 1)}}, Programs: []minkernel.Program{p}}
	gate := NewRequireDocument([]*minkernel.Result{r}, uapi.R(6, 1), false).Exit
	return exitcode.Worse(gate, NewRequireDocument([]*minkernel.Result{r}, 0, false).Exit)
}
