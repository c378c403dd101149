package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
)

// MMSpec describes an address space to build. Zero fields get default values.
type MMSpec struct {
	// Args and Env are placed in user memory, where arg_start and env_start point.
	Args, Env []string
	Areas     []AreaSpec
}

// NewMM builds a struct mm_struct.
func (m *Model) NewMM(role string, s MMSpec) (*object.Object, error) {
	o, err := m.NewObjectNamed(role, "mm_struct")
	if err != nil {
		return nil, err
	}
	o.MarkBuiltin()
	b := object.Build(o)
	for _, block := range []struct {
		name  string
		texts []string
	}{{"arg", s.Args}, {"env", s.Env}} {
		if block.texts == nil {
			continue
		}
		data := []byte(strings.Join(append(slices.Clone(block.texts), ""), "\x00"))
		at := m.UserAboveStack(0, data)
		b.Num(block.name+"_start", at)
		b.Num(block.name+"_end", at+uint64(len(data)))
	}
	return o, m.Err()
}

// NewCgroup builds the cgroup for an absolute path in the default hierarchy, and its missing
// ancestors. An id of 0 is replaced by one derived from the path; the id is also the inode number.
func (m *Model) NewCgroup(role, path string, id uint64) (*object.Object, error) {
	at, parent := "", (*object.Object)(nil)
	names := append([]string{""}, slices.Collect(splitPath(path))...)
	for level, name := range names {
		if level > 0 {
			at += "/" + name
		}
		last := level == len(names)-1
		if o := m.cgroupByPath.Get(at); o != nil {
			if last && id != 0 && o.Num("kn.id") != id {
				return nil, fmt.Errorf("cgroup %s already exists, with id %d", path, o.Num("kn.id"))
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
		m.cgroupByPath.Set(at, o)
		parent = o
	}
	return parent, m.Err()
}

// newCgroup creates a cgroup; the root of a hierarchy is part of its cgroup_root.
func (m *Model) newCgroup(role string, level int) (*object.Object, error) {
	if level == 0 {
		return m.NewIn(role, "cgroup", "cgroup_root", "cgrp")
	}
	return m.NewObjectNamed(role, "cgroup")
}

// cgroupBelow creates one cgroup with its node in the file system and links it to its parent.
func (m *Model) cgroupBelow(role, path, name string, level int, parent *object.Object, id uint64) (*object.Object, error) {
	o, err := m.newCgroup(role, level)
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
		id = 1000*uint64(level) + m.Hash("cgroup", path)%1000
	}
	n := object.Build(kn)
	n.Num("id|id.id", id)
	n.Text("name", name)
	n.Ptr("priv", o)
	m.fillNode(n)
	n.Null("parent __parent")
	b := object.Build(o)
	b.Ptr("kn", kn)
	b.Num("id", id)
	b.Num("level", uint64(level))
	b.Num("self.id", uint64(m.cgroupByPath.Len())+1)
	b.Ptr("self.cgroup", o)
	b.Ptr("dom_cgrp", o)
	b.Num("max_depth", 0x7fffffff)
	b.Null("self.parent")
	m.EmptyList(o, "self.children")
	if parent != nil {
		up, _ := parent.Pointee("kn")
		n.Ptr("parent|__parent", up)
		b.Num("self.parent", m.selfAddr(parent))
		if err := m.Link(parent, "self.children", o, "self.sibling"); err != nil {
			return nil, err
		}
	}
	chain := []*object.Object{o}
	for p := parent; p != nil; {
		chain = append(chain, p)
		if p = m.ObjectAt(p.Num("self.parent")); p == chain[len(chain)-1] {
			break
		}
	}
	slices.Reverse(chain)
	linkRoot(b, chain[0])
	for i, a := range chain {
		b.Ptr(fmt.Sprintf("ancestors[%d]|_low_ancestors[%d]", i, i), a)
		b.Num(fmt.Sprintf("ancestor_ids[%d]", i), a.Num("kn.id|kn.id.id"))
	}
	return o, nil
}

// Cgroups lists the default hierarchy, each cgroup before its descendants.
func (m *Model) Cgroups() []*object.Object {
	var out []*object.Object
	if m.cgroupByPath.Len() == 0 {
		for level := range cgroupNames {
			out = append(out, m.cgroupAt(level))
		}
		return slices.DeleteFunc(out, func(o *object.Object) bool { return o == nil })
	}
	paths := make([]string, 0, m.cgroupByPath.Len())
	for p := range m.cgroupByPath.All() {
		paths = append(paths, p)
	}
	// A slash sorts before all other characters of a name, so descendants directly follow their
	// ancestor.
	slices.SortFunc(paths, func(a, b string) int {
		return strings.Compare(strings.ReplaceAll(a, "/", "\x00"), strings.ReplaceAll(b, "/", "\x00"))
	})
	for _, p := range paths {
		out = append(out, m.cgroupByPath.Get(p))
	}
	return out
}

// SetFiles sets the open files of a process, by descriptor; nil is a closed one.
func (m *Model) SetFiles(task *object.Object, files []*object.Object) error {
	fds, err := task.Elements("files.fdt.fd", uint64(max(len(files), 1)), func(i, size uint64) []byte {
		p := make([]byte, size)
		if i < uint64(len(files)) && files[i] != nil {
			endian.PutUint(m.Order(), p, files[i].Addr())
		}
		return p
	})
	if err != nil {
		return err
	}
	if err := task.SetUint("files.fdt.max_fds", uint64(len(files))); err != nil {
		return err
	}
	return task.Set("files.fdt.fd", object.Pointer(fds.Addr()))
}
