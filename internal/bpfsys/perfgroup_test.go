//go:build linux && (amd64 || arm64)

package bpfsys_test

import (
	"os"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// perfKernel makes the calls of a test, in the simulation or at the host.
type perfKernel struct {
	open  func(a []byte, cpu, group int32, flags uint64) (int64, uapi.Errno)
	ioctl func(fd int64, req uapi.PerfIoctl, arg uint64) uapi.Errno
	mmap  func(fd int64) uapi.Errno
	close func(fd int64)
}

// perfAttr is a struct perf_event_attr of a clock that runs at its programs' pace.
func perfAttr(bits uint64) []byte {
	a := make([]byte, 136)
	le.PutUint32(a, uint32(uapi.PerfTypeSoftware))
	le.PutUint32(a[4:], 136)
	le.PutUint64(a[8:], uint64(uapi.PerfSoftwareBpfOutput))
	le.PutUint64(a[16:], 1)
	le.PutUint64(a[40:], bits)
	return a
}

// groupSequence opens events of groups, right and wrong, and redirects their records.
func groupSequence(t *testing.T, k perfKernel) []string {
	var out []string
	step := func(name string, e uapi.Errno) {
		text := "ok"
		if e != 0 {
			text = e.Name()
		}
		out = append(out, name+": "+text)
	}
	const disabled, pinned, exclusive, backward = 1, 4, 8, 1 << 27
	open := func(name string, bits uint64, cpu, group int32, flags uint64) int64 {
		fd, e := k.open(perfAttr(bits), cpu, group, flags)
		step(name, e)
		return fd
	}
	leader := open("leader", disabled, 0, -1, 0)
	require.Positive(t, leader, "%v", out)
	member := open("member", disabled, 0, int32(leader), 0)
	open("member of a member", disabled, 0, int32(member), 0)
	open("member on another CPU", disabled, 1, int32(leader), 0)
	open("pinned member", disabled|pinned, 0, int32(leader), 0)
	open("exclusive member", disabled|exclusive, 0, int32(leader), 0)
	open("group of a closed descriptor", disabled, 0, 900, 0)
	open("group of a descriptor of no event", disabled, 0, 0, 0)
	alone := open("no group", disabled, 0, int32(leader), 1)
	open("unknown flags", disabled, 0, -1, 16)
	open("cgroup of no CPU", disabled, -1, -1, 4)
	step("enable the group", k.ioctl(member, uapi.PerfIoctlEnable, 1))
	step("disable one", k.ioctl(leader, uapi.PerfIoctlDisable, 0))
	step("reset the group", k.ioctl(leader, uapi.PerfIoctlReset, 1))
	step("period of 0", k.ioctl(leader, uapi.PerfIoctlPeriod, 0))
	step("unknown request", k.ioctl(leader, 77, 0))
	step("pause without a buffer", k.ioctl(alone, uapi.PerfIoctlPauseOutput, 1))
	step("into an event without a buffer", k.ioctl(alone, uapi.PerfIoctlSetOutput, uint64(leader)))
	step("map the leader", k.mmap(leader))
	step("into the leader's buffer", k.ioctl(alone, uapi.PerfIoctlSetOutput, uint64(leader)))
	step("into its own", k.ioctl(leader, uapi.PerfIoctlSetOutput, uint64(leader)))
	step("into a descriptor of no event", k.ioctl(alone, uapi.PerfIoctlSetOutput, 0))
	step("into a closed descriptor", k.ioctl(alone, uapi.PerfIoctlSetOutput, 900))
	back := open("written backwards", disabled|backward, 0, -1, 0)
	step("forwards into backwards", k.ioctl(back, uapi.PerfIoctlSetOutput, uint64(leader)))
	step("into descriptor -1 of 32 bits", k.ioctl(alone, uapi.PerfIoctlSetOutput, 0xffffffff))
	step("into nothing", k.ioctl(alone, uapi.PerfIoctlSetOutput, ^uint64(0)))
	step("pause", k.ioctl(leader, uapi.PerfIoctlPauseOutput, 1))
	open("opened with output", disabled, 0, int32(leader), 2|1)
	open("opened with output to one without", disabled, 0, int32(member), 2|1)
	k.close(leader)
	step("enable a member without its leader", k.ioctl(member, uapi.PerfIoctlEnable, 1))
	return out
}

// TestGroupsOfPerfEvents compares with the host where it opens such events. No program is attached
// there.
func TestGroupsOfPerfEvents(t *testing.T) {
	c := newCaller(t, newestKernel(t))
	c.files[0] = bpfsys.File{Kind: bpfsys.OtherFile}
	ours := groupSequence(t, perfKernel{
		open: func(a []byte, cpu, group int32, flags uint64) (int64, uapi.Errno) {
			pid := int32(-1)
			r := c.s.PerfEventOpen(c, c.put(a), pid, cpu, group, flags)
			if r.File != nil {
				c.files[c.next] = *r.File
				r.Val = int64(c.next)
				c.next++
			}
			return r.Val, r.Errno
		},
		ioctl: func(fd int64, req uapi.PerfIoctl, arg uint64) uapi.Errno {
			if req == uapi.PerfIoctlPeriod {
				arg = c.put(make([]byte, 8))
			}
			return c.s.PerfIoctl(c, c.files[int32(fd)].Object.(*bpfsys.PerfEvent), 0x2400|uint32(req), arg).Errno
		},
		mmap: func(fd int64) uapi.Errno {
			return c.s.MapRange(c.files[int32(fd)].Object, bpfsys.ReadWrite, 0, 2*uapi.PageSize, true, true)
		},
		close: c.close,
	})
	assert.Equal(t, []string{
		"leader: ok", "member: ok", "member of a member: EINVAL", "member on another CPU: EINVAL", "pinned member: EINVAL", "exclusive member: EINVAL",
		"group of a closed descriptor: EBADF", "group of a descriptor of no event: EBADF", "no group: ok", "unknown flags: EINVAL", "cgroup of no CPU: EINVAL", "enable the group: ok",
		"disable one: ok", "reset the group: ok", "period of 0: EINVAL", "unknown request: ENOTTY", "pause without a buffer: EINVAL",
		"into an event without a buffer: EINVAL", "map the leader: ok", "into the leader's buffer: ok", "into its own: EINVAL",
		"into a descriptor of no event: EBADF", "into a closed descriptor: EBADF", "written backwards: ok", "forwards into backwards: EINVAL",
		"into descriptor -1 of 32 bits: EBADF", "into nothing: ok", "pause: ok", "opened with output: ok", "opened with output to one without: EINVAL", "enable a member without its leader: ok",
	}, ours)
	if os.Getuid() != 0 {
		return
	}
	fd, e := openPerf(perfAttr(1), 0, -1, 0)
	if e != 0 {
		return // an emulator, or the host has no perf events
	}
	unix.Close(int(fd))
	assert.Equal(t, groupSequence(t, perfKernel{
		open: openPerf,
		ioctl: func(fd int64, req uapi.PerfIoctl, arg uint64) uapi.Errno {
			number := uintptr(0x2400 | uint32(req))
			var zero uint64
			at := uintptr(arg)
			switch req {
			case uapi.PerfIoctlPeriod:
				number, at = number|1<<30|8<<16, uintptr(unsafe.Pointer(&zero))
			case uapi.PerfIoctlPauseOutput:
				number |= 1<<30 | 4<<16
			}
			_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), number, at)
			return uapi.Errno(e)
		},
		mmap: func(fd int64) uapi.Errno {
			_, err := unix.Mmap(int(fd), 0, 2*uapi.PageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
			if e, ok := err.(unix.Errno); ok {
				return uapi.Errno(e)
			}
			return 0
		},
		close: func(fd int64) { unix.Close(int(fd)) },
	}), ours)
}

func openPerf(a []byte, cpu, group int32, flags uint64) (int64, uapi.Errno) {
	fd, _, e := unix.Syscall6(unix.SYS_PERF_EVENT_OPEN, uintptr(unsafe.Pointer(&a[0])), ^uintptr(0), uintptr(uint32(cpu)), uintptr(uint32(group)), uintptr(flags), 0)
	return int64(fd), uapi.Errno(e)
}
