package helpers

import (
	"github.com/bpfrun/bpfrun/maps"
	"github.com/bpfrun/bpfrun/vm"
)

// mapTable finds maps by the address of their handle. Its state is a cache of recently used maps.
type mapTable struct {
	at     func(addr uint64) (maps.Map, bool)
	lately [8]mapRef // by a hash of the address
}

// mapRef is a map with what its helpers need first. As long as an address is that of a map, it is that of the same map.
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
	r := &t.lately[addr*0x9e3779b97f4a7c15>>61]
	if r.addr == addr && r.m != nil {
		return r, nil
	}
	m, ok := t.at(addr)
	if !ok {
		return nil, badArg("%#x is not a map", addr)
	}
	*r = mapRef{addr: addr, m: m, keySize: uint64(m.Spec().KeySize)}
	r.sock, _ = m.(maps.SockMap)
	return r, nil
}
