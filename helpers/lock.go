package helpers

import (
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var lockHelpers = []row{
	{ID: uapi.FuncSpinLock, Do: spinLock},
	{ID: uapi.FuncSpinUnlock, Do: spinUnlock},
}

// spinLockHeld names a held bpf_spin_lock in [Held].
const spinLockHeld = "spin lock"

// spinLock takes the lock. A machine runs one program at a time, so a lock that is
// already held can never be released: the fault says deadlock.
func spinLock(c *Call) (uint64, *vm.Action) {
	v, f := c.readU32(c.Args[0])
	if f != nil {
		return 0, f
	}
	if v != 0 {
		return 0, deadlock(c.Args[0])
	}
	c.Run.hold(c.Args[0], spinLockHeld)
	return 0, c.writeField(c.Args[0], 4, 1)
}

func spinUnlock(c *Call) (uint64, *vm.Action) {
	if !c.Run.release(c.Args[0]) {
		return 0, badArg("bpf_spin_unlock of %#x, which this program has not locked", c.Args[0])
	}
	return 0, c.writeField(c.Args[0], 4, 0)
}
