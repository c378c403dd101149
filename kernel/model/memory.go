package model

import (
	"fmt"
	"strconv"

	"github.com/bpfrun/bpfrun/kernel/object"
	"github.com/bpfrun/bpfrun/uapi"
)

// fillMM gives a process its address space: arguments and environment in user memory, text, heap and stack.
func (m *Model) fillMM(b object.Builder) {
	heap, limit := m.UserHeap(), m.UserEnd()
	name := m.taskName(b.Object.Role())
	if t := b.Object.Parent(); t != nil && t.TypeName() == "task_struct" {
		if s, err := t.String("comm"); err == nil && s != "" {
			name = s
		}
	}
	args := "/usr/bin/" + name + "\x00--config\x00/etc/" + name + ".conf\x00"
	env := "HOME=/home/" + name + "\x00PATH=/usr/bin:/bin\x00"
	at := m.UserAboveStack(startRoom, []byte(args+env))
	b.Num("arg_start", at)
	b.Num("arg_end", at+uint64(len(args)))
	b.Num("env_start", at+uint64(len(args)))
	b.Num("env_end", at+uint64(len(args)+len(env)))
	code := heap - 0x400000 + b.Hash("code")%0x1000<<12
	b.Num("start_code", code)
	b.Num("end_code", code+0x40000)
	b.Num("start_data", code+0x80000)
	b.Num("end_data", code+0x90000)
	b.Num("start_brk", heap)
	b.Num("brk", heap+0x21000)
	b.Num("start_stack", at-startRoom)
	b.Num("task_size", limit)
	b.Num("mmap_base", m.UserStack()-0x8000000)
	areas := m.defaultAreas(b)
	b.Num("map_count", uint64(len(areas)))
	b.Num("def_flags", 0)
	b.Num("total_vm", b.Within("total_vm", 2000, 100000))
	b.Num("mm_users.counter", 2)
	b.Num("mm_count.counter", 1)
	b.Ptr("owner", b.Object.Parent())
	if len(areas) > 0 {
		b.Ptr("mmap", areas[0])
		b.Num("highest_vm_end", areas[len(areas)-1].Num("vm_end"))
	}
}

// startRoom is the distance from the start of a stack to the arguments: their number and pointers, and the auxiliary vector (create_elf_tables).
const startRoom = 0x200

// Flags of memory areas (include/linux/mm.h).
const (
	vmRead, vmWrite, vmExec = 1, 2, 4
	vmMay                   = 0x70  // may be made readable, writable, executable
	vmGrowsDown             = 0x100 // VM_GROWSDOWN
)

// defaultAreas returns the areas of a small process, in the order of their addresses: its program's text and data, the
// heap, a library and the stack. They are consistent with mm_struct.
func (m *Model) defaultAreas(b object.Builder) []*object.Object {
	if m.LayoutNamed("vm_area_struct") == nil || m.Mode() != object.ModeDefault {
		b.Child("exe_file")
		b.Child("mmap")
		return nil
	}
	num := func(f string) uint64 { return b.Object.Num(f) }
	library := num("mmap_base") - 0x200000 - b.Hash("library")%0x1000<<12
	exe := b.Child("exe_file")
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
		v := object.Build(vma)
		v.Num("vm_start", a.Start)
		v.Num("vm_end", a.End)
		v.Num("vm_flags|__vm_flags", a.Flags)
		v.Num("vm_pgoff", a.PageOffset)
		v.Ptr("vm_mm", b.Object)
		v.Null("vm_file vm_next vm_prev vm_ops vm_private_data anon_vma anon_name")
		v.Ptr("vm_file", a.File)
		if n := len(list); n > 0 {
			v.Ptr("vm_prev", list[n-1])
			object.Build(list[n-1]).Ptr("vm_next", vma)
		}
		list = append(list, vma)
	}
	m.made[b.Object] = list
	return list
}

// fillVMA gives a mapping of a file its range.
func (m *Model) fillVMA(b object.Builder) {
	start := uint64(0x7f00_0000_0000)
	if m.Mem().PointerSize() == 4 {
		start = 0x7600_0000
	}
	start += b.Hash("start") % 0x8000 << 12
	b.Num("vm_start", start)
	b.Num("vm_end", start+b.Within("pages", 1, 64)<<12)
	b.Num("vm_pgoff", b.Within("pgoff", 0, 16))
	b.Num("vm_flags", 0x75) // VM_READ, VM_EXEC, VM_MAYREAD, VM_MAYWRITE, VM_MAYEXEC
	if p := b.Object.Parent(); p != nil && p.TypeName() == "mm_struct" {
		b.Ptr("vm_mm", p)
	}
	b.Child("vm_file")
	b.Null("vm_next vm_prev vm_private_data anon_vma anon_name")
}

// namespaceInode returns the inode number of a namespace: those that the kernel itself creates start at 4026531834.
func (m *Model) namespaceInode(typ string) uint64 {
	switch typ {
	case "ipc_namespace":
		return 0xefffffff
	case "uts_namespace":
		return 0xeffffffe
	case "user_namespace":
		return 0xeffffffd
	case "pid_namespace":
		return 0xeffffffc
	case "cgroup_namespace":
		return 0xeffffffb
	case "time_namespace":
		return 0xeffffffa
	}
	return 0xf0000000 + m.Hash(typ, "inum")%4096
}

// fillNsproxy sets the namespaces of a process: network, pid and user namespaces are the initial ones.
func (m *Model) fillNsproxy(b object.Builder) {
	for _, f := range [...]string{"uts_ns", "ipc_ns", "mnt_ns", "pid_ns_for_children", "net_ns", "cgroup_ns", "time_ns", "time_ns_for_children"} {
		b.Child(f)
	}
}

// fillNamespace sets the number of a namespace, and the names in a UTS namespace.
func (m *Model) fillNamespace(b object.Builder) {
	typ := b.Object.TypeName()
	ino := m.namespaceInode(typ)
	if typ == "mnt_namespace" || typ == "net" {
		ino = m.namespaceInode(typ)
	}
	b.Num("ns.inum", ino)
	b.Num("proc_inum", ino)
	b.Ptr("user_ns|owner", m.Named("init_user_ns", "user_namespace"))
	switch typ {
	case "pid_namespace":
		b.Num("level", 0)
		b.Null("parent")
		b.Ptr("child_reaper", m.InitTask())
	case "user_namespace":
		b.Num("level", 0)
		b.Null("parent")
	case "net":
		b.Num("net_cookie|net_cookie.counter", 1)
		b.Child("loopback_dev")
	case "mnt_namespace":
		b.Child("root")
	case "uts_namespace":
		v := m.Version()
		release := strconv.FormatUint(uint64(v>>16), 10) + "." + strconv.FormatUint(uint64(v>>8&0xff), 10) + "." + strconv.FormatUint(uint64(v&0xff), 10)
		machine := map[string]string{"x86": "x86_64", "arm64": "aarch64", "riscv": "riscv64", "arm": "armv7l", "s390": "s390x"}[m.Arch()]
		b.Text("name.sysname", "Linux")
		b.Text("name.nodename", b.Word("host"))
		b.Text("name.release", release)
		b.Text("name.version", "#1 SMP")
		b.Text("name.machine", machine)
		b.Text("name.domainname", "(none)")
	}
}
