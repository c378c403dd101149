package proto

import "github.com/bpfrun/bpfrun/internal/uapi"

// eventRows are the helpers for perf events and ring buffers.
var eventRows = []Helper{
	{ID: uapi.FuncPerfEventRead, Topic: "events", Since: r(4, 3), Protos: protos{
		{Args: args{constMap, anything}, Attr: GPLOnly, Uses: uses{{By: tracers}, {From: r(6, 16), By: net | structOpsAny | sockopt | cgroupDevice | skReuseport | sysctl | netfilter}}},
	}},
	{ID: uapi.FuncPerfEventOutput, Topic: "events", Since: r(4, 4), Protos: protos{
		{Args: args{ctx, constMap, anything, memIn, sizeOrZero}, Attr: GPLOnly, Uses: uses{{By: tracers | cgroups | lwt | socketFilter | sched | xdp | skSkb | skMsg | skLookup}}},
	}},
	{ID: uapi.FuncPerfEventReadValue, Topic: "events", Since: r(4, 15), Protos: protos{
		{Args: args{constMap, anything, memOut, size}, Attr: GPLOnly, Uses: uses{{By: tracers}, {From: r(6, 16), By: net | structOpsAny | sockopt | cgroupDevice | skReuseport | sysctl | netfilter}}},
	}},
	{ID: uapi.FuncPerfProgReadValue, Topic: "events", Since: r(4, 15), Protos: protos{
		{Args: args{ctx, memOut, size}, Attr: GPLOnly, Uses: uses{{By: perfEvent}}},
	}},
	{ID: uapi.FuncSkbOutput, Topic: "events", Since: r(5, 5), Protos: protos{
		{Args: args{btfID("sk_buff"), constMap, anything, memIn, sizeOrZero}, Attr: GPLOnly, Uses: uses{{By: typed}}},
	}},
	{ID: uapi.FuncXDPOutput, Topic: "events", Since: r(5, 7), Protos: protos{
		{Args: args{btfID("xdp_buff"), constMap, anything, memIn, sizeOrZero}, Attr: GPLOnly, Uses: uses{{By: typed}}},
	}},
	{ID: uapi.FuncRingbufOutput, Topic: "events", Since: r(5, 8), Protos: protos{
		{Args: args{constMap, memIn, sizeOrZero, anything}, Uses: uses{{By: base}}},
	}},
	{ID: uapi.FuncRingbufReserve, Topic: "events", Since: r(5, 8), Effects: Acquires, Protos: protos{
		{Args: args{constMap, allocSize, anything}, Ret: Return{Kind: RetRingbufMem, Flags: MaybeNull}, Uses: uses{{By: base}}},
	}},
	{ID: uapi.FuncRingbufSubmit, Topic: "events", Since: r(5, 8), Protos: protos{
		{Args: args{recordRelease, anything}, Ret: void, Uses: uses{{By: base}}},
	}},
	{ID: uapi.FuncRingbufDiscard, Topic: "events", Since: r(5, 8), Protos: protos{
		{Args: args{recordRelease, anything}, Ret: void, Uses: uses{{By: base}}},
	}},
	{ID: uapi.FuncRingbufQuery, Topic: "events", Since: r(5, 8), Protos: protos{
		{Args: args{constMap, anything}, Uses: uses{{By: base}}},
	}},
	{ID: uapi.FuncUserRingbufDrain, Topic: "events", Since: r(6, 1), Effects: CallsBack, Protos: protos{
		{Args: args{constMap, callback, stackOrNull, anything}, Uses: uses{{By: base}}},
	}},
}
