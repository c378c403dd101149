package model

import (
	"fmt"
	"maps"
	"slices"

	"github.com/bpfrun/bpfrun/kernel/object"
	"github.com/bpfrun/bpfrun/uapi"
)

// VMAAt returns the memory area of an address space that contains addr, or nil. An address space with explicit areas
// has only those; any other has a one-page area for each mapped page of user memory.
func (m *Model) VMAAt(mm *object.Object, addr uint64) (*object.Object, error) {
	addr = m.Mem().Truncate(addr)
	if list, given := m.areas[mm]; given {
		for _, vma := range list {
			if addr >= vma.Num("vm_start") && addr < vma.Num("vm_end") {
				return vma, nil
			}
		}
		return nil, nil
	}
	for _, vma := range m.VMAs(mm) {
		if addr >= vma.Num("vm_start") && addr < vma.Num("vm_end") {
			return vma, nil
		}
	}
	if !m.IsUserAddress(addr) || !m.UserMapped(addr) {
		return nil, nil
	}
	start := addr &^ uint64(uapi.PageSize-1)
	role := fmt.Sprintf("%s.vma %#x", mm.Role(), start)
	if o := m.Kept(role); o != nil {
		return o, nil
	}
	o, err := m.NewObjectNamed(role, "vm_area_struct")
	if err != nil {
		return nil, err
	}
	o.MarkBuiltin()
	b := object.Build(o)
	b.Num("vm_start", start)
	b.Num("vm_end", start+uapi.PageSize)
	b.Ptr("vm_mm", mm)
	m.Keep(role, o)
	return o, nil
}

// TaskByPID returns the task with that pid, or nil, among those that the machine knows: running tasks, init, and every
// task_struct created so far.
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

// Tasks returns the tasks that the machine knows, by pid: those that [Model.TaskByPID] finds, without the idle task.
// leaders excludes threads that are not thread group leaders.
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

// CgroupStates returns the addresses of the cgroup_subsys_state of the default hierarchy's cgroups, the root's first.
func (m *Model) CgroupStates() []uint64 {
	var out []uint64
	for level := range cgroupNames {
		out = append(out, m.selfAddr(m.cgroupAt(level)))
	}
	return out
}
