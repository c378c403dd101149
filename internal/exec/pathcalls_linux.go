//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
)

// pathCall is a system call that takes paths, or reaches files in a way that has none. Calls whose
// paths all mean places of the host go to the host's kernel.
type pathCall struct {
	name  string
	paths []pathArg // none: the call is refused
	// serve answers the call when it is not nil. It lets the host serve places of the host.
	serve func(c *call, at []place)
	// errno is the answer in a simulated place when serve is nil.
	errno unix.Errno
	// quiet leaves out the note: tools ask for what few file systems have.
	quiet bool
	// first looks at the call, wherever its paths lead.
	first func(c *call)
}

// pathArg says where a call has a path, and how the kernel reads it. -1 means that the call has no
// such argument.
type pathArg struct {
	dir, path int
	length    int  // the path is a struct sockaddr_un of so many bytes
	link      bool // a symbolic link at the end is not followed
	// openFlags has the flags of open(2), or points to a struct open_how if how is set.
	openFlags int
	how       bool
	// noFollow and follow are flags for a link at the end, empty the flag with which an empty path
	// means the descriptor.
	noFollow, follow, empty flagBits
	null                    bool // no path means the descriptor too
	full                    bool // the place is needed even if it is the host's
}

// flagBits are bits of an argument.
type flagBits struct {
	arg  int
	bits uint64
}

func (f flagBits) in(c *call) bool { return f.bits != 0 && c.arg(f.arg)&f.bits != 0 }

// plainPath is a path relative to the working directory, dirPath one relative to a descriptor.
func plainPath(path int) pathArg    { return dirPath(-1, path) }
func dirPath(dir, path int) pathArg { return pathArg{dir: dir, path: path, length: -1, openFlags: -1} }

// last returns a path whose last component is not followed.
func (a pathArg) last() pathArg { a.link = true; return a }

// flags are those of most calls: AT_SYMLINK_NOFOLLOW and AT_EMPTY_PATH.
func (a pathArg) flags(arg int) pathArg {
	a.noFollow, a.empty, a.null = flagBits{arg, unix.AT_SYMLINK_NOFOLLOW}, flagBits{arg, unix.AT_EMPTY_PATH}, true
	return a
}

// unless follows a link at the end unless an argument has one of the bits, when only if it has.
func (a pathArg) unless(arg int, bits uint64) pathArg { a.noFollow = flagBits{arg, bits}; return a }
func (a pathArg) when(arg int, bits uint64) pathArg {
	a.link, a.follow = true, flagBits{arg, bits}
	return a
}

// orEmpty takes an empty path for the descriptor if an argument has one of the bits.
func (a pathArg) orEmpty(arg int, bits uint64) pathArg { a.empty = flagBits{arg, bits}; return a }

// whole finds the place of the host too.
func (a pathArg) whole() pathArg { a.full = true; return a }

// orNull takes no path for the descriptor.
func (a pathArg) orNull() pathArg { a.null = true; return a }

// opens are the flags of open(2).
func (a pathArg) opens(arg int) pathArg { a.openFlags = arg; return a }

// openHow is the struct open_how of openat2(2).
func (a pathArg) openHow(arg int) pathArg { a.openFlags, a.how = arg, true; return a }

// socket is a struct sockaddr of so many bytes as an argument says; of AF_UNIX, it has a path.
func (a pathArg) socket(length int) pathArg { a.length = length; return a }

func paths(list ...pathArg) []pathArg { return list }

// Flags that package unix does not define.
const (
	umountNoFollow    = 8
	fspickNoFollow    = 2
	fspickEmpty       = 8
	fanotifyNoFollow  = 4
	inotifyDontFollow = 0x02000000
)

// pathCalls are all system calls of Linux 7.2 that take paths, on amd64 and arm64. A test compares
// them with the kernel's list.
var pathCalls = []pathCall{
	{name: "open", paths: paths(plainPath(0).opens(1)), serve: func(c *call, at []place) { c.open(at[0], c.arg(1)) }},
	{name: "creat", paths: paths(plainPath(0)), serve: func(c *call, at []place) { c.open(at[0], unix.O_CREAT|unix.O_WRONLY|unix.O_TRUNC) }},
	{name: "openat", paths: paths(dirPath(0, 1).opens(2)), serve: func(c *call, at []place) { c.open(at[0], c.arg(2)) }},
	{name: "openat2", paths: paths(dirPath(0, 1).openHow(2)), serve: func(c *call, at []place) { c.openat2(at[0]) }},

	{name: "access", paths: paths(plainPath(0)), serve: (*call).access},
	{name: "faccessat", paths: paths(dirPath(0, 1)), serve: (*call).access}, // its flags are the C library's
	{name: "faccessat2", paths: paths(dirPath(0, 1).flags(3)), serve: (*call).access},
	{name: "stat", paths: paths(plainPath(0)), serve: func(c *call, at []place) { c.stat(at[0], c.arg(1)) }},
	{name: "lstat", paths: paths(plainPath(0).last()), serve: func(c *call, at []place) { c.stat(at[0], c.arg(1)) }},
	{name: "newfstatat", paths: paths(dirPath(0, 1).flags(3)), serve: func(c *call, at []place) { c.stat(at[0], c.arg(2)) }},
	{name: "statx", paths: paths(dirPath(0, 1).flags(2)), serve: (*call).statx},
	{name: "statfs", paths: paths(plainPath(0)), serve: (*call).statfs},
	{name: "readlink", paths: paths(plainPath(0).last()), serve: func(c *call, at []place) { c.readlink(at[0], c.arg(1), c.arg(2)) }},
	{name: "readlinkat", paths: paths(dirPath(0, 1).last()), serve: func(c *call, at []place) { c.readlink(at[0], c.arg(2), c.arg(3)) }},

	{name: "chdir", paths: paths(plainPath(0).whole()), serve: func(c *call, at []place) { c.chdir(at[0]) }},
	{name: "chroot", paths: paths(plainPath(0)), errno: unix.EPERM},
	{name: "pivot_root", paths: paths(plainPath(0), plainPath(1)), errno: unix.EPERM},

	{name: "mkdir", paths: paths(plainPath(0).last()), serve: (*call).mkdir},
	{name: "mkdirat", paths: paths(dirPath(0, 1).last()), serve: (*call).mkdir},
	{name: "rmdir", paths: paths(plainPath(0).last()), serve: func(c *call, at []place) { c.unlink(at[0], true) }},
	{name: "unlink", paths: paths(plainPath(0).last()), serve: func(c *call, at []place) { c.unlink(at[0], false) }},
	{name: "unlinkat", paths: paths(dirPath(0, 1).last()), serve: func(c *call, at []place) { c.unlink(at[0], c.arg(2)&unix.AT_REMOVEDIR != 0) }},
	{name: "rename", paths: paths(plainPath(0).last(), plainPath(1).last()), serve: func(c *call, at []place) { c.rename(at, 0) }},
	{name: "renameat", paths: paths(dirPath(0, 1).last(), dirPath(2, 3).last()), serve: func(c *call, at []place) { c.rename(at, 0) }},
	{name: "renameat2", paths: paths(dirPath(0, 1).last(), dirPath(2, 3).last()), serve: func(c *call, at []place) { c.rename(at, c.arg(4)) }},
	{name: "link", paths: paths(plainPath(0).last(), plainPath(1).last()), errno: unix.EPERM},
	{name: "linkat", paths: paths(dirPath(0, 1).when(4, unix.AT_SYMLINK_FOLLOW).orEmpty(4, unix.AT_EMPTY_PATH),
		dirPath(2, 3).last()), errno: unix.EPERM},
	{name: "symlink", paths: paths(plainPath(1).last()), serve: (*call).symlink}, // the target is text
	{name: "symlinkat", paths: paths(dirPath(1, 2).last()), serve: (*call).symlink},
	{name: "mknod", paths: paths(plainPath(0).last()), errno: unix.EPERM},
	{name: "mknodat", paths: paths(dirPath(0, 1).last()), errno: unix.EPERM},
	{name: "truncate", paths: paths(plainPath(0)), errno: unix.EPERM},

	{name: "chmod", paths: paths(plainPath(0)), errno: unix.EPERM},
	{name: "fchmodat", paths: paths(dirPath(0, 1)), errno: unix.EPERM}, // its flags are the C library's
	{name: "fchmodat2", paths: paths(dirPath(0, 1).flags(3)), errno: unix.EPERM},
	{name: "chown", paths: paths(plainPath(0)), errno: unix.EPERM},
	{name: "lchown", paths: paths(plainPath(0).last()), errno: unix.EPERM},
	{name: "fchownat", paths: paths(dirPath(0, 1).flags(4)), errno: unix.EPERM},
	{name: "utime", paths: paths(plainPath(0)), errno: unix.EPERM},
	{name: "utimes", paths: paths(plainPath(0)), errno: unix.EPERM},
	{name: "futimesat", paths: paths(dirPath(0, 1)), errno: unix.EPERM},
	{name: "utimensat", paths: paths(dirPath(0, 1).flags(3)), errno: unix.EPERM},

	{name: "setxattr", paths: paths(plainPath(0)), errno: unix.EOPNOTSUPP},
	{name: "lsetxattr", paths: paths(plainPath(0).last()), errno: unix.EOPNOTSUPP},
	{name: "setxattrat", paths: paths(dirPath(0, 1).flags(2)), errno: unix.EOPNOTSUPP},
	{name: "getxattr", paths: paths(plainPath(0)), errno: unix.EOPNOTSUPP, quiet: true},
	{name: "lgetxattr", paths: paths(plainPath(0).last()), errno: unix.EOPNOTSUPP, quiet: true},
	{name: "getxattrat", paths: paths(dirPath(0, 1).flags(2)), errno: unix.EOPNOTSUPP, quiet: true},
	{name: "listxattr", paths: paths(plainPath(0)), errno: unix.EOPNOTSUPP, quiet: true},
	{name: "llistxattr", paths: paths(plainPath(0).last()), errno: unix.EOPNOTSUPP, quiet: true},
	{name: "listxattrat", paths: paths(dirPath(0, 1).flags(2)), errno: unix.EOPNOTSUPP, quiet: true},
	{name: "removexattr", paths: paths(plainPath(0)), errno: unix.EOPNOTSUPP},
	{name: "lremovexattr", paths: paths(plainPath(0).last()), errno: unix.EOPNOTSUPP},
	{name: "removexattrat", paths: paths(dirPath(0, 1).flags(2)), errno: unix.EOPNOTSUPP},
	{name: "file_getattr", paths: paths(dirPath(0, 1).flags(4)), errno: unix.EOPNOTSUPP},
	{name: "file_setattr", paths: paths(dirPath(0, 1).flags(4)), errno: unix.EOPNOTSUPP},

	{name: "execve", paths: paths(plainPath(0)), errno: unix.EACCES},
	{name: "execveat", paths: paths(dirPath(0, 1).flags(4)), errno: unix.EACCES},
	{name: "uselib", paths: paths(plainPath(0)), errno: unix.EACCES},

	{name: "mount", paths: paths(plainPath(1).whole()), serve: (*call).mount},
	{name: "umount2", paths: paths(plainPath(0).unless(1, umountNoFollow).whole()), serve: (*call).umount},
	{name: "move_mount", paths: paths(
		dirPath(0, 1).when(4, unix.MOVE_MOUNT_F_SYMLINKS).orEmpty(4, unix.MOVE_MOUNT_F_EMPTY_PATH).whole(),
		dirPath(2, 3).when(4, unix.MOVE_MOUNT_T_SYMLINKS).orEmpty(4, unix.MOVE_MOUNT_T_EMPTY_PATH).whole()),
		serve: (*call).moveMount},
	{name: "open_tree", paths: paths(dirPath(0, 1).flags(2)), errno: unix.EPERM},
	{name: "open_tree_attr", paths: paths(dirPath(0, 1).flags(2)), errno: unix.EPERM},
	{name: "mount_setattr", paths: paths(dirPath(0, 1).flags(2)), errno: unix.EPERM},
	{name: "fspick", paths: paths(dirPath(0, 1).unless(2, fspickNoFollow).orEmpty(2, fspickEmpty)), errno: unix.EPERM},

	{name: "name_to_handle_at", errno: unix.EOPNOTSUPP, serve: (*call).handle,
		paths: paths(dirPath(0, 1).when(4, unix.AT_SYMLINK_FOLLOW).orEmpty(4, unix.AT_EMPTY_PATH))},
	{name: "open_by_handle_at", errno: unix.EPERM}, // a handle names a file by its number
	{name: "inotify_add_watch", paths: paths(plainPath(1).unless(2, inotifyDontFollow)), errno: unix.EACCES},
	{name: "fanotify_mark", paths: paths(dirPath(3, 4).unless(1, fanotifyNoFollow).orNull()), errno: unix.EPERM},
	{name: "swapon", paths: paths(plainPath(0)), errno: unix.EPERM},
	{name: "swapoff", paths: paths(plainPath(0)), errno: unix.EPERM},
	{name: "acct", paths: paths(plainPath(0)), errno: unix.EACCES},
	{name: "quotactl", paths: paths(plainPath(1)), errno: unix.ENOTBLK},
	{name: "bind", paths: paths(plainPath(1).socket(2)), errno: unix.EPERM, first: (*call).joins},
	{name: "connect", paths: paths(plainPath(1).socket(2)), errno: unix.ECONNREFUSED},
	{name: "io_uring_setup", errno: unix.ENOSYS}, // its operations would bypass the filter
}

// lastCall is the last system call of the list that [pathCalls] was made from. The filter refuses
// later ones, as a kernel that lacks them does: they may take paths.
const lastCall = "rseq_slice_yield"

// sysNumber returns the number of a system call on this architecture; ok is false if it has none.
func sysNumber(name string) (int, bool) { return hook.SyscallNumberOn(hookArch(runtime.GOARCH), name) }

// hookArch is package hook's name of an architecture.
func hookArch(goarch string) string {
	if goarch == "amd64" {
		return "x86"
	}
	return goarch
}

// pathHandlers and pathRules are what [handlers] and [rules] have of the table.
func pathHandlers(all map[int]func(*call)) {
	for i := range pathCalls {
		row := &pathCalls[i]
		if nr, ok := sysNumber(row.name); ok {
			all[nr] = func(c *call) { c.servePaths(row) }
		}
	}
}

func pathRules() (out []rule) {
	for _, row := range pathCalls {
		if nr, ok := sysNumber(row.name); ok {
			out = append(out, rule{nr: nr})
		}
	}
	return out
}

// servePaths resolves the paths of a call and serves it.
func (c *call) servePaths(row *pathCall) {
	if len(row.paths) == 0 {
		c.s.note(row.name + "(2) is refused: it would reach files of the host that bpfrun does not see")
		c.s.reply(c.n, 0, row.errno)
		return
	}
	if row.name == "execve" && c.s.starts > 0 { // by the guard, whose memory is closed to this process
		c.s.starts--
		c.s.host(c.n)
		return
	}
	if row.first != nil {
		row.first(c)
	}
	list := make([]place, len(row.paths))
	ours := row.serve != nil
	for i, a := range row.paths {
		p, errno := c.placeOf(a)
		switch {
		case errno != 0:
			c.s.reply(c.n, 0, errno)
			return
		case p.adrift:
			c.s.note(fmt.Sprintf("%s(2) of %s relative to a simulated directory, or by a simulated link, is refused: it is a file of the host; use an absolute path", row.name, strconv.Quote(p.at)))
			c.s.reply(c.n, 0, unix.EACCES)
			return
		}
		list[i] = p
		ours = ours || p.ours()
	}
	switch {
	case !ours:
		c.s.host(c.n)
	case row.serve != nil:
		row.serve(c, list)
	default:
		c.refuse(row, list)
	}
}

// refuse answers a call that is not served in a simulated place.
func (c *call) refuse(row *pathCall, list []place) {
	for _, p := range list {
		if !p.ours() {
			continue
		}
		switch kind, _, _ := c.look(p); {
		case kind == absent && len(list) == 1 && row.errno != unix.EPERM:
			c.s.reply(c.n, 0, unix.ENOENT)
			return
		case !row.quiet:
			c.s.note(fmt.Sprintf("%s(2) of %s is refused: it is simulated, and this call is not served there", row.name, p))
		}
		break
	}
	c.s.reply(c.n, 0, row.errno)
}
