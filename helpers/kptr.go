package helpers

import (
	"github.com/bpfrun/bpfrun/mem"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var kptrHelpers = []Helper{
	{ID: uapi.FuncKptrXchg, Topic: "kptrs", Args: []Arg{ArgKptr, ArgObject}, Fn: kptrXchg},
}

// kptrXchg swaps the pointer in a map value for another one. The reference to what was there becomes the program's, that
// to what is stored the map's.
func kptrXchg(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	old, f := e.readU64(a[0])
	if f != nil {
		return 0, f
	}
	if f := e.writeU64(a[0], a[1]); f != nil {
		return 0, f
	}
	if a[1] != 0 && !e.Run.release(a[1]) {
		return 0, badArg("bpf_kptr_xchg of %#x, to which this program holds no reference", a[1])
	}
	if old != 0 {
		e.Run.hold(old, "object")
	}
	return old, nil
}

// dropObject frees an object the program allocated, when the last reference goes; kernel objects stay.
func (e *Env) dropObject(addr uint64) {
	r := e.Mem.Find(addr)
	if r == nil || r.Kind != mem.LocalObject || r.Base != addr {
		return
	}
	if n := e.refs[addr]; n > 1 {
		e.refs[addr] = n - 1
		return
	}
	delete(e.refs, addr)
	e.Mem.Free(r)
}
