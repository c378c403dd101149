package kernel

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/mem"
)

// taskValues reads fields of the current task in a given order.
func taskValues(t *testing.T, k *Kernel, order []string) map[string]uint64 {
	t.Helper()
	out := map[string]uint64{}
	for _, p := range order {
		if k.Current().Has(p) {
			out[p] = uintAt(t, k.Current(), p)
		}
	}
	return out
}

var taskPaths = []string{"pid", "tgid", "real_parent.tgid", "cred.uid.val", "cred.egid.val", "start_time", "se.vruntime", "nvcsw", "signal.tty.index", "thread_pid.numbers[0].nr", "mm.total_vm", "fs.pwd.dentry.d_inode.i_ino", "cgroups.dfl_cgrp.kn.id", "acct_rss_mem1"}

func TestDefaultsFollowSeed(t *testing.T) {
	onTargets(t, func(t *testing.T, b targetBTF) {
		reverse := make([]string, len(taskPaths))
		for i, p := range taskPaths {
			reverse[len(taskPaths)-1-i] = p
		}
		first := taskValues(t, newKernel(t, b), taskPaths)
		assert.Equal(t, first, taskValues(t, newKernel(t, b), reverse), "values depend on the order of reads")
		other := taskValues(t, newKernel(t, b, func(c *Config) { c.Seed = 2 }), taskPaths)
		differ := 0
		for p, v := range first {
			if other[p] != v {
				differ++
			}
		}
		assert.GreaterOrEqual(t, differ, len(first)*3/4, "values hardly depend on the seed: %v %v", first, other)
	})
}

// TestDefaultsAgreeBetweenKernels: the same field has the same value on every kernel, so that a
// matrix shows differences of programs, not of the simulation.
func TestDefaultsAgreeBetweenKernels(t *testing.T) {
	want := map[string]uint64{}
	for _, b := range targets() {
		for p, v := range taskValues(t, newKernel(t, b), []string{"pid", "tgid", "real_parent.tgid", "cred.uid.val", "start_time", "nsproxy.net_ns.ns.inum", "cgroups.dfl_cgrp.kn.id", "fs.pwd.dentry.d_inode.i_ino"}) {
			if old, ok := want[p]; ok {
				assert.Equal(t, old, v, "%s on %s", p, b.name)
			}
			want[p] = v
		}
	}
}

func TestCurrentAgreesWithHelpers(t *testing.T) {
	onTargets(t, func(t *testing.T, b targetBTF) {
		k := newKernel(t, b)
		o := k.Current()
		pid, tgid := k.PidTgid()
		uid, gid := k.UidGid()
		comm, err := o.String("comm")
		require.NoError(t, err)
		assert.EqualValues(t, uintAt(t, o, "pid"), pid)
		assert.EqualValues(t, uintAt(t, o, "tgid"), tgid)
		assert.EqualValues(t, uintAt(t, o, "cred.uid.val"), uid)
		assert.EqualValues(t, uintAt(t, o, "real_cred.gid.val"), gid)
		assert.Equal(t, comm, k.Comm())
		assert.NotEmpty(t, comm)
		assert.Equal(t, uintAt(t, o, "cgroups.dfl_cgrp.kn.id"), k.CgroupID())
		assert.EqualValues(t, 1, k.AncestorCgroupID(0))
		assert.Equal(t, k.CgroupID(), k.AncestorCgroupID(2))
		assert.Zero(t, k.AncestorCgroupID(3))
		assert.Zero(t, k.AncestorCgroupID(-1))
		_, ino := k.PidNamespace()
		assert.Equal(t, uintAt(t, o, "nsproxy.pid_ns_for_children.ns.inum"), ino)
		// The ids of current and its family are different numbers.
		assert.Equal(t, pid, tgid, "a process, not one of its threads")
		assert.Equal(t, o.Addr(), uintAt(t, o, "group_leader"))
		ids := []uint64{uint64(pid), uintAt(t, o, "real_parent.tgid"), uintAt(t, o, "real_parent.real_parent.pid")}
		for i, a := range ids {
			for _, c := range ids[:i] {
				assert.NotEqual(t, a, c, "%v", ids)
			}
		}
		assert.EqualValues(t, tgid, uintAt(t, o, "group_leader.pid"))
		assert.EqualValues(t, pid, uintAt(t, o, "thread_pid.numbers[0].nr"))
		seen := map[uint64]string{}
		for _, f := range []string{"uid", "euid", "suid", "fsuid", "gid", "egid", "sgid", "fsgid"} {
			v := uintAt(t, o, "cred."+f+".val")
			assert.Empty(t, seen[v], f)
			seen[v] = f
		}
		// The user changes the task, the helpers follow.
		require.NoError(t, o.Set("pid", 77))
		require.NoError(t, o.Set("comm", "renamed"))
		require.NoError(t, o.Set("cred.uid.val", 0))
		pid, _ = k.PidTgid()
		uid, _ = k.UidGid()
		assert.EqualValues(t, 77, pid)
		assert.Zero(t, uid)
		assert.Equal(t, "renamed", k.Comm())
		require.NoError(t, k.Err())
	})
}

func TestFamilyEndsAtIdleTask(t *testing.T) {
	onTargets(t, func(t *testing.T, b targetBTF) {
		k := newKernel(t, b)
		o := k.Current()
		for range 20 {
			p, err := o.Pointee("real_parent")
			require.NoError(t, err)
			require.NotNil(t, p)
			if p == o {
				break
			}
			o = p
		}
		assert.EqualValues(t, 0, uintAt(t, o, "pid"))
		assert.Equal(t, o.Addr(), uintAt(t, o, "real_parent"))
	})
}

func TestDentriesEndAtRoot(t *testing.T) {
	onTargets(t, func(t *testing.T, b targetBTF) {
		k := newKernel(t, b)
		f, err := k.NewObjectNamed("file", "file")
		require.NoError(t, err)
		d, err := f.Pointee("f_path.dentry")
		require.NoError(t, err)
		require.NotNil(t, d)
		var names []string
		for range 20 {
			s, err := d.String("d_name.name")
			require.NoError(t, err)
			names = append(names, s)
			assert.EqualValues(t, len(s), uintAt(t, d, "d_name.len"))
			p, err := d.Pointee("d_parent")
			require.NoError(t, err)
			if p == d {
				break
			}
			d = p
		}
		assert.Len(t, names, 4)
		assert.Equal(t, "/", names[3])
		ino, err := f.Pointee("f_inode")
		require.NoError(t, err)
		assert.Equal(t, uintAt(t, f, "f_path.dentry.d_inode.i_ino"), uintAt(t, ino, "i_ino"))
		assert.EqualValues(t, 0o100644, uintAt(t, ino, "i_mode"))
		assert.EqualValues(t, 8<<20|1, uintAt(t, ino, "i_sb.s_dev"))
	})
}

// TestChainsEnd follows every pointer of its own type from the first object until NULL or a loop.
func TestChainsEnd(t *testing.T) {
	k := newEmbedded(t)
	for _, c := range []struct{ typ, next string }{
		{"task_struct", "sched_class"}, {"task_struct", "last_wakee"}, {"vm_area_struct", "vm_private_data"}, {"net_device", "ip_ptr"},
		{"module", "modinfo_attrs"}, {"sk_buff", "next"}, {"file_system_type", "next"}, {"bio", "bi_next"}, {"super_block", "s_fs_info"}, {"irqaction", "next"}, {"cred", "ucounts"}, {"page", "lru.next"},
	} {
		o, err := k.NewObjectNamed("o", c.typ)
		require.NoError(t, err)
		if !o.Has(c.next) {
			continue
		}
		steps := 0
		for at := o; at != nil && steps <= object.MaxDepth+1; steps++ {
			next, err := at.Pointee(c.next)
			if err != nil || next == at {
				break
			}
			at = next
		}
		assert.LessOrEqual(t, steps, object.MaxDepth, "%s.%s", c.typ, c.next)
	}
}

func TestListsAreEmpty(t *testing.T) {
	onTargets(t, func(t *testing.T, tb targetBTF) {
		k := newKernel(t, tb)
		o := k.Current()
		f, err := tb.spec.ResolvePath(o.Type(), "children")
		require.NoError(t, err)
		head := o.Addr() + uint64(f.BitOffset/8)
		assert.Equal(t, head, uintAt(t, o, "children.next"))
		assert.Equal(t, head, uintAt(t, o, "children.prev"))
		b, err := o.GetBytes("pi_lock")
		require.NoError(t, err)
		assert.Equal(t, make([]byte, len(b)), b, "locks are free")
	})
}

func TestEnumsAreValid(t *testing.T) {
	k := newEmbedded(t)
	spec := k.BTF()
	n := 0
	for id := btf.ID(1); int(id) < spec.NumTypes() && n < 300; id++ {
		if kind := spec.Kind(id); kind != btf.KindEnum && kind != btf.KindEnum64 {
			continue
		}
		e := spec.MustType(id)
		if len(e.Values) == 0 {
			continue
		}
		n++
		v := k.DefaultScalar(fmt.Sprint("role", id), "x", spec, id, 0)
		if e.Size < 8 && e.Signed() {
			v = hook.SignExtend(v, e)
		}
		_, ok := e.ValueName(v)
		assert.True(t, ok, "enum %s has no %d", e.Name, int64(v))
	}
	assert.Equal(t, 300, n)
}

func TestScenarioMode(t *testing.T) {
	k := newEmbedded(t, func(c *Config) { c.Mode = object.ModeScenario })
	o, err := k.NewObjectNamed("sh", "task_struct")
	require.NoError(t, err)
	require.NoError(t, o.Set("cred.uid.val", 1000))
	var last object.Access
	k.SetSink(func(a *object.Access) { last = *a })
	f, err := k.BTF().ResolvePath(o.Type(), "exit_code")
	require.NoError(t, err)
	v, fault := k.Mem().Load(o.Addr()+uint64(f.BitOffset/8), 4)
	require.Nil(t, fault)
	assert.Zero(t, v)
	assert.False(t, last.Set)
	assert.False(t, last.Default)
	assert.Equal(t, "exit_code", last.Path)
	assert.EqualValues(t, 1000, uintAt(t, o, "cred.uid.val"))
	assert.Zero(t, uintAt(t, o, "real_parent"))
	// The machine's own current task still has an identity.
	pid, tgid := k.PidTgid()
	assert.NotZero(t, pid)
	assert.NotZero(t, tgid)
}

func TestStrictMode(t *testing.T) {
	k := newEmbedded(t, func(c *Config) { c.Mode = object.ModeStrict })
	o, err := k.NewObjectNamed("sh", "task_struct")
	require.NoError(t, err)
	require.NoError(t, o.Set("pid", 5))
	f, err := k.BTF().ResolvePath(o.Type(), "pid")
	require.NoError(t, err)
	v, fault := k.Mem().Load(o.Addr()+uint64(f.BitOffset/8), 4)
	require.Nil(t, fault)
	assert.EqualValues(t, 5, v)
	_, fault = k.Mem().Load(o.Addr()+uint64(f.BitOffset/8)+4, 4)
	require.NotNil(t, fault)
	assert.Equal(t, mem.NeverSet, fault.Kind)
	assert.Contains(t, fault.Error(), "tgid")
}

// TestEveryFieldReads reads whole objects of the types programs walk, on every kernel.
func TestEveryFieldReads(t *testing.T) {
	onTargets(t, func(t *testing.T, b targetBTF) {
		k := newKernel(t, b)
		for _, typ := range []string{"task_struct", "cred", "mm_struct", "vm_area_struct", "signal_struct", "nsproxy", "net", "file", "path", "dentry", "inode", "super_block", "mount", "vfsmount",
			"sock", "inet_sock", "tcp_sock", "socket", "sk_buff", "net_device", "msghdr", "request", "request_queue", "gendisk", "block_device", "bio", "cgroup", "kernfs_node", "css_set", "linux_binprm",
			"filename", "oom_control", "rq", "irqaction", "module", "page", "pid", "pid_namespace", "perf_event", "bpf_map", "bpf_prog", "kernel_siginfo", "trace_event_call", "work_struct", "iov_iter", "pipe_inode_info"} {
			o, err := k.NewObjectNamed("x "+typ, typ)
			if err != nil {
				continue // not in this kernel
			}
			p := make([]byte, o.Size())
			fault := k.Mem().Read(o.Addr(), p)
			require.Nil(t, fault, "%s: %v", typ, fault)
		}
		require.NoError(t, k.Err())
		assert.Less(t, len(k.Objects()), 6000)
	})
}

// TestSetInScenario: what is set on the machine's own task leaves the rest of it in place.
func TestSetInScenario(t *testing.T) {
	k := newEmbedded(t, func(c *Config) { c.Mode = object.ModeScenario })
	require.NoError(t, k.Current().Set("cred.uid.val", 5))
	uid, gid := k.UidGid()
	assert.EqualValues(t, 5, uid)
	assert.NotZero(t, gid)
	assert.NotZero(t, uintAt(t, k.Current(), "cred.euid.val"))
}
