package kernel

import (
	"fmt"
	"strconv"
	"strings"
)

// Flags and numbers of tasks.
const (
	pfRandomize = 0x00400000
	sigchld     = 17
	defaultPrio = 120
)

// programs are names tasks are given by default.
var programs = [...]string{"nginx", "postgres", "python3", "redis", "node", "java", "sshd", "curl", "bash", "make", "cargo", "git", "vim", "dockerd", "kubelet", "rsyslogd"}

// Current returns the task that runs on the CPU of the run; nil when the BTF has no task_struct.
func (m *Model) Current() *Object { return m.CurrentOn(m.cpu) }

// CurrentOn returns the task that runs on a CPU, made with default content on first use.
func (m *Model) CurrentOn(cpu int) *Object {
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
	o := m.namedObject(role, "task_struct")
	if o != nil {
		o.MarkBuiltin()
		m.current[cpu] = o
	}
	return o
}

// SetCurrent makes a task the running one of the run's CPU.
func (m *Model) SetCurrent(o *Object) { m.current[m.cpu] = o }

// NewTask makes a task with default content, which Set calls may change.
func (m *Model) NewTask(role string) (*Object, error) {
	o, err := m.NewObjectNamed(role, "task_struct")
	if err == nil {
		o.MarkBuiltin()
	}
	return o, err
}

// initTask is the first process, its own parent.
func (m *Model) initTask() *Object {
	return m.builtinObject("init", "task_struct")
}

// taskIDs returns pid and tgid of a task by its role: current is a thread, all others are leaders.
func (m *Model) taskIDs(role string) (pid, tgid uint64) {
	switch role {
	case "init":
		return 1, 1
	case "init_task":
		return 0, 0
	}
	// The thread and its leader share the key of the process.
	process, isLeader := strings.CutSuffix(role, ".group_leader")
	tgid = 2000 + m.hash(process, "tgid")%28000
	if !isLeader && (process == "current" || strings.HasPrefix(process, "current[")) {
		return tgid + 1 + m.hash(process, "thread")%7, tgid
	}
	return tgid, tgid
}

// taskName is the default comm of a task.
func (m *Model) taskName(role string) string {
	switch role {
	case "init":
		return "systemd"
	case "init_task":
		return "swapper/0"
	}
	h := m.hash(role, "comm")
	return fmt.Sprintf("%s-%02x", programs[h%uint64(len(programs))], h>>8&0xff)
}

// fillTask gives a task_struct identity, family, credentials, memory and namespaces.
func (m *Model) fillTask(b builder) {
	role := b.o.role
	pid, tgid := m.taskIDs(role)
	// A task the user describes by pid alone is a leader.
	if f, ok := b.field("pid"); ok && b.taken(f) {
		tgid = b.o.loadField(f)
	}
	b.num("pid", pid)
	b.num("tgid", tgid)
	pid, tgid = b.o.uint("pid"), b.o.uint("tgid")
	b.text("comm", m.taskName(role))
	b.num("__state|state", 0)
	b.num("exit_state", 0)
	b.num("exit_code", 0)
	b.num("exit_signal", sigchld)
	b.num("flags", pfRandomize)
	b.num("prio", defaultPrio)
	b.num("static_prio", defaultPrio)
	b.num("normal_prio", defaultPrio)
	b.num("rt_priority", 0)
	b.num("policy", 0)
	b.num("on_cpu", 1)
	b.num("on_rq", 1)
	b.num("cpu|thread_info.cpu", uint64(m.cpu))
	b.num("recent_used_cpu", uint64(m.cpu))
	b.num("wake_cpu", uint64(m.cpu))
	b.num("nr_cpus_allowed", uint64(m.cpus))
	ago := b.within("start", 1_000_000, 600_000_000_000)
	b.num("start_time", m.began.Mono()-min(ago, m.began.Mono()))
	b.num("start_boottime|real_start_time", m.began.Boot()-min(ago, m.began.Boot()))
	b.num("ptrace", 0)
	b.num("jobctl", 0)
	b.num("personality", 0)
	b.num("pdeath_signal", 0)
	b.num("seccomp.mode", 0)
	b.num("loginuid.val", b.within("loginuid", 1000, 1000))
	b.num("sessionid", b.within("sessionid", 1, 100))
	b.null("vfork_done task_works last_siginfo bpf_storage bpf_ctx set_child_tid clear_child_tid restart_block journal_info bio_list plug")

	parent := m.initTask()
	switch {
	case role == "init" || role == "init_task":
		parent = b.o
	case b.o.chain("task_struct") < 2:
		parent = b.child("real_parent")
	}
	b.ptr("real_parent", parent)
	b.ptr("parent", parent)
	leader := b.o
	if pid != tgid {
		leader = b.child("group_leader")
	}
	b.ptr("group_leader", leader)
	if thread := b.o.parent; strings.HasSuffix(role, ".group_leader") && thread != nil && thread.TypeName() == "task_struct" {
		shareProcess(b, thread)
		return
	}

	cred := b.child("cred")
	b.ptr("real_cred", cred)
	if role == "init_task" { // the idle task is a kernel thread
		b.null("mm")
	} else {
		mm := b.child("mm")
		b.ptr("active_mm", mm)
	}
	for _, f := range [...]string{"fs", "files", "nsproxy", "signal", "sighand", "thread_pid", "cgroups"} {
		b.child(f)
	}
}

// shareProcess gives the leader of a process what one of its threads has: only their identities differ.
func shareProcess(b builder, thread *Object) {
	for _, f := range [...]string{"real_parent", "parent", "cred", "real_cred", "mm", "active_mm", "fs", "files", "nsproxy", "signal", "sighand", "cgroups"} {
		if o, err := thread.Pointee(f); err == nil {
			b.ptr(f, o)
		}
	}
	b.child("thread_pid")
}

// fillCred gives credentials distinct ids of an ordinary user; those of init are root's.
func (m *Model) fillCred(b builder) {
	base := 1000 + b.hash("ids")%900*10
	if b.o.parent != nil && (b.o.parent.role == "init" || b.o.parent.role == "init_task") {
		base = 0
	}
	for i, f := range [...]string{"uid", "euid", "suid", "fsuid", "gid", "egid", "sgid", "fsgid"} {
		id := base + uint64(i)
		if base == 0 {
			id = 0
		}
		b.num(f+".val|"+f, id)
	}
	b.num("securebits", 0)
	b.ptr("user_ns", m.namedObject("init_user_ns", "user_namespace"))
	b.null("session_keyring process_keyring thread_keyring request_key_auth security")
}

// fillSignal gives a process its terminal, no pending signal and no limits worth mentioning.
func (m *Model) fillSignal(b builder) {
	b.num("group_exit_code", 0)
	b.num("flags", 0)
	b.num("oom_score_adj", 0)
	b.num("oom_score_adj_min", 0)
	b.num("nr_threads", 2)
	b.child("tty")
	if b.o.parent != nil {
		// pids[PIDTYPE_TGID], [PIDTYPE_PGID], [PIDTYPE_SID] and, earlier, leader_pid.
		if p, err := b.o.parent.Pointee("thread_pid"); err == nil && p != nil {
			for i := range 4 {
				b.ptr(fmt.Sprintf("pids[%d]", i), p)
			}
		}
	}
	if _, ok := b.field("rlim[0].rlim_cur"); ok {
		for i := range 16 {
			n := fmt.Sprintf("rlim[%d].", i)
			b.num(n+"rlim_cur", 1024*uint64(i+1))
			b.num(n+"rlim_max", ^uint64(0))
		}
	}
}

// fillPid gives a struct pid the number its task has, in the initial namespace.
func (m *Model) fillPid(b builder) {
	b.num("level", 0)
	nr := b.within("nr", 2000, 28000)
	if t := b.o.parent; t != nil && t.TypeName() == "task_struct" {
		nr = t.uint("pid")
	}
	b.num("numbers[0].nr", nr)
	b.ptr("numbers[0].ns", m.namedObject("init_pid_ns", "pid_namespace"))
}

// PidTgid returns pid and tgid of the current task, as its task_struct has them.
func (m *Model) PidTgid() (pid, tgid uint32) {
	if o := m.Current(); o != nil {
		return uint32(o.uint("pid")), uint32(o.uint("tgid"))
	}
	p, t := m.taskIDs("current")
	return uint32(p), uint32(t)
}

// UidGid returns uid and gid of the current task's credentials.
func (m *Model) UidGid() (uid, gid uint32) {
	if o := m.Current(); o != nil && o.Has("cred") {
		return uint32(o.uint("cred.uid.val|cred.uid")), uint32(o.uint("cred.gid.val|cred.gid"))
	}
	base := 1000 + m.hash("current.cred", "ids")%900*10
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

// PidNamespace returns device and inode of the current task's pid namespace, as stat of /proc/self/ns/pid shows them.
func (m *Model) PidNamespace() (dev, ino uint64) {
	const nsfsDevice = 4 // an anonymous device
	if o := m.Current(); o != nil && o.Has("nsproxy.pid_ns_for_children.ns.inum") {
		return nsfsDevice, o.uint("nsproxy.pid_ns_for_children.ns.inum")
	}
	return nsfsDevice, m.namespaceInode("pid_namespace")
}

// fillRunqueue gives a run queue its CPU and task.
func (m *Model) fillRunqueue(b builder) {
	b.num("cpu", uint64(m.cpu))
	b.num("nr_running", b.within("nr_running", 1, 4))
	b.num("cfs.h_nr_running|cfs.h_nr_runnable|cfs.nr_running", b.within("nr_running", 1, 4))
	b.num("cfs.nr_running|cfs.nr_queued", b.within("nr_running", 1, 4))
	b.ptr("curr|donor", m.Current())
}

// fillTTY gives a terminal its name.
func (m *Model) fillTTY(b builder) {
	b.text("name", "pts"+strconv.FormatUint(b.within("pts", 0, 10), 10))
	b.num("index", b.within("pts", 0, 10))
}

// fillOOM chooses the other task as the victim.
func (m *Model) fillOOM(b builder) {
	b.child("chosen")
	b.num("totalpages", b.within("totalpages", 1<<18, 1<<20))
	b.num("order", 0)
	b.null("memcg zonelist nodemask")
}

// fillIrqaction names an interrupt.
func (m *Model) fillIrqaction(b builder) {
	b.text("name", b.word("irq"))
	b.num("irq", b.within("irq", 16, 100))
	b.null("next secondary thread")
}

// CPU returns the CPU the current run is on.
func (m *Model) CPU() int { return m.cpu }

// SetCPU puts the following run on a CPU. The error names the range.
func (m *Model) SetCPU(cpu int) error {
	if cpu < 0 || cpu >= m.cpus {
		return fmt.Errorf("kernel: CPU %d, want 0 to %d", cpu, m.cpus-1)
	}
	m.cpu = cpu
	return nil
}
