package model

import "github.com/bpfrun/bpfrun/internal/kernel/object"

// Kinds of ids: PIDTYPE_PID, PIDTYPE_TGID, PIDTYPE_PGID, PIDTYPE_SID of include/linux/pid_types.h.
const (
	pidTypePID = iota
	pidTypeTGID
	pidTypes = 4

	pidShift = 12 // of the first node of the tree of ids, which has all below PID_MAX_DEFAULT
)

// adopt appends a process to the list of its parent's children and to that of all processes, which
// contain the leaders of processes only (copy_process). It gives neither task any other content.
// Init is the first process of the list, whichever task a program reads first. Lists that the user
// set stay as they are.
func (m *Model) adopt(parent, child *object.Object) {
	if parent == nil || parent == child {
		return
	}
	object.Fill(parent).Append("children", child, "sibling")
	m.ListProcess(child)
}

// ListProcess appends a process to the list of all.
func (m *Model) ListProcess(child *object.Object) {
	if idle := m.idleTask(); idle != nil && idle != child {
		all := object.Fill(idle)
		all.Append("tasks", m.InitTask(), "tasks")
		all.Append("tasks", child, "tasks")
	}
}

// joinProcess makes a task one of the threads of its process: it is in the lists of its
// signal_struct and, before 6.7, of its leader. A leader comes first.
func (m *Model) joinProcess(b object.Builder, signal, leader *object.Object) {
	if signal == nil || leader == nil {
		return
	}
	s := object.Fill(signal)
	for _, t := range []*object.Object{leader, b.Object} {
		if s.Append("thread_head", t, "thread_node") {
			countThread(s, 1)
		}
		if t != leader {
			object.Fill(leader).Append("thread_group", t, "thread_group")
		}
	}
	s.Ptr("curr_target", b.Object)
}

// countThread adds n threads to those that a signal_struct counts.
func countThread(s object.Builder, n uint64) {
	f, ok := s.Field("nr_threads")
	if !ok {
		return
	}
	n += s.Object.Stored(f)
	s.Num("nr_threads", n)
	s.Num("live.counter", n)
	s.Num("sigcnt.refs.counter|sigcnt.counter", n)
}

// nameTask makes a struct pid that of a task; the leader of a process leads its group and session
// as well (init_task_pid).
func (m *Model) nameTask(b object.Builder, pid *object.Object, leads bool) {
	if pid == nil {
		return
	}
	p := object.Fill(pid)
	if ns := m.ObjectAt(pid.Num("numbers[0].ns")); ns != nil { // alloc_pid
		object.Fill(ns).Index("idr.idr_rt", pidShift, pid.Num("numbers[0].nr"), pid.Addr())
	}
	for kind := range pidTypes {
		if kind == pidTypePID || leads {
			p.Push(pidList[kind], b.Object, pidLink[kind])
		}
	}
}

var (
	pidList = [pidTypes]string{"tasks[0]", "tasks[1]", "tasks[2]", "tasks[3]"}
	pidLink = [pidTypes]string{"pid_links[0]", "pid_links[1]", "pid_links[2]", "pid_links[3]"}
)

// joinCgroup puts a task in the list of its css_set.
func (m *Model) joinCgroup(b object.Builder, set *object.Object) {
	if set == nil {
		return
	}
	s := object.Fill(set)
	if f, ok := s.Field("nr_tasks"); ok && s.Append("tasks", b.Object, "cg_list") {
		s.Num("nr_tasks", set.Stored(f)+1)
	}
}

// b2n returns 1 for true.
func b2n(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
