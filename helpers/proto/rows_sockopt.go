package proto

import "github.com/bpfrun/bpfrun/internal/uapi"

// sockoptRows are the helpers for socket options and TCP headers.
var sockoptRows = []Helper{
	{ID: uapi.FuncSetsockopt, Topic: "sockets", Since: r(4, 13), Protos: protos{
		{Args: args{btfSock, anything, anything, memIn, size}, Uses: uses{{From: r(5, 15), By: setsockopt | iterTCP | tcpCC | lsmCgroupSock}, {From: r(5, 18), By: iterUnix}}},
		{Args: args{ctx, anything, anything, memIn, size}, Uses: uses{{By: sockOps | addrConnect}, {From: r(5, 12), By: addrBind | addrName}, {From: r(6, 7), Until: r(7, 2), By: addrUnixName}, {From: r(6, 19), By: sockCreate}}},
	}},
	{ID: uapi.FuncGetsockopt, Topic: "sockets", Since: r(4, 15), Protos: protos{
		{Args: args{btfSock, anything, anything, memOut, size}, Uses: uses{{From: r(5, 15), By: setsockopt | iterTCP | tcpCC | lsmCgroupSock}, {From: r(5, 18), By: iterUnix}}},
		{Args: args{ctx, anything, anything, memOut, size}, Uses: uses{{By: sockOps | addrConnect}, {From: r(5, 12), By: addrBind | addrName}, {From: r(6, 7), Until: r(7, 2), By: addrUnixName}, {From: r(6, 19), By: sockCreate}}},
	}},
	{ID: uapi.FuncSockOpsCbFlagsSet, Topic: "sockets", Since: r(4, 16), Protos: protos{
		{Args: args{ctx, anything}, Uses: uses{{By: sockOps}}},
	}},
	{ID: uapi.FuncTcpSendAck, Topic: "sockets", Since: r(5, 6), Protos: protos{
		{Args: args{btfID("tcp_sock"), anything}, Uses: uses{{By: tcpCCAny}}},
	}},
	{ID: uapi.FuncLoadHdrOpt, Topic: "sockets", Since: r(5, 10), Protos: protos{
		{Args: args{ctx, memInOut, size, anything}, Uses: uses{{From: r(6, 1), Until: r(6, 2), By: sockOps}, {From: r(6, 6), Until: r(6, 7), By: sockOps}, {From: r(6, 12), By: sockOps}}},
		{Args: args{ctx, mem, size, anything}, Uses: uses{{Until: r(6, 1), By: sockOps}, {From: r(6, 2), Until: r(6, 6), By: sockOps}, {From: r(6, 7), Until: r(6, 12), By: sockOps}}},
	}},
	{ID: uapi.FuncStoreHdrOpt, Topic: "sockets", Since: r(5, 10), Effects: ChangesPacket, Protos: protos{
		{Args: args{ctx, memIn, size, anything}, Uses: uses{{By: sockOps}}},
	}},
	{ID: uapi.FuncReserveHdrOpt, Topic: "sockets", Since: r(5, 10), Protos: protos{
		{Args: args{ctx, anything, anything}, Uses: uses{{By: sockOps}}},
	}},
}
