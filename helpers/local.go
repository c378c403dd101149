package helpers

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/mem"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// Objects that programs allocate by the types of their own BTF, and the lists and trees made of them
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
}

// The words of heads and nodes of lists: the head holds the first and the last node, each node the next and the one before and,
// in its last word, the head it is in. The kernel's use of these bytes is as invisible to programs.
const (
	linkFirst = 0
	linkLast  = 8
	linkNext  = 0
	linkPrev  = 8
	linkOwner = 16
)

// objNew allocates a zeroed object of a struct of the program's own BTF.
func objNew(c *Call) (uint64, *vm.Action) {
	if c.Local == nil {
		return 0, notSimulated("bpf_obj_new without the object's BTF")
	}
	id := btf.ID(uint32(c.Args[0]))
	size, err := c.Local.Sizeof(id)
	if err != nil || size <= 0 || uint64(size) > maxBuffer {
		return 0, badArg("bpf_obj_new of type %d: no struct of the object", id)
	}
	r, err := c.Mem.Alloc(uint64(size), mem.Region{Kind: mem.LocalObject, Name: c.Local.Name(id)})
	if err != nil {
		return 0, nil // out of memory: NULL
	}
	c.Run.hold(r.Base, "object")
	return r.Base, nil
}

// baseOf is the object that a pointer to its node lies in.
func (e *Env) baseOf(addr uint64) (uint64, *vm.Action) {
	r := e.Mem.Find(addr)
	if r == nil || r.Kind != mem.LocalObject {
		return 0, badArg("%#x is in no object of the program", addr)
	}
	return r.Base, nil
}

func objDrop(c *Call) (uint64, *vm.Action) {
	if !c.Run.release(c.Args[0]) {
		return 0, badArg("bpf_obj_drop of %#x, to which this program holds no reference", c.Args[0])
	}
	c.dropObject(c.Args[0])
	return 0, nil
}

func refcountAcquire(c *Call) (uint64, *vm.Action) {
	if _, f := c.baseOf(c.Args[0]); f != nil {
		return 0, f
	}
	if c.refs == nil {
		c.refs = map[uint64]int{}
	}
	c.refs[c.Args[0]] = max(c.refs[c.Args[0]], 1) + 1
	c.Run.hold(c.Args[0], "object")
	return c.Args[0], nil
}

// own takes a node out of the program's hands. A node that is in a list or tree already, of which the word at ownerAt is not 0, is
// dropped: -EINVAL.
func (e *Env) own(node, ownerAt uint64) (uapi.Errno, *vm.Action) {
	base, f := e.baseOf(node)
	if f != nil {
		return 0, f
	}
	owner, f := e.readU64(node + ownerAt)
	if f != nil {
		return 0, f
	}
	if !e.Run.release(base) {
		return 0, badArg("%#x is added, to which this program holds no reference", base)
	}
	if owner != 0 {
		e.dropObject(base)
		return uapi.EINVAL, nil
	}
	return 0, nil
}

// link puts a node between two others of a head; 0 stands for the head itself.
func (e *Env) link(head, node, prev, next uint64) *vm.Action {
	at, back := head+linkFirst, head+linkLast
	if prev != 0 {
		at = prev + linkNext
	}
	if next != 0 {
		back = next + linkPrev
	}
	for _, w := range [...][2]uint64{{at, node}, {back, node}, {node + linkNext, next}, {node + linkPrev, prev}, {node + linkOwner, head}} {
		if f := e.writeField(w[0], 8, w[1]); f != nil {
			return f
		}
	}
	return nil
}

// unlink takes a node out of its head.
func (e *Env) unlink(head, node uint64) *vm.Action {
	next, f := e.readU64(node + linkNext)
	if f != nil {
		return f
	}
	prev, f := e.readU64(node + linkPrev)
	if f != nil {
		return f
	}
	at, back := head+linkFirst, head+linkLast
	if prev != 0 {
		at = prev + linkNext
	}
	if next != 0 {
		back = next + linkPrev
	}
	for _, w := range [...][2]uint64{{at, next}, {back, prev}, {node + linkNext, 0}, {node + linkPrev, 0}, {node + linkOwner, 0}} {
		if f := e.writeField(w[0], 8, w[1]); f != nil {
			return f
		}
	}
	return nil
}

// end returns the first or the last node of a head, 0 when it is empty.
func (e *Env) end(head uint64, front bool) (uint64, *vm.Action) {
	if front {
		return e.readU64(head + linkFirst)
	}
	return e.readU64(head + linkLast)
}

func listPush(front bool) Impl {
	return func(c *Call) (uint64, *vm.Action) {
		if errno, f := c.own(c.Args[1], linkOwner); errno != 0 || f != nil {
			return errnoRet(errno), f
		}
		other, f := c.end(c.Args[0], front)
		if f != nil {
			return 0, f
		}
		if front {
			return 0, c.link(c.Args[0], c.Args[1], 0, other)
		}
		return 0, c.link(c.Args[0], c.Args[1], other, 0)
	}
}

func listPop(front bool) Impl {
	return func(c *Call) (uint64, *vm.Action) {
		node, f := c.end(c.Args[0], front)
		if f != nil || node == 0 {
			return 0, f
		}
		return c.giveBack(c.Args[0], node)
	}
}

// giveBack takes a node out of its head and hands it to the program with its reference.
func (e *Env) giveBack(head, node uint64) (uint64, *vm.Action) {
	base, f := e.baseOf(node)
	if f != nil {
		return 0, f
	}
	if f := e.unlink(head, node); f != nil {
		return 0, f
	}
	e.Run.hold(base, "object")
	return node, nil
}

func listPeek(front bool) Impl {
	return func(c *Call) (uint64, *vm.Action) {
		return c.end(c.Args[0], front)
	}
}

// dropNodes frees everything in the list of a map element that goes away.
func (e *Env) dropNodes(head uint64) {
	for {
		node, f := e.end(head, true)
		if f != nil || node == 0 {
			return
		}
		base, f := e.baseOf(node)
		if f != nil || e.unlink(head, node) != nil {
			return
		}
		// What else the object owns goes with it.
		if r := e.Mem.Find(base); r != nil {
			e.dropObject(r.Base)
		}
	}
}
