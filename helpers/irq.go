package helpers

import (
	"github.com/bpfrun/bpfrun/helpers/held"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/vm"
)

// Sections with interrupts disabled. The machine has no interrupts; only the balance of sections is
// checked.
var irqKfuncs = []kfuncRow{
	{Name: "bpf_local_irq_save", Args: []proto.Arg{argPtr}, Do: irqSave},
	{Name: "bpf_local_irq_restore", Args: []proto.Arg{argPtr}, Do: irqRestore},
	{Name: "bpf_res_spin_lock_irqsave", Args: []proto.Arg{argLock, argPtr}, Do: resSpinLockIRQ},
	{Name: "bpf_res_spin_unlock_irqrestore", Args: []proto.Arg{argLock, argPtr}, Do: resSpinUnlockIRQ},
}

// irqFlags is what the flags register of x86 has with interrupts enabled.
const irqFlags = 0x202

func irqSave(c *Call) (uint64, *vm.Action) { return 0, c.saveIRQ(c.Args[0]) }

func (c *Call) saveIRQ(addr uint64) *vm.Action {
	c.Run.Held.Take(held.IRQ, addr, "")
	return c.guest.WriteU64(addr, irqFlags)
}

func irqRestore(c *Call) (uint64, *vm.Action) {
	return 0, c.give("bpf_local_irq_restore", held.IRQ, c.Args[0])
}

// resSpinLockIRQ leaves interrupts unchanged if it fails.
func resSpinLockIRQ(c *Call) (uint64, *vm.Action) {
	ret, f := resSpinLock(c)
	if f != nil || ret != 0 {
		return ret, f
	}
	return 0, c.saveIRQ(c.Args[1])
}

func resSpinUnlockIRQ(c *Call) (uint64, *vm.Action) {
	if ret, f := spinUnlock(c); f != nil {
		return ret, f
	}
	return 0, c.give("bpf_res_spin_unlock_irqrestore", held.IRQ, c.Args[1])
}
