package proto

import "github.com/bpfrun/bpfrun/internal/uapi"

// timeRows are the helpers for the clock and timers.
var timeRows = []Helper{
	{ID: uapi.FuncKtimeGetNs, Topic: "time", Since: r(4, 1), Protos: protos{
		{Uses: uses{{By: all}}},
	}},
	{ID: uapi.FuncJiffies64, Topic: "time", Since: r(5, 6), Protos: protos{
		{Uses: uses{{By: base}}},
	}},
	{ID: uapi.FuncKtimeGetBootNs, Topic: "time", Since: r(5, 8), Protos: protos{
		{Uses: uses{{By: all}}},
	}},
	{ID: uapi.FuncKtimeGetCoarseNs, Topic: "time", Since: r(5, 11), Protos: protos{
		{Uses: uses{{By: net | tcpCCAny | skReuseport | sysctl}, {Until: r(5, 15), By: base}}},
	}},
	{ID: uapi.FuncTimerInit, Topic: "timers", Since: r(5, 15), Protos: protos{
		{Args: args{timer, constMap, anything}, Attr: GPLOnly, Uses: uses{{By: base}}},
	}},
	{ID: uapi.FuncTimerSetCallback, Topic: "timers", Since: r(5, 15), Effects: CallsBackLater, Protos: protos{
		{Args: args{timer, callback}, Attr: GPLOnly, Uses: uses{{By: base}}},
	}},
	{ID: uapi.FuncTimerStart, Topic: "timers", Since: r(5, 15), Protos: protos{
		{Args: args{timer, anything, anything}, Attr: GPLOnly, Uses: uses{{By: base}}},
	}},
	{ID: uapi.FuncTimerCancel, Topic: "timers", Since: r(5, 15), Protos: protos{
		{Args: args{timer}, Attr: GPLOnly, Uses: uses{{By: base}}},
	}},
	{ID: uapi.FuncKtimeGetTaiNs, Topic: "time", Since: r(6, 1), Protos: protos{
		{Uses: uses{{By: base}}},
	}},
}
