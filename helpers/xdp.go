package helpers

import (
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var xdpHelpers = []row{
	{ID: uapi.FuncXDPAdjustHead, Do: onPacket(xdpAdjustHead)},
	{ID: uapi.FuncXDPAdjustTail, Do: xdpAdjust((*net.Packet).AdjustTail)},
	{ID: uapi.FuncXDPAdjustMeta, Do: xdpAdjust((*net.Packet).AdjustMeta)},
	{ID: uapi.FuncXDPLoadBytes, Do: onPacket(xdpLoadBytes)},
	{ID: uapi.FuncXDPStoreBytes, Do: onPacket(xdpStoreBytes)},
	{ID: uapi.FuncXDPGetBuffLen, Do: onPacket(xdpGetBuffLen)},
}

func xdpAdjust(move func(*net.Packet, int32) uapi.Errno) Impl {
	return onPacket(func(c *Call, ctx *hook.Context) (uint64, *vm.Action) {
		return errnoRet(move(ctx.Packet, int32(uint32(c.Args[1])))), nil
	})
}

// xdpAdjustHead adds room that the kernel does not clear.
func xdpAdjustHead(c *Call, ctx *hook.Context) (uint64, *vm.Action) {
	delta := int32(uint32(c.Args[1]))
	errno := ctx.Packet.AdjustHead(delta)
	if errno == 0 && delta < 0 {
		c.handedOut(ctx.Packet.Data(), uint64(-int64(delta)))
	}
	return errnoRet(errno), nil
}

// xdpRange checks a range of the packet (bpf_xdp_pointer).
func xdpRange(p *net.Packet, off, n uint64) uapi.Errno {
	switch {
	case off > maxOffset16 || n > maxOffset16:
		return uapi.EFAULT
	case off+n > uint64(p.Len()):
		return uapi.EINVAL
	}
	return 0
}

// xdpLoadBytes leaves the destination unchanged on errors.
func xdpLoadBytes(c *Call, ctx *hook.Context) (uint64, *vm.Action) {
	off, n := c.Args[1]&0xffffffff, c.Args[3]&0xffffffff
	if errno := xdpRange(ctx.Packet, off, n); errno != 0 {
		return errnoRet(errno), nil
	}
	b := make([]byte, n)
	ctx.Packet.ReadAt(b, int(off))
	return 0, c.guest.Write(c.Args[2], b)
}

func xdpStoreBytes(c *Call, ctx *hook.Context) (uint64, *vm.Action) {
	off, n := c.Args[1]&0xffffffff, c.Args[3]&0xffffffff
	data := c.In(2)
	if errno := xdpRange(ctx.Packet, off, n); errno != 0 {
		return errnoRet(errno), nil
	}
	ctx.Packet.WriteAt(data, int(off))
	return 0, nil
}

func xdpGetBuffLen(c *Call, ctx *hook.Context) (uint64, *vm.Action) {
	return uint64(ctx.Packet.Len()), nil
}
