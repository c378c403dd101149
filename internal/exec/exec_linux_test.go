//go:build linux && (amd64 || arm64)

package exec

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	osexec "os/exec"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/ringbuf"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/testing/testsize"
	"github.com/bpfrun/bpfrun/loader"
)

// The test binary is the supervisor, its child, and the tools it runs.
func TestMain(m *testing.M) {
	Child(os.Args[1:])
	if len(os.Args) > 3 && os.Args[1] == "confined" {
		confine(os.Args[3])
		supervise(os.Args[2], os.Args[3:]...)
		os.Exit(0)
	}
	if len(os.Args) > 2 && os.Args[1] == "supervise" {
		supervise(os.Args[2], os.Args[3:]...)
		os.Exit(0)
	}
	if len(os.Args) > 2 && os.Args[1] == "tool" {
		if err := tools[os.Args[2]](); err != nil {
			fmt.Println(os.Args[2]+":", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// sleepLong sleeps as C programs do.
func sleepLong() error {
	for {
		if err := unix.ClockNanosleep(unix.CLOCK_REALTIME, 0, &unix.Timespec{Sec: 3600}, nil); err != nil {
			return err
		}
	}
}

var tools = map[string]func() error{
	"ring": ringTool, "fds": fdTool, "version": versionTool, "exit7": func() error { os.Exit(7); return nil },
	"asleep": func() error { return sleepLong() }, "foreign": foreignTool, "seal": sealTool, "pins": pinTool, "bpffslinks": bpffsLinkTool, "lskel": lskelTool,
}

type run struct {
	out, notes string
	code       int
}

// starts reports whether this binary can start itself. It cannot on a processor that a user program
// emulates, which starts no programs for it. It asks once: now and then a process that fails to start
// under qemu never ends.
var starts = sync.OnceValue(func() bool {
	self, err := os.Executable()
	return err != nil || !errors.Is(osexec.Command(self, "-test.run=^$").Run(), unix.ENOEXEC)
})

// native skips a test of what a user program that emulates this processor does not do as Linux does.
func native(t testing.TB) {
	t.Helper()
	if !starts() {
		t.Skip("a user program emulates this processor, and not all of Linux")
	}
}

// timing names the tests in which the parts of this package run at the same time: with -short, as
// for the race detector, all of them run.
var timing = regexp.MustCompile("Thread|Wait|Live|Clos|Timer|Command|Record|Step|Session|Signal|Poll|Event|Process|Task|Socket")

// onOneCPU keeps the processes that are started on one CPU.
func onOneCPU(t testing.TB) (restore func()) {
	var all, one unix.CPUSet
	require.NoError(t, unix.SchedGetaffinity(0, &all))
	for cpu := range 1024 {
		if all.IsSet(cpu) {
			one.Set(cpu)
			break
		}
	}
	runtime.LockOSThread()
	require.NoError(t, unix.SchedSetaffinity(0, &one))
	return func() {
		_ = unix.SchedSetaffinity(0, &all)
		runtime.UnlockOSThread()
	}
}

// start runs a tool of this binary.
func start(t testing.TB, tool string, events string, change ...func(*Config)) run {
	t.Helper()
	if !starts() {
		t.Skip("this processor is emulated by a user program, which starts no programs for it")
	}
	if testing.Short() && !testsize.Long() && !timing.MatchString(t.Name()) && crc32.ChecksumIEEE([]byte(t.Name()))%3 != 0 {
		t.Skip("one of three such tests runs with -short")
	}
	spec, err := embedded.Spec()
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	var out, notes bytes.Buffer
	cfg := Config{
		System:  bpfsys.Config{Target: loader.NewTarget(embedded.Name, spec), Machine: machine.Config{Uncovered: true, Unwatched: true}},
		Release: embedded.Release, Args: []string{self, "tool", tool}, Stdout: &out, Stderr: &out, Notes: &notes,
	}
	if events != "" {
		cfg.Events, err = ReadEvents(strings.NewReader(events))
		require.NoError(t, err)
	}
	for _, c := range change {
		c(&cfg)
	}
	if cfg.Live && cfg.Run != "" { // records of several CPUs would have no order
		defer onOneCPU(t)()
	}
	code, err := Run(cfg)
	if err != nil && strings.Contains(err.Error(), "child process ended") {
		t.Skipf("no seccomp user notification here: %v %s", err, out.String())
	}
	require.NoError(t, err)
	return run{out.String(), notes.String(), code}
}

// sender sends the number 7 to a ring buffer.
func sender(ring *ebpf.Map) *ebpf.ProgramSpec {
	return &ebpf.ProgramSpec{Name: "sender", Type: ebpf.RawTracepoint, License: "GPL", Instructions: asm.Instructions{
		asm.Mov.Imm(asm.R1, 7), asm.StoreMem(asm.RFP, -8, asm.R1, asm.DWord),
		asm.LoadMapPtr(asm.R1, ring.FD()),
		asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, -8),
		asm.Mov.Imm(asm.R3, 8), asm.Mov.Imm(asm.R4, 0),
		asm.FnRingbufOutput.Call(), asm.Mov.Imm(asm.R0, 0), asm.Return(),
	}}
}

// readRing attaches a program that sends records to a ring buffer, and hands over a reader of it.
func readRing(read func(r *ringbuf.Reader) error) error {
	ring, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.RingBuf, MaxEntries: 4096})
	if err != nil {
		return err
	}
	prog, err := ebpf.NewProgram(sender(ring))
	if err != nil {
		return err
	}
	l, err := link.AttachRawTracepoint(link.RawTracepointOptions{Name: "sched_switch", Program: prog})
	if err != nil {
		return err
	}
	defer l.Close()
	r, err := ringbuf.NewReader(ring)
	if err != nil {
		return err
	}
	return read(r)
}

func ringTool() error {
	return readRing(func(r *ringbuf.Reader) error {
		for range 3 {
			rec, err := r.Read()
			if err != nil {
				return err
			}
			fmt.Println(rec.RawSample)
		}
		return nil
	})
}

func TestAToolOfAnotherLoaderReadsItsRingBuffer(t *testing.T) {
	for range 5 {
		r := start(t, "ring", "sched_switch repeat=2\n---\nsched_switch\n")
		require.Zero(t, r.code, "%s%s", r.out, r.notes)
		require.Equal(t, strings.Repeat("[7 0 0 0 0 0 0 0]\n", 3), r.out)
	}
}

// A session's programs run on the engine of its configuration, and what they do does not depend on
// it.
func TestAToolSeesTheSameOnEitherEngine(t *testing.T) {
	if !machine.NativeCode() {
		t.Skip("no native code on this system")
	}
	for name, engine := range map[string]machine.Engine{"jit": machine.EngineJIT, "both": machine.EngineBoth} {
		r := start(t, "ring", "sched_switch repeat=2\n---\nsched_switch\n", func(c *Config) {
			c.System.Machine.Engine = engine
			c.System.Machine.OnDifference = func(text string) { t.Errorf("%s: %s", name, text) }
		})
		assert.Zero(t, r.code, "%s: %s%s", name, r.out, r.notes)
		assert.Equal(t, strings.Repeat("[7 0 0 0 0 0 0 0]\n", 3), r.out, name)
	}
}

// gone reports whether there is no map of an id.
func gone(id ebpf.MapID) bool {
	m, err := ebpf.NewMapFromID(id)
	if err == nil {
		m.Close()
	}
	return errors.Is(err, os.ErrNotExist)
}

// fdTool keeps maps by copies of descriptors.
func fdTool() error {
	for _, keep := range []struct {
		name string
		f    func(fd int) (drop func(), err error)
	}{
		{"dup", func(fd int) (func(), error) {
			d, err := unix.Dup(fd)
			return func() { unix.Close(d) }, err
		}},
		{"mmap", func(fd int) (func(), error) {
			b, err := unix.Mmap(fd, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
			return func() { _ = unix.Munmap(b) }, err
		}},
		{"SCM_RIGHTS", func(fd int) (func(), error) {
			p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			if err != nil {
				return nil, err
			}
			err = unix.Sendmsg(p[0], []byte{1}, unix.UnixRights(fd), nil, 0)
			return func() { unix.Close(p[0]); unix.Close(p[1]) }, err
		}},
		{"another process", func(fd int) (func(), error) {
			cmd := osexec.Command("/bin/cat")
			in, err := cmd.StdinPipe()
			if err != nil {
				return nil, err
			}
			cmd.ExtraFiles = []*os.File{os.NewFile(uintptr(fd), "map")}
			d, err := unix.Dup(fd)
			if err != nil {
				return nil, err
			}
			cmd.ExtraFiles[0] = os.NewFile(uintptr(d), "map")
			if err := cmd.Start(); err != nil {
				return nil, err
			}
			cmd.ExtraFiles[0].Close()
			return func() { in.Close(); _ = cmd.Wait() }, nil
		}},
	} {
		m, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1, Flags: unix.BPF_F_MMAPABLE})
		if err != nil {
			return err
		}
		info, err := m.Info()
		if err != nil {
			return err
		}
		id, _ := info.ID()
		drop, err := keep.f(m.FD())
		if err != nil {
			return fmt.Errorf("%s: %w", keep.name, err)
		}
		m.Close()
		before := gone(id)
		drop()
		fmt.Printf("%s: kept %v, freed %v\n", keep.name, !before, gone(id))
	}
	return nil
}

func TestObjectsLiveAsLongAsACopyOfTheirDescriptor(t *testing.T) {
	r := start(t, "fds", "")
	assert.Equal(t, "dup: kept true, freed true\nmmap: kept true, freed true\nSCM_RIGHTS: kept true, freed true\nanother process: kept true, freed true\n", r.out)
}

func versionTool() error {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return err
	}
	fmt.Println(unix.ByteSliceToString(u.Release[:]))
	for _, name := range []string{"/proc/sys/kernel/osrelease", "/proc/version"} {
		b, err := os.ReadFile(name)
		fmt.Println(name, strings.Contains(string(b), unix.ByteSliceToString(u.Release[:])), err)
	}
	b, err := os.ReadFile("/sys/devices/system/cpu/possible")
	fmt.Printf("%s%v\n", b, err)
	b, err = os.ReadFile("/sys/kernel/tracing/events/sched/sched_switch/id")
	fmt.Println(len(b) > 0, err)
	_, err = os.Stat("/sys/kernel/tracing/events/sched/no_such_event")
	fmt.Println(errors.Is(err, os.ErrNotExist))
	f, err := os.Open("/sys/kernel/btf/vmlinux")
	if err != nil {
		return err
	}
	n, err := io.Copy(io.Discard, f)
	fmt.Println(n > 1<<20, err)
	return nil
}

func TestFilesAndVersionAreThoseOfTheSimulatedKernel(t *testing.T) {
	r := start(t, "version", "")
	const same = "/proc/sys/kernel/osrelease true <nil>\n/proc/version true <nil>\n"
	assert.Equal(t, embedded.Release+"\n"+same+"0-1\n<nil>\ntrue <nil>\ntrue\ntrue <nil>\n", r.out)
}

func TestTheExitStatusIsThatOfTheTool(t *testing.T) {
	assert.Equal(t, 7, start(t, "exit7", "").code)
	r := start(t, "asleep", "clock\n")
	assert.Equal(t, 128+int(unix.SIGINT), r.code, "the events are over and it sleeps")
}

// foreignTool makes calls that must not reach the host.
func foreignTool() error {
	_, _, e := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, 0, 0)
	fmt.Println("io_uring", e)
	_, _, e = unix.Syscall(unix.SYS_BPF, 77, 0, 0)
	fmt.Println("bpf", e)
	return nil
}

func TestCallsThatAreNotServedDoNotReachTheHost(t *testing.T) {
	r := start(t, "foreign", "")
	assert.Equal(t, "io_uring function not implemented\nbpf invalid argument\n", r.out)
}

// sealTool tries to cut off the memory the supervisor has mapped.
func sealTool() error {
	ring, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.RingBuf, MaxEntries: 4096})
	if err != nil {
		return err
	}
	fmt.Println(unix.Ftruncate(ring.FD(), 0))
	prog, err := ebpf.NewProgram(sender(ring))
	if err != nil {
		return err
	}
	l, err := link.AttachRawTracepoint(link.RawTracepointOptions{Name: "sched_switch", Program: prog})
	if err != nil {
		return err
	}
	// Positions that nobody could have reached.
	for _, off := range []int64{0, 4096} {
		_, err = unix.Pwrite(ring.FD(), bytes.Repeat([]byte{0xff}, 8), off)
		fmt.Println(err)
	}
	defer l.Close()
	return sleepLong()
}

func TestAToolCannotBreakSharedMemory(t *testing.T) {
	r := start(t, "seal", "clock\nsched_switch repeat=100\n---\nsched_switch\n")
	assert.Equal(t, "operation not permitted\n<nil>\n<nil>\n", r.out)
	assert.Empty(t, r.notes)
}

func pinTool() error {
	m, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	if err != nil {
		return err
	}
	if err := os.MkdirAll("/sys/fs/bpf/a/b", 0o755); err != nil {
		return err
	}
	if err := m.Pin("/sys/fs/bpf/a/b/m"); err != nil {
		return err
	}
	if err := os.Rename("/sys/fs/bpf/a/b/m", "/sys/fs/bpf/a/n"); err != nil {
		return err
	}
	again, err := ebpf.LoadPinnedMap("/sys/fs/bpf/a/n", nil)
	if err != nil {
		return err
	}
	fmt.Println(again.Type())
	list, err := os.ReadDir("/sys/fs/bpf/a")
	for _, e := range list {
		fmt.Println(e.Name(), e.IsDir())
	}
	if err != nil {
		return err
	}
	return os.RemoveAll("/sys/fs/bpf/a")
}

// bpffsLinkTool makes symbolic links in the bpffs, as tc does for its subdirectories.
func bpffsLinkTool() error {
	m, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	if err != nil {
		return err
	}
	try := func(what string, err error) { fmt.Println(what, outcomeOf(err)) }
	try("mkdir", os.Mkdir("/sys/fs/bpf/tc", 0o755))
	for _, l := range [][2]string{{"tc/", "/sys/fs/bpf/xdp"}, {"/sys/fs/bpf/xdp", "/sys/fs/bpf/tc/up"}, {"round", "/sys/fs/bpf/round"}, {"x", "/sys/fs/bpf/xdp"}, {"x", "/sys/fs/bpf/a.b"}, {"", "/sys/fs/bpf/none"}} {
		try("symlink "+l[1], os.Symlink(l[0], l[1]))
	}
	try("pin", m.Pin("/sys/fs/bpf/xdp/m"))
	_, err = ebpf.LoadPinnedMap("/sys/fs/bpf/tc/up/up/m", nil)
	try("get", err)
	text, err := os.Readlink("/sys/fs/bpf/xdp")
	try("text "+text, err)
	_, err = os.Readlink("/sys/fs/bpf/tc")
	try("text of a directory", err)
	_, err = os.ReadFile("/sys/fs/bpf/round")
	try("round", err)
	_, err = os.OpenFile("/sys/fs/bpf/xdp", unix.O_NOFOLLOW, 0)
	try("open", err)
	st, err := os.Lstat("/sys/fs/bpf/xdp")
	if err != nil {
		return err
	}
	list, err := os.ReadDir("/sys/fs/bpf")
	fmt.Println(st.Mode(), st.Size(), list, outcomeOf(err))
	try("rmdir", unix.Rmdir("/sys/fs/bpf/xdp"))
	try("rename", os.Rename("/sys/fs/bpf/xdp", "/sys/fs/bpf/ip"))
	_, err = os.Stat("/sys/fs/bpf/ip/m")
	try("renamed", err)
	try("dangling", errors.Join(os.Remove("/sys/fs/bpf/tc/m"), os.Remove("/sys/fs/bpf/tc/up"), os.Remove("/sys/fs/bpf/tc")))
	_, err = os.Stat("/sys/fs/bpf/ip")
	try("stat", err)
	try("remove", os.Remove("/sys/fs/bpf/ip"))
	try("host", os.Symlink("/etc", "/sys/fs/bpf/etc"))
	_, err = os.ReadFile("/sys/fs/bpf/etc/hostname")
	try("a file of the host", err)
	return nil
}

func TestBPFFSHasSymbolicLinks(t *testing.T) {
	r := start(t, "bpffslinks", "")
	assert.Equal(t, `mkdir ok
symlink /sys/fs/bpf/xdp ok
symlink /sys/fs/bpf/tc/up ok
symlink /sys/fs/bpf/round ok
symlink /sys/fs/bpf/xdp EEXIST
symlink /sys/fs/bpf/a.b EPERM
symlink /sys/fs/bpf/none ENOENT
pin ok
get ok
text tc/ ok
text of a directory EINVAL
round ELOOP
open ELOOP
Lrwxrwxrwx 3 [L round d tc/ L xdp] ok
rmdir ENOTDIR
rename ok
renamed ok
dangling ok
stat ENOENT
remove ok
host ok
a file of the host EACCES
`, r.out, r.notes)
}

func TestPinsAreFilesOfASimulatedFileSystem(t *testing.T) {
	r := start(t, "pins", "")
	assert.Equal(t, "Array\nb true\nn false\n", r.out)
	_, err := os.Stat("/sys/fs/bpf/a")
	assert.ErrorIs(t, err, os.ErrNotExist, "nothing is on the host")
}
