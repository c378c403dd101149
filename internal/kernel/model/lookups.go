package model

import (
	"maps"
	"slices"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
)

// TaskByPID returns the task with that pid, or nil, among those that the machine knows: running
// tasks, init, and every task_struct created so far.
func (m *Model) TaskByPID(pid uint32) *object.Object {
	if pid == 0 { // idle tasks have no struct pid of that number
		return nil
	}
	for cpu := range m.CPUs() {
		if t := m.CurrentOn(cpu); t != nil && uint32(t.Num("pid")) == pid {
			return t
		}
	}
	if t := m.InitTask(); t != nil && uint32(t.Num("pid")) == pid {
		return t
	}
	for _, o := range m.Objects() {
		if o.TypeName() == "task_struct" && uint32(o.Num("pid")) == pid {
			return o
		}
	}
	return nil
}

// CgroupByID returns the cgroup of the default hierarchy with that id, or nil.
func (m *Model) CgroupByID(id uint64) *object.Object {
	for level := range cgroupNames {
		if m.cgroupID(level) == id {
			return m.cgroupAt(level)
		}
	}
	return nil
}

// Tasks returns the tasks that the machine knows, by pid: those that [Model.TaskByPID] finds,
// without the idle task. leaders excludes threads that are not thread group leaders.
func (m *Model) Tasks(leaders bool) []*object.Object {
	known := []*object.Object{m.InitTask()}
	for cpu := range m.CPUs() {
		known = append(known, m.CurrentOn(cpu))
	}
	for _, o := range m.Objects() {
		if o.TypeName() == "task_struct" {
			known = append(known, o)
		}
	}
	byPID := map[uint64]*object.Object{}
	for _, o := range known {
		if o == nil {
			continue
		}
		pid := o.Num("pid")
		if pid == 0 || byPID[pid] != nil || leaders && pid != o.Num("tgid") {
			continue
		}
		byPID[pid] = o
	}
	out := make([]*object.Object, 0, len(byPID))
	for _, pid := range slices.Sorted(maps.Keys(byPID)) {
		out = append(out, byPID[pid])
	}
	return out
}

// CgroupStates returns the addresses of the cgroup_subsys_state of the default hierarchy's cgroups,
// the root's first.
func (m *Model) CgroupStates() []uint64 {
	var out []uint64
	for level := range cgroupNames {
		out = append(out, m.selfAddr(m.cgroupAt(level)))
	}
	return out
}
