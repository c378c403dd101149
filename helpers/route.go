package helpers

import (
	"net/netip"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/vm"
)

var routeHelpers = []row{
	{ID: uapi.FuncCheckMtu, Do: onPacket(checkMTU), Note: "interfaces are those of the scenario, else lo (65536) and eth0 (1500)"},
	{ID: uapi.FuncFibLookup, Do: fibLookup, Note: "by the routes and neighbours of the scenario; without routes BPF_FIB_LKUP_RET_NOT_FWDED"},
	{ID: uapi.FuncGetCgroupClassid, Do: zero, Note: "no net_cls cgroup: 0"},
	{ID: uapi.FuncGetRouteRealm, Do: zero, Note: "no route: 0"},
}

func zero(c *Call) (uint64, *vm.Action) { return 0, nil }

// checkMTU is bpf_skb_check_mtu and bpf_xdp_check_mtu.
func checkMTU(c *Call, ctx *hook.Context) (uint64, *vm.Action) {
	in, f := c.guest.ReadU32(c.Args[2])
	if f != nil {
		return 0, f
	}
	diff, flags := int64(int32(uint32(c.Args[3]))), c.Args[4]
	segs := flags&uapi.CheckMTUSegs != 0
	if flags&^uint64(uapi.CheckMTUSegs) != 0 || segs && (c.Run.onXDP() || diff != 0 || in != 0) {
		return errnoRet(uapi.EINVAL), nil
	}
	index := uint32(c.Args[1])
	dev, ok := c.Kernel.Device(index)
	if index == 0 {
		dev, ok = ctx.DeviceOf()
	}
	if !ok {
		return errnoRet(uapi.ENODEV), nil
	}
	length := int64(ctx.Packet.Len())
	if c.Run.onXDP() {
		length = int64(ctx.Packet.Linear())
	}
	if in != 0 {
		length = int64(in) + ethHeader
	}
	ret := uint64(uapi.CheckMTURetSuccess)
	if length+diff > int64(dev.MTU)+ethHeader {
		ret = uapi.CheckMTURetFragNeeded
		if !c.Run.onXDP() {
			if s, f := c.skbAt(c.Args[0]); f == nil && s.gso() {
				ret = s.checkSegments(int64(dev.MTU), segs)
			}
		}
	}
	return ret, c.guest.WriteU32(c.Args[2], uint32(dev.MTU))
}

// sizeofFib is sizeof(struct bpf_fib_lookup).
const sizeofFib = 64

// fibLookup implements bpf_skb_fib_lookup and bpf_xdp_fib_lookup except for the lookup itself.
func fibLookup(c *Call) (uint64, *vm.Action) {
	n := c.Args[2] & 0xffffffff
	if n < sizeofFib {
		return errnoRet(uapi.EINVAL), nil
	}
	known := uint64(uapi.FibLookupDirect | uapi.FibLookupOutput)
	for _, f := range [...]struct {
		since since.Rule
		flag  uint64
	}{{since.FibSkipNeigh, uapi.FibLookupSkipNeigh}, {since.FibTbid, uapi.FibLookupTbid}, {since.FibSrc, uapi.FibLookupSrc}, {since.FibMark, uapi.FibLookupMark}} {
		if c.has(f.since) {
			known |= f.flag
		}
	}
	if c.Args[3]&^known != 0 {
		return errnoRet(uapi.EINVAL), nil
	}
	data, f := c.guest.Read(c.Args[1], sizeofFib)
	if f != nil {
		return 0, f
	}
	params := append([]byte(nil), data...)
	const inet, inet6 = 2, 10
	if params[0] != inet && params[0] != inet6 {
		return errnoRet(uapi.EAFNOSUPPORT), nil
	}
	const ifindexAt = 8
	if _, ok := c.Kernel.Device(c.guest.Order().Uint32(params[ifindexAt:])); !ok {
		return errnoRet(uapi.ENODEV), nil
	}
	ret := c.forward(params, c.Args[3])
	if ret == uapi.FibRetSuccess && c.guest.Order().Uint16(params[fibTotLen:]) == 0 {
		ret = c.fits(params)
	}
	return uint64(ret), c.guest.Write(c.Args[1], params)
}

// Offsets into struct bpf_fib_lookup.
const (
	fibTotLen  = 6
	fibIfindex = 8
	fibMetric  = 12
	fibSource  = 16
	fibDest    = 32
	fibVLAN    = 48 // also the table, as input
	fibSMAC    = 52
	fibDMAC    = 58
)

// forward performs bpf_ipv4_fib_lookup and bpf_ipv6_fib_lookup on the simulated machine's routes.
func (c *Call) forward(p []byte, flags uint64) uint32 {
	order, k := c.guest.Order(), c.Kernel
	to := address(p[fibDest:], p[0] == afInet6)
	table := uint32(0)
	if flags&uapi.FibLookupDirect != 0 && flags&uapi.FibLookupTbid != 0 {
		table = order.Uint32(p[fibVLAN:])
	}
	r, ok := k.Route(to, table)
	if !ok {
		return uapi.FibRetNotFwded
	}
	switch r.Type {
	case net.RouteBlackhole:
		return uapi.FibRetBlackhole
	case net.RouteUnreachable:
		return uapi.FibRetUnreachable
	case net.RouteProhibit:
		return uapi.FibRetProhibit
	case net.RouteLocal:
		return uapi.FibRetNotFwded
	}
	dev, ok := k.Device(r.Device)
	if !ok {
		return uapi.FibRetNotFwded
	}
	mtu := dev.MTU
	if r.MTU != 0 {
		mtu = r.MTU
	}
	if total := int(order.Uint16(p[fibTotLen:])); total > mtu {
		order.PutUint16(p[fibTotLen:], uint16(mtu))
		return uapi.FibRetFragNeeded
	}
	order.PutUint32(p[fibMetric:], r.Metric)
	order.PutUint32(p[fibIfindex:], dev.Index)
	if flags&uapi.FibLookupSrc != 0 {
		if !r.Source.IsValid() {
			return uapi.FibRetNoSrcAddr
		}
		copy(p[fibSource:fibDest], r.Source.AsSlice())
	}
	hop := to
	if r.Gateway.IsValid() {
		hop = r.Gateway
		if hop.Is6() {
			p[0] = afInet6
		}
		copy(p[fibDest:fibVLAN], hop.AsSlice())
	}
	if flags&uapi.FibLookupSkipNeigh == 0 {
		mac, ok := k.Neighbour(hop, dev.Index)
		if !ok {
			return uapi.FibRetNoNeigh
		}
		own := dev.MAC()
		copy(p[fibDMAC:], mac[:])
		copy(p[fibSMAC:fibDMAC], own[:])
	}
	clear(p[fibVLAN:fibSMAC])
	if order.Uint16(p[fibTotLen:]) != 0 {
		order.PutUint16(p[fibTotLen:], uint16(mtu))
	}
	return uapi.FibRetSuccess
}

// fits reports whether the packet itself fits the MTU of its output device; only programs with an
// sk_buff check that.
func (c *Call) fits(p []byte) uint32 {
	ctx := c.contextAt(c.Args[0])
	if ctx == nil || ctx.Packet == nil || c.Run.onXDP() {
		return uapi.FibRetSuccess
	}
	dev, ok := c.Kernel.Device(c.guest.Order().Uint32(p[fibIfindex:]))
	if !ok {
		return uapi.FibRetSuccess
	}
	c.guest.Order().PutUint16(p[fibTotLen:], uint16(min(dev.MTU, 0xffff)))
	const vlan = 4
	if ctx.Packet.Len() > dev.MTU+ethHeader+vlan {
		return uapi.FibRetFragNeeded
	}
	return uapi.FibRetSuccess
}

func address(b []byte, v6 bool) netip.Addr {
	if v6 {
		return netip.AddrFrom16([16]byte(b[:16]))
	}
	return netip.AddrFrom4([4]byte(b[:4]))
}
