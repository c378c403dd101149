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

	"github.com/bpfrun/bpfrun/bpfsys"
)

var le = binary.LittleEndian

// process is a process that made a notified call.
type process struct {
	tgid  int
	pidfd int
	// vdso is the address of the version note in the process's vDSO, 0 while it is not known.
	vdso uint64
}

// processOf returns the process of a thread. Process ids are reused; the pidfd tells whether a known process is still the same.
func (s *supervisor) processOf(pid uint32) *process {
	if p := s.threads[pid]; p != nil && alive(p.pidfd) && (int(pid) == p.tgid || unix.Access(fmt.Sprintf("/proc/%d/task/%d", p.tgid, pid), unix.F_OK) == nil) {
		return p
	}
	tgid := int(pid)
	if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)); err == nil {
		for l := range strings.Lines(string(b)) {
			if f := strings.Fields(l); len(f) == 2 && f[0] == "Tgid:" {
				tgid, _ = strconv.Atoi(f[1])
			}
		}
	}
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

// close closes the process's descriptor. Its threads still refer to p: the number may soon be another file's.
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

// grab duplicates a descriptor of the caller into this process.
func (s *supervisor) grab(n *notif, fd int32) (int, error) {
	return unix.PidfdGetfd(s.processOf(n.PID).pidfd, int(fd), 0)
}

// call is one notified call. It implements [bpfsys.Caller].
type call struct {
	s *supervisor
	n *notif
	p *process // the caller's process, nil until looked up
}

// process returns the caller's process.
func (c *call) process() *process {
	if c.p == nil {
		c.p = c.s.processOf(c.n.PID)
	}
	return c.p
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
	return err == nil && k == len(p) && c.s.valid(c.n.ID)
}

// Write checks that the call is still pending, since the thread id may have been reused, and copies p to the caller's memory.
func (c *call) Write(addr uint64, p []byte) bool {
	if len(p) == 0 {
		return true
	}
	if len(p) > maxTransfer || addr > 1<<63 || !c.s.valid(c.n.ID) {
		return false
	}
	k, err := unix.ProcessVMWritev(int(c.n.PID), []unix.Iovec{{Base: &p[0], Len: uint64(len(p))}}, []unix.RemoteIovec{{Base: uintptr(addr), Len: len(p)}}, 0)
	return err == nil && k == len(p)
}

// Interrupted reports whether a signal is pending for the thread, which gets it when the call returns.
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
	st, err := os.Stat(fmt.Sprintf("/proc/%d/root%s", c.n.PID, path))
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

// Path makes a path absolute and clean without following links: the simulated file systems have none. In a bpffs that the tool mounted it begins with
// the path of that instance's root.
func (c *call) Path(dirfd int32, path string) string {
	if !filepath.IsAbs(path) {
		dir := fmt.Sprintf("/proc/%d/cwd", c.n.PID)
		if dirfd != unix.AT_FDCWD {
			if d, ok := c.s.dirOf(c.n, dirfd); ok {
				return filepath.Join(d, path)
			}
			dir = fmt.Sprintf("/proc/%d/fd/%d", c.n.PID, dirfd)
		}
		d, err := os.Readlink(dir)
		if err != nil {
			return path
		}
		path = filepath.Join(d, path)
	}
	return c.mounted(filepath.Clean(path))
}

// Magic numbers of file systems (statfs(2)).
const (
	magicCgroup2 = 0x63677270
	magicNSFS    = 0x6e736673
	magicBPF     = 0xcafe4a11
	magicTracefs = 0x74726163
	magicDebugfs = 0x64626720
	magicSysfs   = 0x62656572
)

func (c *call) File(fd int32) bpfsys.File {
	if fd < 0 {
		return bpfsys.File{}
	}
	g, err := unix.PidfdGetfd(c.process().pidfd, int(fd), 0)
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
			out.Kind, out.PID = bpfsys.PidFile, pid
		}
	}
	return out
}
