//go:build linux && (amd64 || arm64)

package exec

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
)

// unseen are calls that --live does not notify: they run while threads start and wait for each
// other, and in every signal handler.
var unseen = []int{
	unix.SYS_FUTEX, unix.SYS_RT_SIGRETURN, unix.SYS_RESTART_SYSCALL, unix.SYS_RT_SIGPROCMASK, unix.SYS_SIGALTSTACK, unix.SYS_SCHED_YIELD,
	unix.SYS_MADVISE, unix.SYS_TGKILL,
}

// allow is a rule for a call that goes to the host without a notification.
const allow condition = refused + 1

// liveRules returns the rules of --live: every call is notified that is neither unseen nor refused.
func liveRules(asRoot bool) []rule {
	list := rules(asRoot)
	for _, nr := range unseen {
		list = append(list, rule{nr: nr, when: allow})
	}
	return list
}

// served are the rules by the number of their call.
var served = sync.OnceValue(func() map[int][]rule { return byCall(rules(false)) })

// servedAsRoot are those of a tool that is to believe that it runs as root.
var servedAsRoot = sync.OnceValue(func() map[int][]rule { return byCall(rules(true)) })

func byCall(list []rule) map[int][]rule {
	out := map[int][]rule{}
	for _, r := range list {
		out[r.nr] = append(out[r.nr], r)
	}
	return out
}

// ruled reports whether a rule is about a call, so that its handler serves it.
func ruled(n *notif, asRoot bool) bool {
	rules := served
	if asRoot {
		rules = servedAsRoot
	}
	for _, r := range rules()[int(n.NR)] {
		word := uint32(n.Args[r.arg])
		switch r.when {
		case always:
			return true
		case equal:
			if word == r.val {
				return true
			}
		case bits:
			if word&r.val != 0 {
				return true
			}
		case words:
			if word > 0 && word <= maxWords && word%8 == 0 {
				return true
			}
		case byte1:
			if word>>8&0xff == r.val {
				return true
			}
		case sharedMap:
			if flags := uint32(n.Args[3]); flags&unix.MAP_ANONYMOUS == 0 && flags&unix.MAP_SHARED != 0 {
				return true
			}
		}
	}
	return false
}

// maxLiveText limits the bytes of a string argument that programs see, maxLiveWords the strings of
// a vector.
const (
	maxLiveText  = 4096
	maxLiveWords = 64
	maxSockaddr  = 128
)

// Of a call that a process makes, its entry happens before it runs, and its exit when what it
// returned has become known: at the thread's next call.

// begun is a call whose exit has not been fired.
type begun struct {
	name string
	args map[string]any
	task map[string]any
	cpu  int // that the task runs on
	// want is the descriptor that the call returns if it succeeds, -1 if it returns none; exists is
	// whether descriptors that it is about were open, or the socket that connects was connected.
	want   int
	target string // path of the file that is opened or executed, as this process reaches it
	exists bool
	moves  *transfer // what a call that moves bytes was counted with
	ret    *int64    // what it returned, if that is known already
	regs   [6]uint64 // its arguments as they were passed
}

// maxBegun limits the threads with a call that has begun.
const maxBegun = 1 << 12

// live fires the hooks of a call that a process of the tool makes: sys_enter and the probes of its
// function; before that, the exit of the thread's last call.
func (c *call) live() {
	s := c.s
	if !s.cfg.Live || !s.sys.Attached() || c.process().tgid == s.guard {
		return
	}
	s.drain() // closed links fire no more
	tid := int(c.n.PID)
	if b, ok := s.begun[tid]; ok {
		delete(s.begun, tid)
		c.returned(b)
	}
	k := s.sys.Machine().Kernel()
	name, known := s.callNames[c.n.NR]
	if !known {
		name, _ = k.SyscallName(int(c.n.NR))
		s.callNames[c.n.NR] = name
	}
	if name == "" {
		return
	}
	b := &begun{name: name, args: c.liveArgs(name), want: -1, regs: c.n.Args}
	b.task, b.cpu = s.liveTask(c.process().tgid, tid)
	c.expect(b)
	c.count(b)
	s.fireLive(b, bpfsys.CallEntry, nil)
	c.signals(b)
	if name == "exit" || name == "exit_group" {
		return
	}
	if s.begun == nil {
		s.begun = map[int]*begun{}
	}
	if len(s.begun) < maxBegun {
		s.begun[tid] = b
	}
}

// liveArgs reads a call's arguments: numbers, and from the memory of its process strings, vectors
// of strings and addresses of sockets.
func (c *call) liveArgs(name string) map[string]any {
	kinds, names := hook.SyscallKinds(name), hook.SyscallArgNames(name)
	args := map[string]any{}
	for i, kind := range kinds {
		if i >= len(c.n.Args) {
			break
		}
		v := c.arg(i)
		args[names[i]] = v
		switch {
		case v == 0, isBuffer(names[i]): // programs find buffers where they are
		case kind == 's':
			if text, ok := c.text(v, maxLiveText); ok {
				args[names[i]] = text
			}
		case kind == 'v':
			if words, ok := c.vector(v); ok {
				args[names[i]] = words
			}
		case kind == 'a' && i+1 < len(kinds) && kinds[i+1] != 'p':
			b := make([]byte, min(c.arg(i+1), maxSockaddr))
			if len(b) > 0 && c.Read(v, b) {
				args[names[i]] = b
			}
		}
	}
	return args
}

// vector reads strings up to a null pointer.
func (c *call) vector(addr uint64) ([]string, bool) {
	var out []string
	for len(out) < maxLiveWords {
		p := make([]byte, 8)
		if !c.Read(addr+8*uint64(len(out)), p) {
			return nil, false
		}
		at := le.Uint64(p)
		if at == 0 {
			return out, true
		}
		text, ok := c.text(at, maxLiveText)
		if !ok {
			return nil, false
		}
		out = append(out, text)
	}
	return out, true
}

// expect notes what will tell whether a call succeeded.
func (c *call) expect(b *begun) {
	tgid := c.process().tgid
	switch b.name {
	case "open", "creat", "openat", "openat2":
		b.want = lowestFree(tgid)
		b.target = b.targetOf(tgid)
	case "execve", "execveat":
		b.target = b.targetOf(tgid)
	case "socket", "accept", "accept4", "dup", "epoll_create1", "eventfd2", "memfd_create", "timerfd_create", "inotify_init1", "pidfd_open":
		b.want = lowestFree(tgid)
	case "close":
		_, err := os.Lstat(fmt.Sprintf("/proc/%d/fd/%d", tgid, c.fd(0)))
		b.exists = err == nil
	case "connect":
		if own, err := c.s.grab(c.n, c.fd(0)); err == nil {
			b.exists = peerOf(own) != nil
			unix.Close(own)
		}
	}
}

// targetOf returns the path of the file that a call names, as this process reaches it.
func (b *begun) targetOf(tgid int) string {
	path, _ := b.args["filename"].(string)
	if b.name == "creat" {
		path, _ = b.args["pathname"].(string)
	}
	base := "cwd"
	for _, name := range [...]string{"dfd", "fd"} { // of execveat
		if fd, ok := b.args[name].(uint64); ok && int32(fd) != unix.AT_FDCWD {
			base = fmt.Sprintf("fd/%d", int32(fd))
		}
	}
	if strings.HasPrefix(path, "/") {
		base = "root"
	}
	return fmt.Sprintf("/proc/%d/%s/%s", tgid, base, path)
}

// lowestFree returns the descriptor that the next file of a process gets.
func lowestFree(tgid int) int {
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", tgid))
	if err != nil {
		return -1
	}
	open := map[string]bool{}
	for _, e := range list {
		open[e.Name()] = true
	}
	for fd := range len(list) + 1 {
		if !open[strconv.Itoa(fd)] {
			return fd
		}
	}
	return -1
}

// returned fires the exit of the thread's last call. What it returned is known of calls that make
// descriptors, close them, connect, start programs or ask for ids.
func (c *call) returned(b *begun) {
	ret, known := c.result(b)
	b.task, b.cpu = c.s.liveTask(c.process().tgid, int(c.n.PID)) // its name may be another one
	if known && (ret >= 0 || ret == -int64(unix.EINPROGRESS)) {
		switch b.name {
		case "accept", "accept4":
			c.showAccepted(int32(ret), b.regs[1], b.regs[2])
			c.accepted(b, int32(ret))
		case "connect":
			c.connected(b, ret)
		case "recvfrom":
			c.showPeer(b.regs[4], b.regs[5])
		}
	}
	if !known {
		if c.s.fireLive(b, bpfsys.CallExit, nil) {
			if c.s.invented == nil {
				c.s.invented = map[string]int{}
			}
			c.s.invented[b.name+c.onSocket(b)]++
		}
		return
	}
	c.s.fireLive(b, bpfsys.CallExit, &ret)
}

func (c *call) result(b *begun) (int64, bool) {
	tgid := c.process().tgid
	if b.ret != nil {
		return *b.ret, true
	}
	if b.moves != nil {
		return c.moved(b, b.regs)
	}
	if b.want >= 0 {
		if _, err := os.Lstat(fmt.Sprintf("/proc/%d/fd/%d", tgid, b.want)); err == nil {
			return int64(b.want), true
		}
		return refusedAt(b.target, unix.R_OK)
	}
	switch b.name {
	case "close":
		if b.exists {
			return 0, true
		}
		return -int64(unix.EBADF), true
	case "getpid":
		return int64(tgid), true
	case "gettid":
		return int64(c.n.PID), true
	case "connect":
		fd, ok := b.args["fd"].(uint64)
		if !ok {
			return 0, false
		}
		own, err := c.s.grab(c.n, int32(fd))
		if err != nil {
			return 0, false
		}
		defer unix.Close(own)
		if _, err := unix.Getpeername(own); err == nil {
			if b.exists && isUnixStream(own) {
				return -int64(unix.EISCONN), true
			}
			return 0, true
		}
		if e, known := c.unixRefused(b); known {
			return -int64(e), true
		}
		if info, err := unix.GetsockoptTCPInfo(own, unix.IPPROTO_TCP, unix.TCP_INFO); err == nil && info.State == tcpSynSent {
			return -int64(unix.EINPROGRESS), true
		}
	}
	if ret, ok := c.s.lives.results[int(c.n.PID)]; ok {
		delete(c.s.lives.results, int(c.n.PID))
		return ret, true
	}
	return refusedAt(b.target, unix.X_OK)
}

// refusedAt returns the error of a call that wants to read or to execute the file at a path, as far
// as looking there tells it.
func refusedAt(target string, mode uint32) (int64, bool) {
	if target == "" {
		return 0, false
	}
	var st unix.Stat_t
	if e, ok := unix.Stat(target, &st).(unix.Errno); ok {
		return -int64(e), true
	}
	if unix.Access(target, mode) != nil || mode == unix.X_OK && st.Mode&unix.S_IFMT != unix.S_IFREG {
		return -int64(unix.EACCES), true
	}
	return 0, false
}

// onSocket says of a call that sends or receives messages over what it does, and whether these have
// control data, if its socket is still there: " (Unix datagrams)".
func (c *call) onSocket(b *begun) string {
	if (b.moves == nil || !b.moves.socket) && b.name != "sendmmsg" && b.name != "recvmmsg" {
		return ""
	}
	g, err := c.s.grab(c.n, int32(b.regs[0]))
	if err != nil {
		return ""
	}
	defer unix.Close(g)
	family, err1 := unix.GetsockoptInt(g, unix.SOL_SOCKET, unix.SO_DOMAIN)
	typ, err2 := unix.GetsockoptInt(g, unix.SOL_SOCKET, unix.SO_TYPE)
	if err1 != nil || err2 != nil {
		return ""
	}
	kind := map[int]string{unix.SOCK_STREAM: "stream", unix.SOCK_DGRAM: "datagrams", unix.SOCK_SEQPACKET: "packets"}[typ]
	if kind == "" {
		kind = "raw packets"
	}
	if family == unix.AF_UNIX {
		kind = "Unix " + kind
	}
	if b.moves != nil && b.moves.control {
		kind += ", control data"
	}
	return " (" + kind + ")"
}

// sayInvented notes of which calls programs saw results that are not the real ones.
func (s *supervisor) sayInvented() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.invented) == 0 {
		return
	}
	const shown = 12
	names := slices.SortedFunc(maps.Keys(s.invented), func(a, b string) int {
		return cmp.Or(s.invented[b]-s.invented[a], strings.Compare(a, b))
	})
	more := ""
	if n := len(names) - shown; n > 0 {
		names, more = names[:shown], fmt.Sprintf(" and %d more calls", n)
	}
	s.note("--live: invented are the results of " + strings.Join(names, ", ") + more)
}

// fireEvent fires an event that a call of --live tells of.
func (s *supervisor) fireEvent(e bpfsys.Event) {
	fired, err := s.sys.Fire(e)
	if err != nil {
		if !errors.Is(err, bpfsys.ErrNoHook) {
			s.note("--live: " + e.Hook + ": " + err.Error())
		}
		return
	}
	if s.cfg.Fired != nil {
		s.cfg.Fired(e.Hook, fired)
	}
	for _, f := range fired {
		if f.Err != nil {
			s.note("--live: " + e.Hook + ": " + f.Err.Error())
		}
	}
	s.levels()
}

// fireLive fires one side of a call.
func (s *supervisor) fireLive(b *begun, side bpfsys.Side, ret *int64) (ran bool) {
	args := b.args
	if ret != nil {
		args = maps.Clone(args)
		args["ret"] = *ret
	}
	fired, err := s.sys.Fire(bpfsys.Event{Hook: "syscall/" + b.name, Args: args, Task: b.task, CPU: b.cpu, Side: side})
	if err != nil {
		if !errors.Is(err, bpfsys.ErrNoHook) {
			s.note("--live: " + b.name + ": " + err.Error())
		}
		return false
	}
	if s.cfg.Fired != nil {
		s.cfg.Fired("syscall/"+b.name, fired)
	}
	s.note("--live: tasks (ids, names, parents), arguments of calls and many results are real; all else that programs read is simulated")
	s.failures(b.name+": ", fired)
	s.levels()
	return len(fired) > 0
}

// failures notes what was wrong with programs that ran for something live.
func (s *supervisor) failures(of string, fired []bpfsys.Fired) {
	for _, f := range fired {
		if f.Err != nil {
			s.note("--live: " + of + f.Err.Error())
		}
	}
}
