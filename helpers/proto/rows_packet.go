package proto

import "github.com/bpfrun/bpfrun/internal/uapi"

// packetRows are the helpers for packets, checksums and tunnels.
var packetRows = []Helper{
	{ID: uapi.FuncSkbStoreBytes, Topic: "packets", Since: r(4, 1), Effects: ChangesPacket, Protos: protos{
		{Args: args{ctx, anything, memIn, size, anything}, Uses: uses{{By: sched | lwtXmit | skSkb}}},
	}},
	{ID: uapi.FuncL3CsumReplace, Topic: "checksums", Since: r(4, 1), Effects: ChangesPacket, Protos: protos{
		{Args: args{ctx, anything, anything, anything, anything}, Uses: uses{{By: sched | lwtXmit}}},
	}},
	{ID: uapi.FuncL4CsumReplace, Topic: "checksums", Since: r(4, 1), Effects: ChangesPacket, Protos: protos{
		{Args: args{ctx, anything, anything, anything, anything}, Uses: uses{{By: sched | lwtXmit}}},
	}},
	{ID: uapi.FuncGetCgroupClassid, Topic: "packets", Since: r(4, 3), Protos: protos{
		{Uses: uses{{By: sockAddr | cgroupSock | skMsg}, {From: r(6, 1), By: sockopt | cgroupDevice | sysctl}, {From: r(6, 16), By: tracers | structOpsAny | socketFilter | xdp | cgroupSkb | sockOps | skSkb | skReuseport | flowDissector | skLookup | netfilter}}},
		{Args: args{ctx}, Uses: uses{{By: lwt | sched}}},
	}},
	{ID: uapi.FuncSkbVlanPush, Topic: "packets", Since: r(4, 3), Effects: ChangesPacket, Protos: protos{
		{Args: args{ctx, anything, anything}, Uses: uses{{By: sched}}},
	}},
	{ID: uapi.FuncSkbVlanPop, Topic: "packets", Since: r(4, 3), Effects: ChangesPacket, Protos: protos{
		{Args: args{ctx}, Uses: uses{{By: sched}}},
	}},
	{ID: uapi.FuncSkbGetTunnelKey, Topic: "tunnels", Since: r(4, 3), Protos: protos{
		{Args: args{ctx, memOut, size, anything}, Uses: uses{{By: sched | lwtXmit}}},
	}},
	{ID: uapi.FuncSkbSetTunnelKey, Topic: "tunnels", Since: r(4, 3), Protos: protos{
		{Args: args{ctx, memIn, size, anything}, Uses: uses{{By: sched | lwtXmit}}},
	}},
	{ID: uapi.FuncGetRouteRealm, Topic: "packets", Since: r(4, 4), Protos: protos{
		{Args: args{ctx}, Uses: uses{{By: lwt | sched}}},
	}},
	{ID: uapi.FuncSkbLoadBytes, Topic: "packets", Since: r(4, 5), Protos: protos{
		{Args: args{ctx, anything, memOut, size}, Uses: uses{{By: lwt | socketFilter | sched | cgroupSkb | skSkb | skReuseport | flowDissector}}},
	}},
	{ID: uapi.FuncCsumDiff, Topic: "checksums", Since: r(4, 6), Protos: protos{
		{Args: args{memInOrNull, sizeOrZero, memInOrNull, sizeOrZero, anything}, Attr: PacketAccess, Uses: uses{{By: lwt | sched | xdp}}},
	}},
	{ID: uapi.FuncSkbGetTunnelOpt, Topic: "tunnels", Since: r(4, 6), Protos: protos{
		{Args: args{ctx, memOut, size}, Uses: uses{{By: sched | lwtXmit}}},
	}},
	{ID: uapi.FuncSkbSetTunnelOpt, Topic: "tunnels", Since: r(4, 6), Protos: protos{
		{Args: args{ctx, memIn, size}, Uses: uses{{By: sched | lwtXmit}}},
	}},
	{ID: uapi.FuncSkbChangeProto, Topic: "packets", Since: r(4, 8), Effects: ChangesPacket, Protos: protos{
		{Args: args{ctx, anything, anything}, Uses: uses{{By: sched}}},
	}},
	{ID: uapi.FuncSkbChangeType, Topic: "packets", Since: r(4, 8), Protos: protos{
		{Args: args{ctx, anything}, Uses: uses{{By: sched}}},
	}},
	{ID: uapi.FuncGetHashRecalc, Topic: "packets", Since: r(4, 8), Protos: protos{
		{Args: args{ctx}, Uses: uses{{By: lwt | sched}}},
	}},
	{ID: uapi.FuncSkbChangeTail, Topic: "packets", Since: r(4, 9), Effects: ChangesPacket, Protos: protos{
		{Args: args{ctx, anything, anything}, Uses: uses{{By: sched | lwtXmit | skSkb}}},
	}},
	{ID: uapi.FuncSkbPullData, Topic: "packets", Since: r(4, 9), Effects: ChangesPacket, Protos: protos{
		{Args: args{ctx, anything}, Uses: uses{{By: (lwt &^ lwtSeg6) | sched | skSkb}, {Until: r(7, 2), By: lwtSeg6}}},
	}},
	{ID: uapi.FuncCsumUpdate, Topic: "checksums", Since: r(4, 9), Protos: protos{
		{Args: args{ctx, anything}, Uses: uses{{By: sched | lwtXmit}}},
	}},
	{ID: uapi.FuncSetHashInvalid, Topic: "packets", Since: r(4, 9), Protos: protos{
		{Args: args{ctx}, Uses: uses{{By: sched | lwtXmit}}},
	}},
	{ID: uapi.FuncSkbChangeHead, Topic: "packets", Since: r(4, 10), Effects: ChangesPacket, Protos: protos{
		{Args: args{ctx, anything, anything}, Uses: uses{{By: sched | lwtXmit | skSkb}}},
	}},
	{ID: uapi.FuncXDPAdjustHead, Topic: "packets", Since: r(4, 10), Effects: ChangesPacket, Protos: protos{
		{Args: args{ctx, anything}, Uses: uses{{By: xdp}}},
	}},
	{ID: uapi.FuncSetHash, Topic: "packets", Since: r(4, 13), Protos: protos{
		{Args: args{ctx, anything}, Uses: uses{{By: sched}}},
	}},
	{ID: uapi.FuncSkbAdjustRoom, Topic: "packets", Since: r(4, 13), Effects: ChangesPacket, Protos: protos{
		{Args: args{ctx, anything, anything, anything}, Uses: uses{{By: sched | skSkb}}},
	}},
	{ID: uapi.FuncXDPAdjustMeta, Topic: "packets", Since: r(4, 15), Effects: ChangesPacket, Protos: protos{
		{Args: args{ctx, anything}, Uses: uses{{By: xdp}}},
	}},
	{ID: uapi.FuncXDPAdjustTail, Topic: "packets", Since: r(4, 18), Effects: ChangesPacket, Protos: protos{
		{Args: args{ctx, anything}, Uses: uses{{By: xdp}}},
	}},
	{ID: uapi.FuncSkbGetXfrmState, Topic: "packets", Since: r(4, 18), Protos: protos{
		{Args: args{ctx, anything, memOut, size, anything}, Uses: uses{{By: sched}}},
	}},
	{ID: uapi.FuncSkbLoadBytesRelative, Topic: "packets", Since: r(4, 18), Protos: protos{
		{Args: args{ctx, anything, memOut, size, anything}, Uses: uses{{By: socketFilter | sched | cgroupSkb | skReuseport}}},
	}},
	{ID: uapi.FuncLwtPushEncap, Topic: "packets", Since: r(4, 18), Effects: ChangesPacket, Protos: protos{
		{Args: args{ctx, anything, memIn, size}, Uses: uses{{By: lwtIn | lwtXmit}}},
	}},
	{ID: uapi.FuncLwtSeg6StoreBytes, Topic: "packets", Since: r(4, 18), Effects: ChangesPacket, Protos: protos{
		{Args: args{ctx, anything, memIn, size}, Uses: uses{{By: lwtSeg6}}},
	}},
	{ID: uapi.FuncLwtSeg6AdjustSrh, Topic: "packets", Since: r(4, 18), Effects: ChangesPacket, Protos: protos{
		{Args: args{ctx, anything, anything}, Uses: uses{{By: lwtSeg6}}},
	}},
	{ID: uapi.FuncLwtSeg6Action, Topic: "packets", Since: r(4, 18), Effects: ChangesPacket, Protos: protos{
		{Args: args{ctx, anything, memIn, size}, Uses: uses{{By: lwtSeg6}}},
	}},
	{ID: uapi.FuncSkbEcnSetCe, Topic: "packets", Since: r(5, 1), Protos: protos{
		{Args: args{ctx}, Uses: uses{{By: sched | cgroupSkb}}},
	}},
	{ID: uapi.FuncCsumLevel, Topic: "checksums", Since: r(5, 8), Protos: protos{
		{Args: args{ctx, anything}, Uses: uses{{By: sched | lwtXmit}}},
	}},
	{ID: uapi.FuncXDPGetBuffLen, Topic: "packets", Since: r(5, 18), Protos: protos{
		{Args: args{btfID("xdp_buff")}, Uses: uses{{By: typed}}},
		{Args: args{ctx}, Uses: uses{{By: xdp}}},
	}},
	{ID: uapi.FuncXDPLoadBytes, Topic: "packets", Since: r(5, 18), Protos: protos{
		{Args: args{ctx, anything, memOut, size}, Uses: uses{{By: xdp}}},
	}},
	{ID: uapi.FuncXDPStoreBytes, Topic: "packets", Since: r(5, 18), Protos: protos{
		{Args: args{ctx, anything, memIn, size}, Uses: storeBytesFixed.uses(xdp)},
		{Args: args{ctx, anything, memOut, size}, Uses: storeBytesFixed.others(xdp)},
	}},
	{ID: uapi.FuncSkbSetTstamp, Topic: "packets", Since: r(5, 18), Protos: protos{
		{Args: args{ctx, anything, anything}, Uses: uses{{By: sched}}},
	}},
}
