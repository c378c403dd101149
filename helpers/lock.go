package helpers

import (
	"fmt"

	"github.com/bpfrun/bpfrun/helpers/held"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var lockHelpers = []row{
	{ID: uapi.FuncSpinLock, Do: spinLock},
	{ID: uapi.FuncSpinUnlock, Do: spinUnlock},
}

func (c *Call) takeLock() *vm.Action {
	c.Run.Held.Take(held.SpinLock, c.Args[0], "")
	return c.guest.WriteField(c.Args[0], 4, 1)
}

// spinLock takes the lock. A machine runs one program at a time, so a lock that is
// already held can never be released: the fault says deadlock.
func spinLock(c *Call) (uint64, *vm.Action) {
	if c.lock != 0 {
		return 0, vm.FaultAction(&vm.Fault{Kind: vm.Deadlock, Text: fmt.Sprintf("bpf_spin_lock of %#x, which is already held", c.Args[0])})
	}
	return 0, c.takeLock()
}

func spinUnlock(c *Call) (uint64, *vm.Action) {
	f := c.give("bpf_spin_unlock", held.SpinLock, c.Args[0])
	if f == nil {
		f = c.guest.WriteField(c.Args[0], 4, 0)
	}
	return 0, f
}
