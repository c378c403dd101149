package owned

import (
	"github.com/bpfrun/bpfrun/helpers/guest"
	"github.com/bpfrun/bpfrun/vm"
)

// Red-black trees of the program's objects. Programs can see the shape of a tree (bpf_rbtree_root,
// _left, _right) and the order of calls of their callback, so both must be the kernel's: insertion
// and removal rebalance as lib/rbtree.c does.
//
// A node is a struct bpf_rb_node: the parent with the colour in its lowest bit, then the right and
// the left child. Instead of a parent, the root node has the address of the tree with treeTag set;
// a node that is in no tree has 0.
const (
	TreeOwner = 0 // the word that is not 0 while a node is in a tree
	TreeRight = 8
	TreeLeft  = 16

	rbRoot = 0 // of struct bpf_rb_root

	rbBlack = 1
	treeTag = 2
	rbTags  = 3
)

// Tree accesses a tree in simulated memory. The first fault is kept in Fault and ends every walk.
type Tree struct {
	guest *guest.Memory
	root  uint64
	Fault *vm.Action
}

// Tree returns the tree with that struct bpf_rb_root.
func (h *Heap) Tree(root uint64) *Tree { return &Tree{guest: h.guest, root: root} }

func (t *Tree) get(addr uint64) uint64 {
	if t.Fault != nil {
		return 0
	}
	v, f := t.guest.ReadU64(addr)
	t.Fault = f
	return v
}

func (t *Tree) set(addr, v uint64) {
	if t.Fault == nil {
		t.Fault = t.guest.WriteField(addr, 8, v)
	}
}

// Top returns the root node, 0 if the tree is empty.
func (t *Tree) Top() uint64 { return t.get(t.root + rbRoot) }

// Child returns the node on a side of n, TreeLeft or TreeRight.
func (t *Tree) Child(n, side uint64) uint64 { return t.get(n + side) }

// parent returns the parent, 0 for the root node.
func (t *Tree) parent(n uint64) uint64 {
	p := t.get(n + TreeOwner)
	if p&treeTag != 0 {
		return 0
	}
	return p &^ rbTags
}

// black reports the colour; missing nodes are black.
func (t *Tree) black(n uint64) bool { return n == 0 || t.get(n+TreeOwner)&rbBlack != 0 }

func (t *Tree) setParent(n, parent uint64) {
	if parent == 0 {
		parent = t.root | treeTag
	}
	t.set(n+TreeOwner, parent|t.get(n+TreeOwner)&rbBlack)
}

func (t *Tree) paint(n uint64, black bool) {
	p := t.get(n+TreeOwner) &^ rbBlack
	if black {
		p |= rbBlack
	}
	t.set(n+TreeOwner, p)
}

// replace puts n, which may be 0, in place of old below parent.
func (t *Tree) replace(parent, old, n uint64) {
	switch {
	case parent == 0:
		t.set(t.root+rbRoot, n)
	case t.get(parent+TreeLeft) == old:
		t.set(parent+TreeLeft, n)
	default:
		t.set(parent+TreeRight, n)
	}
	if n != 0 {
		t.setParent(n, parent)
	}
}

// mirror returns the other side.
func mirror(side uint64) uint64 { return TreeLeft + TreeRight - side }

// rotate lifts the child of n on the side that is not side.
func (t *Tree) rotate(n, side uint64) {
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

// Insert links a node below parent and rebalances.
func (t *Tree) Insert(n, parent, side uint64) {
	t.set(n+TreeLeft, 0)
	t.set(n+TreeRight, 0)
	t.set(n+TreeOwner, 0)
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
		side := uint64(TreeLeft)
		if t.get(g+TreeLeft) != p {
			side = TreeRight
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

// First returns the leftmost node of the subtree at n.
func (t *Tree) First(n uint64) uint64 {
	for steps := 0; n != 0 && t.goes(steps); steps++ {
		next := t.get(n + TreeLeft)
		if next == 0 {
			break
		}
		n = next
	}
	return n
}

// Remove removes a node and rebalances.
func (t *Tree) Remove(n uint64) {
	left, right, parent := t.get(n+TreeLeft), t.get(n+TreeRight), t.parent(n)
	removedBlack := t.black(n)
	var child, below uint64 // what moved up, and its new parent
	switch {
	case left == 0 || right == 0:
		child, below = left+right, parent
		t.replace(parent, n, child)
	default:
		next := t.First(right)
		child, removedBlack = t.get(next+TreeRight), t.black(next)
		below = next
		if next != right {
			below = t.parent(next)
			t.replace(below, next, child)
			t.set(next+TreeRight, right)
			t.setParent(right, next)
		}
		t.replace(parent, n, next)
		t.set(next+TreeLeft, left)
		t.setParent(left, next)
		t.paint(next, t.black(n))
	}
	if removedBlack {
		t.rebalance(child, below)
	}
	for _, w := range [...]uint64{TreeOwner, TreeLeft, TreeRight} {
		t.set(n+w, 0)
	}
}

// rebalance restores equal black heights after one was reduced at n, a child of parent.
func (t *Tree) rebalance(n, parent uint64) {
	for steps := 0; parent != 0 && t.black(n) && t.goes(steps); steps++ {
		side := uint64(TreeLeft)
		if t.get(parent+TreeLeft) != n {
			side = TreeRight
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

// maxTreeDepth limits a walk between a leaf and the root: twice the logarithm of more nodes than
// fit in memory.
const maxTreeDepth = 128

// goes reports whether a walk may continue after that many steps. Programs can store to nodes and
// create a cycle.
func (t *Tree) goes(steps int) bool {
	if t.Fault == nil && steps >= maxTreeDepth {
		t.Fault = guest.BadArg("the nodes of the tree at %#x no longer form a tree", t.root)
	}
	return t.Fault == nil
}

// Holds reports whether a node is in this tree.
func (t *Tree) Holds(n uint64) bool {
	for range maxTreeDepth {
		p := t.get(n + TreeOwner)
		switch {
		case t.Fault != nil || p == 0:
			return false
		case p&treeTag != 0:
			return p&^rbTags == t.root
		}
		n = p &^ rbTags
	}
	return false
}

// DropTree frees everything in the tree of a map element that is deleted.
func (h *Heap) DropTree(root uint64) {
	t := h.Tree(root)
	for t.Fault == nil {
		node := t.Top()
		if node == 0 {
			return
		}
		base, f := h.Base(node)
		if f != nil {
			return
		}
		t.Remove(node)
		h.Drop(base)
	}
}
