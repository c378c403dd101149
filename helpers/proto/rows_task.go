package proto

import "github.com/bpfrun/bpfrun/internal/uapi"

// taskRows are the helpers for tasks, stacks and CPUs.
var taskRows = []Helper{
	{ID: uapi.FuncGetPrandomU32, Topic: "cpu", Since: r(4, 1), Protos: protos{
		{Uses: uses{{By: all}}},
	}},
	{ID: uapi.FuncGetSmpProcessorId, Topic: "cpu", Since: r(4, 1), Protos: protos{
		{Uses: uses{{Until: r(6, 12), By: tracers | lwt | sched | xdp}, {By: cgroups | structOpsAny | socketFilter | skSkb | skMsg | skReuseport | flowDissector | skLookup | netfilter}}},
		{Attr: FastCall, Uses: uses{{From: r(6, 12), By: tracers | lwt | sched | xdp}}},
	}},
	{ID: uapi.FuncGetCurrentPidTgid, Topic: "task", Since: r(4, 2), Protos: protos{
		{Uses: uses{{By: tracers | sockAddr | cgroupSock | skMsg}, {From: r(6, 1), By: sockopt | cgroupDevice | sysctl}, {From: r(6, 10), By: structOpsAny | lwt | socketFilter | sched | xdp | cgroupSkb | sockOps | skSkb | skReuseport | flowDissector | skLookup | netfilter}}},
	}},
	{ID: uapi.FuncGetCurrentUidGid, Topic: "task", Since: r(4, 2), Protos: protos{
		{Uses: uses{{By: tracers | sockAddr | cgroupSock | sockopt | skMsg | cgroupDevice | sysctl}, {From: r(6, 16), By: structOpsAny | lwt | socketFilter | sched | xdp | cgroupSkb | sockOps | skSkb | skReuseport | flowDissector | skLookup | netfilter}}},
	}},
	{ID: uapi.FuncGetCurrentComm, Topic: "task", Since: r(4, 2), Protos: protos{
		{Args: args{memOut, size}, Uses: uses{{By: tracers | sockAddr | cgroupSock}, {From: r(6, 1), By: sockopt | cgroupDevice | sysctl}, {From: r(6, 16), By: netSk | structOpsAny | skReuseport | netfilter}}},
	}},
	{ID: uapi.FuncGetStackid, Topic: "stacks", Since: r(4, 6), Protos: protos{
		{Args: args{ctx, constMap, anything}, Attr: GPLOnly, Uses: uses{{By: tracers &^ perfEvent}}},
		{Args: args{ctx, constMap, anything}, Uses: uses{{By: perfEvent}}},
	}},
	{ID: uapi.FuncGetCurrentTask, Topic: "task", Since: r(4, 8), Address: "task_struct", Protos: protos{
		{Attr: GPLOnly, Uses: uses{{By: base}}},
	}},
	{ID: uapi.FuncCurrentTaskUnderCgroup, Topic: "task", Since: r(4, 9), Protos: protos{
		{Args: args{constMap, anything}, Uses: uses{{By: tracers}, {From: r(6, 12), By: cgroups &^ (cgroupSkb | sockOps)}, {From: r(6, 16), By: netSk | structOpsAny | skReuseport | netfilter}}},
	}},
	{ID: uapi.FuncGetNumaNodeId, Topic: "cpu", Since: r(4, 10), Protos: protos{
		{Uses: uses{{By: base}}},
	}},
	{ID: uapi.FuncGetStack, Topic: "stacks", Since: r(4, 18), Protos: protos{
		{Args: args{ctx, memIn, sizeOrZero, anything}, Attr: GPLOnly, Uses: uses{{Until: r(6, 18), By: typed | rawTracepoint}}},
		{Args: args{ctx, memOut, sizeOrZero, anything}, Attr: GPLOnly, Uses: uses{{Until: r(7, 2), By: kprobe}, {By: tracepoint | perfEvent}, {From: r(6, 18), By: typed | rawTracepoint}}},
		{Args: args{ctx, memOut, sizeOrZero, anything}, Attr: GPLOnly | SleepsIfSleepable, Uses: uses{{From: r(7, 2), By: kprobe}}},
	}},
	{ID: uapi.FuncGetCurrentCgroupId, Topic: "task", Since: r(4, 18), Protos: protos{
		{Uses: uses{{By: tracers | sockAddr | cgroupSock | sockopt | skMsg | cgroupDevice | sysctl | netfilter}, {From: r(6, 4), By: structOpsAny | lwt | socketFilter | sched | xdp | cgroupSkb | sockOps | skSkb | skReuseport | flowDissector | skLookup}}},
	}},
	{ID: uapi.FuncSendSignal, Topic: "task", Since: r(5, 3), Protos: protos{
		{Args: args{anything}, Uses: uses{{By: tracers}, {From: r(6, 16), By: net | structOpsAny | sockopt | cgroupDevice | skReuseport | sysctl | netfilter}}},
	}},
	{ID: uapi.FuncSendSignalThread, Topic: "task", Since: r(5, 6), Protos: protos{
		{Args: args{anything}, Uses: uses{{By: tracers}, {From: r(6, 16), By: net | structOpsAny | sockopt | cgroupDevice | skReuseport | sysctl | netfilter}}},
	}},
	{ID: uapi.FuncGetNsCurrentPidTgid, Topic: "task", Since: r(5, 7), Protos: protos{
		{Args: args{anything, anything, memOut, size}, Uses: uses{{By: tracers}, {From: r(6, 10), By: netSk | structOpsAny | cgroupSock | sockopt | cgroupDevice | sockAddr | skReuseport | sysctl | netfilter}}},
	}},
	{ID: uapi.FuncGetCurrentAncestorCgroupId, Topic: "task", Since: r(5, 7), Protos: protos{
		{Args: args{anything}, Uses: uses{{By: sockAddr | cgroupSock | lsmCgroups | skMsg | syscall | netfilter}, {From: r(5, 14), By: tracingTypes &^ lsmCgroups}, {From: r(6, 1), By: sockopt | cgroupDevice | sysctl}, {From: r(6, 4), By: structOpsAny | lwt | socketFilter | sched | xdp | cgroupSkb | sockOps | skSkb | skReuseport | flowDissector | skLookup}}},
	}},
	{ID: uapi.FuncGetTaskStack, Topic: "stacks", Since: r(5, 9), Protos: protos{
		{Args: args{btfID("task_struct"), memOut, sizeOrZero, anything}, Uses: uses{{Until: r(7, 2), By: kprobe | tracepoint | tracingRawTP | trampoline | iter | lsm | syscall}, {By: lsmCgroups | perfEvent | rawTracepoint | iterTCP | iterUnix}, {From: r(6, 16), Until: r(7, 2), By: structOps}, {From: r(6, 16), By: net | sockopt | tcpCCAny | cgroupDevice | skReuseport | sysctl | schedExt | netfilter}}},
		{Args: args{btfID("task_struct"), memOut, sizeOrZero, anything}, Attr: SleepsIfSleepable, Uses: uses{{From: r(7, 2), By: kprobe | tracepoint | tracingRawTP | trampoline | iter | structOps | lsm | syscall}}},
	}},
	{ID: uapi.FuncPerCpuPtr, Topic: "cpu", Since: r(5, 10), Protos: protos{
		{Args: args{percpuBTF, anything}, Ret: Return{Kind: RetMemOrBTFID, Flags: MaybeNull | ReadOnly}, Uses: uses{{From: r(5, 15), Until: r(5, 16), By: base}, {From: r(5, 17), By: base}}},
		{Args: args{percpuBTF, anything}, Ret: Return{Kind: RetMemOrBTFID, Flags: MaybeNull}, Uses: uses{{Until: r(5, 15), By: base}, {From: r(5, 16), Until: r(5, 17), By: base}}},
	}},
	{ID: uapi.FuncThisCpuPtr, Topic: "cpu", Since: r(5, 10), Protos: protos{
		{Args: args{percpuBTF}, Ret: Return{Kind: RetMemOrBTFID, Flags: ReadOnly}, Uses: uses{{From: r(5, 15), Until: r(5, 16), By: base}, {From: r(5, 17), By: base}}},
		{Args: args{percpuBTF}, Ret: Return{Kind: RetMemOrBTFID}, Uses: uses{{Until: r(5, 15), By: base}, {From: r(5, 16), Until: r(5, 17), By: base}}},
	}},
	{ID: uapi.FuncGetCurrentTaskBtf, Topic: "task", Since: r(5, 11), Protos: protos{
		{Ret: Return{Kind: RetBTFID, Flags: Trusted, BTF: "task_struct"}, Attr: GPLOnly, Uses: uses{{From: r(6, 2), By: base}}},
		{Ret: Return{Kind: RetBTFID, BTF: "task_struct"}, Attr: GPLOnly, Uses: uses{{Until: r(6, 2), By: tracers}, {From: r(5, 15), Until: r(6, 2), By: base}}},
	}},
	{ID: uapi.FuncBprmOptsSet, Topic: "task", Since: r(5, 11), Protos: protos{
		{Args: args{btfID("linux_binprm"), anything}, Uses: uses{{By: lsmAny}}},
	}},
	{ID: uapi.FuncTaskPtRegs, Topic: "task", Since: r(5, 15), Protos: protos{
		{Args: args{btfID("task_struct")}, Ret: Return{Kind: RetBTFID, BTF: "pt_regs"}, Attr: GPLOnly, Uses: uses{{By: base}}},
	}},
	{ID: uapi.FuncFindVma, Topic: "task", Since: r(5, 17), Effects: CallsBack, Protos: protos{
		{Args: args{btfID("task_struct"), anything, callback, stackOrNull, anything}, Uses: uses{{By: tracers}, {From: r(6, 16), By: net | structOpsAny | sockopt | cgroupDevice | skReuseport | sysctl | netfilter}}},
	}},
}
