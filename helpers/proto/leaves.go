package proto

import "github.com/bpfrun/bpfrun/internal/uapi"

// Leaving says how the memory that a helper reads leaves the program.
type Leaving struct {
	// Does completes "bpf_x ... 4 bytes": "sends".
	Does string
	// To is where the bytes are then. It is empty if the helper's map is the place.
	To string
}

// leaving has the helpers whose memory arguments user space, the network or a trace gets to see.
var leaving = map[uapi.FuncID]Leaving{
	uapi.FuncPerfEventOutput:     {"sends", ""},
	uapi.FuncSkbOutput:           {"sends", ""},
	uapi.FuncXDPOutput:           {"sends", ""},
	uapi.FuncRingbufOutput:       {"sends", ""},
	uapi.FuncRingbufSubmit:       {"sends", ""},
	uapi.FuncRingbufSubmitDynptr: {"sends", ""},
	uapi.FuncDynptrWrite:         {"stores", "the dynptr"},
	uapi.FuncMapUpdateElem:       {"stores", ""},
	uapi.FuncMapPushElem:         {"stores", ""},
	uapi.FuncSkStorageGet:        {"stores", ""},
	uapi.FuncTaskStorageGet:      {"stores", ""},
	uapi.FuncInodeStorageGet:     {"stores", ""},
	uapi.FuncCgrpStorageGet:      {"stores", ""},
	uapi.FuncProbeWriteUser:      {"writes", "user memory"},
	uapi.FuncTraceVprintk:        {"prints", "the trace"},
	uapi.FuncSeqPrintf:           {"prints", "the iterator's output"},
	uapi.FuncSeqWrite:            {"writes", "the iterator's output"},
	uapi.FuncSetsockopt:          {"sets", "a socket option"},
	uapi.FuncSysctlSetNewValue:   {"sets", "a sysctl"},
	uapi.FuncSkbStoreBytes:       {"stores", "the packet"},
	uapi.FuncXDPStoreBytes:       {"stores", "the packet"},
	uapi.FuncLwtSeg6StoreBytes:   {"stores", "the packet"},
	uapi.FuncLwtPushEncap:        {"stores", "the packet"},
	uapi.FuncSkbSetTunnelKey:     {"sets", "the packet's tunnel"},
	uapi.FuncSkbSetTunnelOpt:     {"sets", "the packet's tunnel options"},
	uapi.FuncStoreHdrOpt:         {"stores", "the packet"},
}

// Leaves returns how memory leaves a program by a helper; ok is false if it does not.
func Leaves(id uapi.FuncID) (l Leaving, ok bool) {
	l, ok = leaving[id]
	return l, ok
}
