//go:build linux && (amd64 || arm64)

package exec

import (
	"errors"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/bpfsys/network"
	"github.com/bpfrun/bpfrun/loader"
)

// beside makes a supervisor of no tool. Its calls come from the test itself, and its answers go
// nowhere.
func beside(t *testing.T) (s *supervisor, notes *strings.Builder) {
	t.Helper()
	spec, err := embedded.Spec()
	require.NoError(t, err)
	system := bpfsys.Config{Target: loader.NewTarget(embedded.Name, spec, loader.WithVersion(6<<16|12<<8))}
	sys, err := bpfsys.New(system)
	require.NoError(t, err)
	t.Cleanup(sys.Close)
	notes = &strings.Builder{}
	s = &supervisor{
		cfg: Config{System: system, Notes: notes}, sys: sys, listener: -1, inotify: -1, quit: -1,
		files: map[uint64]*file{}, watches: map[int]*file{}, threads: map[uint32]*process{}, procs: map[int]*process{},
		tables: map[uint32]threadTable{}, told: map[string]bool{}, callNames: map[int32]string{}, mountTables: map[mountKey]*mountTable{},
		replies: map[uint64][][]byte{}, poked: map[uint64]bool{},
	}
	pidfd, err := unix.PidfdOpen(os.Getpid(), 0)
	require.NoError(t, err)
	t.Cleanup(func() { unix.Close(pidfd) })
	g, err := unix.PidfdGetfd(pidfd, pidfd, 0)
	if err != nil {
		t.Skipf("no descriptors of other processes here: %v", err)
	}
	unix.Close(g)
	s.procs[os.Getpid()] = &process{tgid: os.Getpid(), pidfd: pidfd}
	s.threads[uint32(os.Getpid())] = s.procs[os.Getpid()]
	return s, notes
}

// callOf is a call of the test itself.
func (s *supervisor) callOf(nr int32, args ...uint64) *call {
	n := &notif{PID: uint32(os.Getpid()), NR: nr}
	copy(n.Args[:], args)
	return &call{s: s, n: n}
}

// TestCallsThatAnArchitectureLacks have no rule.
func TestCallsThatAnArchitectureLacks(t *testing.T) {
	read := rule{nr: unix.SYS_READ}
	for _, when := range []condition{always, allow, refused, equal, bits, words, byte1, sharedMap} {
		lacks := rule{nr: -1, when: when, val: 1}
		assert.Equal(t, filter([]rule{read}, unix.SECCOMP_RET_ALLOW), filter([]rule{lacks, read, lacks}, unix.SECCOMP_RET_ALLOW))
		lacks.nr = 0
		assert.NotEqual(t, filter([]rule{read}, unix.SECCOMP_RET_ALLOW), filter([]rule{lacks, read}, unix.SECCOMP_RET_ALLOW))
	}
}

// TestWhichPlacesMayBeSimulated: those of the simulated kernel's file systems and files, but not
// those to which only a simulated link leads.
func TestWhichPlacesMayBeSimulated(t *testing.T) {
	f := &file{}
	for _, tt := range []struct {
		p    place
		ours bool
	}{
		{place{path: "/sys/kernel"}, true}, {place{path: "/proc/1"}, true}, {place{path: "/boot/config-6.12"}, true}, {place{path: "/lib/modules/6.12"}, true},
		{place{path: "/sys"}, false}, {place{path: "/system/x"}, false}, {place{path: "/boot/vmlinuz"}, false}, {place{}, false},
		{place{file: f}, true}, {place{path: "/etc/passwd", file: f}, true},
		{place{path: "/sys/kernel", drifts: true}, true}, {place{path: "/sys/kernel", adrift: true}, false}, {place{file: f, adrift: true}, false},
		{place{path: "/sys/kernel", hosts: true}, false}, {place{file: f, hosts: true}, false},
	} {
		assert.Equal(t, tt.ours, tt.p.ours(), "%+v", tt.p)
	}
}

// TestPathsOfFilesThatCallsName: from the directory that is given, else the working directory.
func TestPathsOfFilesThatCallsName(t *testing.T) {
	const current = uint64(1<<32 - 100) // AT_FDCWD, as most tools pass it
	for _, tt := range []struct {
		name string
		args map[string]any
		want string
	}{
		{"open", map[string]any{"filename": "a/b"}, "/proc/7/cwd/a/b"},
		{"open", map[string]any{"filename": "/a"}, "/proc/7/root//a"},
		{"creat", map[string]any{"pathname": "a"}, "/proc/7/cwd/a"},
		{"openat", map[string]any{"dfd": uint64(5), "filename": "a"}, "/proc/7/fd/5/a"},
		{"openat", map[string]any{"dfd": uint64(5), "filename": "/a"}, "/proc/7/root//a"},
		{"openat", map[string]any{"dfd": current, "filename": "a"}, "/proc/7/cwd/a"},
		{"openat", map[string]any{"dfd": current | 1<<63, "filename": "a"}, "/proc/7/cwd/a"},
		{"execveat", map[string]any{"fd": uint64(3), "filename": ""}, "/proc/7/fd/3/"},
		{"execveat", map[string]any{"fd": current, "filename": "a"}, "/proc/7/cwd/a"},
	} {
		assert.Equal(t, tt.want, (&begun{name: tt.name, args: tt.args}).targetOf(7), "%s %v", tt.name, tt.args)
	}
}

// TestKindsOfSockets: what notes say of a call's socket.
func TestKindsOfSockets(t *testing.T) {
	s, _ := beside(t)
	for _, tt := range []struct {
		family, typ, protocol int
		want                  string
	}{
		{unix.AF_INET, unix.SOCK_STREAM, 0, " (stream)"}, {unix.AF_INET, unix.SOCK_DGRAM, 0, " (datagrams)"},
		{unix.AF_UNIX, unix.SOCK_STREAM, 0, " (Unix stream)"}, {unix.AF_UNIX, unix.SOCK_DGRAM, 0, " (Unix datagrams)"},
		{unix.AF_UNIX, unix.SOCK_SEQPACKET, 0, " (Unix packets)"},
		{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE, " (raw packets)"},
	} {
		fd, err := unix.Socket(tt.family, tt.typ|unix.SOCK_CLOEXEC, tt.protocol)
		require.NoError(t, err)
		defer unix.Close(fd)
		c := s.callOf(unix.SYS_SENDMSG)
		regs := [6]uint64{uint64(fd)}
		assert.Equal(t, tt.want, c.onSocket(&begun{name: "sendmmsg", regs: regs}), "%+v", tt)
		moves := &transfer{kind: kind{socket: true}, control: true}
		assert.Equal(t, strings.Replace(tt.want, ")", ", control data)", 1), c.onSocket(&begun{name: "sendmsg", regs: regs, moves: moves}))
		assert.Empty(t, c.onSocket(&begun{name: "write", regs: regs, moves: &transfer{}}), "not a call of sockets")
		assert.Empty(t, c.onSocket(&begun{name: "getpid", regs: regs}))
	}
	assert.Empty(t, s.callOf(unix.SYS_SENDMSG).onSocket(&begun{name: "sendmmsg", regs: [6]uint64{1 << 20}}), "no descriptor")
}

// TestWhenNothingIsLeftToRead: at the end of a file, and of a connection whose peer closed it, once
// all bytes were read.
func TestWhenNothingIsLeftToRead(t *testing.T) {
	s, _ := beside(t)
	c := s.callOf(unix.SYS_READ)
	f, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	defer f.Close()
	at := func() bool { return c.atEnd(&transfer{fd: int32(f.Fd())}) }
	assert.True(t, at())
	_, err = f.WriteString("ab")
	require.NoError(t, err)
	_, err = f.Seek(1, 0)
	require.NoError(t, err)
	assert.False(t, at())
	_, err = f.Seek(5, 0)
	require.NoError(t, err)
	assert.True(t, at(), "behind the end")
	assert.False(t, c.atEnd(&transfer{fd: 1 << 20}), "no descriptor")
	native(t) // states of connections

	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	peer, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	conn, err := l.Accept()
	require.NoError(t, err)
	defer conn.Close()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	require.NoError(t, err)
	ends := func() (end bool) {
		require.NoError(t, raw.Control(func(fd uintptr) { end = c.atEnd(&transfer{kind: kind{socket: true}, fd: int32(fd)}) }))
		return end
	}
	assert.False(t, ends(), "it is open")
	_, err = peer.Write([]byte("ab"))
	require.NoError(t, err)
	require.NoError(t, peer.Close())
	require.NoError(t, raw.Read(func(fd uintptr) bool { return bytesWait(fd, 2) }))
	require.Eventually(t, func() bool {
		var state uint8
		_ = raw.Control(func(fd uintptr) { _, _, state, _ = connectionBytes(int(fd)) })
		return state == tcpCloseWait
	}, 5*time.Second, time.Millisecond)
	assert.False(t, ends(), "two bytes wait")
	b := make([]byte, 1)
	for _, end := range []bool{false, true} {
		_, err = conn.Read(b)
		require.NoError(t, err)
		assert.Equal(t, end, ends())
	}
}

// bytesWait reports whether so many bytes wait in a socket.
func bytesWait(fd uintptr, n int) bool {
	got, err := unix.IoctlGetInt(int(fd), unix.SIOCINQ)
	return err == nil && got >= n
}

// TestHeldCallsAreLimited: calls that would wait in a socket are held, up to a number of them.
func TestHeldCallsAreLimited(t *testing.T) {
	s, _ := beside(t)
	p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(p[1])
	c := s.callOf(unix.SYS_READ, uint64(p[0]))
	hold := func(held int, flags int) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.held = held
		return c.hold(&begun{name: "read"}, flags)
	}
	assert.False(t, hold(0, 0), "a signal may interrupt it")
	s.killable = true
	assert.True(t, hold(0, 0))
	assert.True(t, hold(maxHeld-1, 0))
	assert.False(t, hold(maxHeld, 0))
	assert.False(t, hold(0, unix.MSG_DONTWAIT), "it does not wait")
	s.mu.Lock()
	s.held = 2 // the calls that it holds
	_, err = unix.Write(p[1], []byte{1})
	assert.NoError(t, err)
	assert.False(t, c.hold(&begun{name: "read"}, 0), "something is there")
	s.mu.Unlock()
	unix.Close(p[0])
	held := func() int { s.mu.Lock(); defer s.mu.Unlock(); return s.held }
	require.Eventually(t, func() bool { return held() == 0 }, 5*time.Second, time.Millisecond, "calls that are gone are no longer held")
}

// TestWhichMessagesEndAnAnswer: one that is not a part, the last part, and an error, whatever
// follows.
func TestWhichMessagesEndAnAnswer(t *testing.T) {
	s, _ := beside(t)
	message := func(typ, flags uint16) []byte {
		b := make([]byte, nlmsgHdrSize+4)
		le.PutUint32(b, uint32(len(b)))
		le.PutUint16(b[4:], typ)
		le.PutUint16(b[6:], flags)
		return b
	}
	part, whole := message(unix.RTM_NEWADDR, unix.NLM_F_MULTI), message(unix.RTM_NEWADDR, 0)
	done, failed := message(nlmsgDone, unix.NLM_F_MULTI), message(unix.NLMSG_ERROR, unix.NLM_F_MULTI)
	for _, tt := range []struct {
		name string
		list [][]byte
		end  bool
	}{
		{"nothing", nil, true},
		{"a part", [][]byte{part}, false},
		{"two parts", [][]byte{part, part}, false},
		{"the last part", [][]byte{part, done}, true},
		{"the last part, and one of another answer", [][]byte{done, part}, true},
		{"a whole one", [][]byte{whole}, true},
		{"a whole one, and a part", [][]byte{whole, part}, true},
		{"an error among parts", [][]byte{part, failed, part}, true},
		{"half a header", [][]byte{part[:10]}, true},
		{"a length that is too large", [][]byte{part, append([]byte{200}, part[1:]...)}, false},
	} {
		var b []byte
		for _, m := range tt.list {
			b = append(b, m...)
		}
		out, end := s.withXDP(b, 77)
		assert.Equal(t, tt.end, end, tt.name)
		for at := 0; at < len(out); at += nlmsgHdrSize + 4 {
			assert.EqualValues(t, 77, le.Uint32(out[at+12:]), tt.name)
		}
	}
}

// TestASocketIsWatchedOnce, however often it joins groups.
func TestASocketIsWatchedOnce(t *testing.T) {
	native(t) // generic netlink
	s, _ := beside(t)
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	require.NoError(t, err)
	defer unix.Close(fd)
	other, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_GENERIC)
	require.NoError(t, err)
	defer unix.Close(other)
	s.callOf(unix.SYS_BIND, uint64(fd)).watch()
	require.Len(t, s.watchers, 1)
	var first *watcher
	for _, w := range s.watchers {
		first = w
	}
	s.callOf(unix.SYS_BIND, uint64(fd)).watch()
	s.callOf(unix.SYS_BIND, uint64(other)).watch()
	require.Len(t, s.watchers, 1, "one socket of NETLINK_ROUTE")
	for _, w := range s.watchers {
		assert.Same(t, first, w)
		unix.Close(w.fd)
	}
}

// TestResultsThatFail drop the reference of the object that they have, if they have one.
func TestResultsThatFail(t *testing.T) {
	s, notes := beside(t)
	n := s.callOf(unix.SYS_BPF).n
	b := &begun{}
	s.begun = map[int]*begun{int(n.PID): b}
	for _, r := range []bpfsys.Result{{Errno: 22}, {Errno: 22, File: &bpfsys.File{}}, {Val: -3, Errno: 22, Note: "said"}} {
		b.ret = nil
		s.result(n, r)
		require.NotNil(t, b.ret)
		assert.EqualValues(t, -22, *b.ret)
	}
	s.result(n, bpfsys.Result{Val: 5})
	assert.EqualValues(t, 5, *b.ret)
	assert.Equal(t, "bpfrun exec: said\n", notes.String())
}

// TestPanicsOfCalls are said, and are an error for the tool.
func TestPanicsOfCalls(t *testing.T) {
	s, notes := beside(t)
	n := s.callOf(unix.SYS_GETPID).n
	b := &begun{}
	s.begun = map[int]*begun{int(n.PID): b}
	s.cfg.Live, s.sys = true, nil
	assert.NotPanics(t, func() { s.handle(n) })
	assert.Contains(t, notes.String(), "internal error in call")
	require.NotNil(t, b.ret)
	assert.EqualValues(t, -int64(unix.EIO), *b.ret)
}

// TestTheHostsVersionStays in the vDSO, unless a release or a version is chosen.
func TestTheHostsVersionStays(t *testing.T) {
	s, _ := beside(t)
	p := s.procs[os.Getpid()]
	target := s.cfg.System.Target
	for _, tt := range []struct {
		version uint32
		release string
		looks   bool
	}{{6<<16 | 12<<8, "6.12.0", true}, {6<<16 | 12<<8, "", false}, {0, "6.12.0", false}, {0, "", false}} {
		target.Version, s.cfg.Release = tt.version, tt.release
		p.vdso = 8 // where nothing is
		s.version(s.callOf(unix.SYS_GETPID))
		assert.Equal(t, tt.looks, p.vdso == 0, "%+v", tt)
	}
}

// TestNotificationsThatCannotBeRead leave files as they are.
func TestNotificationsThatCannotBeRead(t *testing.T) {
	s, _ := beside(t)
	dir, err := unix.Open("/", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(dir)
	require.True(t, ready(dir, unix.POLLIN))
	s.inotify = dir
	assert.NotPanics(t, s.drain)
}

// TestNamesOfTheCallerInProc: its process and its thread, by number and by word.
func TestNamesOfTheCallerInProc(t *testing.T) {
	s, _ := beside(t)
	for _, first := range []int{1, 5, 9} {
		tgid, tid := first*1_000_000_000+1, first*100_000_000+2 // more than there can be
		c := &call{s: s, n: &notif{PID: uint32(tid)}, p: &process{tgid: tgid, pidfd: -1}}
		w := &walker{c: c, root: "/"}
		own, thread := strconv.Itoa(tgid), strconv.Itoa(tid)
		for at, want := range map[[2]string]string{
			{"/proc", "self"}: "/proc/self", {"/proc", "thread-self"}: "/proc/self/task/" + thread,
			{"/proc", own}: "/proc/self", {"/proc", thread}: "/proc/self/task/" + thread,
			{"/proc", "1"}: "", {"/proc", "stat"}: "", {"/proc", "0"}: "",
			{"/proc/1", own}: "", {"/tmp", "self"}: "",
		} {
			assert.Equal(t, want, w.own(at[0], at[1]), "%v", at)
		}
	}
}

// TestTasksWithoutAParent: the first process of a PID namespace.
func TestTasksWithoutAParent(t *testing.T) {
	s, _ := beside(t)
	task, _ := s.liveTask(1, 1)
	assert.EqualValues(t, 1, task["pid"])
	assert.NotContains(t, task, "real_parent->pid")
	task, _ = s.liveTask(os.Getpid(), os.Getpid())
	assert.EqualValues(t, os.Getppid(), task["real_parent->pid"])
	assert.EqualValues(t, os.Getppid(), task["real_parent->tgid"])
}

// TestAToolThatDoesNotReadIsStuck: after a time in which it read nothing, and once.
func TestAToolThatDoesNotReadIsStuck(t *testing.T) {
	s, _ := beside(t)
	now := time.Now()
	for _, tt := range []struct {
		name  string
		at    progress
		stuck bool
	}{
		{"it waits for nothing", progress{since: now.Add(-stubborn)}, false},
		{"for a long time", progress{waits: true, since: now.Add(-stubborn)}, true},
		{"not long enough", progress{waits: true, since: now.Add(-stubborn + time.Millisecond)}, false},
		{"it has read since", progress{waits: true, read: 1, since: now.Add(-stubborn)}, false},
	} {
		s.progress = tt.at
		assert.Equal(t, tt.stuck, s.stuck(now), tt.name)
		assert.Equal(t, tt.stuck, s.progress.flooded, tt.name)
		assert.False(t, s.stuck(now), tt.name)
	}
}

// TestCallsWithoutProgramsAreNotLookedAt: with --live, as long as nothing is attached.
func TestCallsWithoutProgramsAreNotLookedAt(t *testing.T) {
	s, _ := beside(t)
	s.cfg.Live = true
	s.callOf(unix.SYS_GETPID).live()
	assert.Empty(t, s.begun)
	assert.Empty(t, s.callNames)
}

// TestPeersThatCannotBeMade: what is wrong with the message comes before what is not simulated.
func TestPeersThatCannotBeMade(t *testing.T) {
	const unknown = 99
	name := func(n int) []byte { return []byte(strings.Repeat("n", n) + "\x00") }
	for _, tt := range []struct {
		title string
		attr  []byte
		kind  string
		up    bool
		want  unix.Errno
		notes string
	}{
		{"a name", appendAttribute(nil, unix.IFLA_IFNAME, name(3)), "veth", false, 0, ""},
		{"no name", nil, "veth", false, 0, ""},
		{"an empty name", appendAttribute(nil, unix.IFLA_IFNAME, name(0)), "veth", false, unix.EINVAL, ""},
		{"an empty name, which netkit chooses", appendAttribute(nil, unix.IFLA_IFNAME, name(0)), "netkit", false, 0, ""},
		{"up", nil, "veth", true, unix.ENOTCONN, ""},
		{"up, of netkit", nil, "netkit", true, 0, ""},
		{"a long name", appendAttribute(nil, unix.IFLA_IFNAME, name(unix.IFNAMSIZ)), "veth", false, unix.ERANGE, ""},
		{"an attribute", appendAttribute(nil, unknown, nil), "veth", false, unix.EOPNOTSUPP, "attribute 99"},
		{"both", appendAttribute(appendAttribute(nil, unknown, nil), unix.IFLA_IFNAME, name(unix.IFNAMSIZ)), "veth", false, unix.ERANGE, ""},
		{"a namespace that is not the link's", appendAttribute(nil, unix.IFLA_NET_NS_FD, le.AppendUint32(nil, 1<<20)), "veth", false, unix.EOPNOTSUPP, "attribute 28"},
	} {
		s, notes := beside(t)
		b := make([]byte, ifinfomsgSize)
		if tt.up {
			le.PutUint32(b[8:], unix.IFF_UP)
		}
		m := &linkMessage{spec: network.Spec{Kind: tt.kind}}
		assert.Equal(t, tt.want, s.callOf(unix.SYS_SENDMSG).peer(0, m, append(b, tt.attr...)), tt.title)
		if tt.notes == "" {
			assert.Empty(t, notes.String(), tt.title)
		} else {
			assert.Contains(t, notes.String(), tt.notes, tt.title)
		}
	}
	s, _ := beside(t)
	assert.Equal(t, unix.EINVAL, s.callOf(unix.SYS_SENDMSG).peer(0, &linkMessage{}, make([]byte, ifinfomsgSize-1)))
}

// TestWhatIsSaidOfLosses: how many records, and which buffer was full.
func TestWhatIsSaidOfLosses(t *testing.T) {
	for want, l := range map[string]bpfsys.Loss{
		"2 records of events were lost: its buffer of 4096 bytes was full": {Map: "events", Records: 2, Holds: 4096},
		"1 record of events was lost: its buffer of 1 bytes was full":      {Map: "events", Records: 1, Holds: 1},
		"2 records of events were lost":                                    {Map: "events", Records: 2},
		"1 record of events was lost":                                      {Map: "events", Records: 1},
		"1 record of a map without a name was lost":                        {Records: 1},
	} {
		assert.Equal(t, want, lossText(l))
	}
}

// TestProgramsThatFailAreSaid: of those that ran for a call or a task, once.
func TestProgramsThatFailAreSaid(t *testing.T) {
	s, notes := beside(t)
	fired := []bpfsys.Fired{{Program: "one"}, {Program: "two", Err: errors.New("two faulted")}, {Program: "three", Err: errors.New("three faulted")}, {Program: "two", Err: errors.New("two faulted")}}
	s.failures("", fired[:1])
	assert.Empty(t, notes.String())
	s.failures("", fired)
	s.failures("read: ", fired[1:2])
	assert.Equal(t, "bpfrun exec: --live: two faulted\nbpfrun exec: --live: three faulted\nbpfrun exec: --live: read: two faulted\n", notes.String())
}
