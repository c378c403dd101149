package qdisc

import (
	"maps"
	"slices"
)

// SetIn makes another operation the running one.
func (s *Sim) SetIn(op Op) { s.in = op }

// Save notes the state of the simulation and of packets that programs have. The function that it
// returns brings it back, any number of times; fields of struct Qdisc are not part of it.
func (s *Sim) Save(held []*Packet) (restore func()) {
	was, result := s.copied(), s.result.copied()
	packets := make([]Packet, len(held))
	for i, p := range held {
		packets[i] = *p
	}
	return func() {
		*s, *s.result = was.copied(), result.copied()
		for i, p := range held {
			*p = packets[i]
		}
	}
}

// Twin returns a packet like another one that programs have.
func (s *Sim) Twin(p *Packet) *Packet {
	c := *p
	c.state = queued
	return &c
}

// copied returns a copy with slices of its own.
func (s *Sim) copied() Sim {
	c := *s
	c.events, c.requeued, c.device.ring = s.events.Clone(), slices.Clone(s.requeued), slices.Clone(s.device.ring)
	return c
}

// copied returns a copy of what has happened so far: lists are only added to.
func (r *Result) copied() Result {
	c := *r
	c.Calls = maps.Clone(r.Calls)
	return c
}
