package window

import (
	"slices"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
)

// global is a variable that kernels have and that BTF does not list, with its type, for ksyms and
// the list of symbols.
type global struct {
	name string
	typ  string // struct, union or typedef; u64, int, or ulong for one of the target's width
	n    string // elements of an array: a number, ENUM.ENUMERATOR that counts them, or "cpus"
	has  string // a function that the file or module of the variable has: without it, there is none
}

// globals are sorted by name. kernel/sched/loadavg.c has avenrun, mm/vmstat.c the vm_*_stat.
var globals = [...]global{
	{name: "__per_cpu_offset", typ: "ulong", n: "cpus"},
	{name: "_totalram_pages", typ: "atomic_long_t"},
	{name: "avenrun", typ: "ulong", n: "3"},
	{name: "btrfs_file_operations", typ: "file_operations", has: "btrfs_file_open"},
	{name: "cgrp_dfl_root", typ: "cgroup_root", has: "cgroup_attach_task"},
	{name: "ext4_dir_operations", typ: "file_operations", has: "ext4_readdir"},
	{name: "ext4_file_operations", typ: "file_operations", has: "ext4_file_open"},
	{name: "init_cgroup_ns", typ: "cgroup_namespace"},
	{name: "init_cred", typ: "cred"},
	{name: "init_css_set", typ: "css_set"},
	{name: "init_fs", typ: "fs_struct"},
	{name: "init_ipc_ns", typ: "ipc_namespace"},
	{name: "init_mm", typ: "mm_struct"},
	{name: "init_net", typ: "net"},
	{name: "init_pid_ns", typ: "pid_namespace"},
	{name: "init_task", typ: "task_struct"},
	{name: "init_user_ns", typ: "user_namespace"},
	{name: "init_uts_ns", typ: "uts_namespace"},
	{name: "jiffies", typ: "u64"},
	{name: "jiffies_64", typ: "u64"},
	{name: "loopback_dev", typ: "net_device"},
	{name: "nfs4_file_operations", typ: "file_operations", has: "nfs4_file_open"},
	{name: "nfs_file_operations", typ: "file_operations", has: "nfs_file_open"},
	{name: "nr_cpu_ids", typ: "int"},
	{name: "nr_threads", typ: "int"},
	{name: "root_mem_cgroup", typ: "mem_cgroup"},
	{name: "root_task_group", typ: "task_group"},
	{name: "tcp_hashinfo", typ: "inet_hashinfo"},
	{name: "tcp_prot", typ: "proto", has: "tcp_sendmsg"},
	{name: "tcpv6_prot", typ: "proto", has: "tcp_v6_connect"},
	{name: "total_forks", typ: "ulong"},
	{name: "udp_prot", typ: "proto", has: "udp_sendmsg"},
	{name: "udpv6_prot", typ: "proto", has: "udpv6_sendmsg"},
	{name: "vm_node_stat", typ: "atomic_long_t", n: "node_stat_item.NR_VM_NODE_STAT_ITEMS"},
	{name: "vm_numa_event", typ: "atomic_long_t", n: "numa_stat_item.NR_VM_NUMA_EVENT_ITEMS"},
	{name: "vm_zone_stat", typ: "atomic_long_t", n: "zone_stat_item.NR_VM_ZONE_STAT_ITEMS"},
	{name: "xfs_file_operations", typ: "file_operations", has: "xfs_file_open"},
}

// globalNamed returns the row of a variable that BTF does not list, or nil if the kernel has none.
func (s *Symbols) globalNamed(name string) *global {
	i, ok := slices.BinarySearchFunc(globals[:], name, func(g global, name string) int { return strings.Compare(g.name, name) })
	if !ok || s.BTF() == nil || globals[i].has != "" && !s.hasFunction(globals[i].has) {
		return nil
	}
	return &globals[i]
}

// hasFunction reports whether the kernel or one of its modules has a function.
func (s *Symbols) hasFunction(name string) bool {
	has := func(spec *btf.Spec) bool { return len(spec.IDs(btf.KindFunc, name)) > 0 }
	return has(s.BTF()) || slices.ContainsFunc(s.Modules(), has)
}

// isVariable reports whether an object is a global variable, and not one of the shared objects
// without a symbol.
func (s *Symbols) isVariable(o *object.Object) bool {
	if s.Kept(o.Role()) != o {
		return false
	}
	return s.globalNamed(o.Role()) != nil || len(s.BTF().IDs(btf.KindVar, o.Role())) > 0
}

// DataSymbol is a variable in the list of symbols.
type DataSymbol struct {
	Name   string
	Addr   uint64
	PerCPU bool
}

// DataSymbols returns the kernel's variables, of BTF and those that every kernel has, by name.
func (s *Symbols) DataSymbols() (out []DataSymbol) {
	if s.BTF() == nil {
		return nil
	}
	var names []string
	for i := range globals {
		names = append(names, globals[i].name)
	}
	for id := s.BTF().FirstID(); int(id) < s.BTF().NumTypes(); id++ {
		if s.BTF().Kind(id) == btf.KindVar {
			names = append(names, s.BTF().Name(id))
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if a, ok := s.percpu.addrOf(name); ok {
			out = append(out, DataSymbol{name, a, true})
		} else if o := s.Variable(name); o != nil {
			out = append(out, DataSymbol{name, o.Addr(), false})
		}
	}
	return out
}

// Variable returns the object of a kernel variable, a VAR in the BTF or one that every kernel has,
// or nil. Per-CPU variables have one object per CPU, see [Symbols.PercpuObject].
func (s *Symbols) Variable(name string) *object.Object {
	if o := s.Kept(name); o != nil {
		return o
	}
	l := (*object.Layout)(nil)
	count := uint64(1)
	if s.BTF() != nil {
		if t, ok := s.BTF().Find(btf.KindVar, name); ok {
			if _, per := s.percpu.find(name); per {
				return nil
			}
			l = s.Types().Of(s.BTF(), t.Ref)
		}
	}
	if g := s.globalNamed(name); l == nil && g != nil {
		l, count = s.typeOf(g)
	}
	if l == nil || l.Size == 0 || count == 0 {
		return nil
	}
	o, err := s.Make(name, l, count, nil)
	if err != nil {
		s.Fail(err)
		return nil
	}
	s.Keep(name, o)
	s.fillVariable(o, name)
	return o
}

// maxElements limits the elements of a variable, whose number BTF may say.
const maxElements = 4096

// typeOf returns the type of a variable's elements, and how many it has.
func (s *Symbols) typeOf(g *global) (l *object.Layout, count uint64) {
	switch count = 1; g.n {
	case "":
	case "cpus":
		count = uint64(s.CPUs())
	default:
		n, err := strconv.ParseUint(g.n, 10, 64)
		if err != nil {
			enum, enumerator, _ := strings.Cut(g.n, ".")
			n, _ = s.BTF().EnumValue(enum, enumerator)
		}
		count = min(n, maxElements)
	}
	switch g.typ {
	case "u64":
		return s.integer(8, "long long unsigned int", "unsigned long long", "long unsigned int"), count
	case "ulong":
		return s.integer(uint64(s.Mem().PointerSize()), "long unsigned int", "unsigned long"), count
	case "int":
		return s.integer(4, "unsigned int"), count
	}
	return s.LayoutNamed(g.typ), count
}

// integer returns the layout of the first of the integers with these names that has a size.
func (s *Symbols) integer(size uint64, names ...string) *object.Layout {
	for _, n := range names {
		for _, id := range s.BTF().IDs(btf.KindInt, n) {
			if l := s.Types().Of(s.BTF(), id); l != nil && l.Size == size {
				return l
			}
		}
	}
	return nil
}

// fillVariable sets variables whose values follow from the machine, and those of which the defaults
// of their types say nothing.
func (s *Symbols) fillVariable(o *object.Object, name string) {
	var b [8]byte
	put := func(i int, v uint64) {
		n := min(o.Storage().Size, 8)
		endian.PutUint(s.Order(), b[:n], v)
		o.Poke(uint64(i)*n, b[:n], object.Given)
	}
	switch name {
	case "jiffies", "jiffies_64":
		put(0, s.clock.Jiffies())
	case "nr_cpu_ids":
		put(0, uint64(s.CPUs()))
	case "avenrun": // in units of 1 / 2048: at most as many tasks as processors
		for i := range int(o.Count()) {
			put(i, s.Hash(name, strconv.Itoa(i))%uint64(2048*s.CPUs()))
		}
	case "__per_cpu_offset":
		if o.Storage().Type.Kind == btf.KindArray {
			return
		}
		for cpu := range s.CPUs() {
			put(cpu, s.percpu.offset(cpu))
		}
	default:
		if prefix, ok := strings.CutSuffix(name, "file_operations"); ok {
			s.fillOperations(o, prefix)
		}
	}
}

// fillOperations sets the members of a table of functions to those that are called PREFIXmember;
// others keep the default of their type.
func (s *Symbols) fillOperations(o *object.Object, prefix string) {
	l := o.Layout()
	if l == nil {
		return
	}
	for i := range l.Type.Members {
		name := l.Type.Members[i].Name
		if a, ok := s.KsymAddr(prefix + "file_" + name); name != "" && ok {
			_ = o.SetUint(name, a)
		}
	}
}
