package proto

import "github.com/bpfrun/bpfrun/internal/uapi"

// routeRows are the helpers for routes and redirects.
var routeRows = []Helper{
	{ID: uapi.FuncCloneRedirect, Topic: "redirects", Since: r(4, 2), Effects: ChangesPacket, Protos: protos{
		{Args: args{ctx, anything, anything}, Uses: uses{{By: sched | lwtXmit}}},
	}},
	{ID: uapi.FuncRedirect, Topic: "redirects", Since: r(4, 4), Protos: protos{
		{Args: args{anything, anything}, Uses: uses{{By: sched | xdp | lwtXmit}}},
	}},
	{ID: uapi.FuncRedirectMap, Topic: "redirects", Since: r(4, 14), Protos: protos{
		{Args: args{constMap, anything, anything}, Uses: uses{{By: xdp}}},
	}},
	{ID: uapi.FuncFibLookup, Topic: "routes", Since: r(4, 18), Protos: protos{
		{Args: args{ctx, mem, size, anything}, Attr: GPLOnly, Uses: uses{{Until: r(6, 18), By: sched | xdp}}},
		{Args: args{ctx, memInOut, size, anything}, Attr: GPLOnly, Uses: uses{{From: r(6, 18), By: sched | xdp}}},
	}},
	{ID: uapi.FuncRedirectNeigh, Topic: "redirects", Since: r(5, 10), Protos: protos{
		{Args: args{anything, memInOrNull, sizeOrZero, anything}, Uses: uses{{By: sched}}},
	}},
	{ID: uapi.FuncRedirectPeer, Topic: "redirects", Since: r(5, 10), Protos: protos{
		{Args: args{anything, anything}, Uses: uses{{By: sched}}},
	}},
	{ID: uapi.FuncCheckMtu, Topic: "routes", Since: r(5, 12), Protos: protos{
		{Args: args{ctx, anything, fixedInOut(4), anything, anything}, Attr: GPLOnly, Uses: uses{{From: r(6, 6), Until: r(6, 7), By: sched | xdp}, {From: r(6, 11), By: sched | xdp}}},
		{Args: args{ctx, anything, fixedAligned(4), anything, anything}, Attr: GPLOnly, Uses: writtenFixed.others(sched | xdp)},
		{Args: args{ctx, anything, fixedOut(4), anything, anything}, Attr: GPLOnly, Uses: uses{{From: r(6, 1), Until: r(6, 2), By: sched | xdp}, {From: r(6, 10), Until: r(6, 11), By: sched | xdp}}},
	}},
}
