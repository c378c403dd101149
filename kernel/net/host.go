package net

import (
	"maps"
	"slices"

	"github.com/bpfrun/bpfrun/kernel/object"
)

// Host is the machine as its network sees it: interfaces, routes and neighbours, sockets, and the packets of contexts. Construct it with
// [NewHost].
type Host struct {
	*object.Space `snapshot:"fixed"`
	// OnSocketFree is called when a socket ends that was made for one context and for which something is stored under its key.
	OnSocketFree func(key uint64) `snapshot:"fixed"`

	network  Network
	Packets  []*Packet          // of live contexts
	sockets  []*Socket          // that programs have addresses of, or that are open
	defaults map[string]*Socket // default sockets of contexts, by role
}

// NewHost returns a host with the default interfaces.
func New(s *object.Space) *Host {
	return &Host{Space: s, network: Network{Devices: defaultDevices}, defaults: make(map[string]*Socket)}
}

// HostSnapshot is the state of a [Host] at one moment.
type Snapshot struct {
	was     Host
	packets []Packet
	sockets []Socket
}

// Snapshot records packets and sockets. The bytes of packets are the memory's.
func (k *Host) Snapshot() *Snapshot {
	s := &Snapshot{was: *k}
	s.was.Packets, s.was.sockets, s.was.defaults = slices.Clone(k.Packets), slices.Clone(k.sockets), maps.Clone(k.defaults)
	for _, p := range k.Packets {
		s.packets = append(s.packets, p.save())
	}
	for _, sk := range k.sockets {
		s.sockets = append(s.sockets, sk.save())
	}
	return s
}

// Restore brings back a snapshot. Sockets and packets made since are forgotten.
func (k *Host) Restore(s *Snapshot) {
	for _, sk := range k.sockets {
		sk.forget()
	}
	onFree := k.OnSocketFree
	*k = s.was
	k.OnSocketFree = onFree
	k.Packets, k.sockets, k.defaults = slices.Clone(s.was.Packets), slices.Clone(s.was.sockets), maps.Clone(s.was.defaults)
	for i, p := range k.Packets {
		*p = s.packets[i].save()
	}
	for i, sk := range k.sockets {
		*sk = s.sockets[i].save()
	}
}
