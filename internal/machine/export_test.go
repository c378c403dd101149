package machine

// Untracked makes runs of a machine watch for no findings, or again for them.
func Untracked(m *Machine, on bool) { m.untracked = on }
