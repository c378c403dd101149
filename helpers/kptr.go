package helpers

import (
	"github.com/bpfrun/bpfrun/mem"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var kptrHelpers = []row{
	{ID: uapi.FuncKptrXchg, Do: kptrXchg},
}

// kptrXchg swaps the pointer in a map value for another one. The reference to what was there becomes the program's, that
// to what is stored the map's.
func kptrXchg(c *Call) (uint64, *vm.Action) {
	old, f := c.readU64(c.Args[0])
	if f != nil {
		return 0, f
	}
	if f := c.writeField(c.Args[0], 8, c.Args[1]); f != nil {
		return 0, f
	}
	if c.Args[1] != 0 && !c.Run.release(c.Args[1]) {
		return 0, badArg("bpf_kptr_xchg of %#x, to which this program holds no reference", c.Args[1])
	}
	if old != 0 {
		c.Run.hold(old, "object")
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
