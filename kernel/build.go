package kernel

import (
	"fmt"
	"slices"
	"strings"
)

// MMSpec describes an address space to build. Zero fields get default values.
type MMSpec struct {
	// Args and Env are placed in user memory, where arg_start and env_start point.
	Args, Env []string
	Areas     []AreaSpec
}

// AreaSpec is a memory area, a struct vm_area_struct.
type AreaSpec struct {
	Start, End, Flags, PageOffset uint64
	File                          *Object // nil = anonymous
}

// NewMM builds a struct mm_struct.
func (m *Model) NewMM(role string, s MMSpec) (*Object, error) {
	o, err := m.NewObjectNamed(role, "mm_struct")
	if err != nil {
		return nil, err
	}
	o.MarkBuiltin()
	b := build(o)
	for _, block := range []struct {
		name  string
		texts []string
	}{{"arg", s.Args}, {"env", s.Env}} {
		if block.texts == nil {
			continue
		}
		data := []byte(strings.Join(append(slices.Clone(block.texts), ""), "\x00"))
		at := m.UserAlloc(data)
		b.num(block.name+"_start", at)
		b.num(block.name+"_end", at+uint64(len(data)))
	}
	return o, m.Err()
}

// SetAreas gives an address space its memory areas, in the order of their addresses. Where the target links them in a list, they are.
func (m *Model) SetAreas(mm *Object, areas []AreaSpec) error {
	slices.SortStableFunc(areas, func(a, b AreaSpec) int {
		if a.Start < b.Start {
			return -1
		}
		return min(int(a.Start-b.Start), 1)
	})
	list := []*Object{}
	for i, a := range areas {
		if a.End <= a.Start || i > 0 && a.Start < areas[i-1].End {
			return fmt.Errorf("memory area %#x to %#x: empty, or overlaps another", a.Start, a.End)
		}
		vma, err := m.NewObjectNamed(fmt.Sprintf("%s.vma[%d]", mm.role, i), "vm_area_struct")
		if err != nil {
			return err
		}
		vma.Below(mm)
		b := build(vma)
		b.num("vm_start", a.Start)
		b.num("vm_end", a.End)
		b.num("vm_flags", a.Flags)
		b.num("vm_pgoff", a.PageOffset)
		b.ptr("vm_mm", mm)
		b.null("vm_file vm_next vm_prev")
		b.ptr("vm_file", a.File)
		if i > 0 {
			b.ptr("vm_prev", list[i-1])
			build(list[i-1]).ptr("vm_next", vma)
		} else {
			build(mm).ptr("mmap", vma)
		}
		list = append(list, vma)
	}
	build(mm).num("map_count", uint64(len(list)))
	m.areas[mm] = list
	return m.Err()
}

// areaAt finds the memory area, among those that were built, that contains a user address.
func (m *Model) areaAt(addr uint64) *Object {
	for _, list := range m.areas {
		for _, vma := range list {
			if addr >= vma.uint("vm_start") && addr < vma.uint("vm_end") {
				return vma
			}
		}
	}
	return nil
}

// NewCgroup builds the cgroup of an absolute path in the default hierarchy, and those above it that are not there yet. id 0 means one
// derived from the path; it is the inode number too.
func (m *Model) NewCgroup(role, path string, id uint64) (*Object, error) {
	at, parent := "", (*Object)(nil)
	names := append([]string{""}, slices.Collect(splitPath(path))...)
	for level, name := range names {
		if level > 0 {
			at += "/" + name
		}
		last := level == len(names)-1
		if o := m.cgroupByPath[at]; o != nil {
			if last && id != 0 && o.uint("kn.id") != id {
				return nil, fmt.Errorf("cgroup %s is there already, with id %d", path, o.uint("kn.id"))
			}
			parent = o
			continue
		}
		r := role
		if !last {
			r = "cgroup " + at + "/"
		}
		own := uint64(0)
		if last {
			own = id
		}
		o, err := m.cgroupBelow(r, at, name, level, parent, own)
		if err != nil {
			return nil, err
		}
		m.cgroupByPath[at] = o
		parent = o
	}
	return parent, m.Err()
}

// cgroupBelow makes one cgroup with its node in the file system and links it to its parent.
func (m *Model) cgroupBelow(role, path, name string, level int, parent *Object, id uint64) (*Object, error) {
	o, err := m.NewObjectNamed(role, "cgroup")
	if err != nil {
		return nil, err
	}
	kn, err := m.NewObjectNamed(role+".kn", "kernfs_node")
	if err != nil {
		return nil, err
	}
	o.MarkBuiltin()
	kn.MarkBuiltin()
	kn.Below(o)
	switch {
	case id != 0:
	case level == 0:
		id = 1
	default:
		id = 1000*uint64(level) + m.hash("cgroup", path)%1000
	}
	n := build(kn)
	n.num("id|id.id", id)
	n.text("name", name)
	n.num("mode", directory)
	n.null("parent __parent")
	b := build(o)
	b.ptr("kn", kn)
	b.num("id", id)
	b.num("level", uint64(level))
	b.num("self.id", uint64(len(m.cgroupByPath))+1)
	b.ptr("self.cgroup", o)
	b.ptr("dom_cgrp", o)
	b.num("max_depth", 0x7fffffff)
	b.null("self.parent")
	m.emptyList(o, "self.children")
	if parent != nil {
		up, _ := parent.Pointee("kn")
		n.ptr("parent|__parent", up)
		b.num("self.parent", m.selfAddr(parent))
		if err := m.Link(parent, "self.children", o, "self.sibling"); err != nil {
			return nil, err
		}
	}
	chain := []*Object{o}
	for p := parent; p != nil; {
		chain = append(chain, p)
		if p = m.objectAt(p.uint("self.parent")); p == chain[len(chain)-1] {
			break
		}
	}
	slices.Reverse(chain)
	for i, a := range chain {
		b.ptr(fmt.Sprintf("ancestors[%d]|_low_ancestors[%d]", i, i), a)
		b.num(fmt.Sprintf("ancestor_ids[%d]", i), a.uint("kn.id|kn.id.id"))
	}
	return o, nil
}

// cgroups lists the default hierarchy, a cgroup before those below it.
func (m *Model) cgroups() []*Object {
	var out []*Object
	if len(m.cgroupByPath) == 0 {
		for level := range cgroupNames {
			out = append(out, m.cgroupAt(level))
		}
		return slices.DeleteFunc(out, func(o *Object) bool { return o == nil })
	}
	paths := make([]string, 0, len(m.cgroupByPath))
	for p := range m.cgroupByPath {
		paths = append(paths, p)
	}
	// A slash sorts before all other characters of a name, so that what is below a cgroup follows it.
	slices.SortFunc(paths, func(a, b string) int {
		return strings.Compare(strings.ReplaceAll(a, "/", "\x00"), strings.ReplaceAll(b, "/", "\x00"))
	})
	for _, p := range paths {
		out = append(out, m.cgroupByPath[p])
	}
	return out
}

// SetFiles gives a process its open files, by descriptor; nil is a closed one.
func (m *Model) SetFiles(task *Object, files []*Object) error {
	fds, err := task.newElements("files.fdt.fd", uint64(max(len(files), 1)), func(i, size uint64) []byte {
		p := make([]byte, size)
		if i < uint64(len(files)) && files[i] != nil {
			putUint(m.order(), p, files[i].Addr())
		}
		return p
	})
	if err != nil {
		return err
	}
	if err := task.SetUint("files.fdt.max_fds", uint64(len(files))); err != nil {
		return err
	}
	return task.Set("files.fdt.fd", Pointer(fds.Addr()))
}

// vmas lists the memory areas of an address space: those a builder gave it, in default mode one.
func (m *Model) vmas(mm *Object) []*Object {
	if list, ok := m.areas[mm]; ok || m.mode != ModeDefault {
		return list
	}
	role := mm.role + ".vma"
	o := m.kept(role)
	if o == nil {
		l := m.layoutNamed("vm_area_struct")
		if l == nil {
			return nil
		}
		var err error
		if o, err = m.newObject(role, l, 1, mm); err != nil {
			m.fail(err)
			return nil
		}
		o.MarkBuiltin()
		m.keep(role, o)
	}
	return []*Object{o}
}
