package helpers

import (
	"fmt"

	"github.com/bpfrun/bpfrun/maps"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// Cgroups of a packet are those of its socket, which belongs to the current task: BPF_PROG_TEST_RUN makes it there.
var skbCgroupHelpers = []Helper{
	{ID: uapi.FuncSkbCgroupId, Topic: "cgroups", Args: []Arg{ArgCtx}, Fn: skbCgroupID, Note: "of the current task"},
	{ID: uapi.FuncSkbAncestorCgroupId, Topic: "cgroups", Args: []Arg{ArgCtx, ArgAny}, Fn: skbAncestorCgroupID, Note: "of the current task"},
	{ID: uapi.FuncSkbUnderCgroup, Topic: "cgroups", Args: []Arg{ArgCtx, ArgMap, ArgAny}, Fn: skbUnderCgroup, Note: "of the current task"},
	{ID: uapi.FuncSkbCgroupClassid, Topic: "cgroups", Args: []Arg{ArgCtx}, Fn: zero, Note: "no net_cls cgroup: 0"},
	{ID: uapi.FuncSkbGetXfrmState, Topic: "packets", Args: []Arg{ArgCtx, ArgAny, ArgOut, ArgSize, ArgAny}, Fn: skbGetXfrmState, Note: "packets came without IPsec: -EINVAL"},
	{ID: uapi.FuncRcRepeat, Topic: "remote control", Args: []Arg{ArgCtx}, Fn: rcEvent("rc-repeat"), Note: "recorded as an event"},
	{ID: uapi.FuncRcKeydown, Topic: "remote control", Args: []Arg{ArgCtx, ArgAny, ArgAny, ArgAny}, Fn: rcEvent("rc-keydown"), Note: "recorded as an event"},
	{ID: uapi.FuncRcPointerRel, Topic: "remote control", Args: []Arg{ArgCtx, ArgAny, ArgAny}, Fn: rcEvent("rc-pointer"), Note: "recorded as an event"},
}

func skbCgroupID(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	_, f := e.packetOf(a[0])
	return e.Kernel.CgroupID(), f
}

func skbAncestorCgroupID(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	_, f := e.packetOf(a[0])
	return e.Kernel.AncestorCgroupID(int(int32(uint32(a[1])))), f
}

func skbUnderCgroup(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	if _, f := e.packetOf(a[0]); f != nil {
		return 0, f
	}
	return currentTaskUnderCgroup(t, &[5]uint64{a[1], a[2]})
}

func skbGetXfrmState(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	if _, f := e.packetOf(a[0]); f != nil {
		return 0, f
	}
	return e.zeroOut(a[2], a[3]&0xffffffff, uapi.EINVAL)
}

// rcEvent records what a decoder of remote controls reports.
func rcEvent(kind string) vm.HelperFunc {
	return func(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
		ev := Event{Kind: kind}
		switch kind {
		case "rc-keydown":
			ev.Number = a[2]
			ev.Detail = fmt.Sprintf("protocol %d, toggle %d", uint32(a[1]), uint32(a[3]))
		case "rc-pointer":
			ev.Detail = fmt.Sprintf("%d, %d", int32(uint32(a[1])), int32(uint32(a[2])))
		}
		return 0, envOf(t).Run.emit(ev)
	}
}

// Tracing programs append bytes of packets they got as arguments.
var packetOutputHelpers = []Helper{
	{ID: uapi.FuncSkbOutput, Topic: "events", Args: []Arg{ArgObject, ArgMap, ArgAny, ArgMem, ArgSize}, Fn: packetOutput("bpf_skb_output", skbBytes)},
	{ID: uapi.FuncXDPOutput, Topic: "events", Args: []Arg{ArgObject, ArgMap, ArgAny, ArgMem, ArgSize}, Fn: packetOutput("bpf_xdp_output", xdpBytes)},
}

// skbBytes and xdpBytes say where the packet of a kernel object lies.
func skbBytes(get func(string) uint64) (data, n uint64) {
	return get("data"), get("len") - get("data_len")
}

func xdpBytes(get func(string) uint64) (data, n uint64) {
	return get("data"), get("data_end") - get("data")
}

func packetOutput(name string, where func(func(string) uint64) (uint64, uint64)) vm.HelperFunc {
	return func(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
		e := envOf(t)
		m, f := e.mapAt(a[1])
		if f != nil {
			return 0, f
		}
		arr, ok := m.(maps.PerfArray)
		if !ok {
			return 0, wrongMap(m)
		}
		flags := a[2]
		if flags&^uint64(indexMask|ctxLenMask) != 0 {
			return errnoRet(uapi.EINVAL), nil
		}
		data, f := e.read(a[3], a[4])
		if f != nil {
			return 0, f
		}
		record := append([]byte(nil), data...)
		if n := flags & ctxLenMask >> 32; n > 0 {
			o := e.Kernel.ObjectAt(a[0])
			if o == nil {
				return 0, badArg("%s of %#x, which is no packet", name, a[0])
			}
			from, size := where(func(path string) uint64 {
				v, err := o.Uint(path)
				if err != nil {
					ok = false
				}
				return v
			})
			if !ok {
				return 0, badArg("%s of a %s", name, o.TypeName())
			}
			if n > size {
				return errnoRet(uapi.EFAULT), nil
			}
			b := make([]byte, n)
			if mf := e.Mem.Read(from, b); mf != nil {
				return 0, memFault(mf)
			}
			record = append(record, b...)
		}
		return errnoRet(arr.Output(t.CPU, flags&indexMask, record)), nil
	}
}
