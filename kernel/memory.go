package kernel

import "strconv"

// fillMM gives a process its address space: arguments and environment in user memory, text, heap and stack.
func (m *Model) fillMM(b builder) {
	heap, stack, limit := uint64(userHeap64), uint64(userStack64), uint64(userEnd64)
	if m.mem.PointerSize() == 4 {
		heap, stack, limit = userHeap32, userStack32, userEnd32
	}
	name := m.taskName(b.o.role)
	if t := b.o.parent; t != nil && t.TypeName() == "task_struct" {
		if s, err := t.String("comm"); err == nil && s != "" {
			name = s
		}
	}
	args := "/usr/bin/" + name + "\x00--config\x00/etc/" + name + ".conf\x00"
	env := "HOME=/home/" + name + "\x00PATH=/usr/bin:/bin\x00"
	at := m.UserAlloc([]byte(args + env))
	b.num("arg_start", at)
	b.num("arg_end", at+uint64(len(args)))
	b.num("env_start", at+uint64(len(args)))
	b.num("env_end", at+uint64(len(args)+len(env)))
	code := heap - 0x400000 + b.hash("code")%0x1000<<12
	b.num("start_code", code)
	b.num("end_code", code+0x40000)
	b.num("start_data", code+0x80000)
	b.num("end_data", code+0x90000)
	b.num("start_brk", heap)
	b.num("brk", heap+0x21000)
	b.num("start_stack", stack)
	b.num("task_size", limit)
	b.num("mmap_base", limit-0x10000000)
	b.num("map_count", b.within("maps", 20, 200))
	b.num("total_vm", b.within("total_vm", 2000, 100000))
	b.num("mm_users.counter", 2)
	b.num("mm_count.counter", 1)
	b.ptr("owner", b.o.parent)
	b.child("exe_file")
	b.child("mmap")
}

// fillVMA gives a mapping of a file its range.
func (m *Model) fillVMA(b builder) {
	start := uint64(0x7f00_0000_0000)
	if m.mem.PointerSize() == 4 {
		start = 0x7600_0000
	}
	start += b.hash("start") % 0x8000 << 12
	b.num("vm_start", start)
	b.num("vm_end", start+b.within("pages", 1, 64)<<12)
	b.num("vm_pgoff", b.within("pgoff", 0, 16))
	b.num("vm_flags", 0x75) // VM_READ, VM_EXEC, VM_MAYREAD, VM_MAYWRITE, VM_MAYEXEC
	if p := b.o.parent; p != nil && p.TypeName() == "mm_struct" {
		b.ptr("vm_mm", p)
	}
	b.child("vm_file")
	b.null("vm_next vm_prev vm_private_data anon_vma anon_name")
}

// namespaceInode is the inode number of a namespace: those the kernel makes itself start at 4026531834.
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
	return 0xf0000000 + m.hash(typ, "inum")%4096
}

// fillNsproxy makes the namespaces of a process: network, pid and user namespaces are the initial ones.
func (m *Model) fillNsproxy(b builder) {
	for _, f := range [...]string{"uts_ns", "ipc_ns", "mnt_ns", "pid_ns_for_children", "net_ns", "cgroup_ns", "time_ns", "time_ns_for_children"} {
		b.child(f)
	}
}

// fillNamespace numbers a namespace and gives a UTS namespace its names.
func (m *Model) fillNamespace(b builder) {
	typ := b.o.TypeName()
	ino := m.namespaceInode(typ)
	if typ == "mnt_namespace" || typ == "net" {
		ino = m.namespaceInode(typ)
	}
	b.num("ns.inum", ino)
	b.num("proc_inum", ino)
	b.ptr("user_ns|owner", m.namedObject("init_user_ns", "user_namespace"))
	switch typ {
	case "pid_namespace":
		b.num("level", 0)
		b.null("parent")
		b.ptr("child_reaper", m.initTask())
	case "user_namespace":
		b.num("level", 0)
		b.null("parent")
	case "net":
		b.num("net_cookie|net_cookie.counter", 1)
		b.child("loopback_dev")
	case "mnt_namespace":
		b.child("root")
	case "uts_namespace":
		v := m.version
		release := strconv.FormatUint(uint64(v>>16), 10) + "." + strconv.FormatUint(uint64(v>>8&0xff), 10) + "." + strconv.FormatUint(uint64(v&0xff), 10)
		machine := map[string]string{"x86": "x86_64", "arm64": "aarch64", "riscv": "riscv64", "arm": "armv7l", "s390": "s390x"}[m.arch]
		b.text("name.sysname", "Linux")
		b.text("name.nodename", b.word("host"))
		b.text("name.release", release)
		b.text("name.version", "#1 SMP")
		b.text("name.machine", machine)
		b.text("name.domainname", "(none)")
	}
}
