package machine

import (
	"github.com/bpfrun/bpfrun/helpers"
	"github.com/bpfrun/bpfrun/internal/kernel"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/vm"
)

// Snapshot is the state of a machine between two runs.
type Snapshot struct {
	mem    *mem.Snapshot
	kernel *kernel.Snapshot
	maps   *maps.Snapshot
	thread *vm.Snapshot
	env    *helpers.Snapshot
	rooms  [3]func() // restore
}

// covering is the room of coverage.
const covering = 2

// Snapshot records the whole state: memory, kernel, maps, processor. Call it between runs.
func (m *Machine) Snapshot() *Snapshot {
	return &Snapshot{
		mem: m.mem.Snapshot(), kernel: m.kernel.Snapshot(), maps: m.mapEnv.Snapshot(), thread: m.thread.Snapshot(), env: m.env.Snapshot(),
		rooms: [...]func(){m.registry.snapshot(), m.contexts.snapshot(), m.coverage.snapshot()},
	}
}

// Restore restores the machine to a snapshot it made.
func (m *Machine) Restore(s *Snapshot) {
	m.mem.Restore(s.mem)
	m.kernel.Restore(s.kernel)
	m.mapEnv.Restore(s.maps)
	m.thread.Restore(s.thread)
	m.env.Restore(s.env)
	for _, restore := range s.rooms {
		restore()
	}
}

// rewind is Restore without what was executed, which a [Loop] collects.
func (m *Machine) rewind(s *Snapshot) {
	covered := s.rooms[covering]
	s.rooms[covering] = func() {}
	m.Restore(s)
	s.rooms[covering] = covered
}
