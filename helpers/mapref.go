package helpers

import (
	"github.com/bpfrun/bpfrun/maps"
	"github.com/bpfrun/bpfrun/vm"
)

// mapRef is a map with what its helpers ask first. While an address is that of a map, it is that of the same one.
type mapRef struct {
	addr    uint64
	m       maps.Map
	keySize uint64
	sock    maps.SockMap // nil for other types
}

// ForgetMaps drops what is remembered of maps: one of them is gone.
func (e *Env) ForgetMaps() { clear(e.lately[:]) }

// mapRef finds the map at an address. The result is valid until the next call.
func (e *Env) mapRef(addr uint64) (*mapRef, *vm.Action) {
	r := &e.lately[addr*0x9e3779b97f4a7c15>>61]
	if r.addr == addr && r.m != nil {
		return r, nil
	}
	m, ok := e.MapAt(addr)
	if !ok {
		return nil, badArg("%#x is not a map", addr)
	}
	*r = mapRef{addr: addr, m: m, keySize: uint64(m.Spec().KeySize)}
	r.sock, _ = m.(maps.SockMap)
	return r, nil
}

// keyOf is keyAt for callers that do no more than look the key up: it may be the program's memory itself.
func (e *Env) keyOf(r *mapRef, addr uint64) ([]byte, *vm.Action) {
	if b := e.Mem.Plain(addr, r.keySize); b != nil {
		return b, nil
	}
	return e.keyAt(r.m, addr)
}
