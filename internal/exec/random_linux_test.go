//go:build linux && (amd64 || arm64)

package exec

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/internal/testing/randcall"
	"github.com/bpfrun/bpfrun/internal/testing/testsize"
)

func init() { tools["random"] = randomTool }

var (
	calls = flag.Int("calls", 0, "make `N` random calls, in sessions of at most 50,000")
	seed  = flag.Uint64("seed", 1, "`SEED` of the first session's calls; each further session adds 1")
)

// maxCalls is how many calls a session makes at most.
const maxCalls = 50_000

// Descriptors that random calls use; those below belong to the Go runtime and the test.
const firstFD, lastFD = 24, 87

// randomTool makes CALLS random calls of SEED in two threads.
func randomTool() error {
	n, err := strconv.Atoi(os.Getenv("CALLS"))
	if err != nil {
		return err
	}
	seed, err := strconv.ParseUint(os.Getenv("SEED"), 10, 64)
	if err != nil {
		return err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close() // not by a finalizer, while random calls are made
	defer w.Close()
	if err := r.SetDeadline(time.Time{}); err != nil { // the runtime opens what it polls with now
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
	before, err := reserved()
	if err != nil {
		return err
	}
	var threads sync.WaitGroup
	var opened [lastFD + 1]atomic.Bool
	for i := range uint64(2) {
		threads.Go(func() {
			runtime.LockOSThread()
			r := randomCalls{randcall.Source{Rand: rand.New(rand.NewPCG(seed, i)), Base: base, Bad: bad, FirstFD: firstFD, LastFD: lastFD}, base + randcall.Size + 4096*i, &opened}
			for range n / 2 {
				r.one(shared[randcall.Size+4096*i:])
			}
		})
	}
	threads.Wait()
	after, err := reserved()
	if err != nil {
		return err
	}
	if !maps.Equal(before, after) {
		return fmt.Errorf("random calls changed descriptors that are not theirs: %v before, %v after", before, after)
	}
	fmt.Println("done")
	return nil
}

// reserved tells what the descriptors refer to that random calls must leave alone.
func reserved() (map[int]string, error) {
	out := map[int]string{}
	for fd := range firstFD {
		to, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
		if err != nil {
			return nil, err
		}
		out[fd] = to
	}
	return out, nil
}

// randomCalls are the calls of a thread.
type randomCalls struct {
	randcall.Source
	attr   uint64                   // address of the attributes
	opened *[lastFD + 1]atomic.Bool // descriptors that calls of any thread opened
}

// call makes a system call.
func (r *randomCalls) call(nr uintptr, args ...uint64) (uint64, unix.Errno) {
	var a [6]uintptr
	for i, v := range args {
		a[i] = uintptr(v)
	}
	v, _, e := unix.RawSyscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
	return uint64(v), e
}

// open makes a system call that may return a descriptor.
func (r *randomCalls) open(nr uintptr, args ...uint64) {
	if fd, e := r.call(nr, args...); e == 0 && fd >= firstFD && fd <= lastFD {
		r.opened[fd].Store(true)
	}
}

// close closes a descriptor that a call has opened, and no other: the runtime and the test may have
// opened some meanwhile.
func (r *randomCalls) close() {
	if fd := firstFD + r.IntN(lastFD-firstFD+1); r.opened[fd].CompareAndSwap(true, false) {
		_, _ = r.call(unix.SYS_CLOSE, uint64(fd))
	}
}

var atCWD = ^uint64(99)

// one makes a call; attr is the memory of its attributes.
func (r *randomCalls) one(attr []byte) {
	fd := func() uint64 { return uint64(r.FD()) }
	switch r.IntN(26) {
	default:
		cmd, a := r.Call()
		copy(attr, a)
		r.open(unix.SYS_BPF, uint64(cmd), r.attr, uint64(len(a)))
	case 0, 1, 2:
		r.close()
	case 3: // a software event, a tracepoint or anything
		for i, v := range []uint32{uint32(r.IntN(8)), 128, uint32(r.IntN(12)), 0, uint32(r.IntN(3)), 0, 1 << r.IntN(12), 0, r.Number(), 0} {
			le.PutUint32(attr[4*i:], v)
		}
		r.open(unix.SYS_PERF_EVENT_OPEN, r.attr, ^uint64(0), uint64(r.IntN(3)), ^uint64(0), uint64(r.IntN(2)*8))
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
			r.open(unix.SYS_EPOLL_CREATE1, 0)
		case 1:
			_, _ = r.call(unix.SYS_EPOLL_CTL, fd(), uint64(1+r.IntN(3)), fd(), r.Pointer())
		case 2:
			_, _ = r.call(unix.SYS_EPOLL_PWAIT, fd(), r.Pointer(), 4, 0, 0, 0)
		case 3:
			at := r.Pointer()
			_, _ = r.call(unix.SYS_PPOLL, at, uint64(r.IntN(5)), r.zeroes(attr), 0, 8)
		}
	case 10:
		r.waits(attr)
	case 11:
		r.reads(attr)
	case 7: // files and directories of the simulated kernel
		path := r.Path()
		switch r.IntN(8) {
		case 0:
			r.open(unix.SYS_OPENAT, atCWD, path, uint64(r.IntN(3))|unix.O_DIRECTORY*uint64(r.IntN(2)))
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
			r.open(unix.SYS_OPENAT, atCWD, r.attr, 0)
		}
	case 8:
		switch r.IntN(5) {
		case 0:
			_, _ = r.call(unix.SYS_UNAME, r.Pointer())
		case 1:
			_, _ = r.call(unix.SYS_FSTATFS, fd(), r.Pointer())
		case 2:
			copy(attr, "bpf\x00")
			r.open(unix.SYS_FSOPEN, r.attr, 0)
		case 3:
			_, _ = r.call(unix.SYS_FSCONFIG, fd(), uint64(r.IntN(8)), r.Pointer(), r.Pointer(), 0)
		case 4:
			r.open(unix.SYS_FSMOUNT, fd(), 0, 0)
		}
	case 9: // netlink: queries, and bytes that are no messages
		switch r.IntN(3) {
		case 0:
			r.open(unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_NONBLOCK, 0)
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

// waits makes a poll(2), select(2) or pselect6(2) that does not wait long, with sets or an array of
// random descriptors.
func (r *randomCalls) waits(attr []byte) {
	const setSize = 128 // FD_SETSIZE, in bytes
	sets := attr[256:][:3*setSize]
	clear(sets)
	for range r.IntN(12) {
		fd := int(r.FD()) & 127
		sets[r.IntN(3)*setSize+fd/8] |= 1 << (fd % 8)
	}
	set := func(i uint64) uint64 {
		switch r.IntN(8) {
		case 0:
			return 0
		case 1:
			return r.Pointer()
		}
		return r.attr + 256 + setSize*i
	}
	n := uint64(r.IntN(lastFD + 40))
	if r.IntN(16) == 0 {
		n = uint64(r.Number())
	}
	limit, poll, sel := r.limit(attr), sysPoll, sysSelect // negative where an architecture has none
	switch kind := r.IntN(4); {
	case kind == 0 && sel >= 0:
		_, _ = r.call(uintptr(sel), n, set(0), set(1), set(2), limit)
	case kind <= 1:
		mask := uint64(0) // of signals: none, or the address of a mask and its size
		if r.IntN(4) == 0 {
			mask = r.Pointer()
		}
		_, _ = r.call(unix.SYS_PSELECT6, n, set(0), set(1), set(2), limit, mask)
	default:
		for i := range 8 {
			le.PutUint32(attr[256+8*i:], r.FD())
			le.PutUint32(attr[260+8*i:], r.Number())
		}
		at := r.attr + 256
		if r.IntN(8) == 0 {
			at = r.Pointer()
		}
		if kind == 2 || poll < 0 {
			_, _ = r.call(unix.SYS_PPOLL, at, uint64(r.IntN(9)), limit, 0, 8)
		} else {
			_, _ = r.call(uintptr(poll), at, uint64(r.IntN(9)), uint64(r.IntN(2)))
		}
	}
}

// limit returns the address of a timeout of at most some microseconds, or of one that is none.
func (r *randomCalls) limit(attr []byte) uint64 {
	at := r.zeroes(attr)
	t := attr[2048:]
	switch r.IntN(8) {
	case 0:
		le.PutUint64(t[8:], uint64(r.IntN(50)))
	case 1: // cannot be
		le.PutUint64(t, ^uint64(0))
	case 2:
		le.PutUint64(t[8:], ^uint64(r.IntN(2)))
	}
	return at
}

// reads reads a random descriptor in every way, into buffers of which some cannot be; most often a
// perf event, because reads of others are the host's.
func (r *randomCalls) reads(attr []byte) {
	fd := uint64(r.FD())
	if r.IntN(4) > 0 { // a perf event, whose counts are as long as its read_format says
		clear(attr[:128])
		for i, v := range []uint32{1, 128, uint32(r.IntN(12)), 0, 0, 0, 0, 0, uint32(r.IntN(32)), 0} {
			le.PutUint32(attr[4*i:], v)
		}
		group := ^uint64(0)
		if r.IntN(2) == 0 {
			group = uint64(r.FD())
		}
		got, e := r.call(unix.SYS_PERF_EVENT_OPEN, r.attr, uint64(r.IntN(2))-1, uint64(r.IntN(2)), group, 8)
		if e != 0 || got < firstFD || got > lastFD {
			return
		}
		fd = got
		r.opened[fd].Store(true)
	}
	buffers := attr[256:]
	n := uint64(r.IntN(6))
	for i := range 8 {
		at, size := r.Pointer(), uint64(8*r.IntN(9))
		if r.IntN(12) == 0 {
			size = uint64(r.Number())
		}
		if r.IntN(24) == 0 {
			size = ^uint64(0) << r.IntN(64)
		}
		le.PutUint64(buffers[16*i:], at)
		le.PutUint64(buffers[16*i+8:], size)
	}
	if r.IntN(16) == 0 {
		n = uint64(r.Number()) | uint64(r.IntN(2))<<32
	}
	vec := r.attr + 256
	if r.IntN(16) == 0 {
		vec = r.Pointer()
	}
	pos := [...]uint64{0, 8, ^uint64(0), ^uint64(0), 1 << 63}[r.IntN(5)]
	switch r.IntN(5) {
	case 0:
		_, _ = r.call(unix.SYS_READ, fd, r.Pointer(), uint64(8*r.IntN(66)))
	case 1:
		_, _ = r.call(unix.SYS_PREAD64, fd, r.Pointer(), uint64(8*r.IntN(66)), pos)
	case 2:
		_, _ = r.call(unix.SYS_READV, fd, vec, n)
	case 3:
		_, _ = r.call(unix.SYS_PREADV, fd, vec, n, pos, 0)
	case 4:
		_, _ = r.call(unix.SYS_PREADV2, fd, vec, n, pos, 0, uint64(r.IntN(3)*r.IntN(300)))
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

// Random calls of a hostile tool end neither its session nor the supervisor, and leave neither
// descriptors nor memory behind.
func TestRandomCallsOfATool(t *testing.T) {
	n := testsize.Pick(500_000, 5_000, 2_000)
	if *calls > 0 {
		n = *calls
	}
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
	sessions := 0
	for left := n; left > 0 && !t.Failed(); sessions++ {
		size, seed := min(left, maxCalls), *seed+uint64(sessions)
		t.Setenv("CALLS", strconv.Itoa(size))
		t.Setenv("SEED", strconv.FormatUint(seed, 10))
		r := start(t, "random", "")
		assert.Zero(t, r.code, "seed %d: %s%s", seed, r.out, r.notes)
		assert.Equal(t, "done\n", r.out, "seed %d", seed)
		assert.NotContains(t, r.notes, "internal error", "seed %d", seed)
		assert.Equal(t, files, descriptors(t), "seed %d", seed)
		left -= size
	}
	close(done)
	p := <-most
	assert.Less(t, p.files, 2000)
	assert.Less(t, p.heap, before+1536<<20, "1 GiB of arrays that are mapped, and a call's")
	assert.Less(t, heap(), before+64<<20)
	var use unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &use)
	t.Logf("%d calls in %d sessions from seed %d on; heap %d MiB before, %d at most, %d after; at most %d MiB resident; at most %d descriptors of the session",
		n, sessions, *seed, before>>20, p.heap>>20, heap()>>20, use.Maxrss>>10, p.files)
}
