package race

import (
	"slices"

	"github.com/bpfrun/bpfrun/internal/find/race/order"
	"github.com/bpfrun/bpfrun/internal/machine/finding"
	"github.com/bpfrun/bpfrun/internal/maps"
)

// deletion is an element that an actor deleted: it may still have its address.
type deletion struct {
	actor int
	table maps.Map
	value order.Touch
}

// reuse notes what an actor's next access means for elements that were deleted in this order, and
// whether it uses one that it deleted itself and whose memory is another element by now. That is a
// mistake whatever comes of it: where both have the same contents, the outcome does not show it.
func (s *system) reuse(i int) {
	a := &s.now[i].next
	s.deleted = slices.DeleteFunc(s.deleted, func(d deletion) bool {
		if d.actor != i {
			return false
		}
		if a.table == d.table && a.kind != plainRead && a.kind != plainWrite {
			return true // it may have got the address once more
		}
		finder, ok := d.table.(maps.KeyFinder)
		if ok && a.kind <= compare && s.misuse.prog == nil && slices.ContainsFunc(a.touches, d.value.Overlaps) {
			if _, _, taken := finder.KeyOf(d.value.Addr); taken {
				s.misuse = s.here()
			}
		}
		return false
	})
	if a.deletes {
		s.deleted = append(s.deleted, deletion{i, a.table, order.Touch{Addr: a.frees, Size: a.freed, Write: true}})
	}
}

// place finds out again where the element goes that an actor adds next: memory of elements may have
// become free since the actor got there.
func (s *system) place(i int) {
	a := &s.now[i].next
	if addr, ok := a.table.(maps.Placer).NextValue(s.actors[i].Input.CPU, a.name); ok {
		a.touches[a.fresh-1].Addr = addr
	}
}

// misused adds a finding for the use of an element after it was deleted in an order whose outcome is
// one of a sequential order.
func (h *hunt) misused(o order.Order) {
	at := h.s.misuse
	if at.prog == nil || h.misuses[at] {
		return
	}
	h.misuses[at] = true
	f := Finding{Kind: finding.NotSerialisable, Actors: h.s.actors, Trail: slices.Clone(o.Trail), Preemptions: o.Preemptions}
	if h.reused(&f, h.follow(f.Trail)) {
		h.add(f)
	}
}
