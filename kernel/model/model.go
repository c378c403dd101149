package model

import (
	"maps"
	"slices"

	"github.com/bpfrun/bpfrun/kernel/object"
	"github.com/bpfrun/bpfrun/kernel/window"
)

// Model is the content of the simulated kernel: tasks with their credentials, address spaces, files and cgroups, and
// the disk. It initialises objects of well-known types and builds those that a user describes. Create it with
// [NewModel].
type Model struct {
	*object.Space `snapshot:"fixed"`
	*window.User  `snapshot:"fixed"`

	subsystems   map[string]uint64                   `snapshot:"fixed"` // numbers of the target's controllers, once needed
	cpu          int                                 // of the run
	current      []*object.Object                    // running task by CPU
	areas        map[*object.Object][]*object.Object // memory areas of the mm_structs for which they were set
	made         map[*object.Object][]*object.Object // memory areas of the other mm_structs
	cgroupByPath map[string]*object.Object           // cgroups that were built
	xattrs       map[XattrKey]string                 // extended attributes of files
}

// NewModel returns an empty model.
func NewModel(s *object.Space, u *window.User) *Model {
	return &Model{Space: s, User: u, current: make([]*object.Object, s.CPUs()), areas: make(map[*object.Object][]*object.Object), made: make(map[*object.Object][]*object.Object), cgroupByPath: make(map[string]*object.Object), xattrs: make(map[XattrKey]string)}
}

// ModelSnapshot is the state of a [Model] at one point in time, without its objects, which the [Space] keeps.
type ModelSnapshot struct{ was Model }

// Snapshot records which tasks run where, and what was built.
func (m *Model) Snapshot() *ModelSnapshot {
	s := &ModelSnapshot{*m}
	s.was.current, s.was.areas, s.was.made, s.was.cgroupByPath = slices.Clone(m.current), maps.Clone(m.areas), maps.Clone(m.made), maps.Clone(m.cgroupByPath)
	s.was.xattrs = maps.Clone(m.xattrs)
	return s
}

// Restore restores a snapshot.
func (m *Model) Restore(s *ModelSnapshot) {
	*m = s.was
	m.current, m.areas, m.made, m.cgroupByPath = slices.Clone(s.was.current), maps.Clone(s.was.areas), maps.Clone(s.was.made), maps.Clone(s.was.cgroupByPath)
	m.xattrs = maps.Clone(s.was.xattrs)
}
