package model

import (
	"math/bits"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
)

// stackGuardGap is the distance in bytes that is kept free below areas that grow down
// (stack_guard_gap of mm/mmap.c).
const stackGuardGap = 256 << 12

// fillAreaTree links areas in the red-black tree mm_rb, which kernels before 6.1 have, and in which
// each area knows the largest gap before any area of its subtree (vma_compute_gap of mm/mmap.c).
func (m *Model) fillAreaTree(b object.Builder, areas []*object.Object) {
	f, ok := b.Field("mm_rb.rb_node")
	if !ok || b.Taken(f) || len(areas) == 0 {
		return
	}
	nodes, gaps := make([]treeNode, len(areas)), make([]uint64, len(areas))
	before := uint64(0)
	for i, vma := range areas {
		nodes[i] = treeNode{object.Fill(vma), "vm_rb"}
		start := vma.Num("vm_start")
		if vma.Num("vm_flags")&vmGrowsDown != 0 {
			start -= min(stackGuardGap, start)
		}
		gaps[i] = max(start, before) - before
		before = vma.Num("vm_end")
	}
	b.Num("mm_rb.rb_node", linkTree(nodes, 0, bits.Len(uint(len(nodes)))))
	b.Num("highest_vm_end", before)
	setGaps(nodes, gaps)
}

// setGaps sets the largest gap of each subtree of a tree as linkTree builds it, and returns that of
// the root.
func setGaps(nodes []treeNode, gaps []uint64) uint64 {
	if len(nodes) == 0 {
		return 0
	}
	mid := len(nodes) / 2
	gap := max(gaps[mid], setGaps(nodes[:mid], gaps[:mid]), setGaps(nodes[mid+1:], gaps[mid+1:]))
	nodes[mid].in.Num("rb_subtree_gap", gap)
	return gap
}
