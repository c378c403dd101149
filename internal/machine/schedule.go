package machine

import "github.com/bpfrun/bpfrun/helpers"

// SetSchedule connects the programs with the simulation that calls them, until it is called with
// nil.
func (m *Machine) SetSchedule(s *helpers.Schedule) { m.env.Schedule = s }

// SetTraffic connects the programs with the simulation of a queueing discipline that calls them,
// until it is called with nil.
func (m *Machine) SetTraffic(t *helpers.Traffic) { m.env.Traffic = t }

// NextDue returns the monotonic time at which the next timer or work item is due; ok is false if
// there is none.
func (m *Machine) NextDue() (at uint64, ok bool) { return m.env.Timers.Next() }
