package proto

import (
	"slices"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// tracingRows are the helpers for traced functions, tracepoints and iterators.
var tracingRows = []Helper{
	{ID: uapi.FuncTracePrintk, Topic: "trace", Since: r(4, 1), Protos: protos{
		{Args: args{memIn, size}, Attr: GPLOnly, Uses: uses{{By: all}}},
	}},
	{ID: uapi.FuncOverrideReturn, Topic: "tracing", Since: r(4, 16), Protos: protos{
		{Args: args{ctx, anything}, Attr: GPLOnly, Uses: uses{{By: kprobe}}},
	}},
	{ID: uapi.FuncReadBranchRecords, Topic: "tracing", Since: r(5, 7), Protos: protos{
		{Args: args{ctx, memOrNull, sizeOrZero, anything}, Attr: GPLOnly, Uses: uses{{Until: r(6, 18), By: perfEvent}}},
		{Args: args{ctx, memInOutOrNull, sizeOrZero, anything}, Attr: GPLOnly, Uses: uses{{From: r(6, 18), By: perfEvent}}},
	}},
	{ID: uapi.FuncSeqPrintf, Topic: "iterators", Since: r(5, 8), Protos: protos{
		{Args: args{btfID("seq_file"), memIn, size, memInOrNull, sizeOrZero}, Attr: GPLOnly, Uses: uses{{By: iters}}},
	}},
	{ID: uapi.FuncSeqWrite, Topic: "iterators", Since: r(5, 8), Protos: protos{
		{Args: args{btfID("seq_file"), memIn, sizeOrZero}, Attr: GPLOnly, Uses: uses{{By: iters}}},
	}},
	{ID: uapi.FuncSeqPrintfBtf, Topic: "iterators", Since: r(5, 10), Protos: protos{
		{Args: args{btfID("seq_file"), memIn, sizeOrZero, anything}, Attr: GPLOnly, Uses: uses{{By: iters}}},
	}},
	{ID: uapi.FuncGetFuncIp, Topic: "tracing", Since: r(5, 15), Protos: protos{
		{Args: args{ctx}, Attr: GPLOnly, Uses: uses{{By: tracers}}},
	}},
	{ID: uapi.FuncGetAttachCookie, Topic: "tracing", Since: r(5, 15), Protos: protos{
		{Args: args{ctx}, Uses: uses{{By: lsmCgroups | kprobe | tracepoint | perfEvent}, {From: r(5, 19), By: trampoline | lsm}, {From: r(6, 10), By: rawTracepoint | tracingRawTP}}},
	}},
	{ID: uapi.FuncGetBranchSnapshot, Topic: "tracing", Since: r(5, 16), Protos: protos{
		{Args: args{memOut, sizeOrZero}, Attr: GPLOnly, Uses: uses{{By: tracers}, {From: r(6, 16), By: net | structOpsAny | sockopt | cgroupDevice | skReuseport | sysctl | netfilter}}},
	}},
	{ID: uapi.FuncTraceVprintk, Topic: "trace", Since: r(5, 16), Protos: protos{
		{Args: args{memIn, size, memInOrNull, sizeOrZero}, Attr: GPLOnly, Uses: uses{{By: base}}},
	}},
	{ID: uapi.FuncGetFuncArg, Topic: "tracing", Since: r(5, 17), Protos: protos{
		{Args: args{ctx, anything, fixedOut(8)}, Uses: slices.Concat(writtenFixed.uses(lsmAny|trampoline), uses{{From: r(7, 0), By: tracingRawTP}})},
		{Args: args{ctx, anything, fixedAligned(8)}, Uses: writtenFixed.others(lsmAny | trampoline)},
	}},
	{ID: uapi.FuncGetFuncRet, Topic: "tracing", Since: r(5, 17), Protos: protos{
		{Args: args{ctx, fixedOut(8)}, Uses: writtenFixed.uses(lsmAny | trampoline)},
		{Args: args{ctx, fixedAligned(8)}, Uses: writtenFixed.others(lsmAny | trampoline)},
	}},
	{ID: uapi.FuncGetFuncArgCnt, Topic: "tracing", Since: r(5, 17), Protos: protos{
		{Args: args{ctx}, Uses: uses{{By: lsmAny | trampoline}, {From: r(7, 0), By: tracingRawTP}}},
	}},
}
