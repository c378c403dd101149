//go:build linux && (amd64 || arm64)

package exec

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
)

var le = binary.LittleEndian

// process is a process that made a notified call.
type process struct {
	tgid  int
	pidfd int
	// vdso is the address of the version note in the process's vDSO, 0 while it is not known.
	vdso uint64
}

// processOf returns the process of a thread. Process ids are reused; the pidfd tells whether a
// known process is still the same.
func (s *supervisor) processOf(pid uint32) *process {
	if p := s.threads[pid]; p != nil && alive(p.pidfd) && (int(pid) == p.tgid || unix.Access(fmt.Sprintf("/proc/%d/task/%d", p.tgid, pid), unix.F_OK) == nil) {
		return p
	}
	tgid := tgidOf(pid)
	p := s.procs[tgid]
	if p == nil || !alive(p.pidfd) {
		if p != nil {
			p.close()
		}
		fd, err := unix.PidfdOpen(tgid, 0)
		if err != nil {
			fd = -1
		}
		p = &process{tgid: tgid, pidfd: fd}
		if s.seen == nil {
			s.seen = map[int]bool{}
		}
		if len(s.seen) < maxSeen {
			s.seen[tgid] = true
		}
		if len(s.procs) >= s.manyProcs {
			s.forget()
			s.manyProcs = max(2*len(s.procs), minProcs)
		}
		s.procs[tgid] = p
	}
	if len(s.threads) > 1<<16 {
		clear(s.threads)
	}
	s.threads[pid] = p
	return p
}

// maxSeen limits the processes that are remembered after their end.
const maxSeen = 1 << 20

// minProcs is the number of processes from which on those that have ended are looked for.
const minProcs = 64

// forget closes the descriptors of processes that have ended.
func (s *supervisor) forget() {
	for tgid, p := range s.procs {
		if !alive(p.pidfd) {
			p.close()
			delete(s.procs, tgid)
		}
	}
}

// close closes the process's descriptor. Its threads still refer to p: the number may soon be
// another file's.
func (p *process) close() {
	if p.pidfd >= 0 {
		unix.Close(p.pidfd)
	}
	p.pidfd = -1
}

// alive reports whether the process of a pidfd is running.
func alive(pidfd int) bool {
	return pidfd >= 0 && !ready(pidfd, unix.POLLIN)
}

// pidfdThread is PIDFD_THREAD, since Linux 6.9.
const pidfdThread = unix.O_EXCL

// maxThreadFDs limits the descriptors of threads that are kept.
const maxThreadFDs = 256

// tableOf returns a pidfd with which pidfd_getfd(2) takes descriptors from a thread's own table.
// Threads may have tables of their own (CLONE_FILES, unshare(2)), and the first thread, which a
// process's pidfd stands for, may have ended. The descriptor is kept.
func (s *supervisor) tableOf(pid uint32) (int, error) {
	p := s.processOf(pid)
	if int(pid) == p.tgid {
		return p.pidfd, nil
	}
	if t, ok := s.tables[pid]; ok {
		if alive(t.pidfd) && t.process == p {
			return t.pidfd, nil
		}
		unix.Close(t.pidfd)
		delete(s.tables, pid)
	}
	fd, err := unix.PidfdOpen(int(pid), pidfdThread)
	if err == unix.EINVAL { // before Linux 6.9
		const kcmpFiles = 2
		if r, _, e := unix.Syscall6(unix.SYS_KCMP, uintptr(pid), uintptr(p.tgid), kcmpFiles, 0, 0, 0); e == 0 && r == 0 {
			return p.pidfd, nil
		}
		s.note("a thread has descriptors of its own, or the first thread of its process has ended: bpfrun needs Linux 6.9 or later to serve their calls")
		return -1, unix.EBADF
	}
	if err != nil {
		return -1, err
	}
	if len(s.tables) >= maxThreadFDs {
		s.dropTables()
	}
	s.tables[pid] = threadTable{fd, p}
	return fd, nil
}

// threadTable is the pidfd of a thread.
type threadTable struct {
	pidfd   int
	process *process
}

func (s *supervisor) dropTables() {
	for _, t := range s.tables {
		unix.Close(t.pidfd)
	}
	clear(s.tables)
}

// grab duplicates a descriptor of the caller into this process.
func (s *supervisor) grab(n *notif, fd int32) (int, error) {
	table, err := s.tableOf(n.PID)
	if err != nil {
		return -1, err
	}
	g, err := unix.PidfdGetfd(table, int(fd), 0)
	if err != nil {
		s.denied(n.PID, "pidfd_getfd", err)
	}
	return g, err
}

// call is one notified call. It implements [bpfsys.Caller].
type call struct {
	s *supervisor
	n *notif
	p *process // the caller's process, nil until looked up
	// barred is the errno with which the host forbids to read the caller's memory.
	barred unix.Errno
}

// process returns the caller's process.
func (c *call) process() *process {
	if c.p == nil {
		c.p = c.s.processOf(c.n.PID)
	}
	return c.p
}

// tgidOf returns the process of a thread; a thread that is gone counts as its own.
func tgidOf(tid uint32) int {
	tgid := int(tid)
	if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", tid)); err == nil {
		for l := range strings.Lines(string(b)) {
			if f := strings.Fields(l); len(f) == 2 && f[0] == "Tgid:" {
				tgid, _ = strconv.Atoi(f[1])
			}
		}
	}
	return tgid
}

// maxTransfer limits the bytes of one copy.
const maxTransfer = 512 << 20

func (c *call) Read(addr uint64, p []byte) bool {
	if len(p) == 0 {
		return true
	}
	if len(p) > maxTransfer || addr > 1<<63 {
		return false
	}
	k, err := unix.ProcessVMReadv(int(c.n.PID), []unix.Iovec{{Base: &p[0], Len: uint64(len(p))}}, []unix.RemoteIovec{{Base: uintptr(addr), Len: len(p)}}, 0)
	if err != nil {
		c.barred = c.s.denied(c.n.PID, "process_vm_readv", err)
	}
	return err == nil && k == len(p) && c.s.valid(c.n.ID)
}

// Write checks that the call is still pending, since the thread id may have been reused, and copies
// p to the caller's memory.
func (c *call) Write(addr uint64, p []byte) bool {
	if len(p) == 0 {
		return true
	}
	if len(p) > maxTransfer || addr > 1<<63 || !c.s.valid(c.n.ID) {
		return false
	}
	k, err := unix.ProcessVMWritev(int(c.n.PID), []unix.Iovec{{Base: &p[0], Len: uint64(len(p))}}, []unix.RemoteIovec{{Base: uintptr(addr), Len: len(p)}}, 0)
	if err != nil {
		c.s.denied(c.n.PID, "process_vm_writev", err)
	}
	return err == nil && k == len(p)
}

// Interrupted reports whether a signal is pending for the thread, which gets it when the call
// returns.
func (c *call) Interrupted() bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.n.PID))
	if err != nil {
		return true
	}
	var pending, blocked uint64
	for l := range strings.Lines(string(b)) {
		name, v, _ := strings.Cut(strings.TrimSpace(l), ":")
		n, err := strconv.ParseUint(strings.TrimSpace(v), 16, 64)
		switch {
		case err != nil:
		case name == "SigPnd" || name == "ShdPnd":
			pending |= n
		case name == "SigBlk" || name == "SigIgn":
			blocked |= n
		}
	}
	return pending&^blocked != 0
}

// IsFile resolves path in the caller's root directory.
func (c *call) IsFile(path string) (regular, exists bool) {
	st, err := os.Stat(c.hostName(path, c.walker().root))
	return err == nil && st.Mode().IsRegular(), err == nil
}

func (c *call) HasProcess(pid uint32) bool { return unix.Kill(int(pid), 0) != unix.ESRCH }

func (c *call) Thread() (tgid, tid uint32, comm string) {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", c.n.PID))
	return uint32(c.s.processOf(c.n.PID).tgid), c.n.PID, strings.TrimSpace(string(b))
}

// text reads a string of at most limit bytes; ok is false when it cannot be read or is longer.
func (c *call) text(addr uint64, limit int) (string, bool) {
	var out []byte
	for len(out) < limit {
		at := addr + uint64(len(out))
		b := make([]byte, min(int(4096-at%4096), limit-len(out), 512))
		if !c.Read(at, b) {
			return "", false
		}
		for i, x := range b {
			if x == 0 {
				return string(append(out, b[:i]...)), true
			}
		}
		out = append(out, b...)
	}
	return "", false
}

// Path implements [bpfsys.Caller]. A place of the host keeps its spelling, made absolute and clean:
// events name probed files by it.
func (c *call) Path(dirfd int32, p string) string {
	at := c.resolve(dirfd, p, true, false)
	if at.drifts && !c.s.covers(at.path) {
		c.s.note("a path relative to a simulated directory leads to the host's " + at.String() + ", and is not found: use an absolute path")
	}
	if at.ours() || at.drifts {
		return at.path
	}
	if !filepath.IsAbs(p) {
		if dir, _, ok := c.directory(dirfd); ok {
			p = filepath.Join(dir, p)
		}
	}
	return filepath.Clean(p)
}

// Magic numbers of file systems (statfs(2)).
const (
	magicCgroup2 = 0x63677270
	magicNSFS    = 0x6e736673
	magicBPF     = 0xcafe4a11
	magicTracefs = 0x74726163
	magicDebugfs = 0x64626720
	magicSysfs   = 0x62656572
	magicProc    = 0x9fa0
)

// FileOf implements [bpfsys.Caller]: the simulated kernel knows the session's processes, but those
// in PID namespaces of their own only by their ids there.
func (c *call) FileOf(pid uint32, fd int32) (bpfsys.File, bool) {
	if pid > 1<<30 || int(pid) == c.s.guard || !c.ours(int(pid)) || !samePIDs(c.n.PID) {
		return bpfsys.File{}, false
	}
	other := call{s: c.s, n: &notif{PID: pid}}
	return other.File(fd), true
}

func (c *call) File(fd int32) bpfsys.File {
	if fd < 0 {
		return bpfsys.File{}
	}
	g, err := c.s.grab(c.n, fd)
	if err != nil {
		return bpfsys.File{}
	}
	defer unix.Close(g)
	var st unix.Stat_t
	if unix.Fstat(g, &st) != nil {
		return bpfsys.File{}
	}
	if f := c.s.files[st.Ino]; f != nil && st.Dev == c.s.dev {
		flags, err := unix.FcntlInt(uintptr(g), unix.F_GETFL, 0)
		if err != nil {
			return bpfsys.File{}
		}
		switch {
		case f.oPath:
			return bpfsys.File{}
		case f.object != nil:
			return bpfsys.File{Kind: bpfsys.ObjectFile, Object: f.object, Access: uint32(flags) & unix.O_ACCMODE}
		case f.isNetns:
			return bpfsys.File{Kind: bpfsys.NetnsFile, Inode: uint64(f.netns)}
		case f.cgroup != 0:
			return bpfsys.File{Kind: bpfsys.CgroupFile, Inode: f.cgroup}
		case f.dir:
			return bpfsys.File{Kind: bpfsys.BPFFSFile, Path: f.path}
		}
		return bpfsys.File{Kind: bpfsys.OtherFile}
	}
	var fs unix.Statfs_t
	_ = unix.Fstatfs(g, &fs)
	out := bpfsys.File{Kind: bpfsys.OtherFile, Inode: st.Ino, Dev: st.Dev}
	switch {
	case uint32(fs.Type) == magicCgroup2 && st.Mode&unix.S_IFMT == unix.S_IFDIR:
		out.Kind, out.Path = bpfsys.CgroupFile, cgroupPath(g)
	case uint32(fs.Type) == magicNSFS:
		out.Kind = bpfsys.NetnsFile
		var own unix.Stat_t
		if unix.Stat(fmt.Sprintf("/proc/%d/ns/net", c.n.PID), &own) == nil && own.Ino == st.Ino {
			out.Inode = 0 // commands without a descriptor mean inode 0
		}
	case st.Mode&unix.S_IFMT == unix.S_IFSOCK:
		out.Kind, out.Socket = bpfsys.SocketFile, socketInfo(g)
	default:
		if pid := pidOf(g); pid > 0 {
			out.Kind, out.PID, out.TGID = bpfsys.PidFile, pid, uint32(tgidOf(pid))
		}
	}
	return out
}
