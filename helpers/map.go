package helpers

import (
	"github.com/bpfrun/bpfrun/maps"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var mapHelpers = []Helper{
	{ID: uapi.FuncMapLookupElem, Topic: "maps", Args: []Arg{ArgMap, ArgKey}, Fn: mapLookup},
	{ID: uapi.FuncMapUpdateElem, Topic: "maps", Args: []Arg{ArgMap, ArgKey, ArgValue, ArgAny}, Fn: mapUpdate},
	{ID: uapi.FuncMapDeleteElem, Topic: "maps", Args: []Arg{ArgMap, ArgKey}, Fn: mapDelete},
	{ID: uapi.FuncMapPushElem, Topic: "maps", Args: []Arg{ArgMap, ArgValue, ArgAny}, Fn: mapPush},
	{ID: uapi.FuncMapPopElem, Topic: "maps", Args: []Arg{ArgMap, ArgValue}, Fn: mapPop},
	{ID: uapi.FuncMapPeekElem, Topic: "maps", Args: []Arg{ArgMap, ArgValue}, Fn: mapPeek},
	{ID: uapi.FuncMapLookupPercpuElem, Topic: "maps", Args: []Arg{ArgMap, ArgKey, ArgAny}, Fn: mapLookupPercpu},
	{ID: uapi.FuncForEachMapElem, Topic: "maps", Args: []Arg{ArgMap, ArgFunc, ArgAny, ArgAny}, Fn: forEachMapElem},
}

// key reads the key argument of a map helper into the environment's buffer.
func (e *Env) key(m maps.Map, addr uint64) ([]byte, *vm.Action) {
	b := e.keyBuf(int(m.Spec().KeySize))
	if f := e.Mem.Read(addr, b); f != nil {
		return nil, memFault(f)
	}
	return b, nil
}

func mapLookup(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	r, f := e.mapRef(a[0])
	if f != nil {
		return 0, f
	}
	key, f := e.keyOf(r, a[1])
	if f != nil {
		return 0, f
	}
	if r.sock != nil {
		return e.lookupSock(r.sock, key), nil
	}
	addr, errno := r.m.Lookup(t.CPU, key)
	if errno != 0 {
		return 0, nil
	}
	return addr, nil
}

// mapRet is the return value of the map operations the verifier calls directly: before
// Linux 6.4 they return int, whose upper half reads as zero ("bpf: Change map ops return type to long").
func (e *Env) mapRet(errno uapi.Errno) uint64 {
	r := errnoRet(errno)
	if e.Version < kernelVersion(6, 4) {
		r = uint64(uint32(r))
	}
	return r
}

func kernelVersion(major, minor uint32) uint32 { return major<<16 | minor<<8 }

func mapUpdate(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	r, f := e.mapRef(a[0])
	if f != nil {
		return 0, f
	}
	m := r.m
	key, f := e.key(m, a[1])
	if f != nil {
		return 0, f
	}
	if r.sock != nil {
		s, f := e.socketAt(a[2])
		if f != nil {
			return 0, f
		}
		return e.mapRet(storeSock(r.sock, key, s, a[3])), nil
	}
	value, f := e.read(a[2], uint64(m.Spec().ValueSize))
	if f != nil {
		return 0, f
	}
	return e.mapRet(m.Update(t.CPU, key, value, a[3])), nil
}

func mapDelete(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	m, f := e.mapAt(a[0])
	if f != nil {
		return 0, f
	}
	key, f := e.key(m, a[1])
	if f != nil {
		return 0, f
	}
	return e.mapRet(m.Delete(key)), nil
}

func (e *Env) queueAt(addr uint64) (maps.Queue, *vm.Action) {
	m, f := e.mapAt(addr)
	if f != nil {
		return nil, f
	}
	q, ok := m.(maps.Queue)
	if !ok {
		return nil, wrongMap(m)
	}
	return q, nil
}

func mapPush(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	q, f := e.queueAt(a[0])
	if f != nil {
		return 0, f
	}
	value, f := e.read(a[1], uint64(q.Spec().ValueSize))
	if f != nil {
		return 0, f
	}
	return e.mapRet(q.Push(value, a[2])), nil
}

func mapPop(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	return takeElem(t, a, maps.Queue.Pop)
}

func mapPeek(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	return takeElem(t, a, maps.Queue.Peek)
}

func takeElem(t *vm.Thread, a *[5]uint64, take func(maps.Queue, []byte) uapi.Errno) (uint64, *vm.Action) {
	e := envOf(t)
	q, f := e.queueAt(a[0])
	if f != nil {
		return 0, f
	}
	// A bloom filter's peek asks for the value given, so it is read first.
	value := make([]byte, q.Spec().ValueSize)
	if q.Spec().Type == uapi.MapTypeBloomFilter {
		if value, f = e.read(a[1], uint64(q.Spec().ValueSize)); f != nil {
			return 0, f
		}
		return e.mapRet(take(q, value)), nil
	}
	errno := take(q, value)
	return e.mapRet(errno), e.write(a[1], value)
}

func mapLookupPercpu(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	m, f := e.mapAt(a[0])
	if f != nil {
		return 0, f
	}
	p, ok := m.(maps.PercpuLookup)
	switch m.Spec().Type {
	case uapi.MapTypePercpuArray, uapi.MapTypePercpuHash, uapi.MapTypeLRUPercpuHash:
	default:
		ok = false
	}
	if !ok {
		return 0, wrongMap(m)
	}
	key, f := e.key(m, a[1])
	if f != nil {
		return 0, f
	}
	if uint64(uint32(a[2])) >= uint64(e.Kernel.CPUs()) {
		return 0, nil
	}
	addr, errno := p.LookupCPU(key, int(uint32(a[2])))
	if errno != 0 {
		return 0, nil
	}
	return addr, nil
}

// forEachMapElem calls the callback with (map, key, value, ctx) for every element
// present when the walk reaches it, until it returns 1 (bpf_for_each_map_elem).
func forEachMapElem(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	m, f := e.mapAt(a[0])
	if f != nil {
		return 0, f
	}
	if a[3] != 0 {
		return errnoRet(uapi.EINVAL), nil
	}
	if _, ok := m.(maps.Walker); !ok {
		return 0, wrongMap(m)
	}
	scratch := e.scratch(uint64(m.Spec().KeySize), "key of "+m.Spec().Name)
	if scratch == nil {
		return errnoRet(uapi.ENOMEM), nil
	}
	return eachElem{m: m, fn: a[1], ctx: a[2], key: scratch.Base}.next(t)
}

// eachElem is the state of a bpf_for_each_map_elem between two callbacks.
type eachElem struct {
	m            maps.Map
	fn, ctx, key uint64
	at           maps.Cursor
	done         uint64
}

func (s eachElem) next(t *vm.Thread) (uint64, *vm.Action) {
	e := envOf(t)
	key, addr, ok := s.m.(maps.Walker).Walk(t.CPU, &s.at)
	if !ok {
		e.releaseScratch(s.key)
		return s.done, nil
	}
	if f := e.write(s.key, key); f != nil {
		return 0, f
	}
	s.done++
	return 0, t.Invoke(s.fn, [5]uint64{s.m.Addr(), s.key, addr, s.ctx}, s)
}

// Resume implements [vm.Continuation].
func (s eachElem) Resume(t *vm.Thread, ret uint64) (uint64, *vm.Action) {
	if ret != 0 {
		envOf(t).releaseScratch(s.key)
		return s.done, nil
	}
	return s.next(t)
}
