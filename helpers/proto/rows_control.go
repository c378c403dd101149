package proto

import "github.com/bpfrun/bpfrun/internal/uapi"

// controlRows are the helpers for control flow, locks and kptrs.
var controlRows = []Helper{
	{ID: uapi.FuncTailCall, Topic: "control", Since: r(4, 2), Effects: ChangesPacket, EffectsFrom: r(6, 12), Protos: protos{
		{Args: args{ctx, constMap, anything}, Ret: void, Uses: uses{{By: all}}},
	}},
	{ID: uapi.FuncSpinLock, Topic: "locks", Since: r(5, 1), Protos: protos{
		{Args: args{spinLock}, Ret: void, Uses: uses{{By: net | structOpsAny | sockopt | lsmCgroups | cgroupDevice | skReuseport | sysctl | netfilter}, {From: r(5, 11), By: lsm}, {From: r(5, 15), By: tracers}}},
	}},
	{ID: uapi.FuncSpinUnlock, Topic: "locks", Since: r(5, 1), Protos: protos{
		{Args: args{spinLock}, Ret: void, Uses: uses{{By: net | structOpsAny | sockopt | lsmCgroups | cgroupDevice | skReuseport | sysctl | netfilter}, {From: r(5, 11), By: lsm}, {From: r(5, 15), By: tracers}}},
	}},
	{ID: uapi.FuncLoop, Topic: "control", Since: r(5, 17), Effects: CallsBack, Protos: protos{
		{Args: args{anything, callback, stackOrNull, anything}, Uses: uses{{Until: r(7, 2), By: base}}},
		{Args: args{scalar, callback, stackOrNull, anything}, Uses: uses{{From: r(7, 2), By: base}}},
	}},
	{ID: uapi.FuncKptrXchg, Topic: "kptrs", Since: r(5, 19), Effects: Acquires, Protos: protos{
		{Args: args{kptr, Arg{Kind: BTFID, Flags: MaybeNull | Release, BTF: ""}}, Ret: Return{Kind: RetBTFID, Flags: MaybeNull}, Uses: uses{{By: base}}},
	}},
}
