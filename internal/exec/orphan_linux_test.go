//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func init() { tools["orphans of a supervisor"] = outlivingTool }

// report is what a process of [outlivingTool] writes: first its number, then the errors of calls
// once nobody serves them.
type report struct {
	Who, PID, BPF, Perf, Ioctl, Open, Epoll int32
}

const reportSize = int(unsafe.Sizeof(report{}))

// outlivingTool starts processes that do not die with their parents: a child, and a grandchild in a
// session of its own that has another user id if it can. They do nothing but system calls, since
// they have one thread of a Go program.
func outlivingTool() error {
	debug.SetGCPercent(-1)
	path := []byte("/sys/kernel/btf/vmlinux\x00")
	attr := struct{ typ, key, value, entries uint32 }{1, 4, 8, 1}
	first := report{Who: 1}
	second := report{Who: 2}
	fork := func() uintptr {
		pid, _, _ := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		return pid
	}
	probe := func(r *report) {
		_, _, _ = unix.RawSyscall6(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, 0, 0, 0, 0, 0)
		pid, _, _ := unix.RawSyscall(unix.SYS_GETPID, 0, 0, 0)
		r.PID = int32(pid)
		_, _, _ = unix.RawSyscall(unix.SYS_WRITE, 1, uintptr(unsafe.Pointer(r)), uintptr(reportSize))
		nap := unix.Timespec{Nsec: 1e6}
		for told := false; ; {
			v, _, _ := unix.RawSyscall(unix.SYS_BPF, ask, 0, 0)
			if v != answer && !told {
				told = true
				_, _, e := unix.RawSyscall(unix.SYS_BPF, unix.BPF_MAP_CREATE, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
				r.BPF = int32(e)
				_, _, e = unix.RawSyscall6(unix.SYS_PERF_EVENT_OPEN, 0, 0, 0, 0, 0, 0)
				r.Perf = int32(e)
				_, _, e = unix.RawSyscall(unix.SYS_IOCTL, 0, 0x2400, 0)
				r.Ioctl = int32(e)
				_, _, e = unix.RawSyscall6(unix.SYS_OPENAT, uintptr(atCWD), uintptr(unsafe.Pointer(&path[0])), 0, 0, 0, 0)
				r.Open = int32(e)
				_, _, e = unix.RawSyscall6(unix.SYS_EPOLL_CTL, 0, 0, 0, 0, 0, 0)
				r.Epoll = int32(e)
				_, _, _ = unix.RawSyscall(unix.SYS_WRITE, 1, uintptr(unsafe.Pointer(r)), uintptr(reportSize))
			}
			_, _, _ = unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&nap)), 0, 0)
		}
	}
	if fork() == 0 {
		probe(&first)
	}
	if fork() == 0 {
		_, _, _ = unix.RawSyscall(unix.SYS_SETSID, 0, 0, 0)
		if fork() == 0 {
			_, _, _ = unix.RawSyscall(unix.SYS_SETRESUID, 65534, 65534, 65534)
			probe(&second)
		}
		_, _, _ = unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
	// The signal that the guard asked for: this process outlives the supervisor, too. It sleeps by
	// a call that is not served.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, 0, 0, 0, 0); err != nil {
		return err
	}
	for {
		_ = unix.Nanosleep(&unix.Timespec{Sec: 3600}, nil)
	}
}

// childrenOf lists the children of a process.
func childrenOf(t *testing.T, pid int) (out []int) {
	t.Helper()
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	require.NoError(t, err)
	for _, task := range tasks {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, task.Name()))
		for _, w := range strings.Fields(string(b)) {
			var p int
			_, err := fmt.Sscan(w, &p)
			require.NoError(t, err)
			out = append(out, p)
		}
	}
	return out
}

// Processes that cleared their parent-death signal, or never had one, outlive a killed supervisor
// until the guard kills them. Whatever they call meanwhile fails, as in a kernel without BPF, and
// does not reach the host's. The guard is stopped here, so that there is a meanwhile.
func TestWhoOutlivesTheSupervisorReachesNoKernel(t *testing.T) {
	start(t, "exit7", "") // skips where there is no supervision
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := osexec.Command(self, "supervise", "orphans of a supervisor")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	next := func() (r report) {
		b := make([]byte, reportSize)
		_, err := io.ReadFull(out, b)
		require.NoError(t, err)
		for i, p := range []*int32{&r.Who, &r.PID, &r.BPF, &r.Perf, &r.Ioctl, &r.Open, &r.Epoll} {
			*p = int32(le.Uint32(b[4*i:]))
		}
		return r
	}
	pids := map[int32]int32{}
	for range 2 {
		r := next()
		pids[r.Who] = r.PID
	}
	require.Len(t, pids, 2)
	guards := childrenOf(t, cmd.Process.Pid)
	require.Len(t, guards, 1)
	require.Eventually(t, func() bool { return slices.Contains(childrenOf(t, guards[0]), int(pids[2])) }, 20*time.Second, time.Millisecond, "the guard adopts the grandchild")
	left := append(childrenOf(t, guards[0]), int(pids[1]), int(pids[2]))
	require.NoError(t, unix.Kill(guards[0], unix.SIGSTOP))
	require.NoError(t, cmd.Process.Kill())
	const e = int32(unix.ENOSYS)
	for range 2 {
		r := next()
		assert.Equal(t, report{r.Who, pids[r.Who], e, e, e, e, e}, r)
	}
	for _, p := range pids {
		assert.NoError(t, unix.Kill(int(p), 0), "%d runs", p)
	}
	require.NoError(t, unix.Kill(guards[0], unix.SIGCONT))
	_ = cmd.Wait()
	assert.Eventually(t, func() bool {
		for _, p := range left {
			if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p)); err == nil && !strings.Contains(string(b), ") Z ") {
				return false
			}
		}
		return true
	}, 20*time.Second, 10*time.Millisecond)
}
