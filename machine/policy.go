package machine

import (
	"fmt"

	"github.com/bpfrun/bpfrun/mem"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// probesMemory lists the program types whose direct loads of kernel memory carry an
// exception table entry: a load that finds nothing yields 0.
func probesMemory(t uapi.ProgType) bool {
	switch t {
	case uapi.ProgTypeTracing, uapi.ProgTypeLSM, uapi.ProgTypeStructOps:
		return true
	}
	return false
}

// recoverPolicy returns what happens to a load that finds no memory. In programs with typed
// pointers it yields 0, as the kernel's exception tables make it, and is recorded. An access
// beside a live stack frame, map value or packet stays a fault: the verifier proves those.
func (m *Machine) recoverPolicy(p *program) func(*vm.Fault) (uint64, bool) {
	if !probesMemory(p.lp.Type) && !p.typed {
		return nil
	}
	return func(f *vm.Fault) (uint64, bool) {
		if f.Mem == nil || f.Mem.Write {
			return 0, false
		}
		switch f.Mem.Kind {
		case mem.Unmapped, mem.NullPointer, mem.UserPointer:
		default:
			return 0, false
		}
		m.run.warn(fmt.Sprintf("exception-table: insn %d loads from %#x, where nothing is; the kernel reads 0", f.PC, f.Mem.Addr))
		return 0, true
	}
}
