package proto

import "github.com/bpfrun/bpfrun/internal/uapi"

// cgroupRows are the helpers for cgroups and sysctl.
var cgroupRows = []Helper{
	{ID: uapi.FuncSkbUnderCgroup, Topic: "cgroups", Since: r(4, 8), Protos: protos{
		{Args: args{ctx, constMap, anything}, Uses: uses{{By: lwt | sched}}},
	}},
	{ID: uapi.FuncSkbCgroupId, Topic: "cgroups", Since: r(4, 18), Protos: protos{
		{Args: args{ctx}, Uses: uses{{By: sched | cgroupSkb}}},
	}},
	{ID: uapi.FuncSkbAncestorCgroupId, Topic: "cgroups", Since: r(4, 19), Protos: protos{
		{Args: args{ctx, anything}, Uses: uses{{By: sched | cgroupSkb}}},
	}},
	{ID: uapi.FuncSysctlGetName, Topic: "sysctl", Since: r(5, 2), Protos: protos{
		{Args: args{ctx, mem, size, anything}, Uses: uses{{Until: r(6, 17), By: sysctl}}},
		{Args: args{ctx, memInOut, size, anything}, Uses: uses{{From: r(6, 17), By: sysctl}}},
	}},
	{ID: uapi.FuncSysctlGetCurrentValue, Topic: "sysctl", Since: r(5, 2), Protos: protos{
		{Args: args{ctx, memOut, size}, Uses: uses{{By: sysctl}}},
	}},
	{ID: uapi.FuncSysctlGetNewValue, Topic: "sysctl", Since: r(5, 2), Protos: protos{
		{Args: args{ctx, memOut, size}, Uses: uses{{By: sysctl}}},
	}},
	{ID: uapi.FuncSysctlSetNewValue, Topic: "sysctl", Since: r(5, 2), Protos: protos{
		{Args: args{ctx, memIn, size}, Uses: uses{{By: sysctl}}},
	}},
	{ID: uapi.FuncSkbCgroupClassid, Topic: "cgroups", Since: r(5, 10), Protos: protos{
		{Args: args{ctx}, Uses: uses{{By: sched}}},
	}},
	{ID: uapi.FuncGetRetval, Topic: "cgroups", Since: r(5, 18), Protos: protos{
		{Uses: uses{{By: sockopt | lsmCgroups}, {Until: r(6, 1), By: cgroupDevice | sysctl}, {From: r(6, 1), By: cgroupSock | addrConnect | addrBind}, {From: r(6, 6), Until: r(6, 7), By: addrUnixName}}},
	}},
	{ID: uapi.FuncSetRetval, Topic: "cgroups", Since: r(5, 18), Protos: protos{
		{Args: args{anything}, Uses: uses{{By: sockopt | lsmCgroups}, {Until: r(6, 1), By: cgroupDevice | sysctl}, {From: r(6, 1), By: cgroupSock | addrConnect | addrBind}, {From: r(6, 6), Until: r(6, 7), By: addrUnixName}}},
	}},
}
