//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// file is a memfd that stands for something in the simulated kernel. Every descriptor of it in the
// tool is an open file of the memfd's inode.
type file struct {
	fd     int // this process's descriptor
	ino    uint64
	wd     int // inotify watch
	open   int // open files given to the tool
	object bpfsys.Object
	path   string // of a simulated file or directory
	dir    bool
	oPath  bool   // opened with O_PATH, as fsmount(2) does: only a place in a path
	cgroup uint64 // id of a simulated cgroup
	// netns is the simulated network namespace of a file of one.
	netns   uint32
	isNetns bool
	// context is set for what fsopen(2) returned.
	context *fsContext
	// listed is the position that the last listing of a directory ended at, and last the name
	// before it.
	listed int64
	last   string
	// arena is set when the tool maps an arena, until it is known where.
	arena bool
	kept  bool // kept when no descriptor is left
	event int  // eventfd that stands for the object in epoll, -1 if none
	// epolled is set once the eventfd was put into an epoll instance.
	epolled bool
	level   bool
}

// memory is the memory of a memfd, mapped into this process.
type memory struct {
	fd   int
	ino  uint64
	b    []byte
	done bool
}

func (m *memory) Bytes() []byte { return m.b }

// Close unmaps the memory in this process; the tool's mappings stay.
func (m *memory) Close() {
	if !m.done {
		m.done = true
		_ = unix.Munmap(m.b)
		unix.Close(m.fd)
	}
}

// newMemory allocates sealed shared memory: a tool that truncated it would kill this process.
func newMemory(fd, size int) (*memory, error) {
	if err := unix.Ftruncate(fd, int64(size)); err != nil {
		return nil, err
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL); err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if st.Size != int64(size) {
		return nil, fmt.Errorf("memfd has %d bytes, not %d", st.Size, size)
	}
	b, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		_ = unix.Munmap(b)
		return nil, err
	}
	return &memory{fd: dup, ino: st.Ino, b: b}, nil
}

// newFile creates a memfd.
func (s *supervisor) newFile(name string) (*file, error) {
	if len(name) > 200 {
		name = name[:200]
	}
	name = strings.ReplaceAll(name, "\x00", "") // of a bpffs instance
	fd, err := s.memfd(name)
	if err != nil {
		return nil, err
	}
	return s.adopt(fd)
}

// memfd creates a memfd for something of the simulated kernel.
func (s *supervisor) memfd(name string) (int, error) {
	fd, err := unix.MemfdCreate("bpfrun:"+name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		s.note(fmt.Sprintf("memfd_create(2): %v: a call of the tool fails", err))
		return -1, fmt.Errorf("memfd_create: %w", err)
	}
	return fd, nil
}

// adopt makes a file of an existing memfd.
func (s *supervisor) adopt(fd int) (*file, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return nil, err
	}
	wd, err := unix.InotifyAddWatch(s.inotify, fmt.Sprintf("/proc/self/fd/%d", fd), unix.IN_CLOSE)
	if err != nil {
		unix.Close(fd)
		s.note(fmt.Sprintf("inotify_add_watch(2): %v: a call of the tool fails; if no space is left, raise the limit (sysctl fs.inotify.max_user_watches)", err))
		return nil, fmt.Errorf("inotify_add_watch: %w", err)
	}
	f := &file{fd: fd, ino: st.Ino, wd: wd, event: -1}
	s.dev = st.Dev
	s.files[f.ino], s.watches[wd] = f, f
	return f, nil
}

// drop forgets a file. The inotify watch ends here or with the inode, whichever comes first.
func (s *supervisor) drop(f *file) {
	if s.files[f.ino] != f {
		return
	}
	delete(s.files, f.ino)
	delete(s.watches, f.wd)
	_, _ = unix.InotifyRmWatch(s.inotify, uint32(f.wd))
	unix.Close(f.fd)
	if f.event >= 0 {
		unix.Close(f.event)
	}
}

// fileOf returns the file of an object, created when the tool gets its first descriptor.
func (s *supervisor) fileOf(o bpfsys.Object) (*file, error) {
	tag := bpfsys.Tag(o)
	if f, ok := (*tag).(*file); ok {
		return f, nil
	}
	var f *file
	var err error
	if m, ok := bpfsys.Shared(o).(*memory); ok && m != nil {
		fd, e := unix.FcntlInt(uintptr(m.fd), unix.F_DUPFD_CLOEXEC, 0)
		if e != nil {
			return nil, e
		}
		f, err = s.adopt(fd)
	} else {
		f, err = s.newFile(o.Kind().String() + ":" + o.Name())
	}
	if err != nil {
		return nil, err
	}
	f.object = o
	*tag = f
	return f, nil
}

// give opens the file anew and puts the descriptor into the caller's table, which is also the reply
// to the call.
func (s *supervisor) give(n *notif, f *file, flags int) bool {
	if _, e := s.hand(n, f, flags, addfdSend); e != 0 {
		s.reply(n, 0, e)
		return false
	}
	return true
}

// hand opens the file anew and puts the descriptor into the caller's table.
func (s *supervisor) hand(n *notif, f *file, flags int, how uint32) (int, unix.Errno) {
	fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", f.fd), flags&^unix.O_CLOEXEC|unix.O_CLOEXEC, 0)
	if err != nil {
		s.logf("open a descriptor: %v", err)
		return 0, unix.EMFILE
	}
	defer unix.Close(fd)
	if err := unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB); err != nil { // the tool may hold an exclusive lock, forever
		return 0, unix.ENOLCK
	}
	f.open++
	a := notifAddFD{ID: n.ID, Flags: how, SrcFD: uint32(fd), NewFDFlags: uint32(flags & unix.O_CLOEXEC)}
	r, e := s.addFD(&a)
	if e != 0 {
		// The thread has ended, and inotify reports the close, or its table is full.
		s.logf("-> no descriptor: %v", e)
		return 0, unix.EMFILE
	}
	s.logf("-> fd %d", r)
	return r, 0
}

// Install opens a descriptor for a syscall program, in the middle of the call that runs it.
func (c *call) Install(o bpfsys.File) (int32, uapi.Errno) {
	f, err := c.s.fileOf(o.Object)
	if err != nil {
		c.s.logf("no file for %s %s: %v", o.Object.Kind(), o.Object.Name(), err)
		return 0, uapi.ENFILE
	}
	open := f.open
	fd, e := c.s.hand(c.n, f, int(o.Access)|unix.O_CLOEXEC, 0)
	if e != 0 && f.open != open { // inotify reports the close of the opened file, which drops a reference
		c.s.sys.Keep(o.Object)
	}
	return int32(fd), uapi.Errno(e)
}

// CloseFile closes a descriptor of the tool. Nobody can close descriptors of another process; it
// then refers to /dev/null, and inotify reports that the object's was closed.
func (c *call) CloseFile(fd int32) (*bpfsys.File, uapi.Errno) {
	if c.File(fd).Kind == bpfsys.NoFile {
		return nil, uapi.EBADF
	}
	null, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, uapi.EIO
	}
	defer unix.Close(null)
	a := notifAddFD{ID: c.n.ID, Flags: addfdSetFD, SrcFD: uint32(null), NewFD: uint32(fd), NewFDFlags: unix.O_CLOEXEC}
	if _, e := c.s.addFD(&a); e != 0 {
		return nil, uapi.Errno(e)
	}
	return nil, 0
}

// closes handles closed descriptors. Events are read and handled under one lock, so that nobody
// sees a state in between.
func (s *supervisor) closes() {
	wait := -1
	for {
		p := []unix.PollFd{{Fd: int32(s.inotify), Events: unix.POLLIN}, {Fd: int32(s.quit), Events: unix.POLLIN}}
		if _, err := unix.Poll(p, wait); err != nil && err != unix.EINTR {
			return
		}
		if p[1].Revents != 0 {
			return
		}
		s.mu.Lock()
		s.drain()
		if wait = -1; len(s.closing) > 0 {
			wait = closingPause
		}
		s.mu.Unlock()
	}
}

// The kernel tells of a close before it releases the file's lock (__fput), so that files of which a
// descriptor was closed are looked at again: for closingTime, every closingPause milliseconds.
const (
	closingTime  = 2 * time.Second
	closingPause = 10
)

func (s *supervisor) closed(p []byte) {
	for len(p) >= unix.SizeofInotifyEvent {
		wd, mask, l := int(int32(le.Uint32(p))), le.Uint32(p[4:]), int(le.Uint32(p[12:]))
		if unix.SizeofInotifyEvent+l > len(p) {
			return
		}
		p = p[unix.SizeofInotifyEvent+l:]
		if f := s.watches[wd]; f != nil && mask&unix.IN_CLOSE != 0 && f.open > 0 {
			if s.closing == nil {
				s.closing = map[*file]time.Time{}
			}
			s.closing[f] = time.Now()
		}
	}
}

// releaseClosed releases the files that are closed by now.
func (s *supervisor) releaseClosed() {
	for f, since := range s.closing {
		gone := s.watches[f.wd] != f || f.open == 0
		if !gone && f.unused() {
			s.release(f)
			gone = true
		}
		if gone || time.Since(since) > closingTime {
			delete(s.closing, f)
		}
	}
}

// unused reports whether the tool has no open file of it left. Inotify may merge several closes
// into one event, so each open file that is given away holds a lock, which its last close releases.
// A tool that unlocks it loses the object early.
func (f *file) unused() bool {
	if unix.Flock(f.fd, unix.LOCK_EX|unix.LOCK_NB) != nil {
		return false
	}
	_ = unix.Flock(f.fd, unix.LOCK_UN)
	return true
}

// release drops the references of all open files.
func (s *supervisor) release(f *file) {
	n := f.open
	f.open = 0
	if f.kept {
		return
	}
	if f.object == nil {
		s.drop(f)
		return
	}
	s.logf("the last descriptor of %s %d %s was closed", f.object.Kind(), f.object.ID(), f.object.Name())
	for range n {
		s.sys.Release(f.object)
	}
}

// drain handles the closes up to now, so that commands which list ids do not see freed objects.
func (s *supervisor) drain() {
	var buf []byte
	for range 64 {
		if !ready(s.inotify, unix.POLLIN) {
			break
		}
		if buf == nil {
			buf = make([]byte, 16<<10)
		}
		n, err := unix.Read(s.inotify, buf)
		if err != nil || n <= 0 {
			break
		}
		s.closed(buf[:n])
	}
	s.releaseClosed()
}
