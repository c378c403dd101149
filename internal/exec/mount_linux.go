//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
)

// mountPoint is a bpffs, or the hierarchy of cgroups, that the tool mounted.
type mountPoint struct {
	ns   uint64 // the mount namespace, which is the only one to see it; 0 means the tool's first, which its children see too
	path string
	root string // in package bpfsys
}

// namespace returns the inode of a namespace of the caller, or 0 if the guard, which starts the
// tool, is in the same one.
func (c *call) namespace(name string) uint64 {
	theirs := c.namespaceIno(name)
	if theirs == 0 || theirs == c.s.guardNS[name] {
		return 0
	}
	return theirs
}

func (c *call) namespaceIno(name string) uint64 {
	var st unix.Stat_t
	if unix.Stat(fmt.Sprintf("/proc/%d/ns/%s", c.n.PID, name), &st) != nil {
		return 0
	}
	return st.Ino
}

// metGuard remembers the namespaces of the guard, which makes the first call.
func (c *call) metGuard() {
	if c.s.guardNS == nil {
		c.s.guardNS = map[string]uint64{"mnt": c.namespaceIno("mnt"), "user": c.namespaceIno("user")}
	}
}

// UserNS implements [bpfsys.Caller]: the guard's user namespace is the initial one of the simulated
// kernel.
func (c *call) UserNS() (ns, capabilities uint64) {
	if ns = c.namespace("user"); ns == 0 {
		return 0, ^uint64(0)
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.n.PID))
	if err != nil {
		return ns, 0
	}
	for l := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(l, "CapEff:"); ok {
			capabilities, _ = strconv.ParseUint(strings.TrimSpace(v), 16, 64)
		}
	}
	return ns, capabilities
}

// mounted replaces the path of a mounted bpffs, at the beginning of a clean absolute path, by that
// of its root.
func (c *call) mounted(p string) string {
	if len(c.s.mounts) == 0 {
		return p
	}
	ns := c.namespace("mnt")
	for _, m := range slices.Backward(c.s.mounts) { // the last mount covers earlier ones
		if m.ns != 0 && m.ns != ns {
			continue
		}
		if rest, ok := strings.CutPrefix(p, m.path); ok && (rest == "" || rest[0] == '/') {
			return m.root + rest
		}
	}
	return p
}

// maxMounts limits the mounts of a session.
const maxMounts = 1024

// addMount mounts an instance, which fsmount(2) made if it is moved.
func (c *call) addMount(root, at string, moved bool) unix.Errno {
	if len(c.s.mounts) >= maxMounts {
		return unix.ENOSPC
	}
	st, err := os.Stat(c.hostName(at, c.walker().root))
	switch {
	case at == bpfsys.BPFFS: // which the host may lack
	case err != nil:
		return unix.ENOENT
	case !st.IsDir() && moved: // do_move_mount and do_new_mount differ
		return unix.EINVAL
	case !st.IsDir():
		return unix.ENOTDIR
	}
	c.s.mounts = append(c.s.mounts, mountPoint{c.namespace("mnt"), at, root})
	return 0
}

// mount serves mount(2) of a bpffs and of cgroups, reports success for tracing file systems, which are already
// there, and lets the host serve the rest.
func (c *call) mount(list []place) {
	typ, _ := c.text(c.arg(2), 256)
	target := list[0]
	at := target.at
	const changes = unix.MS_REMOUNT | unix.MS_BIND | unix.MS_MOVE | unix.MS_SHARED | unix.MS_PRIVATE | unix.MS_SLAVE | unix.MS_UNBINDABLE
	switch {
	case c.arg(3)&changes != 0:
		list := list[:1:1]
		if c.arg(3)&(unix.MS_BIND|unix.MS_MOVE) != 0 {
			from, errno := c.placeOf(plainPath(0).whole())
			if errno != 0 {
				c.s.reply(c.n, 0, errno)
				return
			}
			list = append(list, from)
		}
		c.unlessOurs("mount", list...)
	case typ == "bpf":
		var grants bpfsys.Delegation
		options := ""
		if c.arg(4) != 0 {
			options, _ = c.text(c.arg(4), 4096)
		}
		for option := range strings.SplitSeq(options, ",") {
			name, value, _ := strings.Cut(option, "=")
			if _, e := grants.Set(name, value); e != 0 {
				c.s.reply(c.n, 0, errnoOf(e))
				return
			}
		}
		user := c.namespace("user")
		if user != 0 { // bpf_fill_super asks for privileges in the initial user namespace
			c.s.reply(c.n, 0, unix.EPERM)
			return
		}
		root, e := c.s.sys.NewBPFFS(user, grants)
		if e != 0 {
			c.s.reply(c.n, 0, errnoOf(e))
			return
		}
		err := c.addMount(root, at, false)
		if err != 0 {
			c.s.sys.DropBPFFS(root)
		}
		c.s.reply(c.n, 0, err)
	case (typ == "tracefs" || typ == "debugfs") && strings.HasPrefix(at, "/sys/kernel/"):
		c.s.reply(c.n, 0, 0)
	case typ == "tracefs" || typ == "debugfs":
		c.s.note("mounting a " + typ + " at " + target.String() + " is not served: the simulated one is at /sys/kernel")
		c.s.reply(c.n, 0, unix.EPERM)
	case typ == "cgroup2":
		c.s.reply(c.n, 0, c.mountCgroups(target))
	case typ == "cgroup":
		c.s.note("mounting a " + typ + " at " + target.String() + " is not served: simulated cgroups are below " + cgroupRoot)
		c.unlessOurs("mount", target)
	default:
		c.unlessOurs("mount", target)
	}
}

// unlessOurs has the host answer a call unless one of its places is simulated.
func (c *call) unlessOurs(name string, list ...place) {
	for _, p := range list {
		if kind, _, _ := c.look(p); kind != hostPath || p.file != nil {
			c.s.note(name + "(2) of " + p.String() + " is refused: it is simulated, and its mounts cannot be changed or copied")
			c.s.reply(c.n, 0, unix.EPERM)
			return
		}
	}
	c.s.host(c.n)
}

// umount removes the last mount at a path; an instance is gone with its last mount.
func (c *call) umount(list []place) {
	ns := uint64(0)
	if len(c.s.mounts) > 0 {
		ns = c.namespace("mnt")
	}
	for i, m := range slices.Backward(c.s.mounts) {
		if m.path != list[0].at || m.ns != ns {
			continue
		}
		c.s.mounts = slices.Delete(c.s.mounts, i, i+1)
		if !slices.ContainsFunc(c.s.mounts, func(o mountPoint) bool { return o.root == m.root }) {
			c.s.sys.DropBPFFS(m.root)
		}
		c.s.reply(c.n, 0, 0)
		return
	}
	c.unlessOurs("umount2", list...)
}

// fsContext is what fsopen(2) of a bpffs opened.
type fsContext struct {
	userNS uint64
	grants bpfsys.Delegation
	root   string // once it was created
	taken  bool   // mounted by fsmount(2)
	failed bool   // creating it failed, which ends the context
}

func (c *call) fsopen() {
	switch typ, _ := c.text(c.arg(0), 256); typ {
	case "bpf":
		if c.arg(1)&^unix.FSOPEN_CLOEXEC != 0 {
			c.s.reply(c.n, 0, unix.EINVAL)
			return
		}
		f, err := c.s.newFile("fscontext:bpf")
		if err != nil {
			c.s.reply(c.n, 0, unix.ENFILE)
			return
		}
		f.context = &fsContext{userNS: c.namespace("user")}
		c.s.give(c.n, f, unix.O_RDWR|int(c.arg(1)&unix.FSOPEN_CLOEXEC)*unix.O_CLOEXEC)
	case "tracefs", "debugfs":
		c.s.note("fsopen(2) of a " + typ + " is not served: the simulated one is at /sys/kernel")
		c.s.reply(c.n, 0, unix.EPERM)
	default:
		c.s.host(c.n)
	}
}

// fsconfig sets an option of a bpffs or creates it (vfs_fsconfig_locked, bpf_parse_param). Options
// that delegate nothing are ignored, as in the kernel.
func (c *call) fsconfig() {
	f := c.s.fileAt(c.n, c.fd(0))
	if f == nil || f.context == nil {
		c.fsconfigHost()
		return
	}
	x, cmd, key, value, aux := f.context, uint32(c.arg(1)), c.arg(2), c.arg(3), c.fd(4)
	const setFlag, setString, create, createExcl, last = 0, 1, 6, 8, 8
	var name, text string
	bad := false
	switch cmd {
	case setFlag:
		bad = key == 0 || value != 0 || aux != 0
	case setString:
		bad = key == 0 || value == 0 || aux != 0
	case create, createExcl:
		bad = key != 0 || value != 0 || aux != 0
	}
	var e unix.Errno
	if key != 0 && !bad {
		name, e = c.option(key)
	}
	if cmd == setString && e == 0 && !bad {
		text, e = c.option(value)
	}
	privileged := c.namespace("user") == 0
	switch {
	case bad:
		e = unix.EINVAL
	case cmd > last:
		e = unix.EOPNOTSUPP
	case e != 0:
	case x.root != "", x.failed:
		e = unix.EBUSY
	case cmd == create || cmd == createExcl:
		if x.userNS != 0 && !privileged { // bpf_fill_super
			e, x.failed = unix.EPERM, true
			break
		}
		root, errno := c.s.sys.NewBPFFS(x.userNS, x.grants)
		if x.root, e = root, errnoOf(errno); e == 0 {
			c.s.logf("[%d] fsconfig: created a bpffs", c.n.PID)
		}
	case cmd == setString:
		set := bpfsys.Delegation{}
		known, errno := set.Set(name, text)
		switch {
		case errno != 0:
			e = errnoOf(errno)
		case known && set != bpfsys.Delegation{} && !privileged:
			e = unix.EPERM
		default:
			x.grants = bpfsys.Delegation{
				Cmds: x.grants.Cmds | set.Cmds, Maps: x.grants.Maps | set.Maps, Progs: x.grants.Progs | set.Progs, Attaches: x.grants.Attaches | set.Attaches,
			}
		}
	case cmd != setFlag:
		e = unix.EOPNOTSUPP
		c.s.note(fmt.Sprintf("fsconfig(2) command %d of a bpffs is not served", cmd))
	}
	c.s.reply(c.n, 0, e)
}

// fsconfigHost has the host set an option of another file system, unless its value is a simulated
// place: an overlay would show the host's.
func (c *call) fsconfigHost() {
	const setString, setPath, setPathEmpty = 1, 3, 4
	value := dirPath(4, 3).whole()
	switch uint32(c.arg(1)) {
	case setString:
		value = plainPath(3).whole()
	case setPath:
	case setPathEmpty:
		value.null = true
	default:
		c.s.host(c.n)
		return
	}
	p, errno := c.placeOf(value)
	if errno != 0 {
		c.s.host(c.n) // text that is no path
		return
	}
	c.unlessOurs("fsconfig", p)
}

// option reads a key or value (strndup_user).
func (c *call) option(addr uint64) (string, unix.Errno) {
	text, ok := c.text(addr, 256)
	switch {
	case ok:
		return text, 0
	case c.Read(addr, make([]byte, 256)): // too long
		return "", unix.EINVAL
	}
	return "", unix.EFAULT
}

// fsmount gives a descriptor of the root of a bpffs that is mounted nowhere.
func (c *call) fsmount() {
	f := c.s.fileAt(c.n, c.fd(0))
	if f == nil || f.context == nil {
		c.s.host(c.n)
		return
	}
	x := f.context
	switch {
	case c.arg(1)&^unix.FSMOUNT_CLOEXEC != 0, x.root == "":
		c.s.reply(c.n, 0, unix.EINVAL)
		return
	case x.taken:
		c.s.reply(c.n, 0, unix.EBUSY)
		return
	}
	dir, err := c.s.newFile("bpffs")
	if err != nil {
		c.s.reply(c.n, 0, unix.ENFILE)
		return
	}
	dir.path, dir.dir, dir.oPath, x.taken = x.root, true, true, true
	c.s.give(c.n, dir, int(c.arg(1)&unix.FSMOUNT_CLOEXEC)*unix.O_CLOEXEC)
}

// moveMount mounts what fsmount(2) made.
func (c *call) moveMount(list []place) {
	from, to := list[0], list[1]
	root := from.path
	switch {
	case from.file == nil || !bpfsys.InBPFFS(root):
		c.unlessOurs("move_mount", list...)
	case c.arg(4)&unix.MOVE_MOUNT_F_EMPTY_PATH == 0,
		c.arg(4)&^uint64(unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_F_SYMLINKS|unix.MOVE_MOUNT_T_SYMLINKS|unix.MOVE_MOUNT_T_AUTOMOUNTS) != 0,
		!bpfsys.IsBPFFSRoot(root), slices.ContainsFunc(c.s.mounts, func(m mountPoint) bool { return m.root == root }):
		c.s.reply(c.n, 0, unix.EINVAL)
	default:
		c.s.reply(c.n, 0, c.addMount(root, to.at, true))
	}
}

// mountList returns the contents of a list of mounts: the host's as keptMounts has them, and the
// simulated ones.
func (c *call) mountList(p string) ([]byte, bool) {
	list, ok := c.ownFile(p)
	if !ok || list != "mounts" && list != "mountinfo" {
		return nil, false
	}
	info := list == "mountinfo"
	host, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", c.n.PID, list))
	if err != nil {
		return nil, false
	}
	out := keptMounts(string(host), info)
	id := 9000
	add := func(typ, at string) {
		at = strings.NewReplacer(" ", `\040`, "\t", `\011`, "\n", `\012`, `\`, `\134`).Replace(at)
		if info {
			out = fmt.Appendf(out, "%d 1 0:%d / %s rw,nosuid,nodev,noexec,relatime - %s %s rw\n", id, id, at, typ, typ)
		} else {
			out = fmt.Appendf(out, "%s %s %s rw,nosuid,nodev,noexec,relatime 0 0\n", typ, at, typ)
		}
		id++
	}
	add("tracefs", "/sys/kernel/tracing")
	add("bpf", bpfsys.BPFFS)
	if c.s.cgroups[cgroupRoot] != 0 && !hostCgroups() {
		add("cgroup2", cgroupRoot)
	}
	ns := c.namespace("mnt")
	for _, m := range c.s.mounts {
		if m.ns == 0 || m.ns == ns {
			typ := "bpf"
			if m.root == cgroupRoot {
				typ = "cgroup2"
			}
			add(typ, m.path)
		}
	}
	return out, true
}

// keptMounts returns the host's list of mounts, in the form of /proc/PID/mountinfo if info, else of
// /proc/PID/mounts, without what is the host kernel's own: its bpffs and tracefs, and debugfs that
// is not at /sys/kernel/debug, and without what covers them. Loaders take tracefs from any place of
// the list, and would read the host's events there.
func keptMounts(list string, info bool) []byte {
	var out []byte
	for l := range strings.Lines(list) {
		f := strings.Fields(l)
		typ, at, source := "", "", ""
		switch i := slices.Index(f, "-"); {
		case info && i > 4 && i+2 < len(f):
			typ, at, source = f[i+1], f[4], f[i+2]
		case !info && len(f) > 2:
			typ, at, source = f[2], f[1], f[0]
		}
		if typ == "tmpfs" && source == coverSource {
			continue
		}
		if typ == "bpf" || typ == "tracefs" || typ == "debugfs" && at != "/sys/kernel/debug" {
			continue
		}
		out = append(out, l...)
	}
	return out
}
