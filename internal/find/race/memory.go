package race

import (
	"slices"

	"github.com/bpfrun/bpfrun/internal/find/race/order"
	"github.com/bpfrun/bpfrun/vm"
)

// Memory is how soon other CPUs see what one CPU stores.
type Memory uint8

const (
	// Sequential: at once.
	Sequential Memory = iota
	// X86: later, but in the order in which they were made.
	X86
	// ARM64: later, and those of different bytes in any order.
	ARM64
)

// buffers is how many store buffers of an actor there are to choose from: what is seen next is the
// oldest store, or also the newest.
func (m Memory) buffers() int { return [...]int{Sequential: 0, X86: 1, ARM64: 2}[m] }

// pending is a store that other actors do not see yet.
type pending struct {
	addr  uint64
	value []byte
	under []byte // what others see, while the actor is at work
	seen  event  // for the watch
}

// The actors of a system are followed by their store buffers: buffer k of actor a is number
// len(actors) + a*buffers + k. Its steps make one store visible.

// bufferOf returns the actor whose store buffer a number is, and which one.
func (s *system) bufferOf(i int) (actor, which int) {
	i -= len(s.actors)
	n := s.model.buffers()
	return i / n, i % n
}

// bufferMask are the numbers of buffers, one bit each.
func (s *system) bufferMask() uint32 {
	return (1<<s.Actors() - 1) &^ (1<<len(s.actors) - 1)
}

// oldest returns the store that a buffer makes visible next, -1 for none.
func (s *system) oldest(actor, which int) int {
	b := s.stores[actor]
	if which == 0 || len(b) == 0 {
		return min(len(b), 1) - 1
	}
	last := len(b) - 1
	for _, p := range b[:last] {
		if touch(p).Overlaps(touch(b[last])) {
			return -1
		}
	}
	if last == 0 {
		return -1 // the other buffer makes it
	}
	return last
}

func touch(p pending) order.Touch {
	return order.Touch{Addr: p.addr, Size: uint64(len(p.value)), Write: true}
}

// bufferNext is Next for a store buffer.
func (s *system) bufferNext(i int) (order.State, []order.Touch) {
	actor, which := s.bufferOf(i)
	at := s.oldest(actor, which)
	switch {
	case at >= 0:
		s.flushed[0] = touch(s.stores[actor][at])
		return order.Ready, slices.Clone(s.flushed[:])
	case len(s.stores[actor]) == 0 && s.now[actor].state == order.Done:
		return order.Done, nil
	}
	return order.Blocked, nil
}

// flush makes a store visible.
func (s *system) flush(i int) {
	actor, which := s.bufferOf(i)
	at := s.oldest(actor, which)
	p := s.stores[actor][at]
	s.stores[actor] = slices.Delete(s.stores[actor], at, at+1)
	_ = s.memory.Write(p.addr, p.value) // it could be written when the program stored it
	if s.watch != nil {
		s.watch.events = append(s.watch.events, p.seen)
	}
}

// drain makes all stores of an actor visible.
func (s *system) drain(actor int) {
	for len(s.stores[actor]) > 0 {
		s.flush(len(s.actors) + actor*s.model.buffers())
	}
}

// fenced reports whether an actor waits until its stores are visible: before what orders memory.
func (s *system) fenced(i int) bool {
	if len(s.stores) == 0 || len(s.stores[i]) == 0 {
		return false
	}
	switch k := s.now[i].next.kind; k {
	case plainRead, atomicRead, lookup, otherCall:
		return false
	case plainWrite:
		return !s.bufferable(&s.now[i])
	}
	return true
}

// bufferable reports whether the next access is a store that others need not see at once.
func (s *system) bufferable(p *progress) bool {
	return p.next.kind == plainWrite && p.next.array == 0 && p.next.table == nil && len(p.next.touches) == 1
}

// apply lets an actor see its own stores, and hide lets the others see what they see again.
func (s *system) apply(i int) {
	for k := range s.stores[i] {
		p := &s.stores[i][k]
		p.under = append(p.under[:0], p.value...)
		_ = s.memory.Read(p.addr, p.under)
		_ = s.memory.Write(p.addr, p.value)
	}
}

func (s *system) hide(i int) {
	for k := len(s.stores[i]) - 1; k >= 0; k-- {
		p := &s.stores[i][k]
		_ = s.memory.Write(p.addr, p.under)
	}
}

// store executes a store that others see later.
func (s *system) store(i int) (stop vm.Stop) {
	t := s.now[i].next.touches[0]
	s.apply(i)
	old, now := make([]byte, t.Size), make([]byte, t.Size)
	_ = s.memory.Read(t.Addr, old)
	stop = s.execute(1)
	_ = s.memory.Read(t.Addr, now)
	_ = s.memory.Write(t.Addr, old)
	s.hide(i)
	p := pending{addr: t.Addr, value: now}
	if w := s.watch; w != nil {
		last := len(w.events) - 1
		p.seen = w.events[last]
		w.events = w.events[:last]
	}
	s.stores[i] = append(s.stores[i], p)
	return stop
}
