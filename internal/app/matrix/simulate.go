package matrix

import (
	"maps"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/subsys"
	"github.com/bpfrun/bpfrun/internal/subsys/drive"
	"github.com/bpfrun/bpfrun/loader"
)

// simulations runs what the programs of an object are for, with the default of each subsystem, and
// returns what became of each program, by name.
func (r *runner) simulations(m *machine.Machine) map[string]drive.Part {
	out := map[string]drive.Part{}
	start := m.Snapshot()
	for _, s := range subsys.Systems() {
		if s.Fits(m) != nil {
			continue
		}
		wholes := []string{""}
		if s.Kind != nil {
			wholes = s.Kind.Names(m.Linked().Object)
		} else if !s.CanRun(m, nil) {
			continue
		}
		for _, ops := range wholes {
			// An error means that it was interrupted, or that the programs run alone.
			if sim, err := s.Default(r.ctx, m, ops); err == nil {
				maps.Copy(out, sim.Parts(m))
			}
			m.Restore(start)
		}
	}
	return out
}

// runSimulated gives a cell what a simulation did with its program.
func (c *draft) runSimulated(m *machine.Machine, lp *loader.LinkedProgram, s drive.Part) *outcome {
	switch {
	case s.Fault != nil:
		c.explain("%s", faultText(s.Fault))
	case s.Why != "":
		c.explain("%s", s.Why)
	}
	switch s.Status {
	case machine.StatusOK:
		c.Result = RunOK
		o := newOutcome(m, &machine.Result{Program: lp.Name, Status: s.Status, Ran: true})
		o.effects = s.Did
		return o
	case machine.StatusFault:
		c.Result = RunFault
	case machine.StatusNotSimulated:
		c.Result = RunNotSimulated
	case machine.StatusAbsent:
		c.Load = LoadAbsent
	case machine.StatusRefused:
		c.Result = RunNone // it did not run: the verdict of the program that is refused says why
	}
	return nil
}
