package kernel

import (
	"fmt"
	"maps"
	"slices"
)

// FindSymbol returns the address of a kernel symbol as bpf_kallsyms_lookup_name does; ok is false and the address 0 when
// no such symbol is known. See [Kernel.KsymAddr].
func (k *Kernel) FindSymbol(name string) (addr uint64, ok bool) { return k.KsymAddr(name) }

// VMAAt returns the memory area of a user address: one page, for an address at which user memory has something; nil where
// it has nothing.
func (k *Kernel) VMAAt(addr uint64) (*Object, error) {
	addr = k.mem.Truncate(addr)
	if o := k.areaAt(addr); o != nil {
		return o, nil
	}
	if !k.IsUserAddress(addr) || !k.user.win.Mapped(addr) {
		return nil, nil
	}
	start := addr &^ uint64(pageSize-1)
	role := fmt.Sprintf("vma %#x", start)
	if o := k.byRole[role]; o != nil {
		return o, nil
	}
	o, err := k.NewObjectNamed(role, "vm_area_struct")
	if err != nil {
		return nil, err
	}
	o.builtin = true
	if err := o.SetUint("vm_start", start); err != nil {
		return nil, err
	}
	if err := o.SetUint("vm_end", start+pageSize); err != nil {
		return nil, err
	}
	k.byRole[role] = o
	return o, nil
}

// TaskByPID returns the task with that pid among those the machine knows: those running, init, and every task_struct made
// so far. Nil when there is none.
func (k *Kernel) TaskByPID(pid uint32) *Object {
	for cpu := range k.cpus {
		if t := k.CurrentOn(cpu); t != nil && uint32(t.uint("pid")) == pid {
			return t
		}
	}
	if t := k.initTask(); t != nil && uint32(t.uint("pid")) == pid {
		return t
	}
	for _, o := range k.objects {
		if o.TypeName() == "task_struct" && uint32(o.uint("pid")) == pid {
			return o
		}
	}
	return nil
}

// CgroupByID returns the cgroup of the default hierarchy with that id, nil when there is none.
func (k *Kernel) CgroupByID(id uint64) *Object {
	for level := range cgroupNames {
		if k.cgroupID(level) == id {
			return k.cgroupAt(level)
		}
	}
	return nil
}

// Tasks returns the tasks the machine knows, by pid: those [Kernel.TaskByPID] finds, without the idle task. leaders leaves out threads
// that are not the first of their process.
func (k *Kernel) Tasks(leaders bool) []*Object {
	known := []*Object{k.initTask()}
	for cpu := range k.cpus {
		known = append(known, k.CurrentOn(cpu))
	}
	for _, o := range k.objects {
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
func (k *Kernel) CgroupStates() []uint64 {
	var out []uint64
	for level := range cgroupNames {
		out = append(out, k.selfAddr(k.cgroupAt(level)))
	}
	return out
}
