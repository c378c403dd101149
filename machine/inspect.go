package machine

import (
	"fmt"

	"github.com/bpfrun/bpfrun/kernel"
)

// Inspect creates the context that Run would create for a program, to look at the arguments of its hook. Do not run
// with it; afterwards free it or restore a snapshot. The errors are those of [kernel.Kernel.NewContext].
func (cs *contexts) Inspect(name string, in Input) (*kernel.Context, error) {
	p := cs.reg.byName[name]
	if p == nil {
		return nil, fmt.Errorf("%w: %s", ErrNoProgram, name)
	}
	if err := cs.kernel.SetCPU(in.CPU); err != nil {
		return nil, err
	}
	return cs.newContext(p, in)
}
