//go:build linux && (amd64 || arm64)

package exec

import (
	"errors"
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func init() {
	tools["reach"] = reachTool
	tools["bypass"] = bypassTool
	tools["stall"] = stallTool
	tools["alarms"] = alarmTool
	tools["clones"] = cloneTool
	tools["many"] = manyTool
}

// parentOf returns the parent of a process.
func parentOf(pid int) (int, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	return strconv.Atoi(f[1])
}

// reachTool tries every way to the memory and the descriptors of the guard and of the supervisor.
func reachTool() error {
	guard := os.Getppid()
	supervisor, err := parentOf(guard)
	if err != nil {
		return err
	}
	for _, p := range []struct {
		name string
		pid  int
	}{{"guard", guard}, {"supervisor", supervisor}} {
		try := func(what string, err error) { fmt.Println(p.name, what, outcomeOf(err)) }
		errno := func(e unix.Errno) error {
			if e == 0 {
				return nil
			}
			return e
		}
		_, _, e := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(p.pid), 0, 0, 0, 0)
		try("ptrace", errno(e))
		b := make([]byte, 8)
		local, remote := []unix.Iovec{{Base: &b[0], Len: 8}}, []unix.RemoteIovec{{Base: 0x400000, Len: 8}}
		_, err := unix.ProcessVMReadv(p.pid, local, remote, 0)
		try("process_vm_readv", err)
		_, err = unix.ProcessVMWritev(p.pid, local, remote, 0)
		try("process_vm_writev", err)
		pidfd, err := unix.PidfdOpen(p.pid, 0)
		if err != nil {
			return err
		}
		err = unix.EBADF
		for fd := 0; fd < 64 && errors.Is(err, unix.EBADF); fd++ {
			_, err = unix.PidfdGetfd(pidfd, fd, 0)
		}
		try("pidfd_getfd", err)
		for _, name := range []string{"mem", "maps", "environ", "fd/0", "fd/3", "cwd/.", "root/.", "exe"} {
			f, err := os.Open(fmt.Sprintf("/proc/%d/%s", p.pid, name))
			try(name, errors.Unwrap(err))
			f.Close()
		}
	}
	return nil
}

// closedOf is what [reachTool] prints when every way is closed.
func closedOf() string {
	var out strings.Builder
	for _, p := range []string{"guard", "supervisor"} {
		for _, what := range []string{"ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd"} {
			fmt.Fprintln(&out, p, what, "EPERM")
		}
		for _, what := range []string{"mem", "maps", "environ", "fd/0", "fd/3", "cwd/.", "root/.", "exe"} {
			fmt.Fprintln(&out, p, what, "EACCES")
		}
	}
	return out.String()
}

func TestAToolDoesNotReachItsSupervisor(t *testing.T) {
	r := start(t, "reach", "")
	assert.Equal(t, closedOf(), r.out)
	assert.Zero(t, r.code)
	if os.Getuid() != 0 {
		return
	}
	out := asNobody(t, "supervise", "reach")
	assert.Equal(t, closedOf()+"0 <nil>\n", out)
}

// asNobody runs this binary as user nobody; the test's user must be root.
func asNobody(t *testing.T, args ...string) string {
	t.Helper()
	self, err := os.Open("/proc/self/exe")
	require.NoError(t, err)
	defer self.Close()
	dir, err := os.MkdirTemp("", "bpfrun") // the parents of t.TempDir are closed to others
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	path := filepath.Join(dir, "test")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	require.NoError(t, err)
	_, err = io.Copy(f, self)
	require.NoError(t, errors.Join(err, f.Close()))
	cmd := osexec.Command(path, args...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// bypassTool tries to make calls that the supervisor does not see.
func bypassTool() error {
	allow := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF}}
	prog := unix.SockFprog{Len: 1, Filter: &allow[0]}
	_, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&prog)))
	fmt.Println("listener", outcomeOf(e))
	args := [8]uint64{unix.CLONE_NEWUSER}
	_, _, e = unix.Syscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), 64, 0)
	fmt.Println("clone3", outcomeOf(e))
	_, _, e = unix.Syscall(unix.SYS_IO_URING_SETUP, 1, 0, 0)
	fmt.Println("io_uring", outcomeOf(e))
	_, _, e = unix.Syscall(unix.SYS_BPF|0x40000000, 0, 0, 0)
	fmt.Println("other numbers", outcomeOf(e))
	b, err := os.ReadFile("/proc/self/status")
	for l := range strings.Lines(string(b)) {
		if strings.HasPrefix(l, "NoNewPrivs") || strings.HasPrefix(l, "Seccomp:") {
			fmt.Println(strings.Fields(l))
		}
	}
	return err
}

func TestAToolCannotBypassItsSupervisor(t *testing.T) {
	r := start(t, "bypass", "")
	assert.Equal(t, "listener EBUSY\nclone3 ENOSYS\nio_uring ENOSYS\nother numbers ENOSYS\n[NoNewPrivs: 1]\n[Seccomp: 2]\n", r.out)
	assert.Zero(t, r.code)
}

// stallTool tries to make the supervisor wait: by a lock of a file that it opens again, and by
// memory whose contents never come.
func stallTool() error {
	m, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1, Flags: unix.BPF_F_MMAPABLE})
	if err != nil {
		return err
	}
	info, err := m.Info()
	if err != nil {
		return err
	}
	id, _ := info.ID()
	if err := unix.Flock(m.FD(), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return err
	}
	_, err = ebpf.NewMapFromID(id)
	fmt.Println("locked", outcomeOf(err))
	if err := unix.Flock(m.FD(), unix.LOCK_SH); err != nil {
		return err
	}
	again, err := ebpf.NewMapFromID(id)
	fmt.Println("unlocked", outcomeOf(err))
	if err == nil {
		again.Close()
	}

	const userModeOnly, api, register, missing = 1, 0xc018aa3f, 0xc020aa00, 1
	uffd, _, e := unix.Syscall(unix.SYS_USERFAULTFD, userModeOnly|unix.O_CLOEXEC, 0, 0)
	if e != 0 {
		fmt.Println("fault EFAULT") // nothing to try on this kernel
		return nil
	}
	page, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	version := [3]uint64{0xaa}
	at := [4]uint64{uint64(uintptr(unsafe.Pointer(&page[0]))), 4096, missing}
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, uffd, api, uintptr(unsafe.Pointer(&version))); e != 0 {
		return e
	}
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, uffd, register, uintptr(unsafe.Pointer(&at))); e != 0 {
		return e
	}
	_, _, e = unix.Syscall(unix.SYS_BPF, unix.BPF_MAP_LOOKUP_ELEM, uintptr(unsafe.Pointer(&page[0])), 32)
	fmt.Println("fault", outcomeOf(e))
	return nil
}

func TestAToolDoesNotStallItsSupervisor(t *testing.T) {
	r := start(t, "stall", "")
	assert.Equal(t, "locked ENOLCK\nunlocked ok\nfault EFAULT\n", r.out)
	assert.Zero(t, r.code)
}

func TestSignalsReachAToolWhoseCallIsBeingServed(t *testing.T) {
	cmd := osexec.Command("/bin/sleep", "1000")
	require.NoError(t, cmd.Start())
	s := &supervisor{}
	s.tool.Store(int64(cmd.Process.Pid))
	s.mu.Lock() // as while a call is served
	defer s.mu.Unlock()
	signals := make(chan os.Signal, 1)
	signals <- unix.SIGTERM
	close(signals)
	s.forward(signals)
	var exit *osexec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)
	assert.Equal(t, syscall.SIGTERM, exit.Sys().(syscall.WaitStatus).Signal())
}

// alarmTool gets signals all the time while it makes calls.
func alarmTool() error {
	got := make(chan os.Signal, 1)
	signal.Notify(got, unix.SIGALRM)
	every := unix.Itimerval{Interval: unix.Timeval{Usec: 300}, Value: unix.Timeval{Usec: 300}}
	m, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Hash, KeySize: 4, ValueSize: 8, MaxEntries: 4000})
	if err != nil {
		return err
	}
	if _, err := unix.Setitimer(unix.ITIMER_REAL, every); err != nil {
		return err
	}
	signals := 0
	for i := uint32(0); i < 2000 || signals < 3; i++ {
		if i < 4000 {
			if err := m.Update(i, uint64(i)*3, ebpf.UpdateNoExist); err != nil {
				return fmt.Errorf("update %d: %w", i, err)
			}
		}
		var v uint64
		if err := m.Lookup(i%2000, &v); err != nil || v != uint64(i%2000)*3 {
			return fmt.Errorf("lookup %d: %d: %w", i, v, err)
		}
		select {
		case <-got:
			signals++
		default:
		}
	}
	fmt.Println("all calls were made once")
	return nil
}

func TestSignalsDoNotRepeatCalls(t *testing.T) {
	r := start(t, "alarms", "")
	assert.Equal(t, "all calls were made once\n", r.out)
	assert.Zero(t, r.code)
}

// cloneTool makes calls in processes that share one thing or another with it. The child does
// nothing but system calls: it has one thread of a Go program.
func cloneTool() error {
	attr := struct{ typ, key, value, entries uint32 }{uint32(ebpf.Array), 4, 8, 1}
	for _, c := range []struct {
		name  string
		flags uintptr
	}{
		{"process", 0}, {"shares descriptors", unix.CLONE_FILES}, {"sibling", unix.CLONE_PARENT | unix.CLONE_FILES}, {"untraced", unix.CLONE_UNTRACED | unix.CLONE_FILES},
		{"user namespace", unix.CLONE_NEWUSER}, {"PID namespace", unix.CLONE_NEWUSER | unix.CLONE_NEWPID}, {"network namespace", unix.CLONE_NEWUSER | unix.CLONE_NEWNET},
	} {
		var pipe [2]int
		if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
			return err
		}
		pid, _, e := unix.RawSyscall6(unix.SYS_CLONE, c.flags|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		if e != 0 {
			fmt.Println(c.name, outcomeOf(e))
			continue
		}
		if pid == 0 {
			fd, _, e := unix.RawSyscall(unix.SYS_BPF, unix.BPF_MAP_CREATE, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
			out := [2]int32{int32(fd), int32(e)}
			_, _, _ = unix.RawSyscall(unix.SYS_WRITE, uintptr(pipe[1]), uintptr(unsafe.Pointer(&out)), 8)
			_, _, _ = unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
		var b [8]byte
		if n, err := unix.Read(pipe[0], b[:]); n != 8 {
			return fmt.Errorf("%s: %d bytes: %w", c.name, n, err)
		}
		if c.flags&unix.CLONE_PARENT == 0 {
			if _, err := unix.Wait4(int(pid), nil, 0, nil); err != nil {
				return err
			}
		}
		shared := ""
		if c.flags&unix.CLONE_FILES != 0 {
			m, err := ebpf.NewMapFromFD(int(le.Uint32(b[:])))
			shared = ", here " + outcomeOf(err)
			if err == nil {
				m.Close()
			}
		}
		outcome := "ok"
		if e := unix.Errno(le.Uint32(b[4:])); e != 0 {
			outcome = outcomeOf(e)
		}
		fmt.Println(c.name, outcome+shared)
		unix.Close(pipe[0])
		unix.Close(pipe[1])
	}
	return nil
}

func TestProcessesOfAnyKindAreServed(t *testing.T) {
	r := start(t, "clones", "")
	if strings.Contains(r.out, "user namespace EPERM") || strings.Contains(r.out, "user namespace ENOSPC") {
		t.Skip("no user namespaces here")
	}
	assert.Equal(t, "process ok\nshares descriptors ok, here ok\nsibling ok, here ok\nuntraced ok, here ok\nuser namespace ok\nPID namespace ok\nnetwork namespace EPERM\n", r.out)
	assert.Zero(t, r.code)
}

// manyTool starts many short processes.
func manyTool() error {
	for range 400 {
		if err := osexec.Command("/bin/true").Run(); err != nil {
			return err
		}
	}
	return nil
}

func TestProcessesThatEndedCostNoDescriptors(t *testing.T) {
	done, most := make(chan struct{}), make(chan int)
	go func() {
		n := 0
		for {
			select {
			case <-done:
				most <- n
				return
			case <-time.After(time.Millisecond):
				n = max(n, len(descriptors(t)))
			}
		}
	}()
	r := start(t, "many", "")
	close(done)
	assert.Zero(t, r.code, r.out)
	assert.Less(t, <-most, 3*minProcs)
}
