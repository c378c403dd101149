//go:build linux && (amd64 || arm64)

package exec

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
)

// How --live sees the lives of tasks. A notification comes before its call runs, so whether a fork
// or an exec succeeds, and the id of a new task, show only afterwards: at the next notification of
// any thread, which is never later than the first call of the new task or program, nor than the
// next call of the caller. What is compared then was read while the caller was held in its call, so
// neither load nor the order of threads matters: a task that is new in the caller's list of
// children is the fork's, and a process whose memory is a new one has executed a program. An exit
// is known before it happens.

// lives are the forks and execs whose outcome is not known yet, and the tasks that exit.
type lives struct {
	forks []*fork
	execs map[int]*execCall // by process
	gone  map[int]bool      // threads that exit, but may still be listed
	// results are what forks and execs returned, by thread, until the exits of the calls are fired.
	results map[int]int64
}

type fork struct {
	tid, tgid int
	thread    bool
	before    map[int]bool
}

type execCall struct {
	tid         int
	path, image string
}

// maxForks limits the forks whose outcome is not known: callers that were killed.
const maxForks = 1 << 10

// lives fires the events of the lives of tasks that a call tells about.
func (c *call) lives() {
	s := c.s
	if !s.cfg.Live {
		return
	}
	l := &s.lives
	if !s.sys.Attached() {
		l.forks, l.execs = nil, nil
		s.identities = identities{}
		return
	}
	tid, tgid := int(c.n.PID), c.process().tgid
	s.settle(tid)
	s.identities.calls(tid, int(c.n.NR))
	if tgid == s.guard {
		return
	}
	switch int(c.n.NR) {
	case sysFork, sysVfork, unix.SYS_CLONE, unix.SYS_CLONE3:
		f := &fork{tid: tid, tgid: tgid, thread: c.cloneFlags()&unix.CLONE_THREAD != 0}
		if f.before = f.tasks(); len(l.forks) < maxForks {
			l.forks = append(l.forks, f)
		}
	case unix.SYS_EXECVE, unix.SYS_EXECVEAT:
		arg, prefix := 0, ""
		if int(c.n.NR) == unix.SYS_EXECVEAT {
			if arg = 1; c.fd(0) != unix.AT_FDCWD {
				prefix = fmt.Sprintf("/dev/fd/%d/", c.fd(0)) // as in alloc_bprm
			}
		}
		path, ok := c.text(c.arg(arg), maxLiveText)
		if !ok {
			return
		}
		if prefix != "" && !strings.HasPrefix(path, "/") {
			path = strings.TrimSuffix(prefix+path, "/")
		}
		if l.execs == nil {
			l.execs = map[int]*execCall{}
		}
		l.execs[tgid] = &execCall{tid, path, image(tgid)}
	case unix.SYS_EXIT, unix.SYS_EXIT_GROUP:
		s.exits(tgid, tid, int64(c.arg(0)&0xff)<<8, int(c.n.NR) == unix.SYS_EXIT_GROUP)
	}
}

func (c *call) cloneFlags() uint64 {
	switch int(c.n.NR) {
	case unix.SYS_CLONE:
		return c.arg(0)
	case unix.SYS_CLONE3:
		b := make([]byte, 8)
		if c.Read(c.arg(0), b) {
			return le.Uint64(b)
		}
	}
	return 0
}

// tasks lists the tasks among which the fork's will be: the threads of the caller's process, or the
// children of the calling thread.
func (f *fork) tasks() map[int]bool {
	if f.thread {
		return threads(f.tgid)
	}
	out := map[int]bool{}
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", f.tgid, f.tid))
	for _, w := range strings.Fields(string(b)) {
		if pid, err := strconv.Atoi(w); err == nil {
			out[pid] = true
		}
	}
	return out
}

func threads(tgid int) map[int]bool {
	out := map[int]bool{}
	list, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", tgid))
	for _, e := range list {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			out[tid] = true
		}
	}
	return out
}

// image identifies the memory of a process: its auxiliary vector has addresses and a random number
// that each exec chooses anew. It is empty while an exec is under way, and when the process has
// ended.
func image(tgid int) string {
	const atRandom = 25
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", tgid))
	if err != nil {
		return ""
	}
	for i := 0; i+16 <= len(b); i += 16 {
		if le.Uint64(b[i:]) == atRandom {
			random := make([]byte, 16)
			if readMemory(tgid, le.Uint64(b[i+8:]), random) {
				return string(b) + string(random)
			}
		}
	}
	return ""
}

// settle fires the events of forks and execs whose outcome is known now. caller is the thread that
// makes the call: what it did before has succeeded or failed.
func (s *supervisor) settle(caller int) {
	l := &s.lives
	open := l.forks[:0]
	for i, f := range l.forks {
		found := false
		for _, tid := range slices.Sorted(maps.Keys(f.tasks())) {
			if found = !f.before[tid]; found {
				for _, other := range l.forks[i+1:] {
					other.before[tid] = true
				}
				s.forked(f, tid)
				break
			}
		}
		if !found && f.tid != caller && unix.Access(fmt.Sprintf("/proc/%d/task/%d", f.tgid, f.tid), unix.F_OK) == nil {
			open = append(open, f)
		}
	}
	l.forks = open
	for tgid, e := range l.execs {
		now := image(tgid)
		switch {
		case now != "" && now != e.image:
			delete(l.execs, tgid)
			delete(s.identities.known, tgid)
			l.returns(tgid, 0)
			task, cpu := s.liveTask(tgid, tgid)
			s.fireLife(bpfsys.Life{Task: task, CPU: cpu, Exec: e.path, Old: int64(e.tid)})
		case e.tid == caller, now == "" && !alive(s.processOf(uint32(tgid)).pidfd):
			delete(l.execs, tgid)
		}
	}
}

// returns notes what a fork or an exec returned.
func (l *lives) returns(tid int, ret int64) {
	if l.results == nil || len(l.results) > maxForks {
		l.results = map[int]int64{}
	}
	l.results[tid] = ret
}

func (s *supervisor) forked(f *fork, tid int) {
	s.lives.returns(f.tid, int64(tid))
	delete(s.lives.gone, tid)
	tgid := tid
	if f.thread {
		tgid = f.tgid
	}
	parent, cpu := s.liveTask(f.tgid, f.tid)
	child, _ := s.liveTask(tgid, tid)
	child["comm"] = parent["comm"] // it may have changed since
	if !f.thread {
		child["real_parent->pid"], child["real_parent->tgid"], child["real_parent->comm"] = int64(f.tgid), int64(f.tgid), parent["comm"]
	}
	s.fireLife(bpfsys.Life{Task: parent, CPU: cpu, Child: child})
}

// exits fires the event of a thread that ends, and of the others when it ends its whole process.
func (s *supervisor) exits(tgid, tid int, code int64, group bool) {
	l := &s.lives
	if l.gone == nil {
		l.gone = map[int]bool{}
	}
	all := threads(tgid)
	var others []int
	for t := range all {
		if t != tid && !l.gone[t] {
			others = append(others, t)
		}
	}
	slices.Sort(others)
	left := len(others)
	exit := func(t int) {
		l.gone[t] = true
		task, cpu := s.liveTask(tgid, t)
		s.fireLife(bpfsys.Life{Task: task, CPU: cpu, Exit: &bpfsys.Exit{Code: code, Left: left}})
	}
	if group {
		for _, t := range others {
			exit(t)
			left--
		}
		others = nil
	}
	exit(tid)
	if len(others) == 0 {
		for t := range all {
			delete(l.gone, t)
		}
	}
}

// fireLife fires an event in the life of a task.
func (s *supervisor) fireLife(l bpfsys.Life) {
	s.drain() // closed links fire no more
	fired, err := s.sys.FireLife(l)
	if errors.Is(err, bpfsys.ErrNoHook) {
		return
	}
	if err != nil {
		s.note("--live: " + err.Error())
	}
	if s.cfg.Fired != nil {
		s.cfg.Fired(l.Hook(), fired)
	}
	s.note("--live: tracepoints sched_process_fork, sched_process_exec and sched_process_exit see the ids, names, parents, credentials, namespaces and arguments of " +
		"real tasks, the path of an exec and the exit status; all else is simulated. Tasks that a signal ends, or another thread's exec, fire no sched_process_exit")
	s.failures("", fired)
	s.levels()
}
