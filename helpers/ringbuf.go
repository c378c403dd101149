package helpers

import (
	"github.com/bpfrun/bpfrun/maps"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var ringbufHelpers = []row{
	{ID: uapi.FuncRingbufOutput, Do: onRing(ringbufOutput)},
	{ID: uapi.FuncRingbufReserve, Do: onRing(ringbufReserve)},
	{ID: uapi.FuncRingbufSubmit, Do: ringbufSubmit},
	{ID: uapi.FuncRingbufDiscard, Do: ringbufDiscard},
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
	c.Run.hold(addr, "ring buffer record")
	c.Run.records[addr] = r
	return addr, nil
}

// finishRecord ends a reservation; the record's memory is gone afterwards.
func finishRecord(t *vm.Thread, addr, flags uint64, name string, finish func(maps.RingBuffer, uint64, uint64) uapi.Errno) (uint64, *vm.Action) {
	e := envOf(t)
	r, ok := e.Run.records[addr]
	if !ok {
		return 0, badArg("%s of %#x, which is not a reserved record", name, addr)
	}
	delete(e.Run.records, addr)
	e.Run.release(addr)
	if errno := finish(r, addr, flags); errno != 0 {
		return 0, badArg("%s of %#x: %v", name, addr, errno)
	}
	return 0, nil
}

func ringbufSubmit(c *Call) (uint64, *vm.Action) {
	return finishRecord(c.Thread, c.Args[0], c.Args[1], "bpf_ringbuf_submit", maps.RingBuffer.Submit)
}

func ringbufDiscard(c *Call) (uint64, *vm.Action) {
	return finishRecord(c.Thread, c.Args[0], c.Args[1], "bpf_ringbuf_discard", maps.RingBuffer.Discard)
}

// ringbufQuery returns 0 for a property it does not know (bpf_ringbuf_query).
func ringbufQuery(c *Call, r maps.RingBuffer) (uint64, *vm.Action) {
	return r.Query(c.Args[1]), nil
}
