package owned

import (
	"github.com/bpfrun/bpfrun/vm"
)

// The words of list heads and nodes: the head contains the first and the last node; each node the
// next and the previous one and, in its last word, its head. Programs cannot see these bytes, in
// the kernel or here.
const (
	linkFirst = 0
	linkLast  = 8
	linkNext  = 0
	linkPrev  = 8
)

// ListOwner is the offset in a list node of the word that is not 0 while the node is in a list.
const ListOwner = 16

// PushList puts a node at one end of the list with that head.
func (h *Heap) PushList(head, node uint64, front bool) *vm.Action {
	other, f := h.ListEnd(head, front)
	if f != nil {
		return f
	}
	if front {
		return h.link(head, node, 0, other)
	}
	return h.link(head, node, other, 0)
}

// InsertList inserts a node after another node of a list.
func (h *Heap) InsertList(head, node, prev uint64) *vm.Action {
	next, f := h.guest.ReadU64(prev + linkNext)
	if f != nil {
		return f
	}
	return h.link(head, node, prev, next)
}

// ListEnd returns the first or the last node of a list, 0 if it is empty.
func (h *Heap) ListEnd(head uint64, front bool) (uint64, *vm.Action) {
	if front {
		return h.guest.ReadU64(head + linkFirst)
	}
	return h.guest.ReadU64(head + linkLast)
}

// words stores words of heads and nodes.
func (h *Heap) words(all ...[2]uint64) *vm.Action {
	for _, w := range all {
		if f := h.guest.WriteField(w[0], 8, w[1]); f != nil {
			return f
		}
	}
	return nil
}

// neighbours returns the words that point to what is between two nodes of a list; 0 stands for the
// head itself.
func neighbours(head, prev, next uint64) (forward, back uint64) {
	forward, back = head+linkFirst, head+linkLast
	if prev != 0 {
		forward = prev + linkNext
	}
	if next != 0 {
		back = next + linkPrev
	}
	return forward, back
}

// link puts a node between two others of a head.
func (h *Heap) link(head, node, prev, next uint64) *vm.Action {
	forward, back := neighbours(head, prev, next)
	return h.words([2]uint64{forward, node}, [2]uint64{back, node}, [2]uint64{node + linkNext, next}, [2]uint64{node + linkPrev, prev}, [2]uint64{node + ListOwner, head})
}

// Unlink removes a node from its list.
func (h *Heap) Unlink(head, node uint64) *vm.Action {
	next, f := h.guest.ReadU64(node + linkNext)
	if f != nil {
		return f
	}
	prev, f := h.guest.ReadU64(node + linkPrev)
	if f != nil {
		return f
	}
	forward, back := neighbours(head, prev, next)
	return h.words([2]uint64{forward, next}, [2]uint64{back, prev}, [2]uint64{node + linkNext, 0}, [2]uint64{node + linkPrev, 0}, [2]uint64{node + ListOwner, 0})
}

// DropList frees everything in the list of a map element that is deleted.
func (h *Heap) DropList(head uint64) {
	for {
		node, f := h.ListEnd(head, true)
		if f != nil || node == 0 {
			return
		}
		base, f := h.Base(node)
		if f != nil || h.Unlink(head, node) != nil {
			return
		}
		h.Drop(base)
	}
}
