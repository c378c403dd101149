package helpers

import (
	"github.com/bpfrun/bpfrun/helpers/held"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/vm"
)

// Kfuncs for the list of wakeup sources (drivers/base/power/wakeup.c).
var wakeupKfuncs = []kfuncRow{
	{Name: "bpf_wakeup_sources_read_lock", Wide: true, Do: wakeupLock},
	{Name: "bpf_wakeup_sources_read_unlock", Args: []proto.Arg{argObject}, Do: releaseObject},
	{Name: "bpf_wakeup_sources_get_head", Wide: true, Do: wakeupHead, Note: "the scenario's objects of type wakeup_source, else one"},
}

// wakeupLock returns the index of the SRCU section plus 1 as a pointer. No grace period passes
// during a run: the index is 0.
func wakeupLock(c *Call) (uint64, *vm.Action) {
	const lock = 1
	c.Run.Held.Take(held.Reference, lock, "bpf_ws_lock")
	return lock, nil
}

func wakeupHead(c *Call) (uint64, *vm.Action) {
	head, err := c.Kernel.WakeupSources()
	if err != nil {
		return 0, notSimulated("bpf_wakeup_sources_get_head: " + err.Error())
	}
	return head.Addr(), nil
}
