// Package recent keeps the order in which the elements of LRU maps were used: package maps evicts by
// it, and native code (package jit), which knows the layout of these types, moves elements that it
// looks up to the front. It does not know what the elements are. Start from [Order].
package recent

import "slices"

// None is the number of no slot.
const None = ^uint32(0)

// Order orders slots by use in one or several lists. A slot belongs to the list that it was added
// to. It stays at its address, and so does the array of Lists.
type Order struct {
	Lists []List
	Nodes []Node // by slot

	// Changed is set by whoever changes anything.
	Changed bool
	at      *Order // the clone that it was equal to when it last counted as unchanged
	slots   uint32 // how many there may be
}

// List is a list of slots.
type List struct {
	Head, Tail uint32 // most and least recently used
	n, room    uint32
}

// Node is a slot's place.
type Node struct {
	Prev, Next uint32 // towards the head, towards the tail; None at the ends
	List       uint32
}

// New returns an order of so many slots, which have equal shares of the lists.
func New(lists int, slots uint32) *Order {
	o := &Order{Lists: make([]List, lists), slots: slots}
	for i := range o.Lists {
		o.Lists[i] = List{Head: None, Tail: None, room: max(slots/uint32(lists), 1)}
	}
	return o
}

// list returns a number of a list that exists.
func (o *Order) list(list int) uint32 {
	if list < len(o.Lists) {
		return uint32(list)
	}
	return 0
}

// Victim returns the slot to evict for a new one in a list; full is false if there is room.
func (o *Order) Victim(list int) (slot uint32, full bool) {
	l := &o.Lists[o.list(list)]
	return l.Tail, l.n >= l.room
}

// Room returns how many slots fit in a list.
func (o *Order) Room(list int) uint32 { return o.Lists[o.list(list)].room }

// Add inserts a slot at the front of a list.
func (o *Order) Add(slot uint32, list int) {
	o.Changed = true
	if n := int(slot) + 1; n > cap(o.Nodes) { // no more than there may be: there may be millions
		more := make([]Node, n, max(n, min(2*n, int(o.slots))))
		copy(more, o.Nodes)
		o.Nodes = more
	} else if n > len(o.Nodes) {
		o.Nodes = o.Nodes[:n]
	}
	o.Nodes[slot].List = o.list(list)
	o.push(slot)
}

func (o *Order) push(slot uint32) {
	n := &o.Nodes[slot]
	l := &o.Lists[n.List]
	n.Prev, n.Next = None, l.Head
	if l.Head != None {
		o.Nodes[l.Head].Prev = slot
	} else {
		l.Tail = slot
	}
	l.Head = slot
	l.n++
}

// Remove removes a slot.
func (o *Order) Remove(slot uint32) {
	o.Changed = true
	n := &o.Nodes[slot]
	l := &o.Lists[n.List]
	if n.Prev != None {
		o.Nodes[n.Prev].Next = n.Next
	} else {
		l.Head = n.Next
	}
	if n.Next != None {
		o.Nodes[n.Next].Prev = n.Prev
	} else {
		l.Tail = n.Prev
	}
	l.n--
}

// Use moves a slot to the front of its list.
func (o *Order) Use(slot uint32) {
	if o.Lists[o.Nodes[slot].List].Head == slot {
		return
	}
	o.Remove(slot)
	o.push(slot)
}

// Clone returns a copy, which nobody changes.
func (o *Order) Clone() *Order {
	if o == nil {
		return nil
	}
	if o.at == nil || o.Changed {
		o.at, o.Changed = &Order{Lists: slices.Clone(o.Lists), Nodes: slices.Clone(o.Nodes)}, false
	}
	return o.at
}

// Restore returns to a clone.
func (o *Order) Restore(to *Order) {
	if o != nil && (o.at != to || o.Changed) {
		copy(o.Lists, to.Lists)
		o.Nodes = append(o.Nodes[:0], to.Nodes...)
		o.at, o.Changed = to, false
	}
}
