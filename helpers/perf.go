package helpers

import (
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var perfHelpers = []row{
	{ID: uapi.FuncPerfEventOutput, Do: onPerf(perfEventOutput)},
	{ID: uapi.FuncPerfEventRead, Do: onPerf(perfEventRead), Note: "counters come from the seed; under `bpfrun exec`, from the perf event in the map"},
	{ID: uapi.FuncPerfEventReadValue, Do: onPerf(perfEventReadValue), Note: "counters come from the seed; under `bpfrun exec`, from the perf event in the map"},
	{ID: uapi.FuncPerfProgReadValue, Do: perfProgReadValue, Note: "counters come from the seed"},
	{ID: uapi.FuncGetStackid, Do: getStackID, Note: "one synthetic stack for kernel and one for user mode"},
	{ID: uapi.FuncGetStack, Do: getStack, Note: "one synthetic stack for kernel and one for user mode"},
	{ID: uapi.FuncGetTaskStack, Do: getTaskStack, Note: "one synthetic stack for kernel and one for user mode"},
}

// Flags of the perf event and stack helpers (include/uapi/linux/bpf.h).
const (
	indexMask     = 0xffffffff
	currentCPU    = 0xffffffff
	ctxLenMask    = 0xfffff << 32
	skipFieldMask = 0xff
	userStack     = 1 << 8
	fastStackCmp  = 1 << 9
	reuseStackID  = 1 << 10
	userBuildID   = 1 << 11
)

// perfEventOutput sends one sample to the ring of a CPU (bpf_perf_event_output and
// __bpf_perf_event_output): only the current CPU's ring can be written. Packet programs may
// append bytes of the packet by the upper half of the flags.
func perfEventOutput(c *Call, arr maps.PerfArray) (uint64, *vm.Action) {
	flags := c.Args[2]
	appended := flags & ctxLenMask >> 32
	packet := c.Run.Packet != nil
	if flags&^uint64(indexMask|ctxLenMask) != 0 || appended != 0 && !packet {
		return errnoRet(uapi.EINVAL), nil
	}
	data := c.In(3)
	if appended > 0 {
		pkt := c.Run.Packet()
		if appended > uint64(len(pkt)) {
			return errnoRet(uapi.EFAULT), nil
		}
		data = append(append([]byte(nil), data...), pkt[:appended]...)
	}
	return errnoRet(arr.Output(c.Thread.CPU, flags&indexMask, data)), nil
}

// counter returns what the perf event in an array's slot has counted (get_map_perf_counter). Where
// no user space opens events, the value is that of a simulated hardware counter.
func (c *Call) counter(arr maps.PerfArray, flags uint64) (maps.PerfCount, uapi.Errno) {
	if flags&^uint64(indexMask) != 0 {
		return maps.PerfCount{}, uapi.EINVAL
	}
	i := flags & indexMask
	if i == currentCPU {
		i = uint64(c.Thread.CPU)
	}
	v, known, errno := arr.Count(uint32(i), c.Thread.CPU)
	if known {
		return v, errno
	}
	return c.simulated(arr.Spec().Name, int(i)), 0
}

// simulated returns the value of a simulated hardware counter, which was always running.
func (c *Call) simulated(name string, index int) maps.PerfCount {
	now := c.Kernel.Clock().Mono()
	return maps.PerfCount{Value: c.Kernel.Counter(name, index), Enabled: now, Running: now}
}

func perfEventRead(c *Call, arr maps.PerfArray) (uint64, *vm.Action) {
	v, errno := c.counter(arr, c.Args[1])
	if errno != 0 {
		return errnoRet(errno), nil
	}
	return v.Value, nil
}

// sizeofPerfValue is sizeof(struct bpf_perf_event_value): counter, enabled, running.
const sizeofPerfValue = 24

func perfEventReadValue(c *Call, arr maps.PerfArray) (uint64, *vm.Action) {
	size := c.Args[3] & 0xffffffff
	if size != sizeofPerfValue {
		return c.zeroed(2, uapi.EINVAL)
	}
	v, errno := c.counter(arr, c.Args[1])
	return c.perfResult(2, v, errno)
}

func perfProgReadValue(c *Call) (uint64, *vm.Action) {
	size := c.Args[2] & 0xffffffff
	if size != sizeofPerfValue {
		return c.zeroed(1, uapi.EINVAL)
	}
	return c.perfResult(1, c.simulated("perf_event", 0), 0)
}

// perfResult writes the value, or zeroes the destination on an error as the kernel does.
func (c *Call) perfResult(i int, v maps.PerfCount, errno uapi.Errno) (uint64, *vm.Action) {
	if errno != 0 {
		return c.zeroed(i, errno)
	}
	b := make([]byte, sizeofPerfValue)
	for at, word := range []uint64{v.Value, v.Enabled, v.Running} {
		c.guest.Order().PutUint64(b[8*at:], word)
	}
	return 0, c.guest.Write(c.Args[i], b)
}

func getStackID(c *Call) (uint64, *vm.Action) {
	m := c.ref.m
	st, ok := m.(maps.StackTrace)
	if !ok {
		return 0, wrongMap(m)
	}
	flags := c.Args[2]
	if flags&^uint64(skipFieldMask|userStack|fastStackCmp|reuseStackID) != 0 {
		return errnoRet(uapi.EINVAL), nil
	}
	// The map skips the frames that flags tells it to.
	return uint64(st.StackID(c.Kernel.Stack(flags&userStack != 0), flags)), nil
}

func skip(ips []uint64, n uint64) []uint64 { return ips[min(n, uint64(len(ips))):] }

func getStack(c *Call) (uint64, *vm.Action) {
	return c.stackInto(1, c.Args[3])
}

func getTaskStack(c *Call) (uint64, *vm.Action) {
	return c.stackInto(1, c.Args[3])
}

// stackInto is __bpf_get_stack: it writes the instruction pointers and zeroes the rest of
// the buffer, and returns the number of bytes written.
func (c *Call) stackInto(i int, flags uint64) (uint64, *vm.Action) {
	buf := c.Out(i)
	clear(buf)
	if flags&^uint64(skipFieldMask|userStack|userBuildID) != 0 || len(buf)%8 != 0 || flags&userBuildID != 0 && flags&userStack == 0 {
		return errnoRet(uapi.EINVAL), c.guest.Write(c.Args[i], buf)
	}
	if flags&userBuildID != 0 {
		return 0, notSimulated("bpf_get_stack with BPF_F_USER_BUILD_ID")
	}
	n := 0
	for _, ip := range skip(c.Kernel.Stack(flags&userStack != 0), flags&skipFieldMask) {
		if n+8 > len(buf) {
			break
		}
		c.guest.Order().PutUint64(buf[n:], ip)
		n += 8
	}
	return uint64(n), c.guest.Write(c.Args[i], buf)
}
