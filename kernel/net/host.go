package net

import (
	"maps"
	"slices"

	"github.com/bpfrun/bpfrun/kernel/object"
)

// Host is the machine from the network's point of view: interfaces, routes and neighbours, sockets, tracked connections, flows,
// and the packets of contexts. Create it with [New].
type Host struct {
	*object.Space `snapshot:"fixed"`
	// OnSocketFree is called when a socket ends that was created for one context and has data stored under its key.
	OnSocketFree func(key uint64) `snapshot:"fixed"`

	network  Network
	packets  []*Packet                  // of live contexts
	sockets  []*Socket                  // that programs have addresses of, or that are open
	defaults map[string]*Socket         // default sockets of contexts, by role
	conns    map[connKey]*object.Object // tracked connections, by the tuples of both directions
	freed    []*object.Object           // connections of programs that ended
	flows    []*object.Object           // of the flow table
}

// New returns a host with the default interfaces.
func New(s *object.Space) *Host {
	return &Host{Space: s, network: Network{Devices: defaultDevices}, defaults: make(map[string]*Socket), conns: make(map[connKey]*object.Object)}
}

// Snapshot is the state of a [Host] at one point in time.
type Snapshot struct {
	was     Host
	packets []Packet
	sockets []Socket
}

// Snapshot records packets and sockets. The bytes of packets are in memory's snapshot.
func (h *Host) Snapshot() *Snapshot {
	s := &Snapshot{was: *h}
	s.was.packets, s.was.sockets, s.was.defaults = slices.Clone(h.packets), slices.Clone(h.sockets), maps.Clone(h.defaults)
	s.was.conns, s.was.freed = maps.Clone(h.conns), slices.Clone(h.freed)
	s.was.flows = slices.Clone(h.flows)
	for _, p := range h.packets {
		s.packets = append(s.packets, p.save())
	}
	for _, sk := range h.sockets {
		s.sockets = append(s.sockets, sk.save())
	}
	return s
}

// Restore restores a snapshot. Sockets and packets created since are forgotten.
func (h *Host) Restore(s *Snapshot) {
	for _, sk := range h.sockets {
		sk.forget()
	}
	onFree := h.OnSocketFree
	*h = s.was
	h.OnSocketFree = onFree
	h.packets, h.sockets, h.defaults = slices.Clone(s.was.packets), slices.Clone(s.was.sockets), maps.Clone(s.was.defaults)
	h.conns, h.freed = maps.Clone(s.was.conns), slices.Clone(s.was.freed)
	h.flows = slices.Clone(s.was.flows)
	for i, p := range h.packets {
		*p = s.packets[i].save()
	}
	for i, sk := range h.sockets {
		*sk = s.sockets[i].save()
	}
}
