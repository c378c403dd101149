package helpers

import (
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var routeHelpers = []Helper{
	{ID: uapi.FuncCheckMtu, Topic: "routes", Args: []Arg{ArgCtx, ArgAny, ArgInt, ArgAny, ArgAny}, Fn: checkMTU, Note: "interfaces are lo (65536) and eth0 (1500)"},
	{ID: uapi.FuncFibLookup, Topic: "routes", Args: []Arg{ArgCtx, ArgOut, ArgSize, ArgAny}, Fn: fibLookup, Note: "no routes unless the environment gives some: BPF_FIB_LKUP_RET_NOT_FWDED"},
	{ID: uapi.FuncGetCgroupClassid, Topic: "packets", Args: []Arg{ArgCtx}, Fn: zero, Note: "no net_cls cgroup: 0"},
	{ID: uapi.FuncGetRouteRealm, Topic: "packets", Args: []Arg{ArgCtx}, Fn: zero, Note: "no route: 0"},
}

func zero(*vm.Thread, *[5]uint64) (uint64, *vm.Action) { return 0, nil }

// checkMTU is bpf_skb_check_mtu and bpf_xdp_check_mtu.
func checkMTU(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	c, f := e.packetOf(a[0])
	if f != nil {
		return 0, f
	}
	in, f := e.readU32(a[2])
	if f != nil {
		return 0, f
	}
	diff, flags := int64(int32(uint32(a[3]))), a[4]
	segs := flags&uapi.CheckMTUSegs != 0
	if flags&^uint64(uapi.CheckMTUSegs) != 0 || segs && (e.Run.ProgType == uapi.ProgTypeXDP || diff != 0 || in != 0) {
		return errnoRet(uapi.EINVAL), nil
	}
	index := uint32(a[1])
	dev, ok := e.Kernel.Device(index)
	if index == 0 {
		dev, ok = c.DeviceOf()
	}
	if !ok {
		return errnoRet(uapi.ENODEV), nil
	}
	length := int64(c.Packet.Len())
	if in != 0 {
		length = int64(in) + ethHeader
	}
	ret := uint64(uapi.CheckMTURetSuccess)
	if length+diff > int64(dev.MTU)+ethHeader {
		ret = uapi.CheckMTURetFragNeeded
		if e.Run.ProgType != uapi.ProgTypeXDP {
			if s, f := e.skbAt(a[0]); f == nil && s.gso() {
				ret = s.checkSegments(int64(dev.MTU), segs)
			}
		}
	}
	return ret, e.writeU32(a[2], uint32(dev.MTU))
}

// sizeofFib is sizeof(struct bpf_fib_lookup).
const sizeofFib = 64

// A Router answers bpf_fib_lookup. params is struct bpf_fib_lookup, which it may change; the result is one of
// BPF_FIB_LKUP_RET_*.
type Router func(params []byte, flags uint64) uint32

// fibLookup is bpf_skb_fib_lookup and bpf_xdp_fib_lookup up to the search itself.
func fibLookup(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	n := a[2] & 0xffffffff
	if n < sizeofFib {
		return errnoRet(uapi.EINVAL), nil
	}
	known := uint64(uapi.FibLookupDirect | uapi.FibLookupOutput)
	for _, f := range [...]struct {
		major, minor uint32
		flag         uint64
	}{{6, 3, uapi.FibLookupSkipNeigh}, {6, 5, uapi.FibLookupTbid}, {6, 7, uapi.FibLookupSrc}, {6, 10, uapi.FibLookupMark}} {
		if e.Version >= kernelVersion(f.major, f.minor) {
			known |= f.flag
		}
	}
	if a[3]&^known != 0 {
		return errnoRet(uapi.EINVAL), nil
	}
	data, f := e.read(a[1], sizeofFib)
	if f != nil {
		return 0, f
	}
	params := append([]byte(nil), data...)
	const inet, inet6 = 2, 10
	if params[0] != inet && params[0] != inet6 {
		return errnoRet(uapi.EAFNOSUPPORT), nil
	}
	const ifindexAt = 8
	if _, ok := e.Kernel.Device(e.order().Uint32(params[ifindexAt:])); !ok {
		return errnoRet(uapi.ENODEV), nil
	}
	if e.Routes == nil {
		return uapi.FibRetNotFwded, nil
	}
	ret := e.Routes(params, a[3])
	return uint64(ret), e.write(a[1], params)
}
