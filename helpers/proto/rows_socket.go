package proto

import "github.com/bpfrun/bpfrun/internal/uapi"

// socketRows are the helpers for sockets.
var socketRows = []Helper{
	{ID: uapi.FuncGetSocketCookie, Topic: "sockets", Since: r(4, 12), Protos: protos{
		{Args: args{ctx}, Uses: uses{{By: sockAddr | cgroupSock | socketFilter | sched | cgroupSkb | sockOps | skSkb}}},
		{Args: args{btfSockOrNull}, Uses: uses{{From: r(6, 4), By: typed | skReuseport}}},
		{Args: args{btfSock}, Uses: uses{{From: r(5, 12), Until: r(6, 4), By: typed}, {From: r(5, 14), Until: r(6, 4), By: skReuseport}}},
	}},
	{ID: uapi.FuncGetSocketUid, Topic: "sockets", Since: r(4, 12), Protos: protos{
		{Args: args{ctx}, Uses: uses{{By: socketFilter | sched | cgroupSkb | skSkb}}},
	}},
	{ID: uapi.FuncSkRedirectMap, Topic: "sockets", Since: r(4, 14), Protos: protos{
		{Args: args{ctx, constMap, anything, anything}, Uses: uses{{By: skSkb}}},
	}},
	{ID: uapi.FuncSockMapUpdate, Topic: "sockets", Since: r(4, 14), Protos: protos{
		{Args: args{ctx, constMap, mapKey, anything}, Attr: PacketAccess, Uses: uses{{By: sockOps}}},
	}},
	{ID: uapi.FuncMsgRedirectMap, Topic: "sockets", Since: r(4, 17), Protos: protos{
		{Args: args{ctx, constMap, anything, anything}, Uses: uses{{By: skMsg}}},
	}},
	{ID: uapi.FuncMsgApplyBytes, Topic: "sockets", Since: r(4, 17), Protos: protos{
		{Args: args{ctx, anything}, Uses: uses{{By: skMsg}}},
	}},
	{ID: uapi.FuncMsgCorkBytes, Topic: "sockets", Since: r(4, 17), Protos: protos{
		{Args: args{ctx, anything}, Uses: uses{{By: skMsg}}},
	}},
	{ID: uapi.FuncMsgPullData, Topic: "sockets", Since: r(4, 17), Effects: ChangesPacket, Protos: protos{
		{Args: args{ctx, anything, anything, anything}, Uses: uses{{By: skMsg}}},
	}},
	{ID: uapi.FuncBind, Topic: "sockets", Since: r(4, 17), Protos: protos{
		{Args: args{ctx, memIn, size}, Uses: uses{{By: addrConnect}}},
	}},
	{ID: uapi.FuncSockHashUpdate, Topic: "sockets", Since: r(4, 18), Protos: protos{
		{Args: args{ctx, constMap, mapKey, anything}, Attr: PacketAccess, Uses: uses{{By: sockOps}}},
	}},
	{ID: uapi.FuncMsgRedirectHash, Topic: "sockets", Since: r(4, 18), Protos: protos{
		{Args: args{ctx, constMap, mapKey, anything}, Uses: uses{{By: skMsg}}},
	}},
	{ID: uapi.FuncSkRedirectHash, Topic: "sockets", Since: r(4, 18), Protos: protos{
		{Args: args{ctx, constMap, mapKey, anything}, Uses: uses{{By: skSkb}}},
	}},
	{ID: uapi.FuncSkSelectReuseport, Topic: "sockets", Since: r(4, 19), Protos: protos{
		{Args: args{ctx, constMap, mapKey, anything}, Uses: uses{{By: skReuseport}}},
	}},
	{ID: uapi.FuncSkLookupTcp, Topic: "sockets", Since: r(4, 20), Effects: Acquires, Protos: protos{
		{Args: args{ctx, memIn, size, anything, anything}, Ret: Return{Kind: RetSocket, Flags: MaybeNull}, Attr: PacketAccess, Uses: uses{{Until: r(6, 11), By: sched | xdp | cgroupSkb | skSkb}}},
		{Args: args{ctx, memIn, sizeOrZero, anything, anything}, Ret: Return{Kind: RetSocket, Flags: MaybeNull}, Uses: uses{{From: r(6, 11), By: sockAddr}}},
		{Args: args{ctx, memIn, sizeOrZero, anything, anything}, Ret: Return{Kind: RetSocket, Flags: MaybeNull}, Attr: PacketAccess, Uses: uses{{From: r(6, 11), By: sched | xdp | cgroupSkb | skSkb}}},
		{Args: args{ctx, memIn, size, anything, anything}, Ret: Return{Kind: RetSocket, Flags: MaybeNull}, Uses: uses{{Until: r(6, 11), By: sockAddr}}},
	}},
	{ID: uapi.FuncSkLookupUdp, Topic: "sockets", Since: r(4, 20), Effects: Acquires, Protos: protos{
		{Args: args{ctx, memIn, size, anything, anything}, Ret: Return{Kind: RetSocket, Flags: MaybeNull}, Attr: PacketAccess, Uses: uses{{Until: r(6, 11), By: sched | xdp | cgroupSkb | skSkb}}},
		{Args: args{ctx, memIn, sizeOrZero, anything, anything}, Ret: Return{Kind: RetSocket, Flags: MaybeNull}, Uses: uses{{From: r(6, 11), By: sockAddr}}},
		{Args: args{ctx, memIn, sizeOrZero, anything, anything}, Ret: Return{Kind: RetSocket, Flags: MaybeNull}, Attr: PacketAccess, Uses: uses{{From: r(6, 11), By: sched | xdp | cgroupSkb | skSkb}}},
		{Args: args{ctx, memIn, size, anything, anything}, Ret: Return{Kind: RetSocket, Flags: MaybeNull}, Uses: uses{{Until: r(6, 11), By: sockAddr}}},
	}},
	{ID: uapi.FuncSkRelease, Topic: "sockets", Since: r(4, 20), Protos: protos{
		{Args: args{btfSockRelease}, Uses: uses{{By: sockAddr | sched | xdp | cgroupSkb | skSkb | skLookup}}},
	}},
	{ID: uapi.FuncMsgPushData, Topic: "sockets", Since: r(4, 20), Effects: ChangesPacket, Protos: protos{
		{Args: args{ctx, anything, anything, anything}, Uses: uses{{By: skMsg}}},
	}},
	{ID: uapi.FuncMsgPopData, Topic: "sockets", Since: r(5, 0), Effects: ChangesPacket, Protos: protos{
		{Args: args{ctx, anything, anything, anything}, Uses: uses{{By: skMsg}}},
	}},
	{ID: uapi.FuncSkFullsock, Topic: "sockets", Since: r(5, 1), Effects: Casts, Protos: protos{
		{Args: args{sockCommon}, Ret: Return{Kind: RetSocket, Flags: MaybeNull}, Uses: uses{{By: sched | cgroupSkb}}},
	}},
	{ID: uapi.FuncTcpSock, Topic: "sockets", Since: r(5, 1), Effects: Casts, Protos: protos{
		{Args: args{sockCommon}, Ret: Return{Kind: RetTCPSock, Flags: MaybeNull}, Uses: uses{{By: sockopt | sched | cgroupSkb | sockOps}}},
	}},
	{ID: uapi.FuncGetListenerSock, Topic: "sockets", Since: r(5, 1), Protos: protos{
		{Args: args{sockCommon}, Ret: Return{Kind: RetSocket, Flags: MaybeNull}, Uses: uses{{By: sched | cgroupSkb}}},
	}},
	{ID: uapi.FuncSkcLookupTcp, Topic: "sockets", Since: r(5, 2), Effects: Acquires, Protos: protos{
		{Args: args{ctx, memIn, size, anything, anything}, Ret: Return{Kind: RetSockCommon, Flags: MaybeNull}, Attr: PacketAccess, Uses: uses{{Until: r(6, 11), By: sched | xdp | cgroupSkb | skSkb}}},
		{Args: args{ctx, memIn, sizeOrZero, anything, anything}, Ret: Return{Kind: RetSockCommon, Flags: MaybeNull}, Uses: uses{{From: r(6, 11), By: sockAddr}}},
		{Args: args{ctx, memIn, sizeOrZero, anything, anything}, Ret: Return{Kind: RetSockCommon, Flags: MaybeNull}, Attr: PacketAccess, Uses: uses{{From: r(6, 11), By: sched | xdp | cgroupSkb | skSkb}}},
		{Args: args{ctx, memIn, size, anything, anything}, Ret: Return{Kind: RetSockCommon, Flags: MaybeNull}, Uses: uses{{Until: r(6, 11), By: sockAddr}}},
	}},
	{ID: uapi.FuncTcpCheckSyncookie, Topic: "sockets", Since: r(5, 2), Protos: protos{
		{Args: args{btfSock, memIn, size, memIn, size}, Attr: GPLOnly | PacketAccess, Uses: uses{{By: sched | xdp}}},
	}},
	{ID: uapi.FuncTcpGenSyncookie, Topic: "sockets", Since: r(5, 4), Protos: protos{
		{Args: args{btfSock, memIn, size, memIn, size}, Attr: GPLOnly | PacketAccess, Uses: uses{{By: sched | xdp}}},
	}},
	{ID: uapi.FuncGetNetnsCookie, Topic: "sockets", Since: r(5, 7), Protos: protos{
		{Args: args{ctxOrNull}, Uses: uses{{By: sockAddr | cgroupSock}, {From: r(5, 15), By: sockopt | sockOps | skMsg}, {From: r(6, 13), By: sched}, {From: r(6, 15), By: socketFilter | cgroupSkb}}},
	}},
	{ID: uapi.FuncSkAssign, Topic: "sockets", Since: r(5, 7), Protos: protos{
		{Args: args{ctx, btfSock, anything}, Uses: uses{{By: sched}}},
		{Args: args{ctx, socketOrNull, anything}, Uses: uses{{By: skLookup}}},
	}},
	{ID: uapi.FuncSkCgroupId, Topic: "sockets", Since: r(5, 8), Protos: protos{
		{Args: args{btfSock}, Uses: uses{{By: cgroupSkb}}},
	}},
	{ID: uapi.FuncSkAncestorCgroupId, Topic: "sockets", Since: r(5, 8), Protos: protos{
		{Args: args{btfSock, anything}, Uses: uses{{By: cgroupSkb}}},
	}},
	{ID: uapi.FuncSkcToTcp6Sock, Topic: "sockets", Since: r(5, 9), Effects: Casts, Protos: protos{
		{Args: args{btfSock}, Ret: Return{Kind: RetBTFID, Flags: MaybeNull, BTF: "tcp6_sock"}, Uses: uses{{By: netSk | typed | sockAddr}}},
	}},
	{ID: uapi.FuncSkcToTcpSock, Topic: "sockets", Since: r(5, 9), Effects: Casts, Protos: protos{
		{Args: args{btfSock}, Ret: Return{Kind: RetBTFID, Flags: MaybeNull, BTF: "tcp_sock"}, Uses: uses{{By: netSk | typed | sockAddr}}},
	}},
	{ID: uapi.FuncSkcToTcpTimewaitSock, Topic: "sockets", Since: r(5, 9), Effects: Casts, Protos: protos{
		{Args: args{btfSock}, Ret: Return{Kind: RetBTFID, Flags: MaybeNull, BTF: "tcp_timewait_sock"}, Uses: uses{{By: netSk | typed | sockAddr}}},
	}},
	{ID: uapi.FuncSkcToTcpRequestSock, Topic: "sockets", Since: r(5, 9), Effects: Casts, Protos: protos{
		{Args: args{btfSock}, Ret: Return{Kind: RetBTFID, Flags: MaybeNull, BTF: "tcp_request_sock"}, Uses: uses{{By: netSk | typed | sockAddr}}},
	}},
	{ID: uapi.FuncSkcToUdp6Sock, Topic: "sockets", Since: r(5, 9), Effects: Casts, Protos: protos{
		{Args: args{btfSock}, Ret: Return{Kind: RetBTFID, Flags: MaybeNull, BTF: "udp6_sock"}, Uses: uses{{By: netSk | typed | sockAddr}}},
	}},
	{ID: uapi.FuncSockFromFile, Topic: "sockets", Since: r(5, 11), Protos: protos{
		{Args: args{btfID("file")}, Ret: Return{Kind: RetBTFID, Flags: MaybeNull, BTF: "socket"}, Uses: uses{{By: typed}}},
	}},
	{ID: uapi.FuncSkcToUnixSock, Topic: "sockets", Since: r(5, 16), Protos: protos{
		{Args: args{btfSock}, Ret: Return{Kind: RetBTFID, Flags: MaybeNull, BTF: "unix_sock"}, Uses: uses{{By: netSk | typed | sockAddr}}},
	}},
	{ID: uapi.FuncSkcToMptcpSock, Topic: "sockets", Since: r(5, 19), Effects: Casts, Protos: protos{
		{Args: args{sockCommon}, Ret: Return{Kind: RetBTFID, Flags: MaybeNull, BTF: "mptcp_sock"}, Uses: uses{{By: netSk | typed | sockAddr}}},
	}},
	{ID: uapi.FuncTcpRawGenSyncookieIpv4, Topic: "sockets", Since: r(6, 0), Protos: protos{
		{Args: args{fixed(20), mem, sizeOrZero}, Attr: GPLOnly | PacketAccess, Uses: uses{{From: r(6, 3), Until: r(6, 18), By: sched | xdp}}},
		{Args: args{fixedIn(20), memIn, sizeOrZero}, Attr: GPLOnly | PacketAccess, Uses: uses{{From: r(6, 18), By: sched | xdp}}},
		{Args: args{fixed(20), mem, size}, Attr: GPLOnly | PacketAccess, Uses: uses{{Until: r(6, 3), By: sched | xdp}}},
	}},
	{ID: uapi.FuncTcpRawGenSyncookieIpv6, Topic: "sockets", Since: r(6, 0), Protos: protos{
		{Args: args{fixed(40), mem, sizeOrZero}, Attr: GPLOnly | PacketAccess, Uses: uses{{From: r(6, 3), Until: r(6, 18), By: sched | xdp}}},
		{Args: args{fixedIn(40), memIn, sizeOrZero}, Attr: GPLOnly | PacketAccess, Uses: uses{{From: r(6, 18), By: sched | xdp}}},
		{Args: args{fixed(40), mem, size}, Attr: GPLOnly | PacketAccess, Uses: uses{{Until: r(6, 3), By: sched | xdp}}},
	}},
	{ID: uapi.FuncTcpRawCheckSyncookieIpv4, Topic: "sockets", Since: r(6, 0), Protos: protos{
		{Args: args{fixed(20), fixed(20)}, Attr: GPLOnly | PacketAccess, Uses: uses{{Until: r(6, 18), By: sched | xdp}}},
		{Args: args{fixedIn(20), fixedIn(20)}, Attr: GPLOnly | PacketAccess, Uses: uses{{From: r(6, 18), By: sched | xdp}}},
	}},
	{ID: uapi.FuncTcpRawCheckSyncookieIpv6, Topic: "sockets", Since: r(6, 0), Protos: protos{
		{Args: args{fixed(40), fixed(20)}, Attr: GPLOnly | PacketAccess, Uses: uses{{Until: r(6, 18), By: sched | xdp}}},
		{Args: args{fixedIn(40), fixedIn(20)}, Attr: GPLOnly | PacketAccess, Uses: uses{{From: r(6, 18), By: sched | xdp}}},
	}},
}
