package model

import (
	"fmt"
	"slices"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// AreaSpec is a memory area, a struct vm_area_struct.
type AreaSpec struct {
	Start, End, Flags, PageOffset uint64
	File                          *object.Object // nil = anonymous
}

// Flags of memory areas (include/linux/mm.h).
const (
	vmRead, vmWrite, vmExec = 1, 2, 4
	vmShared                = 8
	vmMay                   = 0x70  // may be made readable, writable, executable
	vmGrowsDown             = 0x100 // VM_GROWSDOWN
)

// SetAreas sets the memory areas of an address space, in the order of their addresses.
func (m *Model) SetAreas(mm *object.Object, areas []AreaSpec) error {
	slices.SortStableFunc(areas, func(a, b AreaSpec) int {
		if a.Start < b.Start {
			return -1
		}
		return min(int(a.Start-b.Start), 1)
	})
	list := []*object.Object{}
	for i, a := range areas {
		if a.End <= a.Start || i > 0 && a.Start < areas[i-1].End {
			return fmt.Errorf("memory area %#x to %#x: empty, or overlaps another", a.Start, a.End)
		}
		vma, err := m.NewObjectNamed(fmt.Sprintf("%s.vma[%d]", mm.Role(), i), "vm_area_struct")
		if err != nil {
			return err
		}
		vma.Below(mm)
		setArea(object.Build(vma), mm, a)
		list = append(list, vma)
	}
	m.areas.Set(mm, list)
	m.linkAreas(object.Build(mm), list)
	return m.Err()
}

// setArea gives an area its range and what it maps.
func setArea(b object.Builder, mm *object.Object, a AreaSpec) {
	b.Num("vm_start", a.Start)
	b.Num("vm_end", a.End)
	b.Num("vm_flags|__vm_flags", a.Flags)
	b.Num("vm_pgoff", a.PageOffset)
	b.Ptr("vm_mm", mm)
	b.Null("vm_file vm_next vm_prev vm_private_data anon_vma anon_name")
	if a.File == nil {
		b.Null("vm_ops")
	}
	b.Ptr("vm_file", a.File)
}

// linkAreas makes an address space lead to its areas, in order: by a list and a tree before 6.1, by
// a maple tree since then. It counts them and their pages (vm_stat_account of mm/mmap.c).
func (m *Model) linkAreas(b object.Builder, areas []*object.Object) {
	var total, exec, data, stack uint64
	for i, vma := range areas {
		if i > 0 {
			object.Build(vma).Ptr("vm_prev", areas[i-1])
			object.Build(areas[i-1]).Ptr("vm_next", vma)
		}
		pages, flags := (vma.Num("vm_end")-vma.Num("vm_start"))/uapi.PageSize, vma.Num("vm_flags")
		total += pages
		switch {
		case flags&(vmExec|vmWrite|vmGrowsDown) == vmExec:
			exec += pages
		case flags&vmGrowsDown != 0:
			stack += pages
		case flags&(vmWrite|vmShared) == vmWrite:
			data += pages
		}
	}
	b.Num("map_count", uint64(len(areas)))
	b.Num("total_vm", total)
	b.Num("exec_vm", exec)
	b.Num("data_vm", data)
	b.Num("stack_vm", stack)
	b.Num("hiwater_vm", total)
	if len(areas) > 0 {
		b.Ptr("mmap", areas[0])
	}
	m.fillAreaTree(b, areas)
	m.fillMapleTree(b, areas)
}

// fillAreas gives an address space its default areas, if none were set.
func (m *Model) fillAreas(b object.Builder) {
	if _, given := m.areas.Lookup(b.Object); given {
		b.Child("exe_file")
		return
	}
	if m.LayoutNamed("vm_area_struct") == nil || m.Mode() != object.ModeDefault {
		b.Child("exe_file")
		b.Child("mmap")
		b.Num("map_count", 0)
		b.Num("total_vm", 0)
		return
	}
	list := m.defaultAreas(b)
	m.made.Set(b.Object, list)
	m.linkAreas(b, list)
}

// exeFile returns the file of an address space's program, which its owner may execute.
func (m *Model) exeFile(b object.Builder) *object.Object {
	exe := b.Child("exe_file")
	if exe == nil {
		return nil
	}
	if d := object.Build(exe).Child("f_path.dentry"); d != nil {
		if inode := object.Build(d).Child("d_inode"); inode != nil {
			object.Build(inode).Num("i_mode", regular|0o111)
		}
	}
	return exe
}

// defaultAreas returns the areas of a small process, in the order of their addresses: its program's
// text and data, the heap, a library and the stack. They are consistent with mm_struct.
func (m *Model) defaultAreas(b object.Builder) []*object.Object {
	num := func(f string) uint64 { return b.Object.Num(f) }
	library := num("mmap_base") - 0x200000 - b.Hash("library")%0x1000<<12
	exe := m.exeFile(b)
	role := b.Role("library")
	lib := m.Kept(role)
	if lib == nil {
		if o, err := m.NewFile(role, FileSpec{Path: "/usr/lib/libc.so.6", Mode: 0o755}); err == nil {
			lib = o
			m.Keep(role, o)
		}
	}
	var list []*object.Object
	for _, a := range []AreaSpec{
		{Start: num("start_code"), End: num("end_code"), Flags: vmRead | vmExec | vmMay, File: exe},
		{Start: num("start_data"), End: num("end_data"), Flags: vmRead | vmWrite | vmMay, PageOffset: (num("start_data") - num("start_code")) >> 12, File: exe},
		{Start: num("start_brk"), End: num("brk"), Flags: vmRead | vmWrite | vmMay},
		{Start: library, End: library + 0x180000, Flags: vmRead | vmExec | vmMay, PageOffset: 0x28, File: lib},
		{Start: num("start_stack")&^(uapi.PageSize-1) - 0x20000, End: (num("env_end") + uapi.PageSize - 1) &^ (uapi.PageSize - 1), Flags: vmRead | vmWrite | vmMay | vmGrowsDown},
	} {
		vma, err := m.Make(fmt.Sprintf("%s.vma[%d]", b.Object.Role(), len(list)), m.LayoutNamed("vm_area_struct"), 1, b.Object)
		if err != nil {
			m.Fail(err)
			break
		}
		vma.MarkBuiltin()
		setArea(object.Build(vma), b.Object, a)
		list = append(list, vma)
	}
	return list
}

// VMAAt returns the memory area of an address space that contains addr, or nil. An address space
// with explicit areas has only those; any other has a one-page area for each mapped page of user
// memory.
func (m *Model) VMAAt(mm *object.Object, addr uint64) (*object.Object, error) {
	addr = m.Mem().Truncate(addr)
	if list, given := m.areas.Lookup(mm); given {
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

// VMAs lists the memory areas of an address space: those set explicitly or, in default mode, those
// of a small process.
func (m *Model) VMAs(mm *object.Object) []*object.Object {
	if list, ok := m.areas.Lookup(mm); ok || m.Mode() != object.ModeDefault {
		return list
	}
	mm.Populate()
	return m.made.Get(mm)
}
