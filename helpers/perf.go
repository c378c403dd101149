package helpers

import (
	"github.com/bpfrun/bpfrun/maps"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var perfHelpers = []row{
	{ID: uapi.FuncPerfEventOutput, Do: onPerf(perfEventOutput)},
	{ID: uapi.FuncPerfEventRead, Do: perfEventRead, Note: "counters come from the seed"},
	{ID: uapi.FuncPerfEventReadValue, Do: perfEventReadValue, Note: "counters come from the seed"},
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

// counter returns the value of the simulated hardware counter behind a perf event array slot.
func (at *finder) counter(m maps.Map, flags uint64, cpu int) (uint64, uapi.Errno) {
	if flags&^uint64(indexMask) != 0 {
		return 0, uapi.EINVAL
	}
	i := flags & indexMask
	if i == currentCPU {
		i = uint64(cpu)
	}
	if i >= uint64(m.Spec().MaxEntries) {
		return 0, uapi.E2BIG
	}
	return at.kernel.Counter(m.Spec().Name, int(i)), 0
}

func perfEventRead(c *Call) (uint64, *vm.Action) {
	m := c.ref.m
	v, errno := c.counter(m, c.Args[1], c.Thread.CPU)
	if errno != 0 {
		return errnoRet(errno), nil
	}
	return v, nil
}

// sizeofPerfValue is sizeof(struct bpf_perf_event_value): counter, enabled, running.
const sizeofPerfValue = 24

func (c *Call) perfValue(v uint64) []byte {
	b := make([]byte, sizeofPerfValue)
	now := c.Kernel.Clock().Mono()
	c.guest.Order().PutUint64(b, v)
	c.guest.Order().PutUint64(b[8:], now)
	c.guest.Order().PutUint64(b[16:], now)
	return b
}

func perfEventReadValue(c *Call) (uint64, *vm.Action) {
	m := c.ref.m
	size := c.Args[3] & 0xffffffff
	errno := uapi.EINVAL
	var v uint64
	if size == sizeofPerfValue {
		v, errno = c.counter(m, c.Args[1], c.Thread.CPU)
	}
	return c.perfResult(2, v, errno)
}

func perfProgReadValue(c *Call) (uint64, *vm.Action) {
	size := c.Args[2] & 0xffffffff
	if size != sizeofPerfValue {
		return c.zeroed(1, uapi.EINVAL)
	}
	return c.perfResult(1, c.Kernel.Counter("perf_event", 0), 0)
}

// perfResult writes the value, or zeroes the destination on an error as the kernel does.
func (c *Call) perfResult(i int, v uint64, errno uapi.Errno) (uint64, *vm.Action) {
	if errno != 0 {
		return c.zeroed(i, errno)
	}
	return 0, c.guest.Write(c.Args[i], c.perfValue(v))
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
