package helpers

import (
	"slices"

	"github.com/bpfrun/bpfrun/helpers/held"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var ringbufHelpers = []row{
	{ID: uapi.FuncRingbufOutput, Do: onRing(ringbufOutput)},
	{ID: uapi.FuncRingbufReserve, Do: onRing(ringbufReserve)},
	{ID: uapi.FuncRingbufSubmit, Do: sentRecord(endRecord("bpf_ringbuf_submit", maps.RingBuffer.Submit))},
	{ID: uapi.FuncRingbufDiscard, Do: endRecord("bpf_ringbuf_discard", maps.RingBuffer.Discard)},
	{ID: uapi.FuncRingbufQuery, Do: onRing(ringbufQuery)},
}

func ringbufOutput(c *Call, r maps.RingBuffer) (uint64, *vm.Action) {
	data := c.In(1)
	return errnoRet(r.Output(data, c.Args[3])), nil
}

func ringbufReserve(c *Call, r maps.RingBuffer) (uint64, *vm.Action) {
	addr, ok := r.Reserve(c.Args[1], c.Args[2])
	if !ok {
		return 0, nil
	}
	c.Run.Held.Take(held.Record, addr, "")
	c.handedOut(addr, c.Args[1])
	c.Run.opened(addr, r)
	return addr, nil
}

// openRecord is a reserved record. There are few at a time, so a list is faster than a map.
type openRecord struct {
	addr uint64
	ring maps.RingBuffer
}

func (r *Run) opened(addr uint64, ring maps.RingBuffer) {
	r.records = append(r.records, openRecord{addr, ring})
}

// closed forgets the record at an address and returns its ring buffer, nil if none is reserved there.
func (r *Run) closed(addr uint64) maps.RingBuffer {
	for i := len(r.records) - 1; i >= 0; i-- {
		if r.records[i].addr == addr {
			ring := r.records[i].ring
			r.records = slices.Delete(r.records, i, i+1)
			return ring
		}
	}
	return nil
}

// Lent accounts for records that an engine reserved by calls of img, as the helpers would.
func (r *Run) Lent(ring maps.RingBuffer, size uint64, list []vm.Record, img *vm.Image) {
	ring.Lent(size, len(list), func(i int) (maps.RingEnd, uint64) { return ringEnds[list[i].End], list[i].At })
	for i := max(0, len(list)-held.Remembered); i < len(list); i++ {
		e := &list[i]
		if e.End == vm.RecordOpen {
			r.Held.TakeAt(held.Record, e.Addr, img, e.Reserved)
			r.opened(e.Addr, ring)
			continue
		}
		r.Held.GivenAt(held.Record, e.Addr, img, e.Ended)
	}
}

var ringEnds = [...]maps.RingEnd{vm.RecordSubmitted: maps.RingSubmit, vm.RecordDiscarded: maps.RingDiscard, vm.RecordOpen: maps.RingHeld}

// finishRecord ends a reservation; the record's memory is gone afterwards.
func (c *Call) finishRecord(by string, addr, flags uint64, finish func(maps.RingBuffer, uint64, uint64) uapi.Errno) *vm.Action {
	r := c.Run.closed(addr)
	if r == nil {
		return badArg("%v", &held.NotHeld{By: by, Kind: held.Record, Addr: addr})
	}
	if errno := finish(r, addr, flags); errno != 0 {
		return badArg("%s of %#x: %v", by, addr, errno)
	}
	return nil
}

// endRecord submits or discards a record.
func endRecord(by string, finish func(maps.RingBuffer, uint64, uint64) uapi.Errno) Impl {
	return func(c *Call) (uint64, *vm.Action) {
		c.Run.Held.Give(held.Record, c.Args[0])
		return 0, c.finishRecord(by, c.Args[0], c.Args[1], finish)
	}
}

// handedOut marks memory that the kernel hands to the program without clearing it.
func (c *Call) handedOut(addr, n uint64) {
	if c.Thread.Tracks() {
		c.Mem.Unwrite(addr, n)
	}
}

// sentRecord tells which bytes of a record leave the program, before end ends it.
func sentRecord(end Impl) Impl {
	return func(c *Call) (uint64, *vm.Action) {
		c.sends(c.Args[0])
		return end(c)
	}
}

// sends reports the record at addr as read.
func (c *Call) sends(addr uint64) {
	if !c.Thread.Tracks() {
		return
	}
	if r := c.Mem.Find(addr); r != nil && r.Kind == mem.RingbufRecord && r.Base == addr {
		c.Mem.Leaves(addr, r.Size)
	}
}

// ringbufQuery returns 0 for a property it does not know (bpf_ringbuf_query).
func ringbufQuery(c *Call, r maps.RingBuffer) (uint64, *vm.Action) {
	return r.Query(c.Args[1]), nil
}
