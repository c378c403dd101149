package kernel

import "fmt"

// cgroupNames are the levels of the default hierarchy, the root first.
var cgroupNames = [...]string{"", "system.slice", "app.service"}

// cgroupLevel is the level of the current task's cgroup.
const cgroupLevel = len(cgroupNames) - 1

// cgroupID is the id of a level's cgroup, which is its inode number; the root's is 1.
func (m *Model) cgroupID(level int) uint64 {
	if level == 0 {
		return 1
	}
	return 1000*uint64(level) + m.hash("cgroup", cgroupNames[level])%1000
}

// cgroupAt is the cgroup of a level of the default hierarchy.
func (m *Model) cgroupAt(level int) *Object {
	return m.builtinObject(fmt.Sprintf("cgroup /%s", cgroupNames[level]), "cgroup")
}

func (m *Model) kernfsAt(level int) *Object {
	return m.builtinObject(fmt.Sprintf("kernfs /%s", cgroupNames[level]), "kernfs_node")
}

// levelOf finds the level of a default object; other cgroups are at the last one.
func (m *Model) levelOf(o *Object, at func(int) *Object) int {
	for i := range cgroupNames {
		if at(i) == o {
			return i
		}
	}
	return cgroupLevel
}

func (m *Model) fillCSSSet(b builder) {
	cg := m.cgroupAt(cgroupLevel)
	b.ptr("dfl_cgrp", cg)
	for i := range 16 {
		f, ok := b.field(fmt.Sprintf("subsys[%d]", i))
		if !ok {
			break
		}
		if css := b.child(f.Path); css != nil {
			fill(css).ptr("cgroup", cg)
		}
	}
	b.ptr("dom_cset", b.o)
}

func (m *Model) fillCSS(b builder) {
	b.ptr("cgroup", m.cgroupAt(cgroupLevel))
	b.num("id", b.within("id", 2, 100))
	b.null("parent")
}

func (m *Model) fillCgroup(b builder) {
	level := m.levelOf(b.o, m.cgroupAt)
	b.ptr("kn", m.kernfsAt(level))
	b.num("id", m.cgroupID(level)) // before 5.5
	b.num("level", uint64(level))
	b.num("max_depth", 0x7fffffff)
	b.num("self.id", uint64(level)+1)
	b.ptr("self.cgroup", b.o)
	for i := 0; i <= level; i++ {
		b.ptr(fmt.Sprintf("ancestors[%d]|_low_ancestors[%d]", i, i), m.cgroupAt(i))
		b.num(fmt.Sprintf("ancestor_ids[%d]", i), m.cgroupID(i))
	}
	if level > 0 {
		b.num("self.parent", m.selfAddr(m.cgroupAt(level-1)))
	} else {
		b.null("self.parent")
	}
	b.ptr("dom_cgrp", b.o)
	b.child("root")
}

// selfAddr is the address of a cgroup's own cgroup_subsys_state.
func (m *Model) selfAddr(cg *Object) uint64 {
	if cg == nil {
		return 0
	}
	f, ok := build(cg).field("self")
	if !ok {
		return 0
	}
	return cg.base + f.Off
}

func (m *Model) fillKernfs(b builder) {
	level := m.levelOf(b.o, m.kernfsAt)
	b.num("id|id.id", m.cgroupID(level))
	b.text("name", cgroupNames[level])
	if level > 0 {
		b.ptr("parent|__parent", m.kernfsAt(level-1))
	} else {
		b.null("parent __parent")
	}
	b.num("mode", directory)
	b.null("priv iattr ns")
}

// CgroupID returns the id of the current task's cgroup in the default hierarchy.
func (m *Model) CgroupID() uint64 {
	if o := m.Current(); o != nil && o.Has("cgroups.dfl_cgrp.kn.id") {
		if id := o.uint("cgroups.dfl_cgrp.kn.id"); id != 0 || m.mode != ModeDefault {
			return id
		}
	}
	return m.cgroupID(cgroupLevel)
}

// AncestorCgroupID returns the id of the current cgroup's ancestor at a level, 0 below it; the root is level 0.
func (m *Model) AncestorCgroupID(level int) uint64 {
	if level < 0 {
		return 0
	}
	own := cgroupLevel
	if o := m.Current(); o != nil && o.Has("cgroups.dfl_cgrp.level") {
		own = int(o.uint("cgroups.dfl_cgrp.level"))
		if level > own {
			return 0
		}
		for _, p := range [...]string{"cgroups.dfl_cgrp.ancestors[%d].kn.id", "cgroups.dfl_cgrp._low_ancestors[%d].kn.id", "cgroups.dfl_cgrp.ancestor_ids[%d]"} {
			if v, err := o.Uint(fmt.Sprintf(p, level)); err == nil {
				return v
			}
		}
	}
	if level > own || level >= len(cgroupNames) {
		return 0
	}
	return m.cgroupID(level)
}
