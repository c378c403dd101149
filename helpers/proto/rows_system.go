package proto

import "github.com/bpfrun/bpfrun/internal/uapi"

// systemRows are the helpers for files, system calls and devices.
var systemRows = []Helper{
	{ID: uapi.FuncRcRepeat, Topic: "remote control", Since: r(4, 18), Protos: protos{
		{Args: args{ctx}, Attr: GPLOnly, Uses: uses{{By: lirc}}},
	}},
	{ID: uapi.FuncRcKeydown, Topic: "remote control", Since: r(4, 18), Protos: protos{
		{Args: args{ctx, anything, anything, anything}, Attr: GPLOnly, Uses: uses{{By: lirc}}},
	}},
	{ID: uapi.FuncRcPointerRel, Topic: "remote control", Since: r(5, 0), Protos: protos{
		{Args: args{ctx, anything, anything}, Attr: GPLOnly, Uses: uses{{By: lirc}}},
	}},
	{ID: uapi.FuncDPath, Topic: "files", Since: r(5, 10), Protos: protos{
		{Args: args{btfID("path"), mem, sizeOrZero}, Only: DPathTargets, Uses: uses{{Until: r(6, 18), By: typed}}},
		{Args: args{btfID("path"), memInOut, sizeOrZero}, Only: DPathTargets, Uses: uses{{From: r(6, 18), By: typed}}},
	}},
	{ID: uapi.FuncImaInodeHash, Topic: "files", Since: r(5, 11), Protos: protos{
		{Args: args{btfID("inode"), memOut, size}, Attr: MightSleep, Only: SleepableHooks, Uses: uses{{By: lsmAny}}},
	}},
	{ID: uapi.FuncSysBpf, Topic: "syscalls", Since: r(5, 14), Protos: protos{
		{Args: args{anything, memIn, size}, Uses: uses{{Until: r(7, 2), By: syscall}}},
		{Args: args{anything, memIn, size}, Attr: MightSleep, Uses: uses{{From: r(7, 2), By: syscall}}},
	}},
	{ID: uapi.FuncBtfFindByNameKind, Topic: "syscalls", Since: r(5, 14), Protos: protos{
		{Args: args{memIn, size, anything, anything}, Uses: uses{{Until: r(7, 2), By: syscall}}},
		{Args: args{memIn, size, anything, anything}, Attr: MightSleep, Uses: uses{{From: r(7, 2), By: syscall}}},
	}},
	{ID: uapi.FuncSysClose, Topic: "syscalls", Since: r(5, 14), Protos: protos{
		{Args: args{anything}, Uses: uses{{Until: r(7, 2), By: syscall}}},
		{Args: args{anything}, Attr: MightSleep, Uses: uses{{From: r(7, 2), By: syscall}}},
	}},
	{ID: uapi.FuncKallsymsLookupName, Topic: "symbols", Since: r(5, 16), Protos: protos{
		{Args: args{mem, size, anything, fixedAligned(8)}, Uses: uses{{Until: r(5, 17), By: syscall}}},
		{Args: args{mem, sizeOrZero, anything, fixedAligned(8)}, Uses: writtenFixed.from(r(5, 17)).others(syscall)},
		{Args: args{mem, sizeOrZero, anything, fixedOut(8)}, Uses: writtenFixed.until(r(6, 18)).uses(syscall)},
		{Args: args{memIn, sizeOrZero, anything, fixedOut(8)}, Uses: uses{{From: r(6, 18), By: syscall}}},
	}},
	{ID: uapi.FuncImaFileHash, Topic: "files", Since: r(5, 18), Protos: protos{
		{Args: args{btfID("file"), memOut, size}, Attr: MightSleep, Only: SleepableHooks, Uses: uses{{By: lsmAny}}},
	}},
}
