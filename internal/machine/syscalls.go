package machine

import "github.com/bpfrun/bpfrun/helpers"

// Syscalls is the process in whose name syscall programs call bpf(2).
type Syscalls = helpers.Syscalls

// SetSyscalls sets the process of syscall programs from the next run on; with nil they have none.
func (m *Machine) SetSyscalls(s Syscalls) { m.env.SetSyscalls(s) }
