package model

import (
	"slices"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/kernel/window"
	"github.com/bpfrun/bpfrun/internal/undo"
)

// Model is the content of the simulated kernel: tasks with their credentials, address spaces, files
// and cgroups, and the disk. It initialises objects of well-known types and builds those that a
// user describes. Create it with [NewModel].
type Model struct {
	*object.Space `snapshot:"fixed"`
	*window.User  `snapshot:"fixed"`

	subsystems   map[string]uint64                          `snapshot:"fixed"` // numbers of the target's controllers, once needed
	release      string                                     `snapshot:"fixed"` // as uname(2) gives it, if it is known
	cpu          int                                        // of the run
	current      []*object.Object                           // running task by CPU
	areas        undo.Map[*object.Object, []*object.Object] // memory areas of the mm_structs for which they were set
	made         undo.Map[*object.Object, []*object.Object] // memory areas of the other mm_structs
	cgroupByPath undo.Map[string, *object.Object]           // cgroups that were built
	xattrs       undo.Map[XattrKey, string]                 // extended attributes of files
}

// NewModel returns an empty model.
func NewModel(s *object.Space, u *window.User) *Model {
	return &Model{Space: s, User: u, current: make([]*object.Object, s.CPUs())}
}

// ModelSnapshot is the state of a [Model] at one point in time, without its objects, which the
// [Space] keeps.
type ModelSnapshot struct {
	cpu          int
	current      []*object.Object
	areas, made  *undo.State[*object.Object, []*object.Object]
	cgroupByPath *undo.State[string, *object.Object]
	xattrs       *undo.State[XattrKey, string]
}

// Snapshot records which tasks run where, and what was built.
func (m *Model) Snapshot() *ModelSnapshot {
	return &ModelSnapshot{m.cpu, slices.Clone(m.current), m.areas.Snapshot(), m.made.Snapshot(), m.cgroupByPath.Snapshot(), m.xattrs.Snapshot()}
}

// Restore restores a snapshot.
func (m *Model) Restore(s *ModelSnapshot) {
	m.cpu = s.cpu
	copy(m.current, s.current)
	m.areas.Restore(s.areas)
	m.made.Restore(s.made)
	m.cgroupByPath.Restore(s.cgroupByPath)
	m.xattrs.Restore(s.xattrs)
}
