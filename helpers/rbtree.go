package helpers

import (
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/vm"
)

// Red-black trees of the program's objects. Programs see the shape of a tree (bpf_rbtree_root, _left, _right) and the order in which
// their callback is asked, so it has to be the kernel's: insertion and removal rebalance as lib/rbtree.c does.
//
// A node is a struct bpf_rb_node: the parent with the colour in its lowest bit, then the right and the left child. In place of a
// parent, the root node has the address of the tree with treeTag set; a node in no tree has 0.
const (
	rbParent = 0
	rbRight  = 8
	rbLeft   = 16

	rbRoot = 0 // of struct bpf_rb_root

	rbBlack = 1
	treeTag = 2
	rbTags  = 3
)

var treeKfuncs = []kfuncRow{
	{Name: "bpf_rbtree_add", Args: []proto.Arg{argObject, argObject, argFunc}, Do: rbtreeAdd},
	{Name: "bpf_rbtree_add_impl", Args: []proto.Arg{argObject, argObject, argFunc, argAny, argAny}, Do: rbtreeAdd},
	{Name: "bpf_rbtree_remove", Wide: true, Args: []proto.Arg{argObject, argObject}, Do: rbtreeRemove},
	{Name: "bpf_rbtree_first", Wide: true, Args: []proto.Arg{argObject}, Do: rbtreeFirst},
	{Name: "bpf_rbtree_root", Wide: true, Args: []proto.Arg{argObject}, Do: rbtreeRoot},
	{Name: "bpf_rbtree_left", Wide: true, Args: []proto.Arg{argObject, argObject}, Do: rbtreeChild(rbLeft)},
	{Name: "bpf_rbtree_right", Wide: true, Args: []proto.Arg{argObject, argObject}, Do: rbtreeChild(rbRight)},
}

// tree works on a tree in simulated memory. The first access that fails stays in fault and ends every walk.
type tree struct {
	e     *Env
	root  uint64
	fault *vm.Action
}

func (t *tree) get(addr uint64) uint64 {
	if t.fault != nil {
		return 0
	}
	v, f := t.e.readU64(addr)
	t.fault = f
	return v
}

func (t *tree) set(addr, v uint64) {
	if t.fault == nil {
		t.fault = t.e.writeField(addr, 8, v)
	}
}

func (t *tree) top() uint64 { return t.get(t.root + rbRoot) }

// parent is 0 for the root node.
func (t *tree) parent(n uint64) uint64 {
	p := t.get(n + rbParent)
	if p&treeTag != 0 {
		return 0
	}
	return p &^ rbTags
}

// black reports the colour; missing nodes are black.
func (t *tree) black(n uint64) bool { return n == 0 || t.get(n+rbParent)&rbBlack != 0 }

func (t *tree) setParent(n, parent uint64) {
	if parent == 0 {
		parent = t.root | treeTag
	}
	t.set(n+rbParent, parent|t.get(n+rbParent)&rbBlack)
}

func (t *tree) paint(n uint64, black bool) {
	p := t.get(n+rbParent) &^ rbBlack
	if black {
		p |= rbBlack
	}
	t.set(n+rbParent, p)
}

// replace puts n, which may be 0, in the place of old below parent.
func (t *tree) replace(parent, old, n uint64) {
	switch {
	case parent == 0:
		t.set(t.root+rbRoot, n)
	case t.get(parent+rbLeft) == old:
		t.set(parent+rbLeft, n)
	default:
		t.set(parent+rbRight, n)
	}
	if n != 0 {
		t.setParent(n, parent)
	}
}

// mirror is the other side.
func mirror(side uint64) uint64 { return rbLeft + rbRight - side }

// rotate lifts the child of n on the side that is not side.
func (t *tree) rotate(n, side uint64) {
	up := t.get(n + mirror(side))
	inner := t.get(up + side)
	t.replace(t.parent(n), n, up)
	t.set(n+mirror(side), inner)
	if inner != 0 {
		t.setParent(inner, n)
	}
	t.set(up+side, n)
	t.setParent(n, up)
}

// insert links a node below parent and rebalances.
func (t *tree) insert(n, parent, side uint64) {
	t.set(n+rbLeft, 0)
	t.set(n+rbRight, 0)
	t.set(n+rbParent, 0)
	if parent == 0 {
		t.replace(0, 0, n)
	} else {
		t.set(parent+side, n)
		t.setParent(n, parent)
	}
	for steps := 0; t.goes(steps); steps++ {
		p := t.parent(n)
		if p == 0 {
			t.paint(n, true)
			return
		}
		if t.black(p) {
			return
		}
		g := t.parent(p)
		side := uint64(rbLeft)
		if t.get(g+rbLeft) != p {
			side = rbRight
		}
		if uncle := t.get(g + mirror(side)); !t.black(uncle) {
			t.paint(uncle, true)
			t.paint(p, true)
			t.paint(g, false)
			n = g
			continue
		}
		if t.get(p+mirror(side)) == n {
			t.rotate(p, side)
			p = n
		}
		t.rotate(g, mirror(side))
		t.paint(p, true)
		t.paint(g, false)
		return
	}
}

// first is the leftmost node of the part below n.
func (t *tree) first(n uint64) uint64 {
	for steps := 0; n != 0 && t.goes(steps); steps++ {
		next := t.get(n + rbLeft)
		if next == 0 {
			break
		}
		n = next
	}
	return n
}

// remove takes a node out and rebalances.
func (t *tree) remove(n uint64) {
	left, right, parent := t.get(n+rbLeft), t.get(n+rbRight), t.parent(n)
	removedBlack := t.black(n)
	var child, below uint64 // what moved up, and its new parent
	switch {
	case left == 0 || right == 0:
		child, below = left+right, parent
		t.replace(parent, n, child)
	default:
		next := t.first(right)
		child, removedBlack = t.get(next+rbRight), t.black(next)
		below = next
		if next != right {
			below = t.parent(next)
			t.replace(below, next, child)
			t.set(next+rbRight, right)
			t.setParent(right, next)
		}
		t.replace(parent, n, next)
		t.set(next+rbLeft, left)
		t.setParent(left, next)
		t.paint(next, t.black(n))
	}
	if removedBlack {
		t.rebalance(child, below)
	}
	for _, w := range [...]uint64{rbParent, rbLeft, rbRight} {
		t.set(n+w, 0)
	}
}

// rebalance restores the equal count of black nodes after one was taken away above n, a child of parent.
func (t *tree) rebalance(n, parent uint64) {
	for steps := 0; parent != 0 && t.black(n) && t.goes(steps); steps++ {
		side := uint64(rbLeft)
		if t.get(parent+rbLeft) != n {
			side = rbRight
		}
		far := mirror(side)
		sibling := t.get(parent + far)
		if !t.black(sibling) {
			t.paint(sibling, true)
			t.paint(parent, false)
			t.rotate(parent, side)
			sibling = t.get(parent + far)
		}
		if t.black(t.get(sibling + far)) {
			if t.black(t.get(sibling + side)) {
				t.paint(sibling, false)
				n, parent = parent, t.parent(parent)
				continue
			}
			t.paint(t.get(sibling+side), true)
			t.paint(sibling, false)
			t.rotate(sibling, far)
			sibling = t.get(parent + far)
		}
		t.paint(sibling, t.black(parent))
		t.paint(parent, true)
		t.paint(t.get(sibling+far), true)
		t.rotate(parent, side)
		return
	}
	if n != 0 {
		t.paint(n, true)
	}
}

// maxTreeDepth bounds a walk between a leaf and the root: twice the logarithm of more nodes than memory holds.
const maxTreeDepth = 128

// goes reports whether a walk continues after that many steps. Programs can store to nodes, and make them a circle.
func (t *tree) goes(steps int) bool {
	if t.fault == nil && steps >= maxTreeDepth {
		t.fault = badArg("the nodes of the tree at %#x are no tree any more", t.root)
	}
	return t.fault == nil
}

// holds reports whether a node is in this tree.
func (t *tree) holds(n uint64) bool {
	for range maxTreeDepth {
		p := t.get(n + rbParent)
		switch {
		case t.fault != nil || p == 0:
			return false
		case p&treeTag != 0:
			return p&^rbTags == t.root
		}
		n = p &^ rbTags
	}
	return false
}

// rbtreeAdd asks the callback less(node, other) on the way down from the root; equal ones go to the right.
func rbtreeAdd(c *Call) (uint64, *vm.Action) {
	if errno, f := c.own(c.Args[1], rbParent); errno != 0 || f != nil {
		return errnoRet(errno), f
	}
	return rbtreePlace{root: c.Args[0], node: c.Args[1], less: c.Args[2], side: rbLeft}.next(c.Thread)
}

// rbtreePlace is the state of a bpf_rbtree_add between two callbacks: the place found so far.
type rbtreePlace struct{ root, node, less, parent, side uint64 }

func (s rbtreePlace) next(t *vm.Thread) (uint64, *vm.Action) {
	tr := tree{e: envOf(t), root: s.root}
	other := tr.top()
	if s.parent != 0 {
		other = tr.get(s.parent + s.side)
	}
	if other != 0 && tr.fault == nil {
		s.parent = other
		return 0, t.Invoke(s.less, [5]uint64{s.node, other}, s)
	}
	tr.insert(s.node, s.parent, s.side)
	return 0, tr.fault
}

// Resume implements [vm.Continuation].
func (s rbtreePlace) Resume(t *vm.Thread, ret uint64) (uint64, *vm.Action) {
	if f := callbackReturned("bpf_rbtree_add", ret); f != nil {
		return 0, f
	}
	s.side = rbRight
	if ret != 0 {
		s.side = rbLeft
	}
	return s.next(t)
}

// rbtreeRemove returns NULL for a node that is not in this tree.
func rbtreeRemove(c *Call) (uint64, *vm.Action) {
	tr := tree{e: c.Env, root: c.Args[0]}
	if !tr.holds(c.Args[1]) {
		return 0, tr.fault
	}
	return tr.e.takeNode(&tr, c.Args[1])
}

// takeNode takes a node out of its tree and hands it to the program with its reference.
func (e *Env) takeNode(tr *tree, node uint64) (uint64, *vm.Action) {
	base, f := e.baseOf(node)
	if f != nil {
		return 0, f
	}
	if tr.remove(node); tr.fault != nil {
		return 0, tr.fault
	}
	e.Run.hold(base, "object")
	return node, nil
}

func rbtreeFirst(c *Call) (uint64, *vm.Action) {
	tr := tree{e: c.Env, root: c.Args[0]}
	return tr.first(tr.top()), tr.fault
}

func rbtreeRoot(c *Call) (uint64, *vm.Action) {
	tr := tree{e: c.Env, root: c.Args[0]}
	return tr.top(), tr.fault
}

// rbtreeChild returns NULL for a node that is not in this tree.
func rbtreeChild(side uint64) func(c *Call) (uint64, *vm.Action) {
	return func(c *Call) (uint64, *vm.Action) {
		tr := tree{e: c.Env, root: c.Args[0]}
		if !tr.holds(c.Args[1]) {
			return 0, tr.fault
		}
		return tr.get(c.Args[1] + side), tr.fault
	}
}

// dropTree frees everything in the tree of a map element that goes away.
func (e *Env) dropTree(root uint64) {
	tr := tree{e: e, root: root}
	for tr.fault == nil {
		node := tr.top()
		if node == 0 {
			return
		}
		base, f := e.baseOf(node)
		if f != nil {
			return
		}
		tr.remove(node)
		e.dropObject(base)
	}
}
