package machine

import (
	"fmt"

	"github.com/bpfrun/bpfrun/kernel"
	"github.com/bpfrun/bpfrun/maps"
)

// Inspect makes the context that Run would give a program, to look at the arguments of its hook. It is not for running: leave it, and free it or restore
// a snapshot. The errors are those of [kernel.Kernel.NewContext].
func (m *Machine) Inspect(name string, in Input) (*kernel.Context, error) {
	p := m.byName[name]
	if p == nil {
		return nil, fmt.Errorf("%w: %s", ErrNoProgram, name)
	}
	if err := m.kernel.SetCPU(in.CPU); err != nil {
		return nil, err
	}
	return m.newContext(p, in)
}

// SetProg stores a program of the object in a program array, as user space does.
func (m *Machine) SetProg(array maps.ProgArray, index uint32, name string) error {
	p := m.byName[name]
	if p == nil {
		return fmt.Errorf("%w: %s", ErrNoProgram, name)
	}
	if errno := array.SetProg(index, p); errno != 0 {
		return errno
	}
	return nil
}

// ProgramStatus is what Run would say before running: whether and why not a program can run.
func (m *Machine) ProgramStatus(name string) (Status, error) {
	p := m.byName[name]
	if p == nil {
		return "", fmt.Errorf("%w: %s", ErrNoProgram, name)
	}
	return p.status, p.err
}
