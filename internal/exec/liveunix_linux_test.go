//go:build linux && (amd64 || arm64)

package exec

import (
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func init() {
	tools["liveunix"], tools["livewait"], tools["livepackets"] = liveunixTool, livewaitTool, livePacketsTool
}

// recvmmsg receives datagrams into buffers of 16 bytes, and returns what was stored.
func recvmmsg(fd, count, flags int) (texts []string, names [][]byte, err error) {
	type message struct {
		header unix.Msghdr
		length uint32
		_      uint32
	}
	list, data, from := make([]message, count), make([][16]byte, count), make([]unix.RawSockaddrUnix, count)
	vectors := make([]unix.Iovec, count)
	for i := range list {
		vectors[i] = unix.Iovec{Base: &data[i][0], Len: 16}
		list[i].header = unix.Msghdr{Name: (*byte)(unsafe.Pointer(&from[i])), Namelen: unix.SizeofSockaddrUnix, Iov: &vectors[i], Iovlen: 1, Flags: -1}
	}
	n, _, e := unix.Syscall6(unix.SYS_RECVMMSG, uintptr(fd), uintptr(unsafe.Pointer(&list[0])), uintptr(count), uintptr(flags), 0, 0)
	if e != 0 {
		return nil, nil, e
	}
	for i := range int(n) {
		if list[i].header.Flags&^(unix.MSG_TRUNC|unix.MSG_CMSG_CLOEXEC) != 0 {
			return nil, nil, fmt.Errorf("flags %#x", list[i].header.Flags)
		}
		texts = append(texts, string(data[i][:list[i].length]))
		names = append(names, unsafe.Slice((*byte)(unsafe.Pointer(&from[i])), list[i].header.Namelen))
	}
	return texts, names, nil
}

// liveunixTool talks over Unix sockets with paths, and says what its calls returned.
func liveunixTool() error {
	runtime.LockOSThread()
	if err := setName("liveunix"); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "live")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	at := func(name string) unix.Sockaddr { return &unix.SockaddrUnix{Name: filepath.Join(dir, name)} }
	socket := func(typ int) int {
		fd, err := unix.Socket(unix.AF_UNIX, typ, 0)
		if err != nil {
			panic(err)
		}
		return fd
	}
	l, c, buf := socket(unix.SOCK_STREAM), socket(unix.SOCK_STREAM), make([]byte, 100)
	var failed []error
	wants := func(what string, err error, want error) {
		if !errors.Is(err, want) {
			failed = append(failed, fmt.Errorf("%s: %w, not %w", what, err, want))
		}
	}
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "file"), nil, 0o600), unix.Bind(l, at("server")), unix.Listen(l, 1), unix.Bind(c, at("client"))); err != nil {
		return err
	}
	wants("to nothing", unix.Connect(c, at("nothing")), unix.ENOENT)
	wants("to a file", unix.Connect(c, at("file")), unix.ECONNREFUSED)
	wants("to a name", unix.Connect(c, &unix.SockaddrUnix{Name: "@bpfrun-nobody-listens"}), unix.ECONNREFUSED)
	wants("connect", unix.Connect(c, at("server")), nil)
	wants("again", unix.Connect(c, at("server")), unix.EISCONN)
	a, peer, err := unix.Accept4(l, 0)
	if err != nil || peer.(*unix.SockaddrUnix).Name != at("client").(*unix.SockaddrUnix).Name {
		return fmt.Errorf("accept: %w: %+v", err, peer)
	}
	_, _, err = unix.Recvfrom(a, buf, unix.MSG_DONTWAIT)
	wants("nothing waits", err, unix.EAGAIN)
	_, err = unix.SendmsgN(c, []byte("request"), nil, nil, 0)
	wants("request", err, nil)
	n, _, err := unix.Recvfrom(a, buf[:3], 0)
	wants("req", err, nil)
	n2, _, flags, _, err := unix.Recvmsg(a, buf[n:], nil, 0)
	if err != nil || string(buf[:n+n2]) != "request" || flags != 0 {
		return fmt.Errorf("%q, flags %#x: %w", buf[:n+n2], flags, err)
	}
	wants("answer", unix.Sendto(a, []byte("answer"), 0, nil), nil)
	wants("shut", unix.Shutdown(a, unix.SHUT_WR), nil)
	wants("more", unix.Sendto(a, []byte("more"), unix.MSG_NOSIGNAL, nil), unix.EPIPE)
	for _, want := range []string{"answer", ""} {
		n, _, err := unix.Recvfrom(c, buf, 0)
		if err != nil || string(buf[:n]) != want {
			return fmt.Errorf("%q: %w", buf[:n], err)
		}
	}
	d, e := socket(unix.SOCK_DGRAM), socket(unix.SOCK_DGRAM)
	wants("datagrams", errors.Join(unix.Bind(d, at("datagrams")), unix.Bind(e, at("sender"))), nil)
	for _, text := range []string{"first", "", "the third, which is long"} {
		wants(text, unix.Sendto(e, []byte(text), 0, at("datagrams")), nil)
	}
	texts, names, err := recvmmsg(d, 5, unix.MSG_DONTWAIT)
	if err != nil || fmt.Sprintf("%q", texts) != `["first" "" "the third, which"]` || string(names[2][2:len(names[2])-1]) != at("sender").(*unix.SockaddrUnix).Name {
		return fmt.Errorf("%q from %q: %w", texts, names, err)
	}
	_, _, err = recvmmsg(d, 5, unix.MSG_DONTWAIT)
	wants("no more", err, unix.EAGAIN)
	unix.Getppid()
	fmt.Printf("in %s\n", dir)
	return errors.Join(failed...)
}

// TestLiveUnixSocketsHaveTheirResults: what calls on Unix sockets, and those that receive several
// datagrams, really returned, with paths and data. The tool itself says if it got something else.
func TestLiveUnixSocketsHaveTheirResults(t *testing.T) {
	if _, err := osexec.LookPath("bpftrace"); err != nil {
		t.Skip(err)
	}
	if !hostSince(5, 19) {
		t.Skip("signals interrupt calls that the supervisor has received before Linux 5.19")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	const script = `
tracepoint:syscalls:sys_enter_connect /comm == "liveunix"/ { printf("connect %s\n", str((uint8 *)args->uservaddr + 2)); }
tracepoint:syscalls:sys_exit_connect /comm == "liveunix"/ { printf("connected %d\n", args->ret); }
tracepoint:syscalls:sys_enter_accept4 /comm == "liveunix"/ { @a[tid] = args->upeer_sockaddr; }
tracepoint:syscalls:sys_exit_accept4 /@a[tid]/ { printf("accepted from %s\n", str((uint8 *)@a[tid] + 2)); delete(@a[tid]); }
tracepoint:syscalls:sys_exit_sendto /comm == "liveunix"/ { printf("sent %d\n", args->ret); }
tracepoint:syscalls:sys_exit_sendmsg /comm == "liveunix"/ { printf("message %d\n", args->ret); }
tracepoint:syscalls:sys_enter_recvfrom /comm == "liveunix"/ { @r[tid] = args->ubuf; }
tracepoint:syscalls:sys_exit_recvfrom /@r[tid]/ { printf("received %d %s\n", args->ret, str(@r[tid], 4)); delete(@r[tid]); }
tracepoint:syscalls:sys_exit_recvmsg /comm == "liveunix"/ { printf("got %d\n", args->ret); }
tracepoint:syscalls:sys_enter_recvmmsg /comm == "liveunix"/ { @m[tid] = args->mmsg; }
tracepoint:syscalls:sys_exit_recvmmsg /@m[tid]/ {
	printf("several %d\n", args->ret);
	if (args->ret > 0) {
		$h = (struct user_msghdr *)@m[tid];
		printf("%s from %s\n", str($h->msg_iov->iov_base, 6), str((uint8 *)$h->msg_name + 2));
	}
	delete(@m[tid]);
}
`
	r := start(t, "", "", func(c *Config) {
		c.Root, c.Live = true, true
		c.Args = []string{"bpftrace", "-e", script}
		c.Run = fmt.Sprintf("'%s' tool liveunix", self)
	})
	dir := regexp.MustCompile(`in (/.*)\n`).FindStringSubmatch(r.out)
	require.NotNil(t, dir, "%s%s", r.out, r.notes)
	path := func(name string) string { return filepath.Join(dir[1], name) }
	out := strings.Replace(r.out, dir[0], "", 1) // bpftrace may write before and after the tool does
	for _, want := range []string{
		"connect " + path("nothing") + "\nconnected -2\nconnect " + path("file") + "\nconnected -111\nconnect \nconnected -111\nconnect " + path("server") + "\nconnected 0\nconnect " + path("server") + "\nconnected -106\naccepted from " + path("client") + "\n",
		"message 7\nreceived 3 req\ngot 4\nsent 6\n", "received 6 ans", "received 0 ans",
		"several 3\nfirst from " + path("sender") + "\nseveral -11\n",
	} {
		assert.Contains(t, out, want, r.notes)
	}
	assert.NotContains(t, r.notes, "not ", "what the tool expected")
	for _, call := range []string{"connect", "accept4", "sendmsg", "recvfrom", "recvmsg", "recvmmsg"} {
		assert.NotRegexp(t, "invented are the results of .*"+call+"\\b", r.notes)
	}
	assert.Regexp(t, "invented are the results of .*sendto", r.notes, "of a send that failed, and of datagrams")
}

// livePacketsTool talks over a pair of Unix sockets that keep packets apart, sends a datagram to one
// and a descriptor over a stream, and gives a message an address of negative length.
func livePacketsTool() error {
	runtime.LockOSThread()
	if err := setName("livepackets"); err != nil {
		return err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET, 0)
	if err != nil {
		return err
	}
	grams, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	stream, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	buf := make([]byte, 100)
	var failed []error
	wants := func(what string, got int, err error, want int, wantErr error) {
		if got != want || !errors.Is(err, wantErr) {
			failed = append(failed, fmt.Errorf("%s: %d, %w, not %d, %w", what, got, err, want, wantErr))
		}
	}
	_, _, err = unix.Recvfrom(pair[1], buf, unix.MSG_DONTWAIT)
	wants("nothing waits", 0, err, 0, unix.EAGAIN)
	wants("send", 0, errors.Join(unix.Sendto(pair[0], []byte("packet"), 0, nil), unix.Sendto(pair[0], []byte("another"), 0, nil)), 0, nil)
	n, _, err := unix.Recvfrom(pair[1], buf[:4], 0)
	wants("the first", n, err, 4, nil)
	n, _, _, _, err = unix.Recvmsg(pair[1], buf, nil, 0)
	wants("the second", n, err, 7, nil)
	wants("shut", 0, unix.Shutdown(pair[0], unix.SHUT_WR), 0, nil)
	n, _, err = unix.Recvfrom(pair[1], buf, 0)
	wants("the end", n, err, 0, nil)
	wants("datagram", 0, unix.Sendto(grams[0], []byte("x"), 0, nil), 0, nil)
	n, err = unix.SendmsgN(stream[0], []byte("fd"), unix.UnixRights(1), nil, 0)
	wants("descriptor", n, err, 2, nil)
	v := unix.Iovec{Base: &buf[0], Len: 4}
	h := unix.Msghdr{Name: &buf[0], Namelen: 0xffffffff, Iov: &v, Iovlen: 1}
	for what, nr := range map[string]uintptr{"receive": unix.SYS_RECVMSG, "send": unix.SYS_SENDMSG} {
		_, _, e := unix.Syscall(nr, uintptr(stream[1]), uintptr(unsafe.Pointer(&h)), unix.MSG_DONTWAIT)
		wants(what+" with a negative length", 0, e, 0, unix.EINVAL)
	}
	unix.Getppid()
	return errors.Join(failed...)
}

// TestLivePacketsOverUnixSockets: what is received has its real result; what is sent is said by name
// to be invented, with the kind of socket.
func TestLivePacketsOverUnixSockets(t *testing.T) {
	if _, err := osexec.LookPath("bpftrace"); err != nil {
		t.Skip(err)
	}
	if !hostSince(5, 19) {
		t.Skip("signals interrupt calls that the supervisor has received before Linux 5.19")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	const script = `
tracepoint:syscalls:sys_exit_sendto,tracepoint:syscalls:sys_exit_sendmsg /comm == "livepackets"/ { @sent = count(); }
tracepoint:syscalls:sys_exit_recvfrom /comm == "livepackets"/ { printf("received %d\n", args->ret); }
tracepoint:syscalls:sys_exit_recvmsg /comm == "livepackets"/ { printf("message %d\n", args->ret); }
`
	r := start(t, "", "", func(c *Config) {
		c.Root, c.Live = true, true
		c.Args = []string{"bpftrace", "-e", script}
		c.Run = fmt.Sprintf("'%s' tool livepackets", self)
	})
	assert.Contains(t, r.out, "received -11\nreceived 4\nmessage 7\nreceived 0\n", r.notes)
	assert.NotContains(t, r.out, ", not ", "what the tool expected")
	for _, want := range []string{"sendto (Unix packets)", "sendto (Unix datagrams)", "sendmsg (Unix stream, control data)"} {
		assert.Contains(t, r.notes, want)
	}
	assert.NotContains(t, r.notes, "recvfrom")
}

// livewaitTool waits in sockets for what another thread sends, and for a signal.
func livewaitTool() error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	server, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	if err := unix.Bind(server, local4()); err != nil {
		return err
	}
	to, err := unix.Getsockname(server)
	if err != nil {
		return err
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		buf := make([]byte, 100)
		e1 := setName("livewait")
		n1, _, e2 := unix.Recvfrom(pair[0], buf, 0)
		n2, _, e3 := unix.Recvfrom(server, buf[n1:], 0)
		texts, _, e4 := recvmmsg(server, 4, unix.MSG_WAITFORONE)
		if string(buf[:n1+n2]) != "streamgram" || len(texts) != 1 || texts[0] != "many" {
			e4 = errors.Join(e4, fmt.Errorf("%q and %q", buf[:n1+n2], texts))
		}
		n5, _, e5 := unix.Recvfrom(pair[0], buf, 0) // which a signal interrupts
		unix.Getppid()
		if e5 == nil && string(buf[:n5]) != "end" {
			e5 = fmt.Errorf("%q and nothing", buf[:n5])
		}
		done <- errors.Join(e1, e2, e3, e4, e5)
	}()
	pause := func() { time.Sleep(100 * time.Millisecond) }
	pause()
	_, err = unix.Write(pair[1], []byte("stream"))
	pause()
	err = errors.Join(err, unix.Sendto(pair[1], nil, 0, nil), unix.Sendto(server, []byte("gram"), 0, to))
	pause()
	err = errors.Join(err, unix.Sendto(server, []byte("many"), 0, to))
	pause()
	err = errors.Join(err, interruptThread("livewait"))
	pause()
	return errors.Join(err, unix.Sendto(pair[1], []byte("end"), 0, nil), <-done)
}

// interruptThread sends a thread of this process a signal whose handler restarts calls.
func interruptThread(name string) error {
	list, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, d := range list {
		comm, _ := os.ReadFile("/proc/self/task/" + d.Name() + "/comm")
		if string(comm) != name+"\n" {
			continue
		}
		var tid int
		fmt.Sscan(d.Name(), &tid)
		return unix.Tgkill(os.Getpid(), tid, unix.SIGURG)
	}
	return unix.ESRCH
}

// TestLiveCallsThatWaitHaveTheirResults: of data that came later, and after a signal.
func TestLiveCallsThatWaitHaveTheirResults(t *testing.T) {
	if _, err := osexec.LookPath("bpftrace"); err != nil {
		t.Skip(err)
	}
	if !hostSince(5, 19) {
		t.Skip("signals interrupt calls that the supervisor has received before Linux 5.19")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	const script = `
tracepoint:syscalls:sys_enter_recvfrom /comm == "livewait"/ { @r[tid] = args->ubuf; }
tracepoint:syscalls:sys_exit_recvfrom /@r[tid]/ { printf("received %d %s\n", args->ret, str(@r[tid], 5)); delete(@r[tid]); }
tracepoint:syscalls:sys_exit_recvmmsg /comm == "livewait"/ { printf("several %d\n", args->ret); }
`
	r := start(t, "", "", func(c *Config) {
		c.Root, c.Live = true, true
		c.Args = []string{"bpftrace", "-e", script}
		c.Run = fmt.Sprintf("'%s' tool livewait", self)
	})
	assert.Contains(t, r.out, "received 6 strea\nreceived 4 gram\nseveral 1\nreceived -512 ", r.notes)
	assert.Contains(t, r.out, "received 3 end")
	assert.NotRegexp(t, "invented are the results of .*recv", r.notes)
	assert.NotContains(t, r.out+r.notes, `" and `, "what the tool expected")
}
