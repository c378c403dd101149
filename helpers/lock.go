package helpers

import (
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var lockHelpers = []Helper{
	{ID: uapi.FuncSpinLock, Topic: "locks", Args: []Arg{ArgLock}, Fn: spinLock},
	{ID: uapi.FuncSpinUnlock, Topic: "locks", Args: []Arg{ArgLock}, Fn: spinUnlock},
}

// spinLock takes the lock. A machine runs one program at a time, so a lock that is
// already held can never be released: the fault says deadlock.
func spinLock(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	v, f := e.readU32(a[0])
	if f != nil {
		return 0, f
	}
	if v != 0 {
		return 0, deadlock(a[0])
	}
	e.Run.hold(a[0], "spin lock")
	return 0, e.writeU32(a[0], 1)
}

func spinUnlock(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	if !e.Run.release(a[0]) {
		return 0, badArg("bpf_spin_unlock of %#x, which this program has not locked", a[0])
	}
	return 0, e.writeU32(a[0], 0)
}
