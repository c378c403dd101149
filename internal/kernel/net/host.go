package net

import (
	"slices"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/undo"
)

// Host is the machine from the network's point of view: interfaces, routes and neighbours, sockets,
// tracked connections, flows, and the packets of contexts. Create it with [New].
type Host struct {
	*object.Space `snapshot:"fixed"`
	// OnSocketFree is called when a socket ends that was created for one context and has data
	// stored under its key.
	OnSocketFree func(key uint64) `snapshot:"fixed"`

	snapshots int `snapshot:"fixed"` // how many were taken
	network   Network
	packets   []*Packet                         // of live contexts
	sockets   []*Socket                         // that programs have addresses of, or that are open
	defaults  undo.Map[string, *Socket]         // default sockets of contexts, by role
	conns     undo.Map[connKey, *object.Object] // tracked connections, by the tuples of both directions
	freed     []*object.Object                  // connections of programs that ended
	flows     []*object.Object                  // of the flow table
}

// New returns a host with the default interfaces.
func New(s *object.Space) *Host {
	return &Host{Space: s, network: Network{Devices: defaultDevices}}
}

// Snapshot is the state of a [Host] at one point in time.
type Snapshot struct {
	network      Network
	packets      []*Packet
	sockets      []*Socket
	packetStates []Packet
	socketStates []Socket
	defaults     *undo.State[string, *Socket]
	conns        *undo.State[connKey, *object.Object]
	freed, flows []*object.Object
}

// Snapshot records packets and sockets. The bytes of packets are in memory's snapshot.
func (h *Host) Snapshot() *Snapshot {
	h.snapshots++
	s := &Snapshot{
		network: h.network, packets: slices.Clone(h.packets), sockets: slices.Clone(h.sockets), defaults: h.defaults.Snapshot(), conns: h.conns.Snapshot(),
		freed: slices.Clone(h.freed), flows: slices.Clone(h.flows),
	}
	for _, p := range h.packets {
		s.packetStates = append(s.packetStates, p.save())
	}
	for _, sk := range h.sockets {
		s.socketStates = append(s.socketStates, sk.save())
	}
	return s
}

// Restore restores a snapshot. Sockets and packets created since are forgotten.
func (h *Host) Restore(s *Snapshot) {
	for _, sk := range h.sockets {
		sk.forget()
	}
	h.network = s.network
	h.packets, h.sockets = append(h.packets[:0], s.packets...), append(h.sockets[:0], s.sockets...)
	h.defaults.Restore(s.defaults)
	h.conns.Restore(s.conns)
	h.freed, h.flows = append(h.freed[:0], s.freed...), append(h.flows[:0], s.flows...)
	for i, p := range h.packets {
		p.load(&s.packetStates[i])
	}
	for i, sk := range h.sockets {
		*sk = s.socketStates[i].save()
	}
}
