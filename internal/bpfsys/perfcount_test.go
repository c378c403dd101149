//go:build linux && (amd64 || arm64)

package bpfsys_test

import (
	"math"
	"os"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// countAttr is a struct perf_event_attr of an event that counts.
func countAttr(typ uapi.PerfType, config, format uint64) []byte {
	a := make([]byte, 136)
	le.PutUint32(a, uint32(typ))
	le.PutUint32(a[4:], 136)
	le.PutUint64(a[8:], config)
	le.PutUint64(a[32:], format)
	return a
}

func (k *caller) counter(t *testing.T, a []byte, pid, cpu int32) (int64, *bpfsys.PerfEvent) {
	t.Helper()
	r := k.s.PerfEventOpen(k, k.put(a), pid, cpu, -1, 0)
	require.Zero(t, r.Errno)
	k.files[k.next] = *r.File
	k.next++
	return int64(k.next - 1), r.File.Object.(*bpfsys.PerfEvent)
}

// words reads an event's count.
func (k *caller) words(t *testing.T, e *bpfsys.PerfEvent) []uint64 {
	t.Helper()
	at := k.room(128)
	r := k.s.PerfRead(k, e, at, 128)
	require.Zero(t, r.Errno)
	var out []uint64
	for i := range r.Val / 8 {
		out = append(out, le.Uint64(k.at(at+uint64(8*i), 8)))
	}
	return out
}

// TestLayoutsOfPerfCounts reads a leader and its member in every format and in buffers that are too
// small, here and, as root, at the host.
func TestLayoutsOfPerfCounts(t *testing.T) {
	type outcome struct {
		format uint64
		room   int
		n      int64
		e      uapi.Errno
		ids    [2]int // places of the ids of leader and member, -1 for none
	}
	const dummy = 9
	layouts := func(open func(a []byte, group int32) (int64, uapi.Errno), read func(fd int64, room int) ([]byte, uapi.Errno), id func(fd int64) uint64, end func(fd int64)) (out []outcome) {
		for format := range uint64(33) {
			leader, e := open(countAttr(uapi.PerfType(1), dummy, format), -1)
			if e != 0 {
				out = append(out, outcome{format: format, e: e})
				continue
			}
			member, e := open(countAttr(uapi.PerfType(1), dummy, format), int32(leader))
			require.Zero(t, e)
			for _, fd := range []int64{leader, member} {
				for _, room := range []int{0, 8, 16, 24, 32, 40, 64, 72, 128} {
					b, e := read(fd, room)
					o := outcome{format, room, int64(len(b)), e, [2]int{-1, -1}}
					for i := 0; i < len(b) && format&4 != 0; i += 8 {
						switch le.Uint64(b[i:]) {
						case id(leader):
							o.ids[0] = i
						case id(member):
							o.ids[1] = i
						}
					}
					if format&8 != 0 && e == 0 {
						assert.Equal(t, uint64(2), le.Uint64(b), "events of the group")
					}
					out = append(out, o)
				}
			}
			end(leader)
			end(member)
		}
		return out
	}
	k := newCaller(t, newestKernel(t))
	event := func(fd int64) *bpfsys.PerfEvent { return k.files[int32(fd)].Object.(*bpfsys.PerfEvent) }
	k.next = 1000 // ids are not counts
	for range 1000 {
		_, e := k.counter(t, countAttr(1, dummy, 0), 0, -1)
		k.s.Release(e)
	}
	ours := layouts(func(a []byte, group int32) (int64, uapi.Errno) {
		r := k.s.PerfEventOpen(k, k.put(a), 0, -1, group, 0)
		if r.File != nil {
			k.files[k.next] = *r.File
			k.next++
		}
		return int64(k.next - 1), r.Errno
	}, func(fd int64, room int) ([]byte, uapi.Errno) {
		k.used = 0
		at := k.room(128)
		r := k.s.PerfRead(k, event(fd), at, uint64(room))
		return k.at(at, int(r.Val)), r.Errno
	}, func(fd int64) uint64 { return uint64(event(fd).ID()) }, k.close)
	assert.Contains(t, ours, outcome{format: 31, room: 72, n: 72, ids: [2]int{32, 56}}, "number, times, then value, id and lost records of each")
	assert.Contains(t, ours, outcome{format: 31, room: 64, e: uapi.ENOSPC, ids: [2]int{-1, -1}})
	assert.Contains(t, ours, outcome{format: 32, e: uapi.EINVAL})
	if os.Getuid() != 0 {
		return
	}
	runtime.LockOSThread() // the events of a group are one thread's
	defer runtime.UnlockOSThread()
	hostOpen := func(a []byte, group int32) (int64, uapi.Errno) {
		fd, _, e := unix.Syscall6(unix.SYS_PERF_EVENT_OPEN, uintptr(unsafe.Pointer(&a[0])), 0, ^uintptr(0), uintptr(uint32(group)), 0, 0)
		return int64(fd), uapi.Errno(e)
	}
	fd, e := hostOpen(countAttr(1, dummy, 31), -1)
	if e != 0 {
		return // an emulator, no perf events, or a host before 6.0
	}
	unix.Close(int(fd))
	assert.Equal(t, layouts(hostOpen, func(fd int64, room int) ([]byte, uapi.Errno) {
		b := make([]byte, 128)
		n, err := unix.Read(int(fd), b[:room:128])
		e, _ := err.(unix.Errno)
		return b[:max(n, 0)], uapi.Errno(e)
	}, func(fd int64) (id uint64) {
		_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(fd), 0x80082407, uintptr(unsafe.Pointer(&id)))
		return id
	}, func(fd int64) { unix.Close(int(fd)) }), ours)
}

// TestLostIsOfLaterReleases: PERF_FORMAT_LOST is Linux 6.0's.
func TestLostIsOfLaterReleases(t *testing.T) {
	for version, want := range map[uint32]uapi.Errno{uapi.VersionCode(5, 19): uapi.EINVAL, uapi.VersionCode(6, 0): 0} {
		target := loader.NewTarget("kernel", newestKernel(t))
		target.Version = version
		k := newTaskOn(t, target)
		assert.Equal(t, want, k.s.PerfEventOpen(k, k.put(countAttr(1, 0, 16)), 0, -1, -1, 0).Errno, "%x", version)
		assert.Zero(t, k.s.PerfEventOpen(k, k.put(countAttr(1, 0, 15)), 0, -1, -1, 0).Errno, "%x", version)
	}
}

// TestTimeDoesNotRunBackwards: the kernel's clocks end, however much time events let pass.
func TestTimeDoesNotRunBackwards(t *testing.T) {
	k := newCaller(t, newestKernel(t))
	before := k.s.Machine().Kernel().Clock().Mono()
	for range 3 {
		assert.ErrorContains(t, k.s.Pass(math.MaxInt64), "the kernel's clocks end before that")
	}
	year := 8760 * time.Hour
	passed := 0
	for k.s.Pass(year) == nil {
		passed++
		require.Less(t, passed, 300)
	}
	assert.Greater(t, passed, 200)
	assert.Equal(t, before+uint64(passed)*uint64(year), k.s.Machine().Kernel().Clock().Mono())
}

func TestPerfEventsCountWhatTheyAreAbout(t *testing.T) {
	k := newCaller(t, newestKernel(t))
	format := uint64(3)
	_, clock := k.counter(t, countAttr(1, 0, format), 0, -1)
	_, switches := k.counter(t, countAttr(1, 3, 0), -1, 1)
	_, mine := k.counter(t, countAttr(1, 3, 0), 0, -1)
	_, faults := k.counter(t, countAttr(1, 2, 0), 0, -1)
	_, cycles := k.counter(t, countAttr(0, 0, 0), 0, -1)
	require.NoError(t, k.s.Pass(5*time.Millisecond))
	assert.Equal(t, []uint64{5e6, 5e6, 5e6}, k.words(t, clock))
	assert.Equal(t, []uint64{5e6}, k.words(t, cycles))
	ioctl := func(e *bpfsys.PerfEvent, req uapi.PerfIoctl) {
		require.Zero(t, k.s.PerfIoctl(k, e, 0x2400|uint32(req), 0).Errno)
	}
	ioctl(clock, uapi.PerfIoctlReset)
	ioctl(clock, uapi.PerfIoctlDisable)
	require.NoError(t, k.s.Pass(time.Millisecond))
	assert.Equal(t, []uint64{0, 5e6, 5e6}, k.words(t, clock), "a reset leaves the times")
	ioctl(clock, uapi.PerfIoctlEnable)
	require.NoError(t, k.s.Pass(time.Millisecond))
	assert.Equal(t, []uint64{1e6, 6e6, 6e6}, k.words(t, clock))

	fire := func(cpu int, pid int64) {
		_, err := k.s.Fire(bpfsys.Event{Hook: "sched_switch", CPU: cpu, Task: map[string]any{"pid": pid}})
		require.NoError(t, err)
	}
	fire(1, 7)
	fire(1, 1)
	fire(0, 1)
	assert.Equal(t, []uint64{2}, k.words(t, switches), "of its CPU")
	assert.Equal(t, []uint64{2}, k.words(t, mine), "of its thread")
	assert.Equal(t, []uint64{0}, k.words(t, faults))
	ioctl(switches, uapi.PerfIoctlDisable)
	ioctl(mine, uapi.PerfIoctlDisable)
	_, err := k.s.Fire(bpfsys.Event{Hook: "sched_switch", CPU: 1})
	assert.ErrorIs(t, err, bpfsys.ErrNoHook)
}

// readsCounter returns a program that reads the event in slot 0 of a perf event array and returns
// the helper's result.
func readsCounter(array int) []decode.Insn {
	return []decode.Insn{
		{Code: 0x18, Dst: 1, Src: 1, Imm: int32(array)}, {},
		{Code: 0xb7, Dst: 2, Imm: 0},
		{Code: 0xbf, Dst: 3, Src: 10}, {Code: 0x07, Dst: 3, Imm: -24},
		{Code: 0xb7, Dst: 4, Imm: 24},
		{Code: 0x85, Imm: int32(uapi.FuncPerfEventReadValue)},
		{Code: 0x95},
	}
}

// TestArraysKeepEventsOnlyWhenAsked: events leave a perf event array with its last descriptor,
// unless BPF_F_PRESERVE_ELEMS is set.
func TestArraysKeepEventsOnlyWhenAsked(t *testing.T) {
	for name, c := range map[string]struct {
		flags int
		after uapi.Errno
	}{"dropped": {0, uapi.ENOENT}, "kept": {uapi.MapPreserveElems, 0}} {
		t.Run(name, func(t *testing.T) {
			k := newCaller(t, newestKernel(t))
			array := k.must(k.createMap(uapi.MapTypePerfEventArray, 4, 4, 2, c.flags))
			event, _ := k.counter(t, countAttr(1, 0, 0), 0, -1)
			zero := k.put(make([]byte, 8))
			require.Zero(t, k.elem(uapi.CmdMapUpdateElem, int64(array), zero, k.put(le.AppendUint32(nil, uint32(event))), 0))
			k.close(event)
			prog, e := k.load(uapi.ProgTypeRawTracepoint, readsCounter(array))
			require.Zero(t, e)
			run := func() int32 {
				_, e, a := k.call(testRun, field{0, int(prog)}, field{4, 0}, field{64, uint64(0)})
				require.Zero(t, e)
				return int32(le.Uint32(a[4:]))
			}
			assert.Zero(t, run())
			k.close(int64(array))
			assert.Equal(t, -int32(c.after), run())
		})
	}
}

// TestCountsFollowTheHostsClock: without events, time passes between the enabling of an event and
// its reading.
func TestCountsFollowTheHostsClock(t *testing.T) {
	spec, err := embedded.Spec()
	require.NoError(t, err)
	now := uint64(1e9)
	s, err := bpfsys.New(bpfsys.Config{Target: loader.NewTarget(embedded.Name, spec), Clock: func() bpfsys.Times { return bpfsys.Times{Boot: now, Mono: now, Real: now} }})
	require.NoError(t, err)
	defer s.Close()
	c := &task{s: s, base: base, mem: make([]byte, 256)}
	copy(c.mem, countAttr(uapi.PerfTypeSoftware, 0, 1)) // the CPU's clock, and PERF_FORMAT_TOTAL_TIME_ENABLED
	r := s.PerfEventOpen(c, base, -1, 0, -1, 0)
	require.Zero(t, r.Errno)
	now += 5e6
	require.Zero(t, s.PerfRead(c, r.File.Object.(*bpfsys.PerfEvent), base+200, 56).Errno)
	assert.EqualValues(t, 5e6, le.Uint64(c.mem[200:]), "cpu-clock")
	assert.EqualValues(t, 5e6, le.Uint64(c.mem[208:]), "time enabled")
}
