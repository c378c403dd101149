package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
)

// stateTypes are the types that contain a controller's cgroup_subsys_state as css, their first
// member, by the controller's name; others have no more than the state.
var stateTypes = map[string]string{
	"cpuset": "cpuset", "cpu": "task_group", "cpuacct": "cpuacct", "io": "blkcg", memory: "mem_cgroup", "devices": "dev_cgroup", "freezer": "freezer",
	"net_cls": "cgroup_cls_state", "perf_event": "perf_cgroup", "hugetlb": "hugetlb_cgroup", "pids": "pids_cgroup", "rdma": "rdma_cgroup", "misc": "misc_cg",
	"dmem": "dmemcg_state",
}

const (
	memory     = "memory"
	subsysRole = "_cgrp_subsys"
	stateRole  = " of "
)

// plainControllers have no type of their own.
var plainControllers = []string{"net_prio", "debug"}

// controllers returns the numbers of the controllers that the target was built with (enum
// cgroup_subsys_id).
func (m *Model) controllers() map[string]uint64 {
	if m.subsystems == nil {
		m.subsystems = make(map[string]uint64)
		for _, name := range slices.AppendSeq(slices.Clone(plainControllers), maps.Keys(stateTypes)) {
			if id, ok := m.BTF().EnumValue("cgroup_subsys_id", name+"_cgrp_id"); ok {
				m.subsystems[name] = id
			}
		}
	}
	return m.subsystems
}

// RootMemcg returns the memory cgroup of the root of the default hierarchy; nil if the kernel has
// none.
func (m *Model) RootMemcg() *object.Object { return m.MemcgOf(m.cgroupAt(0)) }

// MemcgOf returns the memory cgroup of a cgroup: the object whose css.cgroup was set to it, else
// one with default values.
func (m *Model) MemcgOf(cg *object.Object) *object.Object {
	if cg == nil || m.LayoutNamed("mem_cgroup") == nil {
		return nil
	}
	for _, o := range m.Objects() {
		if o.TypeName() == "mem_cgroup" && o.IsSet("css.cgroup") && o.Num("css.cgroup") == cg.Addr() {
			return o
		}
	}
	return m.stateOf(memory, cg)
}

// stateOf returns the object with a controller's state of a cgroup.
func (m *Model) stateOf(controller string, cg *object.Object) *object.Object {
	typ := stateTypes[controller]
	if typ == "" || m.LayoutNamed(typ) == nil {
		typ = stateType
	}
	role := controller + stateRole + cg.Role()
	if o := m.Kept(role); o != nil {
		return o
	}
	l := m.LayoutNamed(typ)
	if l == nil {
		return nil
	}
	o, err := m.Make(role, l, 1, nil)
	if err != nil {
		m.Fail(err)
		return nil
	}
	o.MarkBuiltin()
	m.Keep(role, o)
	b := object.Fill(o)
	b.Ptr("css.cgroup|cgroup", cg)
	return o
}

const stateType = "cgroup_subsys_state"

// stateAt returns the address of a controller's cgroup_subsys_state of a cgroup, 0 if there is
// none.
func (m *Model) stateAt(controller string, cg *object.Object) uint64 {
	var o *object.Object
	if controller == memory {
		o = m.MemcgOf(cg)
	}
	if o == nil {
		o = m.stateOf(controller, cg)
	}
	if o == nil {
		return 0
	}
	return o.Addr()
}

// subsysOf returns the description of a controller.
func (m *Model) subsysOf(controller string) *object.Object {
	return m.Builtin(controller+subsysRole, "cgroup_subsys")
}

func (m *Model) fillSubsys(b object.Builder) {
	name, ok := strings.CutSuffix(b.Object.Role(), subsysRole)
	if !ok {
		return
	}
	b.Num("id", m.controllers()[name])
	b.Text("name", name)
	if name == "io" {
		name = "blkio"
	}
	b.Text("legacy_name", name)
	linkRoot(b, m.cgroupAt(0))
}

// fillState links a controller's state to its controller and to the state of the cgroup's parent.
func (m *Model) fillState(b object.Builder) {
	css := "css."
	if b.Object.TypeName() == stateType {
		css = ""
	}
	controller, _, ok := strings.Cut(b.Object.Role(), stateRole)
	if !ok {
		controller = controllerOf(b.Object.TypeName())
	}
	if !b.Object.IsSet(css + "cgroup") {
		if f, ok := b.Field(css + "cgroup"); ok && b.Object.Stored(f) == 0 {
			b.Ptr(css+"cgroup", m.cgroupAt(cgroupLevel))
		}
	}
	b.Ptr(css+"ss", m.subsysOf(controller))
	b.Num(css+"id", b.Within("id", 2, 100))
	b.Num(css+"flags", 1<<1|1<<3) // CSS_ONLINE, CSS_VISIBLE
	cg := m.ObjectAt(b.Object.Num(css + "cgroup"))
	if up := m.parentOf(cg); up != nil {
		b.Num(css+"parent", m.stateAt(controller, up))
	} else {
		b.Null(css + "parent")
	}
}

// controllerOf returns the name of the controller whose states a type contains, or "".
func controllerOf(typ string) string {
	for name, t := range stateTypes {
		if t == typ {
			return name
		}
	}
	return ""
}

// parentOf returns the cgroup above a cgroup, nil above the root.
func (m *Model) parentOf(cg *object.Object) *object.Object {
	if cg == nil || !cg.Has("self.parent") {
		return nil
	}
	return m.ObjectAt(cg.Num("self.parent"))
}

// linkStates makes a cgroup, or the css_set of tasks in it, lead to the states of all controllers,
// which are enabled in all cgroups.
func (m *Model) linkStates(b object.Builder, cg *object.Object) {
	if cg == nil {
		return
	}
	ids := m.controllers()
	for _, name := range slices.Sorted(maps.Keys(ids)) { // objects are made in the same order in every run
		path := fmt.Sprintf("subsys[%d]", ids[name])
		if f, ok := b.Field(path); ok && !b.Taken(f) {
			b.Num(path, m.stateAt(name, cg))
		}
	}
}
