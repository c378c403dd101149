package model

import (
	"fmt"

	"github.com/bpfrun/bpfrun/kernel/object"
)

// RootMemcg returns the memory cgroup of the root of the default hierarchy; nil if the kernel has none.
func (m *Model) RootMemcg() *object.Object { return m.MemcgOf(m.cgroupAt(0)) }

// MemcgOf returns the memory cgroup of a cgroup: the object whose css.cgroup was set to it, else one with default values.
func (m *Model) MemcgOf(cg *object.Object) *object.Object {
	if cg == nil {
		return nil
	}
	for _, o := range m.Objects() {
		if o.TypeName() == "mem_cgroup" && o.IsSet("css.cgroup") && o.Num("css.cgroup") == cg.Addr() {
			return o
		}
	}
	o := m.Builtin("memory of "+cg.Role(), "mem_cgroup")
	if o != nil {
		object.Fill(o).Ptr("css.cgroup", cg)
	}
	return o
}

// memorySubsys returns the description of the memory controller.
func (m *Model) memorySubsys() *object.Object {
	return m.Builtin("memory_cgrp_subsys", "cgroup_subsys")
}

func (m *Model) fillSubsys(b object.Builder) {
	if b.Object.Role() == "memory_cgrp_subsys" {
		b.Num("id", m.memoryID())
		b.Text("name", "memory")
	}
}

func (m *Model) memoryID() uint64 {
	id, _ := m.BTF().EnumValue("cgroup_subsys_id", "memory_cgrp_id")
	return id
}

func (m *Model) fillMemcg(b object.Builder) {
	b.Ptr("css.ss", m.memorySubsys())
	if !b.Object.IsSet("css.cgroup") {
		b.Ptr("css.cgroup", m.cgroupAt(cgroupLevel))
	}
	level := 0
	for i := range cgroupNames {
		if cg := m.cgroupAt(i); cg != nil && cg.Addr() == b.Object.Num("css.cgroup") {
			level = i
		}
	}
	if level > 0 {
		b.Num("css.parent", memberAddr(m.MemcgOf(m.cgroupAt(level-1)), "css"))
	} else {
		b.Null("css.parent")
	}
}

// linkMemcg makes a cgroup lead to its memory cgroup.
func (m *Model) linkMemcg(b object.Builder) {
	path := fmt.Sprintf("subsys[%d]", m.memoryID())
	if f, ok := b.Field(path); ok && !b.Taken(f) && m.LayoutNamed("mem_cgroup") != nil {
		b.Num(path, memberAddr(m.MemcgOf(b.Object), "css"))
	}
}
