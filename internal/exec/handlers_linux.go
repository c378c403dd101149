//go:build linux && (amd64 || arm64)

package exec

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// handlers returns the served calls by number.
var handlers func() map[int]func(*call)

// The table's functions lead back to it, so that it cannot be the variable's initial value.
func init() { handlers = sync.OnceValue(makeHandlers) }

func makeHandlers() map[int]func(*call) {
	all := map[int]func(*call){
		unix.SYS_BPF: (*call).bpf, unix.SYS_PERF_EVENT_OPEN: (*call).perfOpen, sysUprobe: (*call).uprobe,
		unix.SYS_FSTAT: (*call).fstat, unix.SYS_FSTATFS: (*call).fstatfs, unix.SYS_FCHDIR: (*call).fchdir, unix.SYS_GETCWD: (*call).getcwd,
		unix.SYS_GETDENTS64: (*call).getdents,
		unix.SYS_FSOPEN:     (*call).fsopen, unix.SYS_FSCONFIG: (*call).fsconfig, unix.SYS_FSMOUNT: (*call).fsmount,
		unix.SYS_UNAME: (*call).uname, unix.SYS_UNSHARE: (*call).newNetwork, unix.SYS_CLONE: (*call).newNetwork, unix.SYS_SETNS: (*call).setns,
		unix.SYS_PRLIMIT64: (*call).prlimit, sysSetrlimit: func(c *call) { c.s.reply(c.n, 0, 0) }, sysGetrlimit: func(c *call) { c.locksLimit(c.arg(1)) },
		unix.SYS_READ: (*call).read, unix.SYS_READV: (*call).readv, unix.SYS_PREAD64: (*call).pread,
		unix.SYS_PREADV: (*call).pread, unix.SYS_PREADV2: (*call).preadv2,
		unix.SYS_IOCTL: (*call).ioctl, unix.SYS_MMAP: (*call).mmap,
		unix.SYS_EPOLL_CTL: (*call).epollCtl, unix.SYS_EPOLL_PWAIT: (*call).epollWait, unix.SYS_EPOLL_PWAIT2: (*call).epollWait, sysEpollWait: (*call).epollWait,
		sysPoll:        func(c *call) { c.poll(int64(int32(c.arg(2))) * 1e6) },
		unix.SYS_PPOLL: func(c *call) { c.poll(c.timeout(c.arg(2))) },
		sysSelect:      func(c *call) { c.selectOf(time.Microsecond) }, unix.SYS_PSELECT6: func(c *call) { c.selectOf(time.Nanosecond) },
		unix.SYS_CLOCK_NANOSLEEP: (*call).sleep,
		unix.SYS_SENDTO:          (*call).sendto, unix.SYS_SENDMSG: (*call).sendmsg, unix.SYS_RECVMSG: (*call).recvmsg, unix.SYS_RECVFROM: (*call).recvfrom,
		unix.SYS_SENDMMSG: (*call).sendmmsg, unix.SYS_SOCKET: (*call).socket,
		unix.SYS_SETSOCKOPT: (*call).setsockopt, unix.SYS_CAPGET: (*call).capget, unix.SYS_CAPSET: (*call).capset,
		unix.SYS_SECCOMP: func(c *call) { c.s.reply(c.n, 0, unix.EBUSY) }, // as the kernel: one listener at a time
	}
	pathHandlers(all)
	return all
}

func (c *call) arg(i int) uint64 { return c.n.Args[i] }
func (c *call) fd(i int) int32   { return int32(uint32(c.n.Args[i])) }

// fire is the number of the private bpf(2) command with which tests fire a hook: its attributes
// begin with a pointer to a line of an events file. The result is the number of programs that ran.
const fire = 0xb9f0

// ask is the number of the private command with which a process checks that it is supervised;
// answer is its result.
const ask, answer = 0xb9f1, 0x5e11

func (c *call) bpf() {
	s := c.s
	if uint32(c.arg(0)) == ask {
		c.metGuard()
		s.reply(c.n, answer, 0)
		return
	}
	if c.process().vdso == 0 {
		s.version(c)
	}
	cmd, addr, size := uint32(c.arg(0)), c.arg(1), uint32(c.arg(2))
	if cmd == fire {
		c.fire(addr)
		return
	}
	if !bpfsys.OnElements(cmd) { // element commands do not depend on which objects still exist
		s.drain()
		c.findArenas()
	}
	r := s.sys.Call(c, cmd, addr, size, c.arg(3), uint32(c.arg(4)))
	if r.Errno == uapi.EBUSY && bpfsys.OnElements(cmd) { // what is in use may have been closed: an extension, for a program array
		s.drain()
		r = s.sys.Call(c, cmd, addr, size, c.arg(3), uint32(c.arg(4)))
	}
	if s.cfg.Log != nil {
		s.logf("[%d] %s%s", c.n.PID, bpfsys.CommandName(cmd), describe(r))
	}
	s.result(c.n, r)
	s.levels()
}

func describe(r bpfsys.Result) string {
	if r.File != nil && r.File.Object != nil {
		return " " + r.File.Object.Kind().String() + " " + r.File.Object.Name()
	}
	return ""
}

func (c *call) fire(addr uint64) {
	b := make([]byte, 8)
	if !c.Read(addr, b) {
		c.s.reply(c.n, 0, unix.EFAULT)
		return
	}
	text, ok := c.text(le.Uint64(b), 1<<16)
	if !ok {
		c.s.reply(c.n, 0, unix.EFAULT)
		return
	}
	l, err := ParseLine(text)
	if err != nil {
		c.s.note(err.Error())
		c.s.reply(c.n, 0, unix.EINVAL)
		return
	}
	n, err := c.s.hit(l)
	if err != nil {
		c.s.reply(c.n, 0, unix.ENOENT)
		return
	}
	c.s.reply(c.n, int64(n), 0)
}

func (c *call) perfOpen() {
	c.s.counted = true
	r := c.s.sys.PerfEventOpen(c, c.arg(0), c.fd(1), c.fd(2), c.fd(3), c.arg(4))
	c.s.logf("[%d] perf_event_open%s", c.n.PID, describe(r))
	c.s.result(c.n, r)
}

// uprobe fails as the kernel does: only its trampolines make this call. Loaders probe for it.
func (c *call) uprobe() {
	if since.Of(c.s.cfg.System.Target.Version).Has(since.UprobeSyscall) {
		c.s.reply(c.n, 0, unix.ENXIO)
		return
	}
	c.s.reply(c.n, 0, unix.ENOSYS)
}

func (c *call) ioctl() {
	e, ok := c.File(c.fd(0)).Object.(*bpfsys.PerfEvent)
	if !ok {
		if !c.deviceIoctl() {
			c.s.host(c.n)
		}
		return
	}
	r := c.s.sys.PerfIoctl(c, e, uint32(c.arg(1)), c.arg(2))
	c.s.logf("[%d] ioctl %d of perf event %s", c.n.PID, c.arg(1)&0xff, e.Name())
	c.s.result(c.n, r)
}

// mmap checks the mapping of an object and lets the host make it: the descriptor is a memfd with
// the object's memory.
func (c *call) mmap() {
	f := c.File(c.fd(4))
	if f.Object == nil {
		c.s.host(c.n)
		return
	}
	prot, length, off := c.arg(2), c.arg(1), c.arg(5)
	if length > 1<<40 {
		c.s.reply(c.n, 0, unix.ENOMEM)
		return
	}
	length = (length + 4095) &^ 4095
	file, err := c.s.fileOf(f.Object)
	if err != nil {
		c.s.reply(c.n, 0, unix.ENOMEM)
		return
	}
	var e uapi.Errno
	c.s.sharing = file
	if m, ok := f.Object.(*bpfsys.Map); ok && m.Def().Type == uapi.MapTypeArena {
		e = c.s.sys.MapArena(m, c.arg(0), off, length, c.arg(3)&(unix.MAP_FIXED|unix.MAP_FIXED_NOREPLACE) != 0)
		file.arena = e == 0
	} else {
		e = c.s.sys.MapRange(f.Object, f.Access, off, length, prot&unix.PROT_WRITE != 0, c.arg(3)&unix.MAP_SHARED != 0)
	}
	c.s.sharing = nil
	c.s.logf("[%d] mmap %s %s offset %d length %d", c.n.PID, f.Object.Kind(), f.Object.Name(), off, length)
	if e != 0 {
		c.s.reply(c.n, 0, errnoOf(e))
		return
	}
	c.s.host(c.n)
}

// capset accepts any capabilities of a tool that runs as simulated root.
func (c *call) capset() {
	if c.namespace("user") != 0 {
		c.s.host(c.n)
		return
	}
	c.s.reply(c.n, 0, 0)
}

func (c *call) prlimit() {
	if uint32(c.arg(1)) == limitLocks {
		c.locksLimit(c.arg(3))
		return
	}
	if c.arg(2) == 0 { // a query
		c.s.host(c.n)
		return
	}
	if old := c.arg(3); old != 0 && !c.Write(old, le.AppendUint64(le.AppendUint64(nil, ^uint64(0)), ^uint64(0))) {
		c.s.reply(c.n, 0, unix.EFAULT)
		return
	}
	c.s.reply(c.n, 0, 0)
}

// capget reports all capabilities to a tool that runs as simulated root. In a user namespace of its
// own, a process has real ones.
func (c *call) capget() {
	if c.namespace("user") != 0 {
		c.s.host(c.n)
		return
	}
	head := make([]byte, 8)
	if !c.Read(c.arg(0), head) {
		c.s.reply(c.n, 0, unix.EFAULT)
		return
	}
	if v := le.Uint32(head); v != unix.LINUX_CAPABILITY_VERSION_3 || c.arg(1) == 0 {
		c.s.host(c.n) // the host writes the version it wants
		return
	}
	high := uint32(1)<<(unix.CAP_LAST_CAP-31) - 1
	var b []byte
	for _, v := range []uint32{^uint32(0), high} {
		b = le.AppendUint32(le.AppendUint32(le.AppendUint32(b, v), v), 0)
	}
	if !c.Write(c.arg(1), b) {
		c.s.reply(c.n, 0, unix.EFAULT)
		return
	}
	c.s.reply(c.n, 0, 0)
}
