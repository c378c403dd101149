package helpers

import (
	"github.com/bpfrun/bpfrun/vm"
)

// Sections with interrupts disabled. The machine has none to disable: what is kept is that every section ends.
var irqKfuncs = []Kfunc{
	{Name: "bpf_local_irq_save", Topic: "locks", Args: []Arg{ArgPtr}, Fn: irqSave},
	{Name: "bpf_local_irq_restore", Topic: "locks", Args: []Arg{ArgPtr}, Fn: irqRestore},
	{Name: "bpf_res_spin_lock_irqsave", Topic: "locks", Args: []Arg{ArgLock, ArgPtr}, Fn: resSpinLockIRQ},
	{Name: "bpf_res_spin_unlock_irqrestore", Topic: "locks", Args: []Arg{ArgLock, ArgPtr}, Fn: resSpinUnlockIRQ},
}

const irqSection = "section with interrupts disabled"

// irqFlags is what the flags register of x86 has with interrupts enabled.
const irqFlags = 0x202

func irqSave(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	e.Run.hold(a[0], irqSection)
	return 0, e.writeU64(a[0], irqFlags)
}

func irqRestore(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	if !envOf(t).Run.release(a[0]) {
		return 0, badArg("interrupts restored from %#x, where nothing was saved", a[0])
	}
	return 0, nil
}

// resSpinLockIRQ keeps interrupts as they were when it fails.
func resSpinLockIRQ(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	ret, f := resSpinLock(t, a)
	if f != nil || ret != 0 {
		return ret, f
	}
	return irqSave(t, &[5]uint64{a[1]})
}

func resSpinUnlockIRQ(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	if ret, f := spinUnlock(t, a); f != nil {
		return ret, f
	}
	return irqRestore(t, &[5]uint64{a[1]})
}
