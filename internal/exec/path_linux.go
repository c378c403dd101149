//go:build linux && (amd64 || arm64)

package exec

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
)

// pathKind is what the simulated kernel has at a path.
type pathKind uint8

const (
	hostPath pathKind = iota // not simulated
	absent
	plain
	directory
	pinned
	symlink // a symbolic link, which the path does not follow
)

// look returns what the simulated kernel has at a place. File contents are generated on each call.
func (c *call) look(at place) (pathKind, []byte, bpfsys.Object) {
	s, p := c.s, at.path
	if !at.ours() {
		return hostPath, nil, nil
	}
	if kind, b := s.lookCgroup(p); kind != hostPath {
		return kind, b, nil
	}
	if c.behindCgroups(at.at, p) {
		return absent, nil, nil
	}
	if bpfsys.InBPFFS(p) {
		e, ok := s.sys.Stat(p)
		switch {
		case !ok:
			return absent, nil, nil
		case e.Dir:
			return directory, nil, nil
		case e.Link != "":
			return symlink, []byte(e.Link), nil
		}
		return pinned, nil, e.Object
	}
	if kind, b := c.lookShared(p); kind != hostPath {
		return kind, b, nil
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
	if !s.headers && s.sys.Headers(p) && unix.Access(p, unix.F_OK) != nil {
		s.headers = true
	}
	return hostPath, nil, nil
}

// covers reports whether the host has nothing at a place and below it: the tree is simulated as a
// whole.
func (s *supervisor) covers(p string) bool {
	if s.cgroups[p] != 0 && p != cgroupRoot || bpfsys.InBPFFS(p) || s.sys.Covers(p) {
		return true
	}
	_, task := s.taskPath(p)
	return task
}

func (c *call) openat2(at place) {
	b := make([]byte, 24)
	if !c.Read(c.arg(2), b) || c.arg(3) < 24 {
		c.s.reply(c.n, 0, unix.EINVAL)
		return
	}
	c.open(at, le.Uint64(b))
}

func (c *call) open(at place, flags uint64) {
	s, p := c.s, at.path
	s.version(c)
	for _, read := range [...]func(*call, string) ([]byte, bool){(*call).fdinfo, (*call).mountList, (*call).memoryMaps, (*call).netDevices} {
		if b, ok := read(c, p); ok {
			s.logf("[%d] open %s", c.n.PID, p)
			c.giveText(p, b, flags)
			return
		}
	}
	if c.openIDMap(p, flags) || c.openNetns(p, flags) {
		return
	}
	if !at.ours() {
		s.host(c.n)
		return
	}
	kind, b, o := c.look(at)
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
		if name := path.Base(p); flags&unix.O_ACCMODE != unix.O_RDONLY && (name == "kprobe_events" || name == "uprobe_events") {
			c.openProbes(name, flags)
			return
		}
		if flags&unix.O_ACCMODE != unix.O_RDONLY && s.cgroups[path.Dir(p)] != 0 && slices.Contains(joins, path.Base(p)) {
			c.openJoin(p, flags)
			return
		}
		if flags&unix.O_ACCMODE != unix.O_RDONLY {
			s.note("writes to " + p + " are ignored")
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
	case symlink:
		s.reply(c.n, 0, unix.ELOOP)
	}
}

// probeFile is kprobe_events or uprobe_events. It exists as long as the tool runs; what the tool
// writes to it is parsed when tracefs is next used.
type probeFile struct {
	f    *file
	seen string
}

// maxProbes limits the bytes read of a probe file, and of the ids of tasks that joined a cgroup.
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

func (c *call) access(at []place) {
	switch kind, _, _ := c.look(at[0]); kind {
	case hostPath:
		c.s.host(c.n)
	case absent:
		c.s.reply(c.n, 0, unix.ENOENT)
	default:
		c.s.reply(c.n, 0, 0)
	}
}

// attributes returns what stat(2) reports of a simulated file.
func (c *call) attributes(at place) (unix.Stat_t, pathKind) {
	kind, b, _ := c.look(at)
	h := fnv.New64a()
	h.Write([]byte(at.path))
	st := unix.Stat_t{Dev: 0x4d, Ino: h.Sum64() >> 16, Nlink: 1, Blksize: 4096}
	switch kind {
	case plain:
		st.Mode, st.Size = unix.S_IFREG|0o444, int64(len(b))
	case directory:
		st.Mode, st.Nlink = unix.S_IFDIR|0o755, 2
		if id := c.s.cgroups[at.path]; id != 0 {
			st.Ino = id
		}
	}
	if rest, ok := c.s.taskPath(at.path); ok && kind == plain {
		switch e := c.s.sys.Task(rest, nil); {
		case e.Ino != 0:
			st.Ino = e.Ino
		case e.Link != "":
			st.Mode, st.Size = unix.S_IFLNK|0o777, int64(len(e.Link))
		}
	}
	switch kind {
	case pinned:
		st.Mode = unix.S_IFREG | 0o600
	case symlink:
		st.Mode, st.Size = unix.S_IFLNK|0o777, int64(len(b))
	}
	return st, kind
}

func (c *call) stat(at place, to uint64) {
	st, kind := c.attributes(at)
	c.answer(kind, to, &st)
}

// fstat reports directories of the simulated kernel as directories; they are memfds on the host.
func (c *call) fstat() {
	p, ok := c.s.dirOf(c.n, c.fd(0))
	if !ok {
		c.s.host(c.n)
		return
	}
	c.stat(place{path: p}, c.arg(1))
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

func (c *call) statx(at []place) {
	st, kind := c.attributes(at[0])
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

func (c *call) statfs(at []place) {
	p := at[0].path
	kind, _, _ := c.look(at[0])
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

// ownFile returns the name of a file in the caller's own directory of /proc, as a resolved path has
// it.
func (c *call) ownFile(p string) (name string, ok bool) {
	rest, ok := strings.CutPrefix(p, "/proc/self/")
	if !ok {
		return "", false
	}
	if task, found := strings.CutPrefix(rest, "task/"); found {
		tid, name, _ := strings.Cut(task, "/")
		_, own := c.ids()
		return name, tid == own
	}
	return rest, true
}

// ownFD returns the descriptor that a path in dir of the caller's directory in /proc names.
func (c *call) ownFD(p, dir string) (int32, bool) {
	name, ok := c.ownFile(p)
	name, found := strings.CutPrefix(name, dir+"/")
	if !ok || !found {
		return 0, false
	}
	n, err := strconv.ParseInt(name, 10, 32)
	return int32(n), err == nil
}

// objectLinks are the texts of the links in /proc/self/fd of objects.
var objectLinks = map[bpfsys.Kind]string{
	bpfsys.KindMap: "anon_inode:bpf-map", bpfsys.KindProg: "anon_inode:bpf-prog", bpfsys.KindBTF: "anon_inode:btf", bpfsys.KindLink: "anon_inode:bpf-link",
	bpfsys.KindPerf: "anon_inode:[perf_event]", bpfsys.KindIter: "anon_inode:bpf_iter",
}

// linkText returns the text of a link of the caller that the simulated kernel knows better than the
// host.
func (c *call) linkText(p string) string {
	if name, ok := c.ownFile(p); ok && name == "cwd" {
		dir, _ := c.s.workDir(int(c.n.PID))
		return dir
	}
	if text := cmp.Or(c.s.taskLink(p), c.s.bpffsLink(p)); text != "" {
		return text
	}
	fd, ok := c.ownFD(p, "fd")
	if !ok {
		return ""
	}
	f := c.s.fileAt(c.n, fd)
	switch {
	case f == nil:
		return ""
	case f.object != nil:
		return objectLinks[f.object.Kind()]
	}
	return c.s.unmounted(f.path)
}

func (c *call) readlink(at place, to, size uint64) {
	text := c.linkText(at.path)
	if text == "" {
		switch kind, _, _ := c.look(at); kind {
		case hostPath:
			c.s.host(c.n)
		case absent:
			c.s.reply(c.n, 0, unix.ENOENT)
		default:
			c.s.reply(c.n, 0, unix.EINVAL)
		}
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

// bpffsLink returns the text of a symbolic link in a bpffs, "" for other paths.
func (s *supervisor) bpffsLink(p string) string {
	if !bpfsys.InBPFFS(p) {
		return ""
	}
	return s.sys.Link(p)
}

// symlink makes a symbolic link with the text of the first argument.
func (c *call) symlink(at []place) {
	s, p := c.s, at[0].path
	switch {
	case !at[0].ours():
		s.host(c.n)
	case bpfsys.InBPFFS(p):
		text, ok := c.text(c.arg(0), maxPath)
		switch {
		case !ok:
			s.reply(c.n, 0, unix.EFAULT)
		case text == "":
			s.reply(c.n, 0, unix.ENOENT)
		default:
			s.reply(c.n, 0, errnoOf(s.sys.Symlink(p, text)))
		}
	default:
		c.change(at[0], "symlink", true)
	}
}

func (c *call) mkdir(at []place) {
	s, p := c.s, at[0].path
	switch {
	case !at[0].ours():
		s.host(c.n)
	case bpfsys.InBPFFS(p):
		s.reply(c.n, 0, errnoOf(s.sys.Mkdir(p)))
	case strings.HasPrefix(p, cgroupRoot+"/"):
		s.reply(c.n, 0, c.makeCgroup(at[0]))
	default:
		c.change(at[0], "mkdir", true)
	}
}

// change answers a call that would create or remove a simulated place outside of bpffs, or has the
// host answer if the place is its own.
func (c *call) change(at place, name string, creates bool) {
	kind, _, _ := c.look(at)
	switch {
	case kind == hostPath:
		c.s.host(c.n)
	case kind == absent && !creates:
		c.s.reply(c.n, 0, unix.ENOENT)
	case kind != absent && name == "mkdir":
		c.s.reply(c.n, 0, unix.EEXIST)
	default:
		c.s.note(fmt.Sprintf("%s(2) of %s is refused: it is simulated, and this call is not served there", name, at))
		c.s.reply(c.n, 0, unix.EPERM)
	}
}

func (c *call) unlink(at place, isDir bool) {
	name := "unlink"
	if isDir {
		name = "rmdir"
	}
	switch p := at.path; {
	case !at.ours():
		c.s.host(c.n)
	case c.s.cgroups[p] != 0 && !isDir:
		c.s.reply(c.n, 0, unix.EISDIR)
	case c.s.cgroups[p] != 0:
		c.s.reply(c.n, 0, c.s.removeCgroup(p))
	case bpfsys.InBPFFS(p):
		c.s.reply(c.n, 0, errnoOf(c.s.sys.Unlink(p, isDir)))
	default:
		c.change(at, name, false)
	}
}

func (c *call) rename(at []place, flags uint64) {
	from, to := at[0], at[1]
	switch {
	case !bpfsys.InBPFFS(from.path) && !bpfsys.InBPFFS(to.path):
		if kind, _, _ := c.look(from); kind == hostPath {
			c.change(to, "rename", true)
			return
		}
		c.change(from, "rename", false)
	case flags&^uint64(unix.RENAME_NOREPLACE) != 0:
		c.s.reply(c.n, 0, unix.EINVAL)
	case !bpfsys.InBPFFS(from.path):
		c.s.reply(c.n, 0, unix.EXDEV)
	default:
		c.s.reply(c.n, 0, errnoOf(c.s.sys.Rename(from.path, to.path, flags&unix.RENAME_NOREPLACE != 0)))
	}
}
