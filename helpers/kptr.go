package helpers

import (
	"github.com/bpfrun/bpfrun/helpers/held"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var kptrHelpers = []row{
	{ID: uapi.FuncKptrXchg, Do: kptrXchg},
}

// kptrXchg exchanges the pointer in a map value. The reference to the old object passes to the
// program, that to the new one to the map.
func kptrXchg(c *Call) (uint64, *vm.Action) {
	old, f := c.guest.ReadU64(c.Args[0])
	if f != nil {
		return 0, f
	}
	if f := c.guest.WriteField(c.Args[0], 8, c.Args[1]); f != nil {
		return 0, f
	}
	if c.Args[1] != 0 {
		if f := c.give("bpf_kptr_xchg", held.Reference, c.Args[1]); f != nil {
			return 0, f
		}
	}
	return c.takeObject(old), nil
}
