package jit

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/vm"
)

// testRecords are the records of one size of mapRing: a few, which take turns. They implement
// vm.Records.
type testRecords struct {
	w    *world
	row  *mem.Row
	next int
	open []uint64
	done []sentRecord
}

// sentRecord is a record that was ended.
type sentRecord struct {
	addr, at uint64
	end      vm.RecordEnd
	data     string
}

const recordTurns = 24

func (w *world) addRecords(t testing.TB) {
	w.records = map[uint64]*testRecords{}
	for _, size := range []uint64{8, 20, 64} {
		row, err := w.mem.AllocRow(recordTurns, size, mem.Region{Kind: mem.RingbufRecord, Name: "record"})
		require.NoError(t, err)
		w.records[size] = &testRecords{w: w, row: row}
	}
}

// Stock implements vm.Records.
func (r *testRecords) Stock(most, _ int) (addr, stride uint64, n int) {
	if len(r.open) > 0 {
		return 0, 0, 0
	}
	return r.row.Regions[r.next].Base, r.row.Stride, min(most, recordTurns-r.next)
}

// Recorded implements vm.Ledger.
func (w *world) Recorded(of vm.Records, list []vm.Record, _ *vm.Image) {
	r := of.(*testRecords)
	first := r.next
	for _, e := range list {
		reg := r.row.Regions[r.next]
		r.next = (r.next + 1) % recordTurns
		if e.Addr != reg.Base {
			panic("another record than the next one")
		}
		if e.End == vm.RecordOpen {
			r.open = append(r.open, e.Addr)
			continue
		}
		r.done = append(r.done, sentRecord{e.Addr, e.At, e.End, string(w.mem.RestingBytes(reg))})
	}
	w.mem.Lent(r.row, first, len(list), len(r.open) > 0)
}

// reserve reserves a record of r2 bytes, 0 if that many are open or r3 is not 0.
func reserve(w *world, _ *vm.Thread, args *[5]uint64) (uint64, *vm.Action) {
	r := w.records[args[1]]
	if r == nil || args[0] != mapRing || args[2] != 0 || len(r.open) == recordTurns {
		return 0, nil
	}
	for !r.row.Regions[r.next].Freed {
		r.next = (r.next + 1) % recordTurns
	}
	reg, err := w.mem.Renew(r.row, r.next)
	if err != nil {
		return 0, nil
	}
	r.next = (r.next + 1) % recordTurns
	r.open = append(r.open, reg.Base)
	return reg.Base, nil
}

// endRecord returns a function that ends the record r1; r0 is 1 if there is none.
func endRecord(end vm.RecordEnd) func(*world, *vm.Thread, *[5]uint64) (uint64, *vm.Action) {
	return func(w *world, _ *vm.Thread, args *[5]uint64) (uint64, *vm.Action) {
		for _, r := range w.records {
			if i := slices.Index(r.open, args[0]); i >= 0 {
				r.open = slices.Delete(r.open, i, i+1)
				reg := w.mem.Find(args[0])
				r.done = append(r.done, sentRecord{args[0], w.now, end, string(w.mem.Bytes(reg))})
				w.mem.Rest(reg, "")
				return 0, nil
			}
		}
		return 1, nil
	}
}

// endRecords ends what a run left open.
func (w *world) endRecords() {
	for _, r := range w.records {
		for _, addr := range r.open {
			w.mem.Rest(w.mem.Find(addr), "")
		}
		r.open = r.open[:0]
	}
}

func sameRecords(t *testing.T, native, plain *world, where string) {
	for size, r := range plain.records {
		n := native.records[size]
		require.Equal(t, r.next, n.next, where)
		require.ElementsMatch(t, r.open, n.open, where)
		require.Equal(t, r.done, n.done, where)
		if len(r.done)+len(r.open) == 0 {
			continue // nothing woke a region since the last time
		}
		for i, reg := range r.row.Regions {
			if reg.Freed != n.row.Regions[i].Freed {
				require.Failf(t, "another region is open", "%s: region %d of %d bytes", where, i, size)
			}
			for off := uint64(0); off < size+8; off += 4 {
				if (plain.mem.Check(reg.Base+off, 1, true) == nil) != (native.mem.Check(reg.Base+off, 1, true) == nil) {
					require.Failf(t, "another byte may be accessed", "%s: byte %d of region %d of %d bytes", where, off, i, size)
				}
			}
		}
		r.done, n.done = r.done[:0], n.done[:0]
	}
}
