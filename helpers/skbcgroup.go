package helpers

import (
	"fmt"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// The cgroups of a packet are those of its socket, which belongs to the current task, because
// BPF_PROG_TEST_RUN creates it there.
var skbCgroupHelpers = []row{
	{ID: uapi.FuncSkbCgroupId, Do: onPacket(skbCgroupID), Note: "of the current task"},
	{ID: uapi.FuncSkbAncestorCgroupId, Do: onPacket(skbAncestorCgroupID), Note: "of the current task"},
	{ID: uapi.FuncSkCgroupId, Do: onSocket(skCgroupID), Note: "of the current task"},
	{ID: uapi.FuncSkAncestorCgroupId, Do: onSocket(skAncestorCgroupID), Note: "of the current task"},
	{ID: uapi.FuncSkbUnderCgroup, Do: onPacket(skbUnderCgroup), Note: "of the current task"},
	{ID: uapi.FuncSkbCgroupClassid, Do: zero, Note: "no net_cls cgroup: 0"},
	{ID: uapi.FuncSkbGetXfrmState, Do: onPacket(skbGetXfrmState), Note: "packets came without IPsec: -EINVAL"},
	{ID: uapi.FuncRcRepeat, Do: rcEvent(RCRepeat), Note: "recorded as an event"},
	{ID: uapi.FuncRcKeydown, Do: rcEvent(RCKeydown), Note: "recorded as an event"},
	{ID: uapi.FuncRcPointerRel, Do: rcEvent(RCPointer), Note: "recorded as an event"},
}

func skbCgroupID(c *Call, _ *hook.Context) (uint64, *vm.Action) {
	return c.Kernel.CgroupID(), nil
}

func skbAncestorCgroupID(c *Call, _ *hook.Context) (uint64, *vm.Action) {
	return c.Kernel.AncestorCgroupID(int(int32(uint32(c.Args[1])))), nil
}

// skCgroupID returns 0 for sockets that are not full sockets.
func skCgroupID(c *Call, s *net.Socket) (uint64, *vm.Action) {
	if !s.Full() {
		return 0, nil
	}
	return c.Kernel.CgroupID(), nil
}

func skAncestorCgroupID(c *Call, s *net.Socket) (uint64, *vm.Action) {
	if !s.Full() {
		return 0, nil
	}
	return c.Kernel.AncestorCgroupID(int(int32(uint32(c.Args[1])))), nil
}

func skbUnderCgroup(c *Call, _ *hook.Context) (uint64, *vm.Action) {
	return c.underCgroup(c.Args[2])
}

func skbGetXfrmState(c *Call, _ *hook.Context) (uint64, *vm.Action) {
	return c.zeroed(2, uapi.EINVAL)
}

// rcEvent records what a decoder for remote controls reports.
func rcEvent(kind EventKind) Impl {
	return func(c *Call) (uint64, *vm.Action) {
		ev := Event{Kind: kind}
		switch kind {
		case RCKeydown:
			ev.Number = c.Args[2]
			ev.Detail = fmt.Sprintf("protocol %d, toggle %d", uint32(c.Args[1]), uint32(c.Args[3]))
		case RCPointer:
			ev.Detail = fmt.Sprintf("%d, %d", int32(uint32(c.Args[1])), int32(uint32(c.Args[2])))
		}
		return 0, c.Run.emit(ev)
	}
}

// Tracing programs append bytes of packets in their arguments.
var packetOutputHelpers = []row{
	{ID: uapi.FuncSkbOutput, Do: packetOutput("bpf_skb_output", skbBytes)},
	{ID: uapi.FuncXDPOutput, Do: packetOutput("bpf_xdp_output", xdpBytes)},
}

// skbBytes and xdpBytes locate the packet of a kernel object.
func skbBytes(get func(string) uint64) (data, n uint64) {
	return get("data"), get("len") - get("data_len")
}

func xdpBytes(get func(string) uint64) (data, n uint64) {
	return get("data"), get("data_end") - get("data")
}

func packetOutput(name string, where func(func(string) uint64) (uint64, uint64)) Impl {
	return onPerf(func(c *Call, arr maps.PerfArray) (uint64, *vm.Action) {
		flags := c.Args[2]
		if flags&^uint64(indexMask|ctxLenMask) != 0 {
			return errnoRet(uapi.EINVAL), nil
		}
		data := c.In(3)
		record := append([]byte(nil), data...)
		if n := flags & ctxLenMask >> 32; n > 0 {
			b, errno, f := c.packetStart(name, where, n)
			if errno != 0 || f != nil {
				return errnoRet(errno), f
			}
			record = append(record, b...)
		}
		return errnoRet(arr.Output(c.Thread.CPU, flags&indexMask, record)), nil
	})
}

// packetStart returns the first n bytes of the packet that the first argument stands for: EFAULT if
// it is shorter. Fragments count if the program's own packet is meant, or the one of the program
// that it traces (bpf_xdp_copy, bpf_skb_copy).
func (c *Call) packetStart(name string, where func(func(string) uint64) (uint64, uint64), n uint64) ([]byte, uapi.Errno, *vm.Action) {
	b := make([]byte, n)
	if ctx := c.Kernel.ContextOfKernel(c.Args[0]); ctx != nil && ctx.Packet != nil {
		if n > uint64(ctx.Packet.Len()) {
			return nil, uapi.EFAULT, nil
		}
		ctx.Packet.ReadAt(b, 0)
		return b, 0, nil
	}
	o := c.Kernel.ObjectAt(c.Args[0])
	if o == nil {
		return nil, 0, badArg("%s of %#x, which is not a packet", name, c.Args[0])
	}
	ok := true
	from, size := where(func(path string) uint64 {
		v, err := o.Uint(path)
		if err != nil {
			ok = false
		}
		return v
	})
	switch {
	case !ok:
		return nil, 0, badArg("%s of a %s", name, o.TypeName())
	case n > size:
		return nil, uapi.EFAULT, nil
	}
	if mf := c.Mem.Read(from, b); mf != nil {
		return nil, 0, memFault(mf)
	}
	return b, 0, nil
}
