package proto

import "github.com/bpfrun/bpfrun/internal/uapi"

// mapRows are the helpers for maps and their elements.
var mapRows = []Helper{
	{ID: uapi.FuncMapLookupElem, Topic: "maps", Since: r(3, 18), Effects: AcquiresSocket, Protos: protos{
		{Args: args{constMap, mapKey}, Ret: mapValueOrNullRet, Attr: PacketAccess, Uses: uses{{By: all}}},
	}},
	{ID: uapi.FuncMapUpdateElem, Topic: "maps", Since: r(3, 18), Protos: protos{
		{Args: args{constMap, mapKey, mapValue, anything}, Attr: PacketAccess, Uses: uses{{By: all}}},
	}},
	{ID: uapi.FuncMapDeleteElem, Topic: "maps", Since: r(3, 19), Protos: protos{
		{Args: args{constMap, mapKey}, Attr: PacketAccess, Uses: uses{{By: all}}},
	}},
	{ID: uapi.FuncMapPushElem, Topic: "maps", Since: r(4, 20), Protos: protos{
		{Args: args{constMap, mapValue, anything}, Attr: PacketAccess, Uses: uses{{By: all}}},
	}},
	{ID: uapi.FuncMapPopElem, Topic: "maps", Since: r(4, 20), Protos: protos{
		{Args: args{constMap, mapValueOut}, Uses: uses{{By: all}}},
	}},
	{ID: uapi.FuncMapPeekElem, Topic: "maps", Since: r(4, 20), Protos: protos{
		{Args: args{constMap, mapValueOut}, Uses: uses{{By: all}}},
	}},
	{ID: uapi.FuncForEachMapElem, Topic: "maps", Since: r(5, 13), Effects: CallsBack, Protos: protos{
		{Args: args{constMap, callback, stackOrNull, anything}, Uses: uses{{By: base}}},
	}},
	{ID: uapi.FuncMapLookupPercpuElem, Topic: "maps", Since: r(5, 19), Protos: protos{
		{Args: args{constMap, mapKey, anything}, Ret: mapValueOrNullRet, Attr: PacketAccess, Uses: uses{{By: base}}},
	}},
}
