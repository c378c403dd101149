package model

import (
	"cmp"
	"strconv"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
)

// namespaceInode returns the inode number of a namespace: those that the kernel itself creates
// start at 4026531834.
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

// fillNsproxy sets the namespaces of a process: network, pid and user namespaces are the initial
// ones.
func (m *Model) fillNsproxy(b object.Builder) {
	for _, f := range [...]string{"uts_ns", "ipc_ns", "mnt_ns", "pid_ns_for_children", "net_ns", "cgroup_ns", "time_ns"} {
		b.Child(f)
	}
	if f, ok := b.Field("time_ns"); ok {
		b.Num("time_ns_for_children", b.Object.LoadField(f))
	}
}

// SetRelease sets the release that uname(2) gives, before anything asks for it; else it is made of
// the version's numbers.
func (m *Model) SetRelease(release string) { m.release = release }

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
		for _, ids := range [...]string{"uid_map", "gid_map", "projid_map"} { // init_user_ns maps all ids to themselves
			b.Num(ids+".nr_extents", 1)
			b.Num(ids+".extent[0].first", 0)
			b.Num(ids+".extent[0].lower_first", 0)
			b.Num(ids+".extent[0].count", 1<<32-1)
		}
	case "net":
		b.Num("net_cookie|net_cookie.counter", 1)
		b.Child("loopback_dev")
	case "mnt_namespace":
		m.fillMountNamespace(b)
	case "uts_namespace":
		v := m.Version()
		release := cmp.Or(m.release, strconv.FormatUint(uint64(v>>16), 10)+"."+strconv.FormatUint(uint64(v>>8&0xff), 10)+"."+strconv.FormatUint(uint64(v&0xff), 10))
		machine := map[string]string{"x86": "x86_64", "arm64": "aarch64", "riscv": "riscv64", "arm": "armv7l", "s390": "s390x"}[m.Arch()]
		b.Text("name.sysname", "Linux")
		b.Text("name.nodename", b.Word("host"))
		b.Text("name.release", release)
		b.Text("name.version", "#1 SMP")
		b.Text("name.machine", machine)
		b.Text("name.domainname", "(none)")
	}
}
