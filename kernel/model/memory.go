package model

import (
	"strconv"

	"github.com/bpfrun/bpfrun/kernel/object"
)

// fillMM gives a process its address space: arguments and environment in user memory, text, heap and stack.
func (m *Model) fillMM(b object.Builder) {
	heap, stack, limit := m.UserHeap(), m.UserStack(), m.UserEnd()
	name := m.taskName(b.Object.Role())
	if t := b.Object.Parent(); t != nil && t.TypeName() == "task_struct" {
		if s, err := t.String("comm"); err == nil && s != "" {
			name = s
		}
	}
	args := "/usr/bin/" + name + "\x00--config\x00/etc/" + name + ".conf\x00"
	env := "HOME=/home/" + name + "\x00PATH=/usr/bin:/bin\x00"
	at := m.UserAlloc([]byte(args + env))
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
	b.Num("start_stack", stack)
	b.Num("task_size", limit)
	b.Num("mmap_base", limit-0x10000000)
	b.Num("map_count", b.Within("maps", 20, 200))
	b.Num("total_vm", b.Within("total_vm", 2000, 100000))
	b.Num("mm_users.counter", 2)
	b.Num("mm_count.counter", 1)
	b.Ptr("owner", b.Object.Parent())
	b.Child("exe_file")
	b.Child("mmap")
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
	return 0xf0000000 + m.Hash(typ, "inum")%4096
}

// fillNsproxy makes the namespaces of a process: network, pid and user namespaces are the initial ones.
func (m *Model) fillNsproxy(b object.Builder) {
	for _, f := range [...]string{"uts_ns", "ipc_ns", "mnt_ns", "pid_ns_for_children", "net_ns", "cgroup_ns", "time_ns", "time_ns_for_children"} {
		b.Child(f)
	}
}

// fillNamespace numbers a namespace and gives a UTS namespace its names.
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
