package kernel

import (
	"errors"
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
func (k *Kernel) NewMM(role string, s MMSpec) (*Object, error) {
	o, err := k.NewObjectNamed(role, "mm_struct")
	if err != nil {
		return nil, err
	}
	o.builtin = true
	b := builder{k: k, o: o, how: set}
	for _, block := range []struct {
		name  string
		texts []string
	}{{"arg", s.Args}, {"env", s.Env}} {
		if block.texts == nil {
			continue
		}
		data := []byte(strings.Join(append(slices.Clone(block.texts), ""), "\x00"))
		at := k.UserAlloc(data)
		b.num(block.name+"_start", at)
		b.num(block.name+"_end", at+uint64(len(data)))
	}
	return o, k.Err()
}

// SetAreas gives an address space its memory areas, in the order of their addresses. Where the target links them in a list, they are.
func (k *Kernel) SetAreas(mm *Object, areas []AreaSpec) error {
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
		vma, err := k.NewObjectNamed(fmt.Sprintf("%s.vma[%d]", mm.role, i), "vm_area_struct")
		if err != nil {
			return err
		}
		vma.parent, vma.depth = mm, mm.depth+1
		b := builder{k: k, o: vma, how: set}
		b.num("vm_start", a.Start)
		b.num("vm_end", a.End)
		b.num("vm_flags", a.Flags)
		b.num("vm_pgoff", a.PageOffset)
		b.ptr("vm_mm", mm)
		b.null("vm_file vm_next vm_prev")
		b.ptr("vm_file", a.File)
		if i > 0 {
			b.ptr("vm_prev", list[i-1])
			builder{k: k, o: list[i-1], how: set}.ptr("vm_next", vma)
		} else {
			builder{k: k, o: mm, how: set}.ptr("mmap", vma)
		}
		list = append(list, vma)
	}
	builder{k: k, o: mm, how: set}.num("map_count", uint64(len(list)))
	k.areas[mm] = list
	return k.Err()
}

// areaAt finds the memory area, among those that were built, that contains a user address.
func (k *Kernel) areaAt(addr uint64) *Object {
	for _, list := range k.areas {
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
func (k *Kernel) NewCgroup(role, path string, id uint64) (*Object, error) {
	at, parent := "", (*Object)(nil)
	names := append([]string{""}, slices.Collect(splitPath(path))...)
	for level, name := range names {
		if level > 0 {
			at += "/" + name
		}
		last := level == len(names)-1
		if o := k.cgroupByPath[at]; o != nil {
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
		o, err := k.cgroupBelow(r, at, name, level, parent, own)
		if err != nil {
			return nil, err
		}
		k.cgroupByPath[at] = o
		parent = o
	}
	return parent, k.Err()
}

// cgroupBelow makes one cgroup with its node in the file system and links it to its parent.
func (k *Kernel) cgroupBelow(role, path, name string, level int, parent *Object, id uint64) (*Object, error) {
	o, err := k.NewObjectNamed(role, "cgroup")
	if err != nil {
		return nil, err
	}
	kn, err := k.NewObjectNamed(role+".kn", "kernfs_node")
	if err != nil {
		return nil, err
	}
	o.builtin, kn.builtin = true, true
	kn.parent, kn.depth = o, 1
	switch {
	case id != 0:
	case level == 0:
		id = 1
	default:
		id = 1000*uint64(level) + k.hash("cgroup", path)%1000
	}
	n := builder{k: k, o: kn, how: set}
	n.num("id|id.id", id)
	n.text("name", name)
	n.num("mode", directory)
	n.null("parent __parent")
	b := builder{k: k, o: o, how: set}
	b.ptr("kn", kn)
	b.num("id", id)
	b.num("level", uint64(level))
	b.num("self.id", uint64(len(k.cgroupByPath))+1)
	b.ptr("self.cgroup", o)
	b.ptr("dom_cgrp", o)
	b.num("max_depth", 0x7fffffff)
	b.null("self.parent")
	k.emptyList(o, "self.children")
	if parent != nil {
		up, _ := parent.Pointee("kn")
		n.ptr("parent|__parent", up)
		b.num("self.parent", k.selfAddr(parent))
		if err := k.Link(parent, "self.children", o, "self.sibling"); err != nil {
			return nil, err
		}
	}
	chain := []*Object{o}
	for p := parent; p != nil; {
		chain = append(chain, p)
		if p = k.objectAt(p.uint("self.parent")); p == chain[len(chain)-1] {
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
func (k *Kernel) cgroups() []*Object {
	var out []*Object
	if len(k.cgroupByPath) == 0 {
		for level := range cgroupNames {
			out = append(out, k.cgroupAt(level))
		}
		return slices.DeleteFunc(out, func(o *Object) bool { return o == nil })
	}
	paths := make([]string, 0, len(k.cgroupByPath))
	for p := range k.cgroupByPath {
		paths = append(paths, p)
	}
	// A slash sorts before all other characters of a name, so that what is below a cgroup follows it.
	slices.SortFunc(paths, func(a, b string) int {
		return strings.Compare(strings.ReplaceAll(a, "/", "\x00"), strings.ReplaceAll(b, "/", "\x00"))
	})
	for _, p := range paths {
		out = append(out, k.cgroupByPath[p])
	}
	return out
}

// emptyList makes a list_head point to itself, if the type has it.
func (k *Kernel) emptyList(o *Object, path string) {
	if at, err := o.FieldAddr(path); err == nil {
		k.fail(errors.Join(o.SetUint(path+".next", at), o.SetUint(path+".prev", at)))
	}
}

// Link appends a member of one object to the list whose head is a field of another. A head that nobody set is an empty list.
func (k *Kernel) Link(head *Object, headPath string, o *Object, path string) error {
	at, err := head.FieldAddr(headPath)
	if err != nil {
		return err
	}
	own, err := o.FieldAddr(path)
	if err != nil {
		return err
	}
	if !head.IsSet(headPath + ".next") {
		k.emptyList(head, headPath)
	}
	prev, err := head.Uint(headPath + ".prev")
	if err != nil {
		return err
	}
	p := k.objectAt(prev)
	if p == nil {
		return fmt.Errorf("the list at %s of %s has no end", headPath, head.role)
	}
	var word [8]byte
	size := k.mem.PointerSize()
	putUint(k.order(), word[:size], own)
	p.poke(prev-p.base, word[:size], set) // next is the first member
	return errors.Join(o.SetUint(path+".next", at), o.SetUint(path+".prev", prev), head.SetUint(headPath+".prev", own))
}

// SetFiles gives a process its open files, by descriptor; nil is a closed one.
func (k *Kernel) SetFiles(task *Object, files []*Object) error {
	at, f, err := task.find("files.fdt.fd", true, set)
	if err != nil {
		return err
	}
	to := target(f.Spec, f.Type)
	l := k.types.of(f.Spec, to.id)
	if l == nil || l.size == 0 {
		return &TypeError{Type: f.Spec.TypeString(f.Type), Role: task.role, Why: "is no array of files"}
	}
	fds, err := k.newObject(task.role+".files.fdt.fd", l, uint64(max(len(files), 1)), at)
	if err != nil {
		return err
	}
	data := make([]byte, fds.size)
	for i, file := range files {
		if file != nil {
			putUint(k.order(), data[uint64(i)*l.size:][:l.size], file.Addr())
		}
	}
	fds.poke(0, data, set)
	if err := task.SetUint("files.fdt.max_fds", uint64(len(files))); err != nil {
		return err
	}
	return task.Set("files.fdt.fd", Pointer(fds.Addr()))
}

// RegsSpec are registers by what they are for; absent ones keep their value.
type RegsSpec struct {
	Args        []uint64
	Ret, IP, SP *uint64
}

// NewRegs builds a struct pt_regs as the architecture passes arguments.
func (k *Kernel) NewRegs(role string, s RegsSpec) (*Object, error) {
	r := k.newRegisters(role, 0, k.stackAddr())
	if r.l == nil {
		return nil, &TypeError{Type: "pt_regs", Role: role, Why: "is not in the target's BTF"}
	}
	if len(s.Args) > len(r.abi.args) {
		return nil, fmt.Errorf("%d arguments given, %d fit into registers", len(s.Args), len(r.abi.args))
	}
	for i, v := range s.Args {
		r.set(r.abi.args[i], v)
	}
	for _, x := range []struct {
		name string
		v    *uint64
	}{{r.abi.ret, s.Ret}, {r.abi.ip, s.IP}, {r.abi.sp, s.SP}} {
		if x.v != nil {
			r.set(x.name, *x.v)
		}
	}
	o, err := k.newObject(role, r.l, 1, nil)
	if err != nil {
		return nil, err
	}
	o.poke(0, r.data, set)
	return o, nil
}
