package helpers

import (
	"github.com/bpfrun/bpfrun/helpers/owned"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/vm"
)

var treeKfuncs = []kfuncRow{
	{Name: "bpf_rbtree_add", Args: []proto.Arg{argObject, argObject, argFunc}, Do: rbtreeAdd},
	{Name: "bpf_rbtree_add_impl", Args: []proto.Arg{argObject, argObject, argFunc, argAny, argAny}, Do: rbtreeAdd},
	{Name: "bpf_rbtree_remove", Wide: true, Args: []proto.Arg{argObject, argObject}, Do: rbtreeRemove},
	{Name: "bpf_rbtree_first", Wide: true, Args: []proto.Arg{argObject}, Do: rbtreeFirst},
	{Name: "bpf_rbtree_root", Wide: true, Args: []proto.Arg{argObject}, Do: rbtreeRoot},
	{Name: "bpf_rbtree_left", Wide: true, Args: []proto.Arg{argObject, argObject}, Do: rbtreeChild(owned.TreeLeft)},
	{Name: "bpf_rbtree_right", Wide: true, Args: []proto.Arg{argObject, argObject}, Do: rbtreeChild(owned.TreeRight)},
}

// rbtreeAdd calls less(node, other) on the way down from the root; equal nodes go to the right.
func rbtreeAdd(c *Call) (uint64, *vm.Action) {
	if errno, f := c.own("bpf_rbtree_add", c.Args[1], owned.TreeOwner); errno != 0 || f != nil {
		return errnoRet(errno), f
	}
	return rbtreePlace{root: c.Args[0], node: c.Args[1], less: c.Args[2], side: owned.TreeLeft}.next(c.Thread)
}

// rbtreePlace is the state of a bpf_rbtree_add between two callbacks: the position reached so far.
type rbtreePlace struct{ root, node, less, parent, side uint64 }

func (s rbtreePlace) next(t *vm.Thread) (uint64, *vm.Action) {
	tr := envOf(t).heap.Tree(s.root)
	other := tr.Top()
	if s.parent != 0 {
		other = tr.Child(s.parent, s.side)
	}
	if other != 0 && tr.Fault == nil {
		s.parent = other
		return 0, t.Invoke(s.less, [5]uint64{s.node, other}, s)
	}
	tr.Insert(s.node, s.parent, s.side)
	return 0, tr.Fault
}

// Resume implements [vm.Continuation].
func (s rbtreePlace) Resume(t *vm.Thread, ret uint64) (uint64, *vm.Action) {
	if f := callbackReturned("bpf_rbtree_add", ret); f != nil {
		return 0, f
	}
	s.side = owned.TreeRight
	if ret != 0 {
		s.side = owned.TreeLeft
	}
	return s.next(t)
}

// rbtreeRemove returns NULL for a node that is not in this tree.
func rbtreeRemove(c *Call) (uint64, *vm.Action) {
	tr := c.heap.Tree(c.Args[0])
	if !tr.Holds(c.Args[1]) {
		return 0, tr.Fault
	}
	return c.handOut(c.Args[1], func() *vm.Action {
		tr.Remove(c.Args[1])
		return tr.Fault
	})
}

func rbtreeFirst(c *Call) (uint64, *vm.Action) {
	tr := c.heap.Tree(c.Args[0])
	return tr.First(tr.Top()), tr.Fault
}

func rbtreeRoot(c *Call) (uint64, *vm.Action) {
	tr := c.heap.Tree(c.Args[0])
	return tr.Top(), tr.Fault
}

// rbtreeChild returns NULL for a node that is not in this tree.
func rbtreeChild(side uint64) func(c *Call) (uint64, *vm.Action) {
	return func(c *Call) (uint64, *vm.Action) {
		tr := c.heap.Tree(c.Args[0])
		if !tr.Holds(c.Args[1]) {
			return 0, tr.Fault
		}
		return tr.Child(c.Args[1], side), tr.Fault
	}
}
