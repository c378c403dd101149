package machine

// Simulate connects the programs with the simulation that calls them, a [*helpers.Schedule] or a
// [*helpers.Traffic], until it is called with nil.
func (m *Machine) Simulate(s any) { m.env.Simulation = s }

// NextDue returns the monotonic time at which the next timer or work item is due; ok is false if
// there is none.
func (m *Machine) NextDue() (at uint64, ok bool) { return m.env.Timers.Next() }
