package model

import (
	"fmt"
	"math"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
)

// Constants of maple trees (include/linux/maple_tree.h, lib/maple_tree.c).
const (
	mapleNodeSize  = 256 // bytes of a node, and its alignment
	mapleTypeShift = 3   // of the node's type in a pointer to it
	mapleLeaf      = 1   // maple_leaf_64
	mapleInner     = 3   // maple_arange_64, the inner nodes of trees that track gaps
	mapleNull      = 4   // MAPLE_ENODE_NULL: there may be gaps below
	mapleRoot      = 2   // MAPLE_ROOT_NODE: ma_root is a node, not an entry
	mapleTopmost   = 1   // MA_ROOT_PARENT: the parent is the tree
	mapleBelow     = 6   // MAPLE_PARENT_RANGE64: the parent is a node, the slot is in the bits from mapleTypeShift on
	// mapleFlags are MM_MT_FLAGS of include/linux/mm_types.h: MT_FLAGS_ALLOC_RANGE,
	// MT_FLAGS_USE_RCU, MT_FLAGS_LOCK_EXTERN. The height starts at bit mapleHeight
	// (MT_FLAGS_HEIGHT_OFFSET).
	mapleFlags  = 0x303
	mapleHeight = 2
)

// mapleEntry is a range of a maple tree, up to and including last, and what it contains: an entry,
// or a node.
type mapleEntry struct {
	last, slot uint64
	gap        uint64 // most addresses in a row without an entry
}

// mapleNode is a node under construction.
type mapleNode struct {
	o     *object.Object
	first uint64
	slots []mapleEntry
}

// fillMapleTree makes mm_mt the tree of an address space's areas, as vma_iter_store leaves it:
// leaves of ranges, gaps included, below inner nodes with the largest gap of each child. Kernels
// before 6.1 have no such tree.
func (m *Model) fillMapleTree(b object.Builder, areas []*object.Object) {
	root, ok := b.Field("mm_mt.ma_root")
	leaf := m.LayoutNamed("maple_range_64")
	inner := m.LayoutNamed("maple_arange_64")
	if !ok || b.Taken(root) || leaf == nil || inner == nil || len(areas) == 0 {
		return
	}
	limit := uint64(math.MaxUint64)
	if m.Mem().PointerSize() == 4 {
		limit = math.MaxUint32
	}
	var entries []mapleEntry
	at := uint64(0)
	for _, vma := range areas {
		start, end := vma.Num("vm_start"), vma.Num("vm_end")
		if start > at {
			entries = append(entries, mapleEntry{last: start - 1, gap: start - at})
		}
		entries = append(entries, mapleEntry{last: end - 1, slot: vma.Addr()})
		at = end
	}
	entries = append(entries, mapleEntry{last: limit, gap: limit - at + 1})

	tree, height := b.Object.Base()+memberOffset(b, "mm_mt"), uint64(0)
	var below []mapleNode
	for layout, typ := leaf, uint64(mapleLeaf); ; layout, typ = inner, mapleInner {
		level := m.mapleLevel(fmt.Sprintf("%s level %d", b.Role("mm_mt"), height), layout, entries, b.Object)
		if level == nil {
			return
		}
		height++
		entries = entries[:0]
		for i := range level {
			n := &level[i]
			most := mapleEntry{last: n.slots[len(n.slots)-1].last, slot: n.o.Addr() | typ<<mapleTypeShift | mapleNull}
			for j, e := range n.slots {
				if typ == mapleInner {
					below[0].setParent(n.o.Addr() | uint64(j)<<mapleTypeShift | mapleBelow)
					below = below[1:]
				}
				most.gap = max(most.gap, e.gap)
			}
			entries = append(entries, most)
		}
		below = level
		if len(level) == 1 {
			break
		}
	}
	below[0].setParent(tree | mapleTopmost)
	b.Num("mm_mt.ma_root", entries[0].slot|mapleRoot)
	b.Num("mm_mt.ma_flags", mapleFlags|height<<mapleHeight)
}

// mapleLevel builds the nodes of one level, filled evenly.
func (m *Model) mapleLevel(role string, l *object.Layout, entries []mapleEntry, below *object.Object) []mapleNode {
	slot, _, err := l.Place("slot")
	word := uint64(m.Mem().PointerSize())
	if err != nil || slot.Size < 2*word {
		return nil
	}
	room := int(slot.Size / word)
	count := (len(entries) + room - 1) / room
	store, err := m.MakeBytes(role, uint64(count+1)*mapleNodeSize, below)
	if err != nil {
		m.Fail(err)
		return nil
	}
	skip := -store.Addr() & (mapleNodeSize - 1)
	var out []mapleNode
	first := uint64(0)
	for i := range count {
		n := mapleNode{first: first, slots: entries[i*len(entries)/count : (i+1)*len(entries)/count]}
		if n.o, err = store.Embed(fmt.Sprintf("%s[%d]", role, i), l, skip+uint64(i)*mapleNodeSize, 0); err != nil {
			m.Fail(err)
			return nil
		}
		n.fill(room)
		first = n.slots[len(n.slots)-1].last + 1
		out = append(out, n)
	}
	return out
}

// fill writes pivots, slots, gaps and where they end. The last slot's end is implied where a node
// has no room for its pivot, and where the node is full its metadata is part of the last slot.
func (n *mapleNode) fill(room int) {
	b := object.Fill(n.o)
	b.All(make([]byte, n.o.Size()))
	widest := 0
	for i, e := range n.slots {
		b.Num(fmt.Sprintf("pivot[%d]", i), e.last)
		b.Num(fmt.Sprintf("slot[%d]", i), e.slot)
		b.Num(fmt.Sprintf("gap[%d]", i), e.gap)
		if e.gap > n.slots[widest].gap {
			widest = i
		}
	}
	_, gaps := b.Field("gap")
	if len(n.slots) < room || gaps {
		b.Num("meta.end", uint64(len(n.slots)-1))
	}
	if gaps {
		b.Num("meta.gap", uint64(widest))
	}
}

func (n *mapleNode) setParent(to uint64) { object.Fill(n.o).Num("parent", to) }

// memberOffset returns the offset of a field in the storage of an object; 0 if the type lacks it.
func memberOffset(b object.Builder, path string) uint64 {
	f, _ := b.Field(path)
	return f.Off
}
