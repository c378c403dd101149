package helpers

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/helpers/guest"
	"github.com/bpfrun/bpfrun/helpers/held"
	"github.com/bpfrun/bpfrun/helpers/owned"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// Objects that programs allocate by the types of their own BTF, and lists and trees of them
// (kernel/bpf/helpers.c bpf_obj_new_impl and following).
var localKfuncs = []kfuncRow{
	{Name: "bpf_obj_new", Wide: true, Args: []proto.Arg{argAny}, Do: objNew},
	{Name: "bpf_obj_drop", Args: []proto.Arg{argObject}, Do: objDrop},
	{Name: "bpf_refcount_acquire", Wide: true, Args: []proto.Arg{argObject}, Do: refcountAcquire},
	{Name: "bpf_list_push_front", Args: []proto.Arg{argObject, argObject}, Do: listPush(true)},
	{Name: "bpf_list_push_back", Args: []proto.Arg{argObject, argObject}, Do: listPush(false)},
	{Name: "bpf_obj_new_impl", Wide: true, Args: []proto.Arg{argAny, argAny}, Do: objNew},
	{Name: "bpf_obj_drop_impl", Args: []proto.Arg{argObject, argAny}, Do: objDrop},
	{Name: "bpf_refcount_acquire_impl", Wide: true, Args: []proto.Arg{argObject, argAny}, Do: refcountAcquire},
	{Name: "bpf_list_push_front_impl", Args: []proto.Arg{argObject, argObject, argAny, argAny}, Do: listPush(true)},
	{Name: "bpf_list_push_back_impl", Args: []proto.Arg{argObject, argObject, argAny, argAny}, Do: listPush(false)},
	{Name: "bpf_list_pop_front", Wide: true, Args: []proto.Arg{argObject}, Do: listPop(true)},
	{Name: "bpf_list_pop_back", Wide: true, Args: []proto.Arg{argObject}, Do: listPop(false)},
	{Name: "bpf_list_front", Wide: true, Args: []proto.Arg{argObject}, Do: listPeek(true)},
	{Name: "bpf_list_back", Wide: true, Args: []proto.Arg{argObject}, Do: listPeek(false)},
	{Name: "bpf_list_add", Args: []proto.Arg{argObject, argObject, argObject}, Do: listAdd},
	{Name: "bpf_list_del", Wide: true, Args: []proto.Arg{argObject, argObject}, Do: listDel},
	{Name: "bpf_list_empty", Args: []proto.Arg{argObject}, Do: listEmpty},
	{Name: "bpf_list_is_first", Args: []proto.Arg{argObject, argObject}, Do: listIsEnd(true)},
	{Name: "bpf_list_is_last", Args: []proto.Arg{argObject, argObject}, Do: listIsEnd(false)},
}

// objNew allocates an object of a struct of the program's own BTF. The kernel clears just the
// special fields; here everything is zero.
func objNew(c *Call) (uint64, *vm.Action) {
	return c.newObject("bpf_obj_new", func(size uint64, name string) uint64 {
		fields := c.objectFields(btf.ID(uint32(c.Args[0])))
		addr := c.heap.Alloc(size, name, maps.Guards(fields), fields)
		if addr != 0 {
			c.handedOut(addr, size)
			for _, f := range fields {
				c.Mem.Define(addr+uint64(f.Off), uint64(f.Size))
			}
		}
		return addr
	})
}

// objectFields returns the locks, nodes, kptrs and other special fields of objects of the program's
// own structs. A struct that the kernel would not accept has none: it was refused earlier.
func (e *Env) objectFields(id btf.ID) []maps.Special {
	fields, err := maps.Specials(e.Local, id)
	if err != nil {
		return nil
	}
	return fields
}

// newObject allocates an object of the type given by the first argument; it returns NULL if there
// is no memory.
func (c *Call) newObject(by string, alloc func(size uint64, name string) uint64) (uint64, *vm.Action) {
	if c.Local == nil {
		return 0, notSimulated(by + " without the object's BTF")
	}
	id := btf.ID(uint32(c.Args[0]))
	size, err := c.Local.Sizeof(id)
	if err != nil || size <= 0 || uint64(size) > guest.MaxBuffer {
		return 0, badArg("%s of type %d: not a struct of the object", by, id)
	}
	return c.takeObject(alloc(uint64(size), c.Local.Name(id))), nil
}

// takeObject records a reference to an object for the program and returns it, or NULL.
func (c *Call) takeObject(addr uint64) uint64 {
	if addr != 0 {
		c.Run.Held.Take(held.Reference, addr, "object")
	}
	return addr
}

func objDrop(c *Call) (uint64, *vm.Action) {
	f := c.give("bpf_obj_drop", held.Reference, c.Args[0])
	if f == nil {
		c.heap.Drop(c.Args[0])
	}
	return 0, f
}

func refcountAcquire(c *Call) (uint64, *vm.Action) {
	if f := c.heap.Acquire(c.Args[0]); f != nil {
		return 0, f
	}
	return c.takeObject(c.Args[0]), nil
}

// own takes ownership of a node from the program. A node already in a list or tree, whose word at
// ownerAt is not 0, is dropped: -EINVAL.
func (c *Call) own(by string, node, ownerAt uint64) (uapi.Errno, *vm.Action) {
	base, f := c.heap.Base(node)
	if f != nil {
		return 0, f
	}
	owner, f := c.guest.ReadU64(node + ownerAt)
	if f != nil {
		return 0, f
	}
	if f := c.give(by, held.Reference, base); f != nil || owner == 0 {
		return 0, f
	}
	c.heap.Drop(base)
	return uapi.EINVAL, nil
}

// handOut passes a node that unlink removes from a list or tree to the program, with a reference to
// its object.
func (c *Call) handOut(node uint64, unlink func() *vm.Action) (uint64, *vm.Action) {
	base, f := c.heap.Base(node)
	if f == nil {
		f = unlink()
	}
	if f != nil {
		return 0, f
	}
	c.takeObject(base)
	return node, nil
}

func listPush(front bool) Impl {
	return func(c *Call) (uint64, *vm.Action) {
		if errno, f := c.own("bpf_list_push", c.Args[1], owned.ListOwner); errno != 0 || f != nil {
			return errnoRet(errno), f
		}
		return 0, c.heap.PushList(c.Args[0], c.Args[1], front)
	}
}

func listPop(front bool) Impl {
	return func(c *Call) (uint64, *vm.Action) {
		node, f := c.heap.ListEnd(c.Args[0], front)
		if f != nil || node == 0 {
			return 0, f
		}
		return c.handOut(node, func() *vm.Action { return c.heap.Unlink(c.Args[0], node) })
	}
}

func listPeek(front bool) Impl {
	return func(c *Call) (uint64, *vm.Action) { return c.heap.ListEnd(c.Args[0], front) }
}

// isIn reports whether a node is in the list of a head.
func (c *Call) isIn(head, node uint64) (bool, *vm.Action) {
	if _, f := c.heap.Base(node); f != nil {
		return false, f
	}
	owner, f := c.guest.ReadU64(node + owned.ListOwner)
	return owner == head, f
}

// listAdd inserts a node after another node of the list. If that one is not in this list, the node
// is dropped, as by a failed push.
func listAdd(c *Call) (uint64, *vm.Action) {
	head, node, prev := c.Args[0], c.Args[1], c.Args[2]
	in, f := c.isIn(head, prev)
	if f != nil {
		return 0, f
	}
	if errno, f := c.own("bpf_list_add", node, owned.ListOwner); errno != 0 || f != nil {
		return errnoRet(errno), f
	}
	if !in {
		base, f := c.heap.Base(node)
		if f == nil {
			c.heap.Drop(base)
		}
		return errnoRet(uapi.EINVAL), f
	}
	return 0, c.heap.InsertList(head, node, prev)
}

// listDel returns NULL for a node that is not in this list.
func listDel(c *Call) (uint64, *vm.Action) {
	head, node := c.Args[0], c.Args[1]
	if in, f := c.isIn(head, node); f != nil || !in {
		return 0, f
	}
	return c.handOut(node, func() *vm.Action { return c.heap.Unlink(head, node) })
}

func listEmpty(c *Call) (uint64, *vm.Action) {
	first, f := c.heap.ListEnd(c.Args[0], true)
	return boolRet(first == 0), f
}

func listIsEnd(front bool) Impl {
	return func(c *Call) (uint64, *vm.Action) {
		in, f := c.isIn(c.Args[0], c.Args[1])
		if f != nil || !in {
			return 0, f
		}
		end, f := c.heap.ListEnd(c.Args[0], front)
		return boolRet(end == c.Args[1]), f
	}
}
