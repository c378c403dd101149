//go:build linux && (amd64 || arm64)

package exec

import (
	"bufio"
	"fmt"
	"os"
	osexec "os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/ringbuf"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/loader"
)

func init() {
	tools["slow"], tools["delegates"], tools["loops"], tools["family"], tools["deaf"] = slowTool, delegatingTool, loopTool, familyTool, deafTool
	tools["spins"], tools["busy"] = spinsTool, busyTool
	tools["orphans"] = func() error {
		return (&osexec.Cmd{Path: "/bin/sh", Args: []string{"sh", "-c", "sleep 1000 >/dev/null 2>&1 & echo $!"}, Stdout: os.Stdout}).Run()
	}
}

// withRing attaches a program that sends records and reads one of them.
func withRing(then func() error) error {
	return readRing(func(r *ringbuf.Reader) error {
		if _, err := r.Read(); err != nil {
			return err
		}
		return then()
	})
}

// slowTool works for longer than the supervisor waits before it interrupts a tool that does
// nothing.
func slowTool() error {
	return withRing(func() error {
		for end := time.Now().Add(4 * pause); time.Now().Before(end); {
		}
		fmt.Println("done")
		return nil
	})
}

// delegatingTool waits for a child that works.
func delegatingTool() error {
	return withRing(func() error {
		out, err := osexec.Command("/bin/sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; (i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done); echo done").Output()
		fmt.Print(string(out))
		return err
	})
}

// loopTool sleeps a few times in different places, then again and again in one.
func loopTool() error {
	return withRing(func() error {
		short := unix.Timespec{Nsec: (pause * 3 / 2).Nanoseconds()}
		_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &short, nil)
		fmt.Println("one")
		_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &short, nil)
		fmt.Println("two")
		for {
			_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &short, nil)
		}
	})
}

// deafTool ignores SIGINT.
func deafTool() error {
	signal.Ignore(unix.SIGINT)
	return sleepLong()
}

func TestAProgramThatWorksIsNotInterrupted(t *testing.T) {
	for _, tool := range []string{"slow", "delegates"} {
		r := start(t, tool, "sched_switch\n")
		assert.Equal(t, "done\n", r.out, tool)
		assert.Zero(t, r.code, tool)
	}
}

func TestAProgramThatWaitsInALoopIsInterrupted(t *testing.T) {
	r := start(t, "loops", "sched_switch\n")
	assert.Equal(t, "one\ntwo\n", r.out)
	assert.NotZero(t, r.code)
}

func TestSessionsLeaveNoDescriptors(t *testing.T) {
	start(t, "fds", "") // whatever the runtime opens once
	before := descriptors(t)
	for range 3 {
		start(t, "fds", "")
		start(t, "ring", "sched_switch repeat=3\n")
		start(t, "exit7", "")
	}
	assert.Equal(t, before, descriptors(t))
}

func descriptors(t *testing.T) []string {
	t.Helper()
	dir, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	var out []string
	for _, d := range dir {
		if to, err := os.Readlink("/proc/self/fd/" + d.Name()); err == nil && strings.Contains(to, "memfd:bpfrun") || strings.Contains(to, "seccomp") || strings.Contains(to, "inotify") ||
			strings.Contains(to, "pidfd") || strings.Contains(to, "socket:") || strings.Contains(to, "eventfd") {
			out = append(out, to)
		}
	}
	return out
}

// familyTool has a child, a grandchild and one in a session of its own, and tells their numbers.
func familyTool() error {
	fmt.Println(os.Getpid())
	for _, c := range []*osexec.Cmd{
		osexec.Command("/bin/sh", "-c", "sleep 1000 & echo $!; echo $$; wait"),
		{Path: "/bin/sh", Args: []string{"sh", "-c", "echo $$; exec sleep 1000"}, SysProcAttr: &syscall.SysProcAttr{Setsid: true}},
	} {
		c.Stdout = os.Stdout
		if err := c.Start(); err != nil {
			return err
		}
	}
	return sleepLong()
}

// supervise is what the test binary does as a supervisor that can be killed.
func supervise(tool string, run ...string) {
	spec, err := embedded.Spec()
	if err != nil {
		panic(err)
	}
	self, _ := os.Executable()
	code, err := Run(Config{
		System: bpfsys.Config{Target: loader.NewTarget(embedded.Name, spec)}, Args: []string{self, "tool", tool}, Run: strings.Join(run, " "),
		Stdout: os.Stdout, Stderr: os.Stderr, Notes: os.Stderr,
	})
	fmt.Println(code, err)
}

func TestNoProcessOutlivesAKilledSupervisor(t *testing.T) {
	start(t, "exit7", "") // skips where there is no supervision
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := osexec.Command(self, "supervise", "family")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var pids []int
	sc := bufio.NewScanner(out)
	for len(pids) < 4 && sc.Scan() {
		p, err := strconv.Atoi(sc.Text())
		require.NoError(t, err, sc.Text())
		pids = append(pids, p)
	}
	require.Len(t, pids, 4)
	for _, p := range pids {
		require.NoError(t, unix.Kill(p, 0), "%d runs", p)
	}
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	left := func() (out []int) {
		for _, p := range pids {
			if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p)); err == nil && !strings.Contains(string(b), ") Z ") {
				out = append(out, p)
			}
		}
		return out
	}
	assert.Eventually(t, func() bool { return len(left()) == 0 }, 20*time.Second, 10*time.Millisecond, "left: %v", left())
}

// confine refuses a system call as the profile of a container does.
func confine(name string) {
	nr := map[string]uint32{"bpf": unix.SYS_BPF, "perf_event_open": unix.SYS_PERF_EVENT_OPEN, "pidfd_getfd": unix.SYS_PIDFD_GETFD,
		"process_vm_readv": unix.SYS_PROCESS_VM_READV, "process_vm_writev": unix.SYS_PROCESS_VM_WRITEV, "memfd_create": unix.SYS_MEMFD_CREATE, "inotify_add_watch": unix.SYS_INOTIFY_ADD_WATCH}[name]
	f := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}, {Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: nr},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)}, {Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		panic(err)
	}
	prog := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	if _, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog))); e != 0 {
		panic(e)
	}
}

func TestAContainersFilterIsNamed(t *testing.T) {
	start(t, "exit7", "") // skips where there is no supervision
	self, err := os.Executable()
	require.NoError(t, err)
	for _, name := range []string{"bpf", "perf_event_open", "pidfd_getfd", "process_vm_readv", "process_vm_writev", "memfd_create", "inotify_add_watch"} {
		out, err := osexec.Command(self, "confined", "exit7", name).CombinedOutput()
		require.NoError(t, err)
		assert.Contains(t, string(out), "seccomp=unconfined", name)
		assert.Regexp(t, `\n(126 <nil>|0 `+name+`: .*)\n`, "\n"+string(out), name)
	}
}

func TestAProgramsChildrenEndWithIt(t *testing.T) {
	r := start(t, "orphans", "")
	p, err := strconv.Atoi(strings.TrimSpace(r.out))
	require.NoError(t, err, r.out)
	assert.Zero(t, r.code)
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p))
	assert.True(t, err != nil || strings.Contains(string(b), ") Z "), "%s", b)
}

func TestAProgramThatIgnoresSIGINTIsEnded(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	r := start(t, "deaf", "clock\n")
	assert.Contains(t, r.notes, "SIGTERM")
	assert.Equal(t, 128+int(unix.SIGTERM), r.code)
}

// busyTool counts a tracepoint, attaches nothing and is busy for a while.
func busyTool() error {
	text, err := os.ReadFile("/sys/kernel/tracing/events/sched/sched_switch/id")
	if err != nil {
		return err
	}
	id, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return err
	}
	fd, err := unix.PerfEventOpen(&unix.PerfEventAttr{Type: unix.PERF_TYPE_TRACEPOINT, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Config: id}, -1, 0, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); {
	}
	fmt.Println("counted")
	return nil
}

// spinsTool never waits: it looks into a map until an event has changed it.
func spinsTool() error {
	m, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	if err != nil {
		return err
	}
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.RawTracepoint, License: "GPL", Instructions: asm.Instructions{
		asm.Mov.Imm(asm.R1, 0), asm.StoreMem(asm.RFP, -4, asm.R1, asm.Word), asm.Mov.Imm(asm.R1, 9), asm.StoreMem(asm.RFP, -16, asm.R1, asm.DWord), asm.LoadMapPtr(asm.R1, m.FD()),
		asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, -4), asm.Mov.Reg(asm.R3, asm.RFP), asm.Add.Imm(asm.R3, -16), asm.Mov.Imm(asm.R4, 0),
		asm.FnMapUpdateElem.Call(), asm.Mov.Imm(asm.R0, 0), asm.Return(),
	}})
	if err != nil {
		return err
	}
	l, err := link.AttachRawTracepoint(link.RawTracepointOptions{Name: "sched_switch", Program: prog})
	if err != nil {
		return err
	}
	defer l.Close()
	for v := uint64(0); v == 0; {
		if err := m.Lookup(uint32(0), &v); err != nil {
			return err
		}
		if v != 0 {
			fmt.Println(v)
		}
	}
	return nil
}

func TestAProgramThatNeverWaitsGetsItsEventsInTime(t *testing.T) {
	r := start(t, "spins", "sched_switch\n", func(c *Config) { c.Timeout = 3 * time.Second })
	assert.Equal(t, "9\n", r.out, r.notes)
	assert.Zero(t, r.code)
}

// TestABusyProgramWithoutProgramsIsLeftAlone: an event that is counted, without a program, does not
// make the tool one that has to get its events.
func TestABusyProgramWithoutProgramsIsLeftAlone(t *testing.T) {
	r := start(t, "busy", "sched_switch\n", func(c *Config) { c.Timeout = 100 * time.Millisecond })
	assert.Equal(t, "counted\n", r.out, r.notes)
	assert.Zero(t, r.code)
}

func TestWhichCallsRest(t *testing.T) {
	for _, c := range []struct {
		nr      int
		timeout time.Duration
		want    bool
	}{{unix.SYS_FUTEX, 0, false}, {unix.SYS_FUTEX, time.Second, true}, {unix.SYS_PPOLL, 0, true}, {unix.SYS_CLOCK_NANOSLEEP, time.Second, true}, {unix.SYS_READ, 0, false}, {unix.SYS_WAIT4, 0, false}} {
		assert.Equal(t, c.want, rests(c.nr, c.timeout), "%d %v", c.nr, c.timeout)
	}
}
