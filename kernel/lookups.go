package kernel

import (
	"fmt"
	"maps"
	"slices"

	"github.com/bpfrun/bpfrun/uapi"
)

// VMAAt returns the memory area of a user address: one page, for an address at which user memory has something; nil where
// it has nothing.
func (m *Model) VMAAt(addr uint64) (*Object, error) {
	addr = m.mem.Truncate(addr)
	if o := m.areaAt(addr); o != nil {
		return o, nil
	}
	if !m.IsUserAddress(addr) || !m.userMapped(addr) {
		return nil, nil
	}
	start := addr &^ uint64(uapi.PageSize-1)
	role := fmt.Sprintf("vma %#x", start)
	if o := m.kept(role); o != nil {
		return o, nil
	}
	o, err := m.NewObjectNamed(role, "vm_area_struct")
	if err != nil {
		return nil, err
	}
	o.MarkBuiltin()
	if err := o.SetUint("vm_start", start); err != nil {
		return nil, err
	}
	if err := o.SetUint("vm_end", start+uapi.PageSize); err != nil {
		return nil, err
	}
	m.keep(role, o)
	return o, nil
}

// TaskByPID returns the task with that pid among those the machine knows: those running, init, and every task_struct made
// so far. Nil when there is none.
func (m *Model) TaskByPID(pid uint32) *Object {
	for cpu := range m.cpus {
		if t := m.CurrentOn(cpu); t != nil && uint32(t.uint("pid")) == pid {
			return t
		}
	}
	if t := m.initTask(); t != nil && uint32(t.uint("pid")) == pid {
		return t
	}
	for _, o := range m.all() {
		if o.TypeName() == "task_struct" && uint32(o.uint("pid")) == pid {
			return o
		}
	}
	return nil
}

// CgroupByID returns the cgroup of the default hierarchy with that id, nil when there is none.
func (m *Model) CgroupByID(id uint64) *Object {
	for level := range cgroupNames {
		if m.cgroupID(level) == id {
			return m.cgroupAt(level)
		}
	}
	return nil
}

// Tasks returns the tasks the machine knows, by pid: those [Kernel.TaskByPID] finds, without the idle task. leaders leaves out threads
// that are not the first of their process.
func (m *Model) Tasks(leaders bool) []*Object {
	known := []*Object{m.initTask()}
	for cpu := range m.cpus {
		known = append(known, m.CurrentOn(cpu))
	}
	for _, o := range m.all() {
		if o.TypeName() == "task_struct" {
			known = append(known, o)
		}
	}
	byPID := map[uint64]*Object{}
	for _, o := range known {
		if o == nil {
			continue
		}
		pid := o.uint("pid")
		if pid == 0 || byPID[pid] != nil || leaders && pid != o.uint("tgid") {
			continue
		}
		byPID[pid] = o
	}
	out := make([]*Object, 0, len(byPID))
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
