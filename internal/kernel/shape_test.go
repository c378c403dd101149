package kernel

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// shapes lists what holds of each kind of default object on a real system, read as programs do: by
// addresses and types alone. A check gets the running task and asks the target's types which form a
// release has.
var shapes = []struct {
	object string
	check  func(t *testing.T, k *Kernel, task view)
}{
	{"task_struct: family", taskFamily},
	{"task_struct: lists of tasks and threads", taskLists},
	{"task_struct: scheduling", taskScheduling},
	{"pid, pid_namespace", pidShape},
	{"signal_struct, sighand_struct", signalShape},
	{"cred, user_namespace, user_struct", credShape},
	{"nsproxy", nsproxyShape},
	{"files_struct, fdtable", filesShape},
	{"fs_struct, path", fsShape},
	{"file", fileShape},
	{"dentry", dentryShape},
	{"inode", inodeShape},
	{"super_block, file_system_type", superShape},
	{"mount, mnt_namespace", mountShape},
	{"mm_struct: areas", areaShape},
	{"mm_struct: maple tree", mapleShape},
	{"mm_struct: list and tree before 6.1", areaListShape},
	{"cgroup, kernfs_node", cgroupShape},
	{"css_set", cssSetShape},
	{"net: devices", netShape},
}

func TestDefaultObjectsAgreeAsBytes(t *testing.T) {
	onTargets(t, func(t *testing.T, b targetBTF) {
		for _, s := range shapes {
			t.Run(s.object, func(t *testing.T) {
				k := newKernel(t, b, func(c *Config) { c.Version = b.version() })
				s.check(t, k, viewOf(t, k, "task_struct", k.Current().Addr()))
				require.NoError(t, k.Err())
			})
		}
	})
}

// version returns the release that a target's name contains.
func (b targetBTF) version() uint32 {
	var major, minor uint32
	if _, err := fmt.Sscanf(b.name, "linux-%d.%d", &major, &minor); err != nil {
		return 0
	}
	return major<<16 | minor<<8
}

// initTask walks from a task to the idle task.
func initTask(t *testing.T, task view) view {
	t.Helper()
	for range 8 {
		up := task.ptr("real_parent")
		if up.addr == task.addr {
			return task
		}
		task = up
	}
	t.Fatal("the family does not end")
	return view{}
}

func taskFamily(t *testing.T, _ *Kernel, task view) {
	for range 8 {
		up := task.ptr("real_parent")
		assert.Equal(t, up.addr, task.num("parent"))
		leader := task.ptr("group_leader")
		assert.Equal(t, task.num("tgid"), leader.num("pid"))
		if task.addr == up.addr {
			assert.Zero(t, task.num("pid"))
			assert.Zero(t, task.num("mm"), "the idle task is a kernel thread")
			assert.NotZero(t, task.num("flags")&0x200000, "PF_KTHREAD")
			return
		}
		assert.Contains(t, addrs(up.list("children", "task_struct", "sibling")), task.addr)
		assert.NotZero(t, task.num("mm"))
		assert.Zero(t, task.num("flags")&0x200000, "PF_KTHREAD")
		task = up
	}
	t.Error("the family does not end")
}

func taskLists(t *testing.T, k *Kernel, task view) {
	idle := initTask(t, task)
	all := idle.list("tasks", "task_struct", "tasks")
	assert.Contains(t, addrs(all), task.addr)
	assert.Contains(t, addrs(all), task.num("real_parent"))
	seen := map[uint64]bool{}
	for _, p := range append(all, idle) {
		assert.Equal(t, p.num("pid"), p.num("tgid"), "the list has processes")
		assert.False(t, seen[p.num("pid")], "one task for each pid")
		seen[p.num("pid")] = true
		threads := p.ptr("signal").list("thread_head", "task_struct", "thread_node")
		assert.Equal(t, []uint64{p.addr}, addrs(threads), "threads of %s", p.text("comm"))
		assert.EqualValues(t, len(threads), p.num("signal.nr_threads"))
		if p.has("thread_group.next") { // until 6.6
			assert.Empty(t, k.listAt(t, p.at("thread_group"), "task_struct", "thread_group"))
		}
	}
	require.NotEmpty(t, all)
	assert.EqualValues(t, 1, all[0].num("pid"), "init is the first process")
}

func taskScheduling(t *testing.T, k *Kernel, task view) {
	if task.has("cpus_ptr") {
		assert.Equal(t, task.at("cpus_mask"), task.num("cpus_ptr"))
		assert.EqualValues(t, 1<<k.CPUs()-1, task.num("cpus_mask.bits[0]"))
	}
	assert.EqualValues(t, k.CPUs(), task.num("nr_cpus_allowed"))
	assert.Equal(t, task.num("prio"), task.num("static_prio"))
	assert.EqualValues(t, 120, task.num("prio"))
	assert.NotZero(t, task.num("sched_class"))
	assert.EqualValues(t, 1024, task.num("se.load.weight")>>(10*b2i(k.Mem().PointerSize() == 8)), "weight of nice 0 (scale_load)")
	assert.EqualValues(t, 1, task.num("se.on_rq"))
	for _, f := range []string{"sched_delayed", "rel_deadline", "custom_slice"} { // since 6.12
		if task.has("se." + f) {
			assert.Zero(t, task.num("se."+f), "se.%s of a running task", f)
		}
	}
	if task.has("sched_task_group.css") {
		assert.Equal(t, task.num("cgroups.dfl_cgrp"), task.num("sched_task_group.css.cgroup"))
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func pidShape(t *testing.T, k *Kernel, task view) {
	for _, p := range []view{task, task.ptr("real_parent"), task.ptr("real_parent.real_parent")} {
		pid := p.ptr("thread_pid")
		assert.Zero(t, pid.num("level"))
		assert.Equal(t, p.num("pid"), pid.num("numbers[0].nr"))
		for kind := range 4 { // PID, TGID, PGID, SID
			hashed := pid.hlist(fmt.Sprintf("tasks[%d]", kind), "task_struct", fmt.Sprintf("pid_links[%d]", kind))
			assert.Equal(t, []uint64{p.addr}, addrs(hashed), "tasks of kind %d", kind)
			if kind > 0 {
				assert.Equal(t, pid.addr, p.num(fmt.Sprintf("signal.pids[%d]", kind)))
			}
		}
		ns := pid.ptr("numbers[0].ns")
		assert.Equal(t, ns.addr, p.num("nsproxy.pid_ns_for_children"))
		assert.Zero(t, ns.num("level"))
		assert.Zero(t, ns.num("parent"))
		assert.EqualValues(t, 1, ns.num("child_reaper.pid"))
		assert.EqualValues(t, uint32(0xeffffffc), ns.num("ns.inum"), "PROC_PID_INIT_INO")
	}
}

func signalShape(t *testing.T, _ *Kernel, task view) {
	s := task.ptr("signal")
	assert.EqualValues(t, 1, s.num("nr_threads"))
	assert.EqualValues(t, 1, s.num("live.counter"))
	assert.GreaterOrEqual(t, s.num("sigcnt.refs.counter"), uint64(1))
	assert.Equal(t, task.addr, s.num("curr_target"))
	assert.Zero(t, s.num("group_exit_code"))
	assert.Zero(t, s.num("flags"))
	assert.Zero(t, s.num("group_exit_task|group_exec_task"))
	assert.Empty(t, s.list("shared_pending.list", "sigqueue", "list"))
	assert.Zero(t, s.num("shared_pending.signal.sig[0]"))
	assert.Zero(t, task.num("pending.signal.sig[0]"))
	assert.Zero(t, task.num("blocked.sig[0]"))
	files := s.num("rlim[7].rlim_cur")
	assert.GreaterOrEqual(t, files, task.num("files.fdt.max_fds"), "RLIMIT_NOFILE")
	for i := range 16 {
		assert.LessOrEqual(t, s.num(fmt.Sprintf("rlim[%d].rlim_cur", i)), s.num(fmt.Sprintf("rlim[%d].rlim_max", i)))
	}
	h := task.ptr("sighand")
	assert.GreaterOrEqual(t, h.num("count.refs.counter"), uint64(1))
	assert.NotEqual(t, h.addr, task.num("real_parent.sighand"))
	for i := range 64 {
		assert.Zero(t, h.num(fmt.Sprintf("action[%d].sa.sa_handler", i)), "SIG_DFL")
	}
}

func credShape(t *testing.T, k *Kernel, task view) {
	for _, p := range []view{task, task.ptr("real_parent.real_parent")} {
		c := p.ptr("cred")
		assert.Equal(t, c.addr, p.num("real_cred"))
		ns := c.ptr("user_ns")
		assert.Zero(t, ns.num("level"))
		assert.Zero(t, ns.num("parent"))
		assert.EqualValues(t, uint32(0xeffffffd), ns.num("ns.inum"), "PROC_USER_INIT_INO")
		assert.Equal(t, c.num("uid.val"), c.num("user.uid.val"), "the user is the one of the uid")
		if c.has("ucounts") {
			assert.Equal(t, ns.addr, c.num("ucounts.ns"))
			assert.Equal(t, c.num("uid.val"), c.num("ucounts.uid.val"))
		}
		caps := func(set string) uint64 {
			if c.has(set + ".val") {
				return c.num(set + ".val")
			}
			return c.num(set+".cap[0]") | c.num(set+".cap[1]")<<32
		}
		every := caps("cap_bset")
		assert.NotZero(t, every&1<<39|every&1<<38, "all capabilities may be gained")
		if c.num("uid.val") == 0 {
			assert.Equal(t, every, caps("cap_effective"))
			assert.Equal(t, every, caps("cap_permitted"))
		} else {
			assert.Zero(t, caps("cap_effective"))
			assert.Zero(t, caps("cap_permitted"))
		}
		assert.Zero(t, caps("cap_inheritable"))
		assert.Zero(t, caps("cap_ambient"))
		g := c.ptr("group_info")
		n := g.num("ngroups")
		assert.Less(t, n, uint64(16))
		for i := range n {
			g.num(fmt.Sprintf("gid[%d].val", i))
		}
		assert.EqualValues(t, 0, ns.num("uid_map.extent[0].first"))
		assert.EqualValues(t, 0, ns.num("uid_map.extent[0].lower_first"))
		assert.EqualValues(t, uint32(1<<32-1), ns.num("uid_map.extent[0].count"), "the initial namespace maps all ids to themselves")
		assert.EqualValues(t, 1, ns.num("uid_map.nr_extents"))
	}
}

func nsproxyShape(t *testing.T, k *Kernel, task view) {
	n := task.ptr("nsproxy")
	inums := map[uint64]string{}
	for _, f := range []string{"uts_ns", "ipc_ns", "mnt_ns", "pid_ns_for_children", "net_ns", "cgroup_ns", "time_ns"} {
		if !n.has(f) {
			continue
		}
		ino := n.num(f + ".ns.inum")
		assert.GreaterOrEqual(t, ino, uint64(0xeffffff0))
		assert.Empty(t, inums[ino], f)
		inums[ino] = f
		if f != "mnt_ns" || n.has("mnt_ns.user_ns") {
			assert.Equal(t, task.num("cred.user_ns"), n.num(f+".user_ns"), f)
		}
	}
	if n.has("time_ns_for_children") {
		assert.Equal(t, n.num("time_ns"), n.num("time_ns_for_children"))
	}
	for _, f := range []string{"uts_ns", "mnt_ns", "net_ns"} {
		assert.Equal(t, n.num(f+".ns.inum"), task.num("real_parent.nsproxy->"+f+".ns.inum"), "processes share namespaces (copy_namespaces)")
	}
	assert.Equal(t, "Linux", n.text("uts_ns.name.sysname"))
}
