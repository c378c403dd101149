//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/internal/bpfsys/network"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Network namespaces of the tool are simulated: they have devices and addresses that netlink
// messages create, but the tool's sockets stay in the namespace that it started in. So the tool has
// rights over no network of the host.

// membership is the simulated network namespace of a thread. Thread ids are reused; the process
// tells whether the thread is still the same.
type membership struct {
	process *process
	netns   uint32
}

// Netns returns the simulated network namespace of the caller.
func (c *call) Netns() uint32 {
	if len(c.s.netns) == 0 {
		return 0
	}
	return c.s.netnsOf(c.n.PID, maxAncestors)
}

// maxAncestors limits how far a new process's namespace is searched for.
const maxAncestors = 32

// netnsOf returns the namespace of a thread. A new thread is in that of its process's first thread,
// a new process in that of its parent's first thread: which thread forked is not known.
func (s *supervisor) netnsOf(tid uint32, limit int) uint32 {
	p := s.processOf(tid)
	if m, ok := s.netns[tid]; ok && m.process == p {
		return m.netns
	}
	netns := uint32(0)
	switch {
	case limit == 0:
	case int(tid) != p.tgid:
		netns = s.netnsOf(uint32(p.tgid), limit-1)
	case int64(p.tgid) != s.tool.Load():
		if parent := parentProcess(p.tgid); parent > 1 && parent != s.guard {
			netns = s.netnsOf(uint32(parent), limit-1)
		}
	}
	s.enter(tid, netns)
	return netns
}

// enter notes that a thread is in a namespace from now on.
func (s *supervisor) enter(tid, netns uint32) {
	if s.netns == nil {
		s.netns = map[uint32]membership{}
	}
	if len(s.netns) > 1<<16 {
		for t, m := range s.netns {
			if !alive(m.process.pidfd) {
				delete(s.netns, t)
			}
		}
	}
	s.netns[tid] = membership{s.processOf(tid), netns}
}

// parentProcess returns the id of a process's parent, or 0.
func parentProcess(tgid int) int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", tgid))
	if err != nil {
		return 0
	}
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:])) // the name in parentheses may contain any character
	if len(f) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(f[1])
	return parent
}

// newNetwork serves unshare(2) and clone(2) with CLONE_NEWNET, and unshare(2) with CLONE_NEWNS. A
// new network namespace alone is simulated; together with others the host would make a real one,
// which calls that are let through could change.
func (c *call) newNetwork() {
	const lowFlags = unix.CLONE_NEWNET
	switch {
	case int(c.n.NR) == unix.SYS_UNSHARE && c.arg(0)&unix.CLONE_NEWNET == 0:
		c.newMounts()
		return
	case int(c.n.NR) != unix.SYS_UNSHARE || c.arg(0) != lowFlags:
		c.s.note("refused a new network namespace (CLONE_NEWNET) together with other namespaces or a new process: calls that are let through could change its network. unshare(2) with CLONE_NEWNET alone is simulated")
		c.s.reply(c.n, 0, unix.EPERM)
		return
	case !c.capable(unix.CAP_SYS_ADMIN):
		c.s.reply(c.n, 0, unix.EPERM)
		return
	}
	var netns uint32
	var e uapi.Errno
	c.s.sys.Network(func(n *network.Network) { netns, e = n.NewNamespace() })
	if e == 0 {
		c.s.enter(c.n.PID, netns)
		c.s.logf("[%d] unshare: simulated network namespace %d", c.n.PID, netns)
		c.s.note("a new network namespace is simulated: its devices are those that netlink messages create; the tool's sockets stay in the namespace of bpfrun")
	}
	c.s.reply(c.n, 0, errnoOf(e))
}

// newMounts serves unshare(2) with CLONE_NEWNS. The mounts that a tool may make are simulated, and
// bpfrun keeps one list of them: nothing that the host mounts could be changed from a namespace of
// its own.
func (c *call) newMounts() {
	if c.arg(0) != unix.CLONE_NEWNS || c.namespace("user") != 0 || !c.capable(unix.CAP_SYS_ADMIN) {
		c.s.host(c.n)
		return
	}
	c.s.note("a new mount namespace (CLONE_NEWNS) is the old one: mounts of the tool are simulated, and all of its processes see them")
	c.s.reply(c.n, 0, 0)
}

// capable reports whether the caller has a capability in the simulated kernel.
func (c *call) capable(capability int) bool {
	ns, caps := c.UserNS()
	if ns == 0 && !c.s.cfg.Root && os.Geteuid() != 0 {
		return false
	}
	return caps&(1<<capability) != 0
}

// setns serves the switch to a simulated network namespace, and from one back to that of bpfrun.
func (c *call) setns() {
	f := c.s.fileAt(c.n, c.fd(0))
	back := f == nil && c.ownNetwork(c.fd(0))
	switch kind := uint32(c.arg(1)); {
	case f == nil && !back || f != nil && !f.isNetns:
		c.s.host(c.n)
	case kind != 0 && kind != unix.CLONE_NEWNET:
		c.s.reply(c.n, 0, unix.EINVAL)
	case !c.capable(unix.CAP_SYS_ADMIN):
		c.s.reply(c.n, 0, unix.EPERM)
	default:
		netns := uint32(0)
		if f != nil {
			netns = f.netns
		}
		if netns != 0 || len(c.s.netns) > 0 {
			c.s.enter(c.n.PID, netns)
		}
		c.s.reply(c.n, 0, 0)
	}
}

// ownNetwork reports whether a descriptor refers to the host's network namespace that the caller is
// really in.
func (c *call) ownNetwork(fd int32) bool {
	g, err := c.s.grab(c.n, fd)
	if err != nil {
		return false
	}
	defer unix.Close(g)
	var st, own unix.Stat_t
	return unix.Fstat(g, &st) == nil && unix.Stat(fmt.Sprintf("/proc/%d/ns/net", c.n.PID), &own) == nil && st.Ino == own.Ino && st.Dev == own.Dev
}

// openNetns serves the opening of /proc/PID/ns/net and /proc/PID/task/TID/ns/net of a thread in a
// simulated namespace.
func (c *call) openNetns(p string, flags uint64) bool {
	rest, ok := strings.CutPrefix(p, "/proc/")
	rest, net := strings.CutSuffix(rest, "/ns/net")
	if !ok || !net || len(c.s.netns) == 0 {
		return false
	}
	who, task, _ := strings.Cut(rest, "/task/")
	tid := 0
	switch {
	case task != "":
		tid, _ = strconv.Atoi(task)
	case who == "thread-self":
		tid = int(c.n.PID)
	case who == "self":
		tid = c.process().tgid
	default:
		tid, _ = strconv.Atoi(who)
	}
	if tid <= 0 || !samePIDs(c.n.PID) || unix.Kill(tid, 0) == unix.ESRCH {
		return false
	}
	netns := c.s.netnsOf(uint32(tid), maxAncestors)
	if netns == 0 {
		return false
	}
	if flags&unix.O_ACCMODE != unix.O_RDONLY {
		c.s.reply(c.n, 0, unix.EPERM)
		return true
	}
	f, err := c.s.newFile(fmt.Sprintf("netns:%d", netns))
	if err != nil {
		c.s.reply(c.n, 0, unix.ENFILE)
		return true
	}
	f.isNetns, f.netns = true, netns
	c.s.logf("[%d] open %s: simulated network namespace %d", c.n.PID, p, netns)
	c.s.give(c.n, f, int(flags&unix.O_CLOEXEC))
	return true
}

// socket refuses AF_XDP sockets, whose rings only a device's driver fills, and opens sockets of
// NETLINK_ROUTE for threads in a simulated network namespace, to which they belong even if another
// thread uses them.
func (c *call) socket() {
	if c.arg(0) == unix.AF_XDP {
		c.s.note("AF_XDP sockets are not simulated")
		c.s.reply(c.n, 0, unix.EAFNOSUPPORT)
		return
	}
	netns := c.Netns()
	if netns == 0 || uint32(c.arg(2)) != unix.NETLINK_ROUTE {
		c.s.host(c.n)
		return
	}
	typ := int(uint32(c.arg(1)))
	fd, err := unix.Socket(unix.AF_NETLINK, typ|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		e, _ := err.(unix.Errno)
		c.s.reply(c.n, 0, e)
		return
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		c.s.reply(c.n, 0, unix.EMFILE)
		return
	}
	if len(c.s.routeSockets) >= maxRouteSockets {
		c.s.reply(c.n, 0, unix.ENFILE)
		return
	}
	a := notifAddFD{ID: c.n.ID, Flags: addfdSend, SrcFD: uint32(fd), NewFDFlags: uint32(typ & unix.SOCK_CLOEXEC)}
	if _, e := c.s.addFD(&a); e != 0 {
		c.s.reply(c.n, 0, unix.EMFILE)
		return
	}
	c.s.routeSockets[st.Ino] = netns
}

// maxRouteSockets limits the sockets of simulated network namespaces in a session.
const maxRouteSockets = 1 << 16
