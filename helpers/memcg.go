package helpers

import (
	"fmt"

	"github.com/bpfrun/bpfrun/helpers/held"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// Kfuncs for memory cgroups (mm/bpf_memcontrol.c). Counters are fields of the object, which
// scenarios set.
var memcgKfuncs = []kfuncRow{
	{Name: "bpf_get_root_mem_cgroup", Wide: true, Do: rootMemcg},
	{Name: "bpf_get_mem_cgroup", Wide: true, Args: []proto.Arg{argObject}, Do: memcgOf},
	{Name: "bpf_put_mem_cgroup", Args: []proto.Arg{argObject}, Do: releaseObject},
	{Name: "bpf_mem_cgroup_usage", Wide: true, Args: []proto.Arg{argObject}, Do: onMemcg(memcgUsage), Note: "the object's memory.usage"},
	{Name: "bpf_mem_cgroup_memory_events", Wide: true, Args: []proto.Arg{argObject, argAny}, Do: onMemcg(memcgMemoryEvents), Note: "the object's memory_events"},
	{Name: "bpf_mem_cgroup_vm_events", Wide: true, Args: []proto.Arg{argObject, argAny}, Do: onMemcg(memcgVMEvents), Note: "the object's vmstats.events"},
	{Name: "bpf_mem_cgroup_page_state", Wide: true, Args: []proto.Arg{argObject, argAny}, Do: onMemcg(memcgPageState), Note: "the object's vmstats.state"},
	{Name: "bpf_mem_cgroup_flush_stats", Args: []proto.Arg{argObject}, Do: onMemcg(memcgFlush), Note: "counts are exact at all times: there is nothing to flush"},
}

var onMemcg = on(0, (*Call).memcgAt)

func (c *Call) memcgAt(addr uint64) (*object.Object, *vm.Action) {
	if o := c.Kernel.ObjectAt(addr); o != nil && o.TypeName() == "mem_cgroup" {
		return o, nil
	}
	return nil, badArg("%#x is no mem_cgroup", addr)
}

func rootMemcg(c *Call) (uint64, *vm.Action) {
	o := c.Kernel.RootMemcg()
	if o == nil {
		return 0, notSimulated("bpf_get_root_mem_cgroup: the kernel's types have no mem_cgroup")
	}
	return c.take(o, "mem_cgroup")
}

// memcgOf finds the memory cgroup of a cgroup, to which any controller's cgroup_subsys_state leads.
func memcgOf(c *Call) (uint64, *vm.Action) {
	css, root := c.Args[0], c.Kernel.RootMemcg()
	if root == nil {
		return 0, notSimulated("bpf_get_mem_cgroup: the kernel's types have no mem_cgroup")
	}
	ss, f := c.loadField(css, "cgroup_subsys_state", "ss")
	if f != nil {
		return 0, f
	}
	if ss != root.Num("css.ss") {
		cgroup, f := c.loadField(css, "cgroup_subsys_state", "cgroup")
		if f != nil {
			return 0, f
		}
		id, _ := c.Kernel.BTF().EnumValue("cgroup_subsys_id", "memory_cgrp_id")
		if css, f = c.loadField(cgroup, "cgroup", fmt.Sprintf("subsys[%d]", id)); f != nil || css == 0 {
			return 0, f
		}
	}
	o := c.Kernel.ObjectAt(css)
	if o == nil || o.Storage() == nil || o.Storage().Name != "mem_cgroup" {
		return 0, notSimulated(fmt.Sprintf("bpf_get_mem_cgroup: the cgroup_subsys_state at %#x is in no mem_cgroup", css))
	}
	c.Run.Held.Take(held.Reference, o.Base(), "mem_cgroup")
	return o.Base(), nil
}

// loadField reads a field of a struct by its type.
func (c *Call) loadField(addr uint64, typ, path string) (uint64, *vm.Action) {
	l := c.Kernel.LayoutNamed(typ)
	if l == nil {
		return 0, notSimulated("the kernel's types have no " + typ)
	}
	f, rest, err := l.Place(path)
	if err != nil || rest != "" {
		return 0, notSimulated("struct " + typ + " has no field " + path)
	}
	return c.guest.ReadInt(addr+f.Off, int(f.Size))
}

// invalidItem is what the functions return for a counter that memory cgroups do not have.
const invalidItem = ^uint64(0)

func memcgUsage(_ *Call, o *object.Object) (uint64, *vm.Action) {
	v, err := o.Uint("memory.usage.counter")
	if err != nil {
		return 0, notSimulated("bpf_mem_cgroup_usage: " + err.Error())
	}
	return v * uapi.PageSize, nil
}

func memcgMemoryEvents(c *Call, o *object.Object) (uint64, *vm.Action) {
	item := uint64(uint32(c.Args[1]))
	if n, ok := c.Kernel.BTF().EnumValue("memcg_memory_event", "MEMCG_NR_MEMORY_EVENTS"); !ok || item >= n {
		return invalidItem, nil
	}
	return memcgCounter(o, fmt.Sprintf("memory_events[%d].counter", item))
}

func memcgCounter(o *object.Object, path string) (uint64, *vm.Action) {
	v, err := o.Uint(path)
	if err != nil {
		return 0, notSimulated("memory cgroup: " + err.Error())
	}
	return v, nil
}

func memcgVMEvents(c *Call, o *object.Object) (uint64, *vm.Action) {
	at, item, f := c.statIndex(memcgEventItems, "events", uint64(uint32(c.Args[1])))
	if f != nil || item == nil {
		return invalidItem, f
	}
	return memcgCounter(o, fmt.Sprintf("vmstats.events[%d]", at))
}

// memcgPageState returns sizes in bytes and counts of events as they are (mm/memcontrol.c
// memcg_page_state_output). A sum of the CPUs' counts that is negative for a moment counts as 0.
func memcgPageState(c *Call, o *object.Object) (uint64, *vm.Action) {
	at, item, f := c.statIndex(memcgStateItems, "state", uint64(uint32(c.Args[1])))
	if f != nil || item == nil {
		return invalidItem, f
	}
	v, f := memcgCounter(o, fmt.Sprintf("vmstats.state[%d]", at))
	return uint64(max(int64(v), 0)) * item.unit, f
}

func memcgFlush(*Call, *object.Object) (uint64, *vm.Action) { return 0, nil }

// statIndex returns the index of an item's counter in an array of struct memcg_vmstats, which has
// one for each item that the kernel's configuration knows, in the order of the lists. The item is
// nil if memory cgroups do not count it.
func (c *Call) statIndex(items []memcgItem, array string, number uint64) (at int, item *memcgItem, _ *vm.Action) {
	spec, n := c.Kernel.BTF(), uint64(0)
	memcg, l := c.Kernel.LayoutNamed("mem_cgroup"), c.Kernel.LayoutNamed("memcg_vmstats")
	if l == nil || memcg == nil {
		return 0, nil, notSimulated("the kernel's types have no memcg_vmstats")
	}
	_, _, noV1 := memcg.Place("kmem")
	for i := range items {
		v, known := spec.EnumValue("", items[i].name)
		if !known || items[i].v1 && noV1 != nil {
			continue
		}
		if v == number {
			at, item = int(n), &items[i]
		}
		n++
	}
	f, _, err := l.Place(array)
	one, _, err1 := l.Place(array + "[0]")
	if err != nil || err1 != nil || n*one.Size != f.Size {
		return 0, nil, notSimulated(fmt.Sprintf("memcg_vmstats.%s of this kernel counts other items than the %d that are known", array, n))
	}
	return at, item, nil
}
