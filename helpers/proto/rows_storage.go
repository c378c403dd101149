package proto

import "github.com/bpfrun/bpfrun/internal/uapi"

// storageRows are the helpers for local storage.
var storageRows = []Helper{
	{ID: uapi.FuncGetLocalStorage, Topic: "storage", Since: r(4, 19), Protos: protos{
		{Args: args{constMap, anything}, Ret: Return{Kind: RetMapValue}, Uses: uses{{By: cgroups | lsmCgroups}}},
	}},
	{ID: uapi.FuncSkStorageGet, Topic: "storage", Since: r(5, 2), Effects: CreatesStorage, Protos: protos{
		{Args: args{constMap, btfSock, mapValueOrNull, anything}, Ret: mapValueOrNullRet, Uses: uses{{By: sockAddr | lsmAny | sockopt | tcpCCAny | sched | cgroupSkb | sockOps | skMsg}}},
		{Args: args{constMap, btfIDOrNull("sock_common"), mapValueOrNull, anything}, Ret: mapValueOrNullRet, Only: SockStorageTracing, Uses: uses{{From: r(6, 4), By: typed &^ lsmAny}}},
		{Args: args{constMap, ctx, mapValueOrNull, anything}, Ret: mapValueOrNullRet, Uses: uses{{By: cgroupSock}}},
		{Args: args{constMap, btfID("sock_common"), mapValueOrNull, anything}, Ret: mapValueOrNullRet, Only: SockStorageTracing, Uses: uses{{From: r(5, 11), Until: r(6, 4), By: typed &^ lsmAny}}},
	}},
	{ID: uapi.FuncSkStorageDelete, Topic: "storage", Since: r(5, 2), Protos: protos{
		{Args: args{constMap, btfSock}, Uses: uses{{By: sockAddr | lsmAny | sockopt | tcpCCAny | sched | cgroupSkb | sockOps | skMsg}}},
		{Args: args{constMap, btfIDOrNull("sock_common")}, Only: SockStorageTracing, Uses: uses{{From: r(6, 4), By: typed &^ lsmAny}}},
		{Args: args{constMap, btfID("sock_common")}, Only: SockStorageTracing, Uses: uses{{From: r(5, 11), Until: r(6, 4), By: typed &^ lsmAny}}},
	}},
	{ID: uapi.FuncInodeStorageGet, Topic: "storage", Since: r(5, 10), Effects: CreatesStorage, Protos: protos{
		{Args: args{constMap, btfIDOrNull("inode"), mapValueOrNull, anything}, Ret: mapValueOrNullRet, Uses: uses{{From: r(6, 4), By: lsmAny}}},
		{Args: args{constMap, btfID("inode"), mapValueOrNull, anything}, Ret: mapValueOrNullRet, Uses: uses{{Until: r(6, 4), By: lsmAny}}},
	}},
	{ID: uapi.FuncInodeStorageDelete, Topic: "storage", Since: r(5, 10), Protos: protos{
		{Args: args{constMap, btfIDOrNull("inode")}, Uses: uses{{From: r(6, 4), By: lsmAny}}},
		{Args: args{constMap, btfID("inode")}, Uses: uses{{Until: r(6, 4), By: lsmAny}}},
	}},
	{ID: uapi.FuncTaskStorageGet, Topic: "storage", Since: r(5, 11), Effects: CreatesStorage, Protos: protos{
		{Args: args{constMap, btfIDOrNull("task_struct"), mapValueOrNull, anything}, Ret: mapValueOrNullRet, Uses: uses{{From: r(6, 4), By: tracers}, {From: r(6, 12), By: schedExt}, {From: r(6, 16), By: net | sockopt | tcpCCAny | cgroupDevice | skReuseport | sysctl | structOps | netfilter}}},
		{Args: args{constMap, btfID("task_struct"), mapValueOrNull, anything}, Ret: mapValueOrNullRet, Uses: uses{{Until: r(5, 13), By: lsm}, {From: r(5, 13), Until: r(6, 4), By: tracers}}},
	}},
	{ID: uapi.FuncTaskStorageDelete, Topic: "storage", Since: r(5, 11), Protos: protos{
		{Args: args{constMap, btfIDOrNull("task_struct")}, Uses: uses{{From: r(6, 4), By: tracers}, {From: r(6, 12), By: schedExt}, {From: r(6, 16), By: net | sockopt | tcpCCAny | cgroupDevice | skReuseport | sysctl | structOps | netfilter}}},
		{Args: args{constMap, btfID("task_struct")}, Uses: uses{{Until: r(5, 13), By: lsm}, {From: r(5, 13), Until: r(6, 4), By: tracers}}},
	}},
	{ID: uapi.FuncCgrpStorageGet, Topic: "storage", Since: r(6, 2), Effects: CreatesStorage, Protos: protos{
		{Args: args{constMap, btfIDOrNull("cgroup"), mapValueOrNull, anything}, Ret: mapValueOrNullRet, Uses: uses{{From: r(6, 4), By: base}}},
		{Args: args{constMap, btfID("cgroup"), mapValueOrNull, anything}, Ret: mapValueOrNullRet, Uses: uses{{Until: r(6, 4), By: base}}},
	}},
	{ID: uapi.FuncCgrpStorageDelete, Topic: "storage", Since: r(6, 2), Protos: protos{
		{Args: args{constMap, btfIDOrNull("cgroup")}, Uses: uses{{From: r(6, 4), By: base}}},
		{Args: args{constMap, btfID("cgroup")}, Uses: uses{{Until: r(6, 4), By: base}}},
	}},
}
