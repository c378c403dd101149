package model

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/internal/cpuset"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
)

// Flags and numbers of tasks.
const (
	pfRandomize = 0x00400000
	pfIdle      = 0x00200002 // PF_KTHREAD, PF_IDLE
	sigchld     = 17
	defaultPrio = 120
	niceWeight  = 1024 // of nice 0 (sched_prio_to_weight); 64-bit kernels scale it by 1024 (scale_load)
)

// programs are the default names of tasks.
var programs = [...]string{"nginx", "postgres", "python3", "redis", "node", "java", "sshd", "curl", "bash", "make", "cargo", "git", "vim", "dockerd", "kubelet", "rsyslogd"}

// Current returns the task that runs on the run's CPU, or nil if the BTF has no task_struct.
func (m *Model) Current() *object.Object { return m.CurrentOn(m.cpu) }

// Running returns the task that runs on the run's CPU, nil as long as nothing asked for it.
func (m *Model) Running() *object.Object { return m.current[m.cpu] }

// CurrentOn returns the task that runs on a CPU; it is created with default content on first use.
func (m *Model) CurrentOn(cpu int) *object.Object {
	if cpu < 0 || cpu >= len(m.current) {
		return nil
	}
	if o := m.current[cpu]; o != nil {
		return o
	}
	role := "current"
	if cpu != 0 {
		role = fmt.Sprintf("current[cpu %d]", cpu)
	}
	o := m.Named(role, "task_struct")
	if o != nil {
		o.MarkBuiltin()
		m.current[cpu] = o
	}
	return o
}

// SetCurrent makes a task the running task of the run's CPU.
func (m *Model) SetCurrent(o *object.Object) { m.current[m.cpu] = o }

// NewTask creates a task with default content, which Set calls may change.
func (m *Model) NewTask(role string) (*object.Object, error) {
	o, err := m.NewObjectNamed(role, "task_struct")
	if err == nil {
		o.MarkBuiltin()
	}
	return o, err
}

// InitTask returns the first process, a child of the idle task.
func (m *Model) InitTask() *object.Object {
	return m.Builtin("init", "task_struct")
}

// idleTask returns the first CPU's idle task, its own parent (init_task).
func (m *Model) idleTask() *object.Object {
	return m.Builtin("init_task", "task_struct")
}

// taskIDs returns pid and tgid of a task by its role. Default tasks are thread group leaders,
// because tools that only look at processes would otherwise see none.
func (m *Model) taskIDs(role string) (pid, tgid uint64) {
	switch role {
	case "init":
		return 1, 1
	case "init_task":
		return 0, 0
	}
	// A thread set up by the user has the same process key as its leader.
	process, _ := strings.CutSuffix(role, ".group_leader")
	tgid = 2000 + m.Hash(process, "tgid")%28000
	return tgid, tgid
}

// taskName returns the default comm of a task.
func (m *Model) taskName(role string) string {
	switch role {
	case "init":
		return "systemd"
	case "init_task":
		return "swapper/0"
	}
	h := m.Hash(role, "comm")
	return fmt.Sprintf("%s-%02x", programs[h%uint64(len(programs))], h>>8&0xff)
}

// fillTask sets identity, family, credentials, memory and namespaces of a task_struct.
func (m *Model) fillTask(b object.Builder) {
	role := b.Object.Role()
	pid, tgid := m.taskIDs(role)
	thread := b.Object.Parent()
	if !strings.HasSuffix(role, ".group_leader") || thread == nil || thread.TypeName() != "task_struct" {
		thread = nil
	} else {
		tgid = thread.Num("tgid")
		pid = tgid
	}
	// A task that the user describes only by its pid is a leader.
	if f, ok := b.Field("pid"); ok && b.Taken(f) {
		tgid = b.Object.LoadField(f)
	}
	b.Num("pid", pid)
	b.Num("tgid", tgid)
	pid, tgid = b.Object.Num("pid"), b.Object.Num("tgid")
	b.Text("comm", m.taskName(role))
	b.Num("__state|state", 0)
	b.Num("exit_state", 0)
	b.Num("exit_code", 0)
	b.Num("exit_signal", sigchld)
	if role == "init_task" {
		b.Num("flags", pfIdle)
	} else {
		b.Num("flags", pfRandomize)
	}
	b.Num("prio", defaultPrio)
	b.Num("static_prio", defaultPrio)
	b.Num("normal_prio", defaultPrio)
	b.Num("rt_priority", 0)
	b.Num("policy", 0)
	b.Num("on_cpu", 1)
	b.Num("on_rq", 1)
	b.Num("cpu|thread_info.cpu", uint64(m.cpu))
	b.Num("recent_used_cpu", uint64(m.cpu))
	b.Num("wake_cpu", uint64(m.cpu))
	m.fillScheduling(b)
	ago := b.Within("start", 1_000_000, 600_000_000_000)
	b.Num("start_time", m.Began().Mono()-min(ago, m.Began().Mono()))
	b.Num("start_boottime|real_start_time", m.Began().Boot()-min(ago, m.Began().Boot()))
	b.Num("ptrace", 0)
	b.Num("jobctl", 0)
	b.Num("personality", 0)
	b.Num("pdeath_signal", 0)
	b.Num("seccomp.mode", 0)
	b.Num("loginuid.val", b.Within("loginuid", 1000, 1000))
	b.Num("sessionid", b.Within("sessionid", 1, 100))
	b.Null("vfork_done task_works last_siginfo bpf_storage bpf_ctx set_child_tid clear_child_tid restart_block journal_info bio_list plug")

	m.fillStack(b)

	parent := m.InitTask()
	switch {
	case role == "init" || role == "init_task":
		parent = m.idleTask()
	case b.Object.Chain("task_struct") < 2:
		parent = b.Child("real_parent")
	}
	b.Ptr("real_parent", parent)
	b.Ptr("parent", parent)
	leader := b.Object
	if pid != tgid {
		leader = b.Child("group_leader")
	}
	b.Ptr("group_leader", leader)
	if thread != nil {
		m.shareProcess(b, thread)
		return
	}
	if f, ok := b.Field("real_parent"); ok && !b.Taken(f) && leader != nil && (leader == b.Object || leader.Parent() == b.Object) {
		m.adopt(parent, leader)
	}
	if role == "init_task" { // both lists begin with init
		m.adopt(b.Object, m.InitTask())
	}

	cred := b.Child("cred")
	b.Ptr("real_cred", cred)
	if role == "init_task" { // the idle task is a kernel thread
		b.Null("mm")
	} else {
		mm := b.Child("mm")
		b.Ptr("active_mm", mm)
	}
	for _, f := range [...]string{"fs", "files", "nsproxy", "sighand"} {
		b.Child(f)
	}
	m.joinProcess(b, b.Child("signal"), leader)
	if id := b.Child("thread_pid"); role != "init_task" {
		m.nameTask(b, id, leader == b.Object)
	}
	m.joinCgroup(b, b.Child("cgroups"))
	if f, ok := b.Field("sched_task_group"); ok && !b.Taken(f) && m.LayoutNamed("task_group") != nil {
		level := cgroupLevel
		if role == "init_task" {
			level = 0
		}
		if cg := m.cgroupAt(level); cg != nil {
			b.Num("sched_task_group", m.stateAt("cpu", cg))
		}
	}
}

// fillScheduling lets a task of nice 0, which is in no group, run on all CPUs.
func (m *Model) fillScheduling(b object.Builder) {
	b.Num("nr_cpus_allowed", uint64(m.CPUs()))
	if f, ok := b.Field("cpus_mask"); ok {
		mask, all := make([]byte, f.Size), cpuset.Below(m.CPUs())
		all.Put(mask, m.Order(), m.Mem().PointerSize())
		b.Bytes("cpus_mask", mask)
		b.Num("cpus_ptr", b.Object.Base()+f.Off)
	}
	weight := uint64(niceWeight)
	if m.Mem().PointerSize() == 8 {
		weight <<= 10
	}
	b.Num("se.load.weight", weight)
	b.Num("se.on_rq", 1)
	for _, f := range [...]string{"se.sched_delayed", "se.rel_deadline", "se.custom_slice"} { // since 6.12
		b.Num(f, 0)
	}
	b.Null("se.parent se.my_q rt.parent rt.my_q")
}

// shareProcess gives the leader of a process the same content as one of its threads: only their ids
// differ.
func (m *Model) shareProcess(b object.Builder, thread *object.Object) {
	for _, f := range [...]string{"real_parent", "parent", "cred", "real_cred", "mm", "active_mm", "fs", "files", "nsproxy", "signal", "sighand", "cgroups"} {
		if o, err := thread.Pointee(f); err == nil {
			b.Ptr(f, o)
		}
	}
	m.nameTask(b, b.Child("thread_pid"), true)
	if set, err := thread.Pointee("cgroups"); err == nil {
		m.joinCgroup(b, set)
	}
}

// fillCred sets distinct ids of an ordinary user; those of init are root's.
func (m *Model) fillCred(b object.Builder) {
	base := 1000 + b.Hash("ids")%900*10
	if b.Object.Parent() != nil && (b.Object.Parent().Role() == "init" || b.Object.Parent().Role() == "init_task") {
		base = 0
	}
	for i, f := range [...]string{"uid", "euid", "suid", "fsuid", "gid", "egid", "sgid", "fsgid"} {
		id := base + uint64(i)
		if base == 0 {
			id = 0
		}
		b.Num(f+".val|"+f, id)
	}
	b.Num("securebits", 0)
	b.Num("usage.counter|usage", 2) // the task's, as cred and real_cred
	ns := m.Named("init_user_ns", "user_namespace")
	b.Ptr("user_ns", ns)
	uid, gid := b.Object.Num("uid.val|uid"), b.Object.Num("gid.val|gid")
	if user := b.Child("user"); user != nil {
		object.Fill(user).Num("uid.val|uid", uid)
		m.hashed(userTable, object.Fill(user), "uidhash_node")
	}
	if counts := b.Child("ucounts"); counts != nil {
		c := object.Fill(counts)
		c.Num("uid.val|uid", uid)
		c.Ptr("ns", ns)
	}
	if groups := b.Child("group_info"); groups != nil {
		g := object.Fill(groups)
		g.Num("ngroups", 1)
		g.Num("gid[0].val|gid[0]", gid)
	}
	for set, every := range map[string]bool{"cap_bset": true, "cap_permitted": uid == 0, "cap_effective": uid == 0, "cap_inheritable": false, "cap_ambient": false} {
		m.capabilities(b, set, every)
	}
	b.Null("session_keyring process_keyring thread_keyring request_key_auth security")
}

// lastCapability is CAP_CHECKPOINT_RESTORE, the last one since 5.9.
const lastCapability = 40

// capabilities sets a set of capabilities, two words before 6.3 (kernel_cap_t), to all or none.
func (m *Model) capabilities(b object.Builder, set string, every bool) {
	mask := uint64(0)
	if every {
		mask = 1<<(lastCapability+1) - 1
	}
	b.Num(set+".val", mask)
	b.Num(set+".cap[0]", mask&0xffffffff)
	b.Num(set+".cap[1]", mask>>32)
}

// fillSignal gives a process a terminal, no pending signals and practically no limits.
func (m *Model) fillSignal(b object.Builder) {
	b.Num("group_exit_code", 0)
	b.Num("flags", 0)
	b.Num("oom_score_adj", 0)
	b.Num("oom_score_adj_min", 0)
	countThread(b, b2n(b.Object.Parent() == nil || b.Object.Parent().TypeName() != "task_struct")) // tasks count themselves
	b.Null("group_exit_task group_exec_task")
	b.Child("tty")
	if b.Object.Parent() != nil {
		// pids[PIDTYPE_TGID], [PIDTYPE_PGID], [PIDTYPE_SID] and, earlier, leader_pid.
		if p, err := b.Object.Parent().Pointee("thread_pid"); err == nil && p != nil {
			for i := range 4 {
				b.Ptr(fmt.Sprintf("pids[%d]", i), p)
			}
		}
	}
	if _, ok := b.Field("rlim[0].rlim_cur"); ok {
		for i := range 16 {
			n := fmt.Sprintf("rlim[%d].", i)
			b.Num(n+"rlim_cur", 1024*uint64(i+1))
			b.Num(n+"rlim_max", ^uint64(0))
		}
	}
}

// fillSighand gives a process the default action for all signals.
func (m *Model) fillSighand(b object.Builder) {
	b.Num("count.refs.counter|count.counter", 1)
	if f, ok := b.Field("action"); ok {
		b.Bytes("action", make([]byte, f.Size))
	}
}

// fillPid sets the number of a struct pid in the initial namespace to that of its task.
func (m *Model) fillPid(b object.Builder) {
	b.Num("level", 0)
	nr := b.Within("nr", 2000, 28000)
	if t := b.Object.Parent(); t != nil && t.TypeName() == "task_struct" {
		nr = t.Num("pid")
	}
	b.Num("numbers[0].nr", nr)
	b.Ptr("numbers[0].ns", m.Named("init_pid_ns", "pid_namespace"))
}

// PidTgid returns pid and tgid of the current task, as its task_struct has them.
func (m *Model) PidTgid() (pid, tgid uint32) {
	if o := m.Current(); o != nil {
		return uint32(o.Num("pid")), uint32(o.Num("tgid"))
	}
	p, t := m.taskIDs("current")
	return uint32(p), uint32(t)
}

// UidGid returns uid and gid of the current task's credentials.
func (m *Model) UidGid() (uid, gid uint32) {
	if o := m.Current(); o != nil && o.Has("cred") {
		return uint32(o.Num("cred.uid.val|cred.uid")), uint32(o.Num("cred.gid.val|cred.gid"))
	}
	base := 1000 + m.Hash("current.cred", "ids")%900*10
	return uint32(base), uint32(base + 4)
}

// Comm returns the name of the current task, at most 15 bytes.
func (m *Model) Comm() string {
	if o := m.Current(); o != nil {
		if s, err := o.String("comm"); err == nil {
			return s
		}
	}
	return m.taskName("current")
}

// PidNamespace returns device and inode of the current task's pid namespace, as stat of
// /proc/self/ns/pid shows them.
func (m *Model) PidNamespace() (dev, ino uint64) {
	const nsfsDevice = 4 // an anonymous device
	if o := m.Current(); o != nil && o.Has("nsproxy.pid_ns_for_children.ns.inum") {
		return nsfsDevice, o.Num("nsproxy.pid_ns_for_children.ns.inum")
	}
	return nsfsDevice, m.namespaceInode("pid_namespace")
}

// fillRunqueue gives a run queue its CPU and task.
func (m *Model) fillRunqueue(b object.Builder) {
	b.Num("cpu", uint64(m.cpu))
	b.Num("nr_running", b.Within("nr_running", 1, 4))
	b.Num("cfs.h_nr_running|cfs.h_nr_runnable|cfs.nr_running", b.Within("nr_running", 1, 4))
	b.Num("cfs.nr_running|cfs.nr_queued", b.Within("nr_running", 1, 4))
	b.Ptr("curr|donor", m.Current())
}

// fillFairRunqueue gives the run queue of fair tasks as many of them as a run queue has.
func (m *Model) fillFairRunqueue(b object.Builder) {
	for _, f := range [...]string{"nr_running|nr_queued", "h_nr_running|h_nr_queued", "h_nr_runnable"} {
		b.Num(f, b.Within("nr_running", 1, 4))
	}
}

// fillTTY gives a terminal its name.
func (m *Model) fillTTY(b object.Builder) {
	b.Text("name", "pts"+strconv.FormatUint(b.Within("pts", 0, 10), 10))
	b.Num("index", b.Within("pts", 0, 10))
}

// fillOOM chooses the other task as the victim.
func (m *Model) fillOOM(b object.Builder) {
	b.Child("chosen")
	b.Num("totalpages", b.Within("totalpages", 1<<18, 1<<20))
	b.Num("order", 0)
	b.Null("memcg zonelist nodemask")
}

// fillIrqaction names an interrupt.
func (m *Model) fillIrqaction(b object.Builder) {
	b.Text("name", b.Word("irq"))
	b.Num("irq", b.Within("irq", 16, 100))
	b.Null("next secondary thread")
}

// CPU returns the CPU the current run is on.
func (m *Model) CPU() int { return m.cpu }

// SetCPU selects the CPU of the next run. The error names the valid range.
func (m *Model) SetCPU(cpu int) error {
	if cpu < 0 || cpu >= m.CPUs() {
		return fmt.Errorf("kernel: CPU %d, want 0 to %d", cpu, m.CPUs()-1)
	}
	m.cpu = cpu
	return nil
}
