package helpers

import (
	"github.com/bpfrun/bpfrun/maps"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var ringbufHelpers = []Helper{
	{ID: uapi.FuncRingbufOutput, Topic: "events", Args: []Arg{ArgMap, ArgMem, ArgSize, ArgAny}, Fn: ringbufOutput},
	{ID: uapi.FuncRingbufReserve, Topic: "events", Args: []Arg{ArgMap, ArgAny, ArgAny}, Fn: ringbufReserve},
	{ID: uapi.FuncRingbufSubmit, Topic: "events", Args: []Arg{ArgRecord, ArgAny}, Fn: ringbufSubmit},
	{ID: uapi.FuncRingbufDiscard, Topic: "events", Args: []Arg{ArgRecord, ArgAny}, Fn: ringbufDiscard},
	{ID: uapi.FuncRingbufQuery, Topic: "events", Args: []Arg{ArgMap, ArgAny}, Fn: ringbufQuery},
}

func (e *Env) ringAt(addr uint64) (maps.RingBuffer, *vm.Action) {
	m, f := e.mapAt(addr)
	if f != nil {
		return nil, f
	}
	r, ok := m.(maps.RingBuffer)
	if !ok {
		return nil, wrongMap(m)
	}
	return r, nil
}

func ringbufOutput(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	r, f := e.ringAt(a[0])
	if f != nil {
		return 0, f
	}
	data, f := e.read(a[1], a[2])
	if f != nil {
		return 0, f
	}
	return errnoRet(r.Output(data, a[3])), nil
}

func ringbufReserve(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	r, f := e.ringAt(a[0])
	if f != nil {
		return 0, f
	}
	addr, ok := r.Reserve(a[1], a[2])
	if !ok {
		return 0, nil
	}
	e.Run.hold(addr, "ring buffer record")
	e.Run.records[addr] = r
	return addr, nil
}

// finishRecord ends a reservation; the record's memory is gone afterwards.
func finishRecord(t *vm.Thread, addr, flags uint64, name string, finish func(maps.RingBuffer, uint64, uint64) uapi.Errno) (uint64, *vm.Action) {
	e := envOf(t)
	r, ok := e.Run.records[addr]
	if !ok {
		return 0, badArg("%s of %#x, which is no reserved record", name, addr)
	}
	delete(e.Run.records, addr)
	e.Run.release(addr)
	if errno := finish(r, addr, flags); errno != 0 {
		return 0, badArg("%s of %#x: %v", name, addr, errno)
	}
	return 0, nil
}

func ringbufSubmit(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	return finishRecord(t, a[0], a[1], "bpf_ringbuf_submit", maps.RingBuffer.Submit)
}

func ringbufDiscard(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	return finishRecord(t, a[0], a[1], "bpf_ringbuf_discard", maps.RingBuffer.Discard)
}

// ringbufQuery returns 0 for a property it does not know (bpf_ringbuf_query).
func ringbufQuery(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	r, f := envOf(t).ringAt(a[0])
	if f != nil {
		return 0, f
	}
	return r.Query(a[1]), nil
}
