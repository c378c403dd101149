package drive

import (
	"fmt"
	"slices"

	"github.com/bpfrun/bpfrun/internal/exitcode"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/subsys/show"
)

// Simulation is what became of programs that ran as a whole.
type Simulation interface {
	// Document returns it for a report; run is the name of a scenario's run, "" for a default
	// simulation, and failure the form of an error.
	Document(run string, failure func(error) *show.Error) show.Document
	// Parts tells what became of each program.
	Parts(m *machine.Machine) map[string]Part
	// ExitCode returns the exit code of a simulation that nothing is expected of.
	ExitCode() int
	// Runs are those that a report shows under their programs; nil if the document has all.
	Runs() []*machine.Result
}

// Part is what became of one program of a simulation.
type Part struct {
	Status machine.Status
	// Why tells why it did not run, or not to its end; Fault is the fault that stopped it.
	Why   string
	Fault *machine.Fault
	// Calls is how often it was called.
	Calls int
	// Did are the effects, for a comparison between kernels.
	Did []string
}

// Parts returns what became of the programs: all that the simulation has, which may have reasons of
// their own for not running. calls returns how often an operation was called.
func (r *Outcome) Parts(m *machine.Machine, all Part, calls func(op string) int) map[string]Part {
	out := map[string]Part{}
	for op, prog := range r.Progs {
		p := all
		if status, err := m.ProgramStatus(prog); status != machine.StatusOK {
			p.Status, p.Why = status, ""
			if err != nil {
				p.Why = err.Error()
			}
		}
		p.Calls = calls(op)
		p.Did = append(slices.Clone(p.Did), fmt.Sprintf("%s was called %d times", op, p.Calls))
		out[prog] = p
	}
	return out
}

// Part returns what is true of all programs.
func (r *Outcome) Part() Part {
	p := Part{Status: r.Status}
	if r.Err != nil {
		p.Why = r.Err.Error()
	}
	return p
}

// ExitCode returns the exit code: without its hooks there is nothing to run.
func (r *Outcome) ExitCode() int {
	if r.Status == machine.StatusAbsent {
		return exitcode.Load
	}
	return r.Status.Exit()
}

// Runs returns nil: the document has what programs did.
func (r *Outcome) Runs() []*machine.Result { return nil }
