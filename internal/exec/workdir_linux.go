//go:build linux && (amd64 || arm64)

package exec

import (
	"bytes"
	"fmt"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A simulated directory as a working directory. The host has no such directory, and nobody can
// change the working directory of another process, so the process stays where it is and a mark says
// where it believes to be. New processes must inherit the mark as they inherit the directory, also
// when their parent ends before their first call. One thing that the kernel copies at fork(2),
// keeps at execve(2) and lets another process set is a resource limit: the mark is the soft limit
// RLIMIT_LOCKS, which no kernel since 2.4 uses.

// limitLocks is RLIMIT_LOCKS, which package unix does not define, and workMark the high half of a
// marked limit.
const (
	limitLocks = 10
	workMark   = 0xb9f0
)

// workDir is a simulated working directory. The mark is void once the process is in another
// directory of the host.
type workDir struct {
	path     string // as a place's at
	dev, ino uint64 // the process's directory on the host
}

// maxWorkDirs limits the simulated working directories of a session.
const maxWorkDirs = 1 << 16

// workDir returns the simulated working directory of a thread.
func (s *supervisor) workDir(pid int) (string, bool) {
	if len(s.workDirs) == 0 {
		return "", false
	}
	var lim unix.Rlimit
	if unix.Prlimit(pid, limitLocks, nil, &lim) != nil || lim.Cur>>32 != workMark {
		return "", false
	}
	i := int(uint32(lim.Cur))
	if i >= len(s.workDirs) {
		return "", false
	}
	d := s.workDirs[i]
	var st unix.Stat_t
	if unix.Stat(fmt.Sprintf("/proc/%d/cwd", pid), &st) != nil || st.Dev != d.dev || st.Ino != d.ino {
		return "", false
	}
	return d.path, d.path != ""
}

// setWorkDir marks the caller's process; an empty path removes the mark.
func (c *call) setWorkDir(p string) error {
	s, pid := c.s, int(c.n.PID)
	var st unix.Stat_t
	if err := unix.Stat(fmt.Sprintf("/proc/%d/cwd", pid), &st); err != nil {
		return err
	}
	d := workDir{p, st.Dev, st.Ino}
	i, ok := s.workDirIDs[d]
	if !ok {
		if len(s.workDirs) >= maxWorkDirs {
			return unix.ENOMEM
		}
		i = len(s.workDirs)
		s.workDirs, s.workDirIDs[d] = append(s.workDirs, d), i
	}
	var lim unix.Rlimit
	if err := unix.Prlimit(pid, limitLocks, nil, &lim); err != nil {
		return err
	}
	lim.Cur = workMark<<32 | uint64(i)
	return unix.Prlimit(pid, limitLocks, &lim, nil)
}

func (c *call) chdir(at place) {
	switch kind, _, _ := c.look(at); kind {
	case hostPath:
		if c.s.headers && c.s.sys.Headers(at.path) { // bcc compiles there, and fails whatever its tool's status is
			c.s.compiles = true
		}
		c.leave(at)
	case absent:
		c.s.reply(c.n, 0, unix.ENOENT)
	case directory:
		c.enterDir(at.at)
	default:
		c.s.reply(c.n, 0, unix.ENOTDIR)
	}
}

func (c *call) fchdir() {
	if p, ok := c.s.dirOf(c.n, c.fd(0)); ok {
		c.enterDir(c.s.unmounted(p))
		return
	}
	at := c.placeOfFD(c.fd(0))
	if at.ours() { // a directory of the host that the tool had open before
		if kind, _, _ := c.look(at); kind == directory {
			c.enterDir(at.at)
			return
		}
	}
	c.leave(at)
}

// leave has the host change the working directory. If that is where the process really is, its mark
// would stay valid.
func (c *call) leave(at place) {
	if _, marked := c.s.workDir(int(c.n.PID)); marked {
		w := c.walker()
		var here, there unix.Stat_t
		if at.at != "" && unix.Stat(fmt.Sprintf("/proc/%d/cwd", c.n.PID), &here) == nil && unix.Stat(c.hostName(at.at, w.root), &there) == nil &&
			here.Dev == there.Dev && here.Ino == there.Ino {
			if err := c.setWorkDir(""); err != nil {
				c.noWorkDir(at.at, err)
				return
			}
		}
	}
	c.s.host(c.n)
}

// enterDir makes a simulated directory the working directory.
func (c *call) enterDir(p string) {
	if tid := c.ownDirectory(); tid != 0 {
		c.noWorkDir(p, fmt.Errorf("thread %d has a working directory of its own", tid))
		return
	}
	if err := c.setWorkDir(p); err != nil {
		c.noWorkDir(p, err)
		return
	}
	c.s.logf("[%d] chdir %s", c.n.PID, p)
	c.s.reply(c.n, 0, 0)
}

func (c *call) noWorkDir(p string, err error) {
	c.s.note(fmt.Sprintf("%s cannot be the working directory (%v): use absolute paths", strconv.Quote(p), err))
	c.s.reply(c.n, 0, unix.EACCES)
}

// ownDirectory returns a thread of the caller's process that does not share its working directory,
// or 0: marks are those of processes.
func (c *call) ownDirectory() int {
	const kcmpFS = 3
	for tid := range threads(c.process().tgid) {
		r, _, e := unix.Syscall6(unix.SYS_KCMP, uintptr(c.n.PID), uintptr(tid), kcmpFS, 0, 0, 0)
		if e == 0 && r != 0 {
			return tid
		}
	}
	return 0
}

// getcwd answers for a process in a simulated directory.
func (c *call) getcwd() {
	p, ok := c.s.workDir(int(c.n.PID))
	switch {
	case !ok:
		c.s.host(c.n)
	case strings.Contains(p, "\x00"): // of a bpffs that is mounted nowhere
		c.s.reply(c.n, 0, unix.ENOENT)
	case uint64(len(p)) >= c.arg(1):
		c.s.reply(c.n, 0, unix.ERANGE)
	case !c.Write(c.arg(0), append([]byte(p), 0)):
		c.s.reply(c.n, 0, unix.EFAULT)
	default:
		c.s.reply(c.n, int64(len(p)+1), 0)
	}
}

// locksLimit answers calls about RLIMIT_LOCKS, which has the mark: it is unlimited, and what the
// tool sets has no effect, as in a kernel.
func (c *call) locksLimit(old uint64) {
	if old != 0 && !c.Write(old, bytes.Repeat([]byte{0xff}, 16)) {
		c.s.reply(c.n, 0, unix.EFAULT)
		return
	}
	c.s.reply(c.n, 0, 0)
}

// unmounted returns the place of a path in a bpffs that the tool mounted.
func (s *supervisor) unmounted(p string) string {
	for _, m := range s.mounts {
		if rest, ok := strings.CutPrefix(p, m.root); ok && (rest == "" || rest[0] == '/') {
			return path.Join(m.path, rest)
		}
	}
	return p
}
