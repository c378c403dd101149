package helpers

import (
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var mapHelpers = []row{
	{ID: uapi.FuncMapLookupElem, Do: mapLookup},
	{ID: uapi.FuncMapUpdateElem, Do: mapUpdate},
	{ID: uapi.FuncMapDeleteElem, Do: mapDelete},
	{ID: uapi.FuncMapPushElem, Do: onQueue(mapPush)},
	{ID: uapi.FuncMapPopElem, Do: mapPop},
	{ID: uapi.FuncMapPeekElem, Do: mapPeek},
	{ID: uapi.FuncMapLookupPercpuElem, Do: mapLookupPercpu},
	{ID: uapi.FuncForEachMapElem, Do: forEachMapElem},
}

func mapLookup(c *Call) (uint64, *vm.Action) {
	r := c.ref
	key := c.key
	if r.sock != nil {
		return c.lookupSock(r.sock, key), nil
	}
	addr, errno := r.m.Lookup(c.Thread.CPU, key)
	if errno != 0 {
		return 0, nil
	}
	return addr, nil
}

func mapUpdate(c *Call) (uint64, *vm.Action) {
	r := c.ref
	m := r.m
	key := c.key
	if r.sock != nil {
		s, f := c.socketAt(c.Args[2])
		if f != nil {
			return 0, f
		}
		return c.mapRet(storeSock(r.sock, key, s, c.Args[3])), nil
	}
	value := c.In(2)
	return c.mapRet(m.Update(c.Thread.CPU, key, value, c.Args[3])), nil
}

func mapDelete(c *Call) (uint64, *vm.Action) {
	m := c.ref.m
	key := c.key
	return c.mapRet(m.Delete(key)), nil
}

func mapPush(c *Call, q maps.Queue) (uint64, *vm.Action) {
	value := c.In(1)
	return c.mapRet(q.Push(value, c.Args[2])), nil
}

func mapPop(c *Call) (uint64, *vm.Action) {
	return takeElem(c, maps.Queue.Pop)
}

func mapPeek(c *Call) (uint64, *vm.Action) {
	return takeElem(c, maps.Queue.Peek)
}

func takeElem(c *Call, take func(maps.Queue, []byte) uapi.Errno) (uint64, *vm.Action) {
	q, ok := c.ref.m.(maps.Queue)
	if !ok {
		return 0, wrongMap(c.ref.m)
	}
	value := c.Out(1)
	if q.Spec().Type == uapi.MapTypeBloomFilter { // its peek asks for the value given
		return c.mapRet(take(q, value)), nil
	}
	clear(value)
	errno := take(q, value)
	return c.mapRet(errno), c.guest.Write(c.Args[1], value)
}

func mapLookupPercpu(c *Call) (uint64, *vm.Action) {
	m := c.ref.m
	p, ok := m.(maps.PercpuLookup)
	switch m.Spec().Type {
	case uapi.MapTypePercpuArray, uapi.MapTypePercpuHash, uapi.MapTypeLRUPercpuHash:
	default:
		ok = false
	}
	if !ok {
		return 0, wrongMap(m)
	}
	key := c.key
	if uint64(uint32(c.Args[2])) >= uint64(c.Kernel.CPUs()) {
		return 0, nil
	}
	addr, errno := p.LookupCPU(key, int(uint32(c.Args[2])))
	if errno != 0 {
		return 0, nil
	}
	return addr, nil
}

// forEachMapElem calls the callback with (map, key, value, ctx) for every element
// present when the walk reaches it, until it returns 1 (bpf_for_each_map_elem).
func forEachMapElem(c *Call) (uint64, *vm.Action) {
	m := c.ref.m
	if c.Args[3] != 0 {
		return errnoRet(uapi.EINVAL), nil
	}
	if _, ok := m.(maps.Walker); !ok {
		return 0, wrongMap(m)
	}
	scratch := c.guest.Scratch(uint64(m.Spec().KeySize), "key of "+m.Spec().Name)
	if scratch == nil {
		return errnoRet(uapi.ENOMEM), nil
	}
	return eachElem{m: m, fn: c.Args[1], ctx: c.Args[2], key: scratch.Base, cpu: c.Thread.CPU}.next(c.Thread)
}

// eachElem is the state of a bpf_for_each_map_elem between two callbacks.
type eachElem struct {
	m            maps.Map
	fn, ctx, key uint64
	at           maps.Cursor
	done         uint64
	cpu          int
}

func (s eachElem) next(t *vm.Thread) (uint64, *vm.Action) {
	e := envOf(t)
	key, addr, ok := s.m.(maps.Walker).Walk(t.CPU, &s.at)
	if !ok {
		e.guest.EndScratch(s.key)
		return s.done, nil
	}
	if f := e.guest.Write(s.key, key); f != nil {
		return 0, f
	}
	s.done++
	return 0, t.Invoke(s.fn, [5]uint64{s.m.Addr(), s.key, addr, s.ctx}, s)
}

// Turns implements [vm.Turner]: elements of arrays are at fixed distances.
func (s eachElem) Turns() (vm.Turns, bool) {
	m, ok := s.m.(maps.Strider)
	if !ok {
		return vm.Turns{}, false
	}
	row := m.Stride(s.cpu, s.at)
	return vm.Turns{
		Entry: s.fn, I: uint64(row.Index), N: uint64(row.End), Ctx: s.ctx,
		Map: s.m.Addr(), Key: s.key, Value: row.Addr, Stride: row.Distance,
	}, true
}

// At implements [vm.Turner].
func (s eachElem) At(at vm.Turns) vm.Continuation {
	s.at, s.done = maps.After(uint32(at.I)), at.I+1
	return s
}

// Resume implements [vm.Continuation].
func (s eachElem) Resume(t *vm.Thread, ret uint64) (uint64, *vm.Action) {
	if f := callbackReturned("bpf_for_each_map_elem", ret); f != nil {
		return 0, f
	}
	if ret != 0 {
		envOf(t).guest.EndScratch(s.key)
		return s.done, nil
	}
	return s.next(t)
}
