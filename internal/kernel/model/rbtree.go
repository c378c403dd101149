package model

import "github.com/bpfrun/bpfrun/internal/kernel/object"

// rbBlack is the color bit of __rb_parent_color (RB_BLACK of include/linux/rbtree_augmented.h).
const rbBlack = 1

// treeNode is an rb_node: a builder of the object that contains it, and its path there.
type treeNode struct {
	in   object.Builder
	path string
}

func (n treeNode) addr() uint64 {
	f, ok := n.in.Field(n.path)
	if !ok {
		return 0
	}
	return n.in.Object.Base() + f.Off
}

// linkTree links nodes, in their order, to a red-black tree below parent that is at most level
// deep, and returns the address of its root. The deepest level, which may be incomplete, is red and
// all others black, so that all paths have the same number of black nodes.
func linkTree(nodes []treeNode, parent uint64, level int) uint64 {
	if len(nodes) == 0 {
		return 0
	}
	mid := len(nodes) / 2
	n := nodes[mid]
	color := uint64(rbBlack)
	if level == 1 && parent != 0 {
		color = 0
	}
	at := n.addr()
	n.in.Num(n.path+".__rb_parent_color", parent|color)
	n.in.Num(n.path+".rb_left", linkTree(nodes[:mid], at, level-1))
	n.in.Num(n.path+".rb_right", linkTree(nodes[mid+1:], at, level-1))
	return at
}
