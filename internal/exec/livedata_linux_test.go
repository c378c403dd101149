//go:build linux && (amd64 || arm64)

package exec

import (
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func init() {
	tools["livedata"] = liveDataTool
}

// liveDataTool moves bytes through a file and a connection, in another working directory, and sends
// a signal.
func liveDataTool() error {
	runtime.LockOSThread()
	name := append([]byte("livedata"), 0)
	if err := unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(&name[0])), 0, 0, 0); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "live")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	inside := filepath.Join(dir, "inside")
	if err := errors.Join(os.Mkdir(inside, 0o700), unix.Chdir(inside)); err != nil {
		return err
	}
	fd, err := unix.Open("file", unix.O_RDWR|unix.O_CREAT, 0o600)
	if err != nil {
		return err
	}
	buf := make([]byte, 100)
	_, e1 := unix.Write(fd, []byte("hello"))
	_, e2 := unix.Seek(fd, 0, 0)
	_, e3 := unix.Read(fd, buf)
	_, e4 := unix.Read(fd, buf)
	if err := errors.Join(e1, e2, e3, e4); err != nil {
		return err
	}
	l, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(unix.Bind(l, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), unix.Listen(l, 1)); err != nil {
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
	a, _, err := unix.Accept4(l, 0)
	if err != nil {
		return err
	}
	if err := unix.Sendto(c, []byte("request"), 0, nil); err != nil {
		return err
	}
	_, _, e1 = unix.Recvfrom(a, buf[:3], 0)
	_, _, e2 = unix.Recvfrom(a, buf, 0)
	e3 = unix.Close(c)
	_, _, e4 = unix.Recvfrom(a, buf, 0)
	unix.Getppid()
	return errors.Join(e1, e2, e3, e4, unix.Kill(os.Getpid(), unix.SIGWINCH))
}

// TestLiveCallsHaveTheirResultsAndData: programs see what calls really returned, the bytes that
// they moved, the peer of accept, the working directory, and signals.
func TestLiveCallsHaveTheirResultsAndData(t *testing.T) {
	if _, err := osexec.LookPath("bpftrace"); err != nil {
		t.Skip(err)
	}
	if _, _, ok := threadBytes(os.Getpid(), unix.Gettid()); !ok {
		t.Skip("this kernel does not count the bytes of threads")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	const script = `
tracepoint:syscalls:sys_enter_write /comm == "livedata"/ { printf("write %d %s\n", args->count, str(args->buf, args->count)); }
tracepoint:syscalls:sys_exit_write /comm == "livedata"/ { printf("wrote %d\n", args->ret); }
tracepoint:syscalls:sys_enter_read /comm == "livedata"/ { @b[tid] = args->buf; }
tracepoint:syscalls:sys_exit_read /@b[tid]/ { printf("read %d %s\n", args->ret, str(@b[tid], 5)); delete(@b[tid]); }
tracepoint:syscalls:sys_enter_sendto /comm == "livedata"/ { printf("send %s\n", str(args->buff, args->len)); }
tracepoint:syscalls:sys_exit_sendto /comm == "livedata"/ { printf("sent %d\n", args->ret); }
tracepoint:syscalls:sys_enter_recvfrom /comm == "livedata"/ { @r[tid] = args->ubuf; }
tracepoint:syscalls:sys_exit_recvfrom /@r[tid]/ { printf("received %d %s\n", args->ret, str(@r[tid], 3)); delete(@r[tid]); }
tracepoint:syscalls:sys_enter_accept4 /comm == "livedata"/ { @a[tid] = args->upeer_sockaddr; }
tracepoint:syscalls:sys_exit_accept4 /@a[tid]/ { printf("accepted from %s\n", ntop(((struct sockaddr_in *)@a[tid])->sin_addr.s_addr)); delete(@a[tid]); }
tracepoint:signal:signal_generate { printf("signal %d to %s\n", args->sig, args->comm); }
tracepoint:syscalls:sys_enter_getppid /comm == "livedata"/ { printf("in %s\n", str(((struct task_struct *)curtask)->fs->pwd.dentry->d_name.name)); }
`
	r := start(t, "", "", func(c *Config) {
		c.Root, c.Live = true, true
		c.Args = []string{"bpftrace", "-e", script}
		c.Run = fmt.Sprintf("'%s' tool livedata", self)
	})
	for _, want := range []string{
		"write 5 hello\nwrote 5\nread 5 hello\nread 0 hello\n", "accepted from 127.0.0.1\nsend request\nsent 7\nreceived 3 req\nreceived 4 ues\nreceived 0 ues\n", "in inside\nsignal 28 to livedata\n",
	} {
		assert.Contains(t, r.out, want, r.notes)
	}
}
