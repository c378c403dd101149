//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
)

// Where a path leads. Simulated trees are mounted into the caller's file system by place, not by
// spelling: the path is walked component by component from the caller's root, working directory or
// descriptor, through links of the host and the links of /proc, as path_resolution(7) says. The
// walk only decides who serves a call; the host's kernel walks again what it serves.

// place is where a path leads.
type place struct {
	// at is the clean absolute path from the root of the host. Files of the caller's process are in
	// /proc/self.
	at string
	// path is at, as the simulated kernel knows it: in its own mount of the file system, or in an
	// instance of bpffs.
	path string
	// file is set when an empty path means a descriptor of something simulated.
	file *file
	// drifts means that the path begins in a simulated directory or follows a simulated link, adrift
	// that it leads to a place of the host, which the host's kernel would not find.
	drifts, adrift bool
	// hosts means a place of the host for which nothing more needs to be known: at is not set.
	hosts bool
}

func (p place) String() string { return strconv.Quote(p.at) }

// ours reports whether the simulated kernel may have something at the place.
func (p place) ours() bool { return !p.hosts && !p.adrift && (p.file != nil || simulated(p.path)) }

// simulated is a cheap check whether a place may be simulated, so that most files cost nothing
// more.
func simulated(p string) bool {
	for _, prefix := range [...]string{"/sys/", "/proc/", "/boot/config-", "/lib/modules/"} {
		if strings.HasPrefix(p, prefix) {
			return true
		}
	}
	return false
}

// Limits of the kernel: bytes of a path, and links that are followed in one.
const (
	maxPath  = 4096
	maxLinks = 40
)

// follows reports whether a link at the end of a path is followed, and whether the directory that
// the path begins in is also its root.
func (a pathArg) follows(c *call) (follow, inRoot bool) {
	follow = !a.link && !a.noFollow.in(c) || a.follow.in(c)
	if a.openFlags < 0 {
		return follow, false
	}
	flags := c.arg(a.openFlags)
	if a.how {
		b := make([]byte, 24)
		if !c.Read(flags, b) {
			return follow, false
		}
		flags, inRoot = le.Uint64(b), le.Uint64(b[16:])&unix.RESOLVE_IN_ROOT != 0
	}
	const fresh = unix.O_CREAT | unix.O_EXCL // a link is an existing file
	return flags&unix.O_NOFOLLOW == 0 && flags&fresh != fresh, inRoot
}

// placeOf reads a path argument and resolves it.
func (c *call) placeOf(a pathArg) (place, unix.Errno) {
	dir := int32(unix.AT_FDCWD)
	if a.dir >= 0 {
		dir = c.fd(a.dir)
	}
	addr := c.arg(a.path)
	switch {
	case addr != 0:
	case a.null:
		return c.placeOfFD(dir), 0
	default:
		return place{hosts: true}, 0 // the host knows what no path means
	}
	var p string
	var errno unix.Errno
	if a.length >= 0 {
		p, errno = c.socketPath(addr, c.arg(a.length))
	} else {
		p, errno = c.pathText(addr)
	}
	if errno != 0 {
		return place{}, errno
	}
	if p == "" {
		if a.length >= 0 { // no socket of a path
			return place{hosts: true}, 0
		}
		if !a.empty.in(c) && !a.readsLink() {
			return place{}, unix.ENOENT
		}
		return c.placeOfFD(dir), 0
	}
	follow, inRoot := a.follows(c)
	if !a.full && !inRoot && c.quick(dir, p, follow) {
		return place{hosts: true}, 0
	}
	return c.adrift(c.resolve(dir, p, follow, inRoot)), 0
}

// adrift marks a place of the host that the host's kernel would not find.
func (c *call) adrift(p place) place {
	if p.drifts {
		p.adrift = c.servedByHost(p)
	}
	return p
}

// readsLink reports whether the call is readlinkat(2), for which an empty path means a descriptor
// of a link.
func (a pathArg) readsLink() bool {
	return a.link && a.dir >= 0 && a.empty.bits == 0 && a.follow.bits == 0
}

// pathText reads a path.
func (c *call) pathText(addr uint64) (string, unix.Errno) {
	p, ok := c.text(addr, maxPath)
	switch {
	case ok:
		return p, 0
	case c.barred != 0:
		return "", c.barred
	case p != "":
		return "", unix.ENAMETOOLONG
	}
	return "", unix.EFAULT
}

// socketPath reads the path of a struct sockaddr_un; it is empty for other addresses.
func (c *call) socketPath(addr, size uint64) (string, unix.Errno) {
	const family, most = 2, 110
	if size <= family || size > 128 {
		return "", 0
	}
	b := make([]byte, min(size, most))
	switch {
	case !c.Read(addr, b) && c.barred != 0:
		return "", c.barred
	case le.Uint16(b) != unix.AF_UNIX:
		return "", 0
	}
	p, _, _ := strings.Cut(string(b[family:]), "\x00")
	return p, 0
}

// placeOfFD is what a descriptor refers to.
func (c *call) placeOfFD(fd int32) place {
	if fd == unix.AT_FDCWD {
		return c.adrift(c.resolve(fd, ".", true, false))
	}
	text, err := os.Readlink(c.fdName(fd))
	switch {
	case err != nil:
		return place{hosts: true}
	case strings.HasPrefix(text, memfdName):
		if f := c.s.fileAt(c.n, fd); f != nil && f.dir {
			return place{at: c.s.unmounted(f.path), path: f.path, file: f}
		}
	case path.IsAbs(text):
		w := c.walker()
		return w.place(text)
	}
	return place{hosts: true}
}

// memfdName is how /proc shows the memfds of simulated files and objects.
const memfdName = "/memfd:bpfrun:"

func (c *call) fdName(fd int32) string { return fmt.Sprintf("/proc/%d/fd/%d", c.n.PID, fd) }

// resolve returns, without asking the simulated kernel for more than [bpfsys.System.Covers], where
// a path leads that begins at the root, if it is absolute, or at a directory. With inRoot the
// directory is the root.
func (c *call) resolve(dir int32, p string, follow, inRoot bool) place {
	w := c.walker()
	from, drifts := w.root, false
	if !path.IsAbs(p) || inRoot {
		var ok bool
		if from, drifts, ok = c.directory(dir); !ok {
			return place{hosts: true} // the host reports what is wrong with the descriptor
		}
	}
	if inRoot {
		w.root = from
	}
	out := w.place(w.walk(from, p, follow))
	out.drifts = drifts || w.drifts
	return out
}

// servedByHost reports whether the simulated kernel has nothing at a place.
func (c *call) servedByHost(p place) bool {
	if !p.ours() {
		return true
	}
	kind, _, _ := c.look(p)
	return kind == hostPath
}

// quick reports whether a path certainly leads to a place of the host, with a few calls: the host's
// kernel walks it, without the links of /proc, from the caller's directory.
func (c *call) quick(dir int32, p string, follow bool) bool {
	from := fmt.Sprintf("/proc/%d/root", c.n.PID)
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_IN_ROOT}
	switch {
	case len(c.s.mounts) > 0:
		return false
	case path.IsAbs(p):
		if simulated(p) {
			return false
		}
	case dir == unix.AT_FDCWD:
		if len(c.s.workDirs) > 0 {
			return false
		}
		from = fmt.Sprintf("/proc/%d/cwd", c.n.PID)
		how.Resolve = unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_SYMLINKS // whose root would be this process's
	default:
		from = c.fdName(dir)
		how.Resolve = unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_SYMLINKS
	}
	if !follow {
		how.Flags |= unix.O_NOFOLLOW
	}
	d, err := unix.Open(from, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(d)
	fd, err := unix.Openat2(d, p, &how)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var fs unix.Statfs_t
	if unix.Fstatfs(fd, &fs) != nil || specialMagic(int64(fs.Type)) {
		return false
	}
	text, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
	return err == nil && path.IsAbs(text) && !simulated(knownAs(text)) && !strings.HasPrefix(text, memfdName)
}

// specialMagic reports whether a file system is one that may have simulated places, wherever it is
// mounted.
func specialMagic(magic int64) bool {
	switch magic {
	case magicProc, magicSysfs, magicTracefs, magicDebugfs, magicBPF:
		return true
	}
	return false
}

// directory returns the place of a directory that a path begins in. drifts means that it is not
// where the host's kernel begins.
func (c *call) directory(dir int32) (at string, drifts, ok bool) {
	if dir == unix.AT_FDCWD {
		if at, ok := c.s.workDir(int(c.n.PID)); ok {
			return at, true, true
		}
		at, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", c.n.PID))
		return at, false, err == nil && path.IsAbs(at)
	}
	at, err := os.Readlink(c.fdName(dir))
	if err != nil || !path.IsAbs(at) {
		return "", false, false
	}
	if strings.HasPrefix(at, memfdName) {
		if p, ok := c.s.dirOf(c.n, dir); ok {
			return c.s.unmounted(p), true, true
		}
	}
	return at, false, true
}

// walker walks paths for one call.
type walker struct {
	c      *call
	root   string // of the caller, as the host has it
	mounts *mountTable
	links  int
	drifts bool // it followed a link that the host does not have
}

func (c *call) walker() *walker {
	w := &walker{c: c, root: "/"}
	if text, err := os.Readlink(fmt.Sprintf("/proc/%d/root", c.n.PID)); err == nil && path.IsAbs(text) {
		w.root = text
	}
	w.mounts = c.s.mountsOf(c.n.PID, w.root)
	return w
}

// walk returns where p leads from a directory.
func (w *walker) walk(from, p string, follow bool) string {
	at := from
	if path.IsAbs(p) {
		at = w.root
	}
	for rest := p; rest != ""; {
		name, left, more := strings.Cut(rest, "/")
		rest = left
		switch name {
		case "", ".":
			continue
		case "..":
			at = w.parent(at)
			continue
		}
		next := path.Join(at, name)
		if own := w.own(at, name); own != "" {
			at = own
			continue
		}
		known := w.known(next)
		if to := w.c.s.taskLink(known); path.IsAbs(to) && (more || follow) {
			at, w.drifts = to, true
			continue
		}
		text, jump := w.c.s.bpffsLink(known), false
		if text == "" && (w.c.s.covers(known) || w.c.coversDevice(known) || w.c.behindCgroups(next, known)) || !more && !follow {
			at = next
			continue
		}
		if w.drifts = w.drifts || text != ""; text == "" {
			text, jump = w.link(next, known)
		}
		switch {
		case text == "":
			at = next
		case jump:
			at = text
		default:
			if w.links++; w.links > maxLinks || len(rest)+len(text) > 2*maxPath {
				return next // the host reports ELOOP
			}
			if path.IsAbs(text) {
				at = w.root
			}
			if rest = text + "/" + rest; !more {
				rest = text
			}
		}
	}
	return at
}

// parent returns the directory that a directory is in.
func (w *walker) parent(at string) string {
	switch {
	case at == w.root:
		return at
	case bpfsys.IsBPFFSRoot(at): // mounted nowhere
		return at
	}
	return path.Dir(at)
}

// own returns the place in /proc/self of a name in /proc that means the caller; it is empty for
// others. These links depend on who follows them.
func (w *walker) own(at, name string) string {
	if known := w.known(at); known != "/proc" {
		return ""
	}
	switch name {
	case "self":
		return "/proc/self"
	case "thread-self":
		_, tid := w.c.ids()
		return "/proc/self/task/" + tid
	}
	if name[0] >= '1' && name[0] <= '9' {
		if tgid, tid := w.c.ids(); name == tgid {
			return "/proc/self"
		} else if name == tid {
			return "/proc/self/task/" + tid
		}
	}
	return ""
}

// ids returns the caller's process and thread ids in its own PID namespace.
func (c *call) ids() (tgid, tid string) {
	tgid, tid = strconv.Itoa(c.process().tgid), strconv.Itoa(int(c.n.PID))
	if samePIDs(c.n.PID) {
		return tgid, tid
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.n.PID))
	if err != nil {
		return tgid, tid
	}
	for l := range strings.Lines(string(b)) {
		if f := strings.Fields(l); len(f) > 1 {
			switch f[0] {
			case "NStgid:":
				tgid = f[len(f)-1]
			case "NSpid:":
				tid = f[len(f)-1]
			}
		}
	}
	return tgid, tid
}

// link returns the text of a symbolic link, empty if there is none. jump means one of /proc that
// leads to a place, whatever its text would mean as a path.
func (w *walker) link(at, known string) (text string, jump bool) {
	name := w.c.hostName(at, w.root)
	inProc := strings.HasPrefix(known, "/proc/")
	if inProc && path.Base(known) == "cwd" {
		if pid, ok := pidIn(name); ok {
			if dir, ok := w.c.s.workDir(pid); ok {
				return dir, true
			}
		}
	}
	text, err := os.Readlink(name)
	switch {
	case err != nil:
		return "", false
	case !inProc:
		return text, false
	case !path.IsAbs(text):
		if strings.Contains(text, ":[") {
			return "", false // no place: a pipe, a socket, a namespace
		}
		return text, false
	case !strings.HasPrefix(text, memfdName):
		return text, true
	}
	var st unix.Stat_t
	if unix.Stat(name, &st) == nil && st.Dev == w.c.s.dev {
		if f := w.c.s.files[st.Ino]; f != nil && f.dir {
			return w.c.s.unmounted(f.path), true
		}
	}
	return "", false
}

// pidIn returns the process or thread of a name in this process's /proc.
func pidIn(name string) (int, bool) {
	rest, ok := strings.CutPrefix(name, "/proc/")
	dir, file := path.Split(rest)
	if !ok || file == "" {
		return 0, false
	}
	pid, err := strconv.Atoi(path.Base(dir))
	return pid, err == nil
}

// hostName returns a name with which this process reaches a place of the host that a walk found.
func (c *call) hostName(at, root string) string {
	if rest, ok := strings.CutPrefix(at, "/proc/self"); ok && (rest == "" || rest[0] == '/') {
		if samePIDs(c.n.PID) {
			return fmt.Sprintf("/proc/%d%s", c.process().tgid, rest)
		}
		tgid, _ := c.ids()
		at = "/proc/" + tgid + rest
	}
	if root == "/" {
		return fmt.Sprintf("/proc/%d/root%s", c.n.PID, at)
	}
	if rest, ok := strings.CutPrefix(at, root); ok && (rest == "" || rest[0] == '/') {
		return fmt.Sprintf("/proc/%d/root%s", c.n.PID, rest)
	}
	return at
}

// place returns what the simulated kernel calls a place that a walk found.
func (w *walker) place(at string) place { return place{at: at, path: w.known(at)} }

// known returns the path by which the simulated kernel knows a place of the host.
func (w *walker) known(at string) string {
	if p := w.c.mounted(at); p != at {
		return p
	}
	known := knownAs(w.mounts.translate(at, w.root))
	if !simulated(known) && w.root != "/" { // a root directory with the kernel's file systems in it
		if rest, ok := strings.CutPrefix(at, w.root+"/"); ok && simulated(knownAs("/"+rest)) {
			return knownAs("/" + rest)
		}
	}
	return known
}

// aliases are the places of links that every system may have: the walk follows them, and the
// simulated kernel knows the other name.
var aliases = [][2]string{{"/usr/lib/modules/", "/lib/modules/"}, {"/sys/devices/", "/sys/bus/event_source/devices/"}}

// knownAs replaces an alias.
func knownAs(at string) string {
	for _, a := range aliases {
		if rest, ok := strings.CutPrefix(at, a[0]); ok && (a[0] != "/sys/devices/" || bpfsys.IsPMU(rest)) {
			return a[1] + rest
		}
	}
	return at
}
