package helpers

import (
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/vm"
)

// Kfuncs for slab caches (mm/slab_common.c). Programs hold one word: how many caches were visited,
// plus 1.
var slabKfuncs = []kfuncRow{
	{Name: "bpf_iter_kmem_cache_new", Args: []proto.Arg{argIter}, Do: iterSlabNew, Note: slabNote},
	{Name: "bpf_iter_kmem_cache_next", Wide: true, Args: []proto.Arg{argIter}, Do: iterSlabNext},
	{Name: "bpf_iter_kmem_cache_destroy", Args: []proto.Arg{argIter}, Do: nothing},
	{Name: "bpf_get_kmem_cache", Wide: true, Args: []proto.Arg{argAny}, Do: slabOf, Note: "by the type or the size of the object"},
}

const slabNote = "the scenario's objects of type kmem_cache, else those that every kernel has"

func iterSlabNew(c *Call) (uint64, *vm.Action) { return 0, c.guest.WriteU64(c.Args[0], 1) }

func iterSlabNext(c *Call) (uint64, *vm.Action) {
	it := c.guest.At(c.Args[0])
	at, list := it.U64(0), c.Kernel.SlabCaches()
	if it.Fault != nil || at == 0 || at > uint64(len(list)) {
		return 0, it.Fault
	}
	it.Set(0, 8, at+1)
	return list[at-1].Addr(), it.Fault
}

func slabOf(c *Call) (uint64, *vm.Action) {
	o := c.Kernel.ObjectAt(c.Args[0])
	if o == nil {
		return 0, nil
	}
	if cache := c.Kernel.SlabCacheOf(o); cache != nil {
		return cache.Addr(), nil
	}
	return 0, nil
}
