package helpers

import (
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/vm"
)

// mapTable finds maps by the address of their handle. Its state is a cache of recently used maps.
type mapTable struct {
	at     func(addr uint64) (maps.Map, bool)
	lately [32]mapRef // by a hash of the address: an entry is at its hash or beside it
}

// mapRef is a map with what its helpers need first. As long as an address is that of a map, it is
// that of the same map.
type mapRef struct {
	addr    uint64
	m       maps.Map
	keySize uint64
	sock    maps.SockMap // nil for other types
}

// ForgetMaps clears the cache, because a map was removed.
func (t *mapTable) ForgetMaps() { clear(t.lately[:]) }

// mapRef finds the map at an address. The result is valid until the next call.
func (t *mapTable) mapRef(addr uint64) (*mapRef, *vm.Action) {
	at := addr * 0x9e3779b97f4a7c15 >> 59
	r := &t.lately[at]
	if r.addr == addr && r.m != nil {
		return r, nil
	}
	if next := &t.lately[at^1]; next.addr == addr && next.m != nil {
		return next, nil
	}
	return t.find(addr, r, &t.lately[at^1])
}

// find looks up a map, and moves what r has to old.
func (t *mapTable) find(addr uint64, r, old *mapRef) (*mapRef, *vm.Action) {
	m, ok := t.at(addr)
	if !ok {
		return nil, badArg("%#x is not a map", addr)
	}
	*old = *r
	*r = mapRef{addr: addr, m: m, keySize: uint64(m.Spec().KeySize)}
	r.sock, _ = m.(maps.SockMap)
	return r, nil
}
