package helpers

import (
	"slices"

	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// Arg is the kind of one parameter in a helper's prototype, in the vocabulary of
// the kernel's enum bpf_arg_type.
type Arg uint8

const (
	// ArgNone ends a prototype.
	ArgNone Arg = iota
	// ArgAny is a scalar of any value.
	ArgAny
	// ArgMap is a map handle.
	ArgMap
	// ArgKey points to key_size bytes of the map argument.
	ArgKey
	// ArgValue points to value_size bytes of the map argument.
	ArgValue
	// ArgMem points to memory the helper reads; the next argument is its size.
	ArgMem
	// ArgOut points to memory the helper writes; the next argument is its size.
	ArgOut
	// ArgSize is the size in bytes of the argument before it.
	ArgSize
	// ArgCtx is the program's context.
	ArgCtx
	// ArgString is a constant NUL-terminated string in a read-only map.
	ArgString
	// ArgPtr is a pointer into kernel or user memory that the helper checks itself.
	ArgPtr
	// ArgFunc is the address of a callback subprogram.
	ArgFunc
	// ArgRecord is a reserved ring buffer record.
	ArgRecord
	// ArgObject is a pointer to a kernel object of a known type.
	ArgObject
	// ArgLock points to a struct bpf_spin_lock in a map value.
	ArgLock
	// ArgLong points to an eight-byte result.
	ArgLong
	// ArgInt points to a four-byte value the helper reads and changes.
	ArgInt
	// ArgTimer points to a struct bpf_timer or bpf_wq in a map value.
	ArgTimer
	// ArgKptr points to a kptr field of a map value.
	ArgKptr
	// ArgIter points to an open-coded iterator on the stack.
	ArgIter
	// ArgDynptr points to a struct bpf_dynptr on the stack.
	ArgDynptr
)

var argNames = [...]string{
	ArgAny: "scalar", ArgMap: "map", ArgKey: "key", ArgValue: "value", ArgMem: "mem", ArgOut: "mem out",
	ArgSize: "size", ArgCtx: "ctx", ArgString: "const str", ArgPtr: "addr", ArgFunc: "callback",
	ArgRecord: "record", ArgObject: "object", ArgLock: "spin lock", ArgLong: "long out", ArgInt: "int", ArgIter: "iterator", ArgTimer: "timer", ArgKptr: "kptr", ArgDynptr: "dynptr",
}

// String returns the word used in documentation and traces.
func (a Arg) String() string {
	if int(a) < len(argNames) {
		return argNames[a]
	}
	return ""
}

// Helper is one helper function: its number, prototype and implementation.
type Helper struct {
	ID    uapi.FuncID
	Topic string // the group it is documented in
	Args  []Arg
	Fn    vm.HelperFunc
	// Note says how far the simulation goes where the outside world would answer.
	Note string
}

// Name returns the helper's name ("bpf_map_lookup_elem").
func (h *Helper) Name() string { return h.ID.String() }

// groups are the topic tables; each topic file adds its own.
var groups = [][]Helper{
	mapHelpers, probeHelpers, taskHelpers, timeHelpers, traceHelpers, perfHelpers, ringbufHelpers,
	stringHelpers, controlHelpers, tracingHelpers, percpuHelpers, lockHelpers, cpuHelpers,
	skbHelpers, skbRoomHelpers, csumHelpers, xdpHelpers, redirectHelpers, routeHelpers, tunnelHelpers,
	storageHelpers, timerHelpers, kptrHelpers, dynptrHelpers, userRingHelpers,
	socketHelpers, sockoptHelpers, sockOpsHelpers, sockMapHelpers, sysctlHelpers, miscHelpers, skbCgroupHelpers, packetOutputHelpers,
	serviceHelpers, showHelpers,
}

var (
	table = buildTable()
	byID  = indexTable(table)
)

func buildTable() []Helper {
	all := slices.Concat(groups...)
	slices.SortFunc(all, func(a, b Helper) int { return int(a.ID) - int(b.ID) })
	return all
}

func indexTable(all []Helper) map[uapi.FuncID]*Helper {
	m := make(map[uapi.FuncID]*Helper, len(all))
	for i := range all {
		m[all[i].ID] = &all[i]
	}
	return m
}

// Table returns every simulated helper in the order of its number. The slice must
// not be modified.
func Table() []Helper { return table }

// Lookup returns the helper with that number; ok is false when it is not simulated.
func Lookup(id uapi.FuncID) (*Helper, bool) {
	h, ok := byID[id]
	return h, ok
}
