package proto

import (
	"slices"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// memoryRows are the helpers for memory and strings.
var memoryRows = []Helper{
	{ID: uapi.FuncProbeRead, Topic: "memory", Since: r(4, 1), Effects: Copies | CopiesUser, Locked: Confidentiality, Protos: protos{
		{Args: args{memOut, sizeOrZero, anything}, Attr: GPLOnly, Only: OneMeaning, Uses: uses{{By: tracers}}},
	}},
	{ID: uapi.FuncProbeWriteUser, Topic: "memory", Since: r(4, 8), Locked: Integrity, Protos: protos{
		{Args: args{anything, memIn, size}, Attr: GPLOnly, Uses: uses{{By: tracers}}},
	}},
	{ID: uapi.FuncProbeReadStr, Topic: "memory", Since: r(4, 11), Effects: Copies | CopiesUser | CopiesString, Locked: Confidentiality, Protos: protos{
		{Args: args{memOut, sizeOrZero, anything}, Attr: GPLOnly, Only: OneMeaning, Uses: uses{{By: tracers}}},
	}},
	{ID: uapi.FuncStrtol, Topic: "strings", Since: r(5, 2), Protos: protos{
		{Args: args{memIn, size, anything, fixedOut(8)}, Uses: writtenFixed.uses(base)},
		{Args: args{memIn, size, anything, fixedAligned(8)}, Uses: slices.Concat(uses{{Until: r(6, 1), By: sysctl}}, writtenFixed.from(r(6, 1)).others(base))},
	}},
	{ID: uapi.FuncStrtoul, Topic: "strings", Since: r(5, 2), Protos: protos{
		{Args: args{memIn, size, anything, fixedOut(8)}, Uses: writtenFixed.uses(base)},
		{Args: args{memIn, size, anything, fixedAligned(8)}, Uses: slices.Concat(uses{{Until: r(6, 1), By: sysctl}}, writtenFixed.from(r(6, 1)).others(base))},
	}},
	{ID: uapi.FuncProbeReadUser, Topic: "memory", Since: r(5, 5), Effects: CopiesUser, Protos: protos{
		{Args: args{memOut, sizeOrZero, anything}, Attr: GPLOnly, Uses: uses{{By: base}}},
	}},
	{ID: uapi.FuncProbeReadKernel, Topic: "memory", Since: r(5, 5), Effects: Copies, Locked: Confidentiality, Protos: protos{
		{Args: args{memOut, sizeOrZero, anything}, Attr: GPLOnly, Uses: uses{{By: base}}},
	}},
	{ID: uapi.FuncProbeReadUserStr, Topic: "memory", Since: r(5, 5), Effects: CopiesUser | CopiesString, Protos: protos{
		{Args: args{memOut, sizeOrZero, anything}, Attr: GPLOnly, Uses: uses{{By: base}}},
	}},
	{ID: uapi.FuncProbeReadKernelStr, Topic: "memory", Since: r(5, 5), Effects: Copies | CopiesString, Locked: Confidentiality, Protos: protos{
		{Args: args{memOut, sizeOrZero, anything}, Attr: GPLOnly, Uses: uses{{By: base}}},
	}},
	{ID: uapi.FuncCopyFromUser, Topic: "memory", Since: r(5, 10), Effects: CopiesUser, Protos: protos{
		{Args: args{memOut, sizeOrZero, anything}, Attr: MightSleep, Uses: uses{{By: typed | kprobe | tracepoint}, {From: r(6, 1), By: perfEvent | rawTracepoint}, {From: r(6, 16), By: net | structOpsAny | sockopt | cgroupDevice | skReuseport | sysctl | netfilter}}},
	}},
	{ID: uapi.FuncSnprintfBtf, Topic: "strings", Since: r(5, 10), Protos: protos{
		{Args: args{mem, size, memIn, size, anything}, Uses: uses{{Until: r(6, 18), By: base}}},
		{Args: args{memInOut, size, memIn, size, anything}, Uses: uses{{From: r(6, 18), By: base}}},
	}},
	{ID: uapi.FuncSnprintf, Topic: "strings", Since: r(5, 13), Protos: protos{
		{Args: args{memOrNull, sizeOrZero, constString, memInOrNull, sizeOrZero}, Attr: GPLOnly, Uses: uses{{Until: r(6, 18), By: base}}},
		{Args: args{memInOutOrNull, sizeOrZero, constString, memInOrNull, sizeOrZero}, Attr: GPLOnly, Uses: uses{{From: r(6, 18), By: base}}},
	}},
	{ID: uapi.FuncStrncmp, Topic: "strings", Since: r(5, 17), Protos: protos{
		{Args: args{memIn, size, constString}, Uses: uses{{From: r(6, 4), By: base}}},
		{Args: args{mem, size, constString}, Uses: uses{{Until: r(6, 4), By: base}}},
	}},
	{ID: uapi.FuncCopyFromUserTask, Topic: "memory", Since: r(5, 18), Effects: CopiesUser, Protos: protos{
		{Args: args{memOut, sizeOrZero, anything, btfID("task_struct"), anything}, Attr: GPLOnly | MightSleep, Uses: uses{{By: tracers}, {From: r(6, 16), By: net | structOpsAny | sockopt | cgroupDevice | skReuseport | sysctl | netfilter}}},
	}},
}
