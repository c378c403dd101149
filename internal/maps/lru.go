package maps

import "slices"

// lru orders the elements of an LRU map by use. With BPF_F_NO_COMMON_LRU every CPU has its own list
// and an equal share of the elements; otherwise there is one list. An element belongs to the list
// of the CPU that created it.
type lru struct {
	lists []lruList
	nodes []lruNode // by slot

	at      *lru // the clone that it was equal to when it last counted as unchanged
	changed bool
}

type lruList struct {
	head, tail uint32 // most and least recently used
	n, room    uint32
}

type lruNode struct {
	prev, next uint32 // towards the head, towards the tail
	list       uint32
}

func newLRU(parts int, entries uint32) *lru {
	l := &lru{lists: make([]lruList, parts)}
	for i := range l.lists {
		l.lists[i] = lruList{head: noSlot, tail: noSlot, room: max(entries/uint32(parts), 1)}
	}
	return l
}

func (l *lru) list(cpu int) uint32 {
	if cpu < len(l.lists) {
		return uint32(cpu)
	}
	return 0
}

// victim returns the slot to evict for a new element of that CPU; full is false if there is room.
func (l *lru) victim(cpu int) (slot uint32, full bool) {
	s := &l.lists[l.list(cpu)]
	return s.tail, s.n >= s.room
}

// room returns how many elements fit in the list of that CPU.
func (l *lru) room(cpu int) uint32 { return l.lists[l.list(cpu)].room }

// add inserts a slot at the front.
func (l *lru) add(slot uint32, cpu int) {
	l.changed = true
	for uint32(len(l.nodes)) <= slot {
		l.nodes = append(l.nodes, lruNode{})
	}
	l.nodes[slot].list = l.list(cpu)
	l.push(slot)
}

func (l *lru) push(slot uint32) {
	n := &l.nodes[slot]
	s := &l.lists[n.list]
	n.prev, n.next = noSlot, s.head
	if s.head != noSlot {
		l.nodes[s.head].prev = slot
	} else {
		s.tail = slot
	}
	s.head = slot
	s.n++
}

func (l *lru) remove(slot uint32) {
	l.changed = true
	n := &l.nodes[slot]
	s := &l.lists[n.list]
	if n.prev != noSlot {
		l.nodes[n.prev].next = n.next
	} else {
		s.head = n.next
	}
	if n.next != noSlot {
		l.nodes[n.next].prev = n.prev
	} else {
		s.tail = n.prev
	}
	s.n--
}

// use moves a slot to the front.
func (l *lru) use(slot uint32) {
	if l.lists[l.nodes[slot].list].head == slot {
		return
	}
	l.remove(slot)
	l.push(slot)
}

// clone returns a copy, which nobody changes.
func (l *lru) clone() *lru {
	if l == nil {
		return nil
	}
	if l.at == nil || l.changed {
		l.at, l.changed = &lru{lists: slices.Clone(l.lists), nodes: slices.Clone(l.nodes)}, false
	}
	return l.at
}

// restore returns to a clone. The lists stay where they are, see Probe.
func (l *lru) restore(to *lru) {
	if l != nil && (l.at != to || l.changed) {
		copy(l.lists, to.lists)
		l.nodes = append(l.nodes[:0], to.nodes...)
		l.at, l.changed = to, false
	}
}
