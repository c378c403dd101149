package helpers

import (
	"testing"

	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// BenchmarkCalls times helpers through their table, as programs call them.
func BenchmarkCalls(b *testing.B) {
	r := newRig(b, newest)
	hash := r.newMap(maps.Spec{Type: uapi.MapTypeHash, KeySize: 4, ValueSize: 8, MaxEntries: 16})
	array := r.newMap(maps.Spec{Type: uapi.MapTypeArray, KeySize: 4, ValueSize: 8, MaxEntries: 16})
	key, value, buf := r.space(4), r.space(8), r.space(16)
	line := r.str("pid %d of %u: %016llx")
	for _, bb := range []struct {
		name string
		id   uapi.FuncID
		args [5]uint64
	}{
		{"get_smp_processor_id", uapi.FuncGetSmpProcessorId, [5]uint64{}},
		{"get_current_pid_tgid", uapi.FuncGetCurrentPidTgid, [5]uint64{}},
		{"ktime_get_ns", uapi.FuncKtimeGetNs, [5]uint64{}},
		{"map_lookup_elem/array", uapi.FuncMapLookupElem, [5]uint64{array.Addr(), key}},
		{"map_lookup_elem/hash", uapi.FuncMapLookupElem, [5]uint64{hash.Addr(), key}},
		{"map_update_elem/array", uapi.FuncMapUpdateElem, [5]uint64{array.Addr(), key, value}},
		{"probe_read_kernel", uapi.FuncProbeReadKernel, [5]uint64{buf, 8, value}},
		{"trace_printk", uapi.FuncTracePrintk, [5]uint64{line, 22, 1, 2, 3}},
		{"get_current_comm", uapi.FuncGetCurrentComm, [5]uint64{buf, 16}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			h, _ := Lookup(bb.id)
			args := bb.args
			for b.Loop() {
				if _, act := h.Fn(r.thread, &args); act != nil {
					b.Fatal(act)
				}
			}
		})
	}
}
