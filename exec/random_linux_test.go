//go:build linux && (amd64 || arm64)

package exec

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/internal/randcall"
	"github.com/bpfrun/bpfrun/internal/testsize"
)

func init() { tools["random"] = randomTool }

var calls = flag.Int("calls", 0, "make `N` random calls")

// Descriptors that random calls use; those below belong to the Go runtime and the test.
const firstFD, lastFD = 24, 87

// randomTool makes CALLS random calls in two threads.
func randomTool() error {
	n, err := strconv.Atoi(os.Getenv("CALLS"))
	if err != nil {
		return err
	}
	if r, _, err := os.Pipe(); err != nil || r.SetDeadline(time.Time{}) != nil { // the runtime opens what it polls with now
		return err
	}
	for fd := 0; fd < firstFD-1; {
		if fd, err = unix.Open("/dev/null", unix.O_RDONLY, 0); err != nil {
			return err
		}
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: lastFD + 1, Max: lastFD + 1}); err != nil {
		return err
	}
	flags := unix.MAP_PRIVATE | unix.MAP_ANON
	// Values of maps may be longer than the memory: what follows it is not the runtime's.
	shared, err := unix.Mmap(-1, 0, 8<<30, unix.PROT_NONE, flags|unix.MAP_NORESERVE)
	if err != nil {
		return err
	}
	if err := unix.Mprotect(shared[:2*randcall.Size], unix.PROT_READ|unix.PROT_WRITE); err != nil {
		return err
	}
	copy(shared, randcall.Memory())
	constant, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ, flags)
	if err != nil {
		return err
	}
	base := uint64(uintptr(unsafe.Pointer(&shared[0])))
	bad := []uint64{0, 8, base + 2*randcall.Size - 4, uint64(uintptr(unsafe.Pointer(&constant[0]))), 1 << 47, ^uint64(0) - 7}
	var threads sync.WaitGroup
	for i := range uint64(2) {
		threads.Go(func() {
			runtime.LockOSThread()
			r := randomCalls{randcall.Source{Rand: rand.New(rand.NewPCG(uint64(n), i)), Base: base, Bad: bad, FirstFD: firstFD, LastFD: lastFD}, base + randcall.Size + 4096*i, 0}
			for range n / 2 {
				r.one(shared[randcall.Size+4096*i:])
			}
		})
	}
	threads.Wait()
	fmt.Println("done")
	return nil
}

// randomCalls are the calls of a thread.
type randomCalls struct {
	randcall.Source
	attr uint64 // address of the attributes
	made int
}

// call makes a system call, and closes or keeps what it opens.
func (r *randomCalls) call(nr uintptr, args ...uint64) (uint64, unix.Errno) {
	var a [6]uintptr
	for i, v := range args {
		a[i] = uintptr(v)
	}
	v, _, e := unix.RawSyscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
	return uint64(v), e
}

var atCWD = ^uint64(99)

// one makes a call; attr is the memory of its attributes.
func (r *randomCalls) one(attr []byte) {
	fd := func() uint64 { return uint64(r.FD()) }
	switch r.IntN(24) {
	default:
		cmd, a := r.Call()
		copy(attr, a)
		_, _ = r.call(unix.SYS_BPF, uint64(cmd), r.attr, uint64(len(a)))
	case 0, 1, 2:
		_, _ = r.call(unix.SYS_CLOSE, uint64(firstFD+r.IntN(lastFD-firstFD+1)))
	case 3: // a software event, a tracepoint or anything
		for i, v := range []uint32{uint32(r.IntN(8)), 128, uint32(r.IntN(12)), 0, uint32(r.IntN(3)), 0, 1 << r.IntN(12), 0, r.Number(), 0} {
			le.PutUint32(attr[4*i:], v)
		}
		_, _ = r.call(unix.SYS_PERF_EVENT_OPEN, r.attr, ^uint64(0), uint64(r.IntN(3)), ^uint64(0), uint64(r.IntN(2)*8))
	case 4:
		_, _ = r.call(unix.SYS_IOCTL, fd(), uint64(0x2400+r.IntN(12))|uint64(r.IntN(2))*0x40040000, r.Pointer())
	case 5:
		size := uint64(4096 * (1 + r.IntN(4)))
		if at, e := r.call(unix.SYS_MMAP, 0, size, uint64(1+r.IntN(3)), unix.MAP_SHARED, fd(), uint64(4096*r.IntN(3))); e == 0 {
			_, _ = r.call(unix.SYS_MUNMAP, at, size)
		}
	case 6:
		switch r.IntN(4) {
		case 0:
			_, _ = r.call(unix.SYS_EPOLL_CREATE1, 0)
		case 1:
			_, _ = r.call(unix.SYS_EPOLL_CTL, fd(), uint64(1+r.IntN(3)), fd(), r.Pointer())
		case 2:
			_, _ = r.call(unix.SYS_EPOLL_PWAIT, fd(), r.Pointer(), 4, 0, 0, 0)
		case 3:
			at := r.Pointer()
			_, _ = r.call(unix.SYS_PPOLL, at, uint64(r.IntN(5)), r.zeroes(attr), 0, 8)
		}
	case 7: // files and directories of the simulated kernel
		path := r.Path()
		switch r.IntN(8) {
		case 0:
			_, _ = r.call(unix.SYS_OPENAT, atCWD, path, uint64(r.IntN(3))|unix.O_DIRECTORY*uint64(r.IntN(2)))
		case 1:
			_, _ = r.call(unix.SYS_MKDIRAT, atCWD, path, 0o755)
		case 2, 3:
			_, _ = r.call(unix.SYS_UNLINKAT, atCWD, path, uint64(r.IntN(2))*unix.AT_REMOVEDIR)
		case 4:
			_, _ = r.call(unix.SYS_RENAMEAT2, atCWD, path, atCWD, r.Path(), uint64(r.IntN(2)))
		case 5:
			_, _ = r.call(unix.SYS_STATX, atCWD, path, 0, 0xfff, r.Pointer())
		case 6:
			_, _ = r.call(unix.SYS_GETDENTS64, fd(), r.Pointer(), uint64(r.IntN(4096)))
		case 7:
			copy(attr, r.path()+"\x00")
			_, _ = r.call(unix.SYS_OPENAT, atCWD, r.attr, 0)
		}
	case 8:
		switch r.IntN(5) {
		case 0:
			_, _ = r.call(unix.SYS_UNAME, r.Pointer())
		case 1:
			_, _ = r.call(unix.SYS_FSTATFS, fd(), r.Pointer())
		case 2:
			copy(attr, "bpf\x00")
			_, _ = r.call(unix.SYS_FSOPEN, r.attr, 0)
		case 3:
			_, _ = r.call(unix.SYS_FSCONFIG, fd(), uint64(r.IntN(8)), r.Pointer(), r.Pointer(), 0)
		case 4:
			_, _ = r.call(unix.SYS_FSMOUNT, fd(), 0, 0)
		}
	case 9: // netlink: queries, and bytes that are no messages
		switch r.IntN(3) {
		case 0:
			_, _ = r.call(unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_NONBLOCK, 0)
		case 1:
			size := 16 + 4*r.IntN(16)
			for i := 0; i < size; i += 4 {
				le.PutUint32(attr[i:], r.Number())
			}
			le.PutUint32(attr, uint32(size))
			le.PutUint16(attr[4:], [...]uint16{18, 19, 36, 38, 44, 46, 16, 17}[r.IntN(8)])
			_, _ = r.call(unix.SYS_SENDTO, fd(), r.attr, uint64(size), unix.MSG_DONTWAIT, 0, 0)
		case 2:
			_, _ = r.call(unix.SYS_RECVFROM, fd(), r.Pointer(), 4096, unix.MSG_DONTWAIT, 0, 0)
		}
	}
}

// zeroes returns the address of a struct timespec of no time.
func (r *randomCalls) zeroes(attr []byte) uint64 {
	clear(attr[2048:2064])
	return r.attr + 2048
}

// path returns a file that the simulated kernel has, or may have.
func (r *randomCalls) path() string {
	switch r.IntN(6) {
	case 0:
		return fmt.Sprintf("/proc/self/fdinfo/%d", r.FD())
	case 1:
		return "/sys/kernel/tracing/events/sched/sched_switch/id"
	case 2:
		return "/sys/devices/system/cpu/possible"
	case 3:
		return "/sys/fs/bpf"
	case 4:
		return "/proc/self/maps"
	}
	return "/sys/fs/bpf/a/../a/" + strings.Repeat("x", r.IntN(400))
}

// Random calls of a hostile tool end neither its session nor the supervisor, and leave neither descriptors nor memory behind.
func TestRandomCallsOfATool(t *testing.T) {
	n := testsize.Pick(500_000, 20_000, 2_000)
	if *calls > 0 {
		n = *calls
	}
	t.Setenv("CALLS", strconv.Itoa(n))
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	start(t, "exit7", "") // whatever the runtime opens once
	files, before := descriptors(t), heap()
	type peak struct {
		heap  uint64
		files int
	}
	done, most := make(chan struct{}), make(chan peak)
	go func() {
		var p peak
		for {
			select {
			case <-done:
				most <- p
				return
			case <-time.After(time.Second):
				p = peak{max(p.heap, heap()), max(p.files, len(descriptors(t)))}
			}
		}
	}()
	r := start(t, "random", "")
	close(done)
	p := <-most
	require.Zero(t, r.code, r.out+r.notes)
	assert.Equal(t, "done\n", r.out)
	assert.NotContains(t, r.notes, "internal error")
	assert.Equal(t, files, descriptors(t))
	assert.Less(t, p.files, 2000)
	assert.Less(t, p.heap, before+1536<<20, "1 GiB of arrays that are mapped, and a call's")
	assert.Less(t, heap(), before+64<<20)
	t.Logf("%d calls; heap %d MiB before, %d at most, %d after; at most %d descriptors of the session", n, before>>20, p.heap>>20, heap()>>20, p.files)
}
