//go:build linux && (amd64 || arm64)

package exec

import (
	"encoding/binary"
	"hash/fnv"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/bpfsys"
)

// pathKind is what the simulated kernel has at a path.
type pathKind uint8

const (
	hostPath pathKind = iota // not simulated
	absent
	plain
	directory
	pinned
)

// look returns what the simulated kernel has at a path. File contents are generated on each call.
func (c *call) look(p string) (pathKind, []byte, bpfsys.Object) {
	s := c.s
	if s.cgroups[p] != 0 {
		return directory, nil, nil
	}
	if bpfsys.InBPFFS(p) {
		e, ok := s.sys.Stat(p)
		switch {
		case !ok:
			return absent, nil, nil
		case e.Dir:
			return directory, nil, nil
		}
		return pinned, nil, e.Object
	}
	s.readProbes()
	b, found := s.sys.ReadFile(p)
	switch found {
	case bpfsys.Absent:
		return absent, nil, nil
	case bpfsys.IsFile:
		return plain, b, nil
	case bpfsys.IsDir:
		return directory, nil, nil
	}
	return hostPath, nil, nil
}

// simulated is a cheap check whether a path may be simulated, so that most files cost nothing more.
func simulated(p string) bool {
	for _, prefix := range [...]string{"/sys/", "/proc/", "/boot/config-", "/lib/modules/"} {
		if strings.HasPrefix(p, prefix) {
			return true
		}
	}
	return false
}

// pathAt reads a path argument; ok is false when the call has been replied to.
func (c *call) pathAt(dir int32, addr uint64) (string, bool) {
	p, ok := c.text(addr, 4096)
	if !ok || p == "" {
		c.s.host(c.n) // the host reports what is wrong with the path
		return "", false
	}
	if !path.IsAbs(p) && dir == unix.AT_FDCWD && len(c.s.mounts) == 0 {
		// Relative to a directory of the host: simulated directories cannot be a working directory.
		c.s.host(c.n)
		return "", false
	}
	return c.Path(dir, p), true
}

func (c *call) open(dir int32, addr, flags uint64) {
	c.s.version(c)
	p, ok := c.pathAt(dir, addr)
	if !ok {
		return
	}
	c.openPath(p, flags)
}

func (c *call) openat2() {
	b := make([]byte, 24)
	if !c.Read(c.arg(2), b) || c.arg(3) < 24 {
		c.s.host(c.n)
		return
	}
	c.open(c.fd(0), c.arg(1), le.Uint64(b))
}

func (c *call) openPath(p string, flags uint64) {
	s := c.s
	if f, ok := c.fdinfo(p); ok {
		s.logf("[%d] open %s", c.n.PID, p)
		c.giveText(p, f, flags)
		return
	}
	if b, ok := c.mountList(p); ok {
		c.giveText(p, b, flags)
		return
	}
	if b, ok := c.memoryMaps(p); ok {
		c.giveText(p, b, flags)
		return
	}
	if c.openIDMap(p, flags) || c.openNetns(p, flags) {
		return
	}
	if !simulated(p) {
		s.host(c.n)
		return
	}
	kind, b, o := c.look(p)
	if kind != hostPath {
		s.logf("[%d] open %s", c.n.PID, p)
	}
	create := flags&unix.O_CREAT != 0
	switch kind {
	case hostPath:
		s.host(c.n)
	case absent:
		if create && bpfsys.InBPFFS(p) {
			s.reply(c.n, 0, unix.EPERM)
			return
		}
		s.reply(c.n, 0, unix.ENOENT)
	case plain:
		if flags&unix.O_DIRECTORY != 0 {
			s.reply(c.n, 0, unix.ENOTDIR)
			return
		}
		if name := path.Base(p); name == "kprobe_events" || name == "uprobe_events" {
			c.openProbes(name, flags)
			return
		}
		if flags&unix.O_ACCMODE != unix.O_RDONLY {
			s.note("what is written to " + p + " has no effect")
		}
		c.giveText(p, b, flags)
	case directory:
		if flags&unix.O_ACCMODE != unix.O_RDONLY {
			s.reply(c.n, 0, unix.EISDIR)
			return
		}
		f, err := s.newFile(p)
		if err != nil {
			s.reply(c.n, 0, unix.ENFILE)
			return
		}
		f.path, f.dir, f.cgroup = p, true, s.cgroups[p]
		s.give(c.n, f, int(flags)&unix.O_CLOEXEC)
	case pinned:
		if l, ok := o.(*bpfsys.Link); ok {
			if r := s.sys.OpenIter(l); r.Errno == 0 {
				s.result(c.n, r)
				return
			}
		}
		s.reply(c.n, 0, unix.EIO) // as in the kernel: only iterators can be read
	}
}

// probeFile is kprobe_events or uprobe_events. It exists as long as the tool runs; what the tool writes to it is parsed when tracefs is next used.
type probeFile struct {
	f    *file
	seen string
}

// maxProbes limits the bytes read of a probe file.
const maxProbes = 1 << 20

func (c *call) openProbes(name string, flags uint64) {
	s := c.s
	p := s.probes[name]
	if p == nil {
		f, err := s.newFile(name)
		if err != nil {
			s.reply(c.n, 0, unix.ENFILE)
			return
		}
		f.kept = true
		p = &probeFile{f: f}
		s.probes[name] = p
	}
	var st unix.Stat_t
	switch err := unix.Fstat(p.f.fd, &st); {
	case flags&unix.O_TRUNC != 0:
		_ = unix.Ftruncate(p.f.fd, 0)
	case err == nil && st.Size > 0: // each write is a line, with or without a newline
		_, _ = unix.Pwrite(p.f.fd, []byte{'\n'}, st.Size)
	}
	s.give(c.n, p.f, int(flags)&(unix.O_CLOEXEC|unix.O_ACCMODE)|unix.O_APPEND)
}

// readProbes parses what was written to the probe files since the last call.
func (s *supervisor) readProbes() {
	for name, p := range s.probes {
		b := make([]byte, maxProbes)
		n, err := unix.Pread(p.f.fd, b, 0)
		if err != nil || string(b[:n]) == p.seen {
			continue
		}
		p.seen = string(b[:n])
		s.sys.TraceProbes(p.seen, name == "uprobe_events")
	}
}

// giveText gives the caller an open file with contents b.
func (c *call) giveText(p string, b []byte, flags uint64) {
	s := c.s
	f, err := s.newFile(p)
	if err != nil {
		s.reply(c.n, 0, unix.ENFILE)
		return
	}
	for rest := b; len(rest) > 0; {
		n, err := unix.Write(f.fd, rest)
		if err != nil {
			break
		}
		rest = rest[n:]
	}
	f.path = p
	s.give(c.n, f, int(flags)&(unix.O_CLOEXEC|unix.O_ACCMODE))
}

func (c *call) access(dir int32, addr uint64) {
	p, ok := c.pathAt(dir, addr)
	if !ok {
		return
	}
	switch kind, _, _ := c.lookIf(p); kind {
	case hostPath:
		c.s.host(c.n)
	case absent:
		c.s.reply(c.n, 0, unix.ENOENT)
	default:
		c.s.reply(c.n, 0, 0)
	}
}

func (c *call) lookIf(p string) (pathKind, []byte, bpfsys.Object) {
	if !simulated(p) {
		return hostPath, nil, nil
	}
	return c.look(p)
}

// attributes returns what stat(2) reports of a simulated file.
func (c *call) attributes(p string) (unix.Stat_t, pathKind) {
	kind, b, _ := c.lookIf(p)
	h := fnv.New64a()
	h.Write([]byte(p))
	st := unix.Stat_t{Dev: 0x4d, Ino: h.Sum64() >> 16, Nlink: 1, Blksize: 4096}
	switch kind {
	case plain:
		st.Mode, st.Size = unix.S_IFREG|0o444, int64(len(b))
	case directory:
		st.Mode, st.Nlink = unix.S_IFDIR|0o755, 2
		if id := c.s.cgroups[p]; id != 0 {
			st.Ino = id
		}
	case pinned:
		st.Mode = unix.S_IFREG | 0o600
	}
	return st, kind
}

func (c *call) stat(dir int32, pathAddr, to uint64) {
	if p, ok := c.s.dirOf(c.n, dir); ok {
		if name, ok := c.text(pathAddr, 4096); ok && name == "" { // AT_EMPTY_PATH
			st, kind := c.attributes(p)
			c.answer(kind, to, &st)
			return
		}
	}
	p, ok := c.pathAt(dir, pathAddr)
	if !ok {
		return
	}
	st, kind := c.attributes(p)
	c.answer(kind, to, &st)
}

// fstat reports directories of the simulated kernel as directories; they are memfds on the host.
func (c *call) fstat() {
	p, ok := c.s.dirOf(c.n, c.fd(0))
	if !ok {
		c.s.host(c.n)
		return
	}
	st, kind := c.attributes(p)
	c.answer(kind, c.arg(1), &st)
}

// answer replies with struct v unless there is nothing at the path.
func (c *call) answer(kind pathKind, to uint64, v any) {
	switch kind {
	case hostPath:
		c.s.host(c.n)
		return
	case absent:
		c.s.reply(c.n, 0, unix.ENOENT)
		return
	}
	b, err := binary.Append(nil, le, v)
	if err != nil || !c.Write(to, b) {
		c.s.reply(c.n, 0, unix.EFAULT)
		return
	}
	c.s.reply(c.n, 0, 0)
}

func (c *call) statx() {
	p, ok := c.pathAt(c.fd(0), c.arg(1))
	if !ok {
		return
	}
	st, kind := c.attributes(p)
	x := unix.Statx_t{Mask: unix.STATX_BASIC_STATS, Blksize: 4096, Nlink: uint32(st.Nlink), Mode: uint16(st.Mode), Ino: st.Ino, Size: uint64(st.Size)}
	c.answer(kind, c.arg(4), &x)
}

func magicOf(p string) int64 {
	switch {
	case strings.HasPrefix(p, cgroupRoot):
		return magicCgroup2
	case bpfsys.InBPFFS(p):
		return magicBPF
	case strings.Contains(p, "/tracing"):
		return magicTracefs
	case strings.HasPrefix(p, "/sys/kernel/debug"):
		return magicDebugfs
	}
	return magicSysfs
}

func (c *call) statfs() {
	p, ok := c.pathAt(unix.AT_FDCWD, c.arg(0))
	if !ok {
		return
	}
	kind, _, _ := c.lookIf(p)
	if kind == absent && bpfsys.InBPFFS(p) {
		c.s.reply(c.n, 0, unix.ENOENT)
		return
	}
	if strings.HasPrefix(p, "/proc/") && kind != absent {
		kind = hostPath
	}
	c.answer(kind, c.arg(1), &unix.Statfs_t{Type: magicOf(p), Bsize: 4096, Namelen: 255})
}

func (c *call) fstatfs() {
	p, ok := c.s.dirOf(c.n, c.fd(0))
	if !ok {
		c.s.host(c.n)
		return
	}
	c.answer(directory, c.arg(1), &unix.Statfs_t{Type: magicOf(p), Bsize: 4096, Namelen: 255})
}

// fileAt returns the simulated file of a descriptor, or nil.
func (s *supervisor) fileAt(n *notif, fd int32) *file {
	g, err := s.grab(n, fd)
	if err != nil {
		return nil
	}
	defer unix.Close(g)
	var st unix.Stat_t
	if unix.Fstat(g, &st) != nil || st.Dev != s.dev {
		return nil
	}
	return s.files[st.Ino]
}

// dirOf returns the path of a descriptor of a simulated directory.
func (s *supervisor) dirOf(n *notif, fd int32) (string, bool) {
	f := s.fileAt(n, fd)
	if f == nil || !f.dir {
		return "", false
	}
	return f.path, true
}

// fdinfo returns /proc/self/fdinfo/N of a kernel object.
func (c *call) fdinfo(p string) ([]byte, bool) {
	fd, ok := c.ownFD(p, "fdinfo")
	if !ok {
		return nil, false
	}
	o := c.File(fd).Object
	if o == nil {
		return nil, false
	}
	return c.s.sys.FDInfo(o), true
}

// ownFD returns the descriptor that a path under the caller's /proc/PID/dir names.
func (c *call) ownFD(p, dir string) (int32, bool) {
	rest, ok := strings.CutPrefix(p, "/proc/")
	if !ok {
		return 0, false
	}
	who, rest, _ := strings.Cut(rest, "/")
	if who != "self" && who != strconv.Itoa(c.s.processOf(c.n.PID).tgid) && who != "thread-self" {
		return 0, false
	}
	rest, ok = strings.CutPrefix(rest, dir+"/")
	n, err := strconv.ParseInt(rest, 10, 32)
	return int32(n), ok && err == nil
}

func (c *call) readlink(dir int32, addr, to, size uint64) {
	p, ok := c.text(addr, 4096)
	if !ok || !strings.HasPrefix(p, "/proc/") {
		c.s.host(c.n)
		return
	}
	fd, ok := c.ownFD(path.Clean(p), "fd")
	if !ok {
		c.s.host(c.n)
		return
	}
	var text string
	switch o := c.File(fd).Object.(type) {
	case *bpfsys.Map:
		text = "anon_inode:bpf-map"
	case *bpfsys.Prog:
		text = "anon_inode:bpf-prog"
	case *bpfsys.BTF:
		text = "anon_inode:btf"
	case *bpfsys.Link:
		text = "anon_inode:bpf-link"
	case *bpfsys.PerfEvent:
		text = "anon_inode:[perf_event]"
	case *bpfsys.Iter:
		text = "anon_inode:bpf_iter"
	default:
		_ = o
		c.s.host(c.n)
		return
	}
	b := []byte(text)
	b = b[:min(uint64(len(b)), size)]
	if !c.Write(to, b) {
		c.s.reply(c.n, 0, unix.EFAULT)
		return
	}
	c.s.reply(c.n, int64(len(b)), 0)
}

// inFS reads a path and reports whether it is in the simulated bpffs; otherwise it lets the host serve the call.
func (c *call) inFS(dir int32, addr uint64) (string, bool) {
	p, ok := c.pathAt(dir, addr)
	if !ok {
		return "", false
	}
	if !bpfsys.InBPFFS(p) {
		c.s.host(c.n)
		return "", false
	}
	return p, true
}

func (c *call) mkdir(dir int32, addr uint64) {
	s := c.s
	p, ok := c.pathAt(dir, addr)
	switch {
	case !ok:
	case bpfsys.InBPFFS(p):
		s.reply(c.n, 0, errnoOf(s.sys.Mkdir(p)))
	case strings.HasPrefix(p, cgroupRoot+"/"):
		s.reply(c.n, 0, c.makeCgroup(p))
	default:
		s.host(c.n)
	}
}

// cgroupRoot is where the host mounts cgroups. The cgroups that the tool creates there are simulated: they are empty and serve as attach targets.
const cgroupRoot = "/sys/fs/cgroup"

// maxCgroups limits the cgroups that the tool can create.
const maxCgroups = 4096

func (c *call) makeCgroup(p string) unix.Errno {
	s := c.s
	_, exists := c.IsFile(p)
	_, parent := c.IsFile(path.Dir(p))
	switch {
	case exists || s.cgroups[p] != 0:
		return unix.EEXIST
	case !parent && s.cgroups[path.Dir(p)] == 0:
		return unix.ENOENT
	case len(s.cgroups) >= maxCgroups:
		return unix.EAGAIN
	}
	s.lastCgroup++
	s.cgroups[p] = 1<<32 + s.lastCgroup // above the ids of the host's cgroups
	return 0
}

func (c *call) unlink(dir int32, addr uint64, isDir bool) {
	p, ok := c.pathAt(dir, addr)
	switch {
	case !ok:
	case c.s.cgroups[p] != 0 && !isDir:
		c.s.reply(c.n, 0, unix.EISDIR)
	case c.s.cgroups[p] != 0:
		delete(c.s.cgroups, p)
		c.s.reply(c.n, 0, 0)
	case !bpfsys.InBPFFS(p):
		c.s.host(c.n)
	default:
		c.s.reply(c.n, 0, errnoOf(c.s.sys.Unlink(p, isDir)))
	}
}

func (c *call) rename(fromDir int32, from uint64, toDir int32, to uint64, flags uint64) {
	p, ok := c.inFS(fromDir, from)
	if !ok {
		return
	}
	q, ok := c.text(to, 4096)
	if !ok {
		c.s.reply(c.n, 0, unix.EFAULT)
		return
	}
	if flags&^uint64(unix.RENAME_NOREPLACE) != 0 {
		c.s.reply(c.n, 0, unix.EINVAL)
		return
	}
	c.s.reply(c.n, 0, errnoOf(c.s.sys.Rename(p, c.Path(toDir, q), flags&unix.RENAME_NOREPLACE != 0)))
}
