package model

import (
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
)

// cgroupNames are the levels of the default hierarchy, starting with the root.
var cgroupNames = [...]string{"", "system.slice", "app.service"}

// DefaultCgroupPath returns the path of the cgroup that tasks are in by default.
func DefaultCgroupPath() string { return "/" + strings.Join(cgroupNames[1:], "/") }

// cgroupLevel is the level of the current task's cgroup.
const cgroupLevel = len(cgroupNames) - 1

// cgroupID returns the id of a level's cgroup, which is its inode number; the root's is 1.
func (m *Model) cgroupID(level int) uint64 {
	if level == 0 {
		return 1
	}
	return 1000*uint64(level) + m.Hash("cgroup", cgroupNames[level])%1000
}

// cgroupAt returns the cgroup of a level of the default hierarchy.
func (m *Model) cgroupAt(level int) *object.Object {
	if level == 0 {
		return m.rootCgroup()
	}
	return m.Builtin(fmt.Sprintf("cgroup /%s", cgroupNames[level]), "cgroup")
}

// rootCgroup returns the root of the default hierarchy, which is part of its cgroup_root
// (cgrp_dfl_root).
func (m *Model) rootCgroup() *object.Object {
	const role = "cgroup /"
	if o := m.Kept(role); o != nil || m.LayoutNamed("cgroup") == nil {
		return o
	}
	o, err := m.newCgroup(role, 0)
	if err != nil {
		m.Fail(err)
		return nil
	}
	o.MarkBuiltin()
	m.Keep(role, o)
	return o
}

// linkRoot makes a cgroup lead to the root of its hierarchy.
func linkRoot(b object.Builder, root *object.Object) {
	if root == nil {
		return
	}
	if l := root.Storage(); l != nil && l.Name == "cgroup_root" {
		b.Num("root", root.Base())
	}
}

// fillRoot makes a cgroup_root that of the default hierarchy, which has no name.
func (m *Model) fillRoot(b object.Builder) {
	b.Num("hierarchy_id", 0)
	b.Ptr("kf_root", m.kernfsRoot())
	b.Num("nr_cgrps.counter", uint64(len(m.Cgroups())))
	b.Text("name", "")
	b.Text("release_agent_path", "")
}

func (m *Model) kernfsAt(level int) *object.Object {
	return m.Builtin(fmt.Sprintf("kernfs /%s", cgroupNames[level]), "kernfs_node")
}

// levelOf returns the level of a default object; other cgroups are at the last one.
func (m *Model) levelOf(o *object.Object, at func(int) *object.Object) int {
	for i := range cgroupNames {
		if at(i) == o {
			return i
		}
	}
	return cgroupLevel
}

// fillCSSSet makes the set of a task's controllers those of its cgroup; the idle task is in the
// root.
func (m *Model) fillCSSSet(b object.Builder) {
	level := cgroupLevel
	if t := b.Object.Parent(); t != nil && t.Role() == "init_task" {
		level = 0
	}
	b.Ptr("dfl_cgrp", m.cgroupAt(level))
	b.Ptr("dom_cset", b.Object)
	m.hashed(setTable, b, "hlist")
	cg := m.ObjectAt(b.Object.Num("dfl_cgrp"))
	if cg == nil || cg.TypeName() != "cgroup" {
		return
	}
	m.linkStates(b, cg)
	if link := m.Builtin(b.Role("link"), "cgrp_cset_link"); link != nil {
		l := object.Fill(link)
		l.Ptr("cgrp", cg)
		l.Ptr("cset", b.Object)
		b.Append("cgrp_links", link, "cgrp_link")
		object.Fill(cg).Append("cset_links", link, "cset_link")
	}
}

func (m *Model) fillCSS(b object.Builder) {
	if l := b.Object.Storage(); l != nil && l.Name == "cgroup" { // its own
		b.Num("cgroup", b.Object.Base())
		b.Null("ss")
		return
	}
	m.fillState(b)
}

func (m *Model) fillCgroup(b object.Builder) {
	level := m.levelOf(b.Object, m.cgroupAt)
	b.Ptr("kn", m.kernfsAt(level))
	b.Num("id", m.cgroupID(level)) // before 5.5
	b.Num("level", uint64(level))
	b.Num("max_depth", 0x7fffffff)
	b.Num("self.id", uint64(level)+1)
	b.Ptr("self.cgroup", b.Object)
	b.Null("self.ss")
	for i := 0; i <= level; i++ {
		b.Ptr(fmt.Sprintf("ancestors[%d]|_low_ancestors[%d]", i, i), m.cgroupAt(i))
		b.Num(fmt.Sprintf("ancestor_ids[%d]", i), m.cgroupID(i))
	}
	if level > 0 {
		b.Num("self.parent", m.selfAddr(m.cgroupAt(level-1)))
	} else {
		b.Null("self.parent")
	}
	b.Ptr("dom_cgrp", b.Object)
	linkRoot(b, m.cgroupAt(0))
	m.linkStates(b, b.Object)
	b.Num("nr_descendants", uint64(cgroupLevel-level))
	b.Num("nr_dying_descendants", 0)
	b.Num("nr_populated_csets|self.nr_populated_csets", b2n(level == 0 || level == cgroupLevel)) // of its own state on 7.2
	b.Num("self.nr_populated_children", b2n(level < cgroupLevel))
	b.Num("self.nr_descendants", uint64(cgroupLevel-level))
	b.Num("nr_populated_domain_children", b2n(level < cgroupLevel))
	b.Num("nr_populated_threaded_children", 0)
	// The hierarchy has one cgroup at each level.
	if level < cgroupLevel {
		listOf(b, "self.children", memberAddr(m.cgroupAt(level+1), "self.sibling"))
	}
	if level > 0 {
		listOf(b, "self.sibling", memberAddr(m.cgroupAt(level-1), "self.children"))
	}
}

// listOf makes both pointers of a list member point to the same address.
func listOf(b object.Builder, path string, addr uint64) {
	if addr != 0 {
		b.Num(path+".next", addr)
		b.Num(path+".prev", addr)
	}
}

// memberAddr returns the address of a member, or 0 if the type lacks it.
func memberAddr(o *object.Object, path string) uint64 {
	if o == nil {
		return 0
	}
	f, ok := object.Build(o).Field(path)
	if !ok {
		return 0
	}
	return o.Base() + f.Off
}

// selfAddr returns the address of a cgroup's own cgroup_subsys_state.
func (m *Model) selfAddr(cg *object.Object) uint64 {
	if cg == nil {
		return 0
	}
	f, ok := object.Build(cg).Field("self")
	if !ok {
		return 0
	}
	return cg.Base() + f.Off
}

func (m *Model) fillKernfs(b object.Builder) {
	level := m.levelOf(b.Object, m.kernfsAt)
	b.Num("id|id.id", m.cgroupID(level))
	b.Text("name", cgroupNames[level])
	if level > 0 {
		b.Ptr("parent|__parent", m.kernfsAt(level-1))
	} else {
		b.Null("parent __parent")
	}
	b.Ptr("priv", m.cgroupAt(level))
	m.fillNode(b)
}

// fillNode makes a node of the cgroup file system an active directory.
func (m *Model) fillNode(b object.Builder) {
	b.Num("mode", directory)
	b.Num("flags", 0x11) // KERNFS_DIR, KERNFS_ACTIVATED
	b.Ptr("dir.root", m.kernfsRoot())
	b.Null("iattr ns")
}

// kernfsRoot returns the root of the cgroup file system.
func (m *Model) kernfsRoot() *object.Object {
	return m.Builtin("kernfs_root of cgroups", "kernfs_root")
}

func (m *Model) fillKernfsRoot(b object.Builder) {
	top := m.cgroupAt(0)
	if o := m.cgroupByPath.Get(""); o != nil {
		top = o
	}
	if top != nil {
		b.Num("kn", top.Num("kn"))
	}
}

// CgroupID returns the id of the current task's cgroup in the default hierarchy.
func (m *Model) CgroupID() uint64 {
	if o := m.Current(); o != nil && o.Has("cgroups.dfl_cgrp.kn.id") {
		if id := o.Num("cgroups.dfl_cgrp.kn.id"); id != 0 || m.Mode() != object.ModeDefault {
			return id
		}
	}
	return m.cgroupID(cgroupLevel)
}

// AncestorCgroupID returns the id of the current cgroup's ancestor at a level, 0 below the cgroup
// itself; the root is level 0.
func (m *Model) AncestorCgroupID(level int) uint64 {
	if level < 0 {
		return 0
	}
	own := cgroupLevel
	if o := m.Current(); o != nil && o.Has("cgroups.dfl_cgrp.level") {
		own = int(o.Num("cgroups.dfl_cgrp.level"))
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
