package bpfsys

import (
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/bpfattr"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// BPFFS is the mount point of the simulated bpffs.
const BPFFS = "/sys/fs/bpf"

// bpffs is the simulated BPF file system: directories, pinned objects and the texts of symbolic
// links by path. Links have a lock of their own, since a path of a call is followed while the
// system is locked.
type bpffs struct {
	dirs   map[string]bool
	pins   map[string]Object
	links  *sync.Map
	supers map[string]*superBlock // instances by the path of their root
	made   int
}

func (f *bpffs) init() {
	f.dirs, f.pins, f.links, f.supers = map[string]bool{BPFFS: true}, map[string]Object{}, &sync.Map{}, map[string]*superBlock{BPFFS: {}}
}

// InBPFFS reports whether a clean absolute path is in the bpffs at [BPFFS], or in an instance of
// [System.NewBPFFS].
func InBPFFS(p string) bool {
	rest, ok := strings.CutPrefix(p, BPFFS)
	return ok && (rest == "" || rest[0] == '/' || rest[:1] == rootMark)
}

// maxPins and maxLinks limit the number of entries in the file system; maxPath limits the length of
// their paths.
const (
	maxPins  = 1 << 16
	maxLinks = 1 << 10
	maxPath  = 4096
)

// lookupParent checks that a path can be created: its directory must exist, and the path must not.
func (f *bpffs) lookupParent(p string) uapi.Errno {
	switch {
	case f.dirs[p] || f.isFile(p):
		return uapi.EEXIST
	case f.isFile(path.Dir(p)):
		return uapi.ENOTDIR
	case !f.dirs[path.Dir(p)]:
		return uapi.ENOENT
	case len(f.dirs)+len(f.pins) >= maxPins:
		return uapi.ENOSPC
	case strings.Contains(path.Base(p), "."):
		return uapi.EPERM // bpf_lookup: names with a dot are reserved for the kernel
	}
	return 0
}

// isFile reports whether an object or a symbolic link is at a path.
func (f *bpffs) isFile(p string) bool { return f.pins[p] != nil || f.link(p) != "" }

// link returns the text of a symbolic link, "" if there is none.
func (f *bpffs) link(p string) string {
	text, _ := f.links.Load(p)
	s, _ := text.(string)
	return s
}

// linked returns the paths of all symbolic links.
func (f *bpffs) linked() (out []string) {
	f.links.Range(func(p, _ any) bool {
		out = append(out, p.(string))
		return true
	})
	return out
}

// pathOf reads the path argument of BPF_OBJ_PIN and BPF_OBJ_GET.
func (s *System) pathOf(c Caller, a bpfattr.Obj) (string, uint32, uapi.Errno) {
	flags := a.FileFlags()
	dir := int32(-100) // AT_FDCWD
	if flags&uapi.MapPathFD != 0 {
		if !s.has(since.PathFD) {
			return "", 0, uapi.EINVAL
		}
		dir = a.PathFd()
	} else if a.PathFd() != 0 {
		return "", 0, uapi.EINVAL
	}
	p, ok := cstring(c, a.Pathname(), maxPath)
	switch {
	case !ok && p == "":
		return "", 0, uapi.EFAULT
	case !ok:
		return "", 0, uapi.ENAMETOOLONG
	case p == "":
		return "", 0, uapi.ENOENT
	}
	return c.Path(dir, p), flags &^ uint32(uapi.MapPathFD), 0
}

// objPin makes a file of an object (bpf_obj_pin_user), by which it stays when nobody has it open.
func (s *System) objPin(c Caller, a bpfattr.Obj) Result {
	p, flags, e := s.pathOf(c, a)
	if flags != 0 || e == uapi.EINVAL || a.FileFlags()&^uint32(uapi.MapPathFD) != 0 { // before the descriptor (bpf_obj_pin)
		return fail(uapi.EINVAL)
	}
	f := c.File(a.BpfFd())
	switch {
	case f.Kind == NoFile:
		return fail(uapi.EBADF)
	case f.Kind != ObjectFile:
		return fail(uapi.EINVAL)
	case e != 0:
		return fail(e)
	}
	switch f.Object.Kind() {
	case KindMap, KindProg, KindLink:
	default:
		return fail(uapi.EINVAL)
	}
	if !InBPFFS(p) {
		return Result{Errno: uapi.EPERM, Note: p + " is not on a bpffs; the simulated one is mounted at " + BPFFS}
	}
	if e := s.fs.lookupParent(p); e != 0 {
		return fail(e)
	}
	s.hold(f.Object)
	s.fs.pins[p] = f.Object
	return Result{}
}

// objGet opens a pinned object (bpf_obj_get_user). Which access is allowed is asked for here, and
// not by the file's mode alone.
func (s *System) objGet(c Caller, a bpfattr.Obj) Result {
	p, flags, e := s.pathOf(c, a)
	access, ok := accessOf(flags)
	if a.BpfFd() != 0 || !ok || flags&^uint32(uapi.MapRdonly|uapi.MapWronly) != 0 {
		return fail(uapi.EINVAL)
	}
	if e != 0 {
		return fail(e)
	}
	o := s.fs.pins[p]
	switch {
	case o == nil && s.fs.dirs[p]:
		return fail(uapi.EACCES)
	case o == nil:
		return fail(uapi.ENOENT)
	}
	// Links have no access that could be restricted (bpf_link_new_fd).
	if o.Kind() == KindLink && access != ReadWrite {
		return fail(uapi.EINVAL)
	}
	return s.newFile(o, access)
}

// The file system operations. Paths are clean and inside the simulated bpffs; errors are those of
// the system calls.

// Entry describes what exists at a path of the bpffs: one of its fields is set.
type Entry struct {
	Dir    bool
	Object Object
	Link   string // text of a symbolic link
}

// Stat looks up a path; false means that it does not exist.
func (s *System) Stat(p string) (Entry, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Entry{s.fs.dirs[p], s.fs.pins[p], s.fs.link(p)}, s.fs.dirs[p] || s.fs.isFile(p)
}

// Symlink creates a symbolic link (bpf_symlink).
func (s *System) Symlink(p, text string) uapi.Errno {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.fs.lookupParent(p); e != 0 {
		return e
	}
	if len(s.fs.linked()) >= maxLinks {
		return uapi.ENOSPC
	}
	s.fs.links.Store(p, text)
	return 0
}

// Link returns the text of a symbolic link in a bpffs, "" if there is none. It may be called while
// the system serves a call.
func (s *System) Link(p string) string { return s.fs.link(p) }

// Mkdir creates a directory.
func (s *System) Mkdir(p string) uapi.Errno {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.fs.lookupParent(p); e != 0 {
		return e
	}
	s.fs.dirs[p] = true
	return 0
}

// Unlink removes a pin or a symbolic link or, with dir, an empty directory.
func (s *System) Unlink(p string, dir bool) uapi.Errno {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.fs.pins[p]
	switch {
	case !s.fs.isFile(p) && !s.fs.dirs[p]:
		return uapi.ENOENT
	case dir && s.fs.isFile(p):
		return uapi.ENOTDIR
	case !dir && !s.fs.isFile(p):
		return uapi.EISDIR
	case dir && isRoot(p):
		return uapi.EBUSY
	case dir && len(s.fs.list(p)) > 0:
		return uapi.ENOTEMPTY
	}
	delete(s.fs.dirs, p)
	s.fs.links.Delete(p)
	if o != nil {
		delete(s.fs.pins, p)
		s.put(o)
	}
	return 0
}

// Rename moves a pin, a symbolic link or a directory; with noReplace the destination must not exist.
func (s *System) Rename(from, to string, noReplace bool) uapi.Errno {
	s.mu.Lock()
	defer s.mu.Unlock()
	file := s.fs.isFile(from)
	switch {
	case !file && !s.fs.dirs[from]:
		return uapi.ENOENT
	case !InBPFFS(to), rootOf(from) != rootOf(to):
		return uapi.EXDEV
	case isRoot(from), isRoot(to):
		return uapi.EBUSY
	}
	if from == to {
		return 0
	}
	if s.fs.isFile(to) {
		if noReplace {
			return uapi.EEXIST
		}
		if !file {
			return uapi.ENOTDIR
		}
		if old := s.fs.pins[to]; old != nil {
			delete(s.fs.pins, to)
			s.put(old)
		}
		s.fs.links.Delete(to)
	}
	if e := s.fs.lookupParent(to); e != 0 {
		return e
	}
	if o := s.fs.pins[from]; o != nil {
		delete(s.fs.pins, from)
		s.fs.pins[to] = o
		return 0
	}
	if file {
		s.fs.links.Store(to, s.fs.link(from))
		s.fs.links.Delete(from)
		return 0
	}
	if strings.HasPrefix(to, from+"/") {
		return uapi.EINVAL
	}
	// A directory moves with everything below it.
	moved := bpffs{map[string]bool{}, map[string]Object{}, s.fs.links, s.fs.supers, s.fs.made}
	rename := func(p string) string {
		if p == from || strings.HasPrefix(p, from+"/") {
			return to + p[len(from):]
		}
		return p
	}
	for p := range s.fs.dirs {
		moved.dirs[rename(p)] = true
	}
	for p, o := range s.fs.pins {
		moved.pins[rename(p)] = o
	}
	for _, p := range s.fs.linked() {
		if now := rename(p); now != p {
			moved.links.Store(now, moved.link(p))
			moved.links.Delete(p)
		}
	}
	s.fs.dirs, s.fs.pins = moved.dirs, moved.pins
	return 0
}

// ReadDir returns the sorted names in a directory.
func (s *System) ReadDir(p string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if rest, ok := inTracefs(p); ok {
		return s.tracefsDir(rest)
	}
	if names, ok := s.plainDir(p); ok {
		return names
	}
	return s.fs.list(p)
}

func (f *bpffs) list(p string) []string {
	var out []string
	for d := range f.dirs {
		if path.Dir(d) == p && d != p {
			out = append(out, path.Base(d))
		}
	}
	for o := range f.pins {
		if path.Dir(o) == p {
			out = append(out, path.Base(o))
		}
	}
	for _, l := range f.linked() {
		if path.Dir(l) == p {
			out = append(out, path.Base(l))
		}
	}
	slices.Sort(out)
	return out
}
