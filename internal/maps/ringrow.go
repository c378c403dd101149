package maps

import (
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// ringRow is where the small records of one size are once there were many: in a row of regions,
// which take turns. An engine can reserve and end such records by itself, because it is known which
// region is the next.
type ringRow struct {
	size uint64
	made int // records so far, until there is a row
	row  *mem.Row
	next int // region of the next record
}

const (
	rowSizes  = 4   // sizes of a ring buffer's records that get rows
	rowAfter  = 64  // records of a size before it gets one
	rowLength = 256 // so many later records do not take a record's address
	maxStocks = 16  // more stocks than an engine has at a time
	// MaxRowRecord is the size in bytes of the largest records in rows.
	MaxRowRecord = 128
)

// rowOf returns the row for records of a size, nil if they have none.
func (r *ringbuf) rowOf(size uint64) *ringRow {
	for i := range r.rows {
		if r.rows[i].size == size && size != 0 {
			return &r.rows[i]
		}
	}
	return nil
}

// countRow counts a record for the row of its size, which it returns once there is one.
func (r *ringbuf) countRow(size uint64) *ringRow {
	if size == 0 || size > MaxRowRecord {
		return nil
	}
	w := r.rowOf(size)
	for i := 0; w == nil; i++ {
		if i == len(r.rows) {
			return nil
		}
		if r.rows[i].size == 0 {
			w = &r.rows[i]
			w.size = size
		}
	}
	if w.row != nil {
		return w
	}
	if w.made++; w.made <= rowAfter {
		return nil
	}
	row, err := r.env.Mem.AllocRow(rowLength, size, r.recordRegion())
	if err != nil { // a single one may fit
		w.made = 0
		return nil
	}
	w.row = row
	return w
}

func (r *ringbuf) recordRegion() mem.Region {
	return mem.Region{Kind: mem.RingbufRecord, Name: r.spec.Name, Owner: r}
}

// allocRecord allocates a record of size bytes.
func (r *ringbuf) allocRecord(size uint64) (*mem.Region, error) {
	if w := r.countRow(size); w != nil {
		for range rowLength {
			i := w.next
			w.next = (i + 1) % rowLength
			if w.row.Regions[i].Freed {
				return r.env.Mem.Renew(w.row, i)
			}
		}
	}
	// A record of size 0 still has an address.
	return r.env.Mem.Alloc(max(size, 1), r.recordRegion())
}

// freeRecord frees the region of a record.
func (r *ringbuf) freeRecord(reg *mem.Region, size uint64) {
	if w := r.rowOf(size); w != nil && w.row != nil && w.row.Contains(reg) {
		r.env.Mem.Rest(reg, "")
		return
	}
	r.env.Mem.Free(reg)
}

// rowRegions returns the regions of all rows.
func (r *ringbuf) rowRegions() []*mem.Region {
	var out []*mem.Region
	for i := range r.rows {
		if w := r.rows[i].row; w != nil {
			out = append(out, w.Regions...)
		}
	}
	return out
}

// Stock implements [RingBuffer]. In an overwriting ring buffer and in one with a sink others have to
// know of each record.
func (r *ringbuf) Stock(size uint64, most, share int) (addr, stride uint64, n int) {
	w := r.rowOf(size)
	if w == nil || w.row == nil || r.open != 0 || r.sink != nil || r.overwrites() || !r.env.Mem.Lends(w.row) {
		return 0, 0, 0
	}
	room := (r.mask - (r.prod - r.cons)) / ringLength(size)
	host := r.env.hostLeft() / mem.HostCost(int(size))
	n = int(min(uint64(most), rowLength-uint64(w.next), room/uint64(share), host/maxStocks))
	return w.row.Regions[w.next].Base, w.row.Stride, n
}

// RingEnd is how an engine ended a record.
type RingEnd uint8

const (
	// RingSubmit and RingDiscard are as [RingBuffer.Submit] and [RingBuffer.Discard].
	RingSubmit RingEnd = iota
	RingDiscard
	// RingHeld is a record that is not ended yet: the last one.
	RingHeld
)

// Lent implements [RingBuffer].
func (r *ringbuf) Lent(size uint64, n int, record func(i int) (RingEnd, uint64)) {
	w := r.rowOf(size)
	first, open := w.next, false
	for i := range n {
		end, at := record(i)
		reg := w.row.Regions[w.next]
		w.next = (w.next + 1) % rowLength
		rec := ringRec{pos: r.prod, len: ringLength(size), size: size}
		r.prod += rec.len
		switch end {
		case RingHeld:
			rec.addr, open = reg.Base, true
			r.open++
		case RingDiscard:
			rec.state = ringDiscarded
		default:
			rec.state = ringSubmitted
			_ = r.env.host(&r.base, int(size)) // there is room, see Stock
			rec.rec = r.env.recordAt(0, r.env.Mem.RestingBytes(reg), at)
		}
		r.pending = append(r.pending, rec)
	}
	r.env.Mem.Lent(w.row, first, n, open)
	if r.env.Consume == ConsumeAtOnce {
		r.Consume()
	}
}

// ringLength returns how much of the ring a record of size bytes takes.
func ringLength(size uint64) uint64 { return (size + uapi.RingbufHdrSize + 7) &^ 7 }
