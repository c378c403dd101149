package proto

import "github.com/bpfrun/bpfrun/internal/uapi"

// dynptrRows are the helpers for dynptrs.
var dynptrRows = []Helper{
	{ID: uapi.FuncDynptrFromMem, Topic: "dynptrs", Since: r(5, 19), Protos: protos{
		{Args: args{memOut, sizeOrZero, anything, dynptrLocalOut}, Uses: uses{{By: base}}},
	}},
	{ID: uapi.FuncRingbufReserveDynptr, Topic: "dynptrs", Since: r(5, 19), Protos: protos{
		{Args: args{constMap, anything, anything, dynptrRingbufOut}, Uses: uses{{By: base}}},
	}},
	{ID: uapi.FuncRingbufSubmitDynptr, Topic: "dynptrs", Since: r(5, 19), Protos: protos{
		{Args: args{dynptrRingbufRelease, anything}, Ret: void, Uses: uses{{By: base}}},
	}},
	{ID: uapi.FuncRingbufDiscardDynptr, Topic: "dynptrs", Since: r(5, 19), Protos: protos{
		{Args: args{dynptrRingbufRelease, anything}, Ret: void, Uses: uses{{By: base}}},
	}},
	{ID: uapi.FuncDynptrRead, Topic: "dynptrs", Since: r(5, 19), Protos: protos{
		{Args: args{memOut, sizeOrZero, dynptrIn, anything, anything}, Uses: uses{{From: r(6, 2), Until: r(7, 2), By: base}}},
		{Args: args{memOut, sizeOrZero, dynptr, anything, anything}, Uses: uses{{Until: r(6, 2), By: base}, {From: r(7, 2), By: base}}},
	}},
	{ID: uapi.FuncDynptrWrite, Topic: "dynptrs", Since: r(5, 19), Protos: protos{
		{Args: args{dynptrIn, anything, memIn, sizeOrZero, anything}, Uses: uses{{From: r(6, 2), Until: r(7, 2), By: base}}},
		{Args: args{dynptr, anything, memIn, sizeOrZero, anything}, Uses: uses{{Until: r(6, 2), By: base}, {From: r(7, 2), By: base}}},
	}},
	{ID: uapi.FuncDynptrData, Topic: "dynptrs", Since: r(5, 19), Protos: protos{
		{Args: args{dynptrIn, anything, allocSize}, Ret: Return{Kind: RetDynptrMem, Flags: MaybeNull}, Uses: uses{{From: r(6, 2), Until: r(7, 2), By: base}}},
		{Args: args{dynptr, anything, allocSize}, Ret: Return{Kind: RetDynptrMem, Flags: MaybeNull}, Uses: uses{{Until: r(6, 2), By: base}, {From: r(7, 2), By: base}}},
	}},
}
