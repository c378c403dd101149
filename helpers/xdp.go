package helpers

import (
	"github.com/bpfrun/bpfrun/kernel"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var xdpHelpers = []Helper{
	{ID: uapi.FuncXDPAdjustHead, Topic: "packets", Args: []Arg{ArgCtx, ArgAny}, Fn: xdpAdjust((*kernel.Packet).AdjustHead)},
	{ID: uapi.FuncXDPAdjustTail, Topic: "packets", Args: []Arg{ArgCtx, ArgAny}, Fn: xdpAdjust((*kernel.Packet).AdjustTail)},
	{ID: uapi.FuncXDPAdjustMeta, Topic: "packets", Args: []Arg{ArgCtx, ArgAny}, Fn: xdpAdjust((*kernel.Packet).AdjustMeta)},
	{ID: uapi.FuncXDPLoadBytes, Topic: "packets", Args: []Arg{ArgCtx, ArgAny, ArgOut, ArgSize}, Fn: xdpLoadBytes},
	{ID: uapi.FuncXDPStoreBytes, Topic: "packets", Args: []Arg{ArgCtx, ArgAny, ArgMem, ArgSize}, Fn: xdpStoreBytes},
	{ID: uapi.FuncXDPGetBuffLen, Topic: "packets", Args: []Arg{ArgCtx}, Fn: xdpGetBuffLen},
}

func xdpAdjust(move func(*kernel.Packet, int32) uapi.Errno) vm.HelperFunc {
	return func(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
		c, f := envOf(t).packetOf(a[0])
		if f != nil {
			return 0, f
		}
		return errnoRet(move(c.Packet, int32(uint32(a[1])))), nil
	}
}

// xdpRange judges a range of the packet (bpf_xdp_pointer).
func xdpRange(p *kernel.Packet, off, n uint64) uapi.Errno {
	switch {
	case off > maxOffset16 || n > maxOffset16:
		return uapi.EFAULT
	case off+n > uint64(p.Len()):
		return uapi.EINVAL
	}
	return 0
}

// xdpLoadBytes leaves the destination alone on errors.
func xdpLoadBytes(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	c, f := e.packetOf(a[0])
	if f != nil {
		return 0, f
	}
	off, n := a[1]&0xffffffff, a[3]&0xffffffff
	if errno := xdpRange(c.Packet, off, n); errno != 0 {
		return errnoRet(errno), nil
	}
	b := make([]byte, n)
	c.Packet.ReadAt(b, int(off))
	return 0, e.write(a[2], b)
}

func xdpStoreBytes(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	c, f := e.packetOf(a[0])
	if f != nil {
		return 0, f
	}
	off, n := a[1]&0xffffffff, a[3]&0xffffffff
	data, f := e.read(a[2], n)
	if f != nil {
		return 0, f
	}
	if errno := xdpRange(c.Packet, off, n); errno != 0 {
		return errnoRet(errno), nil
	}
	c.Packet.WriteAt(data, int(off))
	return 0, nil
}

func xdpGetBuffLen(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	c, f := envOf(t).packetOf(a[0])
	if f != nil {
		return 0, f
	}
	return uint64(c.Packet.Len()), nil
}
