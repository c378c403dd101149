package bpfsys

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	kobject "github.com/bpfrun/bpfrun/internal/kernel/object"
)

// The directories in /proc of tasks that events made: what tools look up by the pid of a record.
// They say what programs read of the same task.

// TaskEntry is something in the directory of a task.
type TaskEntry struct {
	Kind Found  // [NotOurs] if events made no task of that id
	Text []byte // of a file
	Link string // the text of a symbolic link, which has no other contents
	Ino  uint64 // of a namespace's file
}

// taskFiles are the names in the directory of a thread; a process also has "task".
var taskFiles = []string{"cgroup", "cmdline", "comm", "cwd", "environ", "exe", "maps", "ns", "root", "stat", "statm", "status"}

// taskSpaces are a task's namespaces, and where they are in the task.
var taskSpaces = map[string]string{
	"cgroup": "nsproxy.cgroup_ns", "ipc": "nsproxy.ipc_ns", "mnt": "nsproxy.mnt_ns", "net": "nsproxy.net_ns", "pid": "nsproxy.pid_ns_for_children", "user": "cred.user_ns", "uts": "nsproxy.uts_ns",
}

// HasTask reports whether events made a task with a process or thread id. It is cheap.
func (s *System) HasTask(id int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taskNamed(id) != nil
}

// taskNamed returns the task with a thread id, else one of the process with that id.
func (s *System) taskNamed(id int) *kobject.Object {
	if t := s.tasks[fmt.Sprint(id, "/", id)]; t != nil {
		return t
	}
	best, name := "", ""
	for key := range s.tasks {
		pid, tgid, _ := strings.Cut(key, "/")
		if (pid == strconv.Itoa(id) || tgid == strconv.Itoa(id)) && (best == "" || key < name) {
			best, name = key, key
		}
	}
	return s.tasks[best]
}

// Task returns what is at a path in /proc, "77/comm": an entry of a task that events made. Its
// memory areas name only files that has reports to exist: tools open them to find symbols. Nil
// means none.
func (s *System) Task(path string, has func(file string) bool) TaskEntry {
	s.mu.Lock()
	defer s.mu.Unlock()
	who, rest, _ := strings.Cut(path, "/")
	id, err := strconv.Atoi(who)
	if err != nil {
		return TaskEntry{}
	}
	t := s.taskNamed(id)
	if t == nil {
		return TaskEntry{}
	}
	if rest == "task" {
		return TaskEntry{Kind: IsDir}
	}
	if thread, ok := strings.CutPrefix(rest, "task/"); ok {
		who, rest, _ = strings.Cut(thread, "/")
		if !slices.Contains(s.threadsOf(t), who) {
			return TaskEntry{Kind: Absent}
		}
		id, _ = strconv.Atoi(who)
		t = s.taskNamed(id)
	}
	if rest == "maps" {
		return TaskEntry{Kind: IsFile, Text: s.taskMaps(t, has)}
	}
	return s.taskEntry(t, rest)
}

// TaskDir returns the sorted names in a directory of a task, nil if there is none.
func (s *System) TaskDir(path string) []string {
	if s.Task(path, nil).Kind != IsDir {
		return nil
	}
	switch who, rest, _ := strings.Cut(path, "/"); {
	case rest == "":
		names := append(slices.Clone(taskFiles), "task")
		slices.Sort(names)
		return names
	case rest == "task":
		s.mu.Lock()
		defer s.mu.Unlock()
		id, _ := strconv.Atoi(who)
		return s.threadsOf(s.taskNamed(id))
	case strings.HasSuffix(rest, "ns"):
		var names []string
		for n := range taskSpaces {
			names = append(names, n)
		}
		slices.Sort(names)
		return names
	}
	return taskFiles
}

// threadsOf returns the thread ids of a task's process.
func (s *System) threadsOf(t *kobject.Object) (out []string) {
	tgid := strconv.FormatUint(t.Num("tgid"), 10)
	for key := range s.tasks {
		if pid, process, _ := strings.Cut(key, "/"); process == tgid {
			out = append(out, pid)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) })
	return out
}

func (s *System) taskEntry(t *kobject.Object, name string) TaskEntry {
	file := func(b []byte) TaskEntry { return TaskEntry{Kind: IsFile, Text: b} }
	link := func(text string) TaskEntry { return TaskEntry{Kind: IsFile, Link: text} }
	comm, _ := t.String("comm")
	switch name {
	case "", "ns":
		return TaskEntry{Kind: IsDir}
	case "comm":
		return file([]byte(comm + "\n"))
	case "cmdline":
		return file(s.userText(t, "arg"))
	case "environ":
		return file(s.userText(t, "env"))
	case "exe":
		if exe, err := t.Pointee("mm.exe_file"); err == nil && exe != nil {
			if d, err := exe.Pointee("f_path.dentry"); err == nil && d != nil {
				return link(dentryPath(d))
			}
		}
		return TaskEntry{Kind: Absent} // of a kernel thread
	case "cwd", "root":
		where := map[string]string{"cwd": "fs.pwd.dentry", "root": "fs.root.dentry"}[name]
		if d, err := t.Pointee(where); err == nil && d != nil {
			return link(dentryPath(d))
		}
		return link("/")
	case "cgroup":
		return file([]byte("0::" + cgroupPath(t) + "\n"))
	case "stat":
		return file(taskStat(t, comm))
	case "statm":
		total := t.Num("mm.total_vm")
		return file(fmt.Appendf(nil, "%d %d 0 0 0 0 0\n", total, total))
	case "status":
		return file(s.taskStatus(t, comm))
	}
	space, ok := strings.CutPrefix(name, "ns/")
	if where := taskSpaces[space]; ok && where != "" {
		inum := t.Num(where + ".ns.inum")
		return TaskEntry{Kind: IsFile, Link: fmt.Sprintf("%s:[%d]", space, inum), Ino: inum}
	}
	return TaskEntry{Kind: Absent}
}

// maxUserText limits the bytes of arguments and environments.
const maxUserText = 1 << 16

// userText returns the arguments or the environment of a task, from its memory.
func (s *System) userText(t *kobject.Object, what string) []byte {
	from, to := t.Num("mm."+what+"_start"), t.Num("mm."+what+"_end")
	if to <= from {
		return nil
	}
	b := make([]byte, min(to-from, maxUserText))
	if s.machine.Kernel().Mem().ReadUser(from, b) != nil {
		return nil
	}
	return b
}

// maxDepth limits the directories of a path.
const maxPathDepth = 64

// pathUp joins the names of an object and those above it.
func pathUp(o *kobject.Object, name, parents string) string {
	var names []string
	for range maxPathDepth {
		var up *kobject.Object
		for p := range strings.SplitSeq(parents, "|") {
			if o.Has(p) {
				up, _ = o.Pointee(p)
			}
		}
		if up == nil || up == o {
			break
		}
		text, _ := o.String(name)
		names = append(names, text)
		o = up
	}
	slices.Reverse(names)
	return "/" + strings.Join(names, "/")
}

func dentryPath(d *kobject.Object) string { return pathUp(d, "d_name.name", "d_parent") }

// cgroupPath returns the path of a task's cgroup.
func cgroupPath(t *kobject.Object) string {
	if kn, err := t.Pointee("cgroups.dfl_cgrp.kn"); err == nil && kn != nil {
		return pathUp(kn, "name", "parent|__parent")
	}
	return "/"
}

// taskMaps returns the memory areas of a task (show_map_vma).
func (s *System) taskMaps(t *kobject.Object, has func(string) bool) []byte {
	mm, err := t.Pointee("mm")
	if err != nil || mm == nil {
		return nil
	}
	mm.Populate()
	var b bytes.Buffer
	for _, v := range s.machine.Kernel().VMAs(mm) {
		const read, write, exec, shared = 1, 2, 4, 8
		flags := v.Num("vm_flags")
		perms := []byte("---p")
		for i, bit := range []uint64{read, write, exec} {
			if flags&bit != 0 {
				perms[i] = "rwx"[i]
			}
		}
		if flags&shared != 0 {
			perms[3] = 's'
		}
		name, ino, dev := "", uint64(0), uint64(0)
		if f, err := v.Pointee("vm_file"); err == nil && f != nil {
			if d, err := f.Pointee("f_path.dentry"); err == nil && d != nil {
				name = dentryPath(d)
			}
			ino, dev = f.Num("f_inode.i_ino"), f.Num("f_inode.i_sb.s_dev")
		}
		fmt.Fprintf(&b, "%08x-%08x %s %08x %02x:%02x %d", v.Num("vm_start"), v.Num("vm_end"), perms, v.Num("vm_pgoff")<<12, dev>>20, dev&0xfffff, ino)
		if name != "" && has != nil && has(name) {
			fmt.Fprintf(&b, " %s", name)
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// taskStat returns the contents of /proc/PID/stat (do_task_stat). Fields that the simulation does
// not track are 0.
func taskStat(t *kobject.Object, comm string) []byte {
	const ticks = 1e9 / 100 // nanoseconds of a clock tick (USER_HZ)
	b := fmt.Appendf(nil, "%d (%s) S %d %d %d 0 -1 %d 0 0 0 0 0 0 0 0 %d %d %d 0 %d", t.Num("pid"), comm, t.Num("real_parent.tgid"), t.Num("tgid"), t.Num("tgid"), t.Num("flags"),
		t.Num("prio")-100, 0, max(t.Num("signal.nr_threads"), 1), t.Num("start_boottime|real_start_time")/ticks)
	for i := range 30 {
		v := uint64(0)
		if i == 0 {
			v = t.Num("mm.total_vm") << 12
		}
		b = fmt.Appendf(b, " %d", v)
	}
	return append(b, '\n')
}

// taskStatus returns the part of /proc/PID/status that is known of a task (proc_pid_status).
func (s *System) taskStatus(t *kobject.Object, comm string) []byte {
	var b bytes.Buffer
	add := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%s:\t%s\n", name, fmt.Sprintf(format, args...))
	}
	pid, tgid := t.Num("pid"), t.Num("tgid")
	add("Name", "%s", comm)
	add("Umask", "%04o", t.Num("fs.umask"))
	add("State", "S (sleeping)")
	add("Tgid", "%d", tgid)
	add("Ngid", "0")
	add("Pid", "%d", pid)
	add("PPid", "%d", t.Num("real_parent.tgid"))
	add("TracerPid", "0")
	for _, c := range []struct{ name, letter string }{{"Uid", "u"}, {"Gid", "g"}} {
		id := func(prefix string) uint64 { return t.Num("cred." + prefix + c.letter + "id.val") }
		add(c.name, "%d\t%d\t%d\t%d", id(""), id("e"), id("s"), id("fs"))
	}
	add("Groups", " ")
	add("NStgid", "%d", tgid)
	add("NSpid", "%d", pid)
	add("VmSize", "%8d kB", t.Num("mm.total_vm")*4)
	add("Threads", "%d", max(t.Num("signal.nr_threads"), 1))
	for _, c := range []struct{ name, field string }{{"CapInh", "cap_inheritable"}, {"CapPrm", "cap_permitted"}, {"CapEff", "cap_effective"}, {"CapBnd", "cap_bset"}, {"CapAmb", "cap_ambient"}} {
		v := uint64(0)
		if p, err := t.GetBytes("cred." + c.field); err == nil && len(p) == 8 {
			v = le.Uint64(p)
		}
		add(c.name, "%016x", v)
	}
	add("voluntary_ctxt_switches", "%d", t.Num("nvcsw"))
	add("nonvoluntary_ctxt_switches", "%d", t.Num("nivcsw"))
	return b.Bytes()
}
