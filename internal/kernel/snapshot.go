package kernel

import (
	"maps"

	"github.com/bpfrun/bpfrun/internal/kernel/clock"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/model"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/kernel/window"
	"github.com/bpfrun/bpfrun/internal/subsys/hid"
)

// Snapshot is the state of a [Kernel] at one point in time, without its memory: take and restore a
// snapshot of [mem.Memory] at the same time.
type Snapshot struct {
	k       *Kernel
	clock   clock.Clock
	rand    random
	stacks  map[bool][]uint64
	space   *object.Snapshot
	user    *window.UserSnapshot
	percpu  *window.PerCPUSnapshot
	symbols *window.SymbolsSnapshot
	model   *model.ModelSnapshot
	host    *net.Snapshot
	hooks   *hook.Snapshot
	hid     *hid.Snapshot
}

// Snapshot records clock, random state, and the state of each part: objects with their bytes, user
// memory, tasks, sockets and packets, contexts. It is cheap: bytes are shared until they change.
func (k *Kernel) Snapshot() *Snapshot {
	return &Snapshot{
		k: k, clock: *k.clock, rand: k.rand, stacks: maps.Clone(k.stacks),
		space: k.Space.Snapshot(), user: k.User.Snapshot(), percpu: k.PerCPU.Snapshot(), symbols: k.Symbols.Snapshot(),
		model: k.Model.Snapshot(), host: k.Host.Snapshot(), hooks: k.Hooks.Snapshot(), hid: k.HID.Snapshot(),
	}
}

// Restore restores the kernel to a snapshot of it. Objects and contexts created since are
// forgotten.
func (k *Kernel) Restore(s *Snapshot) {
	if s == nil || s.k != k {
		return
	}
	*k.clock, k.rand = s.clock, s.rand
	if len(k.stacks)+len(s.stacks) > 0 {
		k.stacks = maps.Clone(s.stacks)
	}
	k.Space.Restore(s.space)
	k.User.Restore(s.user)
	k.PerCPU.Restore(s.percpu)
	k.Symbols.Restore(s.symbols)
	k.Model.Restore(s.model)
	k.Host.Restore(s.host)
	k.Hooks.Restore(s.hooks)
	k.HID.Restore(s.hid)
}
