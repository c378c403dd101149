//go:build linux && (amd64 || arm64)

package exec

import (
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func init() {
	tools["livegram"], tools["liveconn"] = livegramTool, liveconnTool
}

func setName(name string) error {
	b := append([]byte(name), 0)
	return unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(&b[0])), 0, 0, 0)
}

func local4() unix.Sockaddr { return &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}} }

// livegramTool sends and receives datagrams, and says what its calls returned.
func livegramTool() error {
	runtime.LockOSThread()
	if err := setName("livegram"); err != nil {
		return err
	}
	server, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	client, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(unix.Bind(server, local4()), unix.Bind(client, local4())); err != nil {
		return err
	}
	to, err := unix.Getsockname(server)
	if err != nil {
		return err
	}
	buf := make([]byte, 100)
	_, _, e := unix.Recvfrom(server, buf, unix.MSG_DONTWAIT)
	if !errors.Is(e, unix.EAGAIN) {
		return fmt.Errorf("nothing was there: %w", e)
	}
	if err := errors.Join(unix.Sendto(client, []byte("question"), 0, to), unix.Sendto(client, nil, 0, to)); err != nil {
		return err
	}
	sent, err := unix.SendmsgN(client, []byte("message"), nil, to, 0)
	if err != nil || sent != 7 {
		return fmt.Errorf("sent %d: %w", sent, err)
	}
	n, from, err := unix.Recvfrom(server, buf[:5], 0)
	if err != nil || string(buf[:n]) != "quest" {
		return fmt.Errorf("%q: %w", buf[:n], err)
	}
	if n, _, err = unix.Recvfrom(server, buf, 0); n != 0 || err != nil {
		return fmt.Errorf("an empty datagram: %d bytes: %w", n, err)
	}
	if n, _, _, _, err = unix.Recvmsg(server, buf, nil, 0); err != nil || string(buf[:n]) != "message" {
		return fmt.Errorf("%q: %w", buf[:n], err)
	}
	two, err := sendTwo(client, to.(*unix.SockaddrInet4), "first", "second")
	if err != nil || two != [3]int{2, 5, 6} {
		return fmt.Errorf("two messages: %v: %w", two, err)
	}
	if err := errors.Join(unix.SetNonblock(server, true), drain(server, "first", "second")); err != nil {
		return err
	}
	// Nobody listens where the server was: the second datagram hears of the first one's fate.
	if err := errors.Join(unix.Connect(client, to), unix.Close(server), unix.Sendto(client, []byte("lost"), 0, nil)); err != nil {
		return err
	}
	if err := unix.Sendto(client, []byte("lost"), 0, nil); !errors.Is(err, unix.ECONNREFUSED) {
		return fmt.Errorf("to nobody: %w", err)
	}
	fmt.Println("from port", from.(*unix.SockaddrInet4).Port)
	return nil
}

// sendTwo sends two datagrams by sendmmsg(2), and returns what it did, and their lengths as it
// stored them.
func sendTwo(fd int, to *unix.SockaddrInet4, texts ...string) (out [3]int, err error) {
	name := unix.RawSockaddrInet4{Family: unix.AF_INET, Port: uint16(to.Port)<<8 | uint16(to.Port)>>8, Addr: to.Addr}
	var list [2]struct {
		header unix.Msghdr
		length uint32
		_      uint32
	}
	for i, text := range texts {
		h := &list[i].header
		h.Name, h.Namelen = (*byte)(unsafe.Pointer(&name)), unix.SizeofSockaddrInet4
		h.Iov = &unix.Iovec{Base: unsafe.StringData(text), Len: uint64(len(text))}
		h.Iovlen = 1
	}
	n, _, e := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(fd), uintptr(unsafe.Pointer(&list[0])), uintptr(len(list)), 0, 0, 0)
	if e != 0 {
		return out, e
	}
	return [3]int{int(n), int(list[0].length), int(list[1].length)}, nil
}

// drain reads datagrams by read(2).
func drain(fd int, want ...string) error {
	for _, w := range want {
		b := make([]byte, 100)
		if n, err := unix.Read(fd, b); err != nil || string(b[:n]) != w {
			return fmt.Errorf("%q, want %s: %w", b, w, err)
		}
	}
	return nil
}

// TestLiveDatagramsHaveTheirResults: how much was sent and received, from where, and errors.
func TestLiveDatagramsHaveTheirResults(t *testing.T) {
	if _, err := osexec.LookPath("bpftrace"); err != nil {
		t.Skip(err)
	}
	if !hostSince(5, 19) {
		t.Skip("signals interrupt calls that the supervisor has received before Linux 5.19")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	const script = `
tracepoint:syscalls:sys_enter_sendto /comm == "livegram"/ { printf("sendto %d\n", args->len); }
tracepoint:syscalls:sys_exit_sendto /comm == "livegram"/ { printf("sent %d\n", args->ret); }
tracepoint:syscalls:sys_exit_sendmsg /comm == "livegram"/ { printf("message %d\n", args->ret); }
tracepoint:syscalls:sys_exit_sendmmsg /comm == "livegram"/ { printf("messages %d\n", args->ret); }
tracepoint:syscalls:sys_enter_recvfrom /comm == "livegram"/ { @b[tid] = args->ubuf; @a[tid] = args->addr; }
tracepoint:syscalls:sys_exit_recvfrom /@b[tid]/ {
	printf("received %d\n", args->ret);
	if (args->ret > 0) {
		$port = ((struct sockaddr_in *)@a[tid])->sin_port;
		printf("%s port %d\n", str(@b[tid], args->ret + 1), (($port & 0xff) << 8) | ($port >> 8));
	}
	delete(@b[tid]); delete(@a[tid]);
}
tracepoint:syscalls:sys_exit_recvmsg /comm == "livegram"/ { printf("got %d\n", args->ret); }
`
	r := start(t, "", "", func(c *Config) {
		c.Root, c.Live = true, true
		c.Args = []string{"bpftrace", "-e", script}
		c.Run = fmt.Sprintf("'%s' tool livegram", self)
	})
	port := regexp.MustCompile(`from port (\d+)`).FindStringSubmatch(r.out)
	require.NotNil(t, port, "%s%s", r.out, r.notes)
	seen := strings.Replace(r.out, port[0]+"\n", "", 1)
	assert.Contains(t, seen, "received -11\nsendto 8\nsent 8\nsendto 0\nsent 0\nmessage 7\nreceived 5\nquest port "+port[1]+"\nreceived 0\ngot 7\nmessages 2\nsendto 4\nsent 4\nsendto 4\nsent -111\n", r.notes)
	for _, call := range []string{"sendto", "sendmsg", "sendmmsg", "recvfrom", "recvmsg"} {
		assert.NotRegexp(t, "invented are the results of .*"+call, r.notes)
	}
}

// liveconnTool connects to itself over TCP.
func liveconnTool() error {
	runtime.LockOSThread()
	if err := setName("liveconn"); err != nil {
		return err
	}
	l, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(unix.Bind(l, local4()), unix.Listen(l, 1)); err != nil {
		return err
	}
	at, err := unix.Getsockname(l)
	if err != nil {
		return err
	}
	c, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	if err := unix.Connect(c, at); err != nil {
		return err
	}
	own, err := unix.Getsockname(c)
	if err != nil {
		return err
	}
	if _, _, err := unix.Accept4(l, 0); err != nil {
		return err
	}
	fmt.Printf("ports %d %d\n", own.(*unix.SockaddrInet4).Port, at.(*unix.SockaddrInet4).Port)
	unix.Getppid()
	return nil
}

// TestLiveConnectionsHaveBothAddresses: connect and accept reach the functions and the tracepoint
// that tools trace, with sockets that have the real addresses and ports. The process has its real
// program and arguments.
func TestLiveConnectionsHaveBothAddresses(t *testing.T) {
	if _, err := osexec.LookPath("bpftrace"); err != nil {
		t.Skip(err)
	}
	self, err := os.Executable()
	require.NoError(t, err)
	const script = `
kprobe:tcp_v4_connect { @s[tid] = arg0; }
kretprobe:tcp_v4_connect /@s[tid]/ {
	$s = (struct sock *)@s[tid];
	printf("%s connects %s to %s %d\n", comm, ntop($s->__sk_common.skc_rcv_saddr), ntop($s->__sk_common.skc_daddr), $s->__sk_common.skc_num);
	delete(@s[tid]);
}
kretprobe:inet_csk_accept {
	$s = (struct sock *)retval;
	printf("%s accepts on %d from %s\n", comm, $s->__sk_common.skc_num, ntop($s->__sk_common.skc_daddr));
}
tracepoint:sock:inet_sock_set_state { printf("%d->%d %d %d %s\n", args->oldstate, args->newstate, args->sport, args->dport, ntop(args->daddr)); }
tracepoint:syscalls:sys_enter_getppid /comm == "liveconn"/ {
	$mm = ((struct task_struct *)curtask)->mm;
	printf("%s runs %s, last %s\n", str($mm->exe_file->f_path.dentry->d_name.name), str(uptr($mm->arg_start)), str(uptr($mm->arg_end - 9)));
}
`
	r := start(t, "", "", func(c *Config) {
		c.Root, c.Live = true, true
		c.Args = []string{"bpftrace", "-e", script}
		c.Run = fmt.Sprintf("'%s' tool liveconn", self)
	})
	p := regexp.MustCompile(`ports (\d+) (\d+)`).FindStringSubmatch(r.out)
	require.NotNil(t, p, "%s%s", r.out, r.notes)
	for _, want := range []string{
		"liveconn connects 127.0.0.1 to 127.0.0.1 " + p[1] + "\n", "liveconn accepts on " + p[2] + " from 127.0.0.1\n",
		"7->2 " + p[1] + " " + p[2] + " 127.0.0.1\n", "2->1 " + p[1] + " " + p[2] + " 127.0.0.1\n", "3->1 " + p[2] + " " + p[1] + " 127.0.0.1\n",
		self[strings.LastIndexByte(self, '/')+1:] + " runs " + self + ", last liveconn\n",
	} {
		assert.Contains(t, r.out, want, r.notes)
	}
}
